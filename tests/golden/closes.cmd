# Results of closing and flushing: none is ignored in the project, and those of a made file are found.
tools/closes.py && echo "all are looked at"
made=$(mktemp); trap 'rm -f "$made"' EXIT
cat >"$made" <<'END'
static void written(FILE *out) { fclose(out); }
static void cast(FILE *out) {
    (void)fflush(out);
    if (out)
        gzclose(out);
    else
        pclose(out);
    pto_output_close(output, true, err);
}
static void updated(const char *path) {
    FILE *file = fopen(path, "r+");
    fclose(file);
}
static void packed(gzFile out) {
    gzflush(out, Z_FINISH);
}
static void another(const char *path) { FILE *read = fopen(path, "r"); fclose(other); fclose(read); }
static int fine(const char *path) {
    FILE *file = fopen(path, "rb"); /* fclose(out); */
    fclose(file);
    fflush(stdout);
    pto_output_close(output, false, NULL);
    return fclose(out) == 0 && fflush(out) == 0;
}
END
tools/closes.py "$made" | sed 's/[^:]*:/FILE:/'; echo "exit ${PIPESTATUS[0]}"

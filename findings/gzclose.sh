#!/usr/bin/env bash
# One would guess that gzclose reports a full disk, as fclose does, whether or not somebody looked at gzflush.
# After gzflush(Z_FINISH) has failed, gzclose returns 0 and the file is empty: the deflate stream has ended, so gz_comp
# has nothing more to compress, and does not come to the bytes that it could not write; the error kept in the handle is
# dropped. Without the flush, or after one by Z_SYNC_FLUSH, gzclose returns -1 (Z_ERRNO).
# zlib 1:1.2.13.dfsg-1 (Debian 12); gz_comp and gzclose_w in gzwrite.c.
. "$(dirname "$0")/packages.sh"
[ -c /dev/full ] || skip "no /dev/full"
unpack zlib1g=1:1.2.13.dfsg-1 zlib1g-dev=1:1.2.13.dfsg-1
cat >"$work/close.c" <<'END'
#include <stdio.h>
#include <zlib.h>

static void written(const char *name, int flush) {
    gzFile file = gzopen("/dev/full", "wb");
    int put = gzputs(file, "hello"), flushed = flush == Z_NO_FLUSH ? 0 : gzflush(file, flush);
    int closed = gzclose(file);
    printf("%s: gzputs %d, gzflush %d, gzclose %d\n", name, put, flushed, closed);
}

int main(void) {
    written("none", Z_NO_FLUSH);
    written("sync", Z_SYNC_FLUSH);
    written("finish", Z_FINISH);
    return 0;
}
END
compile "$work/close.c" "$work/close" "$root/lib/x86_64-linux-gnu/libz.so.1"
seen=$(LD_LIBRARY_PATH=$root/lib/x86_64-linux-gnu "$work/close")
for line in "none: gzputs 5, gzflush 0, gzclose -1" "sync: gzputs 5, gzflush -1, gzclose -1" \
    "finish: gzputs 5, gzflush -1, gzclose 0"; do
    expect "flush ${line%%:*}" "${line#*: }" "$(sed -n "s/^${line%%:*}: //p" <<<"$seen")"
done
exit "$failed"

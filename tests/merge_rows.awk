# awk -f merge_rows.awk FILE...: the rows of several files of results as one, below the provenance of the first. A row is
# empty in columns that other files have. What each executor's setup took stays where it stands; a row that was cut is
# left out.
BEGIN {
    FS = OFS = ","
    files = ARGC - 1
    for (i = 1; i <= files; i++) ARGV[ARGC++] = ARGV[i] # once for the columns, once for the rows
}

function print_row(row,    i, line) {
    for (i = 1; i <= columns; i++) line = line (i > 1 ? OFS : "") (name[i] in row ? row[name[i]] : "")
    print line
}

FNR == 1 { file++; fields = 0 }
/^#/ {
    if (file == files + 1 || (file > files && /^# setup_s=/)) print
    next
}
!fields { # the header
    fields = NF
    for (i = 1; i <= NF; i++) {
        field[i] = $i
        if (!($i in known)) { known[$i]; name[++columns] = $i; names[$i] = $i }
    }
    if (file == files + 1) print_row(names)
    next
}
file > files && NF == fields {
    for (i = 1; i <= NF; i++) row[field[i]] = $i
    print_row(row)
    split("", row)
}

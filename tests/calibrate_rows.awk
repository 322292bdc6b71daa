# The rows of a samples file, without runs and times: benchmark, space, level, pair, processes, messages and all sizes.
/^#/ || /^benchmark,/ { next }
{
    row = $1 "," $2 "," $3 "," $4 "," $5 "," $6
    if (!(row in sizes)) order[++count] = row
    if (!seen[row, $7]++) sizes[row] = sizes[row] " " $7
}
END { for (i = 1; i <= count; i++) print order[i] ":" sizes[order[i]] }

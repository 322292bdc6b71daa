# Files with different columns, and one whose last row was cut
a=$(mktemp); b=$(mktemp)
printf '# machine: a\ncollective,bytes,seconds\nalltoall,64,1e-5\n# setup_s=1\nalltoall,256,2e-5\n' >"$a"
printf '# machine: b\ncollective,bytes,seconds,chunks\nreduce,64,3e-5,4\n# setup_s=2\nreduce,2' >"$b"
awk -f tests/merge_rows.awk "$a" "$b"
echo; awk -f tests/merge_rows.awk "$b" "$a"; rm "$a" "$b"

# Columns of large percentages stay apart: factors from 1000% on.
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
sed -E '/^[a-z].*three_step/s/[^,]*$/1e-7/' tests/fixtures/collectives.csv >"$dir/a.csv"
portolan score --machine summit-spectrum "$dir/a.csv" | grep 'Picked\|^  '
portolan score --machine summit-spectrum "$dir/a.csv" --cells | grep -A3 'Strategy\|^32 '
# Units of an explanation.
portolan predict --machine lassen-spectrum-refit --procs-per-gpu 10 --collective alltoall --nodes 2 --bytes 1KiB --explain | grep -o '[a-z_.]*s_per_message = [^ ]* [^ ]*' | sort -u

# A fit with its report, the machine file that it writes and predicts with, and what it leaves out, with and without
# the older option --partial.
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
portolan fit tests/fixtures/samples.csv --name m --out "$dir/m.yaml" --report | cut -c 1-150 | sed 's/ *$//'
sed 's/_95: \[[^]]*\]/_95: .../g' "$dir/m.yaml"
portolan predict --machine "$dir/m.yaml" --collective allreduce --nodes 4 --gpus-per-node 1 --bytes 64KiB --strategy three_step --explain | grep reduce
sed '/memcpy_h2d.*,8,/!{/memcpy_h2d/d}' tests/fixtures/samples.csv >"$dir/few.csv"
portolan fit "$dir/few.csv" --name m --out "$dir/m.yaml" --force --partial --report | grep h2d
portolan fit "$dir/few.csv" --name m --out "$dir/m.yaml" --force
grep -A 2 '^copies' "$dir/m.yaml" | cut -c 1-20

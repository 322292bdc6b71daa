# Without gnuplot the machine file and the report are written all the same, and the exit code tells.
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
tool=$(command -v portolan) status=0
PATH=/no/such/folder "$tool" fit tests/fixtures/samples.csv --name m --out "$dir/m.yaml" --report --plot "$dir/m.svg" >"$dir/report" 2>"$dir/err" || status=$?
sed "s|$dir/||" "$dir/err"
echo "exit $status, $(grep -c . "$dir/report") lines of report, files: $(cd "$dir" && ls m.*)"
portolan predict --machine "$dir/m.yaml" --collective allreduce --nodes 2 --gpus-per-node 1 --bytes 64 --strategy three_step | grep '^64'
# What is no drawing is refused before any work.
portolan fit tests/fixtures/samples.csv --name n --out "$dir/n.yaml" --plot "$dir/n.pdf" 2>&1 | sed "s|$dir/||"
ls "$dir"/n.* 2>/dev/null || true

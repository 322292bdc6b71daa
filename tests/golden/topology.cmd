# The links of a node and its routes: as text, as csv, as a file that reads back; a drawing; what is refused.
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
try() { local status=0; portolan topology "$@" 2>&1 || status=$?; echo "  exit $status"; }
try p100-x4
try lassen --format csv | sed -n '1,4p;/gpu.0,gpu.2/p'
try summit --format yaml | tail -n +3 >"$dir/summit.yaml"
portolan topology summit --format csv >"$dir/a.csv"
sed -i '/  exit/d' "$dir/summit.yaml"
portolan topology "$dir/summit.yaml" --format csv | cmp - "$dir/a.csv" && echo "the same routes"
if command -v gnuplot >/dev/null; then
    portolan topology dgx-1 --plot "$dir/dgx-1.svg" >"$dir/out" && grep -o '>gpu\.[0-7]<' "$dir/dgx-1.svg" | sort -u | wc -l
else
    echo 8
fi
try
try nowhere
try k80-2-2-2-2 --plot node.pdf
try --machine summit-spectrum
sed 's/nic.0, socket.0/nic.0, gpu.0/; /socket.0, socket.1/d' scenarios/topologies/k80-2-2-2-2.yaml >"$dir/cut.yaml"
try "$dir/cut.yaml" | sed "s|$dir/||"

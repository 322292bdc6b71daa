# Cells of whole pixels with sharp edges, and tics whose labels are what they say; what gnuplot gets, without gnuplot.
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
printf '#!/bin/sh\ncat >%s/script; echo drawn\n' "$dir" >"$dir/gnuplot"
chmod +x "$dir/gnuplot"
export PATH=$dir:$PATH
draw() { portolan traffic "$@" --strategy cuda_aware --plot "$dir/a.svg" >/dev/null; sed '/^e$/,$d' "$dir/script" | head -24; }
draw tests/fixtures/particles.csv --machine summit-spectrum --nodes 2 --gpus-per-node 4 --procs-per-gpu 1
draw --machine summit-spectrum --collective alltoall --bytes 12345 --nodes 75 --gpus-per-node 4 --procs-per-gpu 1 | sed '/image pixels/q'
draw --machine h200-x2 --collective allreduce --bytes 8 --nodes 1 --procs-per-gpu 1 | grep tics

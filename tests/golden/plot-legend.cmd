# Of many strategies, the picks come first, then the nearest; what gnuplot gets, without gnuplot.
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
printf '#!/bin/sh\ncat >%s/script; echo drawn\n' "$dir" >"$dir/gnuplot"
chmod +x "$dir/gnuplot"
export PATH=$dir:$PATH
draw() {
    portolan predict --machine h200-x4 --collective allreduce --nodes 1 --bytes 4:256MiB "$@" --plot "$dir/a.png" >/dev/null
    grep -E 'set terminal|set key at' "$dir/script"
    grep -o " title '.*" "$dir/script" | tail -n +2
}
draw
draw --strategy cuda_aware,gas_split,nccl
# The script's descriptor has two digits where a caller leaves all others open.
draw --strategy gas_read 3</dev/null 4</dev/null 5</dev/null 6</dev/null 7</dev/null 8</dev/null 9</dev/null

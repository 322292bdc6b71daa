# Flagged parameters are marked, with the file's remark once below; csv and json have the terms as well.
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
sed 's/^  h2d: .*/  h2d: {on_socket: {alpha_s: 5.0e-6, beta_s_per_byte: 1.0e-10, flagged: "misses its samples, \\"twice\\""}}/' tests/fixtures/energy.yaml >"$dir/m.yaml"
args="--machine $dir/m.yaml --collective messages --messages 1 --nodes 2 --gpus-per-node 1 --procs-per-gpu 1 --bytes 10000 --strategy three_step --explain"
portolan predict $args | sed "s|$dir/||g"
portolan predict $args --energy --format csv
portolan predict $args --format json
portolan predict $args --what-if 'copies.h2d.on_socket.alpha_s=1e-6' | grep 'flagged\|what if'

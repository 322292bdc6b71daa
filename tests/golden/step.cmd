dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
workload() { printf 'workload: w\nmachine: summit-spectrum\nlayout: {nodes: 4}\n%b' "$1" >"$dir/w.yaml"; shift; portolan step "$dir/w.yaml" "$@"; }; for width in 60 140; do COLUMNS=$width portolan step scenarios/workloads/fsdp.yaml; done; portolan step scenarios/workloads/stencil-cg.yaml --nodes 2 --gpus-per-node 4 --strategy cuda_aware,three_step --what-if 'injection.*=/2'; workload 'grid: {a: 0, b: 6}\nstep: [{on: a, collective: broadcast, bytes: 64KiB}, {compute: 1 ms}]\n' --format csv --strategy cuda_aware,three_step; workload 'step: [{at_once: [{collective: broadcast, bytes: 8}, {call: "a \\"b\\"", compute: 1 us, times: 3}]}]\n' --format json
# A machine without a network, and intervals of totals.
portolan step scenarios/workloads/gnn.yaml --machine h200-x4 --nodes 2 --what-if injection.gpu.s_per_byte=2e-11; portolan step scenarios/workloads/fsdp.yaml --strategy cuda_aware,split_ring --ci
# What makes a route unsure that was chosen with others: not what would make the cheapest one alone so.
portolan step scenarios/workloads/fsdp.yaml --strategy cuda_aware,split_ring --format csv | grep '^reduce gradients'

# COL-COL on 4 nodes, written in every form; a pattern without a gain; a tree of 16 GPUs with its links.
cols="--machine summit-spectrum --collective alltoallv --implementation isend_irecv --nodes 2 --gpus-per-node 2 --procs-per-gpu 1 --bytes 1MiB --strategy cuda_aware"
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
portolan map $cols --counts '{pattern: groups, dims: [2, 2], along: 0}' --with node,greedy,exact --seeds 1 --out "$folder/p.csv" --rankfile "$folder/r" --slurm-hosts "$folder/s" --cuda-devices "$folder/c" --hosts alpha,beta
tail -n 9 "$folder"/p.csv "$folder"/r "$folder"/s "$folder"/c | sed "s,$folder/,,"
# GPUs 3 to 5 of a node are on socket 1.
portolan map --machine summit-spectrum --collective alltoallv --implementation isend_irecv --nodes 2 --gpus-per-node 6 --procs-per-gpu 2 --bytes 1MiB --strategy cuda_aware --counts '{pattern: groups, dims: [4, 3], along: 0}' --with node --rankfile "$folder/six" --hosts alpha,beta >"$folder/out"
cat "$folder/six"
portolan predict $cols --counts '{pattern: groups, dims: [2, 2], along: 0}' --placement-file "$folder/p.csv" | grep -v '^#'
portolan map $cols --counts '{pattern: stencil, dims: [4, 1], wrap: [0, 1]}' --with random --seeds 2 --seed 7 --refine 10
portolan map --machine tests/fixtures/k80.yaml --collective alltoallv --implementation isend_irecv --nodes 1 --bytes 1MiB --strategy cuda_aware --counts '{pattern: stencil, dims: [2, 2, 4], weights: [3, 1, 1]}' --metric bandwidth --with exact --phases gpu --refine 0
portolan map --machine tests/fixtures/k80-fabric.yaml --collective alltoallv --implementation isend_irecv --nodes 16 --gpus-per-node 1 --procs-per-gpu 1 --bytes 1MiB --strategy cuda_aware --counts '{pattern: stencil, dims: [2, 2, 4], weights: [3, 1, 1]}' --with exact --phases gpu --refine 0
# The profiler's traffic is a scenario but for the machine and the layout.
particles="tests/fixtures/particles.csv --machine summit-spectrum --nodes 2 --gpus-per-node 4 --procs-per-gpu 1 --strategy cuda_aware"
portolan map $particles --with node,greedy --seeds 1; portolan traffic $particles | head -4; portolan predict $particles | grep -v '^#'
# Bad input.
try() { local status=0; "$@" >/dev/null || status=$?; echo "  exit $status"; }
exec 2>&1
try portolan map tests/fixtures/particles.csv --machine summit-spectrum
try portolan map $particles --bytes 4
try portolan map tests/fixtures/collectives.csv --machine summit-spectrum --nodes 2
try portolan map $cols
try portolan map $cols --counts '{pattern: groups, dims: [2, 3], along: 0}'
try portolan map $cols --counts tests/fixtures/square.csv
try portolan map $cols --counts tests/fixtures/ragged.csv
try portolan map $cols --counts '{pattern: groups, dims: [2, 2]}' --with gready
try portolan map $cols --counts '{pattern: groups, dims: [2, 2]}' --phases node,socket
try portolan map $cols --counts '{pattern: groups, dims: [2, 2]}' --rankfile /dev/null --hosts one
try portolan map $cols --counts '{pattern: groups, dims: [2, 2]}' --out tests/fixtures/square.csv
try portolan map $cols --counts '{pattern: groups, dims: [2, 2]}' --rankfile "$folder/nowhere"
# The GPUs in use are those of one socket, with 20 cores.
try portolan map $cols --gpus-per-node 3 --procs-per-gpu 10 --counts '{pattern: groups, dims: [2, 3]}' --rankfile "$folder/nowhere" --hosts alpha,beta

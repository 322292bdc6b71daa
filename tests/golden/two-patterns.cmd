# A pattern in GPU memory and one in host memory at once: its price against those of each alone, its proof, its traffic by
# space, and COL-COL on 4 nodes of 16 (384 units between nodes, and 0 when mapped).
ask="--machine summit-spectrum --collective alltoallv --implementation isend_irecv --nodes 4 --gpus-per-node 4 --procs-per-gpu 2 --bytes 64KiB"
stencil='{pattern: stencil, dims: [4, 4], weights: [3, 1]}' groups='{pattern: groups, dims: [4, 2, 2]}'
both="{gpu: $stencil, cpu: $groups}"
portolan predict $ask --counts "$both"
portolan predict $ask --counts "$stencil" --strategy cuda_aware | grep -v '^#'
portolan predict $ask --counts "{gpu: $stencil, cpu: {pattern: stencil, dims: [16], weights: [0]}}" --strategy cuda_aware | grep -v '^#'
portolan predict $ask --counts "$both" --strategy cuda_aware --explain | grep injection
portolan check $ask --counts "$both" | tail -n 1
portolan plan $ask --counts "$both" --strategy cuda_aware
portolan traffic $ask --counts "$both" --strategy three_step | awk -F, '/^[0-9]/ { bytes[$3 "," $4] += $7 } END { for (k in bytes) print k, bytes[k] }' | sort
columns='{pattern: groups, dims: [4, 4, 4]}'
portolan map --machine tests/fixtures/k80.yaml --collective alltoallv --implementation isend_irecv --nodes 4 --procs-per-gpu 1 --bytes 1MiB --strategy cuda_aware --counts "{gpu: $columns, cpu: $columns}" --with greedy --seeds 1 --refine 0 | grep -v '^node\|bridge\|switch'
# Bad input.
try() { local status=0; "$@" >/dev/null || status=$?; echo "  exit $status"; }
exec 2>&1
try portolan predict $ask --counts "{gpu: $stencil}"
try portolan predict $ask --counts "{gpu: $stencil, cpu: {pattern: groups, dims: [4, 4, 4]}}"
try portolan predict $ask --counts "$both" --implementation library
try portolan check $ask --counts "$both" --strategy nccl
try portolan predict $ask --counts "{gpu: {matrix: tests/fixtures/square.csv, space: gpu}, cpu: equal}"

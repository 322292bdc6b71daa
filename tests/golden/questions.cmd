# What was asked of machines that nobody here measured, question by question, and the lines that answer.
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
lines() { grep "$1" || echo "no line with $1"; }
echo "## ABCI, two nodes of eight A100s, an allreduce of 1 and 16 MiB: GPU buffers, host, or NCCL?"
portolan predict --machine abci-a --collective allreduce --nodes 2 --procs-per-gpu 1 --bytes 1MiB:16MiB:16 --strategy cuda_aware,three_step,nccl | lines '^# Bytes\|^1'
echo "## Rules for NCCL on any machine that ships: some, or the reason and 3"
for file in scenarios/machines/*.yaml; do
    said=$(portolan export --for nccl --machine "$file" --nodes 1:16 2>&1); code=$?
    rules=$(grep -c '^allreduce,' <<<"$said")
    echo "$(basename "$file" .yaml): $rules rules, exit $code$([ "$rules" -gt 0 ] || grep -o ': \(NCCL was\|the machine file\|was measured\|ring and\|.*without\).*' <<<"$said" | tail -1)"
done
echo "## What does a training step run on DGX H100s?"
portolan step llm-training --machine dgx-h100 | lines '^gradients'
echo "## A trace of 80 H100s, whose allreduce took 106 ms: what would be faster?"
python3 -B - >"$dir/trace.json" <<'PYTHON'
import json
call = {"Collective name": "allreduce", "In msg nelems": 300 << 20, "Out msg nelems": 300 << 20, "Group size": 80, "dtype": "BFloat16", "Process Group Name": "0", "Process Group Ranks": str(list(range(80)))}
kernel = dict(call, **{"External id": 2})
print(json.dumps({"distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 80}, "traceEvents": [
    {"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 1, "tid": 1, "ts": 1, "dur": 30, "args": kernel},
    {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_bf16_RING_SIMPLE(ncclDevKernelArgsStorage<4096ul>)", "pid": 0, "tid": 7, "ts": 50, "dur": 106000, "args": kernel}]}))
PYTHON
portolan replay "$dir/trace.json" --machine dgx-h100 --gpus-per-node 8
echo "## Two nodes of a machine whose file has no network"
portolan pick --machine h200-x4 --nodes 2 --collective allreduce --bytes 1MiB --procs-per-gpu 1 2>&1; echo "exit $?"
echo "## Which NIC, or a second one?"
portolan upgrade --machine dgx-h100 --collective alltoall --nodes 4 --bytes 1MiB | lines '^as it is\|NICs  \|^network'
echo "## What a pair of MI300Xs, and of four A100s, have of their links"
portolan predict --machine mi300x --collective pair --distance on_node --nodes 1 --procs-per-gpu 1 --bytes 1GiB --format csv | awk -F, '/,ipc_copy,/ { printf "%.3g GB/s of 64\n", 1.073741824 / $6 }'
portolan machine new --name a100 --gpus 4 --cores 64 --gpu-link nvlink3 --host-link pcie4 --out "$dir/a100.yaml"
portolan predict --machine "$dir/a100.yaml" --collective pair --distance on_socket --nodes 1 --procs-per-gpu 1 --bytes 1GiB --format csv | awk -F, '/,ipc_copy,/ { printf "%.3g GB/s of 100\n", 1.073741824 / $6 }'
echo "## Two H200s, four processes a GPU, an allreduce of 416 kB: the library stages it"
portolan predict --machine h200-x2 --collective allreduce --nodes 1 --procs-per-gpu 4 --bytes 416000 --strategy cuda_aware,dup_devptr,three_step | lines '^# Bytes\|^416'
echo "## Open MPI 4.1's reduce-scatter of 64 KiB in host memory: its own algorithm, or another?"
portolan predict --machine cpu-2x64-200g --mpi open-mpi-4.1 --collective reduce_scatter --nodes 4 --procs-per-node 8 --bytes 64KiB | lines '^# Bytes\|^64'
echo "## FSDP on DGX H100s: how much is exposed? The computation is a V100's, and says so"
portolan step fsdp --machine dgx-h100 --nodes 64 | lines '^# compute\|^exposed'
portolan step fsdp --machine dgx-h100 --nodes 64 --compute-scale 0.2 | lines '^# compute\|^exposed'
echo "## Lassen with MVAPICH2, 32 nodes (measured on 2 and 8): marked as such"
portolan pick --machine lassen-mvapich2-refit --collective allreduce --nodes 32 --bytes 1KiB:1MiB:32 | lines '^[0-9]'

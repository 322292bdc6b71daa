# NCCL on machines from datasheets, on several nodes, where another machine's nodes were measured (ABCI), in a step, as
# rules, on one GPU a node, behind PCIe, and not where the file lacks a network: an export without a rule ends with 3.
export SOURCE_DATE_EPOCH=0
for bytes in 1MiB 16MiB; do
    portolan predict --machine abci-a --collective allreduce --nodes 2 --procs-per-gpu 1 --bytes $bytes --strategy nccl --ci
    portolan pick --machine abci-a --collective allreduce --nodes 2 --procs-per-gpu 1 --bytes $bytes --strategy nccl,three_step,gsb_gsb
done
portolan predict --machine abci-a --collective allreduce --nodes 16 --procs-per-gpu 1 --bytes 1MiB --strategy nccl --explain
portolan predict --machine dgx-b200 --collective allreduce --nodes 1 --procs-per-gpu 1 --bytes 512:512MiB:64 --strategy nccl --format csv 2>&1 | cut -d, -f1-8
# RCCL by its own model.
portolan predict --machine mi300x --collective allreduce --nodes 1 --procs-per-gpu 1 --bytes 8:1GiB:512 --strategy nccl --ci
portolan predict --machine mi300x --collective allreduce --nodes 2 --procs-per-gpu 1 --bytes 64KiB:4MiB:8 --strategy nccl --explain | grep '^[0-9]\|^RCCL\|^NCCL\|nccl'
portolan pick --machine mi300x --collective allreduce --nodes 2 --procs-per-gpu 1 --bytes 1KiB:64MiB:16
# Summit and Lassen, of which no run of NCCL is known: constants of A100s, and a wide interval.
for machine in summit-nccl lassen-nccl; do
    portolan predict --machine $machine --collective allreduce --nodes 8 --procs-per-gpu 1 --bytes 1KiB:16MiB:128 --strategy nccl,three_step,cuda_aware --ci
done
for machine in abci-a dgx-h100 dgx-b200 mi300x summit-nccl; do
    portolan export --for nccl --machine $machine --nodes 1:8 2>&1 | grep -v '^#'
    echo "exit ${PIPESTATUS[0]}"
done
portolan export --for nccl --machine dgx-h100 --nodes 1 2>&1 | tail -3
echo "exit ${PIPESTATUS[0]}"
portolan export --for nccl --machine h200-x4 --nodes 2 2>&1 | tail -2
portolan step scenarios/workloads/llm-training.yaml --machine dgx-h100 | grep -w nccl
portolan pick --machine h200-x4 --nodes 2 --collective allreduce --bytes 1MiB --procs-per-gpu 1 || echo "exit $?"
portolan pick --machine h200-x4 --nodes 2 --collective allreduce --bytes 1MiB --procs-per-gpu 1 --strategy nccl || echo "exit $?"
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
portolan machine new --name lone --cores 64 --gpus 1 --host-link pcie5 --nic '200 Gbit/s' --out "$dir/lone.yaml"
portolan machine new --name pcie --cores 64 --gpus 4 --host-link pcie4 --nic '200 Gbit/s' --no-gpudirect --out "$dir/pcie.yaml"
portolan predict --machine "$dir/lone.yaml" --collective allreduce --nodes 8 --bytes 1MiB --strategy nccl --ci | tail -n +4
portolan predict --machine "$dir/pcie.yaml" --collective allreduce --nodes 1 --bytes 1MiB --strategy nccl --ci | tail -n +4

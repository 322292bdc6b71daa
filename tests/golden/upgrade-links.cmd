up() { portolan upgrade "$@" | grep -v '^# machine\|^# layout\|^# library'; }
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
portolan machine new --name pcie --gpus 4 --cores 16 --host-link pcie4 --nic '200 Gbit/s' --no-gpudirect --out "$dir/pcie.yaml"
up --machine h200-x4 --nodes 1 --collective allreduce --bytes 1KiB:64MiB:64
up --machine h200-x4 --nodes 1 --collective allreduce --bytes 1KiB:64MiB:64 --strategy nccl
up --machine dgx-h100 --mpi mvapich2-gdr --nodes 1 --collective allreduce --bytes 1KiB:64MiB:64 --strategy cuda_aware
up --machine "$dir/pcie.yaml" --mpi mvapich2-gdr --nodes 1 --collective allreduce --bytes 1KiB:64MiB:64 --strategy cuda_aware
up --machine dgx-h100 --nodes 4 --collective alltoall --bytes 1MiB:32GiB:8
up --machine dgx-h100 --nodes 4 --collective alltoall --bytes 1MiB:32GiB:8 --only PCIe --format csv
up --machine dgx-h100 --nodes 4 --collective alltoall --bytes 4KiB --only NICs --format json
portolan upgrade --machine h200-x4 --nodes 1 --collective allreduce --bytes 64MiB --only links --strategy cuda_aware --format csv
# GPUDirect where the file has no GPU messages to other nodes: the host's costs, at the rate of PCIe where that is less.
up --machine "$dir/pcie.yaml" --nodes 4 --collective alltoall --bytes 4KiB:4MiB:32 --only gpudirect
portolan machine new --name slow --gpus 2 --cores 16 --host-link pcie3 --nic '400 Gbit/s' --no-gpudirect --out "$dir/slow.yaml"
portolan upgrade --machine "$dir/slow.yaml" --nodes 4 --collective alltoall --bytes 4MiB --only gpudirect --format csv | tail -1
# Nothing is exposed, so that nothing is saved.
up scenarios/workloads/fsdp.yaml
up scenarios/workloads/fsdp.yaml --only 'GPU links'
for format in csv json; do portolan upgrade scenarios/workloads/fsdp.yaml --only 'GPU links' --format $format | grep '"*GPU links'; done
printf 'machine: mix\nsource: x\nnode: h200-x2\nnetwork: summit-spectrum\n' >"$dir/mix.yaml"
for machine in "$dir"/*.yaml dgx-h100 summit-spectrum lassen-mvapich2-refit; do
    for collective in alltoall allreduce allgather; do
        portolan upgrade --machine $machine --nodes 4 --procs-per-gpu 4 --collective $collective --bytes 64:1MiB:64 --format csv | awk -F, -v of="$machine $collective" '$5 + 0 < 0 { print of, $1, "saves less than nothing:", $5 }'
    done
done
# PCIe that is slower than the NICs limits what a node's GPUs send at once: the upgrade is the machine with the next generation.
for g in 4 5; do
    portolan machine new --name pcie$g --sockets 2 --cores 64 --gpus 4 --gpu-link nvlink3 --host-link pcie$g --nics 4 --nic '400 Gbit/s' --gpu-memory 40GiB --out "$dir/pcie$g.yaml"
done
compare() {
    portolan upgrade --machine "$dir/pcie4.yaml" "$@" --format csv | awk -F, '/^PCIe/ { printf "upgrade %.3g s, ", $2 }'
    portolan upgrade --machine "$dir/pcie5.yaml" "$@" --format csv | awk -F, '/^as it is/ { printf "machine %.3g s\n", $2 }'
}
compare --collective alltoall --nodes 8 --bytes 1MiB
compare --collective messages --messages 1 --nodes 2 --bytes 16MiB --strategy cuda_aware
compare --collective allreduce --nodes 4 --bytes 16MiB
# More NICs do not help there.
up --machine "$dir/pcie4.yaml" --collective alltoall --nodes 8 --bytes 1MiB

up() { portolan upgrade "$@" | grep -v '^# machine\|^# layout\|^# library'; }
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
portolan machine new --name pcie --gpus 4 --cores 16 --host-link pcie4 --nic '200 Gbit/s' --no-gpudirect --out "$dir/pcie.yaml"
up --machine h200-x4 --nodes 1 --collective allreduce --bytes 1KiB:64MiB:64
up --machine h200-x4 --nodes 1 --collective allreduce --bytes 1KiB:64MiB:64 --strategy nccl
up --machine dgx-h100 --nodes 1 --collective allreduce --bytes 1KiB:64MiB:64 --strategy cuda_aware
up --machine "$dir/pcie.yaml" --nodes 1 --collective allreduce --bytes 1KiB:64MiB:64 --strategy cuda_aware
up --machine dgx-h100 --nodes 4 --collective alltoall --bytes 1MiB:32GiB:8
up --machine dgx-h100 --nodes 4 --collective alltoall --bytes 1MiB:32GiB:8 --only cores --format csv
up --machine dgx-h100 --nodes 4 --collective alltoall --bytes 4KiB --only NICs --format json
portolan upgrade --machine h200-x4 --nodes 1 --collective allreduce --bytes 64MiB --only links --strategy cuda_aware --format csv

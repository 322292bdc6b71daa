dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
new() { portolan machine new --name mine --gpus 2 --cores 16 --host-link pcie4 "$@" 2>&1; echo "exit $?"; }
new; new --gpu-link '100 GB/s' --nic '200 Gbit/s' --nics 2 --sockets 2 --no-gpudirect --gpu-memory 40GiB --out "$dir/mine.yaml"; cat "$dir/mine.yaml"
portolan pick --machine "$dir/mine.yaml" --collective allreduce --nodes 4 --bytes 1KiB:64MiB:16 | grep -v '^# machine'
new --host-memory-bandwidth 8xDDR5-4800 --host-memory 512GiB --out "$dir/memory.yaml"; grep -n memory "$dir/memory.yaml"; new --force --out "$dir/mine.yaml"
for machine in mine memory; do portolan predict --machine "$dir/$machine.yaml" --memory host --nodes 1 --collective allreduce --bytes 64MiB | tail -n +4; done
new --host-memory-bandwidth 8xDDR5; new --host-memory-bandwidth 300; new --gpu-link nvlink9; new --nic '0 GB/s'; new --name 'a"b'; new --gpus 99; new --nics 4; portolan machine; echo "exit $?"; portolan machine new --name x; echo "exit $?"; new --out README.md
# With GPUDirect, bytes cross PCIe and a NIC: the slower of both.
portolan machine new --name slow-pcie --gpus 2 --cores 32 --host-link pcie3 --nics 2 --nic '200 Gbit/s' | sed -n '/H200s over TCP/,/^copies/p'
# A GPU on one of two sockets; what cannot be divided among them; memory that there is not.
new --gpus 1 --sockets 2 --out "$dir/one.yaml" && portolan predict --machine "$dir/one.yaml" --collective allreduce --memory host --nodes 1 --bytes 1MiB | tail -n +4
new --gpus 3 --sockets 2; new --cores 3 --sockets 2; new --cores 1; new --host-memory-bandwidth 8xDDR9-4800
# Processes that share a GPU: their copies queue, and without MPS small ones wait for turns.
for mps in yes no maybe; do new --mps $mps --force --out "$dir/mine.yaml"; grep -n '^mps\|procs: 8' "$dir/mine.yaml"; done
new --rails; new --rails --nics 2 --nic NDR --force --out "$dir/mine.yaml"; sed -n '/^injection/,/^  gpu/p' "$dir/mine.yaml"
# What is written can be read back: without GPUs, and not a mesh of more GPUs than topologies have.
portolan machine new --name cpus --cores 64 --nic HDR --out "$dir/cpus.yaml"
portolan predict --machine "$dir/cpus.yaml" --memory host --nodes 2 --collective allreduce --bytes 1MiB | tail -n +4
portolan machine new --name mesh --cores 640 --gpus 640 --gpu-link '50 GB/s' --gpu-topology mesh --host-link pcie4; echo "exit $?"
# Columns of a halo are no messages: the route by MPI's datatypes is not taken for what a contiguous message costs.
portolan machine new --name box --sockets 2 --cores 64 --gpus 8 --gpu-link nvlink3 --host-link pcie4 --nics 4 --nic '200 Gbit/s' --out "$dir/box.yaml"
portolan predict --machine "$dir/box.yaml" --collective halo --nodes 1 --gpus-per-node 2 --procs-per-gpu 1 --dims 1x1x2 --extent 256x256x128 --halo 3 --bytes 8 --strategy cuda_aware,pack_kernel,gas_halo | grep '^#* *Bytes\|^8 B'

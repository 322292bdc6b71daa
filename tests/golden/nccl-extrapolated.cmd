# Four nodes of four H200s, of which one node was measured; more GPUs than were measured; more bytes.
portolan predict --machine h200-x4 --collective allreduce --nodes 4 --bytes 1KiB:64MiB:256 --procs-per-gpu 1 --what-if injection.gpu.s_per_byte=2e-11 --strategy nccl --ci
portolan predict --machine h200-x4 --collective reduce --nodes 4 --bytes 16MiB --procs-per-gpu 1 --strategy nccl --explain --what-if injection.gpu.s_per_byte=5e-12
portolan predict --machine h200-x4 --collective alltoall --nodes 1 --bytes 128MiB --procs-per-gpu 1 --strategy nccl --format csv
portolan predict --machine h200-x4 --collective allreduce --nodes 1 --bytes 128MiB --procs-per-gpu 1 --strategy nccl --format json
portolan pick --machine h200-x2 --what-if node.gpus=4 --collective allreduce --nodes 1 --gpus-per-node 4 --bytes 64KiB:64MiB:32 --procs-per-gpu 1 --strategy nccl,gas_gather,gas_split
portolan pick --machine h200-x4 --collective alltoall --nodes 1 --bytes 64KiB --procs-per-gpu 1 --strategy nccl,three_step --format json
portolan simulate --machine h200-x4 --collective allreduce --nodes 4 --bytes 1MiB --procs-per-gpu 1 --what-if injection.gpu.s_per_byte=2e-11 --strategy nccl

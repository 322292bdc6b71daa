portolan predict --machine tests/fixtures/machine.yaml --collective allreduce --nodes 2 --gpus-per-node 6 --procs-per-gpu 1 --bytes 1MiB --strategy nccl --explain
portolan predict --machine tests/fixtures/machine.yaml --collective allreduce --nodes 1 --gpus-per-node 6 --procs-per-gpu 1 --bytes 1KiB:256KiB:16 --strategy nccl
portolan predict --machine tests/fixtures/machine.yaml --collective alltoallv --nodes 2 --gpus-per-node 6 --procs-per-gpu 1 --bytes 1KiB --strategy nccl
portolan plan --machine tests/fixtures/machine.yaml --collective alltoall --nodes 1 --gpus-per-node 6 --procs-per-gpu 1 --bytes 1KiB --strategy nccl

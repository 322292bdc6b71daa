portolan tune --machine h200-x2 --bytes 64KiB:16MiB:16 --procs-per-gpu 8
portolan tune --machine h200-x2-mps --collective allgather --bytes 1MiB --procs-per-gpu 2 --format csv
portolan tune --machine h200-x2 --collective allreduce --bytes 1MiB --procs-per-gpu 4 --format json
for wrong in "--machine h200-x2 --collective alltoall" "--bytes 4"; do portolan tune $wrong || echo "exit $?"; done 2>&1
portolan predict --machine h200-x2 --collective allgather --nodes 1 --gpus-per-node 1 --owners-per-gpu 8 --procs-per-gpu 8 --bytes 4MiB --strategy gsb,mix
portolan predict --machine h200-x2 --collective allgather --nodes 1 --gpus-per-node 1 --owners-per-gpu 8 --procs-per-gpu 8 --bytes 4MiB --strategy mix --staged 6,2 --format json
portolan tune --machine cpu-2x64-200g 2>&1 || echo "exit $?"
portolan tune --machine h200-x2 --collective allreduce --bytes 64KiB --what-if node.cores=8

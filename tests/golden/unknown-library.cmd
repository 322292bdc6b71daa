# Which route, where the MPI library is known (ABCI: Open MPI 4.0) and where it is not.
ask() { portolan "$@" | grep -v '^# no column\|^#   \|^# layout\|^# intervals'; }
ask predict --machine abci-a --collective allreduce --nodes 2 --procs-per-gpu 1 --bytes 1MiB:16MiB:16 --strategy cuda_aware,three_step,nccl
ask pick --machine abci-a --collective allreduce --nodes 2 --procs-per-gpu 1 --bytes 4:32MiB --strategy cuda_aware,three_step
# Reductions of GPU buffers are taken to be staged; a library that nothing describes never wins as a perfect one.
ask pick --machine dgx-h100 --collective allreduce --nodes 2 --procs-per-gpu 1 --bytes 64KiB:16MiB --strategy cuda_aware,three_step
ask predict --machine dgx-h100 --collective alltoall --nodes 4 --procs-per-gpu 1 --bytes 64KiB --strategy cuda_aware,three_step
ask predict --machine dgx-h100 --collective alltoall --nodes 4 --procs-per-gpu 1 --bytes 64KiB --strategy cuda_aware,three_step --mpi open-mpi-5.0
ask pick --machine cpu-2x64-200g --collective reduce_scatter --nodes 4 --procs-per-node 8 --bytes 1KiB:1MiB
ask pick --machine cpu-2x64-200g --collective reduce_scatter --nodes 4 --procs-per-node 8 --bytes 1KiB:1MiB --mpi open-mpi-4.1
# Another library instead of the file's; tables of the file's own stay; none that is unknown.
for mpi in open-mpi-4.1 mvapich2-gdr; do ask predict --machine h200-x4 --mpi $mpi --collective allreduce --nodes 1 --procs-per-gpu 1 --bytes 1MiB --strategy cuda_aware; done
portolan predict --machine dgx-h100 --mpi open-mpi --collective allreduce --nodes 2 --bytes 8 2>&1; echo "exit $?"

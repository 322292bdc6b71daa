# How many chunks, and why; the same number in csv.
args="--machine summit-spectrum --collective messages --messages 1 --nodes 2 --gpus-per-node 1 --procs-per-gpu 1 --strategy three_step"
portolan predict $args --bytes 1MiB:64MiB:4
portolan predict $args --bytes 64MiB --explain
portolan predict $args --bytes 64MiB --chunks 4 --explain | grep chunks
portolan predict $args --bytes 4KiB:64MiB:64 --format csv
portolan predict --machine h200-x2 --collective pair --bytes 64MiB --explain | grep chunks
portolan check $args --bytes 4KiB
portolan check --machine h200-x2 --procs-per-gpu 16 --collective alltoall --implementation isend_irecv --nodes 1 --bytes 4KiB
portolan predict --machine h200-x2 --collective alltoall --nodes 1 --bytes 4KiB --chunks 2 --strategy three_step || true
portolan predict --machine summit-spectrum --procs-per-gpu 6 --collective allgather --nodes 2 --bytes 1MiB:64MiB:8 --strategy dup_devptr,staged_ring,split_ring
portolan plan --machine summit-spectrum --collective allreduce --nodes 3 --gpus-per-node 1 --procs-per-gpu 1 --bytes 48KiB --strategy staged_ring --chunks 2

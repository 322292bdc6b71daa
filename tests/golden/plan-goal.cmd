dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
plan() { portolan plan --machine summit-spectrum --collective alltoall --nodes 2 --gpus-per-node 1 --procs-per-gpu 2 --bytes 1KiB "$@" 2>&1; }
plan --strategy cuda_aware --library pairwise --format goal
plan --strategy dup_devptr --library pairwise --format goal --out "$dir/schedule.goal"; portolan replay "$dir/schedule.goal" --machine summit-spectrum --rank 1 | grep '^# calls'
plan --strategy dup_devptr --format goal --out "$dir/schedule.goal" | sed "s|$dir|DIR|"; plan --format goal; plan --out "$dir/x"
portolan plan --machine h200-x2 --collective allreduce --nodes 1 --bytes 1MiB --strategy gsb --format goal 2>&1
portolan plan --machine h200-x2 --collective allreduce --nodes 1 --bytes 1MiB --strategy nccl --format goal 2>&1
portolan plan --machine summit-spectrum --collective alltoall --implementation isend_irecv --nodes 2 --bytes 1MiB --strategy three_step --chunks 4 --format goal 2>&1
portolan plan --machine summit-spectrum --collective alltoall --nodes 64 --bytes 1 --strategy cuda_aware --limit 100 --format goal 2>&1

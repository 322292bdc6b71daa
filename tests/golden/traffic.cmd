# A collective of the library, copies from other processes' memory, and what is refused.
traffic() { portolan traffic --machine summit-spectrum --nodes 1 --gpus-per-node 3 --procs-per-gpu 1 "$@"; }
traffic --collective allreduce --bytes 3000 --strategy cuda_aware --library ring
traffic --machine h200-x4 --collective allreduce --bytes 3000 --strategy gsb
traffic --collective alltoall --bytes 8
traffic --collective alltoall --bytes 8 --nodes 30000 --strategy cuda_aware --library pairwise
traffic --collective alltoall --bytes 8 --strategy three_step --plot map.pdf
traffic --collective alltoall --bytes 8 --strategy three_step --out README.md

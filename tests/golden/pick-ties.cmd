# One element has one share: dup_devptr does what three_step does, and ties with it.
for format in table csv json; do portolan pick --machine summit-spectrum --model published --collective alltoall --split bytes --nodes 64 --gpus-per-node 1 --procs-per-gpu 2 --bytes 4:256:8 --strategy three_step,cuda_aware,dup_devptr --library linear --format $format; done

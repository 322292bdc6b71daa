portolan plan --machine summit-spectrum --collective allreduce --nodes 2 --gpus-per-node 3 --procs-per-gpu 1 --bytes 28 --strategy three_step --library recursive_doubling --unroll --rank 3

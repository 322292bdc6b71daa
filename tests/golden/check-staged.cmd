# The plans that predict prices: the machine's library stages GPU buffers.
portolan check --machine h200-x4 --collective allreduce --nodes 1 --gpus-per-node 4 --procs-per-gpu 1 --bytes 64 --strategy cuda_aware,three_step

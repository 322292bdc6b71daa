portolan predict --machine h200-x2 --collective allreduce --nodes 1 --bytes 1024:16384:4 --strategy cuda_aware,three_step,nccl --ci

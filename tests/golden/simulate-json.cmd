portolan simulate --machine summit-spectrum --collective alltoall --nodes 2 --gpus-per-node 2 --procs-per-gpu 1 --bytes 1KiB --strategy cuda_aware,three_step,extra_message,dup_devptr --format json

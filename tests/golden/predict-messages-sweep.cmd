portolan predict --machine lassen-mvapich2 --procs-per-gpu 10 --collective messages --nodes 2 --gpus-per-node 1 --messages 1:128 --bytes 1024 --strategy cuda_aware,three_step,extra_message,dup_devptr

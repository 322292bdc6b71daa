portolan predict --machine summit-spectrum --procs-per-gpu 6 --collective allreduce --nodes 32 --bytes 4:1MiB --strategy cuda_aware,three_step,extra_message,dup_devptr

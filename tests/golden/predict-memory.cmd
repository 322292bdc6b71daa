portolan predict --machine summit-spectrum --procs-per-gpu 6 --collective alltoall --nodes 174763 --bytes 2KiB:16KiB --strategy cuda_aware,three_step,extra_message,dup_devptr

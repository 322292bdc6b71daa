portolan predict --machine summit-spectrum --procs-per-gpu 6 --collective alltoall --nodes 2:4096:4 --bytes 4KiB --strategy three_step,dup_devptr

portolan predict --machine summit-spectrum --collective alltoall --nodes 2:4096:4 --bytes 4KiB --strategy three_step,dup_devptr

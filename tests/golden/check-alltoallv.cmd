portolan check --machine summit-spectrum --collective alltoallv --counts skew:0.5:7 --nodes 2 --procs-per-gpu 3 --bytes 13 --strategy three_step,extra_message,dup_devptr,node_aware

portolan predict --machine summit-spectrum --collective allreduce --nodes 32 --bytes 4:1MiB

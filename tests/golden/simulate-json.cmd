portolan simulate --machine summit-spectrum --collective alltoall --nodes 2 --gpus-per-node 2 --cores-per-gpu 1 --bytes 1KiB --format json

# Halos: neighbors on a grid, borders that are not contiguous, and a process that is its own neighbor.
portolan plan --machine summit-spectrum --collective halo --nodes 2 --gpus-per-node 2 --procs-per-gpu 1 --dims 2x2 --wrap 1,0 --extent 4x6 --bytes 8 --strategy pack_kernel
portolan plan --machine summit-spectrum --collective halo --nodes 1 --gpus-per-node 2 --procs-per-gpu 1 --dims 1x2 --wrap 1,1 --extent 4x6 --bytes 8 --strategy cuda_aware
portolan plan --machine h200-x2 --collective halo --nodes 1 --dims 1x2 --wrap 1,0 --extent 4x6 --bytes 8 --strategy gas_halo

# A choice that the plan leaves open; its price is that of the best fixed numbers.
portolan plan --machine h200-x2 --collective allreduce --nodes 1 --gpus-per-node 1 --owners-per-gpu 4 --procs-per-gpu 4 --bytes 64KiB --strategy mix_learning
portolan plan --machine h200-x2 --collective allreduce --nodes 1 --gpus-per-node 1 --owners-per-gpu 4 --procs-per-gpu 4 --bytes 64KiB --strategy mix_doubling --rank 2 --unroll
portolan predict --machine h200-x2 --collective allreduce --nodes 1 --gpus-per-node 1 --owners-per-gpu 4 --procs-per-gpu 4 --bytes 64KiB --strategy mix,mix_doubling
portolan check --machine h200-x2 --collective allreduce --nodes 1 --gpus-per-node 1 --owners-per-gpu 4 --procs-per-gpu 4 --bytes 64KiB --strategy mix,mix_doubling

# What would take more than about a minute is refused before it starts.
ask="--machine summit-spectrum --procs-per-gpu 6 --collective alltoallv --counts skew:0.5:1 --bytes 1KiB"
portolan predict $ask --nodes 1000000
portolan predict $ask --nodes 100000000
portolan simulate $ask --nodes 100000000
portolan predict $ask --nodes 800 --bytes 1KiB:64KiB
portolan pick $ask --nodes 400 --bytes 1KiB:64MiB
portolan sensitivity $ask --nodes 512
portolan map $ask --nodes 400
portolan map $ask --nodes 4 --strategy three_step --with greedy --refine 1000000
portolan predict $ask --nodes 2 --limit 1
portolan check $ask --nodes 2 --gpus-per-node 2 --limit 400 --strategy cuda_aware,three_step
portolan simulate --machine summit-spectrum --collective alltoall --nodes 4 --gpus-per-node 1 --procs-per-gpu 1 --bytes 1KiB --strategy cuda_aware,three_step --library pairwise --limit 30

# More ranks than can be simulated one by one: one node stands for all. The output does not depend on the
# number of threads.
ask="--collective alltoall --bytes 4 --strategy cuda_aware,three_step --procs-per-gpu 1"
portolan simulate --machine summit-spectrum $ask --nodes 20000000 --gpus-per-node 1 --library bruck
several="scenarios/problems/alltoall-summit.yaml --nodes 4 --bytes 64:4KiB:8 --format json"
one=$(OMP_NUM_THREADS=1 portolan simulate $several | cksum)
for threads in 2 3 7; do
    [ "$(OMP_NUM_THREADS=$threads portolan simulate $several | cksum)" = "$one" ] && echo "$threads threads: the same" || echo "$threads threads: not the same"
done

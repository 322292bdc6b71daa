# The example of docs/profiling.md: what it shows is what is printed. Its traffic is what the profiler counts of
# docs/examples/particles.c (tests/mpi/test_profile.sh).
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
shown() { grep -vxF -f docs/profiling.md || echo "all lines are in docs/profiling.md"; }
particles="--machine summit-spectrum --collective alltoallv --implementation isend_irecv --nodes 2 --gpus-per-node 4 --procs-per-gpu 1 --strategy cuda_aware --counts tests/fixtures/particles.csv"
sed -n 3,8p tests/fixtures/particles.csv | shown
portolan map $particles --with node,greedy,exact --seeds 1 --out "$folder/placement.csv" --slurm-hosts "$folder/hosts" --hosts node0,node1 | shown
portolan predict $particles --placement-file "$folder/placement.csv" | shown
paste -sd, "$folder/hosts"

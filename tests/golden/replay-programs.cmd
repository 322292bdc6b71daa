# A log of several benchmarks: the first one's calls, or those that --from names; the others are counted.
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
{ cat tests/fixtures/nccl-tests.txt; printf '# OSU MPI-CUDA Allreduce Latency Test v7.4\n# Size  Avg Latency(us)\n1024  11.00\n'; } >"$dir/log.txt"
ask() { portolan replay "$dir/log.txt" --machine dgx-h100 --nodes "$1" --gpus-per-node 1 "${@:2}" 2>&1 | sed "s|$dir/||" | grep '^# portolan\|^# calls\|not replayed\|reads\|^log'; }
ask 2 --collective allreduce
ask 2 --from osu
ask 2 --from imb

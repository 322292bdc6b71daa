# Logs as people keep them: what each of these is read as, or why it is not.
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
read_as() { portolan replay "$dir/log.txt" --machine h200-x2 "$@" 2>&1 | sed -n "s|$dir/||; /^# calls\|^all[rg].*KiB\|^broadcast.*KiB\|^measured\|not replayed\|wrong results\|lists its\|^log.txt/p" | tr -s ' '; }
two="--nodes 1 --gpus-per-node 2"
osu() { printf '# OSU MPI-CUDA Allreduce Latency Test v7.4\n%s\n' "$1"; printf '%s\n' "${@:2}"; }
rank='#  Rank  %d Group  %d Pid  7%d on  %s device  %d [0000:18:00] NVIDIA H200\n'
table='#       size         count      type   redop    root     time   algbw   busbw #wrong\n        1024           256     float     sum      -1    11.00    0.09    0.09      0\n        2048           512     float     sum      -1    12.00    0.17    0.17      0\n'
nccl() { printf '# nThread 1 nGpus 1\n# Using devices\n'; printf "$rank$rank" 0 0 0 node-a 0 1 "${1:-0}" 1 "${2:-node-a}" 1; printf "$table"; }
echo "-- tables with tabs, and with blanks of a page; host buffers"
{ printf '# Size\tAvg Latency(us)\n1024\t11.00\n2048\t12.00\n'; } >"$dir/log.txt"; read_as $two --collective allreduce
osu "# Size       Avg Latency(us)" "1024          11.00" "2048          12.00" | sed 's/   /\xc2\xa0\xc2\xa0\xc2\xa0/g' >"$dir/log.txt"; read_as $two
printf '# OSU MPI-CUDA Latency Test v5.9\n# Send Buffer on HOST (H) and Receive Buffer on HOST (H)\n# Size          Latency (us)\n8 2.50\n' >"$dir/log.txt"; read_as $two
echo "-- behind +, as in a difference of files; torn by lines of unknown hosts, and by other output"
osu "# Size       Avg Latency(us)" "1024          11.00" "2048          12.00" | sed 's/^/+/' >"$dir/log.txt"; read_as $two
osu "# Size       Avg Latency(us)" "1024          11.00" "2048          1gx17:71:80 [0] NCCL INFO a" "2.00" "4096          13.00" >"$dir/log.txt"; read_as $two
osu "# Size       Avg Latency(us)" "1024          11.00" "2048          1[gx17:71] btl: error" "2.00" "4096          13.00" >"$dir/log.txt"; read_as $two
printf '# Benchmarking Allreduce\n# #processes = 2\n#bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n  1024  1000  10.00  12.00  11.00\n  2048  1000  11.0slurmstepd: error\n0  13.00  12.00\n' >"$dir/log.txt"; read_as $two --as-gpu
echo "-- nccl-tests: programs by their commands, groups, hosts that contradict --nodes, torn lists of processes"
{ echo '+ mpirun ./all_reduce_perf -b 1K'; nccl; echo '+ mpirun ./all_gather_perf -b 1K'; nccl; echo '+ srun ./sendrecv_perf -b 1K'; nccl; } >"$dir/log.txt"; read_as
read_as --collective broadcast
nccl 1 >"$dir/log.txt"; read_as --collective allreduce
nccl 0 node-b >"$dir/log.txt"; read_as --collective allreduce $two
portolan score --machine h200-x2 tests/fixtures/osu-h200-x2.txt:1x2 "$dir/log.txt:1x2:allreduce" 2>&1 | grep -A1 'lists its'
{ echo 'node-b:72:72 [0] NCCL INFO a'; nccl | sed 's/^\(#  Rank  1 Gro\)/\1node-b:72:72 [0] NCCL INFO b\n/'; } >"$dir/log.txt"; read_as --collective allreduce
nccl | sed 's/^\(#  Rank  1.*nod\)/\1gx17:72:72 [0] NCCL INFO b\n/' >"$dir/log.txt"; read_as --collective allreduce; read_as --collective allreduce $two
echo "-- IMB of 2019, with wrong results; local tests of UCC; JSON with wrong results"
printf '#    Intel (R) MPI Benchmarks 2019 Update 6, MPI-1 part\n# mem_alloc_type: device\n# Benchmarking Allreduce\n# #processes = 2\n#bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]  defects\n  1024  1000  10.00  12.00  11.00  3.00\n' >"$dir/log.txt"; read_as $two
printf 'Collective:\t\tReduce DT\nMemory type:            cuda\n       Count        Size                Time, us\n         256        1024       11.00\n' >"$dir/log.txt"; read_as $two
echo '{"args":["./all_reduce_perf"],"config":{"devices":[{"group":0,"rank":0,"hostname":"a"},{"group":0,"rank":1,"hostname":"a"}]},"results":[{"size":1024,"out_of_place":{"time":11.0,"nwrong":"5"}}]}' >"$dir/log.txt"; read_as
sed -i 's/"group":0,"rank":1/"group":1,"rank":1/' "$dir/log.txt"; read_as

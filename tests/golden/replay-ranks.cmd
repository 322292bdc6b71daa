# PyTorch's traces of four processes, whose clocks differ by seconds, one of which computes longer than the others; and what NCCL's inspector dumps of them, with times (verbose) and without.
parts=$(mktemp -d); trap 'rm -rf "$parts"' EXIT; for rank in 0 1 2 3; do awk -v rank=$rank -v parts="$parts" 'BEGIN {
  kineto = parts "/kineto." rank ".json"; verbose = parts "/verbose." rank ".log"; short = parts "/short." rank ".log"
  printf "{\"distributedInfo\": {\"rank\": %d, \"world_size\": 4}, \"traceEvents\": [", rank >kineto
  for (step = 0; step < 12; step++) {
    late = (rank == 2 ? 3000 : 0) + (rank * 7 + step * step * (3 + rank)) % 11; time = 3100 + step % 3 - late; end = 1e6 * rank + 10000 * (step + 1)
    printf "%s\n{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel_AllReduce\", \"ts\": %.1f, \"dur\": %d, \"args\": {\"Collective name\": \"allreduce\", \"In msg nelems\": 262144, \"Out msg nelems\": 262144, \"Group size\": 4, \"dtype\": \"Float\", \"Process Group Name\": \"0\", \"Process Group Ranks\": \"[0, 1, 2, 3]\", \"Seq\": %d}}", step ? "," : "", 5e12 + end - time, time, step >kineto
    record = sprintf("{\"header\":{\"id\":\"0x7d\",\"rank\":%d,\"n_ranks\":4,\"nnodes\":2},\"metadata\":{\"hostname\":\"node%d\",\"pid\":%d},\"coll_perf\":{\"coll\":\"AllReduce\",\"coll_sn\":%d,\"coll_msg_size_bytes\":1048576,\"coll_exec_time_us\":%d", rank, rank / 2, 100 + rank % 2, step, time)
    printf "%s}}\n", record >short; printf "%s,\"event_trace_ts\":{\"kernel_events\":[{\"channel_id\":0,\"kernel_stop_ts\":%.0f}]}}}\n", record, 17e11 + end >verbose
  }
  print "]}" >kineto }'; done; for kind in kineto verbose short; do portolan replay "$parts"/$kind.* --machine dgx-h100 --gpus-per-node 2 | sed -n '1p;/^# compared/,/^# All/p'; done; portolan replay "$parts"/kineto.* --machine dgx-h100 --gpus-per-node 2 --format json | grep -o '"compared".*'; cat "$parts"/short.* | portolan replay /dev/stdin --machine dgx-h100 --gpus-per-node 2 --format json | grep -A1 '"compared"'
# A second process that is not of the job, and one file alone.
portolan replay "$parts"/kineto.0.json tests/fixtures/nccl-tests.txt --machine dgx-h100; portolan replay "$parts"/kineto.0.json --machine dgx-h100 | sed -n '/^# measured/,/^# All/p'
# A trace that does not say which process wrote it.
sed 's/"distributedInfo": {[^}]*}, //' "$parts"/kineto.1.json >"$parts"/bare.json; portolan replay "$parts"/kineto.0.json "$parts"/bare.json --machine dgx-h100 2>&1 | sed "s|$parts/||"
# A process that is given twice, and one that is missing.
for rank in 0 1 3; do printf 'rank,begin_s,end_s,routine,communicator,procs,bytes,space\n%d,0.1,0.2,MPI_Allreduce,world,4,1024,gpu\n' $rank >"$parts"/calls.$rank.csv; done; for second in 1 3; do portolan replay "$parts"/calls.0.csv "$parts"/calls.1.csv "$parts"/calls.$second.csv --machine dgx-h100 2>&1 | sed -n "s|$parts/||g;/given twice/p;/not compared/p"; done
portolan replay "$parts"/kineto.0.json "$parts"/kineto.1.json "$parts"/kineto.1.json --machine dgx-h100 2>&1 | sed "s|$parts/||g"
# Files of two formats, whose clocks differ.
portolan replay "$parts"/calls.0.csv "$parts"/kineto.1.json --machine dgx-h100 2>&1 | sed "s|$parts/||g"
# The drop-in's report, in which messages between processes are missing.
awk 'BEGIN { print "rank,begin_s,end_s,routine,communicator,procs,bytes,space,route"; for (rank = 0; rank < 4; rank++) for (step = 1; step <= 12; step++) printf "%d,%.6f,%.6f,MPI_Allreduce,world,4,1048576,gpu,mpi\n", rank, step / 100 + (rank == 2 ? 3e-3 : 0) + (rank * 7 + step * step * (3 + rank)) % 11 * 1e-6, step / 100 + 4e-3 }' >"$parts"/report.csv; portolan replay "$parts"/report.csv --machine dgx-h100 --gpus-per-node 2 | sed -n '/^# compared/,/^# All/p'

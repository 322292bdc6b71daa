# Each line: the error alone on standard error, nothing on standard output, and the exit code.
try() { local out status=0; out=$("$@" 2>&3) || status=$?; echo "  exit $status, ${#out} bytes on standard output"; }
exec 3>&1
try portolan simulate
try portolan simulate scenarios/problems/alltoall-summit.yaml --trace trace.json
try portolan simulate scenarios/problems/alltoall-summit.yaml --nodes 2 --bytes 64 --strategy three_step --trace no/such/folder/trace.json
try portolan simulate scenarios/problems/alltoall-summit.yaml --trace-events 0
try portolan simulate scenarios/problems/alltoall-summit.yaml --nodes 32 --bytes 64 --strategy three_step --library pairwise --limit 1145
try portolan simulate scenarios/problems/allreduce-summit.yaml --nodes 1000000 --bytes 64 --strategy three_step --library binomial
try portolan simulate scenarios/problems/alltoall-summit.yaml --explain

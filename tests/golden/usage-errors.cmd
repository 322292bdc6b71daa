# Each line: the error alone on standard error, nothing on standard output, and the exit code.
try() { local out status=0; out=$("$@" 2>&3) || status=$?; echo "  exit $status, ${#out} bytes on standard output"; }
exec 3>&1
try portolan
try portolan frobnicate
try portolan predicts
try portolan help frobnicate
try portolan list foo
try portolan completion fish
try portolan predict
try portolan predict --no-such-option
try portolan predict --colective
try portolan predict --format
try portolan predict --explain=yes
try portolan predict a.yaml b.yaml
try portolan predict scenarios/problems/alltoall-summit.yaml --format xml
try portolan predict scenarios/problems/alltoall-summit.yaml --nodes 0
try portolan predict scenarios/problems/alltoall-summit.yaml --nodes -3
try portolan predict scenarios/problems/alltoall-summit.yaml --nodes=-1:4
try portolan predict scenarios/problems/alltoall-summit.yaml --nodes many
try portolan predict scenarios/problems/alltoall-summit.yaml --bytes=-4
try portolan predict scenarios/problems/alltoall-summit.yaml --bytes 16:4
try portolan predict scenarios/problems/alltoall-summit.yaml --bytes 9223372036854775808
try portolan predict scenarios/problems/alltoall-summit.yaml --bytes 4611686018427387904
try portolan predict scenarios/problems/alltoall-summit.yaml --strategy three_stpe
try portolan predict scenarios/problems/alltoall-summit.yaml --library brucks
try portolan predict scenarios/problems/alltoall-summit.yaml --library ring
try portolan predict scenarios/problems/alltoall-summit.yaml --gpus-per-node 7
try portolan predict scenarios/problems/alltoall-summit.yaml --procs-per-gpu 7
try portolan predict --collective alltoall --nodes 2 --bytes 4
try portolan predict --machine summit-spectrum --collective messages --nodes 1 --bytes 4
try portolan predict --machine summit-spectrum --collective messages --nodes 2 --bytes 4
try portolan predict --machine summit-spectrum --collective allreduce --nodes 2 --bytes 6
try portolan predict --machine summit-spectrum --collective alltoallv --nodes 1 --gpus-per-node 4 --counts tests/fixtures/ragged.csv
try portolan predict --machine tests/fixtures/machine.yaml --collective alltoallv --nodes 1 --gpus-per-node 2 --bytes 1024 --counts tests/fixtures/square.csv
try portolan predict no/such/scenario.yaml
try portolan predict tests/fixtures
try portolan plan --machine summit-spectrum --collective alltoallv --nodes 2 --bytes 1024 --strategy staged_leaders,gas_gather
try portolan predict --machine summit-spectrum --collective alltoallv --nodes 2 --bytes 1024 --strategy staged_leaders,gas_gather
try portolan help predict pick
try portolan tune --machine h200-x2 extra
for asked in help "help units" "predict --help" --version; do portolan $asked 2>&1 >/dev/full; echo "$asked: exit $?"; done

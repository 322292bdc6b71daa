# Nothing was proved: exit 1, with the reason, as predict does.
try() { local status=0; "$@" 2>&1 || status=$?; echo "  exit $status"; }
try portolan check --machine h200-x4 --collective alltoall --nodes 2 --gpus-per-node 4 --procs-per-gpu 1 --bytes 64 --strategy gsb_gsb
try portolan check --machine h200-x4 --collective allreduce --nodes 2 --gpus-per-node 4 --procs-per-gpu 1 --bytes 64 --strategy gsb
# plan prints the reason to standard error, and nothing to standard output.
try portolan plan alltoall-summit --strategy gsb
portolan plan alltoall-summit --strategy gsb 2>/dev/null || echo "  exit $?"

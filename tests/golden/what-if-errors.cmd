# Each line: the error alone on standard error, nothing on standard output, and the exit code.
try() { local out status=0; out=$(portolan predict scenarios/problems/alltoall-summit.yaml "$@" 2>&3) || status=$?; echo "  exit $status, ${#out} bytes on standard output"; }
exec 3>&1
try --what-if injection.cpu
try --what-if injection.cpu.s_per_bytes=1e-11
try --what-if frobnicate=1
try --what-if node.gpus=0
# Several values at once are for predict and pick.
for ask in "sensitivity scenarios/problems/alltoall-summit.yaml --bytes 1024" "upgrade scenarios/workloads/fft-3d.yaml" "step scenarios/workloads/fft-3d.yaml"; do
    portolan $ask --what-if 'injection.*=/1:/8' 2>&1 || echo "  exit $?"
done
try --what-if injection.cpu.s_per_byte=-1e-11
try --what-if injection.cpu.s_per_byte=inf
try --what-if injection.cpu.s_per_byte=50
try --what-if peer.on_socket.beta_s_per_byte=400G
try --what-if 'injection.cpu.s_per_byte=*-2'
try --what-if 'signals.flag_s=*2'
try --what-if signals.flag_s=1usec
try --what-if messages.cpu.off_node.eager.below_bytes=100
try --what-if nodes=/3
try --what-if gpus_per_node=12
try --what-if node.gpus=1
try --model publised
try --model published+reduces
try --measured collectives.csv
try --plot prediction.pdf
try --plot /no/such/folder/prediction.svg
# The nodes of a pair follow from its distance.
portolan predict --machine summit-spectrum --collective pair --distance on_socket --bytes 1KiB --what-if nodes=abc 2>&1 || echo "  exit $?"

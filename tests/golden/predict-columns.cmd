cell() { portolan predict --machine h200-x2 --collective allreduce --nodes 1 --bytes 1KiB "$@" | grep -v '^# machine'; }
echo "== 80 characters"; cell
echo "== 120"; COLUMNS=120 cell
echo "== 40 and nonsense"; COLUMNS=3 cell | sed -n '/^# Bytes/,/^1 KiB/p'; COLUMNS=wide cell | grep -c gas_read
echo "== all; by name"; cell --all | grep Bytes; cell --strategy cuda_aware,three_step,gsb_gsb,gas_gather,nccl,mix,btb_flat | grep Bytes
echo "== on a terminal of 100"; script -qec 'stty cols 100; portolan predict --machine h200-x2 --collective allreduce --nodes 1 --bytes 1KiB' /dev/null | tr -d '\r' | grep -A 1 '^# Bytes' | cat -v
script -qec 'NO_COLOR=1 portolan predict --machine h200-x2 --collective allreduce --nodes 1 --bytes 1KiB' /dev/null | tr -d '\r' | grep '^1 KiB' | cat -v

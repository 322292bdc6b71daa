# Times of non-blocking collectives are taken for the blocking ones, with a note.
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
{ echo '# OSU MPI-CUDA Non-blocking Allreduce Latency Test v7.4'
  echo '# Size  Overall(us)  Compute(us)  Pure Comm.(us)  Overlap(%)'
  for k in 1 2 4 8; do echo "$((k * 131072))  80.00  40.00  $((30 + 10 * k)).00  50.00"; done; } >"$dir/iallreduce.txt"
portolan score --machine h200-x2 "$dir/iallreduce.txt:1x2" tests/fixtures/nccl-tests.txt:1x2 | grep '^#.*blocking'
portolan replay "$dir/iallreduce.txt" --machine h200-x2 --nodes 1 --gpus-per-node 2 | grep '^#.*blocking'
fit() { portolan fit tests/fixtures/samples.csv --node gpus=6,cores=40,sockets=2 --name m --out "$dir/fit.yaml" --collectives tests/fixtures/collectives.csv "$@" 2>&1 | grep blocking; }
fit --collectives "$dir/iallreduce.txt:2x4"
echo "blocking ones, without:"
portolan score --machine h200-x2 tests/fixtures/osu-h200-x2.txt:1x2 tests/fixtures/nccl-tests.txt:1x2 | grep '^#.*blocking'
fit
exit 0

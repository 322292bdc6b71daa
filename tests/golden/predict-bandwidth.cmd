# nccl-tests' algorithm and bus bandwidth: of an allreduce 2(n-1)/n of the other, in blocks (n-1)/n.
rates() { portolan predict --machine h200-x4 --nodes 1 --procs-per-gpu 1 "$@" | sed -n '/^# bandwidth/p; /^# Bytes/,/^[0-9]/p'; }
for kind in algorithm bus; do
    rates --collective allreduce --bytes 1GiB --strategy gas_split --bandwidth $kind
    rates --collective alltoall --bytes 256MiB --strategy gas_read --bandwidth $kind
    rates --collective reduce_scatter --bytes 256MiB --strategy gas_split --bandwidth $kind
    rates --collective broadcast --bytes 1MiB --strategy gas_tree --bandwidth $kind --ci
done
portolan predict --machine h200-x4 --nodes 1 --procs-per-gpu 1 --collective allreduce --bytes 1GiB --strategy gas_split --format csv | tail -n 1
portolan simulate --machine h200-x4 --nodes 1 --procs-per-gpu 1 --collective allreduce --bytes 1MiB --strategy three_step --bandwidth bus | sed -n '/^# bandwidth/p; /^1 MiB/p'
for wrong in "--collective alltoallv --bytes 64" "--collective allreduce --bytes 64 --energy"; do
    portolan predict --machine h200-x2 --nodes 1 --bandwidth bus $wrong 2>&1 | head -1
done
# Both beside times; a column for the cheapest alone.
rates --collective allreduce --bytes 64KiB:1GiB:128 --strategy gas_split,nccl --bandwidth both; portolan simulate --machine h200-x4 --nodes 1 --procs-per-gpu 1 --collective allgather --bytes 1MiB --strategy three_step --bandwidth both | sed -n '/^# bandwidth/p; /^# Bytes/p; /^1 MiB/p'
portolan score --machine h200-x2 tests/fixtures/osu-h200-x2.txt:1x2 tests/fixtures/nccl-tests.txt:1x2 --cells --bandwidth both | sed -n '/^# bandwidth/,$p'; portolan score --machine h200-x2 tests/fixtures/osu-h200-x2.txt:1x2 tests/fixtures/nccl-tests.txt:1x2 --cells --bandwidth bus | sed -n '/^# bandwidth/,$p'; portolan score --machine h200-x2 tests/fixtures/nccl-tests.txt:1x2 --bandwidth bus 2>&1 | head -1
portolan replay tests/fixtures/nccl-tests.txt --machine h200-x2 --bandwidth both | sed -n '/^# bandwidth/,$p'
for command in "predict --format csv" "simulate --format json"; do portolan $command --machine h200-x2 --nodes 1 --collective allreduce --bytes 1MiB --bandwidth both; done

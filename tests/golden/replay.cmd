for format in table csv json; do portolan replay tests/fixtures/report.csv --machine summit-spectrum --gpus-per-node 4 --rank 3 --as-gpu --top 2 --format $format; done; portolan replay tests/fixtures/nccl-tests.txt --machine h200-x2
for format in table csv json; do portolan replay tests/fixtures/report.csv --machine h200-x2 --what-if injection.gpu.s_per_byte=2e-11 --format $format; done
portolan replay tests/fixtures/report.csv --machine cpu-2x64-200g --gpus-per-node 4; portolan replay tests/fixtures/report.csv --machine h200-x4 --memory host --gpus-per-node 4 | head -11; portolan replay tests/fixtures/report.csv --machine cpu-2x64-200g --memory gpu; portolan replay tests/fixtures/report.csv --machine h200-x2-mps --what-if node.cores=1
host=$(mktemp); trap 'rm -f "$host"' EXIT; sed 's/MPI-CUDA/MPI/' tests/fixtures/osu.txt >"$host"; portolan replay "$host" --machine h200-x2 --nodes 1 --gpus-per-node 2 2>&1 | sed "s|$host|FILE|"; portolan replay "$host" --machine h200-x2 --memory host --nodes 1 --gpus-per-node 2 | sed 1d; portolan score --machine h200-x2 "$host":1x2 2>&1 | sed "s|${host##*/}|FILE|"; cat tests/fixtures/osu.txt >>"$host"; portolan score --machine h200-x2 "$host":1x2 2>&1 | sed "s|$host|FILE|g"
# A benchmark on another machine, and on more nodes than it ran on: the file says both. No network, no cost of it.
portolan replay tests/fixtures/nccl-tests.txt --machine dgx-h100 | head -7; portolan replay tests/fixtures/nccl-tests.txt --machine h200-x4 --nodes 2 --what-if injection.gpu.s_per_byte=2e-11
portolan replay tests/fixtures/osu-h200-x2.txt --machine h200-x2 --nodes 2 --what-if injection.gpu.s_per_byte=2e-11 --top 2
# Intervals of totals.
portolan replay tests/fixtures/report.csv --machine lassen-spectrum-refit --ci | sed -n '/^# All calls/,/^# To/p'

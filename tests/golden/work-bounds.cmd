# Commands count what they would walk before they start: plan, traffic, tune, export, score and fit.
ask="--machine summit-spectrum --procs-per-gpu 6 --collective alltoallv --counts skew:0.5:1 --bytes 1KiB"
portolan plan $ask --nodes 2 --strategy cuda_aware --limit 10
portolan traffic $ask --nodes 2 --strategy dup_devptr --limit 10
portolan traffic --machine summit-spectrum --collective alltoall --nodes 2 --bytes 1KiB --strategy three_step --library pairwise --limit 100
portolan tune --machine h200-x2 --procs-per-gpu 32 --bytes 4:1GiB:2 --limit 1000
portolan export --for openmpi-4.1 --machine h200-x4 --nodes 1 --limit 10
portolan score --machine summit-spectrum tests/fixtures/collectives.csv --limit 10
portolan fit tests/fixtures/samples.csv --name m --report --collectives tests/fixtures/collectives.csv --limit 10

# No help and no table is wider than a terminal of 80 columns; wider ones show more. (Steps of plans are not wrapped.)
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
wide() { "$@" 2>&1 | sed "s|$dir/||" | awk -v asked="$*" 'length > 80 { print length ": " $0; found = 1 } END { exit found }' || echo "  in: $*" | sed "s|$dir/||"; }
alltoall="--collective alltoall --nodes 2 --bytes 1KiB:1MiB:32"
summit="--machine summit-spectrum $alltoall"
wide portolan help
for command in $(portolan help | sed -n '/^commands:/,/^$/p' | awk '/^  [a-z]/ { print $1 }'); do wide portolan help "$command"; done
for topic in words strategies gpu-aware nic open-mpi machines units exit-codes; do wide portolan help $topic; done
wide portolan predict $summit --ci
wide portolan predict $summit --explain --strategy three_step
wide portolan predict $summit --what-if 'injection.*=/1:/8'
wide portolan predict --machine h200-x2 $alltoall --bandwidth bus
wide portolan pick $summit
wide portolan pick $summit --what-if 'injection.*=/1:/8'
for workload in scenarios/workloads/*.yaml; do wide portolan step "$workload"; wide portolan upgrade "$workload"; done
wide portolan replay tests/fixtures/osu-h200-x2.txt --machine h200-x2 --nodes 1 --gpus-per-node 2
wide portolan map --machine summit-spectrum --collective alltoallv --counts skew:0.5:1 --nodes 2 --bytes 1KiB
wide portolan check $summit
wide portolan simulate $summit
wide portolan sensitivity $summit
wide portolan score --machine summit-spectrum tests/fixtures/collectives.csv --by nodes
wide portolan score --machine summit-spectrum tests/fixtures/collectives.csv --cells
wide portolan upgrade $summit
wide portolan topology scenarios/topologies/dgx-v100.yaml
wide portolan fit tests/fixtures/samples.csv --report
wide portolan tune --machine h200-x2 --bytes 64KiB:1MiB:16 --procs-per-gpu 4
wide portolan export --for openmpi-4.1 --machine lassen-spectrum-refit --nodes 2 --bytes 4:1KiB:16 --out "$dir/rules"
wide portolan export --for openmpi-4.1 --machine lassen-spectrum-refit --nodes 2 --bytes 4:1KiB:16 --check "$dir/rules"
for list in collectives strategies algorithms mappers machines topologies; do wide portolan list $list; done
echo done

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
wide portolan predict --machine summit-spectrum-refit --collective broadcast --nodes 8 --procs-per-gpu 6 --bytes 4:64MiB:256 --strategy cuda_aware,three_step,dup_devptr,extra_message
wide portolan predict $summit --what-if 'injection.*=/1:/8'
wide portolan predict --machine h200-x2 $alltoall --bandwidth bus --what-if injection.gpu.s_per_byte=2e-11
wide portolan predict $summit --bandwidth both; wide portolan predict $summit --bandwidth both --strategy three_step,cuda_aware,dup_devptr
wide portolan pick $summit
wide portolan pick $summit --what-if 'injection.*=/1:/8'
for workload in scenarios/workloads/*.yaml; do wide portolan step "$workload"; wide portolan upgrade "$workload"; done
wide portolan replay tests/fixtures/osu-h200-x2.txt --machine h200-x2 --nodes 1 --gpus-per-node 2
wide portolan replay tests/fixtures/osu-h200-x2.txt --machine h200-x2 --nodes 2 --what-if injection.gpu.s_per_byte=2e-11
wide portolan replay tests/fixtures/nccl-tests.txt --machine dgx-h100 --bandwidth both; wide portolan replay tests/fixtures/osu-h200-x2.txt --machine h200-x2 --nodes 1 --bandwidth both
wide portolan replay tests/fixtures/nccl-tests.txt --machine dgx-h100
for workload in scenarios/workloads/*.yaml; do wide portolan step "$workload" --ci; done
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
# What was wider once: long names of machines, strategies, calls and files, and columns of resources.
long="--machine lassen-spectrum-2020-refit"
wide portolan predict scenarios/problems/alltoall-summit.yaml
wide portolan simulate scenarios/problems/alltoall-summit.yaml --bytes 64
wide portolan predict $long $alltoall --explain --strategy gas_split,three_step
wide portolan predict $long --collective pair --distance off_node --bytes 64MiB --strategy three_step,cuda_aware --explain
wide portolan pick $long $alltoall
wide portolan sensitivity $long $alltoall
wide portolan upgrade scenarios/workloads/fft-3d.yaml --only NIC
wide portolan upgrade scenarios/workloads/llm-training.yaml --only PCIe
wide portolan upgrade $long $alltoall --only NIC
wide portolan check $long --collective allreduce --nodes 2 --bytes 64MiB --library best --chunks 3
wide portolan check --machine lassen-mvapich2 --collective allreduce --nodes 2 --gpus-per-node 2 --procs-per-gpu 1 --bytes 64 --strategy cuda_aware --library best
wide portolan simulate $long --procs-per-gpu 10 --collective allreduce --nodes 4 --bytes 1MiB --strategy split_ring,three_step,gsb_gsb
wide portolan simulate --machine h200-nodes-tcp --collective alltoall --nodes 2 --bytes 1MiB
wide portolan plan $long --collective reduce_scatter --nodes 4 --bytes 1KiB --strategy cuda_aware,gas_split,three_step | grep -v '  in: ' | grep -vE ': +(send|recv|copy|reduce)'
wide portolan replay tests/fixtures/report.csv --machine summit-spectrum --gpus-per-node 4
wide portolan score --machine h200-x2 tests/fixtures/osu-h200-x2.txt:1x2 tests/fixtures/nccl-tests.txt:1x2
for topology in dgx-v100 k80-2-2-2-2 dgx-1; do wide portolan topology $topology; done
wide portolan list parameters | grep -v '^  in: \|  nccl\.{'
cat >"$dir/long.yaml" <<'END'
workload: a step whose name is longer than a line of a terminal of eighty columns, and whose calls have long names, too
machine: lassen-spectrum-refit
layout: {nodes: 4, procs_per_gpu: 10}
step:
  - {call: activations_of_all_tensor_parallel_layers_forwa, collective: allreduce, bytes: 1GiB, times: 20000}
  - {call: activations_of_all_tensor_parallel_layers_backw, collective: allreduce, bytes: 16MiB, times: 3}
END
for how in --ci --simulate; do wide portolan step "$dir/long.yaml" --strategy three_step,split_ring $how; done
wide portolan step "$dir/long.yaml"
wide portolan upgrade "$dir/long.yaml" --only NIC
portolan step "$dir/long.yaml" | grep -v machine
portolan upgrade "$dir/long.yaml" --only NIC | grep -v machine
# Comments of tables in the outputs of all other tests, but those for wider terminals and those that are in files.
awk 'length > 80 && /^# / { print FILENAME ": " length ": " $0 }' $(ls tests/golden/*.out | grep -vE '/(step|predict-columns|predict-hidden|export.*|machine-new|fit-report|fit-all|widths)\.out$')
echo done

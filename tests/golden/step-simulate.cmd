portolan step scenarios/workloads/fsdp.yaml --nodes 4 --simulate --procs-per-gpu 10 --strategy split_ring
portolan step scenarios/workloads/llm-training.yaml --nodes 8 --simulate --format csv --strategy cuda_aware | grep simulated
portolan step scenarios/workloads/fft-3d.yaml --simulate --limit 1000 || echo "exit: $?"
# Of calls at once, the fastest of the cheapest mixes.
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT; cat >"$dir/mix.yaml" <<'END'
workload: two calls at once
machine: lassen-mvapich2-refit
layout: {nodes: 4}
step:
  - at_once:
    - {call: gather, collective: allgather, bytes: 1536KiB}
    - {call: scatter, collective: reduce_scatter, bytes: 1536KiB}
END
portolan step "$dir/mix.yaml" --simulate
# Another mix of the same price: no note.
cat >"$dir/same.yaml" <<'END'
workload: two calls at once
machine: lassen-mvapich2-refit
layout: {nodes: 4, gpus_per_node: 4}
step:
  - at_once:
    - {call: reduce, collective: allreduce, bytes: 1MiB, times: 3}
    - {call: exchange, collective: alltoall, bytes: 1MiB, times: 2}
END
portolan step "$dir/same.yaml" | grep '^reduce\|^+ exchange\|^step'
portolan step "$dir/same.yaml" --simulate | grep '^reduce\|^+ exchange\|^step\|^# cheapest:\|lower price'

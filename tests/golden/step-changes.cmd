# The machine, the grid and the computation of a workload, changed: a step says whose computation it keeps.
portolan step llm-training --machine dgx-h100 --nodes 128 --gpus-per-node 8 --strategy cuda_aware
portolan step llm-training --machine dgx-h100 --nodes 128 --grid tensor=8 --compute-scale 0.2 --strategy cuda_aware
portolan step llm-training --machine dgx-h100 --nodes 128 --compute-scale 0.2 --strategy cuda_aware --format csv | awk -F, '{ print $1, $(NF - 1), $NF }' | uniq
upgrade() { portolan upgrade llm-training --nodes 128 --only nic "$@"; }
upgrade --machine dgx-h100 | grep compute
upgrade --machine dgx-h100 --format csv | awk -F, '{ print $1, $NF }'
upgrade --machine dgx-h100 --format json | grep -o '"compute_[^,]*'
upgrade | grep compute
page=$(mktemp); trap 'rm -f "$page"' EXIT
portolan report llm-training --machine dgx-h100 --nodes 128 --out "$page" --force && grep '^"notes"' "$page"
portolan step llm-training --machine lassen-spectrum-refit --nodes 8 --strategy cuda_aware | grep compute
portolan step llm-training --nodes 8 --compute-scale 0.5 --strategy cuda_aware --format json | tr , '\n' | grep compute
portolan step llm-training --nodes 128 --grid pipeline=4 --grid tensor=2 | grep "^# grid"
for grid in foo=8 tensor tensor=3 tensor=0 tensor=-4 tensor=x; do portolan step llm-training --grid $grid; echo "exit $?"; done
portolan step llm-training --compute-scale 0

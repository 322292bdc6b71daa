# A trace of one simulation, whole and cut; python is not needed to see that it is what was asked for.
trace=$(mktemp)
two="--machine summit-spectrum --collective alltoall --nodes 2 --gpus-per-node 1 --procs-per-gpu 1 --bytes 1KiB --strategy three_step --library pairwise"
portolan simulate $two --trace "$trace" --format csv >/dev/null
cat "$trace"
portolan simulate $two --trace "$trace" --trace-events 2 --format csv 2>&1 >/dev/null | sed "s|$trace|TRACE|"
tail -n 1 "$trace"
rm "$trace"

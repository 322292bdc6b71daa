# SIGTERM and SIGHUP end a command at once and leave no file. Ctrl-C: tests/interrupt.py.
folder=$(mktemp -d)
ask="portolan simulate --machine summit-spectrum --collective alltoall --nodes 700 --bytes 1KiB --strategy cuda_aware --library pairwise"
for signal in TERM HUP; do
    timeout --signal=$signal 0.5 $ask --trace "$folder/trace.json"
    echo "$signal: status $?, $(ls "$folder" | wc -l) files"
done
rm -r "$folder"

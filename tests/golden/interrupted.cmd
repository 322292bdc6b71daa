# SIGTERM ends a command at once and leaves no file. Ctrl-C: tests/interrupt.py.
folder=$(mktemp -d)
ask="portolan simulate --machine summit-spectrum --collective alltoall --nodes 700 --bytes 1KiB --strategy cuda_aware --library pairwise"
timeout --signal=TERM 0.5 $ask --trace "$folder/trace.json"
echo "status $?, $(ls "$folder" | wc -l) files"
rm -r "$folder"

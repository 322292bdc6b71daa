# Ctrl-C and SIGTERM end a command at once and leave no file.
folder=$(mktemp -d)
ask="portolan simulate --machine summit-spectrum --collective alltoall --nodes 700 --bytes 1KiB --strategy cuda_aware --library pairwise"
for signal in INT TERM; do
    timeout --signal=$signal 0.5 $ask --trace "$folder/trace.json"
    echo "status $?, $(ls "$folder" | wc -l) files"
done
rm -r "$folder"

# Tuning files of Open MPI, and what is wrong with those that it would ignore or misread.
export SOURCE_DATE_EPOCH=0
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
portolan export --for openmpi-4.1 --machine lassen-spectrum-refit --nodes 2:4 --bytes 4:4MiB | sed 's/cksum [0-9]*/cksum .../'
portolan export --for openmpi-6 --machine lassen-spectrum-refit --nodes 1:2 --collective alltoall --bytes 4:1MiB 2>&1 | sed 's/cksum [0-9]*/cksum .../'
portolan export --for ucc --machine h200-x2 --nodes 1 --bytes 4:4MiB | sed 's/cksum [0-9]*/cksum .../'
portolan export --for openmpi-4.1 --machine lassen-spectrum-refit --nodes 2 --collective allreduce --bytes 4:64KiB --out "$dir/rules"
portolan export --for openmpi-4.1 --machine lassen-spectrum-refit --nodes 2 --collective allreduce --bytes 4:128KiB:4 --check "$dir/rules" | sed "s|$dir/||"
check() {
    printf "$1" >"$dir/rules"
    portolan export --for openmpi-4.1 --machine lassen-spectrum-refit --nodes 2 --collective allreduce --bytes 64KiB --check "$dir/rules" 2>&1 | sed "s|$dir/||"
}
# Broadcasts by a chain and by a scatter and an allgather, and what has no price.
printf '1\n7\n1\n1\n3\n0 3 0 0\n4096 9 0 0\n65536 8 0 0\n' >"$dir/rules"
portolan export --for openmpi-4.1 --machine host-nodes-tcp --memory host --procs-per-node 1 --nodes 4 --collective broadcast --bytes 1KiB:1MiB:4 --check "$dir/rules" | sed "s|$dir/||"
# A ring for all communicators from 16 up, which smaller ones take as well; segments; another collective.
check '1\n2\n1\n16\n1\n0 4 0 0\n'
check '1\n2\n1\n1\n2\n0 3 0 0\n1024 5 0 65536 # segmented\n'
check '1 3 1 1 1 0 2 0 0'
check '1\n2\n1\n1\n1\n64 3 0 0\n'
check '1\n2\n1\n1\n2\n0 3 0 0\n0 6 0 0\n'
check '1\n2\n2\n8\n1\n0 3 0 0\n4\n1\n0 6 0 0\n'
check '1\n2\n1\n1\n1\n0 010 0 0\n'
check '1\n2\n1\n1\n1\n0 3 0 1e4\n'
check '1\n2\n1\n1\n1\n0 3 0\n'
check '1\n2\n1\n1\n1\n0 3 0 0\n7\n'
check '1\n22\n1\n1\n1\n0 3 0 0\n'
check 'rule-file-version-2\n1\n'
for wrong in "--nodes 2" "--for openmpi-4.1 --nodes 2" "--for openmpi-4.1 --machine lassen-spectrum-refit" \
    "--for openmpi --machine lassen-spectrum-refit --nodes 2" \
    "--for openmpi-4.1 --machine lassen-spectrum-refit --nodes 2 --collective halo" \
    "--for openmpi-4.1 --machine lassen-spectrum-refit --nodes 1 --gpus-per-node 1"; do
    portolan export $wrong 2>&1 || echo "exit $?"
done

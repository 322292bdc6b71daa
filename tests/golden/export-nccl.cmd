# Rules for the NCCL plugin, where nodes have a network with a price and where they have none; Cray's variables.
export SOURCE_DATE_EPOCH=0
ask() { portolan export "$@" 2>&1 | sed 's/cksum [0-9]*/cksum .../'; }
ask --for nccl --machine h200-x2 --nodes 1:8 --bytes 4:16MiB --what-if injection.gpu.s_per_byte=2e-11
ask --for nccl --machine h200-x4 --nodes 1:2
ask --for nccl --machine summit-spectrum-refit --nodes 2 --what-if injection.gpu.s_per_byte=2e-11 | grep 'NCCL allreduce'
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
network="--machine h200-x2 --what-if injection.gpu.s_per_byte=2e-11"
# Its own rules, read back; then others' first ones that hold, for some communicators, calls or protocols alone.
ask --for nccl $network --nodes 1:4 --bytes 4:16MiB --out "$dir/own"
check() { ask --for nccl $network "$@" | sed "s|$dir/||"; }
check --nodes 1:4 --bytes 4KiB:16MiB:8 --check "$dir/own"
rules() {
    printf '%s\n' "$@" >"$dir/rules"
    check --nodes 4 --bytes 4KiB:16MiB:16 --check "$dir/rules"
}
rules allreduce,0,4096,tree,ll,-1,4,-1 allreduce,0,65535,tree,simple,0,-1,-1 allreduce,65536,1048575,nvls,simple,-1,-1,8 allreduce,0,1048576,ring,ll,-1,-1,-1
rules broadcast,0,16777216,ring,ll,-1,-1,-1 allreduce,0,16777216,ring,ll,-1,2,-1 allreduce,0,16777216,ring,ll,-1,-1,-1,2 allreduce,0,16777216,ring,ll,-1,-1,-1,-1,1
rules allreduce,0,4096,tree,ll,-1,4,-1 allreduce,0,65535,tre,simple,0,-1,-1
for machine in h200-x2 lassen-spectrum-refit h200-2x2-tcp; do ask --for cray --machine $machine --nodes 2; done

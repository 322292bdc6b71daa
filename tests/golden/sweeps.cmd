# Two sweeps at once, ranges of parameters, a machine before and after a change; crossings between the sizes of a sweep.
alltoall="--machine summit-spectrum-refit --procs-per-gpu 6 --collective alltoall"
portolan predict $alltoall --nodes 2:32 --bytes 64:1MiB:4
portolan pick $alltoall --nodes 2:32 --bytes 64:1MiB
portolan pick $alltoall --nodes 2:1024 --bytes 4KiB
portolan predict scenarios/problems/messages-many-summit.yaml --bytes 64:64KiB:32 --messages 1:4
portolan predict $alltoall --nodes 8 --bytes 64KiB --what-if 'injection.*=/1:/8' --what-if 'copies.*.alpha_s=*1,*2,*4'
portolan predict $alltoall --nodes 8 --bytes 64KiB --what-if 'injection.gpu.s_per_byte=12.5:50 GB/s' --strategy cuda_aware
portolan pick $alltoall --nodes 2:8 --bytes 64KiB --what-if 'injection.*=/1:/4' --model published
portolan pick $alltoall --nodes 8 --bytes 64KiB --what-if 'injection.*=*0.001,*1,*1000' --what-if 'copies.*=*0.01,*1,*100'
portolan predict $alltoall --nodes 8 --bytes 64:1MiB:16 --what-if 'injection.*=/2' --compare
portolan pick $alltoall --nodes 8 --bytes 64:1MiB:16 --what-if 'injection.*=/2' --compare
portolan predict $alltoall --nodes 8:16 --bytes 64 --what-if 'injection.*=/1:/2' --strategy cuda_aware --format csv
portolan pick $alltoall --nodes 2:4 --bytes 64:64KiB:4 --format csv | cut -d, -f1-9
portolan pick $alltoall --nodes 2:4 --bytes 64:64KiB:32 --strategy three_step --format json
for wrong in "--compare" "--nodes 2:4 --bytes 64:128 --what-if injection.*=/1:/2" "--what-if injection.*=/4:/1" \
    "--what-if injection.*=/1:*2" "--what-if injection.*=/1:/2:1" "--what-if injection.*=1:2:3:4" "--what-if warp.*=/1:/2" \
    "--what-if injection.*=/1:/2 --compare" "--what-if injection.*=a:b" "--what-if injection.*=/1:/2 --explain" \
    "--what-if procs_per_gpu=6:24" "--what-if warp.*=/2 --compare" "--nodes 2:4 --what-if nodes=4 --compare" \
    "--nodes 2:4 --what-if nodes=2:8" "--what-if injection.cpu.s_per_byte=1e-11," \
    "--what-if injection.cpu.s_per_byte=1e-11,x" "--what-if injection.cpu.s_per_byte=1,1$(printf '%064d' 1)"; do
    portolan predict $alltoall --nodes 8 --bytes 64 $wrong
done 2>&1 | sed 's/; `portolan predict --help`.*//'
portolan simulate $alltoall --nodes 2:4 --bytes 64:128
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
portolan predict $alltoall --nodes 2:8 --bytes 64:1MiB:4 --plot "$dir/sweeps.svg" >"$dir/out" && grep -o '>[a-zA-Z0-9_ ]*</text>' "$dir/sweeps.svg" | sort -u | tr '\n' ' '
portolan predict $alltoall --nodes 8 --bytes 64:1MiB:4 --what-if 'injection.*=/2' --compare --plot "$dir/both.svg" >"$dir/out" && grep -o '>[a-zA-Z0-9_ ]*</text>' "$dir/both.svg" | sort -u | tr '\n' ' '
portolan predict $alltoall --nodes 2:4 --bytes 64 --strategy cuda_aware --what-if 'nodes=*2' --compare
COLUMNS=40 portolan predict $alltoall --nodes 2:4 --bytes 64 --strategy cuda_aware --what-if "injection.cpu.s_per_byte=$(printf '0.%040d,0.%030d' 1 1)"
portolan predict --machine summit-spectrum-refit --collective alltoallv --counts skew:0.5:1 --nodes 4:32 --bytes 64:64KiB:32 --limit 5000 --strategy cuda_aware
portolan predict $alltoall --nodes 8 --bytes 64 --strategy cuda_aware --what-if network.contention=1,-1 --format csv 2>&1 | cut -d, -f1-5
printf 'upgrades: [{name: four nodes, what_if: nodes=4}, {name: NICs, what_if: injection.*=/2}]' >"$dir/nodes.yaml"
portolan upgrade $alltoall --nodes 2:4 --bytes 64 --upgrades "$dir/nodes.yaml"

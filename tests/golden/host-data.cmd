# Data in host memory in plan, messages, upgrade, export and report.
allreduce="--machine cpu-2x64-200g --collective allreduce --nodes 2 --bytes 1KiB"
portolan plan $allreduce --procs-per-node 2 --strategy own_algorithm --rank 3 | sed -n '/^rank/p'
portolan predict --machine cpu-2x64-200g --collective messages --nodes 2 --procs-per-node 4 --messages 4 --bytes 1KiB
portolan predict $allreduce --what-if procs_per_node=8:128:4
portolan check $allreduce --procs-per-node 2 | sed 1,2d
echo 'upgrades: [{name: cores, what_if: node.cores=*2}]' | portolan upgrade $allreduce --upgrades /dev/stdin
portolan upgrade scenarios/workloads/stencil-cg.yaml --machine summit-spectrum-refit --nodes 4 --memory host --procs-per-node 8 --only NIC
for library in nccl ucc; do portolan export --for $library --machine h200-x4 --nodes 1 --memory host; done
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
{
    echo "collective,implementation,strategy,nodes,gpus_per_node,procs_per_gpu,bytes,run,seconds"
    for strategy in mpi own_algorithm; do echo "alltoall,library,$strategy,2,16,1,1024,1,1e-4"; done
} >"$dir/host.csv"
portolan report "$dir/host.csv" --machine cpu-2x64-200g --out "$dir/host.html" && grep -o '"title":"[^"]*"' "$dir/host.html"
portolan predict --machine cpu-2x64-200g --collective allreduce --nodes 9223372036854775807 --bytes 1KiB
portolan simulate $allreduce --procs-per-node 2 --strategy mpi | grep -A1 'others: of'
portolan machine new --name mine --cores 8 --nics 1 --nic 100

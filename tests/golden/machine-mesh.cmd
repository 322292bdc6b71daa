# GPUs that are joined without a switch: a pair has the links between these two, a GPU all of them.
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
new() { portolan machine new --name mesh --sockets 2 --cores 96 --host-link pcie5 --force --out "$dir/mesh.yaml" "$@" 2>&1; echo "exit $?"; }
# of 1 GiB from one GPU to another, and of 1 GiB to each other GPU
rates() {
    for collective in "pair --distance on_node" alltoall; do
        portolan predict --machine "$dir/mesh.yaml" --collective $collective --nodes 1 --procs-per-gpu 1 --bytes 1GiB --format csv |
            awk -F, -v what="${collective%% *}" -v gpus=$1 '/^1073741824,.*,(cuda_aware|ipc_copy|gas_read|copy_engine|nccl),/ && $6 > 0 { printf "%s %s: %.3g GB/s\n", what, $4, (what == "pair" ? 1 : gpus - 1) * 1.073741824 / $6 }'
    done
}
new --gpus 8 --gpu-link xgmi --nics 8 --nic 400G; sed -n '/^peer/,/all_s_per_byte_95/p;/^topology/,$p' "$dir/mesh.yaml"; rates 8
portolan upgrade --machine "$dir/mesh.yaml" --collective pair --distance on_node --nodes 1 --procs-per-gpu 1 --bytes 1GiB --only 'GPU links' --format csv | cut -d, -f 1,2
new --gpus 4 --gpu-link nvlink3; grep '^topology' "$dir/mesh.yaml"; rates 4
# A rate is that of one link; AMD's MI300A has two a peer.
new --gpus 4 --gpu-link xgmi --links-per-peer 2; grep '^topology' "$dir/mesh.yaml"
new --gpus 4 --gpu-link '25 GB/s' --links-per-peer 4; grep '^topology' "$dir/mesh.yaml"
# Switches: by default with eight GPUs of NVIDIA, and as they are asked for. Two GPUs have all of their links, xgmi's but one.
new --gpus 8 --gpu-link nvlink4; grep -c '^topology\|^  all_s_per_byte:' "$dir/mesh.yaml"
new --gpus 4 --gpu-link nvlink3 --gpu-topology switch; grep -c '^topology' "$dir/mesh.yaml"; rates 4
new --gpus 2 --gpu-link nvlink3; grep '^# between GPUs\|^topology' "$dir/mesh.yaml"
new --gpus 2 --gpu-link xgmi; grep '^# between GPUs\|^topology' "$dir/mesh.yaml"
# Links that differ: a pair has the fastest's rate, and the topology holds up the others. The file that ships is made like this;
# RCCL's rings alone have fewer links.
new_unequal=(--from mi250x --gpu 'AMD Instinct MI250X' --gpu-memory 64GiB --host-memory 512GiB --host-memory-bandwidth 8xDDR4-3200 --mpi cray-mpich)
portolan machine new --name mi250x --cores 64 "${new_unequal[@]}" --source "$(sed -n 's/^source: "\(.*\)"/\1/p' scenarios/machines/mi250x.yaml)" --force --out "$dir/mesh.yaml"
diff <(sed '/^nccl:/,/^memory:/d' "$dir/mesh.yaml") <(sed '/^nccl:/,/^memory:/d' scenarios/machines/mi250x.yaml) && echo "as it ships"
sed -n '/^peer/,/all_s_per_byte_95/p;/^  routes/,/^$/p' "$dir/mesh.yaml"
portolan predict --machine mi250x --collective pair --distance on_socket --nodes 1 --procs-per-gpu 1 --bytes 1GiB --strategy cuda_aware,ipc_copy
portolan predict --machine mi250x --collective allreduce --nodes 1 --bytes 512MiB --strategy cuda_aware,nccl | tail -n 2
portolan predict --machine mi250x --collective alltoall --nodes 1 --bytes 64MiB --strategy copy_engine --explain | grep 'topology\|peer'
# NCCL on some GPUs of a mesh has the links among these: RCCL's rings take 48 GB/s of each link. Of a DGX-1's, the busiest link
# carries three messages of an alltoall, because pairs without a link send through a third GPU: 25 / 3 * 7 GB/s, less for NCCL.
moved() { awk -v call="  $1:" -v share="$2" '/^  [a-z]/ { in_call = $0 ~ call } in_call && /{gpus: [248], alpha/ { split($0, part, /gpus: |, |beta_s_per_byte: /); for (i in part) if (part[i] ~ /e-1[0-9]$/) beta = part[i]; g = part[2]; printf "%s of %d: %.3g GB/s\n", substr(call, 3, length(call) - 3), g, (share ? 2 * (g - 1) / g : g - 1) * 1e-9 / beta }' "$dir/mesh.yaml"; }
new --gpus 8 --gpu-link xgmi; moved allreduce 1; moved alltoall 0
portolan machine new --name dgx --cores 40 --from dgx-1 --gpu V100 --nic HDR --force --out "$dir/mesh.yaml"; moved allreduce 1; moved alltoall 0
# What there is not.
new --gpus 8 --gpu-link nvlink2 --gpu-topology mesh; new --gpus 4 --gpu-link nvlink3 --links-per-peer 5; new --gpus 4 --gpu-link pcie5 --links-per-peer 2
new --gpus 4 --gpu-topology mesh; new --gpus 4 --gpu-link nvlink3 --gpu-topology switch --links-per-peer 4; new --gpus 4 --gpu-link nvlink3 --gpu-topology ring

#!/usr/bin/env bash
# One would guess that in a DeviceMesh of ranks 1 and 0, rank 1 has the first part of a tensor and rank 0 the second, and that
# full_tensor() returns the tensor, whatever the order of the ranks.
# Of 0 to 4 full_tensor() returns 0 1 0 3 4, with Gloo and NCCL: 2 is lost. Of four elements rank 0 gets 0 1 by
# distribute_tensor, and 2 3 where the tensor is replicated and divided again. Nothing fails. A mesh with all ranks takes the
# group of all processes, in which the order of the list is lost, and dist.new_group sorts its ranks as well. Collectives
# follow the group, and local cuts and paddings the place in the mesh.
# PyTorch 2.11, NCCL 2.28.9, CUDA 13.0, driver 580.159, two NVIDIA H200 (needed: two GPUs and PyTorch). PyTorch's pull request
# 193224 (August 2026, closed) names both places where the order is lost; issue 176126 asks for groups in the order given.
. "$(dirname "$0")/packages.sh"
needs_gpus_and_torch 2
cat >"$work/mesh.py" <<'END_PY'
import os, torch, torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor

rank, backend = int(os.environ["RANK"]), os.environ["BACKEND"]
kind = "cuda" if backend == "nccl" else "cpu"
if backend == "nccl":
    torch.cuda.set_device(rank)
dist.init_process_group(backend)
for ranks in ([0, 1], [1, 0]):
    mesh = DeviceMesh(kind, ranks)
    for elements in (4, 5):
        whole = torch.arange(float(elements), device=torch.device(kind, rank) if kind == "cuda" else "cpu")
        shards = distribute_tensor(whole, mesh, [Shard(0)])
        again = shards.redistribute(placements=[Replicate()]).redistribute(placements=[Shard(0)])
        tensors = (shards.to_local(), shards.full_tensor(), again.to_local(), again.full_tensor())
        numbers = [[int(x) for x in t.flatten()] for t in tensors]
        line = "has {}, all {}; replicated and divided again {}, all {}".format(*numbers)
        place = " ".join(str(x) for x in (*ranks, elements, "rank", rank, "at", mesh.get_local_rank()))
        os.write(1, f"{place} {line}\n".encode())  # whole lines of two processes
dist.destroy_process_group()
END_PY
for backend in gloo nccl; do
    BACKEND=$backend on_gpus 2 "$work/mesh.py" >"$work/seen" || skip "PyTorch fails: $(tail -1 "$work/log")"
    sort "$work/seen" | sed "s/^/$backend /" | tee "$work/$backend"
    whole() { sed -n "s/^$backend $1 rank 0 .* has [^a]*all \(\[[^]]*\]\);.*/\1/p" "$work/$backend"; }
    parts() { sed -n "s/^$backend $1 rank 0 .* has \(\[[^]]*\]\), .* divided again \(\[[^]]*\]\), .*/\1 \2/p" "$work/$backend"; }
    expect "$backend: 0 to 4 on ranks 0 and 1" "[0, 1, 2, 3, 4]" "$(whole '0 1 5')"
    expect "$backend: 0 to 4 on ranks 1 and 0" "[0, 1, 0, 3, 4]" "$(whole '1 0 5')"
    expect "$backend: 0 to 3 on ranks 1 and 0, what rank 0 has, twice" "[0, 1] [2, 3]" "$(parts '1 0 4')"
done
exit "$failed"

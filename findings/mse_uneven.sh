#!/usr/bin/env bash
# One would guess that a mean over a DTensor is right with parts of unequal sizes, in loss functions too: mean was corrected in
# 2025, and 0, 0 and 4, on two processes, have the mean square 5.333.
# (x * x).mean() is 5.333 and l1_loss is right, but mse_loss is 8, the mean of the processes' means, 0 and 16; smooth_l1_loss and
# huber_loss are 1.75 instead of 1.167. So it is with Gloo and NCCL, without a message. These three seem to have no rules of
# their own. For such functions DTensor follows their decomposition on a mesh of size 1, on which all sizes divide evenly,
# finds that an average is pending, and runs the function on each part.
# PyTorch 2.11, NCCL 2.28.9, CUDA 13.0, driver 580.159, two NVIDIA H200 (needed: two GPUs and PyTorch). Issue 162692 is about the
# mean, pull request 171652 brought the rules from decompositions (torch/distributed/tensor/_decompositions.py).
. "$(dirname "$0")/packages.sh"
needs_gpus_and_torch 2
cat >"$work/mse.py" <<'END_PY'
import os, torch, torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor

rank, backend = int(os.environ["RANK"]), os.environ["BACKEND"]
kind = "cuda" if backend == "nccl" else "cpu"
if backend == "nccl":
    torch.cuda.set_device(rank)
dist.init_process_group(backend)
mesh = init_device_mesh(kind, (2,))
whole = torch.tensor([0.0, 0, 4], device=kind)
zeros = torch.zeros_like(whole)
shards, zero_shards = (distribute_tensor(x, mesh, [Shard(0)]) for x in (whole, zeros))
functions = {
    "mean": lambda x, y: (x * x).mean(),
    "mse_loss": torch.nn.functional.mse_loss,
    "l1_loss": torch.nn.functional.l1_loss,
    "smooth_l1_loss": torch.nn.functional.smooth_l1_loss,
    "huber_loss": torch.nn.functional.huber_loss,
}
for name, function in functions.items():
    try:
        seen = f"{function(shards, zero_shards).full_tensor().item():.4g}"
    except Exception as error:
        seen = type(error).__name__
    if rank == 0:
        print(name, f"{function(whole, zeros).item():.4g}", seen, flush=True)
dist.destroy_process_group()
END_PY
for backend in gloo nccl; do
    BACKEND=$backend on_gpus 2 "$work/mse.py" >"$work/seen" || skip "PyTorch fails: $(tail -1 "$work/log")"
    echo "$backend: of 0, 0 and 4, in one tensor and with two elements on rank 0 and one on rank 1:"
    cat "$work/seen"
    both() { awk -v name="$1" '$1 == name { print $2, $3 }' "$work/seen"; }
    expect "$backend: mean of the squares" "5.333 5.333" "$(both mean)"
    expect "$backend: l1_loss" "1.333 1.333" "$(both l1_loss)"
    expect "$backend: mse_loss" "5.333 8" "$(both mse_loss)"
    expect "$backend: smooth_l1_loss" "1.167 1.75" "$(both smooth_l1_loss)"
    expect "$backend: huber_loss" "1.167 1.75" "$(both huber_loss)"
done
exit "$failed"

#!/usr/bin/env bash
# One would guess that dist.all_reduce of z.conj().imag adds what the processes see, -1 and -2, as of a copy of it, or raises an
# error as PyTorch does for z.conj() itself.
# It does nothing: each process keeps its own number, and a broadcast brings nothing, with Gloo and with NCCL, without an error.
# An allgather is right, which only reads. Such a view has PyTorch's negative bit: its memory holds the opposite. Operations
# that do not know the bit get a copy, which is written back if they declare that they write. PyTorch's collectives
# (allreduce_, broadcast_) declare lists of tensors that they only read, so their results end in the copy.
# PyTorch 2.11, NCCL 2.28.9, CUDA 13.0, driver 580.159, two NVIDIA H200 (needed: two GPUs and PyTorch).
# aten/src/ATen/native/MathBitsFallback.h, torch/csrc/distributed/c10d/Ops.cpp.
. "$(dirname "$0")/packages.sh"
needs_gpus_and_torch 2
cat >"$work/neg.py" <<'END_PY'
import os, torch, torch.distributed as dist

rank, backend = int(os.environ["RANK"]), os.environ["BACKEND"]
device = torch.device("cuda", rank) if backend == "nccl" else torch.device("cpu")
if backend == "nccl":
    torch.cuda.set_device(device)
dist.init_process_group(backend, device_id=device if backend == "nccl" else None)


def imaginary():
    """-1 on rank 0, -2 on rank 1."""
    return torch.tensor([complex(0, rank + 1)], device=device).conj().imag


view, copy, root = imaginary(), imaginary().clone(), imaginary()
dist.all_reduce(view)
dist.all_reduce(copy)
dist.broadcast(root, 0)
gathered = [torch.zeros(1, device=device) for _ in range(2)]
dist.all_gather(gathered, imaginary())
numbers = [x.item() for x in (view, copy, root, *gathered)]
print(rank, "allreduce {} of a copy {} broadcast {} allgather {} {}".format(*numbers), flush=True)
dist.destroy_process_group()
END_PY
for backend in gloo nccl; do
    BACKEND=$backend on_gpus 2 "$work/neg.py" >"$work/seen" || skip "PyTorch fails: $(tail -1 "$work/log")"
    sort "$work/seen" | sed "s/^/$backend, rank /" | tee "$work/$backend"
    added=$(awk '{ print $5, $9 }' "$work/$backend" | paste -sd' ')
    expect "$backend: -1 and -2 added, in a view and in a copy" "-1.0 -3.0 -2.0 -3.0" "$added"
    expect "$backend: -1 sent to rank 1" "-2.0" "$(awk '$3 == 1 { print $11 }' "$work/$backend")"
    expect "$backend: gathered" "-1.0 -2.0" "$(awk '$3 == 0 { print $13, $14 }' "$work/$backend")"
done
exit "$failed"

#!/usr/bin/env bash
# One would guess that FSDP2 divides gradients by what set_gradient_divide_factor was given, in any type that the reduction has:
# gradients 1 and 2 of two processes, divided by 2, 3 and 4, are 1.5, 1 and 0.75.
# So they are in float32 and float16. In bfloat16 they are 1.5, -9.09e-13 and 0: all but the number of processes itself, for
# which FSDP2 asks NCCL for an average, goes by PREMUL_SUM. PyTorch hands NCCL a pointer to the factor as a float, and NCCL
# reads a bfloat16 there, the two low bytes: of 1/4 they are 0, of 1/3 a tiny negative number. Nothing fails.
# NCCL 2.28.9, PyTorch 2.11, CUDA 13.0, driver 580.159, two NVIDIA H200 (needed: two GPUs and PyTorch). PyTorch's issue 190745
# and its pull request 190747 (July 2026) are about PREMUL_SUM.
. "$(dirname "$0")/packages.sh"
needs_gpus_and_torch 2
cat >"$work/divide.py" <<'END_PY'
import os, torch, torch.distributed as dist
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

rank = int(os.environ["RANK"])
device = torch.device("cuda", rank)
torch.cuda.set_device(device)
dist.init_process_group("nccl", device_id=device)


def gradient(dtype, factor):
    """The ranks' gradients are 1 and 2."""
    model = torch.nn.Linear(4, 2, bias=False, device=device)
    fully_shard(model, mp_policy=MixedPrecisionPolicy(reduce_dtype=dtype))
    model.set_gradient_divide_factor(factor)
    model(torch.full((1, 4), float(rank + 1), device=device)).sum().backward()
    return model.weight.grad.full_tensor()[0, 0].item()


for dtype in (torch.float32, torch.float16, torch.bfloat16):
    for factor in (2.0, 3.0, 4.0):
        seen = gradient(dtype, factor)
        if rank == 0:
            print(str(dtype)[6:], factor, f"{seen:.3g}", flush=True)
dist.destroy_process_group()
END_PY
on_gpus 2 "$work/divide.py" >"$work/seen" || skip "PyTorch fails: $(tail -1 "$work/log")"
echo "gradients 1 and 2, reduced in a type and divided by a factor:"
cat "$work/seen"
divided() { awk -v type="$1" '$1 == type { print $3 }' "$work/seen" | paste -sd' '; }
expect "in float32, divided by 2, 3 and 4" "1.5 1 0.75" "$(divided float32)"
expect "in bfloat16" "1.5 -9.09e-13 0" "$(divided bfloat16)"
exit "$failed"

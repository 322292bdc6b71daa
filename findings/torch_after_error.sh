#!/usr/bin/env bash
# One would guess that after PyTorch has refused an all_to_all of int16, a type that NCCL lacks, with a RuntimeError on all
# processes, the program may go on in another type, as after all_to_all_single.
# After all_to_all_single it may. After all_to_all, which takes lists of tensors, later allreduces do nothing and raise nothing:
# 1 and 2 were 3 before, and stay 1 and 2 from then on. PyTorch opens a group of NCCL calls, then looks up the type and raises
# without closing the group, so later calls wait for its end. all_to_all_single looks up the type first.
# PyTorch 2.11, NCCL 2.28.9, CUDA 13.0, driver 580.159, two NVIDIA H200 (needed: two GPUs and PyTorch). all2all and
# all2all_single_equal_split in torch/csrc/cuda/nccl.cpp; PyTorch's issue 74734 is about the refusal.
. "$(dirname "$0")/packages.sh"
needs_gpus_and_torch 2
cat >"$work/after.py" <<'END_PY'
import os, torch, torch.distributed as dist

rank, call = int(os.environ["RANK"]), os.environ["CALL"]
device = torch.device("cuda", rank)
torch.cuda.set_device(device)
dist.init_process_group("nccl", device_id=device)


def total():
    x = torch.full((1,), float(rank + 1), device=device)
    dist.all_reduce(x)
    return x.item()


def tensor(elements):
    return torch.zeros(elements, dtype=torch.int16, device=device)


calls = {
    "none": lambda: None,
    "all_to_all_single": lambda: dist.all_to_all_single(tensor(8), tensor(8)),
    "all_to_all": lambda: dist.all_to_all([tensor(4), tensor(4)], [tensor(4), tensor(4)]),
}
before, error = total(), "nothing"
try:
    calls[call]()
except RuntimeError:
    error = "RuntimeError"
after = [total(), total()]
if rank == 0:
    print(error, before, *after, flush=True)
os._exit(0)  # an open group could keep the processes from ending
END_PY
calls="none all_to_all_single all_to_all"
for call in $calls; do
    (CALL=$call on_gpus 2 "$work/after.py" >"$work/seen.$call" || : >"$work/seen.$call") &
done
wait
for call in $calls; do
    [ -s "$work/seen.$call" ] || skip "PyTorch fails: $(tail -1 "$work/log")"
done
echo "what the call raises, and 1 + 2 by an allreduce before it and twice after it:"
expect "no call" "nothing 3.0 3.0 3.0" "$(cat "$work/seen.none")"
expect "all_to_all_single" "RuntimeError 3.0 3.0 3.0" "$(cat "$work/seen.all_to_all_single")"
expect "all_to_all" "RuntimeError 3.0 1.0 1.0" "$(cat "$work/seen.all_to_all")"
exit "$failed"

#!/usr/bin/env bash
# One would guess that an allreduce of float8_e5m2, which has infinities, keeps them: inf + 1 and the maximum of inf and inf are
# inf, and a sum out of range becomes inf, as in float16 and where PyTorch rounds such a sum itself.
# All are 57344, the greatest finite number, even the maximum of inf and inf. In float8_e4m3fn, 448 + 448 is 448, where PyTorch
# rounds 896 to NaN. A check for inf or NaN after the reduction, as in loss scaling, finds nothing. NCCL's C
# interface and JAX have the same results. NCCL widens to half and converts back by the constructors of CUDA's 8-bit types,
# which clamp to finite numbers (src/device/reduce_kernel.h). NaN stays NaN in sums.
# NCCL 2.28.9, PyTorch 2.11, CUDA 13.0, driver 580.159, two NVIDIA H200 (needed: two GPUs and PyTorch).
. "$(dirname "$0")/packages.sh"
needs_gpus_and_torch 2
cat >"$work/inf.py" <<'END_PY'
import os, torch, torch.distributed as dist

rank = int(os.environ["RANK"])
device = torch.device("cuda", rank)
torch.cuda.set_device(device)
dist.init_process_group("nccl", device_id=device)
inf = float("inf")


def reduced(type, op, pair):
    x = torch.tensor([pair[rank]], device=device).to(type)
    dist.all_reduce(x, op=op)
    return x.float().item()


def rounded(type, value):
    return torch.tensor([value], device=device).to(type).float().item()


for type in (torch.float16, torch.float8_e5m2, torch.float8_e4m3fn):
    largest = torch.finfo(type).max
    for pair in ((inf, 1.0), (inf, inf), (largest, largest)):
        seen = [reduced(type, op, pair) for op in (dist.ReduceOp.SUM, dist.ReduceOp.MAX, dist.ReduceOp.AVG)]
        if rank == 0:
            print(str(type)[6:], *pair, *seen, rounded(type, pair[0] + pair[1]), flush=True)
dist.destroy_process_group()
END_PY
on_gpus 2 "$work/inf.py" >"$work/seen" || skip "PyTorch fails: $(tail -1 "$work/log")"
echo "type, two numbers, their sum, maximum and average by NCCL, their sum rounded by PyTorch:"
cat "$work/seen"
line() { awk -v type="$1" -v a="$2" -v b="$3" '$1 == type && $2 == a && $3 == b { print $4, $5, $6, $7 }' "$work/seen"; }
expect "float16, inf and 1" "inf inf inf inf" "$(line float16 inf 1.0)"
expect "float8_e5m2, inf and 1" "57344.0 57344.0 57344.0 inf" "$(line float8_e5m2 inf 1.0)"
expect "float8_e5m2, inf and inf" "57344.0 57344.0 57344.0 inf" "$(line float8_e5m2 inf inf)"
expect "float8_e4m3fn, 448 and 448" "448.0 448.0 448.0 nan" "$(line float8_e4m3fn 448.0 448.0)"
exit "$failed"

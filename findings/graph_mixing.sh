#!/usr/bin/env bash
# One would guess that a chain of NCCL allreduces in a CUDA graph takes less time than the same chain with another kernel
# after each allreduce. It takes more: PyTorch captures 50 allreduces of 1 KiB, two GPUs replay them in 11 us a call (another
# day in 17), and with an addition after each, which takes 1.3 us alone, in 7 to 8. With NCCL_GRAPH_MIXING_SUPPORT=0 it is 5
# and 6, as guessed: by default NCCL adds event nodes to the graph, so that captured and other calls of a communicator may mix,
# and next to each other they cost more than between other kernels.
# NCCL 2.28.9, PyTorch 2.11, CUDA 13.0, driver 580.159, two NVIDIA H200 (needed: two GPUs and PyTorch;
# times are ratios within this run).
. "$(dirname "$0")/packages.sh"
needs_gpus_and_torch 2
cat >"$work/chain.py" <<'END_PY'
import os, torch, torch.distributed as dist

rank = int(os.environ["RANK"])
device = torch.device("cuda", rank)
torch.cuda.set_device(device)
dist.init_process_group("nccl", device_id=device)
CALLS = 50
x, y = torch.zeros(512, dtype=torch.bfloat16, device=device), torch.zeros(512, dtype=torch.bfloat16, device=device)


def us_a_call(step):
    step()
    torch.cuda.synchronize()
    graph, times = torch.cuda.CUDAGraph(), []
    with torch.cuda.graph(graph):
        for _ in range(CALLS):
            step()
    for _ in range(25):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        dist.barrier()
        torch.cuda.synchronize()
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1e3 / CALLS)
    return sorted(times)[len(times) // 2]


def both():
    dist.all_reduce(x)
    y.add_(1)


alone, mixed = us_a_call(lambda: dist.all_reduce(x)), us_a_call(both)
if rank == 0:
    print(f"{alone:.2f} {mixed:.2f}", flush=True)
dist.destroy_process_group()
END_PY
for mixing in 1 0; do
    NCCL_GRAPH_MIXING_SUPPORT=$mixing on_gpus 2 "$work/chain.py" >"$work/seen.$mixing" || skip "PyTorch fails: $(tail -1 "$work/log")"
    read -r alone mixed <"$work/seen.$mixing"
    echo "NCCL_GRAPH_MIXING_SUPPORT=$mixing: allreduces $alone us a call, with an addition after each $mixed us"
done
holds() { awk -v a="$1" -v b="$2" "BEGIN { print(($3) ? \"yes\" : \"no\") }"; }
read -r alone mixed <"$work/seen.1"
expect "by default a call takes at least 1.2 times as long without the additions" yes "$(holds "$alone" "$mixed" 'a > 1.2 * b')"
read -r alone mixed <"$work/seen.0"
expect "without mixing it takes less" yes "$(holds "$alone" "$mixed" 'a < b')"
exit "$failed"

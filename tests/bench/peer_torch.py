#!/usr/bin/env python3
"""Allreduces by PyTorch's symmetric-memory kernels, as peers of the kernels of plans: N runs in a CUDA graph, one
process per GPU. Prints rows peer,way,datatype,bytes,graph,us: medians of 7 launches of the graph, in microseconds
a run. The way that multicast needs is left out. Usage: peer_torch.py [RUNS-IN-A-GRAPH]"""
import os
import statistics
import sys

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symmetric_memory
import torch.multiprocessing as processes

BYTES = [512, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20]
ONE_SHOT_BYTES_MAX = 4 << 20
LAUNCHES = 7


def measure(way, runs):
    """Microseconds of each of `runs` calls in a graph."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        way()
        way()
    torch.cuda.synchronize()
    dist.barrier()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(runs):
            way()
    torch.cuda.synchronize()
    dist.barrier()
    microseconds = []
    for _ in range(LAUNCHES):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        with torch.cuda.stream(stream):
            graph.replay()  # all processes begin the next one together
            begin.record(stream)
            graph.replay()
            end.record(stream)
        torch.cuda.synchronize()
        microseconds.append(begin.elapsed_time(end) * 1e3 / runs)
    return statistics.median(microseconds)


def measure_all(rank, size, runs):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29517", RANK=str(rank), WORLD_SIZE=str(size))
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=size, device_id=torch.device("cuda", rank))
    group = dist.group.WORLD.group_name
    for datatype in (torch.float32, torch.bfloat16):
        for size_bytes in BYTES:
            vector = symmetric_memory.empty(size_bytes // datatype.itemsize, dtype=datatype, device=f"cuda:{rank}")
            symmetric_memory.rendezvous(vector, dist.group.WORLD)
            vector.fill_(0)
            ways = {"two_shot": lambda: torch.ops.symm_mem.two_shot_all_reduce_(vector, "sum", group)}
            if size_bytes <= ONE_SHOT_BYTES_MAX:
                ways["one_shot"] = lambda: torch.ops.symm_mem.one_shot_all_reduce(vector, "sum", group)
            for name in sorted(ways):
                microseconds = measure(ways[name], runs)
                if rank == 0:
                    print(f"torch,{name},{str(datatype)[6:]},{size_bytes},{runs},{microseconds:.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    print("peer,way,datatype,bytes,graph,us", flush=True)
    gpus = torch.cuda.device_count()
    processes.spawn(measure_all, args=(gpus, int(sys.argv[1]) if len(sys.argv) > 1 else 100), nprocs=gpus)

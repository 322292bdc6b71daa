#!/usr/bin/env python3
"""made_samples.py SEED NOISE: samples.csv of a made-up machine, with every benchmark from which something is fitted. Times are
those of the costs below, with noise of NOISE (a share, evenly distributed) from a generator that is the same everywhere; one
sample of 40 takes three times as long."""

import sys

state = int(sys.argv[1])
noise = float(sys.argv[2])


def uniform():
    """From 0 to below 1, by Knuth's generator MMIX."""
    global state
    state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
    return (state >> 11) / 2**53


def rows(name, space, level, seconds, procs=1, messages=1, pair="0-1", repeats=6):
    for run in range(1, repeats + 1):
        shaken = seconds * (1 + noise * (2 * uniform() - 1)) * (3 if uniform() < 0.025 else 1)
        print(f"{name},{space},{level},{pair},{procs},{messages},{size},{run},{shaken:.6e}")


def sizes(least, most, factor=2):
    """Yields each size, and sets the global `size` to it, which `rows` writes."""
    global size
    size = least
    while size <= most:
        yield size
        size *= factor


def piece(bytes_, *pieces):
    """Pieces are (below, alpha, beta), the last one without a limit."""
    for below, alpha, beta in pieces:
        if below is None or bytes_ < below:
            return alpha + beta * bytes_
    raise ValueError


OFF_NODE = (512, 1.2e-6, 6e-10), (16384, 2.5e-6, 3e-10), (None, 9e-6, 9e-11)
ON_SOCKET = (4096, 4e-7, 1.5e-10), (None, 2.2e-6, 4e-11)
INJECTION = 2.4e-11  # of a node, seconds for each byte
MESSAGE = 4e-8  # of a node, seconds for each message
CACHES = (1 << 16, 7e-8, 1.1e-11), (1 << 23, 4e-7, 2.2e-11), (None, 3e-5, 6.5e-11)


def messages():
    for _ in sizes(1, 1 << 24):
        rows("ping_pong", "cpu", "off_node", piece(size, *OFF_NODE))
        rows("ping_pong", "cpu", "on_socket", piece(size, *ON_SOCKET))
        rows("ping_pong", "cpu", "on_node", 1.7 * piece(size, *ON_SOCKET))
        rows("ping_pong", "gpu", "off_node", piece(size, (None, 1.1e-5, 1e-10)))
        rows("ping_pong", "gpu", "on_socket", piece(size, (None, 9e-6, 2.5e-12)))
    for procs in (1, 2, 4, 8, 16):
        for _ in sizes(8, 1 << 22, 4):
            alone = piece(size, *OFF_NODE)
            rate = procs * (INJECTION * size + (MESSAGE if size < 16384 else 0))
            rows("injection", "cpu", "off_node", max(alone, rate + (9e-6 if size >= 16384 else 0)), procs)
    for count in (1, 2, 4, 8):
        for _ in sizes(16, 1 << 18, 4):
            rows("multi_message", "cpu", "off_node", piece(size, *OFF_NODE) + (count - 1) * (4e-7 + 5e-11 * size), 1, count)
            rows("multi_message_one", "gpu", "on_socket", 9e-6 + 2.5e-12 * size + (count - 1) * (6e-7 + 1e-12 * size), 1, count)
    for _ in sizes(64, 1 << 22, 4):
        s_per_byte = 1.5e-10 if size < 4096 else 4e-11
        rows("exchange", "cpu", "on_socket", 3e-6 + 1.6 * s_per_byte * size)
        rows("staged", "cpu", "on_node", 6e-6 + 1.9 * 1.7 * s_per_byte * size)
    for row in (16, 256, 4096):
        for _ in sizes(4096, 1 << 20, 4):
            rows("ping_pong_strided", "cpu", "off_node", 9e-6 + 3e-9 * (size // row - 1) + 9e-11 * size, 1, row)


def copies():
    for _ in sizes(64, 1 << 26, 4):
        for place, slower in (("on_socket", 1), ("off_socket", 1.4)):
            rows("memcpy_h2d", "-", place, slower * piece(size, (None, 8e-6, 2e-11)), pair="0-0")
            rows("memcpy_d2h", "-", place, slower * piece(size, (None, 9e-6, 1.9e-11)), pair="0-0")
        rows("memcpy_d2d", "-", "on_socket", 5e-6 + 1.1e-12 * size, pair="0-0")
        rows("memcpy_peer", "-", "on_socket", 7e-6 + 2.7e-12 * size, pair="0-1")
        rows("memcpy_pageable_h2d", "-", "on_socket", 2e-5 + 9e-11 * size, pair="0-0")
        rows("memcpy_pageable_d2h", "-", "on_socket", 2.2e-5 + 1.1e-10 * size, pair="0-0")
        for procs in (1, 12):
            rows("memcpy_h2h", "cpu", "on_socket", 2e-7 + (8e-11 if procs == 1 else 24 * 1.6e-11) * size, procs, pair="-")
        for procs in (2, 4):
            turn = 0 if size >= 65536 else 4e-5
            rows("memcpy_shared_h2d", "-", "on_socket", turn + 8e-6 + procs * 2e-11 * size, procs, pair="0-0")
            rows("memcpy_shared_d2h", "-", "on_socket", 1.2e-5 + procs * 1.8e-11 * size, procs, pair="0-0")
            rows("memcpy_shared_strided_d2h", "-", "on_socket", 1.5e-5 + procs * 2.1e-11 * size, procs, pair="0-0")
    for count in (1, 4, 16):
        for _ in sizes(4, 1 << 20, 16):
            rows("memcpy_queued_h2d", "-", "on_socket", 8e-6 + 1.5e-6 * (count - 1) + 2e-11 * count * size, 1, count, "0-0")
            rows("memcpy_queued_d2d", "-", "on_socket", 5e-6 + 1.2e-6 * (count - 1) + 1.1e-12 * count * size, 1, count, "0-0")
    for row in (16, 1024):
        for _ in sizes(4096, 1 << 22, 4):
            rows("memcpy_strided_d2h", "-", "on_socket", 9e-6 + 2e-9 * (size // row - 1) + 1.9e-11 * size, 1, row, "0-0")


def kernels():
    global size
    for _ in sizes(8, 1 << 26):
        for pair, slower in (("sum-float", 1), ("max-double", 1.06), ("prod-int32", 0.97)):
            rows("reduce", "cpu", "-", slower * piece(size, *CACHES), pair=pair)
        rows("reduce", "gpu", "-", piece(size, (1 << 22, 7e-6, 1.4e-12), (None, 5e-6, 4e-12)), pair="sum-float")
    for inputs in (2, 4, 8):
        for _ in sizes(1024, 1 << 26, 4):
            seconds = piece(size, (1 << 22, 7e-6, 1.4e-12), (None, 5e-6, 4e-12)) + (inputs - 2) * 1.3e-12 * size
            rows("reduce_many", "gpu", "-", seconds, 1, inputs, "sum-float")
    for width, rate in ((4, 9e-12), (8, 5e-12), (16, 3e-12)):
        for blocks in (1, 64):
            for bytes_ in [0] + [16 << 2 * k for k in range(11)]:
                size = bytes_
                seconds = 8e-6 + (1.5e-6 if size else 0) + rate * size * (1 if blocks > 1 else 20)
                rows(f"remote_store_{width}", "-", "on_socket", seconds, blocks)
                rows(f"remote_load_{width}", "-", "on_socket", 1.2 * seconds, blocks)
    for gpus in (2, 4):
        for _ in sizes(1024, 1 << 24, 4):
            rows("remote_store_all", "-", "on_socket", 1e-5 + 2.6e-12 * (gpus - 1) * size, gpus, pair="-")
    size = 0
    for name, space, seconds in (("signal_flag", "cpu", 2.1e-7), ("signal_event", "-", 3.3e-6), ("signal_device", "gpu", 1.4e-6),
                                 ("kernel_launch", "-", 7.5e-6), ("graph_launch", "-", 9.1e-6), ("kernel_queued", "-", 1.9e-6)):
        rows(name, space, "on_socket" if space != "-" else "-", seconds, repeats=20)
    for count in (2, 3, 5, 9):
        rows("run_launch", "gpu", "-", 2.1e-5 + 1.7e-6 * (count - 1), 1, count, "-")


def collectives():
    for gpus, nodes in ((8, 2), (4, 2), (4, 4)):
        for _ in sizes(64, 1 << 22, 4):
            rows("nccl_allgather", "gpu", "-", 2e-5 + 7e-6 * (nodes - 1) + 1e-6 * gpus + 2e-11 * size, gpus, nodes, "-")
    for gpus in (2, 3, 4):
        for _ in sizes(64, 1 << 26):
            steps, link = 2 * (gpus - 1), 2 * (gpus - 1) / gpus * size
            simple = size >= 1 << 21
            rows("nccl_allreduce", "gpu", "-", (2.4e-5 + 1.9e-6 * steps + 3.1e-12 * link) if simple else
                 (1.4e-5 + 5e-7 * steps + 6.2e-12 * link), gpus, 1, "-")
            rows("nccl_broadcast", "gpu", "-", (2.2e-5 + 1.9e-6 * (gpus - 1) + 3.1e-12 * size +
                 (gpus - 1) * min(size / 24, 524288) * 4e-11) if simple else (1.3e-5 + 5e-7 * (gpus - 1) + 6.2e-12 * size),
                 gpus, 1, "-")
            rows("nccl_alltoall", "gpu", "-", 1.6e-5 + 8e-7 * (gpus - 1) + 3e-12 * (gpus - 1) * size, gpus, 1, "-")
        for _ in sizes(8, 1 << 22, 4):
            rows("run_lines", "gpu", "-", 1.8e-6 * (gpus - 1) + 5e-12 * (gpus - 1) * size, gpus, 1, "-")
    for procs in (1, 4):
        for _ in sizes(4096, 1 << 26, 4):
            rows("setup_open", "gpu", "-", procs * (6e-5 + 2e-12 * size), procs, pair="-")
            rows("setup_allocate", "gpu", "-", procs * (3e-6 if size < 1 << 21 else 9e-5 + 1.2e-11 * size), procs, pair="-")
            rows("setup_allocate", "cpu", "-", procs * (2e-5 + 2.2e-10 * size), procs, pair="-")
    rows("setup_segment", "cpu", "-", 5.5e-5, 4, 1, "-", 20)


print("# machine=made-up\n# node=2 sockets, 4 GPUs, 32 cores\n# source=made by tests/made_samples.py\n# mps=no")
print("benchmark,space,level,pair,procs,messages,bytes,run,seconds")
size = 0
messages()
copies()
kernels()
collectives()

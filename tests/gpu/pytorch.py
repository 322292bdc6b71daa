#!/usr/bin/env python3
"""What a visit to GPUs does with PyTorch, with libportolan-nccl.so in front of NCCL and without, and what compares the two.

  torchrun ... pytorch.py decode WAY     a decode step of a transformer in tensor parallel, captured in a graph: rows
                                         way,hidden,batch,bytes,us,us_without: medians, without the allreduces, too
  torchrun ... pytorch.py losses FOLDER  trains a small model by DDP, FSDP2 and pipeline: each rank's losses in files
  torchrun ... pytorch.py messages WAY   exchanges of unequal parts and rings with known results, eager and in graphs; then
                                         rows way,bytes,us of a call in a graph of CALLS
  pytorch.py same FOLDER FOLDER          whether the losses agree: within rounding, and exactly on all ranks; how many
                                         are equal in every bit
  pytorch.py tests LOG LOG               whether what `test_c10d_nccl.py -v` printed fails in the same tests; of a log
                                         that ends in "cut short", the tests that ended
"""
import argparse
import math
import os
import random
import re
import statistics
import sys

SHAPES = ((4096, 32, 32), (3072, 28, 24))  # of models: hidden size, layers, heads
CONTEXT, BATCHES = 1024, (1, 2, 4, 8)
STEPS, LAUNCHES = 20, 20
EXCHANGES, CALLS = 200, 50
ROUNDING = 1e-3  # of losses in single precision, after STEPS steps


# --- on GPUs


def begin():
    import torch
    import torch.distributed as dist
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    dist.init_process_group("nccl", device_id=torch.device("cuda", local))
    return torch, dist, torch.device("cuda", local)


def layer_of(torch, hidden, size, device):
    """One layer's part of a rank: attention over a full cache, and two products, each with an allreduce behind it."""
    width, made = hidden // size, {}
    shapes = {"qkv": (3 * width, hidden), "out": (hidden, width), "up": (4 * width, hidden), "down": (hidden, 4 * width)}
    for name, (rows, columns) in shapes.items():
        made[name] = torch.nn.Linear(columns, rows, bias=False, device=device, dtype=torch.bfloat16)
    made["norms"] = [torch.nn.RMSNorm(hidden, device=device, dtype=torch.bfloat16) for _ in range(2)]
    return made


def decode_step(torch, layers, caches, hidden, add):
    functional = torch.nn.functional
    for layer, (keys, values) in zip(layers, caches):
        query, key, value = layer["qkv"](layer["norms"][0](hidden)).view(hidden.shape[0], 3, keys.shape[1], -1).unbind(1)
        keys[:, :, -1] = key
        values[:, :, -1] = value
        attended = functional.scaled_dot_product_attention(query.unsqueeze(2), keys, values)
        hidden = hidden + add(layer["out"](attended.flatten(1)))
        hidden = hidden + add(layer["down"](functional.silu(layer["up"](layer["norms"][1](hidden)))))
    return hidden


def time_us(torch, dist, step):
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())  # which makes the tensors
    with torch.cuda.stream(stream):
        step()
        step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        result = step()
    taken = []
    for _ in range(LAUNCHES):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        dist.barrier()
        with torch.cuda.stream(stream):
            graph.replay()  # all ranks begin the next one together
            start.record(stream)
            graph.replay()
            end.record(stream)
        torch.cuda.synchronize()
        taken.append(start.elapsed_time(end) * 1e3)
    return statistics.median(taken), result


def decode(way):
    torch, dist, device = begin()
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(rank)

    def add(tensor):
        dist.all_reduce(tensor)
        return tensor

    with torch.no_grad():
        for hidden, layer_count, heads in SHAPES:
            layers = [layer_of(torch, hidden, size, device) for _ in range(layer_count)]
            for batch in BATCHES:
                shape = (batch, heads // size, CONTEXT, hidden // heads)
                caches = [[torch.randn(shape, device=device, dtype=torch.bfloat16) for _ in range(2)] for _ in layers]
                first = torch.ones(batch, hidden, device=device, dtype=torch.bfloat16)
                with_us, result = time_us(torch, dist, lambda: decode_step(torch, layers, caches, first, add))
                without_us, _ = time_us(torch, dist, lambda: decode_step(torch, layers, caches, first, lambda one: one))
                others = [torch.empty_like(result) for _ in range(size)]
                dist.all_gather(others, result)
                if not all(torch.equal(other, result) for other in others) or not torch.isfinite(result).all():
                    sys.exit("pytorch.py: the ranks have different results, or no numbers")
                if rank == 0:
                    print(f"{way},{hidden},{batch},{batch * hidden * 2},{with_us:.1f},{without_us:.1f}", flush=True)
    dist.destroy_process_group()


def model_of(torch, device):
    torch.manual_seed(0)
    blocks = [torch.nn.TransformerEncoderLayer(256, 4, 512, dropout=0, batch_first=True) for _ in range(4)]
    return torch.nn.Sequential(*blocks).to(device)


def train(torch, dist, kind, device):
    """The losses of STEPS steps."""
    model, rank, size = model_of(torch, device), dist.get_rank(), dist.get_world_size()
    whole = model
    if kind == "ddp":
        model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[device.index])
    elif kind == "fsdp2":
        from torch.distributed.fsdp import fully_shard
        for block in model:
            fully_shard(block)
        fully_shard(model)
    else:
        from torch.distributed.pipelining import PipelineStage, ScheduleGPipe
        blocks = list(whole)[rank * len(whole) // size:(rank + 1) * len(whole) // size]
        model = torch.nn.Sequential(*blocks)
        schedule = ScheduleGPipe(PipelineStage(model, rank, size, device), n_microbatches=size,
                                 loss_fn=torch.nn.functional.mse_loss)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    losses = []
    for step in range(STEPS):
        torch.manual_seed(1000 * step + (0 if kind == "pipeline" else rank))
        given, wanted = torch.randn(2, 4 * size, 32, 256, device=device).unbind(0)
        optimizer.zero_grad()
        if kind == "pipeline":
            parts = []
            schedule.step(*([given] if rank == 0 else []), **({"target": wanted, "losses": parts} if rank == size - 1 else {}))
            loss = torch.stack(parts).mean() if parts else torch.zeros((), device=device)
        else:
            loss = torch.nn.functional.mse_loss(model(given), wanted)
            loss.backward()
        optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)  # the same on all ranks
        losses.append((loss.item(), mean.item()))
    return losses


def make_repeatable(torch):
    """Two runs must differ by their allreduces alone. The kernels of attention that are faster sum in any order."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cuda.enable_flash_sdp(False)
    torch.backends.cuda.enable_mem_efficient_sdp(False)
    torch.backends.cuda.enable_cudnn_sdp(False)


def losses(folder):
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # sums of products in one order
    torch, dist, device = begin()
    make_repeatable(torch)
    os.makedirs(folder, exist_ok=True)
    for kind in ("ddp", "fsdp2", "pipeline"):
        with open(os.path.join(folder, f"{kind}-{dist.get_rank()}.txt"), "w", encoding="ascii") as file:
            for own, mean in train(torch, dist, kind, device):
                file.write(f"{own.hex()} {mean.hex()}\n")
    dist.destroy_process_group()


class Exchange:
    """Parts of different sizes from each rank to each, some of them empty, and a ring beside them."""

    def __init__(self, torch, dist, device, number, most):
        self.dist, self.torch, self.number = dist, torch, number
        rank, size = dist.get_rank(), dist.get_world_size()
        drawn = random.Random(number)  # the same on all ranks
        counts = [[drawn.choice([0, 1, 7, 1000, drawn.randint(1, most)]) for _ in range(size)] for _ in range(size)]
        self.splits = counts[rank], [row[rank] for row in counts]
        self.next, self.last = (rank + 1) % size, (rank - 1) % size
        ring = drawn.randint(1, most)
        self.parts = [self.part(rank, other, count, device) for other, count in enumerate(self.splits[0])]
        self.wanted = [self.part(other, rank, count, device) for other, count in enumerate(self.splits[1])]
        self.given, self.wants = self.part(rank, self.next, ring, device), self.part(self.last, rank, ring, device)
        self.sent, self.right = torch.cat(self.parts), torch.cat(self.wanted)
        self.received, self.got = torch.zeros_like(self.right), torch.zeros_like(self.wants)

    def part(self, sender, receiver, count, device):
        first = 1000003 * self.number + 1009 * sender + 101 * receiver
        return self.torch.arange(first, first + count, device=device, dtype=self.torch.int32)

    def issue(self):
        self.dist.all_to_all_single(self.received, self.sent, self.splits[1], self.splits[0])
        ring = [self.dist.P2POp(self.dist.isend, self.given, self.next), self.dist.P2POp(self.dist.irecv, self.got, self.last)]
        for work in self.dist.batch_isend_irecv(ring):
            work.wait()

    def check(self):
        if not self.torch.equal(self.received, self.right) or not self.torch.equal(self.got, self.wants):
            sys.exit(f"pytorch.py: exchange {self.number} has another result")
        self.received.zero_()
        self.got.zero_()


def replayed(torch, exchange):
    """The exchange from a graph, twice."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        exchange.issue()
    for _ in range(2):
        graph.replay()
        torch.cuda.synchronize()
        exchange.check()


def messages(way):
    torch, dist, device = begin()
    for number in range(EXCHANGES):
        exchange = Exchange(torch, dist, device, number, 1 << (4 + number % 15))
        exchange.issue()
        torch.cuda.synchronize()
        exchange.check()
        if number % 20 == 0:
            replayed(torch, exchange)
    size, rank = dist.get_world_size(), dist.get_rank()
    for count in (128, 1024, 8192, 65536, 262144):  # to each rank; one more from each to the next
        splits = [count + (other == (rank + 1) % size) for other in range(size)]
        back = [count + ((other + 1) % size == rank) for other in range(size)]
        given, got = (torch.zeros(sum(parts), device=device, dtype=torch.bfloat16) for parts in (splits, back))
        taken_us, _ = time_us(torch, dist, lambda: [dist.all_to_all_single(got, given, back, splits) for _ in range(CALLS)])
        if rank == 0:
            print(f"{way},{2 * count},{taken_us / CALLS:.2f}", flush=True)
    dist.destroy_process_group()


# --- comparisons


def read_losses(folder):
    found = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="ascii") as file:
            found[name] = [tuple(float.fromhex(word) for word in line.split()) for line in file]
    return found


def differences(one, other):
    """What is wrong with the losses of two runs, by file."""
    wrong = [f"{name} is of one run alone" for name in sorted(one.keys() ^ other.keys())]
    for run in (one, other):
        means = {}
        for name, rows in run.items():
            if not rows or not all(math.isfinite(value) for row in rows for value in row):
                wrong.append(f"{name} has no losses, or not all are numbers")
            if means.setdefault(name.split("-")[0], [row[1] for row in rows]) != [row[1] for row in rows]:
                wrong.append(f"{name} has another mean than the first rank")
    for name in sorted(one.keys() & other.keys()):
        pairs = [pair for rows in zip(one[name], other[name]) for pair in zip(*rows)]
        if len(one[name]) != len(other[name]):
            wrong.append(f"{name} has {len(one[name])} and {len(other[name])} steps")
        elif not all(math.isclose(*pair, rel_tol=ROUNDING) for pair in pairs):
            wrong.append(f"{name} differs by more than rounding")
    return wrong or ([] if one else ["no losses"])


def equal_losses(one, other):
    """How many losses there are, and how many are equal in every bit."""
    pairs = [pair for name in one for rows in zip(one[name], other[name]) for pair in zip(*rows)]
    return f"{sum(a == b for a, b in pairs)} of {len(pairs)} losses are equal in every bit"


def outcomes(text):
    """By the name of a test, what became of it: its last word. A test's own output may be between the two."""
    found = {}
    for part in re.split(r"^(?=test\w* \()", text, flags=re.M)[1:]:
        word = re.search(r"(?:\.\.\. |^)(ok|FAIL|ERROR|skipped|expected failure)\b", part, flags=re.M)
        found[" ".join(part.split()[:2])] = word.group(1) if word else "ended"
    return found


def is_cut_short(text):
    return text.rstrip().endswith("cut short")


def ends_of(without, with_it):
    """By the name of a test, how it ended in each log. Tests that a log was cut short before or in are left out."""
    both = [outcomes(without), outcomes(with_it)]
    names = both[0].keys() | both[1].keys()
    for text, found in zip((without, with_it), both):
        if is_cut_short(text):
            names = {name for name in names if found.get(name, "ended") != "ended"}
    return {name: [found.get(name, "not run") for found in both] for name in sorted(names)}


def changes(without, with_it):
    """Tests that end otherwise, of all that both logs should have."""
    ends = ends_of(without, with_it)
    wrong = [f"{name}: {end[0]}, in front of NCCL {end[1]}" for name, end in ends.items() if end[0] != end[1]]
    return wrong or ([] if ends else ["no tests"])


def equal_tests(without, with_it):
    ends = [end[0] for end in ends_of(without, with_it).values()]
    return ", ".join(f"{ends.count(end)} {end}" for end in sorted(set(ends)))


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(dest="part", required=True, metavar="PART")
    both = ["one", "other"]
    for name, words in {"decode": ["way"], "losses": ["folder"], "messages": ["way"], "same": both, "tests": both}.items():
        part = parts.add_parser(name)
        for word in words:
            part.add_argument(word)
    asked = parser.parse_args()
    if asked.part == "losses":
        return losses(asked.folder)
    if asked.part in ("decode", "messages"):
        return (decode if asked.part == "decode" else messages)(asked.way)
    read_one, compare, count = (read_losses, differences, equal_losses) if asked.part == "same" else (read, changes, equal_tests)
    both = read_one(asked.one), read_one(asked.other)
    wrong = compare(*both)
    print("\n".join(wrong) or f"{asked.part}: no difference: {count(*both)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

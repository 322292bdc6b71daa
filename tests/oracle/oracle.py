"""A second opinion on prices, written from docs/model.md and the papers that it cites; none of portolan's code.

Prices cuda_aware, three_step, extra_message and dup_devptr for messages, alltoall and allreduce, and the first two for
broadcast and reduce, by going through the stages of every process. A machine is a dict (see random_cases.py), a layout a Layout.
"""

from collections import defaultdict
from dataclasses import dataclass


@dataclass(frozen=True)
class Layout:
    nodes: int
    gpus_per_node: int
    owners_per_gpu: int
    procs_per_gpu: int
    gpus_per_socket: int

    def level(self, a, b):
        """Of two processes (node, gpu, core)."""
        if a[0] != b[0]:
            return "off_node"
        if a[1] == b[1]:
            return "on_gpu"
        return "on_socket" if a[1] // self.gpus_per_socket == b[1] // self.gpus_per_socket else "on_node"

    def places(self, cores):
        """The processes whose core is in `cores`, in order of rank."""
        return [
            (node, gpu, core)
            for node in range(self.nodes)
            for gpu in range(self.gpus_per_node)
            for core in cores
        ]


def row_for(rows, size):
    """Of rows with increasing limits, the one that holds for this size."""
    return next(row for row in rows if row.get("below_bytes") is None or size < row["below_bytes"])


def shares(size, element, parts):
    """Whole elements; the first shares are larger by one."""
    elements = size // element
    return [element * (elements // parts + (1 if part < elements % parts else 0)) for part in range(parts)]


def power_below(n):
    """The largest power of two up to n."""
    return 1 << (n.bit_length() - 1)


class Clock:
    """When each core's processes are done. Processes with the same core are a class: each stage costs all of them
    what it costs the most expensive one (decision 0001)."""

    def __init__(self, machine, layout):
        self.machine, self.layout = machine, layout
        self.at = defaultdict(float)

    # --- (1), (3), (5), (8), (9), (11), (12): messages

    def stage(self, space, messages, shifted=True, ordered=False):
        """Messages (from, to, bytes) that are posted at once; those without bytes are not sent."""
        sent, received = defaultdict(list), defaultdict(list)
        for source, target, size in messages:
            if size > 0:
                level = self.layout.level(source, target)
                sent[source].append((level, size))
                received[target].append((level, size))
        leaving = self.injection(space, sent, shifted, ordered)
        entering = self.injection(space, received, shifted, ordered)
        cost = defaultdict(float)
        for rank in set(sent) | set(received):
            one = self.one_direction(space, sent[rank], leaving[rank[0]])
            other = self.one_direction(space, received[rank], entering[rank[0]])
            cost[rank[2]] = max(cost[rank[2]], one, other)
        start = dict(self.at)
        for source, target, size in messages:
            if size > 0:
                start[target[2]] = max(start.get(target[2], 0.0), self.at[source[2]])
        for core, seconds in cost.items():
            self.at[core] = start.get(core, 0.0) + seconds

    def injection(self, space, by_rank, shifted, ordered):
        """The least times of a node's messages that cross its network: of their bytes, and with their rate. If all send in
        one order, the last node waits until the others have sent to all before it."""
        per_byte = self.machine.get(f"injection.{space}.s_per_byte", 0.0)
        per_message = self.machine.get(f"injection.{space}.s_per_message", 0.0)
        nodes = self.layout.nodes
        if shifted and nodes > 2:
            per_byte *= 1 + (self.machine.get("network.contention", 0.0) + ordered) * (nodes - 2) / (nodes - 1)
        limits = defaultdict(lambda: (0.0, 0.0))
        for rank, messages in by_rank.items():
            for level, size in messages:
                if level == "off_node":
                    bytes_s, all_s = limits[rank[0]]
                    limits[rank[0]] = (bytes_s + per_byte * size, all_s + per_message + per_byte * size)
        return limits

    def one_direction(self, space, messages, limits):
        """(8) for the messages that one process sends, or for those that it receives."""
        start = outside_start = inside = outside = 0.0
        leaving = False
        gap = self.machine.get(f"gap.{space}")
        for level, size in messages:
            rows = self.machine[f"messages.{space}"]
            row = row_for(rows.get(level) or rows["on_socket"], size)
            if level == "off_node":
                if leaving and gap:
                    row = row_for(gap, size)
                leaving = True
                outside_start += row["alpha"]
                outside += row["beta"] * size
            else:
                start += row["alpha"]
                inside += row["beta"] * size
        bytes_s, all_s = limits
        return start + inside + (max(outside_start + max(outside, bytes_s), all_s) if leaving else 0.0)

    # --- copies, reductions, flags

    def pay(self, cores, seconds, _who=None):
        """`_who`: the processes that do, which a class does not tell apart."""
        for core in cores:
            self.at[core] += seconds

    def copy_s(self, kind, size):
        cost = self.machine.get(f"copies.{kind}")
        return cost["alpha"] + cost["beta"] * size if cost and size > 0 else 0.0

    def copy(self, kind, cores, size, who=None):
        """One process of each GPU copies, or each its own within host memory. `size`: of each core."""
        for core in cores:
            self.pay([core], self.copy_s(kind, size[core]), who)

    def copy_together(self, kind, cores, size, who=None):
        """The processes of a GPU share its engine: each pays one start and the bytes of all."""
        total = sum(size[core] for core in cores)
        self.pay([core for core in cores if size[core] > 0], self.copy_s(kind, total), who)

    def reduce(self, space, cores, size, who=None):
        rows = self.machine.get(f"reduce.{space}")
        for core in cores:
            if rows and size[core] > 0:
                row = row_for(rows, size[core])
                self.pay([core], row["alpha"] + row["beta"] * size[core], who)


class RankClock(Clock):
    """When each process is done, where the latency of messages is known ("Latency" in docs/model.md)."""

    def stage(self, space, messages, shifted=True, ordered=False):
        sent, received = defaultdict(list), defaultdict(list)
        messages = [message for message in messages if message[2] > 0]
        for source, target, size in messages:
            level = self.layout.level(source, target)
            sent[source].append((level, size))
            received[target].append((level, size))
        limits = self.injection(space, sent, shifted, ordered)
        latency = self.machine.get(f"messages.latency.{space}", 0.0)
        begins, takes = {}, {}
        for rank in set(sent) | set(received):
            off = [sum(level == "off_node" for level, _ in moved[rank]) for moved in (sent, received)]
            # The process is occupied without the latency, unless it has to stand for several messages' arrival.
            begins[rank] = self.at[rank] - (latency if off[0] < 2 and sum(off) > 0 else 0.0)
            takes[rank] = max(self.one_direction(space, moved[rank], limits[rank[0]]) for moved in (sent, received))
        for source, target, _ in messages:
            begins[target] = max(begins[target], self.at[source])
        for rank, begin in begins.items():
            takes[rank] += begin
        for rank, end in takes.items():
            self.at[rank] = max(self.at[rank], end)

    def pay(self, cores, seconds, _who=None):
        for place in self.layout.places(cores) if _who is None else _who:
            if place[2] in cores:
                self.at[place] += seconds


class Collective:
    """One exchange among groups of processes. `block(core)` is the size of a block of the process of that core:
    groups of a split strategy differ in it."""

    def __init__(self, clock, space, groups, size, element):
        self.clock, self.space, self.groups, self.size, self.element = clock, space, groups, size, element
        self.n = len(groups[0])
        self.cores = sorted({place[2] for group in groups for place in group})

    def copy(self, blocks):
        """Each process's copy within its memory; a GPU's is shared by its processes."""
        size = {core: blocks * self.size[core] for core in self.cores}
        if self.space == "gpu":
            self.clock.copy_together("d2d", self.cores, size)
        else:
            self.clock.copy("h2h", self.cores, size)

    def members(self, indices):
        """Those of all groups with these indices."""
        return [group[index] for group in self.groups for index in indices]

    def exchange(self, pairs, shifted=True, ordered=False):
        """`pairs(size)`: (from, to, bytes) by index within a group, for a block of that size."""
        self.clock.stage(
            self.space,
            [
                (group[a], group[b], size)
                for group in self.groups
                for a, b, size in pairs(self.size[group[0][2]])
            ],
            shifted,
            ordered,
        )

    # --- alltoall

    def pairwise(self):
        n = self.n
        self.copy(1)
        for k in range(1, n):
            self.exchange(lambda size, k=k: [(me, (me + k) % n, size) for me in range(n)])

    def linear(self):
        n = self.n
        self.copy(1)
        self.exchange(lambda size: [(me, (me + k) % n, size) for me in range(n) for k in range(1, n)])

    def linear_by_rank(self):
        n = self.n
        self.copy(1)
        self.exchange(lambda size: [(me, to, size) for me in range(n) for to in range(n) if to != me], True, True)

    def bruck(self):
        n = self.n
        self.copy(n)
        step = 1
        while step < n:
            blocks = sum(1 for block in range(n) if block & step)
            self.exchange(lambda size, step=step, blocks=blocks: [(me, (me + step) % n, blocks * size) for me in range(n)])
            self.copy(blocks)
            step *= 2
        self.copy(n)

    # --- allreduce; on GPU buffers it works in place, on a copy

    def ring(self):
        n = self.n
        part = {core: shares(self.size[core], self.element, n) for core in self.cores}
        largest = {core: max(part[core]) for core in self.cores}
        for phase in range(2):
            for k in range(n - 1):
                self.exchange(
                    lambda size, k=k, phase=phase: [
                        (me, (me + 1) % n, max(shares(size, self.element, n))) for me in range(n)
                    ]
                )
                if phase == 0:
                    self.clock.reduce(self.space, self.cores, largest)

    def folded(self, inner):
        """The even ones of the first 2 r processes hand their vector to their neighbours, so that a power of two is
        left, and get the result back. `inner(members)` does the rest."""
        n, power = self.n, power_below(self.n)
        excess = n - power
        members = [2 * i + 1 if i < excess else i + excess for i in range(power)]
        if excess:
            self.exchange(lambda size: [(2 * i, 2 * i + 1, size) for i in range(excess)])
            self.clock.reduce(self.space, self.cores, self.size, self.members([2 * i + 1 for i in range(excess)]))
        inner(members)
        if excess:
            back = 1 if self.reduces else excess
            self.exchange(lambda size: [(2 * i + 1, 2 * i, size) for i in range(back)])

    def recursive_doubling(self):
        def inner(members):
            step = 1
            while step < len(members):
                self.exchange(
                    lambda size, step=step: [(members[i], members[i ^ step], size) for i in range(len(members))], False
                )
                self.clock.reduce(self.space, self.cores, self.size, self.members(members))
                step *= 2

        self.folded(inner)

    def rabenseifner(self):
        """Halving begins with the nearest partner. A process ends it with the part of its bit-reversed index."""

        def inner(members):
            power = len(members)
            bits = power.bit_length() - 1
            place = [int(f"{i:b}".zfill(bits)[::-1], 2) if bits else 0 for i in range(power)]

            def run(size, i, length):
                """The bytes of the aligned run of parts around the process's part."""
                first = place[i] // length * length
                return sum(shares(size, self.element, power)[first : first + length])

            def swap(k, doubling):
                kept = power >> (k + 1)

                def largest(size):
                    return max(run(size, i, kept) for i in range(power))

                self.exchange(
                    lambda size: [(members[i], members[i ^ (1 << k)], largest(size)) for i in range(power)], False
                )
                if not doubling:
                    self.clock.reduce(self.space, self.cores, {core: largest(self.size[core]) for core in self.cores})

            def gather(k):
                """Those from 2^k on send what they have to those 2^k before them."""
                kept = power >> (k + 1)
                largest = lambda size: max(run(size, i, kept) for i in range(power))
                self.exchange(
                    lambda size: [(members[i], members[i - (1 << k)], largest(size)) for i in range(1 << k, 2 << k)]
                )

            for k in range(bits):
                swap(k, False)
            for k in reversed(range(bits)):
                if self.reduces:
                    gather(k)
                else:
                    swap(k, True)

        self.folded(inner)


    # --- broadcast and reduce; in each group, the process of index 0 is the root

    def scatter_allgather(self):
        """A binomial scatter of n parts, then a ring. An edge costs its class what one to a whole subtree does."""
        n = self.n
        longest = 1 << max(n - 1, 1).bit_length() - 1
        step = longest if n > 1 else 0
        while step:
            count = min(step, n - step)
            self.exchange(
                lambda size, step=step, count=count: [
                    (i, i + step, sum(shares(size, self.element, n)[:count])) for i in range(0, n - step, 2 * step)
                ]
            )
            step //= 2
        if n > 2:
            # Processes with a subtree of their own, but the root, copy their part.
            size = {core: max(shares(self.size[core], self.element, n)) for core in self.cores}
            if self.space == "gpu":
                self.clock.copy_together("d2d", self.cores, size)
            else:
                self.clock.copy("h2h", self.cores, size)
        for _ in range(n - 1):
            self.exchange(lambda size: [(i, (i + 1) % n, max(shares(size, self.element, n))) for i in range(n)])

    def chain(self):
        """n - 1 links carry s segments in n - 2 + s rounds; in round t, link l carries segment t - l."""
        n, element = self.n, self.element
        segment_bytes = self.segment_bytes or self.size[self.cores[0]]
        count = max(-(-self.size[self.cores[0]] // segment_bytes), 1)
        for t in range(n - 2 + count if n > 1 else 0):
            links = [link for link in range(n - 1) if 0 <= t - link < count]
            if self.reduces:
                links = [n - 1 - link for link in links]
            carried = dict(zip(links, (t - link for link in range(n - 1) if 0 <= t - link < count)))
            if isinstance(self.clock, RankClock):  # no class: each segment costs what it has
                self.exchange(
                    lambda size, carried=carried: [
                        (link, link + (-1 if self.reduces else 1), shares(size, element, count)[segment])
                        for link, segment in carried.items()
                    ]
                )
                for link, segment in carried.items() if self.reduces else ():
                    size = {core: shares(self.size[core], element, count)[segment] for core in self.cores}
                    self.clock.reduce(self.space, self.cores, size, self.members([link - 1]))
                continue
            self.exchange(
                lambda size, links=links: [
                    (link, link + (-1 if self.reduces else 1), max(shares(size, element, count))) for link in links
                ]
            )
            if self.reduces:
                cores = sorted({group[link - 1][2] for group in self.groups for link in links})
                self.clock.reduce(self.space, cores, {core: max(shares(self.size[core], element, count)) for core in cores})


def run_inner(clock, case, space, cores, size):
    """The collective itself, among the owners (all cores in one group) or, of a split, in one group for each core."""
    layout = clock.layout
    split = size is not None
    groups = [layout.places([core]) for core in cores] if split else [layout.places(cores)]
    size = size or {core: case["bytes"] for core in cores}
    inner = Collective(clock, space, groups, size, case["element"])
    if case["collective"] != "messages":
        inner.segment_bytes = case.get("segment_bytes")
        inner.reduces = case["collective"] == "reduce"
        getattr(inner, case["algorithm"])()
        return
    # Message j goes to the next node, to the process j places after one's own.
    place_count = len(groups[0]) // layout.nodes
    inner.exchange(
        lambda block: [
            (node * place_count + place, (node + 1) % layout.nodes * place_count + (place + j) % place_count, block)
            for node in range(layout.nodes)
            for place in range(place_count)
            for j in range(case["messages"])
        ]
    )


def blocks_of(clock, case):
    """How many blocks of `bytes` a process has."""
    layout = clock.layout
    if case["collective"] in ("allreduce", "broadcast", "reduce"):
        return 1
    if case["collective"] == "messages":
        return case["messages"]
    return layout.nodes * layout.gpus_per_node * layout.owners_per_gpu


def cuda_aware(clock, case):
    cores = range(clock.layout.owners_per_gpu)
    if case["collective"] == "allreduce":
        clock.copy_together("d2d", cores, {core: case["bytes"] for core in cores})
    if case["collective"] == "broadcast":
        clock.copy("d2d", [0], {0: case["bytes"]}, [ROOT])
    if case["collective"] == "reduce":
        clock.copy_together("d2d", cores, {core: case["bytes"] for core in cores})
    run_inner(clock, case, "gpu", cores, None)


def three_step(clock, case):
    """(2), (7)"""
    cores = range(clock.layout.owners_per_gpu)
    total = {core: blocks_of(clock, case) * case["bytes"] for core in cores}
    # The root alone has what is broadcast, and what was reduced.
    from_root, to_root = case["collective"] == "broadcast", case["collective"] == "reduce"
    clock.copy_together("d2h", [0] if from_root else cores, total, [ROOT] if from_root else None)
    run_inner(clock, case, "cpu", cores, None)
    clock.copy_together("h2d", [0] if to_root else cores, total, [ROOT] if to_root else None)


def split_shares(clock, case):
    procs = clock.layout.procs_per_gpu
    share = shares(case["bytes"], case["element"], procs)
    blocks = blocks_of(clock, case)
    return range(procs), {core: share[core] for core in range(procs)}, {core: blocks * share[core] for core in range(procs)}


def extra_message(clock, case):
    """The owner copies everything, and hands each other process of its GPU its share."""
    cores, share, whole = split_shares(clock, case)
    layout = clock.layout
    owner = {0: blocks_of(clock, case) * case["bytes"]}
    gpus = [(node, gpu) for node in range(layout.nodes) for gpu in range(layout.gpus_per_node)]
    clock.copy("d2h", [0], owner)
    clock.stage("cpu", [((*gpu, 0), (*gpu, core), whole[core]) for gpu in gpus for core in cores if core > 0])
    clock.copy("h2h", [0], whole)
    run_inner(clock, case, "cpu", cores, share)
    clock.stage("cpu", [((*gpu, core), (*gpu, 0), whole[core]) for gpu in gpus for core in cores if core > 0])
    clock.copy("h2h", [0], whole)
    clock.copy("h2d", [0], owner)


def dup_devptr(clock, case):
    """Each process of a GPU copies its share from the owner's memory."""
    cores, share, whole = split_shares(clock, case)
    flag = clock.machine.get("signals.flag_s", 0.0)
    clock.pay(cores[1:], flag)
    clock.copy_together("d2h", cores, whole)
    run_inner(clock, case, "cpu", cores, share)
    clock.copy_together("h2d", cores, whole)
    if len(cores) > 1:
        clock.at[0] = max(clock.at.values()) + flag


ROOT = (0, 0, 0)
STRATEGIES = {"cuda_aware": cuda_aware, "three_step": three_step, "extra_message": extra_message, "dup_devptr": dup_devptr}


def is_by_rank(machine, layout, case):
    """A latency matters where some of the processes only send or receive in a stage: in chains, and where some are folded
    away."""
    owners = layout.nodes * layout.gpus_per_node * layout.owners_per_gpu
    folded = case["algorithm"] == "recursive_doubling" and owners != power_below(owners)
    known = any(f"messages.latency.{space}" in machine for space in ("cpu", "gpu"))
    return known and layout.nodes > 1 and (case["algorithm"] == "chain" or folded)


def price(machine, layout, strategy, case):
    clock = RankClock(machine, layout) if is_by_rank(machine, layout, case) else Clock(machine, layout)
    STRATEGIES[strategy](clock, case)
    return max(clock.at.values(), default=0.0)

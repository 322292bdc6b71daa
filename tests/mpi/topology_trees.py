#!/usr/bin/env python3
"""topology_trees.py CALIBRATE NVML FOLDER: whether `portolan-calibrate --topology` finds the links of random PCI trees, which
are made here: GPUs, NICs and other devices below switches of any depth, with rates that hwloc knows or does not, and NVLinks
that it has recorded. And whether it tells how their levels differ from those of a made-up NVML in the folder NVML. Prints what
differs and exits with 1."""

import os
import random
import re
import subprocess
import sys

calibrate, nvml, folder = sys.argv[1:]
TREES, SOCKETS = 40, 2
GPUS = ["0300 [10de:1db8]", "0302 [10de:1db8]", "0380 [1002:738c]"]
NICS = ["0207 [15b3:1017]", "0200 [15b3:1017]"]
# Storage, a network of another maker, and a display that computes nothing.
OTHERS = ["0108 [144d:a808]", "0200 [8086:1521]", "0300 [102b:0522]"]
wrong = 0


class Item:
    """A device (kind gpu, nic or other) or a bridge, whose rate is in GB/s; 0: hwloc does not know it."""

    def __init__(self, kind, speed, children=()):
        self.kind, self.speed, self.children, self.parent, self.bus, self.index = kind, speed, list(children), None, None, None
        for child in self.children:
            child.parent = self

    def leads(self):
        return self.kind in ("gpu", "nic") or any(child.leads() for child in self.children)

    def below(self):
        return [self] + [item for child in self.children for item in child.below()]


def make_items(depth):
    """What is below a bridge."""
    items = []
    for _ in range(random.choice([1, 1, 2, 3]) if depth < 3 else 1):
        speed = random.choice([0, 7.875, 15.75, 31.5])
        if depth < 3 and random.random() < 0.5:
            items.append(Item("bridge", speed, make_items(depth + 1)))
        else:
            items.append(Item(random.choice(["gpu", "gpu", "nic", "other"]), speed))
    return items


def xml_of(items, depth, buses):
    text = ""
    for item in items:
        number = buses.pop(0)
        item.bus, item.index = f"0000:{number:02x}:00.0", 100 + number
        head = f'gp_index="{100 + number}" pci_busid="{item.bus}" pci_link_speed="{item.speed:.6f}"'
        if item.kind == "bridge":
            inside = xml_of(item.children, depth + 1, buses)
            text += (f'<object type="Bridge" bridge_type="1-1" depth="{depth}" bridge_pci="0000:[{number + 1:02x}-{buses[0] - 1:02x}]" '
                     f'pci_type="0604 [8086:2030] [8086:0000] 04" {head}>{inside}</object>\n')
        else:
            kind = random.choice({"gpu": GPUS, "nic": NICS, "other": OTHERS}[item.kind])
            text += f'<object type="PCIDev" pci_type="{kind} [0000:0000] 00" {head}/>\n'
    return text


def above(item):
    """Itself and the bridges that it is below."""
    return [item] + (above(item.parent) if item.parent is not None else [])


def devices_of(roots, kind):
    return [item for items in roots for item in items for below in [item.below()] for item in below if item.kind == kind]


def make_matrix(roots):
    """Rates in MB/s between GPUs, others, which stand for NVSwitches, and sockets; by GPUs, or by an OS device of each."""
    gpus, switches = devices_of(roots, "gpu"), devices_of(roots, "other")
    ends = gpus + switches[:2] + random.sample(range(SOCKETS), SOCKETS)
    return {(a, b): random.choice([0, 0, 20000, 25000, 150000]) for a in gpus for b in ends if a is not b} | {
        (a, b): 1000000 for a in ends for b in ends if a is b}


def matrix_xml(matrix):
    ends = list(dict.fromkeys(b for _, b in matrix))
    indexes = " ".join(f"Package:{10 + end}" if isinstance(end, int) else f"PCI:{end.index}" for end in ends) + " "
    values = " ".join(str(matrix.get((a, b), 0)) for a in ends for b in ends) + " "
    return (f'<distances2hetero nbobjs="{len(ends)}" kind="25" name="NVLinkBandwidth"><indexes length="{len(indexes)}">{indexes}'
            f'</indexes><u64values length="{len(values)}">{values}</u64values></distances2hetero>')


def add_nvlinks(links, names, matrix, socket_of):
    """Of a pair, the faster direction. A GPU with an NVLink to a CPU has no PCIe link."""
    gpus = [item for item in names if item.kind == "gpu"]
    for a in gpus:
        to_cpu = sum(rate for (one, end), rate in matrix.items() if one is a and isinstance(end, int))
        to_switch = sum(rate for (one, end), rate in matrix.items() if one is a and not isinstance(end, int) and end.kind == "other")
        for b in gpus[gpus.index(a) + 1:]:
            rate = max(matrix.get((a, b), 0), matrix.get((b, a), 0))
            if rate > 0:
                links[names[a], names[b]] = rate / 1000
        if to_switch > 0:
            links[names[a], "nvswitch.0"] = to_switch / 1000
        if to_cpu > 0:
            links = {ends: rate for ends, rate in links.items() if ends[0] != names[a] or not ends[1].startswith(("switch", "socket"))}
            links[names[a], socket_of(a)] = to_cpu / 1000
    return links


LEVELS = {0: "the board", 10: "one switch", 20: "switches", 30: "the host bridge", 40: "the socket", 50: "the node"}


def tree_level(roots, names, a, b):
    """As NVML counts: the switches that are passed below the bridge in which they meet."""
    shared = [item for item in above(a) if item in above(b)]
    if shared:
        passed = [item for one in (a, b) for item in above(one)[1:above(one).index(shared[0])] if item in names]
        return 20 if passed else 10
    return 30 if any(root_of(a) in items and root_of(b) in items for items in roots) else 50


def root_of(item):
    return above(item)[-1]


def agree(tree, level):
    return level == tree or (tree == 10 and level <= 10) or (tree == 30 and 30 <= level <= 40)


def check_levels(seed, path, roots, names):
    """Levels of which half are those of the tree; what is told of the others."""
    gpus = [item for item in names if item.kind == "gpu"]
    level = {}
    for i, a in enumerate(gpus):
        for b in gpus[i + 1:]:
            tree = tree_level(roots, names, a, b)
            level[a, b] = level[b, a] = random.choice([tree, tree, tree, random.choice(list(LEVELS)), random.choice(list(LEVELS)), -1])
    told = [f"# {names[a]} and {names[b]} meet in {LEVELS[level[a, b]]} by NVML, in {LEVELS[tree_level(roots, names, a, b)]} by hwloc"
            for i, a in enumerate(gpus) for b in gpus[i + 1:]
            if level[a, b] >= 0 and not agree(tree_level(roots, names, a, b), level[a, b])]
    asked = sum(level[a, b] >= 0 for i, a in enumerate(gpus) for b in gpus[i + 1:])
    if asked > 0:
        told.append(f"# NVML's common ancestors (PCI only, without NVLink) agree for {asked - len(told)} of {asked} pairs of GPUs")
    with open(f"{folder}/levels", "w", encoding="utf-8") as file:
        for a in gpus:
            file.write(" ".join([a.bus] + [str(level.get((a, b), -1)) for b in gpus]) + "\n")
    run = subprocess.run([calibrate, "--topology"], capture_output=True, text=True, check=False, env=os.environ | {
        "HWLOC_XMLFILE": path, "HWLOC_THISSYSTEM": "1", "LD_LIBRARY_PATH": nvml, "FAKE_NVML": f"{folder}/levels"})
    found = [line for line in run.stdout.splitlines() if " by NVML" in line or "common ancestors" in line]
    if run.returncode == 0 and found == told and 'source: "hwloc and NVML"' in run.stdout:
        return 0
    print(f"tree {seed}: {run.stderr}told {found}, not {told}")
    return 1


def file_of(roots, more):
    buses = list(range(1, 250))
    text = ('<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n<topology version="2.0">'
            '<object type="Machine" os_index="0" cpuset="0x3" complete_cpuset="0x3" allowed_cpuset="0x3" nodeset="0x3"'
            ' complete_nodeset="0x3" allowed_nodeset="0x3" gp_index="1">\n')
    for socket, items in enumerate(roots):
        sets = " ".join(f'{name}="{1 << socket:#x}"' for name in ("cpuset", "complete_cpuset", "nodeset", "complete_nodeset"))
        first = buses[0]
        inside = xml_of(items, 1, buses)
        text += (f'<object type="Package" os_index="{socket}" {sets} gp_index="{10 + socket}">'
                 f'<object type="NUMANode" os_index="{socket}" {sets} gp_index="{20 + socket}" local_memory="1073741824"/>'
                 f'<object type="Core" os_index="{socket}" {sets} gp_index="{30 + socket}">'
                 f'<object type="PU" os_index="{socket}" {sets} gp_index="{40 + socket}"/></object>\n'
                 f'<object type="Bridge" gp_index="{50 + socket}" bridge_type="0-1" depth="0"'
                 f' bridge_pci="0000:[{first:02x}-{buses[0] - 1:02x}]">{inside}</object></object>\n')
    return f"{text}</object>{more(roots)}</topology>\n"


def expected_links(roots, matrix):
    """{(from, to): GB/s}: a bridge with two branches that lead to devices is a switch; a link has the least rate on its way."""
    names, links, socket_of = {}, {}, {}
    everything = [item for items in roots for item in items for item in item.below()]
    for kind in ("gpu", "nic", "bridge"):
        for item in everything:
            if item.kind == kind and (kind != "bridge" or sum(child.leads() for child in item.children) > 1):
                count = sum(name.startswith({"bridge": "switch"}.get(kind, kind) + ".") for name in names.values())
                names[item] = f"{ {'bridge': 'switch'}.get(kind, kind)}.{count}"
    fastest = 0.0
    for item, name in names.items():
        at, rates = item, []
        while True:
            rates += [at.speed] if at.speed > 0 else []
            if at.parent is None or at.parent in names:
                break
            at = at.parent
        socket = socket_of[item] = next(f"socket.{number}" for number, items in enumerate(roots) if root_of(item) in items)
        links[name, names[at.parent] if at.parent in names else socket] = min(rates, default=0.0)
        fastest = max(fastest, min(rates, default=0.0)) if item.kind in ("gpu", "nic") else fastest
    fallback = fastest or 16
    links = {ends: rate or fallback for ends, rate in links.items()}
    links["socket.0", "socket.1"] = fallback
    return add_nvlinks(links, names, matrix, socket_of.get), names


for seed in range(TREES):
    random.seed(seed)
    roots = [make_items(0) for _ in range(SOCKETS)]
    roots[0].append(Item("gpu", 15.75))
    path = f"{folder}/tree.xml"
    matrix = {}

    def nvlinks(items):
        if seed % 2 == 0:
            matrix.update(make_matrix(items))
        return matrix_xml(matrix) if matrix else ""

    with open(path, "w", encoding="utf-8") as file:
        file.write(file_of(roots, nvlinks))
    run = subprocess.run([calibrate, "--topology", "--from", path], capture_output=True, text=True, check=False)
    found = {(a, b): 1e-9 / float(cost) for a, b, cost in re.findall(r"between: \[(\S+), (\S+)\], s_per_byte: ([^}]+)\}", run.stdout)}
    gpus = {bus: name for name, bus in re.findall(r"^# (gpu\.\d+): (\S+)", run.stdout, re.M)}
    links, names = expected_links(roots, matrix)
    same = found.keys() == links.keys() and all(abs(found[ends] / links[ends] - 1) < 1e-4 for ends in links)
    if run.returncode != 0 or not same or gpus != {item.bus: name for item, name in names.items() if item.kind == "gpu"}:
        print(f"tree {seed}: {run.stderr}found {sorted(found.items())}, not {sorted(links.items())}; {gpus}")
        wrong += 1
    wrong += check_levels(seed, path, roots, names)
sys.exit(wrong > 0)

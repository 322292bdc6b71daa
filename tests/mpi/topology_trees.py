#!/usr/bin/env python3
"""topology_trees.py CALIBRATE FOLDER: whether `portolan-calibrate --topology` finds the links of random PCI trees, which are
made here: GPUs, NICs and other devices below switches of any depth, with rates that hwloc knows or does not. Prints what
differs and exits with 1."""

import random
import re
import subprocess
import sys

calibrate, folder = sys.argv[1:]
TREES, SOCKETS = 40, 2
GPUS = ["0300 [10de:1db8]", "0302 [10de:1db8]", "0380 [1002:738c]"]
NICS = ["0207 [15b3:1017]", "0200 [15b3:1017]"]
# Storage, a network of another maker, and a display that computes nothing.
OTHERS = ["0108 [144d:a808]", "0200 [8086:1521]", "0300 [102b:0522]"]
wrong = 0


class Item:
    """A device (kind gpu, nic or other) or a bridge, whose rate is in GB/s; 0: hwloc does not know it."""

    def __init__(self, kind, speed, children=()):
        self.kind, self.speed, self.children, self.parent, self.bus = kind, speed, list(children), None, None
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
        item.bus = f"0000:{number:02x}:00.0"
        head = f'gp_index="{100 + number}" pci_busid="{item.bus}" pci_link_speed="{item.speed:.6f}"'
        if item.kind == "bridge":
            inside = xml_of(item.children, depth + 1, buses)
            text += (f'<object type="Bridge" bridge_type="1-1" depth="{depth}" bridge_pci="0000:[{number + 1:02x}-{buses[0] - 1:02x}]" '
                     f'pci_type="0604 [8086:2030] [8086:0000] 04" {head}>{inside}</object>\n')
        else:
            kind = random.choice({"gpu": GPUS, "nic": NICS, "other": OTHERS}[item.kind])
            text += f'<object type="PCIDev" pci_type="{kind} [0000:0000] 00" {head}/>\n'
    return text


def file_of(roots):
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
    return text + "</object></topology>\n"


def expected_links(roots):
    """{(from, to): GB/s}: a bridge with two branches that lead to devices is a switch; a link has the least rate on its way."""
    names, links = {}, {}
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
        root = item
        while root.parent is not None:
            root = root.parent
        socket = next(f"socket.{number}" for number, items in enumerate(roots) if root in items)
        links[name, names[at.parent] if at.parent in names else socket] = min(rates, default=0.0)
        fastest = max(fastest, min(rates, default=0.0)) if item.kind == "gpu" else fastest
    fallback = fastest or 16
    links = {ends: rate or fallback for ends, rate in links.items()}
    links["socket.0", "socket.1"] = fallback
    return links, {item.bus: name for item, name in names.items() if item.kind == "gpu"}


for seed in range(TREES):
    random.seed(seed)
    roots = [make_items(0) for _ in range(SOCKETS)]
    roots[0].append(Item("gpu", 15.75))
    path = f"{folder}/tree.xml"
    with open(path, "w", encoding="utf-8") as file:
        file.write(file_of(roots))
    run = subprocess.run([calibrate, "--topology", "--from", path], capture_output=True, text=True, check=False)
    found = {(a, b): 1e-9 / float(cost) for a, b, cost in re.findall(r"between: \[(\S+), (\S+)\], s_per_byte: ([^}]+)\}", run.stdout)}
    gpus = {bus: name for name, bus in re.findall(r"^# (gpu\.\d+): (\S+)", run.stdout, re.M)}
    links, buses = expected_links(roots)
    same = found.keys() == links.keys() and all(abs(found[ends] / links[ends] - 1) < 1e-4 for ends in links)
    if run.returncode != 0 or not same or gpus != buses:
        print(f"tree {seed}: {run.stderr}found {sorted(found.items())}, not {sorted(links.items())}; {gpus}, not {buses}")
        wrong += 1
sys.exit(wrong > 0)

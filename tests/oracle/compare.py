#!/usr/bin/env python3
"""compare.py PORTOLAN CASES [SEED]: price random scenarios on random machines twice, by portolan and by oracle.py.

Prints each price that differs by more than 0.1 percent and ends with "N prices agree, M differ"; exits 1 if one does.
"""

import csv
import io
import os
import random
import subprocess
import sys
import tempfile

import oracle

TOLERANCE = 1e-3
ALGORITHMS = {
    "alltoall": ["pairwise", "bruck", "linear", "linear_by_rank"],
    "allreduce": ["recursive_doubling", "ring", "rabenseifner"],
    "messages": [None],
    "broadcast": ["scatter_allgather", "chain"],
    "reduce": ["chain", "rabenseifner"],
}
OF_LATENCY = ["pairwise", "bruck", "linear", "recursive_doubling", "ring", "chain"]  # of which the oracle knows it
MOST_PROCS = 64  # a price takes their square of steps
ELEMENT_BYTES = {"byte": 1, "float": 4, "double": 8}


# --- random machines: {key of the machine file: value}, rows where a key has rows


def rate(rng):
    return {"alpha": 10 ** rng.uniform(-7, -4.7), "beta": 10 ** rng.uniform(-12, -9)}


def rows(rng, most):
    """Rows that each hold below a limit, the last for all larger sizes."""
    limits = sorted(rng.sample(range(2, 1 << rng.randrange(8, 21)), rng.randrange(most)))
    return [{**rate(rng), "below_bytes": limit} for limit in [*limits, None]]


def random_machine(rng):
    machine = {"sockets": rng.choice([1, 2])}
    machine["gpus"] = machine["sockets"] * rng.randrange(1, 5)
    for space in ("cpu", "gpu"):
        levels = ["on_socket", "on_node", "off_node"] + ["on_gpu"] * rng.randrange(2)
        machine[f"messages.{space}"] = {level: rows(rng, 3) for level in levels}
        if rng.random() < 0.6:
            machine[f"injection.{space}.s_per_byte"] = 10 ** rng.uniform(-12, -9.5)
            if rng.random() < 0.5:
                machine[f"injection.{space}.s_per_message"] = 10 ** rng.uniform(-8, -6)
        if rng.random() < 0.3:
            machine[f"gap.{space}"] = rows(rng, 3)
        if rng.random() < 0.7:
            machine[f"reduce.{space}"] = rows(rng, 4)
        if rng.random() < 0.4:
            machine[f"messages.latency.{space}"] = 10 ** rng.uniform(-7, -5)
    if rng.random() < 0.3:
        machine["network.contention"] = rng.uniform(0, 2)
    for kind in ("d2h", "h2d", "d2d", "h2h"):
        if kind in ("d2h", "h2d") or rng.random() < 0.7:
            machine[f"copies.{kind}"] = rate(rng)
    if rng.random() < 0.7:
        machine["signals.flag_s"] = 10 ** rng.uniform(-7, -5)
    return machine


def row_text(row, protocol=None):
    items = [] if protocol is None else [f"protocol: {protocol}"]
    if row.get("below_bytes") is not None:
        items.append(f"below_bytes: {row['below_bytes']}")
    items += [f"alpha_s: {row['alpha']!r}", f"beta_s_per_byte: {row['beta']!r}"]
    return "{" + ", ".join(items) + "}"


def protocols(rows_of):
    names = ["short", "eager", "rendezvous"][3 - len(rows_of) :]
    return "[" + ", ".join(row_text(row, name) for row, name in zip(rows_of, names)) + "]"


def machine_text(machine, cores):
    def members(prefix):
        return {key[len(prefix) :]: value for key, value in machine.items() if key.startswith(prefix)}

    text = ["machine: random", "source: random", f"node: {{sockets: {machine['sockets']}, gpus: {machine['gpus']}, cores: {cores}}}"]
    text.append("messages:")
    latency = members("messages.latency.")
    if latency:
        text.append("  latency: {" + ", ".join(f"{space}: {value!r}" for space, value in latency.items()) + "}")
    for space, levels in ((space, levels) for space, levels in members("messages.").items() if isinstance(levels, dict)):
        text.append(f"  {space}:")
        text += [f"    {level}: {protocols(rows_of)}" for level, rows_of in levels.items()]
    if members("gap."):
        text.append("gap:")
        text += [f"  {space}: {protocols(rows_of)}" for space, rows_of in members("gap.").items()]
    spaces = sorted({key.split(".")[0] for key in members("injection.")})
    if spaces:
        text.append("injection:")
    for space in spaces:
        values = members(f"injection.{space}.")
        text.append(f"  {space}: {{" + ", ".join(f"{key}: {value!r}" for key, value in values.items()) + "}")
    text.append("copies:")
    text += [f"  {kind}: {{on_socket: {row_text(row)}}}" for kind, row in members("copies.").items()]
    if members("reduce."):
        text.append("reduce:")
        text += [f"  {space}: [{', '.join(map(row_text, rows_of))}]" for space, rows_of in members("reduce.").items()]
    for section, key in (("network", "contention"), ("signals", "flag_s")):
        if f"{section}.{key}" in machine:
            text.append(f"{section}: {{{key}: {machine[f'{section}.{key}']!r}}}")
    return "\n".join(text) + "\n"


# --- random scenarios


def random_case(rng, machine):
    collective = rng.choice(list(ALGORITHMS))
    owners = rng.choice([1, 1, 1, 2, 3])
    procs = owners if owners > 1 else rng.randrange(1, 7)
    gpus = rng.randrange(1, machine["gpus"] + 1)
    least = 2 if collective == "messages" else 1
    layout = oracle.Layout(
        nodes=rng.choice([nodes for nodes in range(least, 13) if nodes == least or nodes * gpus * procs <= MOST_PROCS]),
        gpus_per_node=gpus,
        owners_per_gpu=owners,
        procs_per_gpu=procs,
        gpus_per_socket=machine["gpus"] // machine["sockets"],
    )
    datatype = rng.choice(list(ELEMENT_BYTES))
    element = ELEMENT_BYTES[datatype]
    sizes = sorted({element * rng.randrange(1, 1 << rng.randrange(1, 20)) for _ in range(6)})
    return layout, {
        "collective": collective,
        "algorithm": rng.choice(ALGORITHMS[collective]),
        "datatype": datatype,
        "element": element,
        "sizes": sizes,
        "segment_bytes": rng.choice([None, element * rng.randrange(64, 4096)]),
        "messages": rng.randrange(1, 20) if collective == "messages" else None,
    }


def scenario_text(layout, case):
    rooted = case["collective"] in ("broadcast", "reduce")
    rooted = rooted or (case["latency"] and case["collective"] == "allreduce")
    strategies = ["cuda_aware", "three_step"] if rooted else oracle.STRATEGIES
    text = [
        "scenario: random",
        "machine: machine.yaml",
        f"collective: {case['collective']}",
        f"datatype: {case['datatype']}",
        f"layout: {{nodes: {layout.nodes}, gpus_per_node: {layout.gpus_per_node}, "
        f"owners_per_gpu: {layout.owners_per_gpu}, procs_per_gpu: {layout.procs_per_gpu}}}",
        f"bytes: {case['sizes']}",
        "chunks: 1",
        f"strategies: [{', '.join(strategies)}]",
    ]
    if case["messages"]:
        text.append(f"messages: {case['messages']}")
    if case["algorithm"] == "chain" and case["segment_bytes"]:
        text.append(f"library: [{{algorithm: chain, segment_bytes: {case['segment_bytes']}}}]")
    elif case["algorithm"]:
        text.append(f"library: {case['algorithm']}")
    return "\n".join(text) + "\n"


def portolan_prices(portolan, folder, machine, layout, case):
    """{(bytes, strategy): seconds}, or None where a strategy does not apply."""
    cores = machine["gpus"] * layout.procs_per_gpu
    with open(os.path.join(folder, "machine.yaml"), "w", encoding="ascii") as file:
        file.write(machine_text(machine, cores))
    path = os.path.join(folder, "scenario.yaml")
    with open(path, "w", encoding="ascii") as file:
        file.write(scenario_text(layout, case))
    done = subprocess.run([portolan, "predict", path, "--format", "csv"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{done.stderr}\n{machine_text(machine, cores)}\n{scenario_text(layout, case)}")
    table = csv.DictReader(line for line in io.StringIO(done.stdout) if not line.startswith("#"))
    return {(int(row["bytes"]), row["strategy"]): float(row["seconds"]) if row["seconds"] else None for row in table}


def main():
    portolan, cases = sys.argv[1], int(sys.argv[2])
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    agree = differ = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + cases):
            rng = random.Random(seed)
            machine = random_machine(rng)
            layout, case = random_case(rng, machine)
            case["latency"] = case["algorithm"] in OF_LATENCY and any(key.startswith("messages.latency.") for key in machine)
            if not case["latency"]:
                machine = {key: value for key, value in machine.items() if not key.startswith("messages.latency.")}
            for (size, strategy), seconds in portolan_prices(portolan, folder, machine, layout, case).items():
                if seconds is None:
                    continue
                mine = oracle.price(machine, layout, strategy, {**case, "bytes": size})
                if abs(seconds - mine) <= TOLERANCE * max(seconds, mine):
                    agree += 1
                else:
                    differ += 1
                    print(f"seed {seed}: {case['collective']} of {size} B by {strategy}, {case['algorithm']}: portolan {seconds:.9g} s, oracle {mine:.9g} s, {layout}")
    print(f"{agree} prices agree, {differ} differ")
    sys.exit(1 if differ or not agree else 0)


if __name__ == "__main__":
    main()

"""Errors of predicted and simulated calls at once, for steps.sh: steps.py WORKLOAD MACHINE RUNS PORTOLAN."""

import json
import os
import statistics
import subprocess
import sys
import tempfile

workload, machine, runs, portolan = sys.argv[1:]


def ask(*arguments):
    return json.loads(subprocess.run([portolan, *arguments, "--format", "json"], check=True, stdout=subprocess.PIPE).stdout)


def entries():
    """The workload's head, and the lines of each of its entries."""
    head, rest = open(workload).read().split("step:\n")
    found = []
    for line in rest.splitlines(keepends=True):
        if line.startswith("  - "):
            found.append("")
        found[-1] += line
    return head.replace("machine: machine.yaml", f"machine: {os.path.abspath(machine)}") + "step:\n", found


def alone(call):
    """Seconds of a call on one communicator while nothing else runs."""
    asked = ["predict", "--machine", machine, "--collective", call["collective"], "--nodes", str(call["nodes"]),
             "--gpus-per-node", str(call["gpus_per_node"]), "--procs-per-gpu", "1", "--bytes", str(call["bytes"]),
             "--strategy", "cuda_aware", "--library", call["predictions"][0]["algorithm"]]
    return ask(*asked)["predictions"][0]["seconds"]


measured = {}
for row in open(runs):
    if row[0].isdigit():
        entry, _, seconds = row.split(",")
        measured.setdefault(int(entry), []).append(float(seconds))

head, found = entries()
errors = {"predicted": [], "simulated": [], "longest part": [], "sum of parts": []}
print("entry,calls,measured_s,spread_percent,predicted_s,simulated_s,longest_part_s,sum_of_parts_s")
for number, text in enumerate(found):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(head + text)
        file.flush()
        step = ask("step", file.name, "--strategy", "cuda_aware", "--simulate")
    calls = [call for call in step["calls"] if "predictions" in call]
    parts = [alone(call) for call in calls for _ in range(call["communicators"])]
    seconds = statistics.median(measured[number])
    guesses = [step["totals"][0]["communication_s"], step["simulations"][0]["communication_s"], max(parts), sum(parts)]
    spread = 100 * (max(measured[number]) - min(measured[number])) / seconds
    for name, guess in zip(errors, guesses):
        errors[name].append(abs(guess / seconds - 1))
    names = " + ".join(call["call"] for call in calls)
    print(f"{number},{names},{seconds:.4g},{spread:.0f}," + ",".join(f"{guess:.4g}" for guess in guesses))
for name, values in errors.items():
    print(f"# {name}: median error {100 * statistics.median(values):.1f} percent, largest {100 * max(values):.1f}")

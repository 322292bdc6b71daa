#!/usr/bin/env python3
"""commands.py PORTOLAN SECONDS [SEED]: run random valid and nearly valid commands on random files.

A finding is a signal, an exit code other than 0, 1 and 2, output of a sanitizer, more than 10 s of CPU time or more than 1 GiB.
Prints each with its seed and command; its files stay in the folder that is named. Exits 1 if there is one.
"""

import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

LIMIT_S = 10 * int(os.environ.get("FUZZ_SLOWNESS", "1"))
LIMIT_BYTES = 1 << 30
# What takes a while on purpose is asked for less of it.
WORK = ["--limit", "100000"]
NUMBERS = ["0", "1", "2", "3", "4", "7", "8", "16", "64", "1000", "65536", "1KiB", "4MiB", "1GiB", "-1", "1.5", "1e9",
           "9223372036854775807", "99999999999999999999", "", "x", "4:64", "8:1MiB", "64:8", "1:100:0", "2:64:3"]
COLLECTIVES = ["allreduce", "reduce", "broadcast", "allgather", "reduce_scatter", "gather", "scatter", "alltoall",
               "alltoallv", "messages", "pair", "halo", "none"]
COMMANDS = ["predict", "pick", "plan", "check", "simulate", "traffic", "map", "sensitivity", "topology", "tune",
            "score", "fit", "export", "list", "step", "replay", "machine"]


def options_of(portolan, command):
    """Names of a command's options, and the words for their values, from its help."""
    text = subprocess.run([portolan, command, "--help"], capture_output=True, text=True, check=False).stdout
    return [found for found in re.findall(r"^  (--[a-z-]+)(?: (\S+))?", text, re.M) if found[0] not in ("--help", "--plot")]


def random_value(rng, word, files):
    words = [one for one in word.split("|") if one.islower()]
    if words and rng.random() < 0.7:
        return rng.choice(words)
    if "FILE" in word and rng.random() < 0.9:
        return rng.choice(files)
    if word.startswith("PARAMETER"):
        name = rng.choice(["messages.cpu.off_node.eager.alpha_s", "injection.cpu.s_per_byte", "copies.*.alpha_s", "*", "x"])
        return f"{name}={rng.choice(['*2', '/10', '1e-6', '5 us', '0', '-1', 'inf', ''])}"
    return rng.choice(NUMBERS + ["skew:0.5:1", "equal", "2x2", "4x4x4", "0,1", "1,1", "gpu,cpu", "best", "bruck", "three_step"])


def mutate(rng, text):
    """Break a file a little: its lines, its numbers, its bytes."""
    lines = text.splitlines()
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(lines))
        kind = rng.randrange(6)
        if kind == 0:
            del lines[at]
        elif kind == 1:
            lines.insert(at, rng.choice(lines))
        elif kind == 2:
            numbers = list(re.finditer(r"[0-9][0-9.e-]*", lines[at]))
            if numbers:
                one = rng.choice(numbers)
                lines[at] = lines[at][: one.start()] + rng.choice(NUMBERS) + lines[at][one.end() :]
        elif kind == 3:
            lines[at] = " " * rng.randrange(8) + lines[at].strip()
        elif kind == 4:
            other = rng.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
        elif lines[at]:
            place = rng.randrange(len(lines[at]))
            lines[at] = lines[at][:place] + rng.choice("{}[]:,-#&*!|>'\"%@`\t~") + lines[at][place + 1 :]
        if not lines:
            lines = [""]
    return "\n".join(lines) + "\n"


def seeds():
    """Files of every kind that the project has, not too long."""
    found = []
    for folder in ("scenarios", "tests/fixtures", "tests/fuzz/corpus"):
        for place, _, names in os.walk(folder):
            found += [os.path.join(place, name) for name in names]
    return sorted(path for path in found if os.path.getsize(path) < 30000)


def write_files(rng, paths, folder):
    made = []
    for i in range(4):
        source = rng.choice(paths)
        with open(source, encoding="latin-1") as file:
            text = file.read()
        if text and rng.random() < 0.7:
            text = mutate(rng, text)
        made.append(os.path.join(folder, f"{i}{os.path.splitext(source)[1]}"))
        with open(made[-1], "w", encoding="latin-1") as file:
            file.write(text)
    return made


VALUES = {
    "--collective": COLLECTIVES[:-1],
    "--nodes": ["1", "2", "3", "4", "16"],
    "--machine": ["summit-spectrum", "summit-spectrum-refit", "h200-x4", "h200-x2-mps", "h200-2x2-tcp", "lassen-mvapich2"],
    "--gpus-per-node": ["1", "1", "2"],
    "--procs-per-gpu": ["1", "2", "3", "6"],
    "--bytes": ["64", "8:1MiB", "1KiB", "16MiB", "0"],
    "--counts": ["equal", "skew:0.5:1", "{pattern: stencil, dims: [2, 2]}"],
    "--for": ["openmpi-4.1", "openmpi-6", "ucc", "nccl", "mpich-4.0", "cray"],
    "--strategy": ["cuda_aware", "three_step,dup_devptr", "gsb", "nccl", "mix", "gas_split", "staged_ring"],
}


def random_command(rng, options, files):
    """A command that is mostly right, with some options and files that may not be."""
    command = rng.choice(COMMANDS)
    known = dict(options[command])
    right = rng.random() < 0.9
    words = [command, "new"] if command == "machine" else [command]
    if rng.random() < 0.2 or command in ("fit", "score", "topology", "step", "replay"):
        kind = {"fit": ".csv", "score": ".csv", "topology": ".xml", "replay": ".csv"}.get(command, ".yaml")
        words.append(rng.choice([path for path in files if path.endswith(kind)] or files))
    for name, values in VALUES.items():
        if name == "--counts" and right and "alltoallv" not in words:
            continue
        least = name in ("--machine", "--collective", "--nodes", "--bytes", "--for")
        if name in known and rng.random() < (0.9 if least else 0.3) or rng.random() < 0.002:
            words += [name, rng.choice(values) if right or rng.random() < 0.7 else random_value(rng, "", files)]
    for _ in range(rng.choice([0, 0, 1, 1, 2, 4])):
        if known:
            name = rng.choice(list(known))
            listed = name in VALUES and right
            value = rng.choice(VALUES[name]) if listed else random_value(rng, known[name], files)
            words += [name, value] if known[name] else [name]
    if "--limit" in known and "--limit" not in words:
        words += WORK
    return words


def limit_work():
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_S, LIMIT_S + 1))
    if not os.environ.get("FUZZ_SANITIZED"):  # a sanitizer maps terabytes
        resource.setrlimit(resource.RLIMIT_AS, (LIMIT_BYTES, LIMIT_BYTES))


def fault_of(portolan, words, folder):
    """What is wrong with a command's end; None: nothing."""
    try:
        done = subprocess.run([portolan, *words], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=6 * LIMIT_S,
                              preexec_fn=limit_work, check=False)
    except subprocess.TimeoutExpired:
        return f"did not end in {6 * LIMIT_S} s"
    if b"ERROR: " in done.stderr and b"Sanitizer" in done.stderr or b"runtime error: " in done.stderr:
        return done.stderr.decode("latin-1")[-2000:]
    if b"out of memory" in done.stderr:
        return "ran out of memory"
    if done.returncode == -signal.SIGXCPU:
        return f"took more than {LIMIT_S} s"
    return None if done.returncode in (0, 1, 2) else f"exit {done.returncode}"


def main():
    portolan, seconds = os.path.abspath(sys.argv[1]), float(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else int(time.time())
    paths = seeds()
    options = {command: options_of(portolan, command) for command in COMMANDS}
    end, runs, findings = time.monotonic() + seconds, 0, 0
    while time.monotonic() < end:
        rng = random.Random(seed + runs)
        folder = tempfile.mkdtemp(prefix=f"portolan-fuzz-{seed + runs}-")
        words = random_command(rng, options, write_files(rng, paths, folder))
        fault = fault_of(portolan, words, folder)
        runs += 1
        if fault:
            findings += 1
            print(f"seed {seed + runs - 1}: portolan {' '.join(map(repr, words))}: {fault}", flush=True)
        else:
            shutil.rmtree(folder)
    print(f"commands: {runs} runs from seed {seed}, {findings} findings")
    sys.exit(1 if findings or not runs else 0)


if __name__ == "__main__":
    main()

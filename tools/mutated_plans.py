#!/usr/bin/env python3
"""mutated_plans.py COUNT [SEED]: break COUNT strategies and algorithms in their sources, one place at a time, and see that
each broken one is noticed.

A mutation leaves a statement of the builder out (a missing block, flag, stage or barrier), swaps two statements (an early
flag, an order that deadlocks), or changes a peer, an offset, an anchor, a buffer, a flag or a bound of a loop (a wrong peer
or offset, a slot that is reused). The plans of every strategy with every algorithm on small layouts are then judged:

  refused     the builder stops, `portolan check` finds the fault, or the executor refuses the plan by name before a
              run: processes have different plans (a strategy that reads what it has not set), or there is no such plan
  executed    check proves the plans, but they are executed wrongly, with random delays or back to back: check has missed
              something, or the fault is not in the plans; exits 1
  same        every process does in every plan what it did before
  other       the plans differ, are proved, and are executed rightly: they are correct, too

Works on a copy of the tree and of its build, in MUTANTS_TREE (BUILD/mutants). `make mutated-plans` builds what it needs.
"""

import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

import mutants

FOLDERS = ["model/strategies", "model/algorithms"]
MACHINE = "tests/fixtures/machine.yaml"
COLLECTIVES = ["allreduce", "reduce", "broadcast", "allgather", "reduce_scatter", "gather", "scatter", "alltoall",
               "alltoallv", "messages"]
LAYOUTS = [(1, 1, 4), (1, 3, 1), (1, 2, 2), (2, 2, 1), (3, 1, 2), (2, 2, 2), (5, 1, 1)]
EXECUTIONS = ["-n 6 build/tests/test_exec cases 400 1", "-n 9 build/tests/test_exec cases 400 2",
              "-n 6 build/tests/test_exec cases:halo 100 1", "-n 4 build/tests/test_exec repeats 100 1",
              *(f"-n 4 build/tests/test_exec repeats:{strategy} 100 1"
                for strategy in ("mix", "mix_doubling", "mix_learning", "shm_ring", "gas_split"))]
PROOFS = ["test_hierarchical", "test_rings", "test_check", "test_plan"]
STALE = "RUNS=100 tests/mpi/test_stale.sh"
# What is said of plans that no process begins to run.
REFUSALS = ["were given different plans", "needs an algorithm for its inner collective"]
SWAPS = [("->in", "->out"), ("->out", "->in"), (".in", ".out"), (".out", ".in"), ("full", "empty"), ("empty", "full"),
         ("PTO_STEP_WAIT", "PTO_STEP_SIGNAL"), ("PTO_STEP_SIGNAL", "PTO_STEP_WAIT"),
         ("PTO_ANCHOR_ME", "PTO_ANCHOR_PEER"), ("PTO_ANCHOR_PEER", "PTO_ANCHOR_ME"), ("PTO_ANCHOR_ABSOLUTE", "PTO_ANCHOR_ME"),
         ("PTO_HOLDER_PEER", "PTO_HOLDER_SELF"), ("pto_constant(0)", "pto_constant(1)"), ("pto_constant(1)", "pto_constant(2)"),
         (", 1)", ", -1)"), (", -1)", ", 1)"), (", 0)", ", 1)"), ("(1, ", "(2, "), (" - 1", ""), (" + 1", ""), (" < ", " <= "),
         (" > ", " >= "), (" * ", " + "), ("/ 2", "/ 1"), ("true", "false"), ("false", "true"), ("PTO_ORDER_SEQUENCE", "PTO_ORDER_ANY")]
# A statement on one line that does not declare, return or end a loop.
STATEMENT = re.compile(r"^ +(?!return|break|continue|case |pto_build_end|free)[a-zA-Z_][\w.\->\[\]]*(\(.*\)| [-+*]?= .*|\+\+|--);$")
DECLARATION = re.compile(r"^ +(const |static |struct |unsigned |[a-z]\w*_t |int |bool |char |double |int64_t )")


def asks():
    """Every strategy with every algorithm, on each layout; `check` proves all of them, `plan` prints the chosen ones."""
    found = []
    for nodes, gpus, procs in LAYOUTS:
        layout = f"--nodes {nodes} --gpus-per-node {gpus} --procs-per-gpu {procs}"
        for collective in COLLECTIVES:
            more = "--counts skew:0.5:1" if collective == "alltoallv" else "--messages 3" if collective == "messages" else ""
            found.append(f"--collective {collective} {layout} {more} --bytes 4:4KiB:1024")
        if nodes == 1:
            found += [f"--collective allreduce {layout} --owners-per-gpu {procs} --bytes 4KiB"] * (procs > 1)
            found += [f"--collective allgather {layout} --owners-per-gpu {procs} --bytes 4KiB"] * (procs > 1)
        for corners in ("two_phase", "diagonal"):
            found.append(f"--collective halo {layout} --extent 6x5 --wrap 1,0 --corners {corners} --bytes 8")
    for spaces in ("gpu,gpu", "gpu,cpu"):
        found.append(f"--collective pair --both-ways --spaces {spaces} --distance on_socket --bytes 4:64KiB:64")
    return found


def run_program(command, tree, seconds):
    """Status and output; None where it does not end."""
    try:
        done = subprocess.run(["bash", "-c", command], cwd=tree, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds,
                              check=False)
    except subprocess.TimeoutExpired:
        return None, b""
    return done.returncode, done.stdout + done.stderr


def prove(tree, lines):
    """The transcripts of `check`, and the first ask that is refused, with the reason."""
    made = []
    for line in lines:
        status, text = run_program(f"build/portolan check --machine {MACHINE} {line}", tree, 120)
        if status is None:
            return made, f"{line}: does not end"
        if status < 0 or status > 128:
            return made, f"{line}: " + (text.decode("latin-1").strip().split("\n")[-1] if text else f"crash, {status}")
        if b"proved right" not in text and b"no strategy applies" not in text:
            return made, f"{line}: " + text.decode("latin-1").strip().split("\n")[-1]
        made.append(text)
    return made, None


def print_plans(tree, lines):
    """What every process does, with each algorithm that can be named, on the layouts with several of everything."""
    made = []
    for line in lines:
        if not any(f"--nodes {nodes} --gpus-per-node 2 --procs-per-gpu 2 " in line for nodes in (1, 2)):
            continue
        numbers = [int(number) for number in re.findall(r"-(?:nodes|node|gpu) (\d+)", line)][:3]
        ranks = numbers[0] * numbers[1] * numbers[2]
        for algorithm in ALGORITHMS:
            chosen = f"--library {algorithm}" if algorithm else ""
            made += [run_program(f"for rank in $(seq 0 {ranks - 1}); do build/portolan plan --machine {MACHINE} {line} "
                                 f"{chosen} --unroll --rank $rank; done", tree, 300)]
    return made


ALGORITHMS = ["", "ring", "bruck", "pairwise", "linear", "recursive_doubling", "rabenseifner", "binomial", "hierarchical"]


def places(paths):
    """(path, line, changed lines or None for what is left out, kind)."""
    found = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            text = file.read().split("\n")
        for number, line in enumerate(text):
            if line[:1] != " " or '"' in line and "pto_build" not in line:
                continue
            plain = STATEMENT.match(line) and not DECLARATION.match(line)
            after = text[number + 1] if number + 1 < len(text) else ""
            if plain:
                found.append((path, number, [";"], "left out"))
            if plain and STATEMENT.match(after) and not DECLARATION.match(after) and line != after:
                found.append((path, number, [after, line], "swapped"))
            for old, new in SWAPS:
                for match in re.finditer(re.escape(old), line):
                    found.append((path, number, [line[: match.start()] + new + line[match.end() :]], "changed"))
    return found


def write(place, tree):
    path, number, lines, kind = place
    with open(path, encoding="utf-8") as file:
        text = file.read().split("\n")
    before = text[number].strip()
    text[number : number + len(lines)] = lines
    with open(os.path.join(tree, path), "w", encoding="utf-8") as file:
        file.write("\n".join(text))
    if kind == "left out":
        return f"{path}:{number + 1}: left out: {before}"
    if kind == "swapped":
        return f"{path}:{number + 1}: after the next: {before}"
    return f"{path}:{number + 1}: {before}  ->  {lines[0].strip()}"


def execute(tree):
    """The first command that fails, and by what line it refuses the plan; None: none does, and it is no refusal."""
    for command in [*(f"{mutants.MPIRUN} {one}" for one in EXECUTIONS), STALE]:
        with tempfile.TemporaryFile() as log:
            if mutants.run_shell(command, tree, 0, 600, True, log)[0]:
                continue
            log.seek(0)
            said = log.read().decode("latin-1").split("\n")
            return command, next((line.strip() for line in said if any(one in line for one in REFUSALS)), None)
    return None, None


def judge(tree, lines, right):
    """The fate of the broken sources, which are compiled."""
    if not mutants.make(tree, "build/portolan"):
        return "no code"
    proofs, refusal = prove(tree, lines)
    if refusal:
        return f"refused ({refusal[:300]})"
    if proofs == right["proofs"]:
        right["plans"] = right["plans"] or right["print"]()
        if print_plans(tree, lines) == right["plans"]:
            return "same"
    if not mutants.make(tree, "build/tests/test_exec", "build/tests/test_stale"):
        return "no code"
    failed, refusal = execute(tree)
    if not failed:
        return "other"
    if refusal:
        return f"refused (executor: {refusal[:300]})"
    # Plans that no command line asks for, such as those in segments, are proved by these.
    for test in PROOFS:
        if not mutants.make(tree, f"build/tests/{test}") or not mutants.run_shell(f"build/tests/{test}", tree, 600, 1200)[0]:
            return f"refused ({test})"
    return f"executed ({failed[0]})"


def copy_build(tree):
    """The build, with its times, and the times of the sources, so that nothing is built again."""
    shutil.copytree("build", os.path.join(tree, "build"), symlinks=True, ignore=shutil.ignore_patterns("mutants"))
    for path in filter(os.path.exists, mutants.files_of()):
        shutil.copystat(path, os.path.join(tree, path))


def compiled(tree, path):
    """None where it does not compile."""
    return mutants.object_code(tree, path) if mutants.build_object(tree, path) else None


def main():
    count = int(sys.argv[1])
    rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else None)
    tree, whole = os.path.join(mutants.TREE, "plans"), os.getcwd()
    mutants.FLAGS[tree] = "BUILD=build"
    mutants.copy_tree(tree)
    if not os.path.exists(os.path.join(tree, "build")):
        copy_build(tree)
    assert mutants.make(tree, "build/portolan", "build/tests/test_exec", "build/tests/test_stale"), f"{tree}: cannot be built"
    lines = [line for line in asks() if not prove(tree, [line])[1]]  # some collectives need several nodes
    proofs, _ = prove(tree, lines)
    right = {"proofs": proofs, "plans": None, "print": lambda: print_plans(whole, lines)}
    choice = places([path for path in mutants.files_of(*FOLDERS) if path.endswith(".c") and "registry" not in path])
    rng.shuffle(choice)
    fates = {}
    while sum(fates.values()) < count and choice:
        place, began = choice.pop(), time.monotonic()
        original = compiled(tree, place[0])
        assert original is not None, f"{place[0]} does not compile"
        what = write(place, tree)
        code = compiled(tree, place[0])
        fate = "no code" if code is None or code == original else judge(tree, lines, right)
        shutil.copyfile(place[0], os.path.join(tree, place[0]))  # newer than its object
        if fate != "no code":
            kind = fate.split(" ")[0]
            fates[kind] = fates.get(kind, 0) + 1
            print(f"{fate}: {what} ({time.monotonic() - began:.0f} s)", flush=True)
    print(f"{sum(fates.values())} mutated strategies and algorithms: " +
          ", ".join(f"{number} {kind}" for kind, number in sorted(fates.items())))
    failed = count - sum(fates.values()) + fates.get("executed", 0)  # judged too few is a failure, too
    print(f"mutated-plans: {count - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

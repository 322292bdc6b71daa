#!/usr/bin/env python3
"""mutants.py AREA COUNT [SEED]: break COUNT random places of an area's code, one at a time, and run the tests that
cover them. A mutant that every test passes has survived: a test is missing, or the change does not matter.

Works on a copy of the tree, in BUILD/mutants. Prints each, and ends with "N mutants: K killed (P percent),
S survived"; those that do not compile are not counted. Areas: model, fit, impl, calibrate, validate.
"""

import os
import random
import re
import shutil
import subprocess
import sys

BUILD = os.environ.get("BUILD", "build")
TREE = os.path.join(BUILD, "mutants")
AREAS = {
    "model": ["model/src", "model/algorithms", "model/strategies"],
    "fit": ["model/fit"],
    "impl": ["impl"],
    "calibrate": ["calibrate"],
    "validate": ["validate"],
}
# Of areas without unit tests.
COMMANDS = {
    "impl": ["mpirun -n 5 --oversubscribe --mca mpi_yield_when_idle 1 build/tests/test_exec cases 150 1",
             "mpirun -n 4 --oversubscribe --mca mpi_yield_when_idle 1 build/tests/test_exec repeats 50 1",
             "mpirun -n 3 --oversubscribe --mca mpi_yield_when_idle 1 build/tests/test_exec lanes 1 1"],
    "calibrate": ["tests/mpi/test_calibrate.sh"],
    "validate": ["tests/mpi/test_exec.sh", "tests/mpi/test_energy.sh"],
}
# What no test names, and many call.
ALWAYS = ["test_prices_unchanged", "test_metamorphic"]
SWAPS = [("<=", "<"), (">=", ">"), (" < ", " <= "), (" > ", " >= "), ("==", "!="), ("!=", "=="), ("&&", "||"), ("||", "&&"),
         (" + ", " - "), (" - ", " + "), (" * ", " + "), ("true", "false"), ("false", "true"), ("++", "--"),
         ("(!", "("), (" 0;", " 1;"), (" 1;", " 2;"), ("[0]", "[1]")]
TEST_S = 300


def copy_tree():
    """Sources that differ, and all objects, with their times, so that little is compiled anew."""
    for path in subprocess.check_output(["git", "ls-files"], text=True).splitlines():
        target = os.path.join(TREE, path)
        if os.path.exists(path):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy2(path, target)
    for name in os.listdir(BUILD):
        if name in ("obj", "flags", "tests") or os.path.isfile(os.path.join(BUILD, name)):
            subprocess.check_call(["cp", "-a", os.path.join(BUILD, name), os.path.join(TREE, "build", "")])


def code_lines(text):
    """Numbers of the lines that have code: no comments, directives, tables of text or declarations."""
    found, comment = [], False
    for number, line in enumerate(text):
        begins = "/*" in line
        plain = not comment and not begins and '"' not in line and line[:1] == " " and not line.strip().startswith("#")
        if plain and any(old in line for old, _ in SWAPS):
            found.append(number)
        if begins or comment:
            comment = "*/" not in line[line.rfind("/*") if begins else 0 :]
    return found


def mutate(rng, files):
    """A file, its text with one change, and what the change is."""
    while True:
        path = rng.choice(files)
        with open(path, encoding="utf-8") as file:
            text = file.read().split("\n")
        lines = code_lines(text)
        if not lines:
            continue
        number = rng.choice(lines)
        old, new = rng.choice([swap for swap in SWAPS if swap[0] in text[number]])
        places = [match.start() for match in re.finditer(re.escape(old), text[number])]
        place = rng.choice(places)
        changed = text[number][:place] + new + text[number][place + len(old) :]
        what = f"{path}:{number + 1}: {text[number].strip()}  ->  {changed.strip()}"
        return path, "\n".join(text[:number] + [changed] + text[number + 1 :]), what


def covering(path):
    """Unit tests, those first that name most of the functions that the file defines."""
    with open(path, encoding="utf-8") as file:
        names = set(re.findall(r"^[a-z].*?\b(pto_\w+)\(", file.read(), re.M))
    stem = os.path.splitext(os.path.basename(path))[0]
    folder = os.path.basename(os.path.dirname(path))
    ranked = []
    for name in sorted(os.listdir("tests/unit")):
        if not name.endswith(".c"):
            continue
        with open(os.path.join("tests/unit", name), encoding="utf-8") as file:
            text = file.read()
        score = sum(text.count(one) for one in names) + 5 * (stem in name) + 3 * (folder in name)
        score += text.count(f'"{stem}"')  # a strategy or an algorithm
        if score > 0 or name[:-2] in ALWAYS or (name == "test_plan.c" and folder in ("strategies", "algorithms")):
            ranked.append((-score, name[:-2]))
    return [name for _, name in sorted(ranked)]


def run(command, seconds):
    """Whether a shell command succeeds in time."""
    env = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "TEST_SAMPLE": "499"}
    env.pop("MAKEFLAGS", None)
    with subprocess.Popen(command, shell=True, cwd=TREE, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, start_new_session=True) as process:
        try:
            return process.wait(timeout=seconds) == 0
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            return False


def survives(area, path):
    """None where the change does not compile."""
    made = f"build/obj/{os.path.splitext(path)[0]}.o"
    if not run(f"make {made}", 300):
        return None
    if area not in COMMANDS:
        return all(run(f"make build/tests/{test} && build/tests/{test}", TEST_S) for test in covering(path))
    return run("make build build/tests/test_exec", 600) and all(run(test, 3 * TEST_S) for test in COMMANDS[area])


def main():
    area, count = sys.argv[1], int(sys.argv[2])
    rng = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else None)
    files = [path for path in subprocess.check_output(["git", "ls-files", *AREAS[area]], text=True).splitlines()
             if path.endswith(".c")]
    os.makedirs(os.path.join(TREE, "build"), exist_ok=True)
    copy_tree()
    killed = survived = 0
    while killed + survived < count:
        path, text, what = mutate(rng, files)
        target = os.path.join(TREE, path)
        with open(target, "w", encoding="utf-8") as file:
            file.write(text)
        alive = survives(area, path)
        shutil.copyfile(path, target)  # newer than its object
        killed += alive is False
        survived += alive is True
        outcome = {None: "no code", False: "killed", True: "SURVIVED"}[alive]
        print(f"{outcome}: {what}", flush=True)
    print(f"{count} mutants: {killed} killed ({100 * killed // count} percent), {survived} survived")


if __name__ == "__main__":
    main()

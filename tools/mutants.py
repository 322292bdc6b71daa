#!/usr/bin/env python3
"""mutants.py AREA COUNT [SEED]: break COUNT random places of an area's code, one at a time, and run the tests that
execute the changed line. A mutant that every test passes has survived: a test is missing, or the change does not matter.

Works on two copies of the tree, below MUTANTS_TREE (BUILD/mutants): one is compiled with gcov and tells which tests
execute which lines, the other runs the mutants. Prints each mutant and where it was killed, and ends with "N mutants: K
killed (P percent), S survived". Mutants that do not compile, or compile to the same code, are not counted. A line that no
test executes is judged by the tests that execute its file. MUTANTS_KEEP_COVERAGE=1 takes the coverage that was measured
before, however old. Areas: model, strategies, fit, traces, impl, calibrate, validate, parallel (what the last two share).

MUTANTS_SLOW=1 runs the slow tests, too, for what survives all others, and MUTANTS_SANITIZED=1 the unit tests under the
sanitizers, as `make sanitize` does, in a third copy of the tree: they notice what is read beyond an array's end.
"""

import filecmp
import hashlib
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import time

TREE = os.path.abspath(os.environ.get("MUTANTS_TREE", os.path.join(os.environ.get("BUILD", "build"), "mutants")))
AREAS = {
    "model": ["model/src"],
    "strategies": ["model/strategies", "model/algorithms"],
    "fit": ["model/fit"],
    "traces": ["model/traces"],
    "impl": ["impl"],
    "calibrate": ["calibrate"],
    "validate": ["validate"],
    "parallel": ["parallel"],
}
PROGRAMS = ["build/portolan", "unit-programs"]
MPI_PROGRAMS = ["build/portolan-calibrate", "build/portolan-validate", "build/libportolan-exec.a"] + [
    f"build/tests/{name}" for name in ("test_exec", "test_open", "test_reference", "test_patterns", "test_benches", "test_cases",
                                       "test_sizes", "test_fits", "test_measure", "test_powers", "test_start", "test_parallel",
                                       "test_guard", "test_host_device", "test_rounds", "test_seldom", "test_late", "test_stale",
                                       "test_resources", "test_streams", "test_register", "test_memory", "test_nccl", "test_counters",
                                       "test_meter", "example_allreduce", "fake/librapl.so", "fake/libnccl.so.2",
                                       "fake_nvml/libnvidia-ml.so.1", "fake_cuda/libcuda.so.1")]
MPIRUN = "mpirun --oversubscribe --mca mpi_yield_when_idle 1"
# Those of tests/mpi/test_judges.sh, one by one: the sanitizers can run those of one process.
JUDGES = [f"build/tests/test_{name}" for name in ("reference", "patterns", "cases", "benches", "sizes", "fits", "measure", "powers",
                                                  "host_device")]
JUDGES += [f"{MPIRUN} -n 2 build/tests/test_{name}" for name in ("benches", "measure", "powers")]
JUDGES += [f"{MPIRUN} -n 3 build/tests/test_start{what}" for what in ("", " one")] + [f"{MPIRUN} -n 3 build/tests/test_parallel"]
# Of areas that run under MPI, in addition to the unit tests.
MPI_TESTS = {
    "impl": [f"{MPIRUN} -n 5 build/tests/test_exec cases 150 1", f"{MPIRUN} -n 4 build/tests/test_exec repeats 50 1",
             f"{MPIRUN} -n 3 build/tests/test_exec lanes 1 1", f"{MPIRUN} -n 3 build/tests/test_exec rings 2 1",
             f"{MPIRUN} -n 4 build/tests/test_exec types 1 1", f"{MPIRUN} -n 4 build/tests/test_exec repeats:gas_split 50 1",
             f"{MPIRUN} -n 3 build/tests/test_streams random 20 1", f"{MPIRUN} -n 2 build/tests/test_exec refusals",
             f"{MPIRUN} -n 3 build/tests/test_open", f"{MPIRUN} -n 2 build/tests/test_resources exhausted",
             f"{MPIRUN} -n 2 build/tests/test_resources creations 10", f"{MPIRUN} -n 2 build/tests/test_resources rebinds 300",
             f"{MPIRUN} -n 3 build/tests/test_register", "tests/mpi/test_rounds.sh",
             "RUNS=50 tests/mpi/test_stale.sh", "tests/mpi/test_nccl.sh",
             "SEED=1 CASES=200 REPEATS=50 tests/mpi/test_exec.sh"] + JUDGES,
    "calibrate": ["tests/mpi/test_topology.sh", "tests/mpi/test_calibrate_rows.sh",
                  "tests/cluster/test_calibrate_rows.sh", "tests/mpi/test_calibrate.sh", "tests/mpi/test_nccl.sh",
                  "tests/mpi/test_host_data.sh"] + JUDGES,
    "validate": ["tests/mpi/test_validate.sh", "tests/mpi/test_validate_table.sh",
                 "tests/mpi/test_energy.sh", "tests/mpi/test_host_data.sh", "tests/mpi/test_counters.sh",
                 "tests/mpi/test_nccl.sh", "tests/mpi/test_faults.sh"] + JUDGES,
    "parallel": ["tests/mpi/test_guard.sh", "tests/mpi/test_calibrate.sh", "tests/mpi/test_validate.sh",
                 "tests/mpi/test_host_data.sh", "tests/mpi/test_faults.sh", "tests/mpi/test_counters.sh"] + JUDGES,
}
GOLDENS_AT_ONCE = 8
# Half a minute each, of nearly all lines: only with MUTANTS_SLOW=1, for what survives all others.
SLOW = ["test_prices_unchanged", "test_price", "test_param_effects", "test_simulate_price", "test_tape"]
SWAPS = [("<=", "<"), (">=", ">"), (" < ", " <= "), (" > ", " >= "), ("==", "!="), ("!=", "=="), ("&&", "||"), ("||", "&&"),
         (" + ", " - "), (" - ", " + "), (" * ", " + "), ("true", "false"), ("false", "true"), ("++", "--"),
         ("(!", "("), (" 0;", " 1;"), (" 1;", " 2;"), ("[0]", "[1]")]
# A mutant that takes this much longer than the code hangs.
SLOWER, LEAST_S, SLOW_S = 5, 10, 200
# A test under MPI that takes longer is one of the slow ones.
SLOW_MPI_S = 60
# The sanitizers make each test ten times as long.
SANITIZED_TESTS = 6
MEMORY_BYTES = 4 << 30


class Test:
    """A name, what makes it (targets), how to run it, and how long that takes."""

    def __init__(self, name, targets, command):
        self.name, self.targets, self.command = name, targets, command
        self.seconds, self.is_mpi = 0.0, "mpirun" in command or "tests/mpi" in command or "tests/cluster" in command


def files_of(*folders):
    return subprocess.check_output(["git", "ls-files", *folders], text=True).splitlines()


def copy_tree(tree):
    """The sources that differ, and none that is gone. Their times are those of the copy, so that what was made of a mutant is
    made anew."""
    known = set(files_of())
    for folder, folders, names in os.walk(tree):
        folders[:] = [name for name in folders if os.path.join(folder, name) != os.path.join(tree, "build")]
        for path in (os.path.join(folder, name) for name in names):
            if os.path.relpath(path, tree) not in known:
                os.remove(path)
    for path in known:
        target = os.path.join(tree, path)
        if os.path.exists(path) and not (os.path.exists(target) and filecmp.cmp(path, target, shallow=False)):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copyfile(path, target)
            shutil.copymode(path, target)


def run_shell(command, tree, cpu_s, seconds, is_mpi=False, log=subprocess.DEVNULL):
    """Whether a shell command succeeds in time. log: the file that gets what it prints."""
    env = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "TEST_SAMPLE": "29",
           "BUILD": "build", "PYTHONDONTWRITEBYTECODE": "1",
           "LSAN_OPTIONS": "suppressions=tests/mpi/leaks.supp:print_suppressions=0",
           "ASAN_OPTIONS": "intercept_tls_get_addr=0:fast_unwind_on_malloc=0"}
    env.pop("MAKEFLAGS", None)

    def limits():
        if not is_mpi:
            resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    with subprocess.Popen(["bash", "-c", command], cwd=tree, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                          start_new_session=True, preexec_fn=limits) as process:
        try:
            return process.wait(timeout=seconds) == 0
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait()
            return False


def make(tree, *targets):
    return run_shell(f"make {FLAGS[tree]} {' '.join(targets)}", tree, 3600, 3600)


def programs_of(area):
    return PROGRAMS + (MPI_PROGRAMS if area in MPI_TESTS else [])


def golden_command(names):
    """Like tests/golden in tools/test.sh."""
    one = ('diff -q <(PATH="$PWD/build:$PATH" bash -c "$(cat tests/golden/{0}.cmd)" 2>&1 || echo "exit: $?")'
           " tests/golden/{0}.out >/dev/null")
    return " && ".join(one.format(name) for name in names)


def all_tests(area):
    tests = [Test(name, [f"build/tests/{name}"], f"build/tests/{name}")
             for name in sorted(os.path.splitext(os.path.basename(path))[0] for path in files_of("tests/unit"))
             if name.startswith("test_")]
    # test_docs_examples and test_accuracy read more than code; deps-check tells what is installed.
    names = [os.path.basename(path)[:-4] for path in files_of("tests/golden") if path.endswith(".cmd") and "deps" not in path]
    for at in range(0, len(names), GOLDENS_AT_ONCE):
        group = names[at : at + GOLDENS_AT_ONCE]
        tests.append(Test("golden " + " ".join(group), ["build/portolan"], golden_command(group)))
    tests.append(Test("oracle", ["build/portolan"], "python3 tests/oracle/compare.py build/portolan 100 1"))
    if area in MPI_TESTS:
        tests += [Test(command, [command] if command in JUDGES and " " not in command else MPI_PROGRAMS, command)
                  for command in MPI_TESTS[area]]
    return tests


def covered_lines(tree, folders):
    """The lines of the folders that the runs since the last call have executed, by file; forgets them."""
    made = [folder for folder in (f"build/obj/{folder}" for folder in folders) if os.path.isdir(os.path.join(tree, folder))]
    data = subprocess.check_output(["find", *made, "-name", "*.gcda"], cwd=tree, text=True).split() if made else []
    lines = {}
    if data:
        text = subprocess.run(["gcov", "--json-format", "--stdout", *data], cwd=tree, capture_output=True, text=True,
                              check=False).stdout
        for report in text.splitlines():
            for file in json.loads(report)["files"] if report.startswith("{") else []:
                hit = [line["line_number"] for line in file["lines"] if line["count"] > 0]
                if hit:
                    lines.setdefault(file["file"], set()).update(hit)
    subprocess.check_call(["find", "build/obj", "-name", "*.gcda", "-delete"], cwd=tree)
    return lines


def digest_of(paths):
    digest = hashlib.sha256()
    for path in paths:
        if path.endswith((".c", ".h", ".cc", ".cuh", ".cmd", ".sh", ".py", ".yaml", ".csv")) and os.path.exists(path):
            with open(path, "rb") as file:
                digest.update(path.encode() + file.read())
    return digest.hexdigest()


def sources_of(test):
    """The files of which a test is made, without the code that it tests."""
    if test.is_mpi or test.name == "oracle":
        return files_of("tests/mpi", "tests/cluster", "tests/oracle", "tests/fixtures")
    if test.name.startswith("golden "):
        return [f"tests/golden/{name}.cmd" for name in test.name.split()[1:]]
    return [path for path in files_of("tests/unit") if path.endswith(".h") or os.path.basename(path).startswith(test.name + ".")]


def measure_coverage(area, tests, tree):
    """For each test, the lines of all areas that it executes: {test: {file: [line]}}. Kept until the code or this test
    changes."""
    keep = os.environ.get("MUTANTS_KEEP_COVERAGE")
    folders = sum(AREAS.values(), [])
    code = digest_of(path for path in files_of() if not path.startswith(("tests/", "tools/")))
    kept = os.path.join(TREE, "coverage.json")
    known = {}
    if os.path.exists(kept):
        with open(kept, encoding="utf-8") as file:
            known = json.load(file)
    digests = {test.name: code + digest_of(sources_of(test)) for test in tests if test.name not in SLOW}
    stale = {name for name, digest in digests.items() if name not in known or (known[name]["digest"] != digest and not keep)}
    if stale:
        copy_tree(tree)
        assert make(tree, *programs_of(area)), f"{tree}: cannot be built"
        covered_lines(tree, folders)
    for test in tests:
        if test.name in stale:
            began = time.monotonic()
            passed = run_shell(test.command, tree, 1200, 1200, test.is_mpi)
            hit = {path: sorted(found) for path, found in covered_lines(tree, folders).items()}
            known[test.name] = {"digest": digests[test.name], "seconds": time.monotonic() - began, "lines": hit if passed else {}}
            if not passed:
                print(f"not used, since it fails without a mutant: {test.name}", flush=True)
            with open(kept + ".new", "w", encoding="utf-8") as file:
                json.dump(known, file)
            os.replace(kept + ".new", kept)
        test.seconds = known[test.name]["seconds"] if test.name in known else 0.0
    return {name: known[name]["lines"] for name in digests}


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


def places(paths):
    """Everything that can be changed: (path, line, column, old, new)."""
    found = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            text = file.read().split("\n")
        for number in code_lines(text):
            for old, new in SWAPS:
                found += [(path, number, match.start(), old, new) for match in re.finditer(re.escape(old), text[number])]
    return found


def write_mutant(place, tree):
    """Returns what it is, in words."""
    path, number, column, old, new = place
    with open(path, encoding="utf-8") as file:
        text = file.read().split("\n")
    line = text[number]
    text[number] = line[:column] + new + line[column + len(old) :]
    with open(os.path.join(tree, path), "w", encoding="utf-8") as file:
        file.write("\n".join(text))
    return f"{path}:{number + 1}: {line.strip()}  ->  {text[number].strip()}"


def object_code(tree, path):
    """None where it does not compile."""
    made = f"build/obj/{os.path.splitext(path)[0]}.o"
    if not make(tree, made):
        return None
    sections = subprocess.run(["objdump", "-s", "-d", "-r", made], cwd=tree, capture_output=True, check=True).stdout
    return sections


def limit_s(test):
    """Of CPU time; a busy machine may take several times as long."""
    return SLOW_S if test.name in SLOW else int(LEAST_S + SLOWER * test.seconds)


def fate(place, original, tests, lines, tree):
    path, number = place[0], place[1]
    code = object_code(tree, path)
    if code is None:
        return "no code"
    if code == original:
        return "same code"
    near = os.path.splitext(os.path.basename(path))[0]
    # A statement may be noted on its first or last line only.
    wanted = set(range(number - 1, number + 4))
    executed = {test.name: lines.get(test.name, {}).get(path, ()) for test in tests}
    covering = [test for test in tests if number + 1 in executed[test.name]]
    covering = covering or [test for test in tests if wanted & set(executed[test.name])]
    covering.sort(key=lambda test: test.seconds * (0.2 if near in test.name else 1))
    # gcov has no counts for data, nor for the bodies of macros and of OpenMP's loops.
    if is_data(path, number) or not covering:
        covering = [test for test in tests if executed[test.name]]
        covering.sort(key=lambda test: test.seconds * (0.2 if near in test.name or test.name == "test_plan" else 1))
    if not os.environ.get("MUTANTS_SLOW"):
        covering = [test for test in covering if not test.is_mpi or test.seconds < SLOW_MPI_S]
    elif path.startswith(("model/src", "model/strategies", "model/algorithms")):
        covering = covering + [test for name in SLOW for test in tests if test.name == name]
    return run_tests(covering, tree) if covering else "SURVIVED, not executed"


def fate_sanitized(place, tests, lines, tree):
    """None where the unit tests that execute the line pass under the sanitizers."""
    path, number = place[0], place[1]
    wanted = set(range(number - 1, number + 4))
    alone = [test for test in tests if test.targets[0].startswith("build/tests/") and not test.is_mpi]
    executed = {test.name: set(lines.get(test.name, {}).get(path, ())) for test in alone}
    covering = [test for test in alone if wanted & executed[test.name]] or [test for test in alone if executed[test.name]]
    covering = sorted(covering, key=lambda test: test.seconds)[:SANITIZED_TESTS]
    targets = sorted({target for test in covering for target in test.targets})
    if not covering or not make(tree, *targets):
        return None
    passing = [test for test in covering if test.name in SANITIZED or run_sanitized(test, tree)]
    SANITIZED.update(test.name for test in passing)
    write_mutant(place, tree)
    killer = next((test for test in passing if make(tree, *test.targets) and not run_sanitized(test, tree)), None)
    shutil.copyfile(path, os.path.join(tree, path))
    return killer and f"killed by {killer.name} under sanitizers"


def run_sanitized(test, tree):
    return run_shell(test.command, tree, 20 * limit_s(test), 60 * limit_s(test), is_mpi=True)


def is_data(path, number):
    """Whether the line is a member of a table or of an enum, for which gcov has no count."""
    with open(path, encoding="utf-8") as file:
        text = file.read().split("\n")

    def indent(line):
        return len(line) - len(line.lstrip())

    at, outer = number, text[number]
    while at > 0 and (at == number or outer.strip().startswith(("{", "."))):
        while at > 0 and (not text[at].strip() or indent(text[at]) >= indent(outer)):
            at -= 1
        outer = text[at]
    return " = {" in outer or "enum {" in outer


def passes(test, tree):
    """Tests under MPI have time limits of their own, which a busy machine can miss: only what fails twice is a kill."""
    if not test.is_mpi:
        return run_shell(test.command, tree, limit_s(test), 6 * limit_s(test))
    began = time.monotonic()
    passed = run_shell(test.command, tree, 0, limit_s(test), is_mpi=True)
    return passed or (time.monotonic() - began < limit_s(test) and run_shell(test.command, tree, 0, limit_s(test), is_mpi=True))


def run_tests(covering, tree):
    for at in range(0, len(covering), 4):
        group = covering[at : at + 4]
        if not make(tree, *sorted({target for test in group for target in test.targets})):
            return "killed by the linker"
        for test in group:
            if not passes(test, tree):
                LAST["killer"] = test
                return f"killed by {test.name[:60]}"
    return f"SURVIVED {len(covering)} tests"


FLAGS = {}
LAST = {}  # "killer": of the last mutant that a test has killed
TRUSTED = set()  # tests that have killed a mutant and pass without one
SANITIZED = set()  # tests that pass under the sanitizers without a mutant


def fate_trusted(place, tests, lines, tree):
    """A test that kills is no judge if it fails without the mutant, too, or fails now and then."""
    path = place[0]
    while True:
        original = object_code(tree, path)
        what = write_mutant(place, tree)
        outcome = fate(place, original, tests, lines, tree)
        shutil.copyfile(path, os.path.join(tree, path))  # newer than its object
        killer = LAST.pop("killer", None)
        if killer is None or killer.name in TRUSTED:
            return outcome, what
        if make(tree, *killer.targets) and passes(killer, tree):
            TRUSTED.add(killer.name)
            return outcome, what
        print(f"not used, since it fails without a mutant: {killer.name}", flush=True)
        tests.remove(killer)


def main():
    area, count = sys.argv[1], int(sys.argv[2])
    rng = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else None)
    measured, broken, sanitized = (os.path.join(TREE, name) for name in ("measured", "broken", "sanitized"))
    FLAGS[measured] = "BUILD=build NVCC=none CFLAGS=-O0 EXTRA=--coverage"
    FLAGS[broken] = "BUILD=build NVCC=none CFLAGS=-O1"
    FLAGS[sanitized] = ("BUILD=build NVCC=none CC=clang OMPI_CC=clang MPICH_CC=clang CFLAGS='-O1 -g' LDFLAGS=-fuse-ld=lld"
                        " EXTRA='-fsanitize=address,undefined -fno-sanitize-recover=all -Wno-error'")
    tests = all_tests(area)
    os.makedirs(TREE, exist_ok=True)
    lines = measure_coverage(area, tests, measured)
    copy_tree(broken)
    if os.environ.get("MUTANTS_SANITIZED"):
        copy_tree(sanitized)
    assert make(broken, *programs_of(area)), f"{broken}: cannot be built"
    choice = places([path for path in files_of(*AREAS[area]) if path.endswith(".c")])
    print(f"{area}: {len(choice)} places", flush=True)
    rng.shuffle(choice)
    killed = survived = 0
    while killed + survived < count and choice:
        place, began = choice.pop(), time.monotonic()
        outcome, what = fate_trusted(place, tests, lines, broken)
        if outcome.startswith("SURVIVED") and os.environ.get("MUTANTS_SANITIZED"):
            outcome = fate_sanitized(place, tests, lines, sanitized) or outcome
        killed += outcome.startswith("killed")
        survived += outcome.startswith("SURVIVED")
        print(f"{outcome}: {what} ({time.monotonic() - began:.0f} s)", flush=True)
    print(f"{killed + survived} mutants: {killed} killed ({100 * killed // max(1, killed + survived)} percent), {survived} survived")


if __name__ == "__main__":
    main()

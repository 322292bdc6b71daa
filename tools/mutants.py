#!/usr/bin/env python3
"""mutants.py AREA COUNT [SEED]: break COUNT random places of an area's code, each alone, and run the tests that
execute the changed line. A mutant that every test passes has survived: a test is missing, or the change does not matter.

Works on copies of the tree, below MUTANTS_TREE (BUILD/mutants): one is compiled with gcov and tells which tests execute
which lines, the others run the mutants, JOBS at a time (the number of CPUs). Prints each mutant and where it was killed, in
the order drawn, and ends with "N mutants: K killed (P percent), S survived". Mutants that do not compile, or compile to the
same code, are not counted. A line that no test executes is judged by the tests that execute its file. Areas: model,
strategies, fit, traces, impl, calibrate, validate, parallel (what the last two share).

MUTANTS_SECONDS=N begins no mutant after N seconds, and Ctrl-C begins no more. Those that have begun are finished and
counted: to cut off the slow ones would favour kills, which are quick. MUTANTS_ONLY=PATH:LINE,... judges only those of the
seed's mutants, to see whether a new test kills them. MUTANTS_KEEP_COVERAGE=1 takes the coverage that was measured before,
however old. MUTANTS_SLOW=1 runs the slow tests, too, for what survives all others, and MUTANTS_SANITIZED=1 the unit tests
under the sanitizers, as `make sanitize` does, in another copy of the tree: they notice what is read beyond an array's end.
"""

import concurrent.futures
import filecmp
import hashlib
import json
import os
import pathlib
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
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
# Areas whose code is in libraries, to which the tests are linked when they start: a mutant needs one link, not one for each
# test. The executor is in an archive, too, for the programs.
LIBRARIES = ["build/libportolan.a", "build/libportolan-fit.a", "build/libportolan-traces.a", "build/tests/libportolan-internal.so"]
LIBRARY_AREAS = ["model", "strategies", "fit", "traces"]
EXECUTORS = ["build/libportolan-exec-mpi.a", "build/tests/libportolan-exec-internal.so"]
SHARED_AR = ("$(if $(findstring -exec,$@),ar,"
             "$(CC) $(OPENMP) $(EXTRA) -shared -Wl$(comma)-soname$(comma)$(@F) $(LDFLAGS) -o $@ $^ $(hash))")
SHARED_LDFLAGS = ("-fuse-ld=lld " if shutil.which("ld.lld") else "") + "-Wl,--no-as-needed,-rpath,'$$ORIGIN:$$ORIGIN/..'"
SHARED = ["BUILD=build", "NVCC=none", "VISIBILITY=", f"AR={SHARED_AR}", f"LDFLAGS={SHARED_LDFLAGS}"]
PROGRAMS = ["build/portolan", "unit-programs"]
MPI_PROGRAMS = ["build/portolan-calibrate", "build/portolan-validate", "build/libportolan-exec-mpi.a"] + [
    f"build/tests/{name}" for name in ("test_exec", "test_open", "test_reference", "test_patterns",
                                       "test_members", "test_engine", "test_job", "test_nvml", "test_cases", "test_statistics", "test_sizes", "test_fits",
                                       "test_measure", "test_report", "test_powers",
                                       "test_start", "test_parallel", "test_guard", "test_host_device", "test_rounds", "test_seldom", "test_late",
                                       "test_left", "test_stale", "test_resources", "test_streams", "test_register", "test_memory", "test_nccl",
                                       "test_counters", "test_meter", "example_allreduce", "fake/librapl.so", "fake/libnccl.so.2",
                                       "fake_nvml/libnvidia-ml.so.1", "fake_cuda/libcuda.so.1")]
MPIRUN = "mpirun --oversubscribe --mca mpi_yield_when_idle 1"
# Those of tests/mpi/test_judges.sh, one by one: the sanitizers can run those of one process.
JUDGES = [f"build/tests/test_{name}" for name in ("reference", "patterns", "cases", "statistics", "members", "sizes", "fits",
                                                  "measure", "report", "powers", "host_device", "nvml")]
JUDGES += [f"{MPIRUN} -n 2 build/tests/test_{name}" for name in ("measure", "powers")]
JUDGES += [f"{MPIRUN} -n 4 build/tests/test_members", f"{MPIRUN} -n 3 build/tests/test_engine"]
JUDGES += [f"{MPIRUN} -n 5 build/tests/test_job"]
JUDGES += [f"{MPIRUN} -n 3 build/tests/test_start{what}" for what in ("", " one")] + [f"{MPIRUN} -n 3 build/tests/test_parallel"]
# Of areas that run under MPI, in addition to the unit tests. Not test_host_data.sh, which fits what it measures: a busy machine
# makes it fail more than twice.
MPI_TESTS = {
    "impl": [f"{MPIRUN} -n 5 build/tests/test_exec cases 150 1", f"{MPIRUN} -n 4 build/tests/test_exec repeats 50 1",
             f"{MPIRUN} -n 3 build/tests/test_exec lanes 1 1", f"{MPIRUN} -n 3 build/tests/test_exec rings 2 1",
             f"{MPIRUN} -n 4 build/tests/test_exec types 1 1", f"{MPIRUN} -n 4 build/tests/test_exec repeats:gas_split 50 1",
             f"{MPIRUN} -n 3 build/tests/test_streams random 20 1", f"{MPIRUN} -n 2 build/tests/test_exec refusals",
             f"{MPIRUN} -n 3 build/tests/test_open", f"{MPIRUN} -n 2 build/tests/test_resources exhausted",
             f"{MPIRUN} -n 2 build/tests/test_resources creations 10", f"{MPIRUN} -n 2 build/tests/test_resources rebinds 300",
             f"{MPIRUN} -n 3 build/tests/test_register", "tests/mpi/test_rounds.sh",
             "RUNS=50 tests/mpi/test_stale.sh", "tests/mpi/test_nccl.sh", "tests/mpi/test_nccl_windows.sh",
             "SEED=1 CASES=200 REPEATS=50 tests/mpi/test_exec.sh"] + JUDGES,
    "calibrate": ["tests/mpi/test_topology.sh", "tests/mpi/test_calibrate_rows.sh",
                  "tests/cluster/test_calibrate_rows.sh", "tests/mpi/test_calibrate.sh", "tests/mpi/test_nccl_programs.sh",
                  "tests/mpi/test_calibrate_usage.sh", "tests/mpi/test_calibrate_choice.sh", "tests/mpi/test_calibrate_gpus.sh"] + JUDGES,
    "validate": ["tests/mpi/test_validate.sh", "tests/mpi/test_validate_table.sh",
                 "tests/mpi/test_energy.sh", "tests/mpi/test_counters.sh",
                 "tests/mpi/test_nccl_programs.sh", "tests/mpi/test_faults.sh"] + JUDGES,
    "parallel": ["tests/mpi/test_guard.sh", "tests/mpi/test_calibrate.sh", "tests/mpi/test_calibrate_usage.sh", "tests/mpi/test_validate.sh",
                 "tests/mpi/test_faults.sh", "tests/mpi/test_counters.sh"] + JUDGES,
}
GOLDENS_AT_ONCE = 8
# Up to half a minute each, of nearly all lines: only with MUTANTS_SLOW=1, for what survives all others.
SLOW = ["test_price", "test_param_effects", "golden widths"]
SWAPS = [("<=", "<"), (">=", ">"), (" < ", " <= "), (" > ", " >= "), ("==", "!="), ("!=", "=="), ("&&", "||"), ("||", "&&"),
         (" + ", " - "), (" - ", " + "), (" * ", " + "), ("true", "false"), ("false", "true"), ("++", "--"),
         ("(!", "("), (" 0;", " 1;"), (" 1;", " 2;"), ("[0]", "[1]")]
# A mutant that takes this much longer than the code hangs. The code was measured without optimization, with counts; tests
# under MPI mostly wait, and are measured by the clock.
SLOWER, LEAST_S, SLOW_S = 2, 5, 200
SLOWER_MPI, LEAST_MPI_S = 5, 10
# A test under MPI that takes longer is one of the slow ones; it judges what no other test executes, too.
SLOW_MPI_S = 75
# The sanitizers make each test ten times as long.
SANITIZED_TESTS = 6
MEMORY_KIB = 4 << 20


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


def run_shell(command, tree, cpu_s, seconds, is_mpi=False, log=subprocess.DEVNULL, **variables):
    """Whether a shell command succeeds in time, and its CPU time. log: the file that gets what it prints."""
    env = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "TEST_SAMPLE": "29",
           "BUILD": "build", "PYTHONDONTWRITEBYTECODE": "1",
           "LSAN_OPTIONS": "suppressions=tests/mpi/leaks.supp:print_suppressions=0",
           "ASAN_OPTIONS": "intercept_tls_get_addr=0:fast_unwind_on_malloc=0", **variables}
    env.pop("MAKEFLAGS", None)
    limits = "ulimit -c 0" + ("" if is_mpi else f" -t {cpu_s} -v {MEMORY_KIB}")
    with subprocess.Popen(["bash", "-c", f"{limits}\n{command}"], cwd=tree, env=env, stdin=subprocess.DEVNULL,
                          stdout=log, stderr=log, start_new_session=True) as process:
        timer = threading.Timer(seconds, os.killpg, (process.pid, signal.SIGKILL))
        timer.start()
        status, used = os.wait4(process.pid, 0)[1:]
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode == 0, used.ru_utime + used.ru_stime


def make(tree, *targets):
    return run_shell(f"make -j{JOBS} {FLAGS[tree]} {' '.join(targets)}", tree, 3600, 3600)[0]


def make_commands(tree, path, *targets):
    """What make would do after a change of the file: make itself takes a second to start."""
    command = f"make -n V=1 {FLAGS[tree]} -W {path} {' '.join(targets)}"
    env = {name: value for name, value in os.environ.items() if name != "MAKEFLAGS"}
    text = subprocess.check_output(["bash", "-c", command], cwd=tree, env=env, text=True)
    return [line for line in text.splitlines() if not line.startswith("make")]


def link_commands(tree, targets):
    """To link each target; and, by the name of a library, to build that. As in make_commands, without make's own second."""
    command = f"make -n -B V=1 {FLAGS[tree]} {' '.join(targets)}"
    env = {name: value for name, value in os.environ.items() if name != "MAKEFLAGS"}
    text = subprocess.check_output(["bash", "-c", command], cwd=tree, env=env, text=True)
    lines = re.sub(r"\\\n\s*", " ", text).splitlines()
    found = {line.split(" -o ")[-1].strip(): line for line in lines if " -o " in line and " -c " not in line}
    return found | {line.split()[2]: line for line in lines if line.startswith("rm -f ") and ".a && " in line}


def programs_of(area):
    return PROGRAMS + (MPI_PROGRAMS if area in MPI_TESTS else [])


def golden_command(names):
    """Like tests/golden in tools/test.sh."""
    one = ('diff -q <( (PATH="$PWD/build:$PATH" bash -c "$(cat tests/golden/{0}.cmd)" 2>&1 || echo "exit: $?")'
           ' | sed -E -f tests/golden/placeholders.sed)'
           " tests/golden/{0}.out >/dev/null")
    return " && ".join(one.format(name) for name in names)


def all_tests(area):
    tests = [Test(name, [f"build/tests/{name}"], f"build/tests/{name}")
             for name in sorted(os.path.splitext(os.path.basename(path))[0] for path in files_of("tests/unit"))
             if name.startswith("test_")]
    # test_docs_examples reads more than code; deps-check tells what is installed, mutants-harness tests this,
    # and python-* need the shared library.
    names = [os.path.basename(path)[:-4] for path in files_of("tests/golden")
             if path.endswith(".cmd") and not any(word in path for word in ("deps", "mutants", "python-"))]
    alone = [name for name in names if f"golden {name}" in SLOW]
    names = [name for name in names if name not in alone]
    for group in [names[at : at + GOLDENS_AT_ONCE] for at in range(0, len(names), GOLDENS_AT_ONCE)] + [[name] for name in alone]:
        tests.append(Test("golden " + " ".join(group), ["build/portolan"], golden_command(group)))
    tests.append(Test("oracle", ["build/portolan"], "python3 tests/oracle/compare.py build/portolan 100 1"))
    if area in MPI_TESTS:
        tests += [Test(command, mpi_targets(command), command) for command in MPI_TESTS[area]]
    return tests


def mpi_targets(command):
    """What a command of MPI_TESTS runs: programs that it, or the script that it is, names."""
    script = next((word for word in command.split() if word.endswith(".sh")), None)
    text = pathlib.Path(script).read_text(encoding="utf-8") if script else command
    return [target for target in MPI_PROGRAMS if os.path.basename(target) in text]


def covered_lines(tree, at):
    """The lines of all areas for which the folder has counts, by file; forgets them."""
    data = subprocess.check_output(["find", at, "-name", "*.gcda"], text=True).split()
    lines = {}
    if data:
        text = subprocess.run(["gcov", "--json-format", "--stdout", *data], cwd=tree, capture_output=True, text=True,
                              check=False).stdout
        for report in text.splitlines():
            for file in json.loads(report)["files"] if report.startswith("{") else []:
                hit = [line["line_number"] for line in file["lines"] if line["count"] > 0]
                if hit:
                    lines.setdefault(file["file"], set()).update(hit)
    for path in data:
        os.remove(path)
    return {path: sorted(found) for path, found in lines.items()}


def room_for_counts(tree, worker):
    """A folder in which a run leaves its counts, so that several tests can run at a time. gcov wants its notes there."""
    room = os.path.join(TREE, f"counts-{worker}")
    shutil.rmtree(room, ignore_errors=True)
    for folder in ("build/obj/" + folder for folder in sum(AREAS.values(), [])):
        notes = os.path.join(tree, folder)
        for path in map(str, pathlib.Path(notes).rglob("*.gcno")):
            link = os.path.join(room, os.path.relpath(path, tree))
            os.makedirs(os.path.dirname(link), exist_ok=True)
            os.symlink(path, link)
    return room


def executed_by(test, tree, room):
    """The lines that a test executes, and its CPU time."""
    strip = str(len(os.path.realpath(tree).strip("/").split("/")))
    began = time.monotonic()
    passed, seconds = run_shell(test.command, tree, 1200, 1200, test.is_mpi, GCOV_PREFIX=room, GCOV_PREFIX_STRIP=strip)
    seconds = time.monotonic() - began if test.is_mpi else seconds
    hit = covered_lines(tree, os.path.join(room, "build/obj"))
    if not passed:
        print(f"not used, since it fails without a mutant: {test.name}", flush=True)
    return hit if passed else {}, seconds


def in_parallel(jobs, work):
    """Calls work(worker) in so many threads; raises what one of them has raised."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for result in [pool.submit(work, worker) for worker in range(jobs)]:
            result.result()


def digest_of(paths):
    digest = hashlib.sha256()
    for path in paths:
        if path.endswith((".c", ".h", ".cc", ".cuh", ".cmd", ".sh", ".py", ".yaml", ".csv")) and os.path.exists(path):
            with open(path, "rb") as file:
                digest.update(path.encode() + file.read())
    return digest.hexdigest()


def sources_of(test):
    """The files of which a test is made, without the code that it tests."""
    if test.is_mpi or test.name == "oracle" or test.name in JUDGES:
        words = set(re.findall(r"\w+", test.name + " ".join(test.targets)))
        return [path for path in files_of("tests/mpi", "tests/cluster", "tests/oracle", "tests/fixtures")
                if not os.path.basename(path).startswith("test_") or os.path.splitext(os.path.basename(path))[0] in words]
    if test.name.startswith("golden "):
        return [f"tests/golden/{name}.cmd" for name in test.name.split()[1:]]
    return [path for path in files_of("tests") if os.path.dirname(path) in ("tests", "tests/unit")
            and (path.endswith(".h") or os.path.basename(path).startswith(test.name + "."))]


def symbols(paths, *options):
    text = subprocess.run(["nm", *options, *paths], capture_output=True, text=True, check=False).stdout if paths else ""
    return {line.split()[-1] for line in text.splitlines() if line and not line.endswith(":")}


def reaches(tree, test, area):
    """Whether a test can execute code of an area under MPI, which nothing but tests and its own programs calls."""
    objects = pathlib.Path(tree, "build/obj")
    own = objects / "tests/unit" / f"{test.name}.o"
    if area not in MPI_TESTS or test.is_mpi or test.name in JUDGES:
        return True
    if not own.exists():  # a golden, the oracle, or C++
        return test.name + ".cc" in map(os.path.basename, files_of("tests/unit"))
    defined = symbols([path for folder in AREAS[area] for path in (objects / folder).glob("*.o")], "-g", "--defined-only")
    return bool(symbols([own], "-u") & defined)


def measure_coverage(area, tests, tree):
    """For each test, the lines of all areas that it executes: {test: {file: [line]}}; none for a test that cannot reach
    this area. Kept until the code or this test changes."""
    code = digest_of(path for path in files_of() if not path.startswith(("tests/", "tools/")))
    kept = os.path.join(TREE, "coverage.json")
    known = json.loads(pathlib.Path(kept).read_text(encoding="utf-8")) if os.path.exists(kept) else {}
    digests = {test.name: code + digest_of(sources_of(test)) for test in tests if test.name not in SLOW}
    kept_digests = digests if os.environ.get("MUTANTS_KEEP_COVERAGE") else {name: known[name]["digest"] for name in known}
    stale = {name for name, digest in digests.items() if name not in known or kept_digests[name] != digest}
    if stale:
        copy_tree(tree)
        assert make(tree, *programs_of(area)), f"{tree}: cannot be built"
    # The longest last known first.
    waiting = [test for test in tests if test.name in stale and reaches(tree, test, area)]
    waiting.sort(key=lambda test: known.get(test.name, {}).get("seconds", 0.0))
    lock = threading.Lock()

    def work(worker):
        room = room_for_counts(tree, worker) if waiting else None
        while True:
            with lock:
                test = waiting.pop() if waiting else None
            if test is None:
                return
            hit, seconds = executed_by(test, tree, room)
            with lock:
                known[test.name] = {"digest": digests[test.name], "seconds": seconds, "lines": hit}
                pathlib.Path(kept + ".new").write_text(json.dumps(known), encoding="utf-8")
                os.replace(kept + ".new", kept)

    # Tests under MPI take all processors.
    in_parallel(1 if area in MPI_TESTS else JOBS, work)
    for test in tests:
        test.seconds = known[test.name]["seconds"] if test.name in known else 0.0
    return {name: known[name]["lines"] for name in digests if name in known}


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
    text = pathlib.Path(path).read_text(encoding="utf-8").split("\n")
    line = text[number]
    text[number] = line[:column] + new + line[column + len(old) :]
    pathlib.Path(tree, path).write_text("\n".join(text), encoding="utf-8")
    return f"{path}:{number + 1}: {line.strip()}  ->  {text[number].strip()}"


def object_of(path):
    return f"build/obj/{os.path.splitext(path)[0]}.o"


def object_code(tree, path):
    return pathlib.Path(tree, object_of(path)).read_bytes()


def is_shared(tree, path):
    in_library = any(path.startswith(folder + "/") for area in LIBRARY_AREAS for folder in AREAS[area])
    return in_library and SHARED_AR in FLAGS[tree]


def build_commands(tree, path):
    """To compile a file, and to build its library."""
    key = FLAGS[tree], path
    if key not in COMMANDS:
        commands = make_commands(tree, path, object_of(path), *(LIBRARIES if is_shared(tree, path) else []))
        at = next(number for number, line in enumerate(commands) if f" -c {path} " in line)
        COMMANDS[key] = commands[at], "\n".join(["set -e"] + commands[at + 1 :])
    return COMMANDS[key]


def build_object(tree, path, more=""):
    """Whether it compiles."""
    return run_shell(f"{build_commands(tree, path)[0]} {more}", tree, 600, 600)[0]


def build_tests(tree, path, tests):
    """Whether the tests can be linked; those of a library are, once it is built."""
    if is_shared(tree, path):
        return True
    targets = sorted({target for test in tests for target in test.targets})
    if tree not in LINKS:
        return make(tree, *targets)
    parts = [object_of(path)]
    parts += [executor for executor in EXECUTORS if parts[0] in LINKS[tree].get(executor, "")]
    commands = [LINKS[tree][executor] for executor in parts[1:]]
    commands += [LINKS[tree][target] for target in targets
                 if any(part in LINKS[tree].get(target, "").split() for part in parts) and target not in EXECUTORS]
    return run_shell("set -e\n" + "\n".join(commands), tree, 600, 600)[0]


def build_library(tree, path):
    return not is_shared(tree, path) or run_shell(build_commands(tree, path)[1], tree, 600, 600)[0]


def restore(tree, path):
    """Takes the mutant back. Its source is newer than the mutant's object."""
    shutil.copyfile(path, os.path.join(tree, path))
    assert build_object(tree, path) and build_library(tree, path), f"{tree}: cannot be built"


def limit_s(test):
    """Of CPU time, but for MPI; a busy machine may take many times as long."""
    if test.is_mpi:
        return int(LEAST_MPI_S + SLOWER_MPI * test.seconds)
    return SLOW_S if test.name in SLOW else int(LEAST_S + SLOWER * test.seconds)


def in_order(tests, near):
    """Those first that kill most for the time that they take."""

    def cost(test):
        return test.seconds * (0.2 if any(name in test.name for name in near) else 1) / (1 + KILLS.get(test.name, 0))

    return sorted(tests, key=cost)


def covering_tests(place, tests, lines):
    path, number = place[0], place[1]
    tests = [test for test in tests if test.name not in DISTRUSTED]
    near = os.path.splitext(os.path.basename(path))[0]
    # A statement may be noted on its first or last line only.
    wanted = set(range(number - 1, number + 4))
    executed = {test.name: lines.get(test.name, {}).get(path, ()) for test in tests}
    covering = [test for test in tests if number + 1 in executed[test.name]]
    covering = in_order(covering or [test for test in tests if wanted & set(executed[test.name])], [near])
    # gcov has no counts for data, nor for the bodies of macros and of OpenMP's loops.
    if is_data(path, number) or not covering:
        covering = in_order([test for test in tests if executed[test.name]], [near, "test_plan"])
    if not os.environ.get("MUTANTS_SLOW"):
        return [test for test in covering if not test.is_mpi or test.seconds < SLOW_MPI_S] or covering
    if path.startswith(("model/src", "model/strategies", "model/algorithms")):
        return covering + [test for name in SLOW for test in tests if test.name == name]
    return covering


def fate(place, original, tests, lines, tree):
    """What becomes of the mutant, and its killer."""
    path = place[0]
    if not build_object(tree, path):
        return "no code", None
    if object_code(tree, path) == original:
        return "same code", None
    covering = covering_tests(place, tests, lines)
    if not covering:
        return "SURVIVED, not executed", None
    return run_tests(covering, path, tree) if build_library(tree, path) else ("killed by the linker", None)


def fate_sanitized(place, tests, lines, tree):
    """None where the unit tests that execute the line pass under the sanitizers."""
    path, number = place[0], place[1]
    wanted = set(range(number - 1, number + 4))
    alone = [test for test in tests if test.targets[0].startswith("build/tests/") and not test.is_mpi]
    executed = {test.name: set(lines.get(test.name, {}).get(path, ())) for test in alone}
    covering = [test for test in alone if wanted & executed[test.name]] or [test for test in alone if executed[test.name]]
    covering = sorted(covering, key=lambda test: test.seconds)[:SANITIZED_TESTS]
    if not covering or not make(tree, *sorted({target for test in covering for target in test.targets})):
        return None
    passing = [test for test in covering if test.name in SANITIZED or run_sanitized(test, tree)]
    SANITIZED.update(test.name for test in passing)
    write_mutant(place, tree)
    built = build_object(tree, path, "-Wno-error")
    killer = next((test for test in passing if built and build_tests(tree, path, [test]) and not run_sanitized(test, tree)), None)
    restore(tree, path)
    return killer and f"killed by {killer.name} under sanitizers"


def run_sanitized(test, tree):
    return run_shell(test.command, tree, 20 * limit_s(test), 60 * limit_s(test), is_mpi=True)[0]


def is_data(path, number):
    """Whether the line is a member of a table or of an enum, for which gcov has no count."""
    text = pathlib.Path(path).read_text(encoding="utf-8").split("\n")

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
        return run_shell(test.command, tree, limit_s(test), 60 + 30 * limit_s(test))[0]
    began = time.monotonic()
    passed = run_shell(test.command, tree, 0, limit_s(test), is_mpi=True)[0]
    return passed or (time.monotonic() - began < limit_s(test) and run_shell(test.command, tree, 0, limit_s(test), is_mpi=True)[0])


def run_tests(covering, path, tree):
    for at in range(0, len(covering), 4):
        group = covering[at : at + 4]
        if not build_tests(tree, path, group):
            return "killed by the linker", None
        for test in group:
            if not passes(test, tree):
                return f"killed by {test.name[:60]}", test
    return f"SURVIVED {len(covering)} tests", None


JOBS = int(os.environ.get("JOBS", os.cpu_count() or 1))
FLAGS = {}
COMMANDS = {}
LINKS = {}  # of a tree, where its areas' objects are not in shared libraries
KILLS = {}  # of a test
TRUSTED = set()  # tests that have killed a mutant and pass without one
DISTRUSTED = set()  # tests that have failed without one
SANITIZED = set()  # tests that pass under the sanitizers without a mutant


def fate_trusted(place, tests, lines, tree):
    """A test that kills is no judge if it fails without the mutant, too, or fails now and then."""
    path = place[0]
    while True:
        original = object_code(tree, path)
        what = write_mutant(place, tree)
        outcome, killer = fate(place, original, tests, lines, tree)
        restore(tree, path)
        if killer is None or killer.name in TRUSTED or (build_tests(tree, path, [killer]) and passes(killer, tree)):
            if killer is not None:
                TRUSTED.add(killer.name)
                KILLS[killer.name] = KILLS.get(killer.name, 0) + 1
            return outcome, what
        print(f"not used, since it fails without a mutant: {killer.name}", flush=True)
        DISTRUSTED.add(killer.name)


class Run:
    """Judges the first COUNT mutants of a list of places, and prints them in this order. judge(place, worker) returns a fate
    and words. Whatever has begun is finished, so that those judged are always the first of the list."""

    def __init__(self, choice, count, judge, seconds=float("inf")):
        self.choice, self.count, self.judge, self.end = choice, count, judge, time.monotonic() + seconds
        self.lock, self.stopped = threading.Condition(), False
        self.begun = self.running = self.killed = self.survived = self.printed = 0
        self.lines = {}

    def next_place(self):
        """None at the end. Mutants that turn out not to count are replaced."""
        with self.lock:
            while self.killed + self.survived + self.running >= self.count > self.killed + self.survived and not self.stopped:
                self.lock.wait(1)
            enough = self.killed + self.survived >= self.count or self.begun == len(self.choice)
            if enough or self.stopped or time.monotonic() > self.end:
                return None
            self.begun += 1
            self.running += 1
            return self.begun - 1

    def finish(self, at, outcome, line):
        with self.lock:
            self.running -= 1
            self.killed += outcome.startswith("killed")
            self.survived += outcome.startswith("SURVIVED")
            self.lines[at] = line
            while self.printed in self.lines:
                print(self.lines.pop(self.printed), flush=True)
                self.printed += 1
            self.lock.notify_all()

    def work(self, worker):
        while (at := self.next_place()) is not None:
            began = time.monotonic()
            outcome, what = self.judge(self.choice[at], worker)
            self.finish(at, outcome, f"{outcome}: {what} ({time.monotonic() - began:.0f} s)")

    def stop(self, *_):
        self.stopped = True


def draw(area, seed):
    """All places of an area's code, or those that MUTANTS_ONLY names, in random order."""
    choice = places([path for path in files_of(*AREAS[area]) if path.endswith(".c")])
    print(f"{area}: {len(choice)} places", flush=True)
    random.Random(seed).shuffle(choice)
    choice.reverse()  # the last was the first when places were popped: seeds keep their meaning
    only = os.environ.get("MUTANTS_ONLY")
    return [place for place in choice if f"{place[0]}:{place[1] + 1}" in only.split(",")] if only else choice


def prepare(area, tests):
    """The copies of the tree; returns those for mutants, the one with sanitizers, and the coverage of each test."""
    measured, sanitized = (os.path.join(TREE, name) for name in ("measured", "sanitized"))
    broken = [os.path.join(TREE, f"broken-{worker}") for worker in range(JOBS)]
    FLAGS[measured] = "BUILD=build NVCC=none CFLAGS=-O0 EXTRA=--coverage"
    FLAGS.update({tree: shlex.join(SHARED + ["CFLAGS=-O1"]) for tree in broken})
    FLAGS[sanitized] = ("BUILD=build NVCC=none CC=clang OMPI_CC=clang MPICH_CC=clang CFLAGS='-O1 -g1 -fno-omit-frame-pointer'"
                        " LDFLAGS=-fuse-ld=lld EXTRA='-fsanitize=address,undefined -fno-sanitize-recover=all'")
    os.makedirs(TREE, exist_ok=True)
    lines = measure_coverage(area, tests, measured)
    for tree in broken:
        copy_tree(tree)
        assert make(tree, *programs_of(area)), f"{tree}: cannot be built"
        if area in MPI_TESTS:
            LINKS[tree] = link_commands(tree, EXECUTORS + [target for test in tests for target in test.targets])
    if os.environ.get("MUTANTS_SANITIZED"):
        copy_tree(sanitized)
    return broken, sanitized, lines


def main():
    area, count = sys.argv[1], int(sys.argv[2])
    tests = all_tests(area)
    broken, sanitized, lines = prepare(area, tests)
    one_at_a_time = threading.Lock()

    def judge(place, worker):
        outcome, what = fate_trusted(place, tests, lines, broken[worker])
        if outcome.startswith("SURVIVED") and os.environ.get("MUTANTS_SANITIZED"):
            with one_at_a_time:
                outcome = fate_sanitized(place, tests, lines, sanitized) or outcome
        return outcome, what

    choice = draw(area, int(sys.argv[3]) if len(sys.argv) > 3 else None)
    run = Run(choice, count, judge, float(os.environ.get("MUTANTS_SECONDS", "inf")))
    signal.signal(signal.SIGINT, run.stop)
    in_parallel(JOBS, run.work)
    total = run.killed + run.survived
    print(f"{total} mutants: {run.killed} killed ({100 * run.killed // max(1, total)} percent), {run.survived} survived")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Whether tools/mutants.py finds the places that it should, and judges mutants rightly: on a file of a few lines, with
tests whose results are made up, and on a small library with a test that is compiled and run. Prints what is wrong."""

import contextlib
import importlib.util
import io
import os
import shlex
import tempfile
import threading

spec = importlib.util.spec_from_file_location("mutants", "tools/mutants.py")
mutants = importlib.util.module_from_spec(spec)
spec.loader.exec_module(mutants)
wrong = 0


def check(holds, what):
    global wrong
    if not holds:
        print(f"wrong: {what}")
        wrong += 1


SOURCE = """#include "a.h" /* not here: 1 < 2 */
enum {
    SIZES = 0,
    MOST
};
static const rule_t rules[] = {
    {.key = first,
     .required = true},
    {.key = second, .required = false},
};
/* Nor here:
    a == b
   */
int count(int n) {
    int more = 0;
    for (int i = 0; i < n; i++)
        more += i; /* a comment ends the line: 1 < 2 */
    say("nor in text: 1 < 2");
    return more == n &&
           n > 1;
}
"""


def check_places():
    with open("a.c", "w", encoding="utf-8") as file:
        file.write(SOURCE)
    lines = SOURCE.split("\n")
    found = mutants.places(["a.c"])
    check({lines[place[1]].strip() for place in found} ==
          {".required = true},", "{.key = second, .required = false},", "int more = 0;", "for (int i = 0; i < n; i++)",
           "return more == n &&", "n > 1;"}, "places are those of code and of tables")
    loop = [(place[3], place[4]) for place in found if "for (" in lines[place[1]]]
    check(sorted(loop) == [(" 0;", " 1;"), (" < ", " <= "), ("++", "--")], "a line has a place for each operator")
    os.mkdir("tree")
    for place in found:
        what = mutants.write_mutant(place, "tree")
        with open("tree/a.c", encoding="utf-8") as file:
            changed = [(old, new) for old, new in zip(lines, file.read().split("\n")) if old != new]
        check(len(changed) == 1 and changed[0][0].replace(place[3], place[4]) == changed[0][1] and "->" in what,
              f"a mutant differs in its place alone: {what}")
    data = {lines[place[1]].strip() for place in found if mutants.is_data("a.c", place[1])}
    check(data == {".required = true},", "{.key = second, .required = false},"}, "rows of tables, of one line or several, are data")


def check_copies():
    mutants.files_of = lambda *folders: ["a.c", "part/b.c"]
    for path in ("part/b.c", "copy/gone/c.c", "copy/a.c", "copy/build/c.o", "copy/part/build/d.c"):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(path)
    mutants.copy_tree("copy")
    copied = {os.path.join(folder, name) for folder, _, names in os.walk("copy") for name in names}
    check(copied == {"copy/a.c", "copy/part/b.c", "copy/build/c.o"}, "a copy has all sources, what was built, and nothing else")
    with open("a.c", encoding="utf-8") as one, open("copy/a.c", encoding="utf-8") as other:
        check(one.read() == other.read(), "what differs is copied again")


class Judged:
    """A world in which each test has a result of its own for code with the mutant, and for code without."""

    def __init__(self, with_mutant, without=None):
        self.with_mutant, self.without, self.asked = with_mutant, without or {}, []
        mutants.object_code = lambda tree, path: self.code()
        mutants.build_object = lambda tree, path: self.code() is not None
        mutants.build_library = mutants.build_tests = lambda *of: True
        mutants.passes = self.passes
        for known in (mutants.TRUSTED, mutants.DISTRUSTED, mutants.KILLS):
            known.clear()
        self.tests = [mutants.Test(name, [name], name) for name in with_mutant]

    def is_broken(self):
        with open("a.c", encoding="utf-8") as one, open("tree/a.c", encoding="utf-8") as other:
            return one.read() != other.read()

    def code(self):
        return "broken" if self.is_broken() else "right"

    def passes(self, test, tree):
        self.asked.append(test.name)
        return self.with_mutant[test.name] if self.is_broken() else self.without.get(test.name, True)

    def fate(self, executed):
        place = next(place for place in mutants.places(["a.c"]) if place[3] == " < ")
        with open("tree/a.c", "w", encoding="utf-8") as file:
            file.write(SOURCE)
        lines = {name: {"a.c": numbers} for name, numbers in executed.items()}
        return mutants.fate_trusted(place, self.tests, lines, "tree")[0]


def check_fates():
    line = 1 + SOURCE.split("\n").index("    for (int i = 0; i < n; i++)")
    world = Judged({"one": True, "other": False})
    check(world.fate({"one": [line], "other": [line]}) == "killed by other", "a test that fails with the mutant kills it")
    check(not world.is_broken(), "the mutant is taken back")
    world = Judged({"one": True, "other": False})
    check(world.fate({"one": [line], "other": [1]}) == "SURVIVED 1 tests", "tests that do not execute the line do not count")
    check(world.asked == ["one"], "and are not run")
    check(Judged({"one": False}).fate({"one": []}) == "SURVIVED, not executed", "what no test executes is a survivor")
    check(Judged({"one": False}).fate({"one": [1]}) == "killed by one",
          "a line without a count, as of a macro, is judged by tests that execute its file")
    world = Judged({"one": False, "other": True}, {"one": False})
    check(world.fate({"one": [line], "other": [line]}) == "SURVIVED 1 tests", "a test that fails without the mutant does not kill")
    world = Judged({"one": False})
    world.code = lambda: "the same"
    check(world.fate({"one": [line]}) == "same code", "code that does not differ is no mutant")
    world = Judged({"one": False})
    world.code = lambda: None if world.is_broken() else "right"
    check(world.fate({"one": [line]}) == "no code", "nor is what does not compile")


# PATH: of the code that is changed, which is either in the library or linked to the test.
MAKEFILE = """comma := ,
hash := \\#
build/libportolan.a: build/obj/model/src/larger.o
	rm -f $@ && $(AR) qcs $@ $^
build/libportolan-exec-mpi.a: build/obj/impl/larger.o
	rm -f $@ && $(AR) qcs $@ $^
build/tests/libportolan-exec-internal.so: build/obj/impl/larger.o
	@mkdir -p $(@D)
	$(CC) -shared $^ -o $@
build/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -fPIC -c $< -o $@
build/tests/test_larger: build/obj/tests/test_larger.o PART
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) $^ \\
		-o $@
build/libportolan-fit.a build/libportolan-traces.a build/tests/libportolan-internal.so: ;
"""
LARGER = """int larger(int a, int b), is_large(int a);
int larger(int a, int b) {
    if (a > b)
        return a + 0;
    return b;
}
int is_large(int a) {
    return a > 100;
}
"""
TEST = """int larger(int a, int b), is_large(int a);
int main(void) { return larger(1, 2) == 2 && larger(7, 3) == 7 && is_large(7) == 0 && is_large(1000) == 1 ? 0 : 1; }
"""


# Of two that are equal, either is the larger, and a - 0 is a: the compiler knows both, if it may.
EXPECTED = [(3, " >= ", "same code"), (4, " - ", "same code"), (4, " 1;", "killed by test_larger"), (8, " >= ", "SURVIVED 1 tests")]
UNOPTIMIZED = [(3, " >= ", "SURVIVED 1 tests"), (4, " - ", "same code"), *EXPECTED[2:]]


def check_built(path, part, tree, flags, expected, by_commands=False):
    """Fates of mutants of code that is compiled, in the part PART of a test. by_commands: make is not asked to link it."""
    for name, text in (("Makefile", MAKEFILE.replace("PART", part)), (path, LARGER), ("tests/test_larger.c", TEST)):
        for folder in (".", tree):
            os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
    mutants.FLAGS[tree] = shlex.join(flags)
    test = mutants.Test("test_larger", ["build/tests/test_larger"], "build/tests/test_larger")
    check(mutants.make(tree, *test.targets), f"{path}: it is built, with its test")
    linked = os.stat(os.path.join(tree, *test.targets)).st_mtime_ns
    if by_commands:
        mutants.LINKS[tree] = mutants.link_commands(tree, [part, *test.targets])
    found = []
    for place in mutants.places([path]):
        found.append((place[1] + 1, place[4], mutants.fate_trusted(place, [test], {"test_larger": {path: [3, 4, 5, 8]}}, tree)[0]))
        check(mutants.build_tests(tree, path, [test]) and mutants.passes(test, tree), f"after a mutant, the code is as it was: {place}")
    check(sorted(found) == expected, f"fates of mutants of {path}: {found}")
    return os.stat(os.path.join(tree, *test.targets)).st_mtime_ns == linked


def check_builds():
    shared = mutants.SHARED + ["CFLAGS=-O1"]
    check(check_built("model/src/larger.c", "build/libportolan.a", "shared", shared, EXPECTED),
          "a library's test is linked once for all mutants")
    check_built("calibrate/larger.c", "build/obj/calibrate/larger.o", "linked", shared, EXPECTED)
    check_built("calibrate/larger.c", "build/obj/calibrate/larger.o", "commands", shared, EXPECTED, True)
    check_built("impl/larger.c", "build/libportolan-exec-mpi.a", "executor", shared, EXPECTED, True)
    check_built("impl/larger.c", "build/tests/libportolan-exec-internal.so", "internal", shared, EXPECTED, True)
    # As the copy with sanitizers: other flags for the same file, and no shared library.
    check_built("model/src/larger.c", "build/libportolan.a", "other", ["CFLAGS=-O0"], UNOPTIMIZED)


FATES = ["SURVIVED 1 tests", "same code", "killed by one", "no code", "killed by one", "killed by one", "SURVIVED 1 tests",
         "killed by one", "killed by one"]


def judged(count, workers, end=lambda run, place: None):
    """A run of FATES, with the order in which it prints them and the one in which they end: the first place, which survives,
    ends after others, if there are several workers. Calls end(run, place) when a place begins."""
    others, ended = threading.Event(), []

    def judge(place, worker):
        end(run, place)
        if place > 0:
            ended.append(place)
            others.set()
        elif workers == 1 or others.wait(60):
            ended.append(place)
        return FATES[place], str(place)

    run = mutants.Run(range(len(FATES)), count, judge)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        mutants.in_parallel(workers, run.work)
    return run, [int(line.split(": ")[1].split()[0]) for line in printed.getvalue().splitlines()], ended


def stop_at_2(run, place):
    if place == 2:
        run.stop()


def no_time_at_2(run, place):
    if place == 2:
        run.end = 0


def check_runs():
    for workers in (1, 2, 3):
        run, order, ended = judged(5, workers)
        check(order == [0, 1, 2, 3, 4, 5, 6] and (run.killed, run.survived) == (3, 2),
              f"{workers} workers judge as many mutants as asked, the first ones, and count no others: {order}")
        check(workers == 1 or ended[0] != 0, "though those that survive may take longer")
        for end in (stop_at_2, no_time_at_2):
            run, order, ended = judged(9, workers, end)
            check(order == list(range(len(order))) and sorted(ended) == order and run.survived == 1,
                  f"what {workers} workers have begun is finished and counted: {order}")
            check(len(order) <= 2 + workers, f"and they begin no more: {order}")
    run, order, ended = judged(20, 2)
    check((run.killed, run.survived) == (5, 2), "a run ends when no place is left")


def main():
    folder = os.getcwd()
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        check_builds()
        check_runs()
        check_places()
        check_copies()
        check_fates()
        os.chdir(folder)
    print(f"mutants: {wrong} wrong" if wrong else "mutants: all right")


if __name__ == "__main__":
    main()

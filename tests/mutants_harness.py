#!/usr/bin/env python3
"""Whether tools/mutants.py finds the places that it should, and judges mutants rightly: on a file of a few lines, and with
tests whose results are made up. Prints what is wrong."""

import importlib.util
import os
import tempfile

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
        mutants.make = lambda tree, *targets: True
        mutants.passes = self.passes
        mutants.TRUSTED.clear()
        mutants.LAST.clear()
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


def main():
    folder = os.getcwd()
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        check_places()
        check_copies()
        check_fates()
        os.chdir(folder)
    print(f"mutants: {wrong} wrong" if wrong else "mutants: all right")


if __name__ == "__main__":
    main()

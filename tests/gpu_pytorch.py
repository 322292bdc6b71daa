"""What tests/gpu/pytorch.py finds in made-up results of a visit, with no GPU and no PyTorch."""

import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = "tests/gpu/pytorch.py"
LOG = """test_allreduce (__main__.Some.test_allreduce) ... ok
test_barrier (__main__.Some.test_barrier)
A line that says what it does. ... NCCL version 2.28.9
ok
test_nan (__main__.Some.test_nan) ... FAIL
test_window (__main__.Some.test_window) ... skipped 'no GPU'
"""


def asked(*arguments):
    result = subprocess.run([sys.executable, "-B", SCRIPT, *arguments], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            check=False)
    return result.returncode, result.stdout + result.stderr


class Pytorch(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, *names):
        return os.path.join(self.folder.name, *names)

    def written(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def losses(self, run, kind="fsdp2", means=(1.5, 1.25), own=(0.5, 0.25), ranks=2):
        for rank in range(ranks):
            self.written(f"{run}/{kind}-{rank}.txt", "".join(f"{a.hex()} {b.hex()}\n" for a, b in zip(own, means)))
        return self.path(run)

    def test_usage(self):
        self.assertEqual(asked("--help")[0], 0)
        self.assertEqual([asked(*wrong)[0] for wrong in ([], ["other"], ["same", "one"], ["decode"])], [2] * 4)

    def test_losses_agree_within_rounding(self):
        self.assertEqual(asked("same", self.losses("a"), self.losses("b", means=(1.5, 1.2501))),
                         (0, "same: no difference: 6 of 8 losses are equal in every bit\n"))

    def test_losses_that_differ(self):
        first = self.losses("a")
        for number, (other, why) in enumerate([
                (dict(means=(1.5, 1.26)), "fsdp2-0.txt differs by more than rounding"), (dict(own=(0.5, 0.26)), "differs by more"),
                (dict(means=(1.5,)), "has 2 and 1 steps"), (dict(means=(1.5, float("nan"))), "not all are numbers"),
                (dict(ranks=1), "fsdp2-1.txt is of one run alone"), (dict(kind="ddp"), "ddp-0.txt is of one run alone")]):
            code, said = asked("same", first, self.losses(f"other{number}", **other))
            self.assertEqual((code, why in said), (1, True), said)
        self.written("a/fsdp2-1.txt", f"{(0.5).hex()} {(1.5).hex()}\n{(0.25).hex()} {(1.2501).hex()}\n")
        self.assertIn("fsdp2-1.txt has another mean than the first rank", asked("same", first, first)[1])
        os.mkdir(self.path("none"))
        self.assertEqual(asked("same", self.path("none"), self.path("none")), (1, "no losses\n"))

    def test_tests_that_fail_in_both_are_no_difference(self):
        self.assertEqual(asked("tests", self.written("log", LOG), self.path("log")),
                         (0, "tests: no difference: 1 FAIL, 2 ok, 1 skipped\n"))

    def test_of_a_log_that_is_cut_short_the_tests_that_ended_count(self):
        first = self.written("log", LOG)
        begun = LOG[:LOG.index("... FAIL")] + "...\ncut short\n"
        self.assertEqual(asked("tests", first, self.written("begun", begun)), (0, "tests: no difference: 2 ok\n"))
        self.assertEqual(asked("tests", self.path("begun"), first), (0, "tests: no difference: 2 ok\n"))
        wrong = self.written("wrong", begun.replace("allreduce) ... ok", "allreduce) ... FAIL"))
        self.assertEqual(asked("tests", first, wrong)[0], 1)
        self.assertEqual(asked("tests", first, self.written("none", "cut short\n")), (1, "no tests\n"))

    def test_tests_that_end_otherwise(self):
        first = self.written("log", LOG)
        for number, (old, new, why) in enumerate([
                ("2.28.9\nok", "2.28.9\nERROR", "test_barrier (__main__.Some.test_barrier): ok, in front of NCCL ERROR"),
                ("... FAIL", "... ok", "FAIL, in front of NCCL ok"), ("... FAIL", "...", "in front of NCCL ended"),
                ("test_window (__main__.Some.test_window) ... skipped 'no GPU'\n", "", "skipped, in front of NCCL not run")]):
            self.assertIn(old, LOG)
            self.assertEqual(asked("tests", first, self.written(f"log{number}", LOG.replace(old, new)))[0], 1)
            self.assertIn(why, asked("tests", first, self.path(f"log{number}"))[1])
        self.assertEqual(asked("tests", self.written("empty", ""), self.path("empty")), (1, "no tests\n"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=0)

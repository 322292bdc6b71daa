"""The Python module against the command line, the headers, wrong libraries and its own documentation: python.py PORTOLAN.
The wheel is skipped without the packages python3-setuptools and python3-wheel."""

import ctypes
import glob
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import types
import unittest
import zipfile

TOOL = os.path.abspath(sys.argv.pop(1))
BUILD = os.path.dirname(TOOL)
LIBRARY = glob.glob(os.path.join(BUILD, "libportolan.so.*"))[0]
os.environ["PORTOLAN_LIBRARY"] = LIBRARY
sys.path.insert(0, "python")

import portolan  # noqa: E402
from portolan.torch import Group, all_reduce  # noqa: E402

SUMMIT = ["--machine", "summit-spectrum-refit", "--collective", "alltoall", "--nodes", "2"]


def tool(*arguments):
    return subprocess.run([TOOL, *arguments], stdout=subprocess.PIPE, check=True, text=True).stdout


def asked(*arguments):
    return json.loads(tool(*arguments, "--format", "json"))


def imported(library, path="python", **environment):
    """What an import in a process of its own prints, and its last line of errors."""
    result = subprocess.run([sys.executable, "-B", "-c", "import portolan; print(portolan.Machine('h200-x2').name)"], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env={**os.environ, "PORTOLAN_LIBRARY": library, "PYTHONPATH": path, **environment})
    return result.stdout.strip(), (result.stderr.strip().splitlines() or [""])[-1]


class Predictions(unittest.TestCase):
    machine = portolan.Machine("summit-spectrum-refit")

    def test_predictions_are_those_of_the_tool(self):
        told = asked("predict", *SUMMIT, "--bytes", "1KiB:4KiB", "--explain")["predictions"]
        made = {(one.at, one.strategy): one for one in self.machine.predict("alltoall", [1024, 2048, 4096], nodes=2)}
        self.assertEqual(len(made), len(told))
        for one in told:
            found = made[one["bytes"], one["strategy"]]
            self.assertEqual(found.reason, one.get("reason"))
            if found.applicable:
                self.assertAlmostEqual(found.seconds / one["seconds"], 1, 5)
                self.assertAlmostEqual(found.interval.low / one["low_s"], 1, 5)
                self.assertAlmostEqual(found.interval.high / one["high_s"], 1, 5)
                self.assertEqual((found.algorithm, len(found.terms)), (one["algorithm"], len(one["terms"])))
                self.assertEqual((found.terms[0].key, found.terms[0].line), (one["terms"][0]["parameter"], one["terms"][0]["line"]))

    def test_terms_add_up(self):
        for one in self.machine.predict("alltoall", 4096, nodes=2):
            if one.applicable:
                self.assertTrue(math.isclose(sum(term.seconds for term in one.terms), one.seconds, rel_tol=1e-9))

    def test_without_explanations_there_are_no_intervals(self):
        one = self.machine.predict("alltoall", 4096, nodes=2, explain=False, strategies=["three_step"])[0]
        self.assertEqual((one.interval, one.terms), (None, ()))

    def test_ranges_are_those_of_the_tool(self):
        told = asked("pick", *SUMMIT, "--bytes", "64:1MiB")["ranges"]
        made = self.machine.pick("alltoall", {"from": 64, "to": 1 << 20, "factor": 2}, nodes=2)
        self.assertEqual([(one.start, one.below, one.strategy, one.runner_up, one.near_tie, one.unpriced) for one in made],
                         [tuple(one[key] for key in ("from", "below", "winner", "runner_up", "near_tie", "unpriced")) for one in told])
        self.assertAlmostEqual(made[0].margin[1], told[0]["margin_high"], 5)
        self.assertAlmostEqual(made[0].regret, told[0]["regret"], 5)

    def test_ties_are_named(self):
        told = asked("pick", "--machine", "cpu-2x64-200g", "--collective", "alltoall", "--nodes", "1", "--bytes", "64:4KiB")["ranges"]
        made = portolan.Machine("cpu-2x64-200g").pick("alltoall", {"from": 64, "to": 4096})
        self.assertEqual([list(one.tied) for one in made], [one["tied"] for one in told])
        self.assertTrue(any(one.tied for one in made))

    def test_nodes_can_be_swept(self):
        made = self.machine.predict("alltoall", 4096, nodes=[2, 4], strategies=["three_step"])
        self.assertEqual([one.at for one in made], [2, 4])
        self.assertLess(made[0].seconds, made[1].seconds)

    def test_data_in_host_memory(self):
        made = portolan.Machine("summit-spectrum").predict("alltoall", 64, nodes=2, procs_per_node=4)
        self.assertIn("mpi", [one.strategy for one in made if one.applicable])


class Machines(unittest.TestCase):
    def test_numbers_by_their_keys(self):
        machine = portolan.Machine("scenarios/machines/summit-spectrum.yaml")
        self.assertEqual((machine.name, machine["node.gpus"]), ("summit-spectrum", 6))
        self.assertEqual(machine.parameters()["injection.gpu.s_per_byte"], machine["injection.gpu.s_per_byte"])

    def test_a_what_if_is_a_copy(self):
        machine = portolan.Machine("summit-spectrum")
        changed = machine.what_if("injection.*=/2", "node.gpus=4")
        self.assertAlmostEqual(changed["injection.gpu.s_per_byte"] * 2, machine["injection.gpu.s_per_byte"])
        self.assertEqual((changed["node.gpus"], machine["node.gpus"]), (4, 6))

    def test_a_machine_is_read_back_from_its_text(self):
        machine = portolan.Machine("summit-spectrum-refit")
        self.assertEqual(portolan.Machine.from_text(machine.text()).parameters(), machine.parameters())

    def test_inherited_files_are_found_by_name(self):
        self.assertEqual(portolan.Machine.from_text("machine: mine\ninherits: h200-x2\n")["node.gpus"], 2)
        with self.assertRaisesRegex(portolan.Error, r"^machine:2:11: inherits: no file 'h200-x9' in machines: looked for h200-x9, .*/h200-x9\.yaml$"):
            portolan.Machine.from_text("machine: mine\ninherits: h200-x9\n")

    def test_errors_are_portolans(self):
        machine = portolan.Machine("summit-spectrum")
        with self.assertRaisesRegex(portolan.Error, "did you mean 'alltoall'") as caught:
            machine.predict("alltoal", 64)
        self.assertEqual((caught.exception.status, caught.exception.line), ("no such name", 1))
        with self.assertRaisesRegex(portolan.Error, "nothing"):
            machine["nothing"]
        with self.assertRaisesRegex(portolan.Error, "^m.yaml:1:"):
            portolan.Machine.from_text("nam: x\n", "m.yaml")
        with self.assertRaisesRegex(portolan.Error, "looked for"):
            portolan.Machine("sumit")


class Steps(unittest.TestCase):
    machine = portolan.Machine("lassen-spectrum-refit")

    def test_a_step_is_that_of_the_tool(self):
        made = self.machine.step("llm-training")
        told = {route["strategy"]: route for route in asked("step", "llm-training")["totals"]}
        for route in made.routes:
            self.assertAlmostEqual(route.communication_s / told[route.strategy]["communication_s"], 1, 5)
            self.assertAlmostEqual(route.exposed_s / told[route.strategy]["exposed_s"], 1, 5)
            self.assertEqual(route.interval is None, "step_low_s" not in told[route.strategy])
            if route.interval:
                self.assertAlmostEqual(route.interval.low / told[route.strategy]["step_low_s"], 1, 5)
                self.assertAlmostEqual(route.interval.high / told[route.strategy]["step_high_s"], 1, 5)
        self.assertIsNotNone(made.mix.interval)
        self.assertIn("three_step", [route.strategy for route in made.routes])
        self.assertLessEqual(made.mix.seconds, min(route.seconds for route in made.routes))

    def test_nodes_and_calls_of_a_step(self):
        made = self.machine.step("scenarios/workloads/fsdp.yaml", nodes=2)
        told = asked("step", "fsdp", "--nodes", "2")
        self.assertAlmostEqual(made.mix.communication_s / min(route["communication_s"] for route in told["totals"]), 1, 5)
        self.assertEqual([call.name for call in made.calls if call.prediction is None], ["forwards", "backwards"])
        self.assertEqual([call.times for call in made.calls], [32] * 5)
        self.assertAlmostEqual(made.calls[1].compute_s, 0.033)


class Estimates(unittest.TestCase):
    def test_they_are_near_predictions(self):
        machine = portolan.Machine("summit-spectrum")
        group = machine.group(nodes=2)
        for size in (64, 4096, 65536, 12344, 1000000):
            best = min((p for p in machine.predict("allreduce", size, nodes=2) if p.applicable), key=lambda p: p.seconds)
            self.assertTrue(math.isclose(portolan.estimate("allreduce", size, group), best.seconds, rel_tol=0.015))
            self.assertEqual(portolan.estimated_strategy("allreduce", size, group), best.strategy)

    def test_outside_of_the_table_is_an_error(self):
        group = portolan.Machine("summit-spectrum").group(nodes=2)
        for size in (-1, 1 << 50):
            with self.assertRaisesRegex(portolan.Error, "no estimate"):
                portolan.estimate("alltoall", size, group)
            self.assertIsNone(portolan.estimated_strategy("alltoall", size, group))
        with self.assertRaisesRegex(portolan.Error, "unknown collective"):
            portolan.estimate("alltoal", 64, group)


class Fits(unittest.TestCase):
    def test_a_fit_is_that_of_the_tool(self):
        told = portolan.Machine.from_text(tool("fit", "tests/fixtures/samples.csv", "--name", "mine", "--out", "-"))
        machine, report = portolan.fit("tests/fixtures/samples.csv", "mine")
        self.assertEqual(machine.parameters(), told.parameters())
        self.assertEqual(machine.name, "mine")
        eager = {one.name: one for one in report}["messages.cpu.off_node.eager"]
        self.assertEqual(eager.alpha_s, machine["messages.cpu.off_node.eager.alpha_s"])
        self.assertLess(eager.alpha_interval.low, eager.alpha_s)
        with self.assertRaisesRegex(portolan.Error, "moon"):
            portolan.fit("tests/fixtures/samples.csv", breaks="moon=1")


class Allreduces(unittest.TestCase):
    """On the device `host`, by processes that fork() starts, as tensors of a PyTorch that has only what is used."""

    @staticmethod
    def contribute(rank, size, key):
        group = Group(portolan.Machine("h200-x4"), rank, size, key, device="host")
        torch = types.ModuleType("torch")
        torch.cuda = types.SimpleNamespace(current_stream=lambda device: types.SimpleNamespace(cuda_stream=None))
        sys.modules["torch"] = torch
        floats, doubles = (ctypes.c_float * 1000)(*[rank + 1] * 1000), (ctypes.c_double * 70000)(*range(rank, rank + 70000))

        def tensor(memory, dtype, contiguous=True, negative=False):
            return types.SimpleNamespace(data_ptr=lambda: ctypes.addressof(memory), numel=lambda: len(memory), dtype=dtype, device=0,
                                         element_size=lambda: ctypes.sizeof(memory) // len(memory), is_contiguous=lambda: contiguous, is_neg=lambda: negative)
        all_reduce(tensor(floats, "torch.float32"), group)
        all_reduce(tensor((ctypes.c_float * 1000)(), "torch.float32"), group)  # another buffer
        all_reduce(tensor(floats, "torch.float32"), group)
        all_reduce(tensor(doubles, "torch.float64"), group, "max")
        refused = 0
        for odd in (tensor(floats, "torch.float32", False), tensor(floats, "torch.bool"),
                    tensor(floats, "torch.float32", negative=True)):
            try:
                all_reduce(odd, group)
            except portolan.Error:
                refused += 1
        group.close()
        return [floats[0], floats[999], doubles[0], doubles[69999], refused, os.path.exists(group._path)]

    def test_all_processes_have_the_sum(self):
        size, key, readers = 3, f"test-{os.getpid()}", []
        for rank in range(size):
            reader, writer = os.pipe()
            if os.fork() == 0:
                try:
                    os.write(writer, json.dumps(self.contribute(rank, size, key)).encode())
                finally:
                    os._exit(0)
            os.close(writer)
            readers.append(open(reader, encoding="utf-8"))
        for reader in readers:
            self.assertEqual(json.loads(reader.read() or "null"), [18.0, 18.0, 2.0, 70001.0, 3, False])
            reader.close()
        for _ in range(size):
            os.wait()


class Library(unittest.TestCase):
    """Libraries that this module is not for, and ways to find the right one."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()

    def tearDown(self):
        self.folder.cleanup()

    def compiled(self, source):
        path = os.path.join(self.folder.name, "wrong.so")
        subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-x", "c", "-", "-o", path], input=source, text=True, check=True)
        return path

    def test_declarations_are_those_of_the_headers(self):
        subprocess.run([sys.executable, "-B", "tools/python_declarations.py", "--check"], check=True)

    def test_another_version_is_refused(self):
        source = 'const char *pto_version(void) { return "9.9.9"; } const void *pto_struct_sizes(void) { return 0; }'
        self.assertIn("is portolan 9.9.9", imported(self.compiled(source))[1])

    def test_another_size_of_a_struct_is_refused(self):
        sizes = "".join(f'{{"{struct.__name__}", {size}}}, ' for struct in portolan._declarations.STRUCTS
                        for size in [ctypes.sizeof(struct) + 8 * (struct.__name__ == "pto_halo_t")])
        source = "struct size { const char *name; unsigned long bytes; };\n" \
            f'const char *pto_version(void) {{ return "{portolan.__version__}"; }}\n' \
            f"const struct size *pto_struct_sizes(void) {{ static const struct size all[] = {{{sizes}{{0, 0}}}}; return all; }}\n"
        self.assertRegex(imported(self.compiled(source))[1], r"LibraryError: .*: pto_halo_t has \d+ bytes there, and \d+ in this module")

    def test_other_libraries_are_refused(self):
        self.assertIn("is not portolan's library", imported(self.compiled("int x;"))[1])
        self.assertIn("no libportolan.so", imported(os.path.join(self.folder.name, "missing.so"))[1])

    def test_the_library_may_be_beside_the_module(self):
        shutil.copytree("python/portolan", os.path.join(self.folder.name, "portolan"))
        shutil.copy(LIBRARY, os.path.join(self.folder.name, "portolan"))
        self.assertEqual(imported("", self.folder.name)[0], "h200-x2")

    def test_the_wheel(self):
        # Another Python than the system's, first in PATH, lacks the system's packages.
        pythons = [python for python in (sys.executable, shutil.which("python3", path="/usr/bin")) if python]
        able = [python for python in pythons if subprocess.run([python, "-c", "import setuptools, wheel"], stderr=subprocess.DEVNULL).returncode == 0]
        if not able:
            self.skipTest("needs python3-setuptools and python3-wheel")
        target = os.path.join(self.folder.name, "installed")
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
        subprocess.run(["make", "wheel", f"BUILD={self.folder.name}", f"PYTHON={able[0]}"], env=inherited, check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        wheel = glob.glob(os.path.join(self.folder.name, "*.whl"))[0]
        self.assertIn(f"portolan-{portolan.__version__}-py3-none-any", wheel)
        zipfile.ZipFile(wheel).extractall(target)
        self.assertEqual(imported(LIBRARY, target)[0], "h200-x2")


class Documentation(unittest.TestCase):
    def test_examples_are_shown(self):
        """What they print is in tests/golden."""
        with open("docs/python.md", encoding="utf-8") as page:
            text = page.read()
        for example in ("routes", "buckets", "upgrade"):
            with open(f"docs/examples/{example}.py", encoding="utf-8") as source:
                self.assertIn(f"```python\n{source.read()}```", text)


if __name__ == "__main__":
    outcome = unittest.main(exit=False, verbosity=0).result
    for test, reason in outcome.skipped:
        print(f"skipped: {test}: {reason}")
    sys.exit(not outcome.wasSuccessful())

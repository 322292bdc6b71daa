"""Names that are no words: hostile_names.py PORTOLAN. What a file calls a name is refused at its place where it could be
taken for a terminal's command or for lines of its own. What comes from elsewhere (paths, headers of samples, recordings
of other tools, environment variables) is read, and whatever is printed or written of it is printable, in every format."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unicodedata
import xml.etree.ElementTree

portolan = os.path.abspath(sys.argv[1])
HERE = os.getcwd()
# A terminal's commands in C0 and C1, a mark that reverses text, and a line that could stand in an exported file.
LINE = "INJECTED=1"
HOSTILE = f"x\x1b[31m\x9b2J\u202ey\n{LINE}\n#"
IN_YAML = '"x\\e[31m\\x9b2J\\u202Ey\\n' + LINE + '\\n#"'
IN_LINE = HOSTILE.replace("\n", " ")
NAMES_IN_YAML = ['"x\\e[31m"', '"x\\x9b2J"', '"x\\u202Ey"', f'"x\\n{LINE}"', '"x\\u2028y"', '"x\\x7f"', "x" * 5000, '""']
NAMES_IN_LINES = ["x\x1b[31m", "x\x9b2J", "x\u202ey", "x\u2028y", "x\x7f", "x" * 5000]
BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
failed = 0
tried = 0


def report(what, fault):
    global failed
    failed += 1
    print(f"FAIL {what}: {fault}")


def find_fault(output):
    """Why a text is not safe to print; None if it is."""
    try:
        text = output.decode()
    except UnicodeDecodeError as error:
        return f"not UTF-8: {error}"
    for character in text:
        if character in BIDI or (unicodedata.category(character) in ("Cc", "Zl", "Zp") and character not in "\n\t"):
            return f"has {character!r}: {text[max(0, text.index(character) - 40):][:80]!r}"
    if re.search(f"^{LINE}", text, re.MULTILINE):
        return "has a line of its own out of a name"
    return None


def run(command, folder, **extra):
    environment = {**os.environ, "COLUMNS": "80", **extra}
    return subprocess.run([portolan, *command], cwd=folder, capture_output=True, env=environment, timeout=300, check=False)


def name_of(command):
    return ascii(" ".join(command))[:150]


def read(path):
    with open(os.path.join(HERE, path), encoding="utf-8") as file:
        return file.read()


def write(folder, path, text):
    place = os.path.join(folder, path)
    os.makedirs(os.path.dirname(place), exist_ok=True)
    with open(place, "w", encoding="utf-8") as file:
        file.write(text)
    return place


# --- names in files are refused --------------------------------------------------------------------------------------

MACHINE = read("scenarios/machines/lassen-spectrum-refit.yaml")
H200 = read("scenarios/machines/h200-x4.yaml")
NODE = "machine: m\nsource: s\nnode: {sockets: 2, gpus: 4, cores: 40}\n"
SCENARIO = "scenario: s\nmachine: m\ncollective: alltoall\nlayout: {nodes: 2}\nbytes: 64\n"
WORKLOAD = "workload: w\nmachine: m.yaml\nlayout: {nodes: 2}\nstep:\n  - {call: c, collective: allreduce, bytes: 1KiB}\n"
SAMPLES = read("tests/fixtures/samples.csv")
COLLECTIVES = read("tests/fixtures/collectives.csv")


def put_name(text, key, name):
    """The text with another value of its first such key."""
    made, count = re.subn(rf"(^|\{{){key}: *[^\n,}}]+", lambda match: f"{match[1]}{key}: {name}", text, count=1, flags=re.M)
    assert count == 1, key
    return made


# The file, its text up to the name, the command that reads it, and the kind of place that names it.
PREDICT = ["predict", "--machine", "./f.yaml", "--collective", "alltoall", "--nodes", "2", "--bytes", "64"]
IN_FILES = [
    ("machine", lambda name: put_name(MACHINE, "machine", name), PREDICT),
    ("scenario", lambda name: put_name(SCENARIO, "scenario", name), ["predict", "f.yaml"]),
    ("the machine of a scenario", lambda name: put_name(SCENARIO, "machine", name), ["predict", "f.yaml"]),
    ("strategy", lambda name: SCENARIO + f"strategies: [{name}]\n", ["predict", "f.yaml"]),
    ("library", lambda name: SCENARIO + f"library: {name}\n", ["predict", "f.yaml"]),
    ("matrix", lambda name: SCENARIO.replace("alltoall", "alltoallv").replace("bytes: 64\n", f"counts: {{matrix: {name}}}\n"),
     ["predict", "f.yaml"]),
    ("workload", lambda name: put_name(WORKLOAD, "workload", name), ["step", "f.yaml"]),
    ("call", lambda name: put_name(WORKLOAD, "call", name), ["step", "f.yaml"]),
    ("dimension", lambda name: WORKLOAD.replace("step:", f"grid: {{{name}: 2}}\nstep:"), ["step", "f.yaml"]),
    ("upgrade", lambda name: f"upgrades: [{{name: {name}, what_if: injection.*=/2}}]\n",
     ["upgrade", "--machine", "./m.yaml", "--collective", "alltoall", "--nodes", "2", "--bytes", "64", "--upgrades", "f.yaml"]),
    ("topology", lambda name: f"topology: {name}\n" + TOPOLOGY, ["topology", "f.yaml"]),
    ("inherits", lambda name: NODE + f"inherits: {name}\n", PREDICT),
    ("the topology of a machine", lambda name: MACHINE + f"topology: {name}\n", PREDICT),
    ("library rule", lambda name: MACHINE + f"library: {{alltoall: {{cpu: [{{algorithm: {name}}}]}}}}\n", PREDICT),
]
IN_LINES = [
    ("the machine of samples", lambda name: f"# machine={name}\n" + SAMPLES, ["fit", "f.csv", "--report"]),
    ("the machine of collectives", lambda name: f"# machine={name}\n" + COLLECTIVES,
     ["score", "--machine", "./m.yaml", "f.csv"]),
    ("the strategy of collectives", lambda name: COLLECTIVES.replace("three_step", name, 1),
     ["score", "--machine", "./m.yaml", "f.csv"]),
]
TOPOLOGY = ("devices: {gpus: 2, sockets: 1}\nlinks:\n  - {between: [gpu.0, socket.0], s_per_byte: 1e-10}\n"
            "  - {between: [gpu.1, socket.0], s_per_byte: 1e-10}\n")


def refuse_names(folder):
    global tried
    write(folder, "m.yaml", MACHINE)
    cases = [(what, make, command, "f.yaml", name) for what, make, command in IN_FILES for name in NAMES_IN_YAML]
    cases += [(what, make, command, "f.csv", name) for what, make, command in IN_LINES for name in NAMES_IN_LINES]
    for what, make, command, path, name in cases:
        tried += 1
        made = make(name)
        write(folder, path, made)
        ran = run(command, folder)
        told = ran.stderr.decode(errors="replace")
        if ran.returncode != 1:
            report(f"{what} {name[:20]!a}", f"exit {ran.returncode}: {told[:200]}")
        elif not re.match(r"(\./)?f\.(yaml|csv):\d+:\d+: ", told):
            report(f"{what} {name[:20]!a}", f"no place: {told[:200]!a}")
        fault = find_fault(ran.stdout + ran.stderr)
        if fault:
            report(f"{what} {name[:20]!a}", fault)


def accept_remarks(folder):
    """Line breaks in remarks become blanks."""
    write(folder, "m.yaml", put_name(MACHINE, "source", '"two\\nlines"'))
    if run(["predict", *PREDICT[1:2], "./m.yaml", *PREDICT[3:]], folder).returncode != 0:
        report("source", "a line break is refused")


# --- what comes from elsewhere is escaped ----------------------------------------------------------------------------


def check_file(what, path):
    with open(path, "rb") as file:
        made = file.read()
    if path.endswith(".png"):
        return
    fault = find_fault(made)
    if fault:
        report(what, f"{os.path.basename(path)!a} {fault}")
    try:
        if path.endswith(".json"):
            json.loads(made)
        elif path.endswith(".svg"):
            xml.etree.ElementTree.fromstring(made)
        elif path.endswith(".html"):
            json.loads(re.search(rb'id="data">\n(.*?)\n</script>', made, re.DOTALL)[1])
    except (ValueError, TypeError, xml.etree.ElementTree.ParseError) as error:
        report(what, f"{os.path.basename(path)!a} cannot be read: {error}")


def try_writer(command, folder, exits=(0,), **extra):
    """What a command prints, and the files that it writes into `out`."""
    global tried
    tried += 1
    out = os.path.join(folder, "out")
    shutil.rmtree(out, ignore_errors=True)
    os.mkdir(out)
    ran = run(command, folder, **extra)
    if ran.returncode not in exits:
        report(name_of(command), f"exit {ran.returncode}: {ran.stderr[:300]!a}")
        return
    for stream in (ran.stdout, ran.stderr):
        fault = find_fault(stream)
        if fault:
            report(name_of(command), fault)
    if "json" in command and ran.returncode == 0:
        try:
            json.loads(ran.stdout)
        except ValueError as error:
            report(name_of(command), f"no JSON: {error}")
    for name in os.listdir(out):
        check_file(name_of(command), os.path.join(out, name))


HAS_GNUPLOT = shutil.which("gnuplot") is not None


def odd_path(name):
    """The path of a file whose name and folder are odd, with the ending of `name`."""
    stem, ending = os.path.splitext(name)
    return os.path.join(HOSTILE, stem + HOSTILE + ending)


def write_scenarios(folder, machine):
    """Every writer of a scenario whose machine, scenario and matrix have odd paths."""
    ask = ["--machine", machine, "--collective", "alltoall", "--nodes", "2", "--bytes", "1KiB:4KiB"]
    one = [*ask[:-1], "1KiB", "--strategy", "three_step"]
    for form in ("table", "csv", "json"):
        for command in ("predict", "pick", "sensitivity", "upgrade"):
            try_writer([command, *ask, "--format", form], folder)
        try_writer(["predict", *ask, "--explain", "--format", form], folder)
        try_writer(["predict", *ask, "--energy", "--ci", "--format", form], folder, (0, 1, 2))
        try_writer(["predict", *ask, "--what-if", "injection.*=/1:/4", "--format", form], folder)
        try_writer(["simulate", *one, "--format", form], folder)
    for command in (["simulate", *one, "--trace", "out/t.json"], ["check", *one], ["plan", *one, "--rank", "1"],
                    ["traffic", *one, "--format", "csv"], ["plan", *one, "--format", "goal"],
                    ["report", *ask, "--out", "out/r.html"]):
        try_writer(command, folder, (0, 2) if command[0] in ("traffic", "plan") else (0,))
    if HAS_GNUPLOT:
        try_writer(["predict", *ask, "--plot", "out/p.svg"], folder)
        try_writer(["predict", *ask, "--what-if", "injection.*=/1:/4", "--plot", "out/p.svg"], folder)
        try_writer(["traffic", *one, "--plot", "out/p.svg"], folder)


def write_exports(folder, machine):
    for target in ("openmpi-4.1", "openmpi-6", "ucc", "nccl", "mpich-4.0", "cray"):
        source = odd_path("h.yaml") if target == "nccl" else machine
        ask = ["export", "--for", target, "--machine", source, "--nodes", "2"]
        try_writer([*ask, "--out", "out/rules"], folder, (0, 3))  # 3: no rule, comments alone
        rules = os.path.join(folder, "out", "rules")
        if not os.path.exists(rules):
            report(target, "no file was written")
            continue
        odd = odd_path("rules")
        shutil.copy(rules, os.path.join(folder, odd))
        try_writer([*ask, "--check", odd], folder)
        write(folder, odd, HOSTILE)
        try_writer([*ask, "--check", odd], folder, (0, 1))
    # The names of a selection file: those without a price are printed.
    tree = json.dumps({"collective=alltoall": {"comm_size=anything": {"algorithm=" + HOSTILE: {}}}})
    write(folder, odd, tree)
    try_writer(["export", "--for", "mpich-4.0", "--machine", machine, "--nodes", "2", "--check", odd], folder, (0, 1))


def write_placements(folder, machine):
    ask = ["map", "--machine", machine, "--collective", "alltoallv", "--implementation", "isend_irecv", "--nodes", "2",
           "--gpus-per-node", "2", "--procs-per-gpu", "1", "--bytes", "1MiB", "--strategy", "cuda_aware", "--counts",
           "{pattern: groups, dims: [2, 2], along: 0}"]
    forms = ["--rankfile", "out/r", "--slurm-hosts", "out/s", "--cuda-devices", "out/c"]
    try_writer([*ask, "--out", "out/p.csv", "--hosts", "alpha,beta", *forms], folder)
    odd = odd_path("p.csv")
    shutil.copy(os.path.join(folder, "out", "p.csv"), os.path.join(folder, odd))
    given = ["predict", *ask[1:13], "--procs-per-gpu", "1", "--bytes", "1MiB", "--strategy", "cuda_aware", *ask[-2:]]
    try_writer([*given, "--placement-file", odd], folder)
    write(folder, odd, HOSTILE)
    try_writer([*given, "--placement-file", odd], folder, (1,))
    try_writer([*ask, "--hosts", f"alpha,beta\n{LINE}", *forms], folder, (2,))


def write_workloads(folder, machine):
    odd = odd_path("w.yaml")
    write(folder, odd, WORKLOAD)
    for form in ("table", "csv", "json"):
        try_writer(["step", odd, "--machine", machine, "--format", form], folder)
        try_writer(["upgrade", odd, "--machine", machine, "--format", form], folder)
    try_writer(["report", odd, "--machine", machine, "--out", "out/r.html", "--sliders", "1"], folder)
    write(folder, odd, WORKLOAD + f"{IN_YAML}: 1\n")
    try_writer(["step", odd], folder, (1,))


def without_mpi(table):
    return re.sub("^# mpi=.*\n", "", table, flags=re.MULTILINE)


def write_measurements(folder, machine):
    head = "".join(f"# {key}={IN_LINE}\n" for key in ("mpi", "source", "cuda", "date", "gpu", "device", "measured", IN_LINE))
    odd = odd_path("s.csv")
    write(folder, odd, head + without_mpi(SAMPLES))
    try_writer(["fit", odd, "--name", "m", "--out", "out/m.yaml", "--report"], folder)
    made = os.path.join(folder, "out", "m.yaml")
    if not os.path.exists(made) or run(["list", "machines"], folder).returncode != 0:
        report("fit", "no file was written")
    for command in (["fit", odd, "--report"], ["fit", odd, "--out", "out/m.yaml", "--name", HOSTILE],
                    ["machine", "new", "--cores", "4", "--name", HOSTILE]):
        try_writer(command, folder, (0, 1, 2))
    write(folder, odd, head + without_mpi(COLLECTIVES))
    for form in ("table", "csv", "json"):
        try_writer(["score", "--machine", machine, odd, "--format", form], folder)
        try_writer(["score", "--machine", machine, odd, "--cells", "--format", form], folder)
    for text in (f"{IN_LINE},benchmark\n", SAMPLES + f"{IN_LINE},1,2\n", f"x{HOSTILE}"):
        write(folder, odd, text)
        try_writer(["fit", odd, "--report"], folder, (1,))
        try_writer(["score", "--machine", machine, odd], folder, (1,))


def damage_texts(value):
    """Names within a recording, made hostile: those that no reader interprets."""
    if isinstance(value, dict):
        return {key: HOSTILE if key in ("hostname", "host", "name_of_program") else damage_texts(inner)
                for key, inner in value.items()}
    return [damage_texts(inner) for inner in value] if isinstance(value, list) else value


def recordings():
    """Recordings of every format, some of whose names are odd, and options that they need."""
    kineto = json.loads(read("tests/fixtures/traces/kineto.json"))
    for device in kineto.get("deviceProperties", []):
        device["name"] = HOSTILE[:60]
    calls = [line.split(",") for line in read("tests/fixtures/report.csv").splitlines()]
    at = calls[0].index("route")
    for row in calls[1:]:
        row[at] = IN_LINE[:20]
    yield "kineto.json", json.dumps(kineto), []
    inspector = [json.dumps(damage_texts(json.loads(line))) for line in read("tests/fixtures/traces/nccl-inspector.jsonl").splitlines()]
    yield "inspector.jsonl", "\n".join(inspector) + "\n", []
    for name in ("chakra.1.json", "pytorch-et.json", "chakra-records.json", "liballprof.txt", "messages.goal"):
        nodes = ["--nodes", "2"] if "chakra" in name or "pytorch" in name else []
        yield name, read("tests/fixtures/traces/" + name), [*nodes, "--gpus-per-node", "4"]
    for name in ("osu.txt", "nccl-tests.txt"):
        yield name, f"# {IN_LINE}\n" + read("tests/fixtures/" + name), ["--nodes", "2"]
    yield "calls.csv", "\n".join(",".join(row) for row in calls) + "\n", []


def write_replays(folder, machine):
    """Odd names in a recording are not fatal; a recording that is broken by one is refused, safely."""
    for name, text, options in recordings():
        odd = odd_path(name)
        ask = ["replay", odd, "--machine", machine, *options]
        write(folder, odd, text)
        for form in ("table", "csv", "json"):
            try_writer([*ask, "--format", form], folder)
        write(folder, odd, text[:len(text) // 2] + HOSTILE + text[len(text) // 2:])
        try_writer(ask, folder, (0, 1))
    odd = odd_path("chakra.et")
    shutil.copy(os.path.join(HERE, "tests/fixtures/traces/chakra.2.et"), os.path.join(folder, odd))
    try_writer(["replay", odd, "--machine", machine, "--nodes", "2", "--gpus-per-node", "4"], folder)


def write_the_rest(folder, machine):
    topology = odd_path("t.yaml")
    write(folder, topology, TOPOLOGY)
    for command in (["topology", topology], ["topology", topology, "--format", "csv"]):
        try_writer(command, folder)
    if HAS_GNUPLOT:
        try_writer(["topology", topology, "--plot", "out/t.svg"], folder)
    data = os.path.join(folder, os.path.dirname(machine), "data")
    write(folder, os.path.join(data, "machines", f"{HOSTILE}.yaml"), MACHINE)
    shutil.copytree(os.path.join(HERE, "scenarios", "libraries"), os.path.join(data, "libraries"))
    try_writer(["list"], folder, PORTOLAN_DATA=data)
    try_writer(["completion", "machines"], folder, PORTOLAN_DATA=data)
    for bad in (HOSTILE, f"{HOSTILE}.yaml", "./" + HOSTILE):
        try_writer([*PREDICT[:2], bad, *PREDICT[3:]], folder, (1, 2))
        try_writer(["predict", bad], folder, (1, 2))
        try_writer([bad], folder, (2,))
        try_writer(["predict", "--" + bad], folder, (2,))
        try_writer(["list", bad], folder, (2,))
        try_writer(["help", bad], folder, (2,))
        try_writer(["completion", bad], folder, (2,))
        try_writer(["predict", machine, bad], folder, (1, 2))
        try_writer([*PREDICT[:2], machine, *PREDICT[3:], "--what-if", bad], folder, (1, 2))
        try_writer([*PREDICT[:2], machine, *PREDICT[3:], "--strategy", bad], folder, (1, 2))
        try_writer([*PREDICT[:2], machine, *PREDICT[3:], "--model", bad], folder, (1, 2))
        try_writer(["export", "--for", bad, "--machine", machine, "--nodes", "2"], folder, (1, 2))
        try_writer(["run", "--machine", bad, "--", bad], folder, (1, 2, 126, 127))
        try_writer(["replay", bad], folder, (1, 2))
        try_writer(["topology", bad], folder, (1, 2))
        try_writer(["score", "--machine", machine, bad], folder, (1, 2))


def main():
    with tempfile.TemporaryDirectory() as folder:
        refuse_names(folder)
        accept_remarks(folder)
    with tempfile.TemporaryDirectory() as folder:
        machine = odd_path("m.yaml")
        write(folder, machine, MACHINE)
        write(folder, os.path.join(HOSTILE, "m.yaml"), MACHINE)
        write(folder, odd_path("h.yaml"), H200)
        for writers in (write_scenarios, write_exports, write_placements, write_workloads, write_measurements, write_replays,
                        write_the_rest):
            writers(folder, machine)
    if not HAS_GNUPLOT:
        print("skipped: drawings: gnuplot is not installed")
    print(f"hostile names: {tried} cases, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""The columns that commands print with --format csv: csv_columns.py PORTOLAN. Of each command, the first line is the
heading, whatever the options are and whichever strategies apply, and every row has its columns."""

import csv
import itertools
import subprocess
import sys

portolan = sys.argv[1]
ALLTOALL = ["--machine", "summit-spectrum", "--nodes", "2", "--collective", "alltoall", "--bytes", "64:1KiB:4"]
GPU = ["--machine", "h200-x2", "--nodes", "1", "--collective", "allreduce", "--bytes", "1KiB"]
MESSAGES = ["scenarios/problems/messages-many-summit.yaml", "--bytes", "1KiB", "--messages", "1:4"]
NODES = ["--machine", "summit-spectrum", "--nodes", "2:4", "--collective", "alltoall", "--bytes", "64"]
CHANGES = ["--what-if", "injection.*=/2", "--model", "full"]
PUBLISHED = ["--model", "published"]
ONE = ["--strategy", "three_step"]
FFT = ["scenarios/workloads/fft-3d.yaml"]
SCORED = ["--machine", "summit-spectrum", "tests/fixtures/collectives.csv"]
TUNED = ["--machine", "h200-x2-mps", "--collective", "allgather", "--bytes", "1MiB", "--procs-per-gpu", "2"]
SCENARIOS = [ALLTOALL, GPU, MESSAGES, NODES, [*ALLTOALL, *CHANGES], [*ALLTOALL, *PUBLISHED], [*ALLTOALL, *ONE]]
SWEEPS = [[*ALLTOALL, "--nodes", "2:4"], [*ALLTOALL, "--what-if", "injection.*=/1:/4"],
          [*ALLTOALL, "--what-if", "injection.*=/2", "--compare"]]
# By command: what it is asked. All of it has one heading.
ASKED = {
    "predict": SCENARIOS + SWEEPS + [[*ALLTOALL, "--explain"], [*GPU, "--energy"], [*GPU, "--energy", "--explain"],
                                     [*ALLTOALL, "--ci"]],
    "pick": SCENARIOS + SWEEPS + [[*GPU, "--by", "energy"]],
    "simulate": [*SCENARIOS[:4], [*ALLTOALL, *CHANGES], [*ALLTOALL, *ONE]],
    "sensitivity": [ALLTOALL, MESSAGES, NODES, [*ALLTOALL, *CHANGES]],
    "step": [FFT, [*FFT, *CHANGES], [*FFT, *ONE],
             ["scenarios/workloads/fsdp.yaml", "--nodes", "2", "--simulate", "--strategy", "cuda_aware"]],
    "upgrade": [FFT, [*FFT, "--upgrades", "tests/fixtures/upgrades.yaml"], ALLTOALL, [*ALLTOALL, "--only", "nic"],
                [*FFT, *CHANGES]],
    "score": [SCORED, [*SCORED, "--cells"], [*SCORED, "--baselines"], [*SCORED, "--by", "nodes"], [*SCORED, *CHANGES]],
    "tune": [TUNED, [*TUNED, "--what-if", "copies.*.alpha_s=/2"]],
    "replay": [["tests/fixtures/traces/" + name, "--machine", "lassen-spectrum-refit",
                "--gpus-per-node", "4", *more]
               for name in ["kineto.json"] for more in ([], CHANGES)],
}

cases = failed = 0
for command, questions in ASKED.items():
    heading = None
    for question in questions:
        run = subprocess.run([portolan, command, *question, "--format", "csv"], capture_output=True, text=True,
                             check=False)
        rows = list(csv.reader(run.stdout.splitlines()))
        cases += 1
        heading = heading or (rows[0] if rows else None)
        if run.returncode != 0:
            fault = run.stderr
        elif len(rows) < 2 or len(set(rows[0])) < len(rows[0]):
            fault = "no rows, or a column twice"
        elif rows[0] != heading:
            fault = f"another heading: {','.join(rows[0])[:120]}"
        elif any(len(row) != len(heading) for row in rows):
            fault = "a row with other columns"
        else:
            continue
        failed += 1
        print(f"FAIL {command} {' '.join(question)}: {fault}")
# The rows of a machine from a datasheet say what their times lack, and what they are extrapolated from.
SHEET = ["--machine", "mi300x", "--nodes", "2", "--procs-per-gpu", "4"]
OF_SHEET = [["predict", *SHEET, "--collective", "allreduce", "--bytes", "1MiB"],
            ["step", "scenarios/workloads/gnn.yaml", *SHEET]]
# The strategy, and what is said in which column of its rows.
SAID = [("dup_devptr", "not_priced", "copies.shared.d2h"), ("nccl", "extrapolated_from", "GPUs on 1 node")]
for asked, (strategy, column, said) in itertools.product(OF_SHEET, SAID):
    question = [*asked, "--strategy", strategy]
    run = subprocess.run([portolan, *question, "--format", "csv"], stdout=subprocess.PIPE, text=True, check=False)
    rows = [row for row in csv.DictReader(run.stdout.splitlines()) if row.get("seconds") or row.get("cheapest_s")]
    cases += 1
    if not rows or not any(said in row[column] for row in rows):
        failed += 1
        print(f"FAIL {' '.join(question)}: times without what they lack")
# A machine without a network has no times between nodes, and says why.
ALONE = ["--machine", "h200-x4", "--nodes", "2"]
for question in [["predict", *ALONE, "--collective", "allreduce", "--bytes", "1MiB"],
                 ["step", "scenarios/workloads/gnn.yaml", *ALONE],
                 ["upgrade", "scenarios/workloads/gnn.yaml", *ALONE],
                 ["replay", "tests/fixtures/osu-h200-x2.txt", *ALONE]]:
    run = subprocess.run([portolan, *question, "--format", "csv"], capture_output=True, text=True, check=False)
    cases += 1
    if run.returncode != 1 or run.stdout or "has no network" not in run.stderr:
        failed += 1
        print(f"FAIL {' '.join(question)}: not refused for its network")
print(f"csv: {cases} cases, {failed} failed")
sys.exit(1 if failed else 0)

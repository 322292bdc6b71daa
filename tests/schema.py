"""What commands print with --format json against docs/portolan.schema.json: schema.py PORTOLAN. Exits 77 without the
package python3-jsonschema."""

import json
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    print("schema: skipped: needs python3-jsonschema")
    sys.exit(77)

portolan = sys.argv[1]
SUMMIT = ["--machine", "summit-spectrum", "--nodes", "2"]
LACKING = ["--machine", "mi300x", "--nodes", "2"]
SPLIT = [*LACKING, "--procs-per-gpu", "4"]
COMMANDS = [
    ["predict", *SUMMIT, "--collective", "alltoall", "--bytes", "1KiB:4KiB"],
    ["predict", *SUMMIT, "--collective", "allreduce", "--bytes", "1KiB", "--explain", "--what-if", "injection.*=/2"],
    ["predict", "--machine", "h200-x2", "--collective", "allreduce", "--nodes", "1:4", "--bytes", "1KiB"],
    ["predict", "scenarios/problems/messages-many-summit.yaml"],
    ["predict", "--machine", "h200-x2", "--collective", "allreduce", "--nodes", "1", "--bytes", "1KiB", "--energy"],
    ["pick", *SUMMIT, "--collective", "alltoall", "--bytes", "64:4KiB"],
    ["simulate", *SUMMIT, "--collective", "alltoall", "--bytes", "64", "--strategy", "three_step"],
    ["sensitivity", *SUMMIT, "--collective", "alltoall", "--bytes", "64"],
    ["step", "scenarios/workloads/fsdp.yaml", "--nodes", "2", "--simulate", "--strategy", "cuda_aware,split_ring"],
    ["step", "scenarios/workloads/llm-training.yaml", "--model", "published"],
    ["upgrade", "scenarios/workloads/fft-3d.yaml"],
    ["upgrade", "scenarios/workloads/fft-3d.yaml", "--upgrades", "tests/fixtures/upgrades.yaml"],
    ["upgrade", *SUMMIT, "--collective", "alltoall", "--bytes", "1KiB:1MiB"],
    ["predict", "--machine", "summit-spectrum", "--collective", "alltoall", "--bytes", "1KiB:4KiB", "--nodes", "2:8"],
    ["pick", "--machine", "summit-spectrum-refit", "--nodes", "8", "--collective", "alltoall", "--bytes", "64:64KiB:4",
     "--what-if", "injection.*=/1:/4"],
    ["predict", *SUMMIT, "--collective", "alltoall", "--bytes", "1KiB", "--what-if", "injection.*=/2", "--compare"],
    ["tune", "--machine", "h200-x2-mps", "--collective", "allgather", "--bytes", "1MiB", "--procs-per-gpu", "2"],
    ["score", "--machine", "summit-spectrum", "tests/fixtures/collectives.csv"],
    ["score", "--machine", "summit-spectrum", "tests/fixtures/collectives.csv", "--cells"],
    ["replay", "tests/fixtures/traces/kineto.json", "--machine", "lassen-spectrum-refit"],
    ["predict", "--machine", "cpu-2x64-200g", "--collective", "alltoall", "--nodes", "2", "--bytes", "64"],
    ["step", "scenarios/workloads/stencil-cg.yaml", "--machine", "cpu-2x64-200g", "--nodes", "2", "--procs-per-node", "8"],
    ["replay", "tests/fixtures/report.csv", "--machine", "h200-2x2-tcp"],
    ["upgrade", "--machine", "dgx-h100", "--collective", "alltoall", "--nodes", "4", "--bytes", "1MiB:32GiB:8"],
    # A machine from a datasheet: what the times lack, and what they are extrapolated from, is said everywhere.
    ["predict", *SPLIT, "--collective", "allreduce", "--bytes", "1MiB"],
    ["pick", *SPLIT, "--collective", "allreduce", "--bytes", "1MiB"],
    ["step", "scenarios/workloads/gnn.yaml", *SPLIT],
    ["upgrade", "scenarios/workloads/gnn.yaml", *LACKING],
    ["upgrade", *LACKING, "--collective", "allreduce", "--bytes", "1MiB"],
    ["replay", "tests/fixtures/osu-h200-x2.txt", *LACKING],
    ["upgrade", "scenarios/workloads/fsdp.yaml", "--only", "GPU links"],
    ["pick", "--for", "vllm", "--machine", "h200-x2-graph", "--collective", "allreduce", "--nodes", "1", "--bytes", "1KiB"],
    # Ratios of measured times that overflow.
    ["score", "--machine", "summit-spectrum", "tests/fixtures/collectives-overflow.csv"],
    ["score", "--machine", "summit-spectrum", "tests/fixtures/collectives-overflow.csv", "--cells"],
]
LACKED = {"copies.shared.d2h", "copies.shared.h2d"}
LACKED_BY_CALLS = {"library.allreduce.gpu"}
LACKING_COMMANDS = range(24, 30)  # those on machines from datasheets
# An object of each kind with one fault, which the schema must see: its name, the command that prints the object (its index in
# COMMANDS), and what makes the fault.
FAULTS = [
    ("no version", 0, lambda made: made.pop("portolan")),
    ("a digest that is none", 0, lambda made: made.update(machine_digest="0")),
    ("a price without seconds", 0, lambda made: made["predictions"][0].pop("seconds")),
    ("a negative time", 0, lambda made: made["predictions"][0].update(seconds=-1)),
    ("no layout", 0, lambda made: made.pop("layout")),
    ("an unknown key of the layout", 0, lambda made: made["layout"].update(sockets=2)),
    ("no list of what is not priced", 5, lambda made: made.pop("not_priced")),
    ("a range without a winner", 5, lambda made: made["ranges"][0].pop("winner")),
    ("a total without a strategy", 8, lambda made: made["totals"][0].pop("strategy")),
    ("places of two kinds", 20, lambda made: made["layout"].update(gpus_per_node=2, procs_per_gpu=1, owners_per_gpu=1)),
    ("an upgrade without a saving", 10, lambda made: made["upgrades"][0].pop("saved_s")),
    ("a scenario's upgrade without a saving", 12, lambda made: made["upgrades"][0].pop("saved_s")),
    ("an upgrade with a reason and no time", 23, lambda made: made["upgrades"][0].pop("seconds")),
    ("an upgrade whose communication is unknown, without a reason", 30, lambda made: made["upgrades"][1].pop("reason")),
    ("a route without its default", 31, lambda made: made["routes"][0].pop("by_default")),
    ("no digest", 0, lambda made: made.pop("machine_digest")),
    ("a pick without crossings", 5, lambda made: made.pop("crossings")),
    ("no runs", 13, lambda made: made.update(runs=[])),
    ("a run without a layout", 13, lambda made: made["runs"][0].pop("layout")),
    ("a run's crossing without its pick", 14, lambda made: made["runs"][0]["crossings"][0].pop("winner")),
    ("a step without a layout", 8, lambda made: made.pop("layout")),
    ("a step without a list of what is not priced", 8, lambda made: made.pop("not_priced")),
    ("a workload's upgrades without a layout", 10, lambda made: made.pop("layout")),
    ("a replay without a list of what is not priced", 19, lambda made: made.pop("not_priced")),
    ("a replay without a layout", 19, lambda made: made.pop("layout")),
    ("a replayed call without its picks", 19, lambda made: made["calls"][0].pop("cheapest")),
    ("a step's call without its mark", 8, lambda made: made["calls"][0].pop("unpriced")),
    ("a price that lacks nothing, listed", 26, lambda made: made["totals"][0].update(unpriced=[])),
    ("half of an interval", 9, lambda made: made["totals"][0].pop("step_high_s")),
]


def nowhere(made, key):
    """Whether no object in it has a member of this name."""
    return not any(key in one for one in made)


def lacks(made):
    """What the objects about a machine from a datasheet leave unsaid."""
    priced_calls = [call for call in made.get("calls", []) if "cheapest" in call]
    return [
        name for name, unsaid in {
            "not_priced": "upgrades" not in made and not (
                LACKED_BY_CALLS if "format" in made else LACKED) <= set(made.get("not_priced", [])),
            "unpriced of totals": "totals" in made and nowhere(made["totals"], "unpriced"),
            "extrapolated_from of totals": "totals" in made and nowhere(made["totals"], "extrapolated_from"),
            "extrapolated_from of upgrades": "upgrades" in made and nowhere(made["upgrades"], "extrapolated_from"),
            "extrapolated of calls": "workload" in made and "calls" in made and nowhere(priced_calls, "extrapolated"),
            "not_priced of calls": "format" in made and not any(call.get("not_priced") for call in priced_calls),
        }.items() if unsaid]


with open("docs/portolan.schema.json") as file:
    schema = json.load(file)
jsonschema.Draft7Validator.check_schema(schema)
validator = jsonschema.Draft7Validator(schema)
failed = 0
made = []
for command in COMMANDS:
    run = subprocess.run([portolan, *command, "--format", "json"], stdout=subprocess.PIPE, check=False)
    made.append(json.loads(run.stdout) if run.returncode == 0 else {})
    for fault in validator.iter_errors(made[-1]):
        failed += 1
        print(f"FAIL {' '.join(command)}: {fault.message[:200]} at {list(fault.absolute_path)}")
for index in LACKING_COMMANDS:
    for unsaid in lacks(made[index]):
        failed += 1
        print(f"FAIL {' '.join(COMMANDS[index])}: {unsaid}")
for name, index, damage in FAULTS:
    broken = json.loads(json.dumps(made[index]))
    damage(broken)
    if validator.is_valid(broken):
        failed += 1
        print(f"FAIL the schema accepts {name}")
print(f"schema: {len(COMMANDS) + len(LACKING_COMMANDS) + len(FAULTS)} cases, {failed} failed")
sys.exit(1 if failed else 0)

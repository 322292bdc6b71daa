#!/usr/bin/env python3
"""accuracy.py PORTOLAN: predictions of measured cells that nothing was fitted to are as good as
docs/validation/held-out.csv and nccl-held-out.csv say. Another compiler may round a near-tie the other way, so small losses
are allowed. A row fails where

  - the clear cells that are picked right fall by more than one (percentages are rounded: by more than 1.5),
  - the mean regret grows by more than 0.35 points and a tenth of itself,
  - the error grows by more than 1 point in the median, or 3 in the worst tenth,
  - the times inside their intervals fall by more than 3 points,
  - the picks that are called sure and are right fall by more than 5 points, or
  - a baseline without a model is as good as the model and was not.

A change that is meant is recorded in those files. The measurements of Summit and Lassen are not part of the project: their
rows are skipped where PORTOLAN_SHARED, or ../shared, does not hold them.
"""
import collections
import csv
import math
import os
import re
import subprocess
import sys

# Of one row of a table: its clear cells, and in percent those picked right, the mean regret, the error in the median and in the
# worst tenth, the times inside their intervals, the right picks that are no near-ties, and the least regret of a baseline.
Row = collections.namedtuple("Row", "cells right regret median worst held sure baseline")


def lines_of(path):
    with open(path, encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def recorded_picks():
    """The rows of held-out.csv by their names."""
    rows = {}
    for line in lines_of("docs/validation/held-out.csv"):
        numbers_of = [float(line[column]) for column in (
            "clear_right_percent", "regret_mean_percent", "error_median_percent", "error_90th_percent",
            "intervals_hold_percent", "others_right_percent")]
        baselines = [line[f"regret_{name}_percent"] for name in (
            "nearest", "affine", "log", "neighbors", "residual", "single")]
        rows[line["fitted_on_and_scored_on"]] = Row(
            int(line["clear_cells"]), *numbers_of, min(float(regret) for regret in baselines if regret))
    return rows


def recorded_nccl():
    """Of NCCL's own times, which pick nothing."""
    return {f"{line['fitted_on']}; {line['scored_on']}": Row(
        int(line["sizes"]), 100, 0, float(line["error_median_percent"]), float(line["error_90th_percent"]),
        float(line["intervals_hold_percent"]), 100, math.inf) for line in lines_of("docs/validation/nccl-held-out.csv")}


def printed(script):
    """The cells of the table that a script prints, row by row, without its two lines of head."""
    run = subprocess.run([script], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"{script}: {run.stderr}")
    return [[cell.strip() for cell in line.strip("|\n").split("|")] for line in run.stdout.splitlines()[2:]]


def numbers(*cells):
    return [float(number) for cell in cells for number in re.findall(r"[0-9.]+", cell)]


def printed_picks():
    rows = {}
    for name, right, regret, error, held, ties, _, learned, single in printed("tools/accuracy.sh"):
        percent, cells, *others = numbers(right, regret, error, held)
        rows[name] = Row(int(cells), percent, *others, numbers(ties)[-1], min(numbers(learned, single.split()[-1])))
    return rows


def printed_nccl():
    return {name: Row(int(sizes), 100, 0, *numbers(error, held), 100, math.inf)
            for name, sizes, error, _, held in printed("tools/accuracy_nccl.sh")}


def losses(now, was):
    """What is worse, in words."""
    if now.cells != was.cells:
        yield f"{now.cells} cells, recorded {was.cells}"
    if now.right * now.cells < was.right * was.cells - 150:
        yield f"{now.right} % of the clear cells right, recorded {was.right}"
    if now.regret > 1.1 * was.regret + 0.35:
        yield f"mean regret {now.regret} %, recorded {was.regret}"
    if now.median > was.median + 1 or now.worst > was.worst + 3:
        yield f"error {now.median:g}, {now.worst:g} %, recorded {was.median:g}, {was.worst:g}"
    if now.held < was.held - 3:
        yield f"intervals hold {now.held:g} %, recorded {was.held:g}"
    if now.sure < was.sure - 5:
        yield f"{now.sure:g} % of what is no near-tie right, recorded {was.sure:g}"
    if was.regret < was.baseline and now.regret >= now.baseline:
        yield f"mean regret {now.regret} %, and {now.baseline} without a model"


def compare(recorded, measured, may_lack):
    """The number of rows that are worse, missing or not recorded."""
    failed = 0
    for name in sorted(recorded.keys() | measured.keys()):
        if name not in measured:
            faults = [] if may_lack and re.match("Summit|Lassen", name) else ["was not printed"]
        elif name not in recorded:
            faults = ["is not recorded"]
        else:
            faults = list(losses(measured[name], recorded[name]))
        for fault in faults:
            print(f"{name}: {fault}")
        failed += bool(faults)
    return failed


def main():
    os.environ["BUILD"] = os.path.dirname(sys.argv[1])
    data = os.path.join(os.environ.get("PORTOLAN_SHARED", "../shared"), "data")
    lacks = not all(os.path.exists(os.path.join(data, machine, "collectives.csv"))
                    for machine in ("summit-spectrum", "lassen-spectrum-2020"))
    failed = compare(recorded_picks(), printed_picks(), lacks) + compare(recorded_nccl(), printed_nccl(), False)
    if lacks:
        print(f"skipped: rows of Summit and Lassen: no measurements in {data}")
    sys.exit(failed > 0)


main()

#!/usr/bin/env python3
"""validate_table.py TABLE ROWS PREDICTIONS: whether the table that portolan-validate prints follows from the rows that it
writes and from what `portolan predict` prints (csv). Prints what differs and exits with 1."""

import math
import re
import sys

table, rows, predictions = sys.argv[1:]
wrong = 0


def check(holds, what):
    global wrong
    if not holds:
        print(what)
        wrong += 1


def near(value, text, digits):
    """Whether a printed number is the value to this many decimals."""
    return abs(value - float(text)) <= 0.51 * 10**-digits


samples, setup, header, runs = {}, {}, None, {}
for line in open(rows, encoding="utf-8"):
    if line.startswith("# setup_s="):
        name, size, seconds = line.split("=")[1].split(",")
        setup[name, int(size)] = float(seconds)
    elif line.startswith("collective,"):
        header = line.strip().split(",")
    elif not line.startswith("#"):
        row = dict(zip(header, line.rstrip("\n").split(",")))
        check(len(line.split(",")) == len(header), f"another number of columns: {line}")
        at = row["strategy"], int(row["bytes"])
        samples.setdefault(at, []).append(float(row["seconds"]))
        runs.setdefault(at, []).append(int(row["run"]))
for at, numbers in runs.items():
    check(numbers == list(range(1, len(numbers) + 1)), f"{at}: runs are {numbers}")

predicted = {}
columns = None
for line in open(predictions, encoding="utf-8"):
    if line.startswith("#"):
        continue
    cells = line.strip().split(",")
    if columns is None:
        columns = cells
        continue
    row = dict(zip(columns, cells))
    if row.get("seconds"):
        predicted[row["strategy"], int(row["bytes"])] = float(row["seconds"])


def median(values):
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


whole = open(table, encoding="utf-8").read()
shape = re.search(r"# layout: (\d+) nodes x (\d+) GPUs x \d+ processes, (\d+) of them owners", whole)
members = int(shape[1]) * int(shape[2]) * int(shape[3])
bus_factor = (members - 1) / members * (2 if "# validate: allreduce " in whole else 1)
repeats = int(re.search(r"median of (\d+) runs", whole).group(1))
told, picks, size, complete = set(), {}, None, None
for line in open(table, encoding="utf-8"):
    found = re.match(r"(\d+) +(\S+) +(.*?) +([\d.]+) +([\d.]+) \[ *([\d.]+), *([\d.]+)\] +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+|-)(?: +([\d.]+) +([\d.]+))?$",
                     line.rstrip())
    pick = re.match(r" +picked ([^,]*?)(?:, .*?)?, won ([^,]*?)(?:, .*?)?, regret ([\d.]+)%", line)
    end = re.match(r"# complete: (\d+) points", line)
    if found:
        size, name = int(found[1]), found[2]
        values = sorted(samples.get((name, size), []))
        check(len(values) == repeats, f"{name}, {size} B: {len(values)} rows")
        half = 1.96 * math.sqrt(len(values)) / 2
        low, high = math.floor((len(values) - 1) / 2 - half), math.ceil((len(values) - 1) / 2 + half)
        expected = [values[0], median(values), values[max(low, 0)], values[min(high, len(values) - 1)],
                    predicted[name, size], predicted[name, size] / median(values), setup[name, size]]
        for value, text, digits, scale in zip(expected, [found[4], found[5], found[6], found[7], found[8], found[9], found[10]],
                                              [2, 2, 2, 2, 2, 3, 2], [1e6] * 5 + [1, 1e6]):
            check(near(value * scale, text, digits), f"{name}, {size} B: {text} is not {value * scale}")
        algorithm = size / median(values) / 1e9
        for text, rate in (found[12], algorithm), (found[13], bus_factor * algorithm):
            check(text is None or abs(float(text) - rate) <= 0.0051 + 0.005 * rate, f"{name}, {size} B: {text} GB/s is not {rate}")
        told.add((name, size))
    elif pick:
        of_size = [name for name, bytes_ in told if bytes_ == size]
        least = min(predicted[name, size] for name in of_size)
        fastest = min(median(samples[name, size]) for name in of_size)
        check(predicted[pick[1], size] == least, f"{size} B: picked {pick[1]}, which is not predicted least")
        check(median(samples[pick[2], size]) == fastest, f"{size} B: {pick[2]} won, which is not the fastest")
        regret = median(samples[pick[1], size]) / fastest - 1
        check(near(100 * regret, pick[3], 1), f"{size} B: a regret of {pick[3]}, not {100 * regret}")
        picks[size] = pick
    elif end:
        complete = int(end[1])
check(told == set(samples), f"told {sorted(told)}, rows of {sorted(samples)}")
check(complete == len(picks) == len({bytes_ for _, bytes_ in samples}), f"{complete} points, {len(picks)} picks")
sys.exit(wrong > 0)

"""Ctrl-C: interrupt.py PORTOLAN. Once a command shows its progress, it is interrupted; it then prints what it has done,
ends by the signal, and leaves no file."""

import os
import re
import signal
import subprocess
import sys
import tempfile

portolan = sys.argv[1]
ALLTOALL = ["--machine", "summit-spectrum-refit", "--collective", "alltoall", "--progress"]
folder = tempfile.TemporaryDirectory()
trace = os.path.join(folder.name, "trace.json")
ROW = re.compile("([0-9.]+ [KM]?i?B|/[0-9]+|[a-z]+, seed [0-9]+) ")
# What is asked, what its progress begins with, and the maximum number of rows that are printed of what is done; 0: nothing is
# printed. Progress is shown only after the first second, so each takes ten seconds or more: several on any machine.
ASKED = [
    (["simulate", *ALLTOALL, "--nodes", "256", "--bytes", "64:64KiB", "--strategy", "cuda_aware,three_step"],
     b"simulating:", 10),
    (["check", *ALLTOALL, "--nodes", "256", "--bytes", "64:1MiB", "--limit", "10000000000"], b"proving:", 1000),
    (["predict", *ALLTOALL[:3], "alltoallv", "--progress", "--nodes", "1000", "--procs-per-gpu", "4",
      "--bytes", "64:1MiB", "--counts", "skew:0.5:1", "--limit", "100000000000"], b"pricing:", 14),
    (["predict", *ALLTOALL[:3], "alltoallv", "--progress", "--nodes", "4", "--bytes", "64:1MiB", "--counts",
      "skew:0.5:1", "--limit", "1000000000000", "--what-if", "nodes=2000", "--compare"], b"pricing:", 14),
    # Many runs, each of which is short.
    (["predict", *ALLTOALL[:3], "alltoallv", "--progress", "--nodes", "1000", "--bytes", "1KiB", "--counts",
      "skew:0.5:1", "--limit", "1000000000000", "--what-if", "injection.*=/1:/128", "--what-if",
      "messages.*.beta_s_per_byte=/1:/128"], b"pricing: ", 16),
    (["map", *ALLTOALL[:3], "alltoallv", "--progress", "--nodes", "10", "--bytes", "1KiB", "--counts",
      "skew:0.5:1", "--refine", "10000000", "--limit", "100000000000000"], b"refining", 60),
    (["export", "--for", "openmpi-4.1", "--machine", "lassen-spectrum-refit", "--nodes", "2:65536", "--progress"],
     b"pricing rules:", 0),
    (["simulate", *ALLTOALL, "--nodes", "600", "--bytes", "1KiB", "--strategy", "cuda_aware", "--library", "pairwise",
      "--trace", trace], b"simulating:", 0),
]

failed = 0
for command, begins, most in ASKED:
    with subprocess.Popen([portolan, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        seen = b""
        while begins not in seen:
            more = os.read(run.stderr.fileno(), 4096)
            if not more:
                break
            seen += more
        run.send_signal(signal.SIGINT)
        out, err = run.communicate()
    rows = [line for line in out.decode().splitlines() if ROW.match(line)]
    faults = []
    if run.returncode != -signal.SIGINT:
        faults.append(f"ends with {run.returncode}")
    if begins not in seen or b"interrupted" not in err:
        faults.append("no progress, or no note")
    if not min(1, most) <= len(rows) <= most:
        faults.append(f"{len(rows)} rows")
    if os.listdir(folder.name):
        faults.append("a file is left")
    for fault in faults:
        failed += 1
        print(f"FAIL {' '.join(command)}: {fault}")
print(f"interrupt: {len(ASKED)} cases, {failed} failed")
sys.exit(1 if failed else 0)

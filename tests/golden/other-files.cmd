# Files of other kinds than those that are read are named, with the command that gives what is read.
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
try() { portolan "$@" 2>&1 | sed "s|$dir/||g"; }
file() { printf '%b' "$2" >"$dir/$1"; }
replays() { file "$@"; try replay "$dir/$1" --machine h200-x2 --nodes 1 --gpus-per-node 2; }
topologies() { file "$@"; try topology "$dir/$1"; }
echo "= logs"
replays a.ipynb '{\n "cells": [{"cell_type": "code", "outputs": []}]}\n'
replays docker.log '{"log":"# nThread 1\\n","stream":"stdout","time":"2026-11-29T01:51:00Z"}\n'
replays records.csv 'numCycle, name, nodes, ranks, size, time\n0, AllReduce, 1, 2, 1024, 11.00\n'
replays records.json '[{"numCycle":0,"name":"AllReduce","size":1024,"time":11.0}]\n'
replays a.pdf '%PDF-1.7\n'
replays nsys.sqlite 'SQLite format 3\0\020'
replays a.zip 'PK\003\004\0\0'
replays a.zst '\050\265\057\375\0'
replays behind.txt 'srun: job 12\n{"version":3,"config":{},"results":[{"size":1024,"count":256,"type":"float","time":6.1}]}\n'
echo "= topologies"
topologies a.ipynb '{\n "cells": []}\n'
topologies lstopo.txt 'Machine (503GB total)\n  Package L#0\n    NUMANode L#0 (P#0 251GB)\n'
topologies amd.txt 'HOPS TABLE:\n             0000:0c:00.0 0000:22:00.0\n0000:0c:00.0 0            1\n\nLINK TYPE TABLE:\n'
topologies p2p.txt '\tGPU0\tGPU1\t\n GPU0\tX\tOK\t\n GPU1\tOK\tX\t\n'
topologies p2p.txt '\tGPU0\tGPU1\t\n GPU0\tX\tCNS\t\n GPU1\tCNS\tX\t\n'
topologies smi.txt '| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |\n'
topologies a.xml 'Machine (503GB total)\n  Package L#0\n'
topologies a.xml ' \n'

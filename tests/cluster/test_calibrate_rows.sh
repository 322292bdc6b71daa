#!/usr/bin/env bash
# Which cases portolan-calibrate measures between two namespace nodes, whatever their times are, as
# tests/fixtures/rows-2-nodes.txt lists them. REWRITE=1 rewrites that; read the diff. BUILD: where portolan-calibrate was
# built (default build). Exits 77 where namespaces or the program can't be had.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
. tests/calibrate_rows.sh
cluster=tests/cluster/cluster
needs mpirun
$cluster check || exit 77
calibrate=$build/portolan-calibrate
built "$calibrate"
export PORTOLAN_CLUSTER="portolan$$"
cleanup() { $cluster down; }
trap 'exit 130' INT
trap 'exit 143' TERM

$cluster up 2 --rate 1gbit
check "three processes and two GPUs on each of two nodes" patiently 120 $cluster run -n 6 --ppn 3 -- env PORTOLAN_EMULATED_GPUS=2 \
    HWLOC_SYNTHETIC="package:1 core:2 pu:1" HWLOC_THISSYSTEM=1 \
    "$calibrate" --only ping_pong,ping_pong_strided,exchange,staged,injection,multi_message,memcpy_h2h,setup --bytes 8:64:8 \
    --budget 100 --repeats 2 --out "$work/rows.csv"
check "have these cases" lists 2-nodes
$cluster down

finish

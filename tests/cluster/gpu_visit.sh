#!/usr/bin/env bash
# One visit to a bare machine with four GPUs: build, calibrate the host, calibrate it again as a cluster of two
# namespace nodes with a known limit, fit everything. Each step has a time limit of its own and all together
# stay within LIMIT seconds; a step that fails is told in the log and the next one runs.
#
# Usage: OUT=FOLDER gpu_visit.sh DEPS OPENMPI.tar.xz
#   DEPS     folder of Debian packages, as files or unpacked (dpkg -x), or "" where the machine has them:
#            libhwloc-dev libhwloc15 libyaml-dev libyaml-0-2 libgsl-dev libgsl27 libgslcblas0
#            iproute2 libbpf1 libbsd0 libcap2 libelf1 libmd0 libmnl0 libxtables12
#   OPENMPI  Open MPI with CUDA support, a tarball that holds ompi-cuda/
# Environment: AT, where to unpack it (default /opt); BUILD (default AT/build-visit); LIMIT (default 460);
# BUDGET, seconds for each benchmark (default 10); NAME, what the machine files' names begin with (default
# h200). Needs root.
#
# Leaves under OUT: log.txt, fits.txt (reports and machine files), samples-*.csv: at most 7 files.
set -uo pipefail
self=$(readlink -f "${BASH_SOURCE[0]}")
cd "$(dirname "$self")/../.." || exit 1
: "${AT:=/opt}" "${BUILD:=$AT/build-visit}" "${LIMIT:=460}" "${BUDGET:=10}" "${NAME:=h200}" "${DEPS:=}"
export AT BUILD LIMIT BUDGET DEPS
cluster=tests/cluster/cluster
calibrate=$BUILD/portolan-calibrate

# --- steps: each runs as `gpu_visit.sh --do STEP ARGUMENTS`, under a time limit

look() {
    uname -a
    nvidia-smi
    nvidia-smi topo -m
    lscpu | grep -v Vulnerability
    command -v nvcc mpirun ip tc make cc nvidia-cuda-mps-control
    "$cluster" check
}

compile() {
    # Samples can be fitted elsewhere: only what measures must build; a newer compiler's warnings are no matter.
    make -k -j8 CFLAGS='-O2 -g -Wno-error' DEPS="$DEPS" BUILD="$BUILD" MPICC=mpicc build
    "$calibrate" --version | tee "$BUILD/version" && grep -q 'with CUDA' "$BUILD/version"
}

on_host() { # PROCESSES FILE ARGUMENTS...
    local processes=$1 file=$2
    shift 2
    mpirun -n "$processes" --oversubscribe --bind-to none --mca pml ob1 --mca btl self,smcuda \
        "$calibrate" --force --repeats 20 --out "$OUT/$file" "$@"
}

on_cluster() { # RATE FILE ARGUMENTS...
    local rate=$1 file=$2 status=0
    shift 2
    "$cluster" down
    "$cluster" up 2 --rate "$rate" || return
    "$cluster" run -n 4 --ppn 2 --gpus-per-node 2 --bind-to none --mca btl tcp,self,smcuda -- \
        "$calibrate" --force --repeats 20 --out "$OUT/$file" "$@" || status=$?
    "$cluster" down
    return $status
}

under_mps() { # PROCESSES FILE ARGUMENTS...
    command -v nvidia-cuda-mps-control || return 77
    local status=0
    nvidia-cuda-mps-control -d || return
    on_host "$@" || status=$?
    echo quit | nvidia-cuda-mps-control
    return $status
}

fit() { # NAME SAMPLES...
    local name=$1 status=0
    shift
    echo "=== $name" >>"$OUT/fits.txt"
    (cd "$OUT" && "$BUILD/portolan" fit "$@" --partial --name "$name" --out "$BUILD/$name.yaml" --force --report) \
        >>"$OUT/fits.txt" 2>&1 || status=$?
    [ ! -s "$BUILD/$name.yaml" ] || cat "$BUILD/$name.yaml" >>"$OUT/fits.txt"
    return $status
}

if [ "${1:-}" = --do ]; then
    shift
    "$@"
    exit
fi

# --- the visit

if [ $# -ne 2 ] || [ -z "${OUT:-}" ]; then
    sed -n '6,15s/^# \{0,1\}//p' "$self" >&2
    exit 2
fi
mkdir -p "$OUT" "$AT" "$BUILD"
OUT=$(readlink -f "$OUT")
BUILD=$(readlink -f "$BUILD")
DEPS=${1:+$(readlink -f "$1")}
if [ -n "$DEPS" ] && compgen -G "$DEPS/*.deb" >/dev/null; then
    for package in "$DEPS"/*.deb; do dpkg -x "$package" "$AT/deps"; done
    DEPS=$AT/deps
fi
tarball=$2
log=$OUT/log.txt
: >"$log"
: >"$OUT/fits.txt"
export OUT
export OPAL_PREFIX=$AT/ompi-cuda OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PATH=$AT/ompi-cuda/bin:/usr/local/cuda/bin:$PATH${DEPS:+:$DEPS/usr/bin:$DEPS/usr/sbin:$DEPS/bin:$DEPS/sbin}
export LD_LIBRARY_PATH=$AT/ompi-cuda/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
LD_LIBRARY_PATH+=${DEPS:+:$DEPS/usr/lib/x86_64-linux-gnu:$DEPS/lib/x86_64-linux-gnu}
export CUDA_MPS_PIPE_DIRECTORY=$BUILD/mps CUDA_MPS_LOG_DIRECTORY=$BUILD/mps
mkdir -p "$BUILD/mps"

finish() {
    "$cluster" down >>"$log" 2>&1
    end_mps
}

# A daemon that a cut-short step left behind.
end_mps() {
    if [ -S "$BUILD/mps/control" ]; then echo quit | timeout 10 nvidia-cuda-mps-control >>"$log" 2>&1; fi
}
trap finish EXIT

ends=$((SECONDS + LIMIT))
failed=0

# step SECONDS STEP ARGUMENTS...: at most that long, and never past the end of the visit
step() {
    local limit=$1 started=$SECONDS status=0
    shift
    [ "$limit" -le $((ends - SECONDS)) ] || limit=$((ends - SECONDS))
    echo "=== $*" >>"$log"
    if [ "$limit" -ge 5 ]; then
        timeout -k 5 "$limit" "$self" --do "$@" >>"$log" 2>&1 || status=$?
    else
        status=124
    fi
    [ "$status" -eq 0 ] || failed=$((failed + 1))
    echo "=== $1 ${2:-} ${3:-}: exit $status after $((SECONDS - started)) s" | tee -a "$log"
    return "$status"
}

tar -xf "$tarball" -C "$AT" >>"$log" 2>&1 || echo "no Open MPI from $tarball: the machine's own is used" | tee -a "$log"
[ -d "$OPAL_PREFIX" ] || unset OPAL_PREFIX
step 30 look
if step 150 compile; then
    tcp=ping_pong,injection,multi_message,copies,signals
    step 130 on_host 4 samples-x4.csv --budget "$BUDGET" --machine $NAME-x4
    step 110 on_cluster 8gbit samples-2x2-8gbit.csv --only $tcp --budget "$BUDGET" --machine $NAME-2x2-tcp-8gbit
    step 110 on_cluster 16gbit samples-2x2-16gbit.csv --only $tcp --budget "$BUDGET" --machine $NAME-2x2-tcp-16gbit
    step 45 on_host 32 samples-x4-shared.csv --only memcpy_shared --budget $((2 * BUDGET)) --machine $NAME-x4
    step 45 under_mps 32 samples-x4-shared-mps.csv --only memcpy_shared --budget $((2 * BUDGET)) --machine $NAME-x4
    ends=$((ends + 20)) # fits are short, and what was measured shall not go unfitted
    step 10 fit $NAME-x4 samples-x4.csv samples-x4-shared.csv
    step 10 fit $NAME-x4-mps samples-x4.csv samples-x4-shared-mps.csv
    step 10 fit $NAME-2x2-tcp-8gbit samples-2x2-8gbit.csv
    step 10 fit $NAME-2x2-tcp-16gbit samples-2x2-16gbit.csv
fi
echo "=== $failed steps failed"
ls -l "$OUT"
tail -n 60 "$OUT/fits.txt"
[ "$failed" -eq 0 ]

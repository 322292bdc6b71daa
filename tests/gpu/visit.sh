#!/usr/bin/env bash
# What a short visit to a bare machine with GPUs does: unpack what it needs, build, and then the parts that are
# asked for. Every step has a time limit of its own, and all together stay within LIMIT seconds; a step that
# fails is told in the log and the next one runs.
#
# Usage: OUT=FOLDER visit.sh DEPS OPENMPI.tar.xz PART...
#   DEPS     folder of Debian packages, as files or unpacked (dpkg -x), or "" where the machine has them:
#            libhwloc-dev libhwloc15 libyaml-dev libyaml-0-2 libgsl-dev libgsl27 libgslcblas0
#            libexpat1-dev libexpat1 libjansson-dev libjansson4 zlib1g-dev libprotobuf-c-dev libprotobuf-c1
#            protobuf-c-compiler libprotobuf32 libprotoc32
#            libcmocka-dev libcmocka0
#            iproute2 libbpf1 libbsd0 libcap2 libelf1 libmd0 libmnl0 libxtables12
#   OPENMPI  Open MPI with CUDA support, a tarball that holds ompi-cuda/, or "" for the machine's own
#   PART     look          what the machine is
#            build         everything, with CUDA (30 s on 16 processors)
#            check         make check-gpu (five to six minutes)
#            bench         executed plans against the same calls by hand (20 s)
#            validate-x4   collectives of LARGE bytes on four GPUs, 1 to 8 processes each (up to 6 minutes)
#            validate-2x2  two namespace nodes of two GPUs, 8 Gbit/s of TCP between them: 8 processes a GPU, and
#                          longer messages for fewer; needs root (up to 4 minutes)
#            energy        joules of allreduces of 64 KiB to 64 MiB on four GPUs, 4 processes each, and the
#                          powers of the machine (up to three minutes)
#            nodes         namespace nodes of one GPU each, 8 Gbit/s of TCP between them: samples of two nodes, and
#                          collectives on two to all, to score what a fit on two nodes says of more (NODES_LIMIT
#                          seconds); needs root
#            host-nodes    8 namespace nodes of CPUs alone, 1 Gbit/s of TCP between them: samples of two nodes, and
#                          collectives on 2 to 8 (HOSTS_LIMIT seconds; tests/cluster/host_nodes.sh); needs root
#            calibrate     samples of the host and of the namespace nodes, fitted; needs root (7 minutes)
#            copies        how COPIERS processes share GPUs, copies and host memory, with and without MPS (three
#                          minutes)
#            staged        strategy mix of 8, 16 and 4 processes of one GPU, with and without MPS, with other numbers
#                          of staged members than the predicted ones, the most important cells first
#                          (STAGED_LIMIT seconds; nothing that an earlier call with the same BUILD has measured);
#                          before that the next part
#            dynamic       mix_doubling and mix_learning of 8 processes of one GPU beside mix with other numbers of
#                          staged members, 64 KiB to 16 MiB, 100 runs each (DYNAMIC_LIMIT seconds)
#            halo          halo exchange of two GPUs, 64 B to 1 MiB a side: rows in the first dimension, columns of
#                          4 bytes in the second; and SHOC's stencil (HALO_LIMIT seconds)
#            kernels       gas_tree beside the other kernels and NCCL, and global sums, on all GPUs (a minute)
#            graphs        runs in streams and graphs on all GPUs: random programs with known results, GRAPH_RUNS runs of
#                          each plan in graphs, then the kernels beside NCCL, without and with symmetric windows, in
#                          graphs of 100 and of 5 runs and enqueued one by one, and PyTorch's where it is installed (GRAPHS_LIMIT seconds)
#            large         16 to 256 MiB in graphs of 5 and waited for, on all GPUs: the copy engines, kernels, and
#                          NCCL by kernels and by the copy engines (LARGE_LIMIT seconds)
#            runs          samples of runs that are captured in graphs, and of enqueued ones, by processes that are
#                          bound to cores and others, fitted; then the kernels' and NCCL's collectives run so, to
#                          score the fits on (RUNS_LIMIT seconds)
#            chunks        three_step between two processes as a whole, in 2 to 64 chunks, and in as many as are
#                          predicted; on two GPUs, or on one where there is one (a minute and a half)
#            profile       the profiler recognizes a GPU's memory, and what it costs there (half a minute)
#            dropin        programs under libportolan-mpi.so: random calls with known results, also of several
#                          threads; in one job, collectives with it and by MPI itself in turns, 8 B to 64 MiB, one
#                          process a GPU (two and a half minutes)
#            dropin-mps    the same turns for 4 and for 8 processes on each GPU under MPS, 8 B to 1 MiB (100 s)
#            types         every datatype by every operation, executed on the GPUs; allreduces of float, half,
#                          bfloat16 and int8 by kernels and by NCCL, 4 KiB to 64 MiB (a minute)
#            tuner         NCCL takes the algorithm and the protocol that the tuner plugin's rules name (a minute)
#            torch-decode  a transformer's decode step in a graph, by NCCL as it is, without event nodes, and with
#                          libportolan-nccl.so in front (two minutes); this and the next parts need PyTorch
#            torch-losses  losses of DDP, FSDP2 and a pipeline with the drop-in and without (two minutes)
#            torch-messages  exchanges of unequal parts and rings, with PORTOLAN_MESSAGES and by NCCL (two minutes)
#            torch-tests   PyTorch's tests of its NCCL process group: which end otherwise with the drop-in
#                          (TORCH_LIMIT seconds, twice)
#            tree          what mapping gains on namespace nodes below a tree of switches and on 4 nodes, on the CPUs
#                          alone; needs root (as many pairs of patterns as fit into three minutes)
# Environment: AT, where to unpack (default /opt); BUILD (default AT/build-visit); LIMIT (default 500); LARGE, a
# range of bytes (default 128MiB:256MiB:2; per destination for alltoall(v), so that each buffer has four times
# as many: a GiB at most, of 3 GiB pinned host memory a process); REPEATS of these (default 7); BUDGET, seconds
# for each benchmark of calibrate (default 10); NAME, what machine files' names begin with (default h200);
# DROPIN_ORDER, the number of GPUs in whose order dropin and dropin-mps have ranks (default: across them in turn);
# NODES_LIMIT (default 150); HOSTS_LIMIT (default 190);
# COPIERS (default 32); STAGED_LIMIT (default 90), STAGED_FIRST (default 4MiB) and
# STAGED_BYTES (default "4:1MiB:16 64KiB:16MiB:16"), the sizes of staged; DYNAMIC_LIMIT (default 55), DYNAMIC_BYTES
# (default "1MiB 64KiB 16MiB") and DYNAMIC_REPEATS (default 100); HALO_LIMIT (default 75);
# LARGE_LIMIT (default 150); RUNS_LIMIT (default 420); GRAPHS_LIMIT (default 300) and GRAPH_RUNS (default 10000); CHUNK_GPUS (default:
# two if there are) and CHUNK_REPEATS (default 20); TREE_RATE, Mbit/s of the tree's slowest link (default 400),
# and TREE_REPEATS (default 5); TORCH_MACHINE (default h200-x2-graph), TORCH_LIMIT (default 200), TORCH_TESTS, a
# folder with PyTorch's test_c10d_nccl.py (default: fetched, and not kept), which needs NumPy and expecttest, and TORCH_ONLY, a
# pattern of its tests' names (default: all). DEVICE=host GPUS=4 makes a dry run.
#
# Leaves under OUT: log.txt; profile.txt; tables.txt, collectives-x4.csv, collectives-2x2-tcp.csv; powers.yaml,
# energy-x4.csv; samples-nodes.csv, collectives-nodes-tcp.csv; fits.txt, samples-*.csv; copies-*.csv; host-nodes/
# (samples*.csv, collectives.csv, score.txt); staged.csv, staged-mps.csv, score-staged.txt; dynamic.csv, dynamic.txt; halo.csv,
# halo.txt; dropin.txt, dropin-paired-PROCESSES.csv; types.txt; tuner.txt; torch-decode.csv, torch-losses.txt, torch-messages.csv, torch-tests.txt; tree.csv, sum-LOCAL.csv; graphs.csv, graphs.txt, windows.txt, runs.txt, torch.csv; large.csv; chunks.csv, chunks.txt; tree/ (see tests/cluster/tree.sh).
set -uo pipefail
self=$(readlink -f "${BASH_SOURCE[0]}")
start=$PWD
cd "$(dirname "$self")/../.." || exit 1
: "${AT:=/opt}" "${BUILD:=$AT/build-visit}" "${LIMIT:=500}" "${BUDGET:=10}" "${NAME:=h200}" "${DEPS:=}"
: "${LARGE:=128MiB:256MiB:2}" "${REPEATS:=7}" "${COPIERS:=32}" "${STAGED_LIMIT:=90}" "${HALO_LIMIT:=75}" "${NODES_LIMIT:=150}" "${HOSTS_LIMIT:=190}"
: "${LARGE_LIMIT:=150}" "${RUNS_LIMIT:=420}" "${GRAPHS_LIMIT:=300}" "${GRAPH_RUNS:=10000}"
: "${DYNAMIC_LIMIT:=55}" "${DYNAMIC_BYTES:=1MiB 64KiB 16MiB}" "${DYNAMIC_REPEATS:=100}"
: "${TORCH_MACHINE:=h200-x2-graph}" "${TORCH_LIMIT:=200}" "${TORCH_TESTS:=}" "${TORCH_ONLY:=}"
: "${STAGED_FIRST:=4MiB}" "${STAGED_BYTES:=4:1MiB:16 64KiB:16MiB:16}" "${CHUNK_REPEATS:=20}"
export AT BUILD LIMIT BUDGET DEPS
. tests/gpu/environment.sh
cluster=tests/cluster/cluster
calibrate=$BUILD/portolan-calibrate
validate=$BUILD/portolan-validate

# --- steps: each runs as `visit.sh --do STEP ARGUMENTS`, under a time limit

look() {
    uname -a
    nvidia-smi
    nvidia-smi topo -m
    lscpu | grep -v Vulnerability
    command -v nvcc mpirun ip tc make cc nvidia-cuda-mps-control compute-sanitizer
    "$cluster" check
}

check() { tests/gpu/check_gpu.sh; }

bench() { host_run 2 "$BUILD/bench/bench_exec" "$DEVICE"; }

# validate_row FILE NODES GPUS CORES COLLECTIVE BYTES REPEATS: the arguments that both kinds of cluster share. With
# helpers, what needs none was measured without them.
validate_row() {
    arguments=(--nodes "$2" --gpus-per-node "$3" --procs-per-gpu "$4" --collective "$5" --bytes "$6" --repeats "$7"
        --device "$DEVICE" --timeout 60 --force --out "$BUILD/rows/$1.csv")
    [ "$4" -eq 1 ] || arguments+=(--strategy "extra_message,dup_devptr")
}

validate_x4() { # CORES COLLECTIVE
    validate_row "x4-$2-$1" 1 4 "$1" "$2" "$LARGE" "$REPEATS"
    host_run $((4 * $1)) "$validate" --machine h200-x4 "${arguments[@]}" >>"$OUT/tables.txt"
}

validate_2x2() { # CORES COLLECTIVE BYTES REPEATS
    validate_row "2x2-$2-$1-${3%%:*}" 2 2 "$1" "$2" "$3" "$4"
    "$cluster" run -n $((4 * $1)) --ppn $((2 * $1)) --gpus-per-node 2 --oversubscribe --bind-to none \
        --mca btl "tcp,self,$within" -- "$validate" --machine h200-2x2-tcp "${arguments[@]}" >>"$OUT/tables.txt"
}

validate_nodes() { # NODES CORES COLLECTIVE
    validate_row "nodes-$1-$3-$2" "$1" 1 "$2" "$3" 4:4MiB:4 "$REPEATS"
    "$cluster" run -n $(($1 * $2)) --ppn "$2" --gpus-per-node 1 --oversubscribe --bind-to none \
        --mca btl "tcp,self,$within" -- "$validate" --machine h200-2x2-tcp "${arguments[@]}" >>"$OUT/tables.txt"
}

# That nothing can be read is no failure; the log says why.
if_measurable() { # COMMAND...
    local status=0
    "$@" 2>"$BUILD/said" || status=$?
    cat "$BUILD/said" >&2
    [ $status -eq 0 ] || grep -q "no energy can be measured here" "$BUILD/said"
}

energy_run() { # ARGUMENTS...
    host_run 16 "$validate" --nodes 1 --gpus-per-node 4 --procs-per-gpu 4 --collective allreduce --device "$DEVICE" \
        --timeout 60 "$@"
}

energy_powers() {
    local status=0
    if_measurable energy_run --machine h200-x4 --bytes 4 --powers >"$OUT/powers.yaml" || status=$?
    cat "$OUT/powers.yaml"
    return $status
}

# Predictions stand beside the joules where the powers of the GPUs are known.
energy_row() { # BYTES
    cp scenarios/machines/h200-x4.yaml "$BUILD/energy-x4.yaml"
    ! grep -q '^  gpu: ' "$OUT/powers.yaml" || cat "$OUT/powers.yaml" >>"$BUILD/energy-x4.yaml"
    if_measurable energy_run --machine "$BUILD/energy-x4.yaml" --bytes "$1" --repeats "$REPEATS" --energy \
        --strategy cuda_aware,three_step,dup_devptr --force --out "$BUILD/rows/energy-${1%%:*}.csv" >>"$OUT/tables.txt"
}

# merge BEGINNING FILE: all rows of the files with names of that beginning, below the provenance of the first of them
merge() {
    local rows=("$BUILD/rows/$1"*.csv*) # those of a step that was cut short too
    [ -e "${rows[0]}" ] || return
    merge_rows "${rows[@]}" >"$OUT/$2"
}

up() { # RATE [NODES]
    "$cluster" down
    "$cluster" up "${2:-2}" --rate "$1"
}

on_host() { # PROCESSES FILE ARGUMENTS...
    local processes=$1 file=$2
    shift 2
    host_run "$processes" "$calibrate" --force --repeats 20 --out "$OUT/$file" "$@"
}

on_cluster() { # RATE GPUS-PER-NODE FILE ARGUMENTS...
    local rate=$1 gpus=$2 file=$3 status=0
    shift 3
    up "$rate" || return
    "$cluster" run -n 4 --ppn 2 --gpus-per-node "$gpus" --bind-to none --mca btl "tcp,self,$within" -- \
        "$calibrate" --force --repeats 20 --out "$OUT/$file" "$@" || status=$?
    "$cluster" down
    return $status
}

under_mps() { # STEP ARGUMENTS...
    command -v nvidia-cuda-mps-control || return 77
    local status=0
    nvidia-cuda-mps-control -d || return
    "$@" || status=$?
    echo quit | nvidia-cuda-mps-control
    return $status
}

# One GPU's processes. Nothing is measured twice.
staged() { # MACHINE COLLECTIVE PROCESSES BYTES all|cross
    local file=$BUILD/rows/staged-$1-$2-$3-${4//:/-}.csv
    [ ! -e "$file" ] || return 0
    rm -f "$file".part-*
    host_run "$3" "$validate" --machine "$1" --device "$DEVICE" --nodes 1 --gpus-per-node 1 --owners-per-gpu "$3" \
        --procs-per-gpu "$3" --collective "$2" --strategy mix,three_step --staged "$5" --bytes "$4" --repeats 20 \
        --timeout 60 --force --out "$file" >>"$OUT/tables.txt"
}

# All numbers that differ from the predicted ones in one, and the policies, in one job.
dynamic() { # COLLECTIVE BYTES
    host_run 8 "$validate" --machine h200-x2 --device "$DEVICE" --nodes 1 --gpus-per-node 1 --owners-per-gpu 8 \
        --procs-per-gpu 8 --collective "$1" --strategy mix_doubling,mix_learning,mix --staged cross --bytes "$2" \
        --repeats "$DYNAMIC_REPEATS" --timeout 60 --force --out "$BUILD/rows/dynamic-$1-$2.csv" >>"$OUT/tables.txt"
}

# The median of each, with its tenth and ninth tenth, and over the median of the best numbers. Of mix_learning the
# second half of the runs counts too, in which it has tried them all.
dynamic_summary() {
    merge dynamic- dynamic.csv
    awk -F, '/^#/ || $3 == "strategy" { next }
        { print $1, $8, $3 ($11 == "" ? "" : "," $11 "/" $12), $10 }
        $3 == "mix_learning" && $9 > repeats / 2 { print $1, $8, $3 ",later", $10 }' repeats="$DYNAMIC_REPEATS" \
        "$OUT/dynamic.csv" | sort -k1,1 -k2,2n -k3,3 -k4,4g | awk '
        function row() {
            if (!count) return
            at[++rows] = key; median[rows] = time[int((count + 1) / 2)]
            low[rows] = time[int((count + 9) / 10)]; high[rows] = time[int((9 * count + 9) / 10)]
            split(key, part); cell = part[1] " " part[2]
            if (part[3] ~ "^mix,") {
                if (!(cell in best) || median[rows] < best[cell]) best[cell] = median[rows]
            }
            count = 0
        }
        { now = $1 " " $2 " " $3; if (now != key) row(); key = now; time[++count] = $4 }
        END {
            row()
            printf "%-10s %9s %-20s %10s %10s %10s %10s\n", "collective", "bytes", "strategy", "median us", "10 %", "90 %", "over best"
            for (i = 1; i <= rows; i++) {
                split(at[i], part)
                printf "%-10s %9d %-20s %10.1f %10.1f %10.1f %10.3f\n", part[1], part[2], part[3], 1e6 * median[i],
                    1e6 * low[i], 1e6 * high[i], median[i] / best[part[1] " " part[2]]
            }
        }' >"$OUT/dynamic.txt"
    sed -n 's/^# staged=//p' "$BUILD"/rows/dynamic-*.csv* >>"$OUT/dynamic.txt"
    cat "$OUT/dynamic.txt"
}

score_staged() {
    local machine
    merge staged-h200-x2-a staged.csv # what follows is the collective
    merge staged-h200-x2-mps staged-mps.csv
    for machine in h200-x2 h200-x2-mps; do
        local file=$OUT/staged${machine#h200-x2}.csv
        [ ! -e "$file" ] || "$BUILD/portolan" score --min-bytes 1 --machine $machine "$file"
    done >"$OUT/score-staged.txt"
}

# Two processes that are each other's neighbor on both sides. Derived types of many rows take milliseconds.
halo() { # SIDE CELLS REPEATS STRATEGIES
    local dims=2x1 wrap=1,0 extent=4x$2
    [ "$1" = rows ] || dims=1x2 wrap=0,1 extent=$2x4
    host_run 2 "$validate" --machine h200-x2 --device "$DEVICE" --nodes 1 --gpus-per-node 2 --procs-per-gpu 1 \
        --collective halo --dims $dims --wrap $wrap --extent "$extent" --strategy "$4" --repeats "$3" --timeout 60 \
        --force --out "$BUILD/rows/halo-$1-$((4 * $2)).csv" >"$BUILD/said" || return
    { echo "# $1, $((4 * $2)) bytes a side" && cat "$BUILD/said"; } | tee -a "$OUT/tables.txt" >>"$OUT/halo.txt"
}

stencil() {
    "$validate" --help | grep -q stencil2d || return 0
    local extent
    for extent in 512 2048; do
        host_run 2 "$validate" --pattern stencil2d --machine h200-x2 --device "$DEVICE" --nodes 1 --gpus-per-node 2 \
            --procs-per-gpu 1 --collective halo --dims 1x2 --extent ${extent}x$extent --datatype double \
            --repeats 20 --timeout 60
    done | tee -a "$OUT/tables.txt" >>"$OUT/halo.txt"
}

# One table, with the grid of each row.
gather_halos() {
    awk '/^#/ { next } !/^collective,/ || !head++' "$BUILD"/rows/halo-*.csv >"$OUT/halo.csv"
}

kernels_row() { # FILE.csv ARGUMENTS...
    local file=$1
    shift
    host_run "$GPUS" "$validate" --machine "$KERNELS_MACHINE" --device "$DEVICE" --nodes 1 --gpus-per-node "$GPUS" \
        --procs-per-gpu 1 --timeout 60 --force --out "$file" "$@" >>"$OUT/tables.txt"
}

tree() { # COLLECTIVE STRATEGIES
    kernels_row "$BUILD/rows/tree-$1.csv" --collective "$1" --strategy "$2" --bytes 64:64MiB:8 --repeats 30
}

sum() { # LOCAL
    kernels_row "$OUT/sum-$1.csv" --pattern global_sum --local "$1" --collective allreduce --datatype double --bytes 8 \
        --repeats 100
}

# chunks_row COLLECTIVE CHUNKS: one table, and its rows by the number of chunks that was asked for
chunks_row() {
    local table=$BUILD/rows/chunks-$1-$2.txt arguments=(--collective "$1") asked=(--chunks "$2")
    [ "$2" != predicted ] || asked=()
    if [ "$CHUNK_GPUS" -gt 1 ] && [ "$1" = pair ]; then arguments+=(--distance on_socket)
    elif [ "$1" = pair ]; then arguments+=(--distance on_gpu)
    elif [ "$CHUNK_GPUS" -gt 1 ]; then arguments+=(--nodes 1 --gpus-per-node 2 --procs-per-gpu 1)
    else arguments+=(--nodes 1 --gpus-per-node 1 --procs-per-gpu 2 --owners-per-gpu 2); fi
    [ "$1" = pair ] || arguments+=(--implementation isend_irecv)
    host_run 2 "$validate" --machine "$NAME-x2" "${arguments[@]}" "${asked[@]}" --bytes 4KiB:64MiB:4 \
        --strategy three_step --repeats "$CHUNK_REPEATS" --device "$DEVICE" --timeout 30 >"$table" || return
    cat "$table" >>"$OUT/tables.txt"
    awk -v row="$1,$2" '/^[0-9]/ {
        chunks = match($0, /[0-9]+ chunks/) ? substr($0, RSTART) + 0 : 1
        sub(/,? +[0-9]+ chunks/, ""); gsub(/[][,]/, " ")
        print row "," $1 "," chunks "," $4 "," $5 "," $8
    }' "$table" >>"$OUT/chunks.csv"
}

streams() { host_run "$GPUS" "$BUILD/tests/test_streams" "$1" "$2" "$3" "$DEVICE"; } # WHAT COUNT SEED

# graphs_row COLLECTIVE BYTES STRATEGY RUNS RUNS-IN-A-GRAPH REPEATS: 0 in a graph is none; nccl_windows is NCCL on
# symmetric windows, beside NCCL once more, and nccl_engines the same by the copy engines, where NCCL has that
graphs_row() {
    local own=(--graph "$5") file=$BUILD/rows/graphs-$1-${2//:/-}-$5-$3.csv
    [ "$5" -gt 0 ] || own=(--enqueue)
    [ "$3" != nccl_engines ] || { local -x NCCL_CTA_POLICY=2 && set -- "$1" "$2" nccl_windows "${@:4}"; }
    [ "$3" != nccl_windows ] || { own+=(--nccl-windows) && set -- "$1" "$2" nccl "${@:4}"; }
    kernels_row "$file" --collective "$1" --datatype float --bytes "$2" --strategy "$3" --queued "$4" --repeats "$6" "${own[@]}"
}

# What NCCL itself says of its kernels on symmetric windows: a row of nccl_windows alone would not tell.
windows_used() {
    local log=$BUILD/windows.log
    rm -f "$log".*
    NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,REG,TUNING NCCL_DEBUG_FILE=$log.%p \
        kernels_row "$BUILD/windows-rows.csv" --collective allreduce --datatype float --bytes 1KiB:4MiB:64 --strategy nccl \
        --nccl-windows --queued 5 --graph 5 --repeats 3 || return
    [ "$DEVICE" = cuda ] || return 0
    cat "$log".* | grep -i 'symmetric\|Algo' | sed 's/.*NCCL INFO //' | sort | uniq -c | tee "$OUT/windows.txt"
    grep -qi symmetric "$OUT/windows.txt"
}

# bound KIND: whether its processes keep to cores of their own, as many as there are for each but two at most: one that
# works, and one for what else NCCL and the driver do
bound() { [ "${1%-bound}" != "$1" ]; }
bound_cores() {
    local cores=$(($(nproc) / GPUS))
    echo $((cores < 2 ? 1 : 2))
}

runs_samples() { # KIND: graph, enqueued or enqueued-bound
    ! bound "$1" || local -x BOUND
    ! bound "$1" || BOUND=$(bound_cores)
    host_run "$GPUS" "$calibrate" --force --repeats 20 --budget 15 --bytes 8:16MiB:2 --runs "${1%-bound}" \
        --machine "h200-x$GPUS" --out "$OUT/samples-runs-$1.csv" || return
    "$BUILD/portolan" fit "$OUT/samples-runs-$1.csv" --name "h200-x$GPUS-$1" --inherits "$KERNELS_MACHINE" \
        --out "$OUT/h200-x$GPUS-$1.yaml" --force --report
}

# Each kind's fit on its own runs, and enqueued runs of bound processes on the fit of unbound ones.
runs_scores() {
    local fit rows
    for fit in graph enqueued enqueued-bound; do
        for rows in graph enqueued enqueued-bound; do
            [ "${fit%-bound}" = "${rows%-bound}" ] || continue
            [ -e "$OUT/h200-x$GPUS-$fit.yaml" ] || continue
            [ -e "$OUT/collectives-runs-$rows.csv" ] || continue
            echo "=== fit of $fit, runs $rows"
            "$BUILD/portolan" score --min-bytes 1 --machine "$OUT/h200-x$GPUS-$fit.yaml" "$OUT/collectives-runs-$rows.csv"
        done
    done >"$OUT/runs.txt"
    awk '/^===/ { print } /^all$/ { all = 1 } /^===/ { all = 0 } all && /cells|model/ { print }' "$OUT/runs.txt"
}

large_waited() { # COLLECTIVE
    kernels_row "$BUILD/rows/large-$1.csv" --collective "$1" --datatype float --bytes 16MiB:256MiB:4 --repeats 15 \
        --strategy gas_split,copy_engine,cuda_aware,nccl
}

torch_peer() { python3 tests/bench/peer_torch.py 100 >"$OUT/torch.csv"; }

# The best kernel and NCCL without and with symmetric windows, by collective, size and runs in a graph: median and quartiles of a run, and what the call
# of a launch or an enqueued run takes.
graphs_summary() {
    local file
    for file in "$BUILD"/rows/graphs-*.csv*; do
        awk -F, '/^# graph=/ { graph = substr($0, 9) } /^# call_s=/ { call[substr($1, 10) "," $2] = $3 }
            /^#/ || $3 == "strategy" || (FILENAME ~ /nccl_windows|nccl_engines/ && $3 == "nccl") { next }
            FILENAME ~ /nccl_engines/ { call["nccl_engines," $7] = call[$3 "," $7]; $3 = "nccl_engines" }
            { print $1 "," $7 "," graph "," $3 "," $8 "," $9 "," call[$3 "," $7] }' "$file"
    done | sort -t, -k1,1 -k3,3n -k2,2n -k4,4 -k6,6g | sed '1i collective,bytes,graph,strategy,run,seconds,call_seconds' >"$OUT/graphs.csv"
    awk -F, '
        function row(   cell, who) {
            if (!count) return
            split(key, part, " "); cell = part[1] " " part[2] " " part[3]
            who = part[4] ~ /^nccl/ ? part[4] : "ours"
            if (!((cell, who) in median) || time[int((count + 1) / 2)] < median[cell, who]) {
                median[cell, who] = time[int((count + 1) / 2)]; name[cell, who] = part[4]; calls[cell, who] = call
                low[cell, who] = time[int((count + 3) / 4)]; high[cell, who] = time[int((3 * count + 3) / 4)]
            }
            if (!(cell in seen)) { seen[cell] = 1; order[++cells] = cell }
            count = 0
        }
        function others(cell, who, width) {
            if ((cell, who) in median)
                printf " %*.2f %9.2f %9.2f %8.2f %6.3f", width, low[cell, who], median[cell, who], high[cell, who], calls[cell, who],
                    median[cell, "ours"] / median[cell, who]
            else
                printf " %*s %9s %9s %8s %6s", width, "-", "-", "-", "-", "-"
        }
        /^#|^collective/ { next }
        { now = $1 " " $2 " " $3 " " $4; if (now != key) row(); key = now; time[++count] = 1e6 * $6; call = 1e6 * $7 }
        END {
            row()
            printf "%-15s %10s %6s %-14s %9s %9s %9s %8s %9s %9s %9s %8s %6s %11s %9s %9s %8s %6s %12s %9s %9s %8s %6s\n", "collective", "bytes", "graph",
                "kernel", "25 % us", "median", "75 %", "call", "nccl 25 %", "median", "75 %", "call", "ratio", "window 25 %", "median",
                "75 %", "call", "ratio", "engines 25 %", "median", "75 %", "call", "ratio"
            for (i = 1; i <= cells; i++) {
                c = order[i]; split(c, part, " ")
                printf "%-15s %10d %6d %-14s %9.2f %9.2f %9.2f %8.2f", part[1], part[2], part[3], name[c, "ours"], low[c, "ours"],
                    median[c, "ours"], high[c, "ours"], calls[c, "ours"]
                others(c, "nccl", 9)
                others(c, "nccl_windows", 11)
                others(c, "nccl_engines", 12)
                printf "\n"
            }
        }' "$OUT/graphs.csv" | tee "$OUT/graphs.txt"
}

# By size: the whole, the predicted and the best number of chunks, by their medians.
chunks_summary() {
    awk -F, 'NR == 1 { next }
        { key = $1 " " $3; if (!(key in seen)) { seen[key] = 1; order[++count] = key } }
        $2 == 1 { whole[key] = $6; whole_predicted[key] = $7 }
        $2 == "predicted" { picked[key] = $6; chunks[key] = $4; predicted[key] = $7 }
        !(key in best) || $6 < best[key] { best[key] = $6; at[key] = $4 }
        END {
            printf "%-22s %12s %9s %12s %6s %6s %9s %12s\n", "collective bytes", "whole us", "chunks", "us", "gain",
                "forecast", "pred/meas", "best (chunks)"
            for (i = 1; i <= count; i++) {
                k = order[i]
                printf "%-22s %12.1f %9d %12.1f %6.2f %6.2f %9.2f %12.1f (%d)\n", k, whole[k], chunks[k], picked[k],
                    whole[k] / picked[k], whole_predicted[k] / predicted[k], predicted[k] / picked[k], best[k], at[k]
            }
        }' "$OUT/chunks.csv" | tee "$OUT/chunks.txt"
}

placed() {
    PORTOLAN_CLUSTER=portolan OUT=$OUT/tree RATE=${TREE_RATE:-400} REPEATS=${TREE_REPEATS:-5} tests/cluster/tree.sh &&
        cat "$OUT/tree/gains.csv"
}

host_nodes() {
    PORTOLAN_CLUSTER=portolan OUT=$OUT/host-nodes WORK=$BUILD/host-nodes HOSTS_LIMIT=$HOSTS_LIMIT BUDGET=5 \
        tests/cluster/host_nodes.sh
}

profile_spaces() {
    OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,$within tests/mpi/test_profile.sh >"$OUT/profile.txt"
}

# Of a call whose buffer the driver must be asked about.
profile_costs() {
    local processes driver=cuda
    [ "$DEVICE" = cuda ] || driver=
    for processes in 1 2; do
        host_run $processes env LD_PRELOAD="$BUILD/libportolan-profile.so" PORTOLAN_PROFILE="$BUILD/bench/" \
            "$BUILD/bench/bench_profile" $driver || return
    done >>"$OUT/profile.txt"
}

under_dropin=(LD_PRELOAD="$BUILD/libportolan-mpi.so" PORTOLAN_DEVICE="$DEVICE" PORTOLAN_EXPLAIN=1
    PORTOLAN_MACHINE=scenarios/machines/h200-x2.yaml)
gpus() { echo "${GPUS:-$(nvidia-smi -L | wc -l)}"; }

dropin_run() { # PROCESSES-OF-A-GPU [VARIABLE=VALUE]... PROGRAM ARGUMENT...
    local cuda=cuda processes=$(($1 * $(gpus)))
    [ "$DEVICE" = cuda ] || cuda=
    host_run $processes timeout 55 env "${@:2}" $cuda 2>>"$OUT/dropin.txt"
}
dropin_threads() { # [VARIABLE=VALUE]...
    echo "# threads ${*:-without}" >>"$OUT/dropin.txt"
    dropin_run 1 "$@" "$BUILD/tests/test_dropin" threads 300 1
}
dropin_random() { dropin_run 1 "${under_dropin[@]}" "$BUILD/tests/test_dropin" random 300 "$1"; } # SEED
dropin_capture() { dropin_run 1 "${under_dropin[@]}" "$BUILD/tests/test_dropin" capture 4; }
# A row is of a collective, a size, and the processes' mean or the slowest one; a step that is cut short leaves those
# that it has.
dropin_paired() { # PROCESSES-OF-A-GPU BYTES SECONDS [VARIABLE=VALUE]...
    local file=$OUT/dropin-paired-$1.csv status=0
    echo "# $(gpus) GPUs of $1 processes each, ${*:4}; $(cat "$BUILD/version")" >"$file"
    dropin_run "$1" "${under_dropin[@]}" PORTOLAN_EXPLAIN=0 "${@:4}" "$BUILD/tests/test_dropin" paired "$2" "$3" "${DROPIN_ORDER:-1}" >>"$file" || status=$?
    awk -F, '/^#/ || /^collective/ { next } { count[$NF]++; rows++ } $NF == "slower" { print "slower: " $0 }
        END { printf "%d rows", rows; for (verdict in count) printf ", %d %s", count[verdict], verdict; print "" }' "$file"
    return $status
}

# Two choices that NCCL would not make at these sizes, then a file that is not right. The log of rank 0 names the
# algorithm and the protocol of every call. Without a GPU, what NCCL would ask is asked by the unit test.
types_right() {
    host_run "$(gpus)" "$BUILD/tests/test_exec" types 3 "$RANDOM" "$DEVICE" &&
        host_run "$(gpus)" "$BUILD/tests/test_exec" specials 40 "$RANDOM" "$DEVICE"
}

types_times() { # DATATYPE
    local most=64MiB
    [ "$DEVICE" = cuda ] || most=64KiB
    host_run "$(gpus)" "$validate" --machine h200-x2 --nodes 1 --gpus-per-node "$(gpus)" --procs-per-gpu 1 \
        --collective allreduce --strategy gas_allgather,gas_split,nccl --bytes "4KiB:$most:16" --datatype "$1" \
        --queued 20 --repeats 11 --device "$DEVICE" --timeout 15 --force --out "$BUILD/rows/types-$1.csv" \
        >>"$OUT/types.txt"
}

tuner() {
    local rules=$BUILD/tuner.csv log=$BUILD/tuner.log
    : "${GPUS:=$(nvidia-smi -L | wc -l)}"
    tuned() {
        env NCCL_TUNER_PLUGIN="$BUILD/libportolan-nccl-tuner.so" NCCL_TUNER_CONFIG_FILE="$rules" NCCL_DEBUG=INFO \
            NCCL_DEBUG_SUBSYS=INIT,ENV,TUNING NCCL_DEBUG_FILE="$log.%p" mpirun -n "$GPUS" --oversubscribe --bind-to none \
            --mca pml ob1 --mca btl "self,$within" "$validate" --machine h200-x2 --nodes 1 --gpus-per-node "$GPUS" \
            --procs-per-gpu 1 --collective allreduce --strategy nccl --bytes "$1" --repeats 5 --device cuda --timeout 60 \
            --force --out "$BUILD/tuner-rows.csv" || return
        cat "$log".* >"$log"
        rm -f "$log".*
        grep 'portolan:\|Algo' "$log" | sort -u >>"$OUT/tuner.txt"
    }
    if [ "$DEVICE" = host ]; then
        make -C . BUILD="$BUILD" NVCC=none "$BUILD/tests/test_tuner" && BUILD=$BUILD "$BUILD/tests/test_tuner"
        return
    fi
    : >"$OUT/tuner.txt"
    printf 'allreduce,0,65536,ring,simple,0,1,%d\nallreduce,65537,16777216,ring,ll,2,1,%d\n' "$GPUS" "$GPUS" >"$rules"
    tuned 4KiB && grep -iq ' 4096 Bytes -> Algo RING proto SIMPLE' "$log" || return
    tuned 16MiB && grep -iq ' 16777216 Bytes -> Algo RING proto LL ' "$log" || return
    printf 'allreduce,0,65536,rings,simple,0,1,%d\n' "$GPUS" >"$rules"
    tuned 4KiB && grep -q "portolan: off, as $rules:1: unknown algorithm" "$log"
}

# --- PyTorch, with the drop-in for NCCL and without

torch_way() { # nccl|nomix|portolan|messages COMMAND...
    local variables=(PORTOLAN_DROPIN=0)
    case $1 in
    nomix) variables=(NCCL_GRAPH_MIXING_SUPPORT=0) ;;
    portolan) variables=(LD_PRELOAD="$BUILD/libportolan-nccl.so" PORTOLAN_MACHINE="$TORCH_MACHINE" PORTOLAN_EXPLAIN=1) ;;
    messages) variables=(LD_PRELOAD="$BUILD/libportolan-nccl.so" PORTOLAN_MACHINE="$TORCH_MACHINE" PORTOLAN_EXPLAIN=1
        PORTOLAN_MESSAGES=1MiB) ;;
    esac
    env "${variables[@]}" "${@:2}"
}

torch_run() { # WAY PART ARGUMENT
    torch_way "$1" python3 -m torch.distributed.run --standalone --nproc-per-node "$GPUS" tests/gpu/pytorch.py "${@:2}"
}

# With the drop-in, it must have run allreduces.
torch_decode() { # WAY
    local status=0
    torch_run "$1" decode "$1" >>"$OUT/torch-decode.csv" 2>"$BUILD/torch-decode-$1.log" || status=$?
    cat "$BUILD/torch-decode-$1.log" >&2
    [ $status -eq 0 ] && { [ "$1" != portolan ] || grep -q ' x allreduce .* bytes: [^N]' "$BUILD/torch-decode-$1.log"; }
}

# With the drop-in, it must have passed messages.
torch_messages() { # WAY
    local status=0
    torch_run "$1" messages "$1" >>"$OUT/torch-messages.csv" 2>"$BUILD/torch-messages-$1.log" || status=$?
    cat "$BUILD/torch-messages-$1.log" >&2
    [ $status -eq 0 ] && { [ "$1" != messages ] || grep -q ' x send or receive: pipes$' "$BUILD/torch-messages-$1.log"; }
}

torch_losses() {
    rm -rf "$BUILD/losses"
    torch_run nccl losses "$BUILD/losses/nccl" && torch_run portolan losses "$BUILD/losses/portolan" || return
    python3 tests/gpu/pytorch.py same "$BUILD"/losses/{nccl,portolan} >"$OUT/torch-losses.txt"
}

torch_fetch() {
    local version
    version=$(python3 -c 'import torch; print(torch.__version__.split("+")[0])') || return
    git clone --quiet --depth 1 --filter blob:none --sparse --branch "v$version" https://github.com/pytorch/pytorch "$BUILD/pytorch" &&
        git -C "$BUILD/pytorch" sparse-checkout set test/distributed
}

# Some of them fail anyhow.
torch_test() { # WAY
    local status=0
    torch_way "$1" timeout -k 5 "$TORCH_LIMIT" python3 "$TORCH_TESTS/test_c10d_nccl.py" -v "${@:2}" \
        >"$BUILD/torch-tests-$1.log" 2>&1 || status=$?
    [ $status -ne 124 ] && [ $status -ne 137 ] || echo "cut short" >>"$BUILD/torch-tests-$1.log"
    tail -n 5 "$BUILD/torch-tests-$1.log"
}

torch_tests_compared() {
    python3 tests/gpu/pytorch.py tests "$BUILD"/torch-tests-{nccl,portolan}.log >"$OUT/torch-tests.txt"
}

fit() { # NAME SAMPLES...
    local name=$1 status=0
    shift
    echo "=== $name" >>"$OUT/fits.txt"
    (cd "$OUT" && "$BUILD/portolan" fit "$@" --name "$name" --out "$BUILD/$name.yaml" --force --report) \
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

usage() { sed -n '/^# Usage/,/^# Leaves/s/^# \{0,1\}//p' "$self"; }
wrong_usage() {
    echo "visit.sh: $*" >&2
    usage >&2
    exit 2
}
if [ "${1:-}" = --help ]; then
    usage
    exit
fi
[ $# -ge 3 ] && [ -n "${OUT:-}" ] || wrong_usage "OUT, DEPS, OPENMPI and a part are needed"
for part in "${@:3}"; do
    case $part in
    look | build | check | bench | validate-x4 | validate-2x2 | nodes | host-nodes | energy | calibrate | copies | staged | dynamic | halo | kernels | graphs | \
        large | runs | chunks | profile | dropin | dropin-mps | types | tuner | torch-decode | torch-losses | torch-messages | torch-tests | tree) ;;
    *) wrong_usage "no such part: $part" ;;
    esac
done
cd "$start" || exit 1
mkdir -p "$OUT" "$AT" "$BUILD/rows" "$BUILD/mps"
OUT=$(readlink -f "$OUT")
AT=$(readlink -f "$AT")
BUILD=$(readlink -f "$BUILD")
DEPS=${1:+$(readlink -f "$1")}
openmpi=${2:+$(readlink -f "$2")}
cd "$OLDPWD" || exit 1
log=$OUT/log.txt
unpack "$DEPS" "$openmpi" || exit 1
export OUT LARGE REPEATS CHUNK_REPEATS DYNAMIC_REPEATS HOSTS_LIMIT
[ "$DEVICE" = cuda ] || export PORTOLAN_EMULATED_GPUS=${GPUS:-4}
: "${CHUNK_GPUS:=${PORTOLAN_EMULATED_GPUS:-$(nvidia-smi -L | wc -l)}}"
NODES_GPUS=${PORTOLAN_EMULATED_GPUS:-$(nvidia-smi -L | wc -l)}
export CHUNK_GPUS NAME TORCH_MACHINE TORCH_LIMIT TORCH_TESTS
export CUDA_MPS_PIPE_DIRECTORY=$BUILD/mps CUDA_MPS_LOG_DIRECTORY=$BUILD/mps

# A daemon that a cut-short step left behind, and nodes.
finish() {
    "$cluster" down >>"$log" 2>&1
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
    echo "=== $*: exit $status after $((SECONDS - started)) s" | tee -a "$log"
    return "$status"
}

# As far as the limit allows: what was measured by then is in the files.
as_far_as() { # SECONDS STEP ARGUMENTS...
    step "$@"
    [ $? -ne 124 ] || failed=$((failed - 1))
}

part_validate_x4() {
    local collective cores
    rm -f "$BUILD"/rows/x4-*
    for collective in allreduce alltoall alltoallv; do
        for cores in 1 2 4 8; do as_far_as 60 validate_x4 $cores $collective; done
    done
    step 10 merge x4- collectives-x4.csv
}

part_validate_2x2() {
    local collective cores
    rm -f "$BUILD"/rows/2x2-*
    step 20 up 8gbit || return
    for collective in allreduce alltoall alltoallv; do as_far_as 30 validate_2x2 8 $collective 4:4MiB:4 15; done
    for collective in allreduce alltoall alltoallv; do
        for cores in 1 2 4 8; do as_far_as 15 validate_2x2 $cores $collective 16MiB:64MiB:4 "$REPEATS"; done
    done
    "$cluster" down
    step 10 merge 2x2- collectives-2x2-tcp.csv
}

# The largest number of nodes first: what the limit cuts off is least missed.
part_nodes() {
    local ends=$((SECONDS + NODES_LIMIT)) nodes cores collective
    rm -f "$BUILD"/rows/nodes-*
    as_far_as 60 on_cluster 8gbit 1 samples-nodes.csv --only ping_pong,injection,multi_message,copies,signals \
        --bytes 1:16MiB --budget 4 --machine "$NAME-nodes-tcp"
    for ((nodes = NODES_GPUS; nodes >= 2; nodes--)); do
        step 20 up 8gbit $nodes || return
        for cores in 1 2; do
            for collective in allreduce alltoall alltoallv; do as_far_as 20 validate_nodes $nodes $cores $collective; done
        done
    done
    "$cluster" down
    ends=$((SECONDS + 10)) # what was measured shall not go unmerged
    step 10 merge nodes- collectives-nodes-tcp.csv
}

part_energy() {
    rm -f "$BUILD"/rows/energy-*
    step 80 energy_powers # 25 windows of 20 steps of the counters, which take 0.1 s on an H200
    as_far_as 40 energy_row 64KiB:4MiB:64
    as_far_as 40 energy_row 64MiB
    ! compgen -G "$BUILD/rows/energy-*" >/dev/null || step 10 merge energy- energy-x4.csv
}

part_calibrate() {
    local tcp=ping_pong,injection,multi_message,copies,signals
    step 165 on_host 4 samples-x4.csv --budget "$BUDGET" --machine "$NAME-x4"
    step 110 on_cluster 8gbit 2 samples-2x2-8gbit.csv --only $tcp --budget "$BUDGET" --machine "$NAME-2x2-tcp-8gbit"
    step 110 on_cluster 16gbit 2 samples-2x2-16gbit.csv --only $tcp --budget "$BUDGET" --machine "$NAME-2x2-tcp-16gbit"
    step 45 on_host 32 samples-x4-shared.csv --only memcpy_shared --budget $((2 * BUDGET)) --machine "$NAME-x4"
    step 45 under_mps on_host 32 samples-x4-shared-mps.csv --only memcpy_shared --budget $((2 * BUDGET)) --machine "$NAME-x4"
    local ends=$((SECONDS + 20)) # fits are short, and what was measured shall not go unfitted
    step 10 fit "$NAME-x4" samples-x4.csv samples-x4-shared.csv
    step 10 fit "$NAME-x4-mps" samples-x4.csv samples-x4-shared-mps.csv
    step 10 fit "$NAME-2x2-tcp-8gbit" samples-2x2-8gbit.csv
    step 10 fit "$NAME-2x2-tcp-16gbit" samples-2x2-16gbit.csv
    tail -n 60 "$OUT/fits.txt"
}

# What one process or the host alone does needs no second time under MPS.
part_copies() {
    local shared=(--only "memcpy_mixed,memcpy_shared" --bytes 4:16MiB --budget 25 --machine "$NAME")
    step 80 on_host "$COPIERS" copies-shared.csv "${shared[@]}"
    step 65 on_host "$COPIERS" copies-host.csv --only memcpy_queued,memcpy_method,memcpy_h2h,exchange,staged,ping_pong_strided \
        --budget 9 --machine "$NAME"
    step 80 under_mps on_host "$COPIERS" copies-shared-mps.csv "${shared[@]}"
}

part_dynamic() {
    local ends=$((SECONDS + DYNAMIC_LIMIT)) collective bytes
    rm -f "$BUILD"/rows/dynamic-*
    for bytes in $DYNAMIC_BYTES; do
        for collective in allreduce allgather; do as_far_as 20 dynamic $collective "$bytes"; done
    done
    ends=$((SECONDS + 10)) # what was measured shall not go unsummed
    step 10 dynamic_summary
    grep 'over best\|doubling\|learning' "$OUT/dynamic.txt"
}

part_staged() {
    local ends=$((SECONDS + STAGED_LIMIT)) collective processes bytes
    for collective in allreduce allgather; do as_far_as 30 staged h200-x2 $collective 8 "$STAGED_FIRST" all; done
    for processes in 8 16 4; do
        for bytes in $STAGED_BYTES "$STAGED_FIRST"; do
            for collective in allreduce allgather; do
                as_far_as 40 staged h200-x2 $collective $processes "$bytes" cross
                [ "$DEVICE" = host ] || as_far_as 40 under_mps staged h200-x2-mps $collective $processes "$bytes" cross
            done
        done
    done
    ends=$((SECONDS + 20)) # what was measured shall not go unscored
    step 20 score_staged
    cat "$OUT/score-staged.txt"
}

part_halo() {
    local ends=$((SECONDS + HALO_LIMIT)) cells all names
    names=$("$BUILD/portolan" predict --machine h200-x2 --collective halo --nodes 1 --dims 2x1 --extent 4x16 --format csv |
        awk -F, '/^#/ { next } !column { for (column = 1; $column != "strategy"; column++); next } { print $column }' | sort -u | paste -sd,)
    rm -f "$BUILD"/rows/halo-* "$OUT/halo.txt"
    for cells in 1024 16 16384 262144 64 256 4096 65536; do
        all=$names
        as_far_as 20 halo rows $cells 50 "$all"
        [ $cells -le 4096 ] || all=$(sed 's/cuda_aware,\{0,1\}//' <<<"$names")
        as_far_as 20 halo columns $cells 30 "$all"
    done
    as_far_as 30 stencil
    ends=$((SECONDS + 10)) # what was measured shall not go ungathered
    step 10 gather_halos
    grep -v '^#.*setup\|does not apply' "$OUT/halo.txt"
}

# The machine of the host device knows all costs.
on_all_gpus() {
    : "${GPUS:=$(nvidia-smi -L | wc -l)}"
    KERNELS_MACHINE=h200-x$GPUS
    [ "$DEVICE" = cuda ] || KERNELS_MACHINE=tests/fixtures/machine.yaml
    export GPUS KERNELS_MACHINE
}

# A machine that has some cost for all, where predictions don't matter.
graphs_machine() {
    KERNELS_MACHINE=$BUILD/graphs.yaml
    awk -v gpus="$GPUS" '/^[^ ]/ { skip = 0 } skip { next } { print }
        /^nccl:/ { skip = 1; count = split("allreduce alltoall allgather reduce_scatter", name, " ")
            for (i = 1; i <= count; i++)
                printf "  %s: [{gpus: %d, alpha_s: 1e-5, beta_s_per_byte: 1e-11}]\n", name[i], gpus }' \
        tests/fixtures/machine.yaml >"$KERNELS_MACHINE"
}

# Each strategy has a step of its own, which names the one that hangs.
graphs_rows() { # COLLECTIVE BYTES STRATEGIES RUNS RUNS-IN-A-GRAPH REPEATS
    local strategy limit
    for strategy in ${3//,/ }; do
        limit=8
        [[ $strategy != nccl* ]] || limit=16
        as_far_as $limit graphs_row "$1" "$2" "$strategy" "${@:4}"
    done
}

# Whether results are right comes first, then what is compared most.
part_graphs() {
    local ends=$((SECONDS + GRAPHS_LIMIT)) kernels=gas_allgather,gas_split,gas_gather,gas_read,gas_tree others=nccl,nccl_windows collective strategy
    on_all_gpus
    graphs_machine
    rm -f "$BUILD"/rows/graphs-*
    step 10 streams refusals 0 0
    step 40 streams absent 0 0
    step 25 streams random 300 1
    step 30 streams replays "$GRAPH_RUNS" 1
    graphs_rows allreduce 1KiB:4MiB:4 $kernels,$others 100 100 15
    for collective in alltoall alltoallv allgather; do
        graphs_rows $collective 1KiB:4MiB:16 gas_allgather,gas_split,gas_read,$others 100 100 15
    done
    graphs_rows reduce_scatter 1KiB:4MiB:16 gas_split,gas_read,$others 100 100 15
    graphs_rows allreduce 1KiB:4MiB:4 gas_allgather,gas_split,$others 100 5 15
    graphs_rows allreduce 1KiB:4MiB:16 gas_allgather,gas_split,$others 100 0 15
    for strategy in gas_split copy_engine ${others//,/ }; do as_far_as 20 graphs_row allreduce 64MiB:1GiB:16 $strategy 5 5 5; done
    as_far_as 15 windows_used
    ! python3 -c 'import torch' 2>/dev/null || as_far_as 30 torch_peer
    ends=$((SECONDS + 10)) # what was measured shall not go unsummed
    step 10 graphs_summary
}

# Large data. The waited rows are priced by the machine's own file.
part_large() {
    local ends=$((SECONDS + LARGE_LIMIT)) collective strategy own
    on_all_gpus
    own=$KERNELS_MACHINE
    graphs_machine
    rm -f "$BUILD"/rows/graphs-* "$BUILD"/rows/large-*
    step 40 streams random 200 2
    for collective in allreduce allgather alltoall; do
        for strategy in gas_split copy_engine nccl nccl_windows nccl_engines; do
            [ $collective,$strategy = allreduce,nccl_engines ] || as_far_as 15 graphs_row $collective 16MiB:256MiB:4 $strategy 5 5 7
        done
    done
    KERNELS_MACHINE=$own
    for collective in allreduce allgather alltoall; do as_far_as 20 large_waited $collective; done
    ends=$((SECONDS + 10)) # what was measured shall not go unsummed
    step 10 graphs_summary
    step 10 merge large- large.csv
}

# runs_rows KIND RUNS-IN-A-GRAPH KERNELS: of every collective, into one file
runs_rows() {
    local kernels=$3 collective
    ! bound "$1" || local -x BOUND
    ! bound "$1" || BOUND=$(bound_cores)
    KERNELS_MACHINE=$OUT/h200-x$GPUS-$1.yaml
    rm -f "$BUILD"/rows/graphs-*
    graphs_rows allreduce 1KiB:4MiB:4 gas_allgather,gas_split,"$kernels",nccl 100 "$2" 11
    for collective in alltoall alltoallv allgather; do
        graphs_rows $collective 1KiB:4MiB:4 gas_allgather,gas_split,gas_read,nccl 100 "$2" 11
    done
    graphs_rows reduce_scatter 1KiB:4MiB:4 gas_split,gas_read,nccl 100 "$2" 11
    graphs_rows reduce 1KiB:4MiB:16 gas_split,"$kernels",nccl 100 "$2" 11
    graphs_rows broadcast 1KiB:4MiB:16 gas_tree,nccl 100 "$2" 11
    step 10 merge graphs- "collectives-runs-$1.csv"
}

part_runs() {
    local ends=$((SECONDS + RUNS_LIMIT)) kind
    on_all_gpus
    [ "$DEVICE" = cuda ] || KERNELS_MACHINE=$PWD/$KERNELS_MACHINE
    for kind in graph enqueued enqueued-bound; do step 40 runs_samples $kind; done
    runs_rows graph 100 gas_gather,gas_read,gas_tree
    runs_rows enqueued 0 gas_read
    runs_rows enqueued-bound 0 gas_read
    ends=$((SECONDS + 20)) # what was measured shall not go unscored
    step 20 runs_scores
}

part_kernels() {
    local own
    on_all_gpus
    rm -f "$BUILD"/rows/tree-*
    as_far_as 40 tree allreduce gas_read,gas_gather,gas_allgather,gas_split,gas_tree,nccl
    as_far_as 40 tree reduce gas_read,gas_gather,gas_split,gas_tree,nccl
    as_far_as 40 tree broadcast gas_tree,btb,cuda_aware,nccl
    step 10 merge tree- tree.csv
    for own in 64 512 4KiB 32KiB 256KiB 2MiB 16MiB; do as_far_as 20 sum $own; done
}

part_chunks() {
    local collective chunks
    echo "collective,asked,bytes,chunks,least_us,median_us,predicted_us" >"$OUT/chunks.csv"
    for collective in pair alltoall; do
        for chunks in 1 predicted 2 4 8 16 32 64; do step 30 chunks_row $collective $chunks; done
    done
    step 10 chunks_summary
}

part_profile() {
    step 30 profile_spaces
    step 20 profile_costs
    cat "$OUT/profile.txt"
}

part_dropin() {
    local seed
    for seed in 1 2 3; do step 60 dropin_random $seed; done
    [ "$DEVICE" != cuda ] || step 30 dropin_capture
    step 60 dropin_threads
    step 60 dropin_threads "${under_dropin[@]}" PORTOLAN_STRATEGY=three_step
    step 60 dropin_threads "${under_dropin[@]}"
    as_far_as 60 dropin_paired 1 67108864 40
}

part_dropin_mps() {
    local with_mps=() processes
    [ "$DEVICE" != cuda ] || with_mps=(under_mps)
    for processes in 4 8; do
        as_far_as 60 "${with_mps[@]}" dropin_paired $processes 1048576 36 PORTOLAN_MACHINE=scenarios/machines/h200-x2-mps.yaml
    done
}

part_types() {
    step 60 types_right
    for type in float half bfloat16 int8; do step 20 types_times $type; done
}

part_torch_decode() {
    local way
    on_all_gpus
    echo "way,hidden,batch,bytes,us,us_without" >"$OUT/torch-decode.csv"
    for way in nccl nomix portolan; do step 60 torch_decode $way; done
}

part_torch_losses() {
    on_all_gpus
    step 150 torch_losses
}

part_torch_messages() {
    local way
    on_all_gpus
    echo "way,bytes,us" >"$OUT/torch-messages.csv"
    for way in nccl nomix messages; do step 60 torch_messages $way; done
}

part_torch_tests() {
    local way only=()
    [ -z "$TORCH_ONLY" ] || only=(-k "$TORCH_ONLY")
    if [ -z "$TORCH_TESTS" ]; then
        step 60 torch_fetch || return
        TORCH_TESTS=$BUILD/pytorch/test/distributed
    fi
    for way in nccl portolan; do step $((TORCH_LIMIT + 10)) torch_test $way "${only[@]}"; done
    step 10 torch_tests_compared
    rm -rf "$BUILD/pytorch"
}

for part in "${@:3}"; do
    case $part in
    look) step 30 look ;;
    build) step 150 compile "$BUILD"/tests/test_{exec,profile,dropin,streams} "$BUILD"/bench/bench_{exec,profile} \
        "$BUILD/tests/fake_cuda/libcuda.so.1" || break ;;
    check) step 420 check ;;
    bench) step 60 bench ;;
    validate-x4) part_validate_x4 ;;
    validate-2x2) part_validate_2x2 ;;
    nodes) part_nodes ;;
    host-nodes) as_far_as $((HOSTS_LIMIT + 20)) host_nodes ;;
    energy) part_energy ;;
    calibrate) part_calibrate ;;
    copies) part_copies ;;
    staged) part_dynamic; part_staged ;;
    dynamic) part_dynamic ;;
    halo) part_halo ;;
    kernels) part_kernels ;;
    graphs) part_graphs ;;
    large) part_large ;;
    runs) part_runs ;;
    chunks) part_chunks ;;
    profile) part_profile ;;
    dropin) part_dropin ;;
    dropin-mps) part_dropin_mps ;;
    types) part_types ;;
    tuner) step 60 tuner ;;
    torch-decode) part_torch_decode ;;
    torch-losses) part_torch_losses ;;
    torch-messages) part_torch_messages ;;
    torch-tests) part_torch_tests ;;
    tree) as_far_as 195 placed ;;
    esac
done
grep '^[0-9]* passed, [0-9]* failed$\|^[0-9]* rows, \|^FAIL\|^skip\|rows keep the promise' "$log"
echo "=== $failed steps failed"
ls -l "$OUT"
[ "$failed" -eq 0 ]

#!/usr/bin/env bash
# Where Open MPI puts processes, by its own --report-bindings, on nodes that hwloc makes up: by the rankfiles that
# `portolan map` writes, where it priced them.
# BUILD: where portolan and tests/fake/libcpus.so were built (default build). Exits 77 without an Open MPI 4 that
# shares the system's hwloc.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
portolan=$build/portolan cpus=$build/tests/fake/libcpus.so
needs mpirun
built "$portolan" "$cpus"
skip() { echo "$test_name: skipped: $*"; exit 77; }
mpirun --version | grep -q '(Open MPI) 4\.' || skip "mpirun is not of Open MPI 4"
ldd "$(command -v mpirun)" | grep -q 'libhwloc\.so' || skip "mpirun has an hwloc of its own"

# --- Open MPI on made-up nodes

# The daemons of all nodes run on this machine. Each knows its node's name, and has a session folder of its own: one
# that they share crashes them. A process tells the name that its daemon has.
cat >"$work/agent" <<'END'
#!/bin/sh
export NODE_NAME="$1" OMPI_MCA_orte_tmpdir_base="${0%/*}/$1"
mkdir -p "$OMPI_MCA_orte_tmpdir_base"
shift
exec sh -c "$*"
END
cat >"$work/tell" <<'END'
#!/bin/sh
echo "rank $OMPI_COMM_WORLD_RANK on $(tr '\0' '\n' <"/proc/$PPID/environ" | sed -n 's/^NODE_NAME=//p')"
END
chmod +x "$work/agent" "$work/tell"

# mpirun_on NODE HOSTS MPIRUN'S ARGUMENTS...: NODE is hwloc's synthetic description, HOSTS are names with slots.
mpirun_on() {
    local node=$1 hosts=$2
    shift 2
    quietly env HWLOC_SYNTHETIC="$node" HWLOC_THISSYSTEM=1 LD_PRELOAD="$cpus" patiently 60 \
        mpirun --host "$hosts" --mca plm rsh --mca plm_rsh_agent "$work/agent" --report-bindings "$@" "$work/tell"
}
# Lines of RANK NODE SOCKET CORE CORES, from what the last mpirun_on printed: its first core, counted by socket, and
# how many it may use. A free process has none: RANK NODE - - 0.
bound() { # CORES_PER_SOCKET
    cat "$work/stdout" "$work/stderr" | awk -v per_socket="$1" '
        /^rank [0-9]+ on / { node[$2] = $4 }
        /MCW rank [0-9]+ bound to socket/ {
            sub(/.*MCW rank /, ""); rank = $1
            cores[rank] = gsub(/\[core /, " core ")
            match($0, /socket [0-9]+/); socket[rank] = substr($0, RSTART + 7, RLENGTH - 7)
            match($0, /core [0-9]+/); core[rank] = substr($0, RSTART + 5, RLENGTH - 5) - socket[rank] * per_socket
        }
        END {
            for (rank in node)
                print rank, node[rank], rank in cores ? socket[rank] " " core[rank] " " cores[rank] : "- - 0"
        }' | sort -n
}

# --- rankfiles: on the node and the socket where `map` priced the processes, and each on a core of its own

# placed NODE GPUS_PER_SOCKET CORES_PER_SOCKET GROUPS OPTIONS...
placed() {
    local node=$1 gpus=$2 cores=$3 groups=$4
    shift 4
    rm -f "$work"/{placement,ranks}
    : >"$work/bound"
    quietly "$portolan" map "$@" --collective alltoallv --implementation isend_irecv --bytes 1MiB --seeds 1 \
        --counts "{pattern: groups, dims: [$groups], along: 0}" --with node,greedy --hosts alpha,beta,gamma \
        --out "$work/placement" --rankfile "$work/ranks" || return
    mpirun_on "$node" "$(sed 's/.*=\([^ ]*\) .*/\1:99/' "$work/ranks" | sort -u | paste -sd,)" -n "$(wc -l <"$work/ranks")" --rankfile "$work/ranks" || return
    bound "$cores" >"$work/bound"
    awk -F, -v gpus="$gpus" 'BEGIN { split("alpha beta gamma", host, " ") }
        NR > 1 { print $1, host[$2 + 1], int($3 / gpus), 1 }' "$work/placement" |
        diff - <(cut -d' ' -f1-3,5 "$work/bound") >"$work/stdout"
}
moved() { ! tail -n +2 "$work/placement" | sort -c -t, -k2,2n -k3,3n -k4,4n 2>"$work/stderr"; }
apart() { [ -s "$work/bound" ] && awk 'seen[$2, $3, $4]++ { exit 1 }' "$work/bound"; }

as_priced() { # MACHINE'S NAME NODE GPUS_PER_SOCKET CORES_PER_SOCKET GROUPS OPTIONS...
    check "$1: processes are where map priced them" placed "${@:2}" --machine "$1"
    check "and not where they would be without" moved
    check "each on a core of its own" apart
}
summit='pack:2 numa:1 core:22 pu:4'
as_priced summit-spectrum "$summit" 3 22 "4, 3" --nodes 2 --gpus-per-node 6 --procs-per-gpu 2
as_priced summit-spectrum "$summit" 3 22 "6, 4" --nodes 2 --gpus-per-node 6 --procs-per-gpu 2 --owners-per-gpu 2
as_priced lassen-spectrum-refit "$summit" 2 22 "4, 3" --nodes 3 --gpus-per-node 4 --procs-per-gpu 1
as_priced dgx-h100 "pack:2 numa:1 core:56 pu:2" 4 56 "4, 4" --nodes 2 --gpus-per-node 8 --procs-per-gpu 1
as_priced h200-2x2-tcp "pack:1 numa:1 core:64 pu:1" 2 64 "2, 2" --nodes 2 --gpus-per-node 2 --procs-per-gpu 1

finish

#!/usr/bin/env bash
# Where Open MPI puts processes, by its own --report-bindings, on nodes that hwloc makes up: by the rankfiles that
# `portolan map` writes, where it priced them; and by the mpirun lines that documents, man pages and help print.
# BUILD: where the programs and tests/fake/libcpus.so were built (default build). Exits 77 without an Open MPI 4 that
# shares the system's hwloc.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
portolan=$build/portolan cpus=$build/tests/fake/libcpus.so
needs mpirun
built "$portolan" "$build"/portolan-{calibrate,validate} "$cpus"
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
        mpirun --host "$hosts" --mca plm rsh --mca plm_rsh_agent "$work/agent" --report-bindings "$@" "$work/tell" </dev/null
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

# --- mpirun lines in documents, man pages and help: they say where processes run, and Open MPI does that

# Continued lines are joined. A line without -n has options to add to a line of the reader's, or a placeholder.
# shellcheck disable=SC2016
told() {
    {
        for topic in $("$portolan" --help | sed -n 's/^  \([a-z-]*\)  .*/\1/p' | sort -u); do
            "$portolan" help "$topic" 2>"$work/stderr" || true
        done
        "$build/portolan-calibrate" --help
        "$build/portolan-validate" --help
        sed 's/\\e$/\\/; s/\\-/-/g' docs/man/*
        cat README.md CONTRIBUTING.md docs/*.md docs/how-to/*.md
    } | awk '{ while (sub(/\\$/, "") && (getline more) > 0) $0 = $0 more; gsub(/ +/, " ") } 1' |
        grep -oE 'mpirun(\.mpich)? ([^`]* )?-n [0-9]+ [^`]*' | sort -u
}
told >"$work/told"
check "there are mpirun lines" test "$(wc -l <"$work/told")" -ge 20
silent() {
    grep -vE '^mpirun -n [0-9]+ --map-by [^ ]+ --bind-to [a-z]+ |^mpirun\.mpich -n [0-9]+ -bind-to [a-z]+ ' "$work/told" |
        tee "$work/stdout" | grep -q .
}
check "all of them say where processes run" fails silent

# Lines of RANK NODE SOCKET CORES, as the options mean them, on nodes of two sockets.
meant() { # PROCESSES MAP BIND CORES_PER_SOCKET
    awk -v processes="$1" -v map="$2" -v bind="$3" -v per_socket="$4" 'BEGIN {
        split("alpha beta", host, " ")
        split(map, part, ":")
        for (rank = 0; rank < processes; rank++) {
            per_node = part[1] != "ppr" ? processes : part[3] == "socket" ? 2 * part[2] : part[2]
            local = rank % per_node
            socket = int(local / (part[3] == "socket" ? part[2] : per_socket))
            print rank, host[int(rank / per_node) + 1], bind == "none" ? "- 0" : socket " 1"
        }
    }'
}
obeyed() { # PROCESSES MAP BIND
    local per_node=${2#ppr:} cores=20 hosts=alpha:256
    per_node=${per_node%%:*}
    if [[ $2 == ppr:*:node ]]; then
        hosts+=,beta:256
        if [ "$per_node" -gt 40 ]; then cores=$((per_node / 2)); fi
    elif [[ $2 == ppr:*:socket ]] && [ "$1" -gt $((2 * per_node)) ]; then
        hosts+=,beta:256
    fi
    mpirun_on "pack:2 numa:1 core:$cores pu:2" "$hosts" -n "$1" --map-by "$2" --bind-to "$3" || return
    bound "$cores" >"$work/bound"
    meant "$1" "$2" "$3" "$cores" | diff - <(cut -d' ' -f1-3,5 "$work/bound") >"$work/stdout"
}
while read -r _ _ processes _ map _ bind; do
    if [ "$map" = seq ]; then continue; fi # by --host's list, as a rankfile
    check "-n $processes --map-by $map --bind-to $bind: processes are where it says" obeyed "$processes" "$map" "$bind"
    if [ "$bind" = core ]; then check "each on a core of its own" apart; fi
done < <(grep '^mpirun ' "$work/told" | cut -d' ' -f1-7 | sort -u)

# What docs/acting.md says of Open MPI without these options.
untold() {
    mpirun_on "pack:2 numa:1 core:20 pu:2" alpha:40 -n "$1" || return
    [ "$(bound 20 | cut -d' ' -f3,5 | paste -sd' ')" = "$2" ]
}
check "by itself, Open MPI binds four processes to NUMA nodes in turn" untold 4 "0 20 1 20 0 20 1 20"
check "and two to cores" untold 2 "0 1 0 1"

finish

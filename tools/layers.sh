#!/usr/bin/env bash
# layers.sh: fail if a file of the library includes a file of a higher layer or one outside the library.
#
# A folder of model/src may include from those before it in `order`. Each public header belongs to a folder.
set -euo pipefail

order="base formats machine scenario plan check print price traffic simulate decide map"
declare -A room=(
    [status]=base [progress]=base [units]=base [output]=base [version]=base [api]=base [provenance]=base [printable]=base
    [machine]=machine [machine_write]=machine [topology]=machine
    [scenario]=scenario [workload]=scenario [recording]=decide [what_if]=scenario [layout]=scenario
    [plan]=plan [policy]=plan [strategy]=plan [builder]=plan [rows]=plan [lines]=plan
    [check]=check [print]=print
    [price]=price [energy]=price [setup]=price
    [traffic]=traffic
    [simulate]=simulate
    [samples]=decide [collectives]=decide [pick]=decide [step]=decide [score]=decide [sensitivity]=decide [fit]=decide [map]=map)

rank() {
    local place=0 name
    for name in $order; do
        place=$((place + 1))
        [[ $name != "$1" ]] || { echo "$place"; return; }
    done
    echo 0
}

room_of() { # FILE or name of an include -> its folder
    case $1 in
    model/src/*/*) local rest=${1#model/src/} && echo "${rest%%/*}" ;;
    model/include/portolan/*) local name=${1##*/} && echo "${room[${name%.h}]:-unknown}" ;;
    portolan/*) local name=${1##*/} && echo "${room[${name%.h}]:-unknown}" ;;
    */*) echo "${1%%/*}" ;;
    *) echo unknown ;;
    esac
}

upwards() {
    local file included mine theirs name
    while IFS=: read -r file included; do
        mine=$(rank "$(room_of "$file")") theirs=$(rank "$(room_of "$included")")
        name=${included##*/}
        ((mine > 0 && theirs > 0 && theirs <= mine)) || echo "$file -> ${name%.h}"
    done < <(grep -Eo '^#include "[^"]+' model/src/*/*.[ch] model/include/portolan/*.h | sed 's/#include "//')
}

status=0
upward=$(upwards)
if [[ -n $upward ]]; then
    echo "includes against the order '$order':"
    echo "$upward"
    status=1
fi

# The library includes neither MPI nor CUDA nor anything built on top of it. Unless the compiler finds such headers
# by itself, the library's include paths must not find them either.
foreign="mpi.h cuda_runtime.h portolan/device.h portolan/exec.h options.h"
pattern=$(sed 's/[.]/[.]/g; s/ /|/g' <<<"$foreign")
if grep -nE "^#include [<\"]($pattern)[>\"]" -r model/src model/strategies model/algorithms model/fit; then
    status=1
fi
paths=$(make -s -n -B "BUILD=${BUILD:-build}" "${BUILD:-build}/obj/model/src/plan/plan.o" V=1 2>/dev/null |
    grep -Eo -- '-I ?[^ ]+' | sort -u || true)
[[ -n $paths ]] || { echo "no compile command of model/src/plan/plan.c found"; status=1; }
for header in $foreign; do
    try() { printf '#include "%s"\n' "$header" | "${CC:-cc}" "$@" -fsyntax-only -x c - 2>/dev/null; }
    # shellcheck disable=SC2086 # several words
    if ! try && try $paths; then
        echo "a file of the library that includes $header compiles"
        status=1
    fi
done
exit "$status"

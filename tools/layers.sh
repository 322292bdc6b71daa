#!/usr/bin/env bash
# layers.sh: fail if a file of the library calls one of a higher layer, as the symbols of the objects in BUILD tell, or
# can include a header from outside the library.
set -euo pipefail

# A folder of model may use those before it.
order="base formats machine tape scenario plan algorithms strategies check print price traffic simulate decide map fit traces"

status=0
objects=()
for source in model/src/*/*.c model/{strategies,algorithms,fit,traces}/*.c; do
    object=${BUILD:-build}/obj/${source%.c}.o
    [[ -e $object ]] || { echo "$object is not built"; exit 1; }
    objects+=("$object")
done
upward=$(nm --print-file-name --extern-only "${objects[@]}" | awk -v order="$order" -v build="${BUILD:-build}/obj/" '
    BEGIN { for (n = split(order, name, " "); n > 0; n--) rank[name[n]] = n }
    {
        file = $1
        sub(/:.*/, "", file)
        file = substr(file, length(build) + 1)
        sub(/[.]o$/, ".c", file)
        room = file
        sub(/^model\/(src\/)?/, "", room)
        sub(/\/.*/, "", room)
        if (!(room in rank)) { print file ": which layer?"; next }
        if ($(NF - 1) == "U") { user[++uses] = file; called[uses] = $NF; from[uses] = rank[room] }
        else { home[$NF] = file; at[$NF] = rank[room] }
    }
    END {
        for (i = 1; i <= uses; i++)
            if (at[called[i]] > from[i]) print user[i] " calls " called[i] " of " home[called[i]]
    }')
if [[ -n $upward ]]; then
    echo "calls against the order '$order':"
    echo "$upward"
    status=1
fi

# The library includes neither MPI nor CUDA nor anything built on top of it. Unless the compiler finds such headers
# by itself, the library's include paths must not find them either.
foreign="mpi.h cuda_runtime.h portolan/exec.h portolan/kernel.h options.h"
pattern=$(sed 's/[.]/[.]/g; s/ /|/g' <<<"$foreign")
if grep -nE "^#include [<\"]($pattern)[>\"]" -r model/src model/strategies model/algorithms model/fit model/traces; then
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

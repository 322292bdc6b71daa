#!/usr/bin/env bash
# each.sh LABEL JOBS COMMAND FILE... : run a shell command once for each file ("$1" in it), JOBS at a time. Print
# the output of failed runs, then "N passed, N failed". Exits 1 if one failed.
set -euo pipefail

label=$1 jobs=$2
export EACH_COMMAND=$3
shift 3

EACH_LOGS=$(mktemp -d)
export EACH_LOGS
trap 'rm -rf "$EACH_LOGS"' EXIT

# The log is named after the file, so that parallel runs do not mix their output.
one() {
    local log=$EACH_LOGS/${1//\//,}
    if bash -c "$EACH_COMMAND" _ "$1" >"$log" 2>&1; then
        mv "$log" "$log.passed"
    else
        mv "$log" "$log.failed"
    fi
}
export -f one

# A linter's important lines come first, a fuzzer's last.
shorten() {
    if (($(wc -l <"$1") <= 80)); then
        cat "$1"
    else
        head -n 40 "$1"
        echo "..."
        tail -n 40 "$1"
    fi
}

if (($# > 0)); then
    printf '%s\0' "$@" | xargs -0 -P "$jobs" -I{} bash -c 'one "$1"' _ {}
fi

failed=0
for log in "$EACH_LOGS"/*.failed; do
    [[ -e $log ]] || continue
    failed=$((failed + 1))
    name=${log##*/}
    name=${name%.failed}
    echo "$label: ${name//,//} failed:"
    shorten "$log" | sed 's/^/    /'
done
echo "$label: $(($# - failed)) passed, $failed failed"
((failed == 0))

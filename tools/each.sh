#!/usr/bin/env bash
# each.sh LABEL JOBS COMMAND FILE... [-- FILE...] : run a shell command once for each file ("$1" in it), JOBS at a
# time, and those behind -- alone, one after the other. Print the output of failed runs, which runs took longest, then
# "N passed, N failed". Exits 1 if one failed.
set -euo pipefail

label=$1 jobs=$2
export EACH_COMMAND=$3
shift 3
together=() alone=()
while (($# > 0)) && [[ $1 != -- ]]; do together+=("$1") && shift; done
if (($# > 0)); then alone=("${@:2}"); fi

EACH_LOGS=$(mktemp -d)
export EACH_LOGS
trap 'rm -rf "$EACH_LOGS"' EXIT

# The log is named after the file, so that parallel runs do not mix their output.
one() {
    local log=$EACH_LOGS/${1//\//,} began=$SECONDS
    if bash -c "$EACH_COMMAND" _ "$1" >"$log" 2>&1; then
        mv "$log" "$log.passed"
    else
        mv "$log" "$log.failed"
    fi
    echo "$((SECONDS - began)) $1" >>"$EACH_LOGS/times"
}
export -f one

# Without the checks that passed (tests/shell.sh). A linter's important lines come first, a fuzzer's last.
shorten() {
    local lines
    mapfile -t lines < <(grep -v '^ok   ' "$1")
    if ((${#lines[@]} > 80)); then lines=("${lines[@]:0:40}" "..." "${lines[@]: -40}"); fi
    ((${#lines[@]} == 0)) || printf '%s\n' "${lines[@]}"
}

touch "$EACH_LOGS/times"
run_files() { # JOBS FILE...
    if (($# > 1)); then printf '%s\0' "${@:2}" | xargs -0 -P "$1" -I{} bash -c 'one "$1"' _ {}; fi
}
run_files "$jobs" "${together[@]}"
run_files 1 "${alone[@]}"

failed=0
for log in "$EACH_LOGS"/*.failed; do
    [[ -e $log ]] || continue
    failed=$((failed + 1))
    name=${log##*/}
    name=${name%.failed}
    echo "$label: ${name//,//} failed:"
    shorten "$log" | sed 's/^/    /'
done
sort -rn "$EACH_LOGS/times" | awk -v label="$label" '$1 >= 20 && NR <= 6 { print label ": " $2 " took " $1 " s" }'
echo "$label: $((${#together[@]} + ${#alone[@]} - failed)) passed, $failed failed"
((failed == 0))

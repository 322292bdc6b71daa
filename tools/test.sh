#!/usr/bin/env bash
# test.sh KIND... : run tests from the project's root. The last line is "N passed, N failed", counted from results.
#
#   unit     the program of every tests/unit/test_*.c; a crash or a missing result is a failure
#   golden   every tests/golden/NAME.cmd against NAME.out, and every `$ build/portolan ...` line of a ```console
#            block in README.md, docs/ and docs/how-to/ against the lines that follow it there
#   headers  every public header on its own, as C11 and as C++17; also tools/layers.sh: no file of the library may
#            call one above its own layer
#   schema   what commands print as JSON against docs/portolan.schema.json, the columns that they print as CSV, what is
#            left of them after Ctrl-C, what interactive shells complete, what is printed of odd names, and what the Python
#            module says
#   cases    inputs that portolan once refused or misread (tests/cases.sh)
#   accuracy predictions of measured cells that nothing was fitted to (tests/accuracy.py)
#   oracle   the prices of ORACLE_CASES (100) random scenarios against those of tests/oracle, from seed ORACLE_SEED on
#   exec     the executor under mpirun, and the drop-in for NCCL, on the host device
#   judges   those programs of tests/mpi/test_judges.sh that JUDGES names: they need no mpirun
#   golden-update  rewrite the NAME.out files and those lines of the documents
#
# JOBS tests run at a time (default: the number of CPUs). Their output is printed in order at the end, after the tests that
# took the most CPU time if TIMES=N asks for N of them.
set -euo pipefail

export BUILD=${BUILD:-build} CXX=${CXX:-c++} CC=${CC:-cc}
JOBS=${JOBS:-$(nproc)}
TIMES=${TIMES:-0}
# LeakSanitizer before LLVM 17 reads the size of a thread's variables from a header that only glibc before 2.25 wrote,
# and crashes where the words that lie there now look like one: one run of 60 of a program with threads.
export ASAN_OPTIONS=intercept_tls_get_addr=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}
root=$(mktemp -d)
export root
trap 'rm -rf "$root"' EXIT
mkdir "$root/jobs"
queued=0

# queue FUNCTION ARGUMENT... : queue one job; jobs start in this order.
queue() {
    queued=$((queued + 1))
    printf '%q ' "$@" >"$root/jobs/$(printf '%06d' $queued)"
}

# Runs one job with its own counters and scratch folder.
run_job() {
    set -euo pipefail
    passed=0 failed=0 skipped=0 scratch=$root/scratch.$1
    mkdir "$scratch"
    eval "$(cat "$root/jobs/$1")" >"$root/$1.log" 2>&1 || fail "job: $(cat "$root/jobs/$1")" >>"$root/$1.log"
    echo "$passed $failed $skipped" >"$root/$1.counts"
    # Of this shell, then of its children: user and system time, as 0m1.234s. A pipe would have a shell of its own.
    times >"$root/$1.times"
    awk -F '[ms ]+' -v job="$(cat "$root/jobs/$1")" '{ s += 60 * $1 + $2 + 60 * $3 + $4 } END { printf "%8.1f s %s\n", s, job }' \
        "$root/$1.times" >"$root/$1.time"
}

run_queue() {
    local job counts passed=0 failed=0 skipped=0
    printf '%s\n' "$root"/jobs/* | sed 's|.*/||' | xargs -P "$JOBS" -I{} bash -c 'run_job {}'
    ((TIMES == 0)) || cat "$root"/*.time | sort -rn | awk -v most="$TIMES" 'NR <= most'
    for job in "$root"/jobs/*; do
        job=${job##*/}
        [[ ! -s $root/$job.log ]] || cat "$root/$job.log"
        read -r -a counts <"$root/$job.counts"
        passed=$((passed + counts[0])) failed=$((failed + counts[1])) skipped=$((skipped + counts[2]))
    done
    ((skipped == 0)) || echo "$skipped skipped"
    echo "$passed passed, $failed failed"
    ((failed == 0))
}

pass() { passed=$((passed + 1)); }
fail() {
    failed=$((failed + 1))
    echo "FAILED: $1"
}

# One cmocka program. Its TAP lines are counted; tests announced in "1..N" but not reported count as failed.
run_unit() {
    local program=$1 status=0 log=$scratch/unit
    CMOCKA_MESSAGE_OUTPUT=TAP tests/bin/patiently 600 "$program" >"$log" 2>&1 || status=$?
    local ok not_ok skip promised
    read -r ok not_ok skip promised < <(awk '
        /^(not )?ok [0-9]+ .*# SKIP/ { skip++; next }
        /^ok [0-9]+/ { ok++ }
        /^not ok [0-9]+/ { not_ok++ }
        /^1\.\.[0-9]+$/ { promised += substr($0, 4) }
        END { print ok + 0, not_ok + 0, skip + 0, promised + 0 }' "$log")
    local lost=$((promised - ok - not_ok - skip))
    if ((lost > 0)); then not_ok=$((not_ok + lost)); fi
    if (((status != 0 || promised == 0) && not_ok == 0)); then not_ok=1; fi
    passed=$((passed + ok)) failed=$((failed + not_ok)) skipped=$((skipped + skip))
    sed -n "s|^.*# SKIP|skipped: ${program##*/}:|p" "$log"
    if ((not_ok > 0)); then
        echo "FAILED: $program (exit $status, $not_ok of $promised)"
        grep -Ev '^ok ' "$log" | tail -n 60 | sed 's/^/    /'
    fi
}

# Only programs whose source exists: others are leftovers. The slowest start first.
run_units() {
    local name names=(test_price test_plan test_mutations test_param_effects test_formula test_simulate_price
        test_metamorphic test_fit_collectives test_fit)
    for name in tests/unit/test_*.c tests/unit/test_*.cc; do
        name=${name##*/}
        names+=("${name%.*}")
    done
    while IFS= read -r name; do
        if compgen -G "tests/unit/$name.c*" >/dev/null; then queue run_unit "$BUILD/tests/$name"; fi
    done < <(printf '%s\n' "${names[@]}" | awk '!seen[$0]++')
}

# The output of a command on both streams, and its exit status unless it is 0.
transcript() {
    local status=0
    PATH="$(realpath -m "$BUILD"):$PATH" bash -c "$1" 2>&1 || status=$?
    ((status == 0)) || echo "exit: $status"
}

compare() { # NAME EXPECTED ACTUAL
    if diff -u "$2" "$3" >"$scratch/diff"; then
        pass
    else
        fail "$1"
        tail -n +3 "$scratch/diff" | head -n 60 | sed 's/^/    /'
    fi
}

# With placeholders for versions and digests, which changes of the program change everywhere.
golden_transcript() { transcript "$1" | sed -E -f tests/golden/placeholders.sed; }

check_golden() { # COMMAND_FILE
    golden_transcript "$(cat "$1")" >"$scratch/actual"
    compare "$1" "${1%.cmd}.out" "$scratch/actual"
}

check_document() { # DOCUMENT COMMAND_FILE
    transcript "$(sed "s|^build/portolan|$BUILD/portolan|" "$2")" >"$scratch/actual"
    compare "$1: $(cat "$2")" "${2%.cmd}.out" "$scratch/actual"
}

run_golden() {
    local command document
    for command in tests/golden/*.cmd; do
        if [[ -e $command ]]; then queue check_golden "$command"; fi
    done
    for document in README.md docs/*.md docs/how-to/*.md; do
        if [[ -e $document ]]; then run_document "$document"; fi
    done
}

# Split a document's ```console blocks into N.cmd and N.out, then compare each.
run_document() {
    local document=$1 parts=$root/parts/$1 command
    mkdir -p "$parts"
    awk -v parts="$parts" '
        /^```console/ { inside = 1; out = ""; next }
        /^```/ { inside = 0; out = ""; next }
        inside && /^\$ / {
            out = ""
            if ($0 ~ /^\$ build\/portolan/) {
                out = parts "/" ++n
                print substr($0, 3) > (out ".cmd")
                printf "" > (out ".out")
            }
            next
        }
        inside && out != "" { print > (out ".out") }' "$document"
    for command in "$parts"/*.cmd; do
        if [[ -e $command ]]; then queue check_document "$document" "$command"; fi
    done
}

update_golden() {
    local command
    for command in tests/golden/*.cmd; do
        [[ -e $command ]] || continue
        golden_transcript "$(cat "$command")" >"${command%.cmd}.out"
    done
    local document
    for document in README.md docs/*.md docs/how-to/*.md; do
        if [[ -e $document ]]; then update_document "$document"; fi
    done
}

# Rewrite the outputs in a document's ```console blocks.
update_document() {
    local line command="" rewritten=$root/document
    while IFS= read -r line; do
        if [[ $line == '$ build/portolan'* ]]; then
            command=${line#\$ }
            printf '%s\n' "$line"
            transcript "$BUILD/portolan${command#build/portolan}"
        elif [[ $line == '```'* || $line == '$ '* ]]; then
            command=""
            printf '%s\n' "$line"
        elif [[ -z $command ]]; then
            printf '%s\n' "$line"
        fi
    done <"$1" >"$rewritten"
    cmp -s "$rewritten" "$1" || cp "$rewritten" "$1"
}

run_headers() {
    local header
    for header in {model,impl}/{include,internal}/portolan/*.h; do
        [[ $header != */exec_mpi.h ]] || continue # needs MPI
        queue check_header "$header as C11" "$CC" -std=c11 -x c "$header"
        queue check_header "$header as C++17" "$CXX" -std=c++17 -x c++ "$header"
    done
    queue check_layers
}

check_layers() {
    if CC=$CC BUILD=$BUILD tools/layers.sh >"$scratch/log" 2>&1; then
        pass
    else
        fail "layers of model/"
        sed 's/^/    /' "$scratch/log"
    fi
}

check_header() { # NAME COMPILER STANDARD -x LANGUAGE HEADER
    local name=$1 compiler=$2 standard=$3 language=$5 header=$6 internal=(-Imodel/internal -Iimpl/internal)
    [[ $header = */internal/* ]] || internal=() # an installed header includes no other
    # Add a declaration: a translation unit must not be empty.
    printf '#include "%s"\ntypedef int nothing;\n' "${header#*/*/}" >"$scratch/header"
    if "$compiler" "$standard" -Wall -Wextra -Wpedantic -Wshadow -Werror -fsyntax-only -Imodel/include -Iimpl/include \
        ${internal[@]+"${internal[@]}"} \
        -x "$language" "$scratch/header" >"$scratch/log" 2>&1; then
        pass
    else
        fail "$name"
        sed 's/^/    /' "$scratch/log"
    fi
}

# Skipped (77) without the inputs.
check_cases() {
    local status=0
    tests/bin/patiently 300 tests/cases.sh >"$scratch/log" 2>&1 || status=$?
    case $status in
    0) pass ;;
    77) skipped=$((skipped + 1)) ;;
    *) fail "tests/cases.sh" ;;
    esac
    sed -n '/skipped: /p; /^FAIL/,/^[^ ]/s/^/    /p' "$scratch/log"
}

# Skipped (77) without a package that it needs, such as the one for JSON schemas.
check_python() { # FILE ARGUMENT...
    local status=0
    PYTHONDONTWRITEBYTECODE=1 tests/bin/patiently "${PATIENCE_S:-600}" python3 "$1" "$BUILD/portolan" "${@:2}" \
        >"$scratch/log" 2>&1 || status=$?
    case $status in
    0) pass ;;
    77) skipped=$((skipped + 1)) ;;
    *)
        fail "$1"
        sed 's/^/    /' "$scratch/log"
        return
        ;;
    esac
    sed -n '/skipped: /p' "$scratch/log"
}

# Detects leaks, too, except what the MPI library and its helpers keep until the process ends.
check_with_mpi() { # NAME COMMAND...
    if OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
        LSAN_OPTIONS=suppressions=$PWD/tests/mpi/leaks.supp:print_suppressions=0 ASAN_OPTIONS=$ASAN_OPTIONS:fast_unwind_on_malloc=0 \
        tests/bin/patiently 600 "${@:2}" >"$scratch/log" 2>&1; then
        pass
    else
        fail "$1"
        tail -n 60 "$scratch/log" | sed 's/^/    /'
    fi
}

check_exec() { # PROCESSES ARGUMENT...
    check_with_mpi "test_exec ${*:2}" mpirun -n "$1" --oversubscribe --mca mpi_yield_when_idle 1 "$BUILD/tests/test_exec" "${@:2}"
}

run_exec() {
    queue check_exec 5 cases 300 "${SEED:-1}"
    queue check_exec 4 repeats 50 1
    queue check_exec 4 repeats:gas_split 50 1
    queue check_exec 3 rings 2 1
    queue check_exec 3 lanes 1 1
    queue check_exec 2 different
    queue check_with_mpi test_nccl_dropin env PORTOLAN_DEVICE=host PORTOLAN_MACHINE=h200-x2-graph \
        EXPECT_TAKEN=1 "$BUILD/tests/test_nccl_dropin" 140 1 2
    queue check_with_mpi test_nccl_comms env PORTOLAN_DEVICE=host PORTOLAN_MACHINE=h200-x2-graph PORTOLAN_MEMORY=32MiB \
        "$BUILD/tests/test_nccl_comms" 2
    queue check_with_mpi test_nccl_messages env PORTOLAN_DEVICE=host PORTOLAN_MACHINE=h200-x2-graph PORTOLAN_MESSAGES=100000 \
        PORTOLAN_MEMORY=64MiB "$BUILD/tests/test_nccl_messages" 40 1 2
}

run_judges() {
    local name
    for name in $JUDGES; do
        queue check_with_mpi "test_$name" "$BUILD/tests/test_$name"
    done
}

eval "export -f $(declare -F | cut -d ' ' -f 3 | tr '\n' ' ')"
for kind in "$@"; do
    case $kind in
    unit) run_units ;;
    golden) run_golden ;;
    golden-update) update_golden ;;
    headers) run_headers ;;
    cases) queue check_cases ;;
    accuracy) queue check_python tests/accuracy.py ;;
    oracle) queue PATIENCE_S=3600 check_python tests/oracle/compare.py "${ORACLE_CASES:-100}" "${ORACLE_SEED:-1}" ;;
    schema)
        queue check_python tests/schema.py
        queue check_python tests/csv_columns.py
        queue check_python tests/interrupt.py
        queue check_python tests/completion.py
        queue check_python tests/hostile_names.py
        queue check_python tests/python.py
        queue check_python tests/gpu_pytorch.py
        ;;
    exec) run_exec ;;
    judges) run_judges ;;
    *)
        echo "test.sh: unknown kind: $kind" >&2
        exit 2
        ;;
    esac
done
((queued == 0)) || run_queue

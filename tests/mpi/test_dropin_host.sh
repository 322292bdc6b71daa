#!/usr/bin/env bash
# The drop-in on buffers in host memory, under programs that know their results: on a made-up machine whose MPI library
# is slow it takes them, and where that is not certain to pay it leaves them to MPI.
# BUILD: where the programs were built (default build). SEED, CALLS, MPIRUN: see dropin_shell.sh.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
. tests/mpi/dropin_shell.sh
slow=$PWD/tests/fixtures/slow-library.yaml
export PORTOLAN_MACHINE=$slow
export PORTOLAN_HOST=1 PORTOLAN_REPEATS=0 # plans are made in the first call of a kind
last=4 least=3
if is_mpich; then last=2 least=0; fi # its processes don't yield their cores; few calls are faster between two

without_gpus() { # PROCESSES COMMAND... [limit_s=SECONDS in front of it]
    local processes=$1
    shift
    rm -f "$report"
    started "${limit_s:-120}" "$processes" env LD_PRELOAD="$library" PORTOLAN_EXPLAIN=1 PORTOLAN_REPORT="$report" "$@"
}
takes_both() { # AT_LEAST COMMAND...
    local least=$1
    shift
    "$@" && [ "$(taken cpu)" -ge "$least" ] && [ "$(taken gpu)" -ge "$least" ]
}
as_host() { without_gpus "$1" PORTOLAN_ASSUME=host "${@:2}"; }
in_host() { [ "$(taken gpu)" = 0 ] && [ "$(taken cpu)" -gt 0 ]; }

check "$calls random calls in both kinds of memory" takes_both $least under $last "$program" random "$calls" "$seed"
only() { # ROUTINE: is taken in host memory
    [ "$(tail -n +2 "$report" | awk -F, '$10 == "cpu" && $11 != "mpi" { print $4 }' | sort -u)" = "$1" ]
}
if ! is_mpich; then
    check "with agreement by messages" takes_both 1 under $last PORTOLAN_AGREE=messages "$program" random 200 1
    check "which take longer than other routines gain" only MPI_Allreduce
fi
check "with agreement by messages, whatever it costs" \
    takes 10 under $last PORTOLAN_AGREE=messages PORTOLAN_STRATEGY=own_algorithm "$program" random "$calls" "$seed"
takes_in_turn() { "$@" && [ "$(taken gpu)" = 5 ] && [ "$(taken cpu)" = 5 ]; }
check "the same call in one memory and in the other" takes_in_turn under $last "$program" alternate 10 4096
if ! is_mpich; then
    check "two processes on each GPU" under 4 PORTOLAN_EMULATED_GPUS=2 "$program" random "$calls" "$seed"
    check "GPUs with different numbers of processes" takes 3 under 3 PORTOLAN_EMULATED_GPUS=2 "$program" random "$calls" "$seed"
fi
for n in 2 3 4; do
    if [ "$n" -gt $last ]; then break; fi
    check "memory of GPUs that no process has, $n processes" without_gpus "$n" "$program" random "$calls" "$seed"
    check "all buffers in host memory, $n processes" as_host "$n" "$program" random "$calls" "$seed"
    check "by our own algorithms, whatever they cost" \
        takes $((calls / 8)) as_host "$n" PORTOLAN_STRATEGY=own_algorithm "$program" random "$calls" "$seed"
done
check "where no call is one on GPUs" in_host
check "PORTOLAN_HOST=yes is as good as 1" takes 10 as_host $last PORTOLAN_HOST=yes PORTOLAN_STRATEGY=own_algorithm \
    "$program" random "$calls" "$seed"
check "with few plans kept" takes 10 as_host $last PORTOLAN_PLANS=3 PORTOLAN_STRATEGY=own_algorithm "$program" random "$calls" "$seed"
check "with little memory" as_host $last PORTOLAN_MEMORY=4000 PORTOLAN_STRATEGY=own_algorithm "$program" random "$calls" "$seed"
check "the same calls each time" as_host $last "$program" random 200 1
if ! is_mpich; then # two processes exchange one message in most of them, by any algorithm
    check "the collectives that are taken among them" \
        takes_each Allreduce Reduce Reduce_scatter Reduce_scatter_block Bcast Allgather Alltoall
    check "others have counts that differ" has "mpi (host buffers with counts that differ)"
fi
check "what must be left to MPI" as_host $last "$program" special
check "communicators come and go" takes 100 as_host 2 PORTOLAN_STRATEGY=own_algorithm "$program" comms 100
calls_taken() { # COUNT COMMAND...
    "${@:2}" && [ "$(taken)" = "$1" ]
}
check "3,000 plans on one communicator" \
    calls_taken 3002 as_host 2 PORTOLAN_PLANS=4000 PORTOLAN_STRATEGY=own_algorithm "$program" plans 3000
check "four for each that is kept, and then no more" \
    calls_taken 257 as_host 2 PORTOLAN_STRATEGY=own_algorithm "$program" plans 3000
check "and the summary says why" has "mpi (host buffers, after as many plans as a communicator may have)"
check "a call that cannot be taken is left to MPI after a while" without_gpus $last PORTOLAN_AGREE=messages \
    PORTOLAN_STRATEGY=own_algorithm "$program" special
check "and the summary says why" has "mpi (host buffers, which other processes could not take in the calls before)"
if ! is_mpich; then
    check "ever new sizes make no plans" takes_none as_host $last PORTOLAN_REPEATS= "$program" plans 200
    check "and the summary says why" has "mpi (host buffers, in the first calls of a kind)"
    # An allreduce gains 5.4 - 2.2 ms, and a plan takes 20 messages of 2 ms: after 13 calls, and the first 64.
    check "nor does a kind, until a plan pays" calls_taken 23 as_host $last PORTOLAN_REPEATS= "$program" repeat 100 4096
    check "nor do communicators that are hardly used" takes_none as_host $last PORTOLAN_REPEATS= "$program" comms 100
    check "and the summary says why" has "mpi (host buffers, in the first calls of a communicator)"
    check "or until so many calls of it" calls_taken 25 as_host $last PORTOLAN_REPEATS=5 "$program" repeat 30 4096
fi
check "700 communicators at once" calls_taken 130 as_host 2 PORTOLAN_STRATEGY=own_algorithm "$program" live 700
check "process 0 says once that most are left to MPI" [ "$(grep -c '128 communicators have plans' "$work/stderr")" = 1 ]
# 9 s alone; but processes wait for each other some 30 times for each communicator, 4 ms a time where others compute on all
# cores.
limit_s=900 check "and 3,000 after each other" takes 3000 as_host 2 PORTOLAN_STRATEGY=own_algorithm "$program" comms 3000
takes_of() { # CPU GPU COMMAND...: so many in each memory
    "${@:3}" && [ "$(taken cpu)" = "$1" ] && [ "$(taken gpu)" = "$2" ]
}
if ! is_mpich; then # which forgets what the program asserts
    check "memory of any kind that the program asserts" takes_of 4 4 under $last "$program" kinds system,cuda:device:x
    check "where it is the host's, no call is one on GPUs" takes_of 0 0 under $last PORTOLAN_HOST=0 "$program" kinds system,mpi:win_allocate
    check "but if one process alone says so" takes_of 0 4 under $last PORTOLAN_HOST=0 "$program" kinds system 1
    check "where it is a GPU's, none is one on host buffers" takes_of 0 4 under $last "$program" kinds cuda:device
    check "and the summary says why" has "mpi (GPU buffers alone, as the program asserts)"
    check "what it calls by other names may be both" takes_of 4 4 under $last "$program" kinds cuda,systems
fi
# One process finds other prices than the rest: what process 0 finds is done, and no process waits for ever.
check "a process that prices wrongly follows process 0" \
    calls_taken 10 as_host $last PORTOLAN_MISPRICE=1 "$program" repeat 10 4096
check "and process 0 is followed if it is the one" \
    calls_taken 0 as_host $last PORTOLAN_MISPRICE=0 "$program" repeat 10 4096
check "so it is with agreement by messages" \
    without_gpus $last PORTOLAN_AGREE=messages PORTOLAN_MISPRICE=1 "$program" random "$calls" "$seed"
check "and beside GPUs" takes $((calls / 8)) under $last PORTOLAN_MISPRICE=1 "$program" random "$calls" "$seed"
check "one buffer for input and output, where all buffers are promised to be in host memory" \
    calls_taken 5 as_host $last PORTOLAN_STRATEGY=own_algorithm "$program" alias
# Other vendors' GPUs: their memory looks like the host's.
amd=$work/libamdhip64.so.6
check "a library is built" quietly "${CC:-cc}" -shared -fPIC -x c -o "$amd" - <<<'int nothing;'
check "beside AMD's runtime host buffers are left to MPI" \
    takes_none under 2 LD_PRELOAD="$library:$amd" PORTOLAN_STRATEGY=own_algorithm "$program" kinds system
check "and the summary says why" has "mpi (host buffers beside the runtime of other GPUs)"
check "and process 0 says so once" [ "$(grep -c 'libamdhip64.so.6 is loaded' "$work/stderr")" = 1 ]
check "not if the user promises host memory" calls_taken 5 as_host 2 LD_PRELOAD="$library:$amd" PORTOLAN_STRATEGY=own_algorithm "$program" repeat 4 4096
check "so are they once a process has loaded it" calls_taken 4 without_gpus 2 "$program" load "$amd"
check "MPI_THREAD_MULTIPLE is left to MPI" takes_none without_gpus 2 "$program" threads 100
check "and says so" has "MPI_THREAD_MULTIPLE, so all collectives are left to MPI"

check "a call has both prices" as_host $last "$program" repeat 10 4096
if ! is_mpich; then
    check "in the summary" grep -q 'MPI_Allreduce .* 4096 .* 10 .* 200[0-9]\.[0-9]* .* 600[0-9]\.[0-9]* .*own_algorithm$' "$work/stderr"
    check "and in the report" [ "$(grep -c 'MPI_Allreduce,.*,4096,cpu,own_algorithm,0.0020' "$report")" = 10 ]
fi

# The same machine with one thing changed: nothing is taken, and the summary says why.
takes_none_with() { # SED-COMMAND WHY
    sed "s#\.\./\.\.#$PWD#;$1" "$slow" >"$work/other.yaml"
    takes_none as_host $last PORTOLAN_MACHINE="$work/other.yaml" "$program" repeat 5 4096 && has "$2"
}
check "prices as uncertain as their difference take no call" \
    takes_none_with 's/0.9e-3, 1.1e-3/0.2e-3, 8e-3/' "mpi (host buffers, where MPI is predicted to be as fast)"
check "nor does agreement that takes longer" \
    takes_none_with 's/flag_s: .*}/flag_s: 1}/' "mpi (host buffers, where MPI is predicted to be as fast)"
check "nor a library with our algorithm" \
    takes_none_with 's/allreduce: .*/allreduce: {cpu: [{algorithm: recursive_doubling}]}/' "where MPI is predicted to be as fast"
check "nor sizes among which the library changes to ours" takes_none_with \
    's/{algorithm: ring}\]} #.*/{below_bytes: 6000, algorithm: ring}, {algorithm: recursive_doubling}]}/' "MPI is predicted to be as fast"
check "nor one with none in the machine file, as the library names itself" \
    takes_none_with '/^inherits/s#h200-x4.yaml#cpu-2x64-200g.yaml#;/^  allreduce:/d' "where MPI is predicted to be as fast"
check "nor nodes with fewer cores" takes_none_with '/^inherits/a node: {sockets: 1, gpus: 1, cores: 1}' "that have no price"
check "without PORTOLAN_HOST=1 they are left to MPI" takes_none without_gpus 2 PORTOLAN_HOST= "$program" random 50 "$seed"
check "and process 0 says so once" [ "$(grep -c 'no process has a GPU' "$work/stderr")" = 1 ]
check "also beside GPUs" takes_none under 2 PORTOLAN_HOST=0 PORTOLAN_STRATEGY=own_algorithm "$program" random 50 "$seed"
finish

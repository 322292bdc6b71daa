#!/usr/bin/env bash
# The drop-in under programs that know their results, on the host device, under mpirun on this machine.
# BUILD: where the programs were built (default build). SEED: of the random programs (default: the time).
# CALLS: in each of them (default 200). MPIRUN: mpirun.mpich for a build with MPICH.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
. tests/mpi/dropin_shell.sh
portolan=$build/portolan
built "$portolan"
export PORTOLAN_MACHINE=$PWD/scenarios/machines/h200-x4.yaml PORTOLAN_HOST=0 # host buffers: test_dropin_host.sh

processes="2 3 4"
if is_mpich; then processes=2; fi # its processes don't yield their cores
for n in $processes; do
    check "$calls random calls of $n processes" takes $((calls / 8)) under "$n" "$program" random "$calls" "$seed"
done
last=${n:-2}
check "with agreement by messages" \
    takes $((calls / 8)) under "$last" PORTOLAN_AGREE=messages "$program" random "$calls" "$seed"
if ! is_mpich; then
    check "two processes on each GPU" takes $((calls / 8)) under 4 PORTOLAN_ASSUME=device PORTOLAN_EMULATED_GPUS=2 "$program" random "$calls" "$seed"
    check "blocks that are numbered across the GPUs are copied, or staged" takes_each Allgather Alltoall
    check "and copied by a plan for all" under 4 PORTOLAN_ASSUME=device PORTOLAN_EMULATED_GPUS=2 PORTOLAN_STRATEGY=gsb "$program" random "$calls" 7
    check "in three collectives" takes_each Allgather Reduce_scatter Reduce_scatter_block
    check "by another plan" under 4 PORTOLAN_ASSUME=device PORTOLAN_EMULATED_GPUS=2 PORTOLAN_STRATEGY=node_leaders "$program" random "$calls" 7
    check "alltoalls, too" takes_each Alltoall
    check "GPUs with different numbers of processes" under 3 PORTOLAN_EMULATED_GPUS=2 "$program" random "$calls" "$seed"
fi
check "with few plans kept" takes $((calls / 8)) under "$last" PORTOLAN_PLANS=3 "$program" random "$calls" "$seed"
check "with little memory" under "$last" PORTOLAN_MEMORY=4000 "$program" random "$calls" "$seed"
check "where all memory is taken as a GPU's" \
    takes $((calls / 4)) under "$last" PORTOLAN_ASSUME=device "$program" random "$calls" "$seed"
broadcast=Bcast
[ "$last" -gt 2 ] || broadcast= # between two processes it is one message, so it is MPI's
check "the same calls each time" under "$last" PORTOLAN_ASSUME=device "$program" random 200 1
# shellcheck disable=SC2086 # none or one
check "all collectives are taken among them" \
    takes_each Allreduce Reduce Reduce_scatter Reduce_scatter_block $broadcast Allgather Allgatherv Alltoall Alltoallv
check "what must be left to MPI" under "$last" "$program" special
check "the report has the bytes of all blocks of a Reduce_scatter" \
    [ "$(grep -c "MPI_Reduce_scatter,.*,$((last * (last - 1) / 2 * 4)),[cg]pu,mpi," "$report")" = 3 ]
check "what must be left to MPI, where the rest is staged" under "$last" PORTOLAN_STRATEGY=three_step "$program" special
check "what must be left to MPI, where the rest runs by plans" under "$last" PORTOLAN_STRATEGY=gas_tree "$program" special
check "the same where all memory is taken as a GPU's" under "$last" PORTOLAN_ASSUME=device "$program" special
check "communicators come and go" takes 100 under 2 "$program" comms 100
check "several threads, where each process acts alone" \
    takes $((calls / 4)) under "$last" PORTOLAN_STRATEGY=three_step "$program" threads "$calls" "$seed"
check "and process 0 says so once" [ "$(grep -c 'MPI_THREAD_MULTIPLE, so collectives run by copies in host memory' "$work/stderr")" = 1 ]
check "by copies where they are the cheapest" takes $((calls / 8)) under "$last" "$program" threads "$calls" "$seed"
check "and by nothing else" [ "$(tail -n +2 "$report" | cut -d, -f11 | sort -u | tr '\n' ' ')" = "mpi three_step " ]
check "with few copies kept" takes 10 under 2 PORTOLAN_STRATEGY=three_step PORTOLAN_PLANS=3 "$program" threads "$calls" "$seed"
check "with little memory" under 2 PORTOLAN_STRATEGY=three_step PORTOLAN_MEMORY=4000 "$program" threads "$calls" "$seed"
check "on two GPUs for all" under "$last" PORTOLAN_EMULATED_GPUS=2 PORTOLAN_STRATEGY=three_step "$program" threads "$calls" "$seed"
check "in memory of a driver, whose contexts are each thread's own" takes $((calls / 4)) under 2 LD_LIBRARY_PATH="$build/tests/fake_cuda" \
    PORTOLAN_STRATEGY=three_step "$program" threads "$calls" "$seed" cuda
check "while the program captures a stream" takes 8 under 2 LD_LIBRARY_PATH="$build/tests/fake_cuda" "$program" capture 4 cuda
check "a thread without a context works in that of its memory" started 60 2 env LD_LIBRARY_PATH="$build/tests/fake_cuda" \
    "$build/tests/test_contexts"
check "a plan is given up where it proves slower than MPI" started 60 2 "$build/tests/test_trials"
check "what one process lacks is left to MPI on all, and a run that fails is an error" started 60 2 "$build/tests/test_refused"
check "a strategy that others must know of is none for them" takes_none under 2 PORTOLAN_STRATEGY=gas_read "$program" threads 50 "$seed"

for how in byte skip; do
    check "results that are wrong on purpose are noticed ($how)" exits 1 under "$last" PORTOLAN_WRONG=$how \
        LD_PRELOAD="$build/tests/wrong/libportolan-mpi.so" PORTOLAN_ASSUME=device "$program" random "$calls" "$seed"
done
check "and so are those from a plan's third run on" exits 1 under "$last" PORTOLAN_WRONG=late \
    LD_PRELOAD="$build/tests/wrong/libportolan-mpi.so" PORTOLAN_ASSUME=device "$program" repeat 10 4096
check "and right ones of the same library are not" takes $((calls / 8)) under "$last" \
    LD_PRELOAD="$build/tests/wrong/libportolan-mpi.so" PORTOLAN_ASSUME=device "$program" random "$calls" "$seed"
# What is measured in turns with MPI itself, for one number of each process: a plan that is slower is said to be, and where
# nothing is in front of MPI, nothing is. Noise may be unlucky in a row or two.
paired() { started 120 2 env "$@" PORTOLAN_ASSUME=device PORTOLAN_TRIALS=0 "$program" paired 8 4 2; }
slower() { awk -F, -v least="$1" -v most="$2" '$NF == "slower" && $1 != "broadcast" { n++ } END { exit !(n >= least && n <= most) }' "$work/stdout"; }
check "plans that are slower on purpose" paired LD_PRELOAD="$build/tests/wrong/libportolan-mpi.so" PORTOLAN_DEVICE=host PORTOLAN_WRONG=slow
check "are found to be, of five collectives in the mean and on the slowest process" slower 8 10
check "MPI alone" paired NOTHING=
check "is found to be as fast as itself" slower 0 2
check "in all six collectives" [ "$(grep -c '^[a-z_]*,8,' "$work/stdout")" = 12 ]
for strategy in three_step cuda_aware staged_ring gsb btb mix gas_read gas_allgather gas_split gas_tree nccl node_aware; do
    check "by $strategy" under "$last" PORTOLAN_STRATEGY=$strategy "$program" random $((calls / 4)) "$seed"
done

takes_unequal() { # STRATEGY COMMAND...: all calls but the first of each table
    "${@:2}" && [ "$(grep -c "MPI_Alltoallv,.*,$1," "$report")" = 18 ] && [ "$(taken)" = 18 ]
}
check "an alltoallv goes by kernels from its second call on" takes_unequal gas_allgather under "$last" PORTOLAN_TRIALS=0 "$program" unequal 10
check "which the summary names" has "MPI_Alltoallv .* gas_allgather"
check "as it does why the first stays with MPI" has "MPI_Alltoallv .* mpi (counts not seen before)"
for strategy in gas_read gas_split; do
    check "also by $strategy, on copies of the program's buffers" takes_unequal $strategy under "$last" \
        PORTOLAN_STRATEGY=$strategy "$program" unequal 10
done

check "it has no function that MPI lacks" exports_as_mpi "$library"
check "PORTOLAN_DROPIN=0 is off" takes_none under 2 PORTOLAN_DROPIN=0 "$program" random 50 "$seed"
check "without a word" lacks portolan
check "without a machine file MPI does all" takes_none under 2 PORTOLAN_MACHINE= "$program" random 50 "$seed"
check "and process 0 says so once" [ "$(grep -c 'names no machine file' "$work/stderr")" = 1 ]
check "with the costs of runs in graphs MPI does all" takes_none under 2 PORTOLAN_MACHINE=h200-x2-graph "$program" random 50 "$seed"
check "and process 0 says so once" [ "$(grep -c 'captured in graphs, and MPI.s are waited for' "$work/stderr")" = 1 ]
check "without GPUs MPI does all" takes_none started 120 2 env LD_PRELOAD="$library" "$program" random 50 "$seed"
check "and process 0 says so once" [ "$(grep -c 'no process has a GPU' "$work/stderr")" = 1 ]

said() { [ "$(grep -c "$1" "$work/stderr")" = 1 ]; }
check "variables that mean nothing are ignored" under 2 PORTOLAN_ASSUME=hots PORTOLAN_PLANS=abc PORTOLAN_MEMORY=1GX \
    PORTOLAN_THREADS=1 "$program" random 50 "$seed"
check "and process 0 says so once: a word" said "^portolan: PORTOLAN_ASSUME=hots is ignored: known are device and host$"
check "another" said "^portolan: PORTOLAN_THREADS=1 is ignored: known is serial$"
check "a number" said "^portolan: PORTOLAN_PLANS=abc is ignored: it is not a whole number from 1 to "
check "a size" said "^portolan: PORTOLAN_MEMORY=1GX is ignored: it is not a whole number of 1 or more, such as 512MiB$"
check "a switch is ignored, and said to be" under 2 PORTOLAN_DROPIN=yse PORTOLAN_HOST=maybe PORTOLAN_MISPRICE=x \
    PORTOLAN_AGREE=mails "$program" random 50 "$seed"
switches="known are 0, 1, no, yes, off, on, false and true"
check "once: the library's own" said "^portolan: PORTOLAN_DROPIN=yse is ignored: $switches$"
check "another" said "^portolan: PORTOLAN_HOST=maybe is ignored: $switches$"
check "a number that only tests set" said "^portolan: PORTOLAN_MISPRICE=x is ignored: it is not a whole number from 0 to "
check "and a word that only tests set" said "^portolan: PORTOLAN_AGREE=mails is ignored: known is messages$"
check "it is off by a word, too" takes_none under 2 PORTOLAN_DROPIN=no "$program" random 50 "$seed"
check "without another word" lacks portolan
check "others are taken without a word" under 2 PORTOLAN_ASSUME=device PORTOLAN_PLANS=8 PORTOLAN_MEMORY=1GiB \
    PORTOLAN_REPEATS=0 PORTOLAN_THREADS= "$program" random 50 "$seed"
check "as they mean something" lacks "is ignored"

check "the summary names the routes" takes 10 under 2 "$program" repeat 10 4096
check "and why a call stays with MPI" has "mpi (buffers in host memory)"
check "with prices" grep -q 'MPI_Allreduce .* 4096 .* 10 .* 9\.21 .* gas_allgather$' "$work/stderr"
check "and what they are predicted to save" has '^# 10 calls by other routes than MPI.s, predicted to save [1-9][0-9.]* us of [1-9]'
check "and what is in front of MPI" has "^# LD_PRELOAD=$library"
check "and the report has a line for each call" [ "$(tail -n +2 "$report" | wc -l)" = 11 ]

check "a program whose calls are all MPI's" under 2 PORTOLAN_STRATEGY=cuda_aware "$program" repeat 10 4096
check "is told so" has "^# no call by another route than MPI.s"
check "a program whose calls all take a named route" takes 10 under 2 PORTOLAN_STRATEGY=gsb "$program" repeat 10 4096
check "is not told that there is none" has "^# 10 calls by other routes than MPI.s, without a predicted time of MPI.s"
echo 'node: [' >"$work/wrong.yaml"
check "with a machine file that is wrong MPI does all" takes_none under 2 PORTOLAN_MACHINE="$work/wrong.yaml" "$program" random 50 "$seed"
check "and process 0 says where" [ "$(grep -c '^portolan: .*/wrong.yaml:[0-9]*:[0-9]*: ' "$work/stderr")" = 1 ]
mpis_have_its_price() { awk -F, '$4 == "MPI_Allgather" && $11 == "mpi" { n++; bad = bad || $12 != $13 } END { exit !n || bad }' "$report"; }
check "allgathers on trial" takes 5 under 2 PORTOLAN_ASSUME=device "$program" paired 8 1 2
check "have MPI's price where MPI runs them" mpis_have_its_price

# A program that is not linked with MPI and loads code that is, as Python does.
plugin() {
    "$mpicc" -shared -fPIC -x c -o "$work/plugin.so" - <<'END' && "${CC:-cc}" -x c -o "$work/host" - -ldl <<'END2'
#include <mpi.h>
#include <stddef.h>
int run(void) {
    int rank, in[4], out[4], wrong = 0;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 10; i++) {
        in[0] = rank + i;
        MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        wrong += out[0] != 1 + 2 * i;
    }
    MPI_Finalize();
    return wrong;
}
END
#include <dlfcn.h>
int main(int argc, char **argv) {
    void *plugin = dlopen(argv[argc - 1], RTLD_NOW | RTLD_LOCAL);
    int (*run)(void) = plugin ? (int (*)(void))dlsym(plugin, "run") : 0;
    return run ? run() : 99;
}
END2
}
mpicc=mpicc
if is_mpich; then mpicc=mpicc.mpich; fi
check "a plugin that calls MPI is built" quietly plugin
check "its calls are taken" takes 10 under 2 PORTOLAN_ASSUME=device "$work/host" "$work/plugin.so"
if ! is_mpich; then
    check "a program that starts processes" takes 20 under 2 PORTOLAN_ASSUME=device "$program" spawn
fi
killed_in_time() { ! started 30 3 env LD_PRELOAD="$library" PORTOLAN_DEVICE=host "$program" killed; }
started_s=$(date +%s)
check "a process that is killed ends the job" killed_in_time
check "within 30 seconds" [ $(($(date +%s) - started_s)) -lt 30 ]

check "behind the profiler" takes 10 under 2 LD_PRELOAD="$build/libportolan-profile.so:$library" \
    PORTOLAN_PROFILE="$work/profile-" "$program" repeat 10 4096
check "which counts the program's calls" [ "$(grep -c MPI_Allreduce "$work/profile-calls.csv")" = 22 ]
check "in front of it" takes 10 under 2 LD_PRELOAD="$library:$build/libportolan-profile.so" \
    PORTOLAN_PROFILE="$work/profile-" "$program" repeat 10 4096

fortran=mpif90
if is_mpich; then fortran=mpif90.mpich; fi
if command -v $fortran >/dev/null; then
    check "a Fortran program is built" quietly $fortran -o "$work/dropin" tests/mpi/dropin.f90
    check "its calls by mpif.h, mpi and mpi_f08 are taken" takes 7 under 2 PORTOLAN_ASSUME=device "$work/dropin"
    check "once each, and allgatherv's repeats" [ "$(taken)" = 7 ]
    check "of both kinds" [ "$(grep -c 'MPI_Allgatherv,.*gas' "$report")" = 3 ]
fi

launcher=$MPIRUN
if ! is_mpich; then launcher="mpirun --oversubscribe"; fi
runs_it() {
    # shellcheck disable=SC2086 # several words
    PORTOLAN_DEVICE=host quietly patiently 60 "$portolan" run --machine h200-x2 --summary --report "$report" -- \
        $launcher -n 2 "$program" repeat 10 4096
}
check "portolan run starts it" takes 10 runs_it
check "with the summary" has "gas_allgather"
check "a command that does not exist is an error" exits 1 quietly "$portolan" run --machine h200-x2 nothing
check "and so is an unknown machine" exits 1 quietly "$portolan" run --machine nowhere true
check "and so is a machine file that is wrong" exits 1 quietly "$portolan" run --machine "$work/wrong.yaml" true
check "whose place is named" has "^$work/wrong.yaml:[0-9]*:[0-9]*: "
check "options behind the command are its own" quietly "$portolan" run --machine h200-x2 printf '%s ' -n 2 --summary
check "as they are" [ "$(cat "$work/stdout")" = "-n 2 --summary " ]
check "a library's path is whole, and in front" quietly env LD_PRELOAD=libm.so.6 "$portolan" run --machine h200-x2 printenv LD_PRELOAD
check "without dots" [ "$(cat "$work/stdout")" = "$(realpath "$library"):libm.so.6" ]
finish

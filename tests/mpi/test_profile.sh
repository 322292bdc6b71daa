#!/usr/bin/env bash
# The profiler in front of programs that know what it must count, under mpirun on this machine.
# BUILD: where the programs were built (default build). SEED: of the random programs (default: the time).
# PLANS: of each strategy and algorithm (default 3). MPIRUN: mpirun.mpich for a build with MPICH.
# DEVICE=cuda: only that a GPU's memory is recognized, on a machine with one and an MPI library that takes its
# pointers; DEVICE=host: a dry run. Exits 77 where there is no mpirun.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
needs mpirun
program=$build/tests/test_profile
library=$build/libportolan-profile.so
portolan=$build/portolan
built "$program" "$library" "$portolan"
seed=${SEED:-$(date +%s)}
echo "     seed $seed"
export PORTOLAN_PROFILE=$work/ PORTOLAN_PROFILE_ORDER=1

profiled() { # PROCESSES PROGRAM ARGUMENTS...
    local processes=$1
    shift
    if [ "${MPIRUN:-mpirun}" = mpirun ]; then
        launch 300 -n "$processes" env LD_PRELOAD="$library" "$@"
    else
        quietly patiently 300 "$MPIRUN" -n "$processes" env LD_PRELOAD="$library" "$@"
    fi
}
rows() { grep -v -e '^#' -e '^source' -e '^rank' "$@"; }
# The sums over all messages between two processes and two spaces, of the kinds that match.
sums() { # KINDS FILE
    rows "$2" | awk -F, -v kinds="$1" '$5 ~ kinds { pair = $1 "," $2 "," $3 "," $4; messages[pair] += $7; bytes[pair] += $8 }
        END { for (pair in messages) print pair "," messages[pair] "," bytes[pair] }' | sort
}
counts_right() { # PROCESSES WHAT COUNT SEED [cuda]
    rm -f "$work"/*.csv
    profiled "$1" "$program" "$2" "$3" "$4" "$work/expected" "${@:5}" &&
        test -s "$work/expected" && diff <(sort "$work/expected") <(sums . "$work/traffic.csv") >"$work/stdout"
}

# MPICH's processes don't yield their cores, and its mpirun ends the other processes of one that dies at once.
if [ "${MPIRUN:-mpirun}" != mpirun ]; then
    check "messages of mixed spaces" counts_right 2 messages 20 "$seed"
    check "alltoalls, gathers and scatters of mixed spaces" counts_right 2 collectives 100 "$seed"
    # Not collectives of neighbors: on a busy machine MPICH 4.0.2 hangs in them, without the profiler too, or, with
    # MPIR_CVAR_INEIGHBOR_*_INTRA_ALGORITHM=sched_linear, finds an "Invalid communicator" that is one.
    for family in persistent one_sided mpi4; do
        check "$family of mixed spaces" counts_right 2 $family 30 "$seed"
    done
    finish
    exit
fi

# --- memory that CUDA's driver knows: the machine's driver, or one that emulates a GPU in host memory

with_cuda() { # COMMAND...
    if [ "${DEVICE:-host}" = cuda ]; then "$@"; else LD_LIBRARY_PATH=$build/tests/fake_cuda "$@"; fi
}
meets() { # PATTERN...
    local pattern
    for pattern in "$@"; do has "$pattern" "$work/traffic.csv" || return; done
}
check "it has no function that MPI lacks" exports_as_mpi "$library"
check "messages of GPU, managed and host memory" with_cuda counts_right 2 messages 30 "$seed" cuda
check "in all of them" meets gpu,gpu,message gpu,managed,message managed,cpu,message cpu,gpu,message
check "collectives of GPU, managed and host memory" with_cuda counts_right 2 collectives 100 "$seed" cuda
check "page-locked memory is the host's, and so is new memory at addresses that a GPU had" \
    with_cuda counts_right 2 reused 1 1 cuda
if [ -n "${DEVICE:-}" ]; then
    grep '^test_profile' "$work/stderr"
    check "plans of all strategies and algorithms" counts_right 2 plans 1 "$seed" "$DEVICE"
    finish
    exit
fi

# --- messages, plans and collectives

check "plans of all strategies and algorithms send what portolan traffic says" counts_right 5 plans "${PLANS:-3}" "$seed"
check "and plans of a pair between host and GPU memory" counts_right 2 plans 10 "$seed"
for processes in 1 3 5; do
    check "messages of mixed spaces on $processes processes" counts_right $processes messages 100 "$seed"
done
sizes_agree() {
    diff <(rows "$work/traffic.csv" | awk -F, '{ print $1, $6, $3, $7, $8 }' | sums_by_three) \
        <(rows "$work/sizes.csv" | awk -F, '{ print $1, $2, $3, $6, $7 }' | sums_by_three) >"$work/stdout"
}
sums_by_three() {
    awk '{ key = $1 " " $2 " " $3; a[key] += $4; b[key] += $5 } END { for (key in a) print key, a[key], b[key] }' | sort
}
check "the sizes sum to the same" sizes_agree
calls_agree() { # one line each
    diff <(rows "$work/times.csv" | awk -F, '{ calls[$1 " " $2] += $4 } END { for (key in calls) if (calls[key]) print key, calls[key] }' | sort) \
        <(rows "$work/calls.csv" | awk -F, '{ calls[$1 " " $4]++ } END { for (key in calls) print key, calls[key] }' | sort) >"$work/stdout"
}
check "there is a line for each call" calls_agree
for processes in 2 4 6; do
    check "alltoalls, gathers and scatters of mixed spaces on $processes processes" \
        counts_right $processes collectives $((60 * processes)) "$seed"
done
for family in neighbors persistent one_sided; do
    check "$family of mixed spaces on 2 processes" counts_right 2 $family 30 "$seed"
    check "$family of mixed spaces on 4 processes" counts_right 4 $family 60 "$seed"
done
check "without the order of messages, mixed ones are unknown" \
    profiled 3 env -u PORTOLAN_PROFILE_ORDER "$program" messages 20 1
check "and said to be" has "gpu,unknown,message" "$work/traffic.csv"
check "and not guessed" lacks 'gpu,cpu\|cpu,gpu' "$work/traffic.csv"

# --- collectives by plan

by_plan() { # COLLECTIVE ROUTINE ALGORITHM ROOT
    "$portolan" traffic --machine summit-spectrum --collective "$1" --library "$3" --nodes 5 --gpus-per-node 1 \
        --procs-per-gpu 1 --bytes 8008 --datatype double --strategy three_step |
        awk -F, -v root="$4" '!/^#/ && !/^source/ { print ($1 + root) % 5 "," ($2 + root) % 5 "," $3 "," $4 "," $6 "," $7 }' |
        sort >"$work/expected"
    test -s "$work/expected" && diff "$work/expected" <(grep ",plan:$3,$2," "$work/traffic.csv" >"$work/own"; sums . "$work/own") >"$work/stdout"
}
check "reductions, broadcasts and allgathers" profiled 5 "$program" vectors 2
check "have the parts of a plan: allreduce" by_plan allreduce MPI_Allreduce recursive_doubling 0
check "reduce" by_plan reduce MPI_Reduce binomial 2
check "broadcast" by_plan broadcast MPI_Bcast binomial 2
check "allgather" by_plan allgather MPI_Allgather ring 0
check "reduce_scatter" by_plan reduce_scatter MPI_Reduce_scatter_block pairwise 0
replayed_sizes() { # of the calls of process 0
    quietly "$portolan" replay "$work/calls.csv" --as-gpu --machine summit-spectrum --gpus-per-node 1 --format csv &&
        diff <(printf '%s,8008,5,1\n' allgather allreduce broadcast reduce reduce_scatter) \
            <(grep -v '^collective,' "$work/stdout" | cut -d, -f1-4 | sort) >"$work/difference"
}
check "they are replayed with their sizes" replayed_sizes
check "with the algorithms that the environment names" \
    profiled 5 env PORTOLAN_PROFILE_ALGORITHMS=allreduce:rabenseifner,allgather:bruck "$program" vectors 0
check "allreduce" by_plan allreduce MPI_Allreduce rabenseifner 0
check "allgather" by_plan allgather MPI_Allgather bruck 0

# --- what reads it

check "counts: the traffic is a matrix" quietly "$portolan" traffic --machine summit-spectrum --collective alltoallv \
    --implementation isend_irecv --counts "$work/traffic.csv" --nodes 5 --gpus-per-node 1 --procs-per-gpu 1 --strategy three_step
same_particles() { diff <(cut -d, -f1-8 "$work/traffic.csv") tests/fixtures/particles.csv >"$work/stdout"; }
same_bytes() {
    diff <(rows "$work/traffic.csv" | awk -F, '{ sum[$1 "," $2] += $8 } END { for (pair in sum) print pair "," sum[pair] }' | sort) \
        <(rows "$work/stdout" | awk -F, '{ print $1 "," $2 "," $7 }' | sort)
}
check "of the same bytes" same_bytes

built "$build/tests/example_particles"
check "the example of docs/profiling.md runs" profiled 8 "$build/tests/example_particles"
check "and sends what tests/golden/particles.cmd takes" same_particles

check "paths with control characters" profiled 2 env PORTOLAN_PROFILE=$'/nonexistent/\e[31m' \
    PORTOLAN_PROFILE_MACHINE=$'/gone/\e[32m' "$program" messages 5 1
check "are escaped where they are printed" lacks $'\e'
check "that of a file, too" has 'cannot write /nonexistent/.u001b.31mtraffic.csv'

# --- programs that die

dies() { rm -f "$work"/*.csv && fails profiled 3 "$program" ends "$1"; }
# Those that mpirun kills may not get to write.
left() { # RANKS
    local rank
    for rank in "$@"; do
        grep -q "^$rank,$(((rank + 1) % 3)),cpu,unknown,message,MPI_Sendrecv,1,100," "$work/traffic.$rank.csv" || return 1
    done
}
for how in signal abort error; do
    check "a program ends by $how" dies $how
    check "and its process leaves its counts" left 2
done
# While it exits, and writes into a pipe that nobody reads yet, the program gets the signals that mpirun and a terminal send.
ends_while_it_writes() {
    local pid mask=0
    rm -f "$work"/*.csv
    mkfifo "$work/traffic.0.csv"
    LD_PRELOAD=$library "$program" ends exit >"$work/stdout" 2>"$work/stderr" &
    pid=$!
    for _ in {1..300}; do
        mask=$(sed -n 's/^SigBlk:\s*/0x/p' "/proc/$pid/status")
        # SIGTERM is blocked, and SIGCHLD is not: the C library blocks all for a moment where it starts a thread.
        ((mask >> 14 & 1 && !(mask >> 16 & 1))) && break
        sleep 0.1
    done
    kill -TERM $pid
    kill -HUP $pid
    timeout 30 cat "$work/traffic.0.csv" >"$work/piped.csv"
    fails wait $pid || return
    grep -q '^0,0,cpu,unknown,message,MPI_Sendrecv,1,100,' "$work/piped.csv" && grep -q '^0,MPI_Sendrecv,' "$work/times.0.csv"
}
check "a program gets signals while it writes its counts, which are whole" ends_while_it_writes
# Otherwise mpirun kills the others a second or two after the first.
leaves() { rm -f "$work"/*.csv && OMPI_MCA_orte_abort_on_non_zero_status=0 profiled 3 "$program" ends exit; }
check "a program exits without MPI_Finalize" leaves
check "and all processes leave their counts" left 0 1 2
joined() {
    cat "$work"/traffic.?.csv >"$work/joined.csv"
    quietly "$portolan" traffic --machine summit-spectrum --collective alltoallv --implementation isend_irecv \
        --counts "$work/joined.csv" --nodes 3 --gpus-per-node 1 --procs-per-gpu 1 --strategy three_step && has '^2,0,.*,1,100$' "$work/stdout"
}
check "which can be joined and read" joined

# --- Fortran: by mpif.h and by both modules

fortran_counts() { # each routine once, its messages as often as the program sends them
    local row
    for row in 2,0,cpu,cpu,message,MPI_Isend,1,4 1,2,cpu,cpu,message,MPI_Send_init,2,16 0,1,cpu,cpu,one_sided,MPI_Put,1,8 \
        1,0,cpu,cpu,exact,MPI_Alltoall,1,4 0,2,cpu,cpu,exact,MPI_Ineighbor_alltoall,1,4; do
        has "^$row," "$work/traffic.csv" || return
    done
    has '^0,1,cpu,cpu,plan:recursive_doubling,MPI_Allreduce,.*,8,' "$work/traffic.csv"
}
if command -v mpif90 >/dev/null; then
    cat >"$work/ring.F90" <<'END'
program ring
#ifdef MODULE
    use MODULE
#endif
    implicit none
#ifndef MODULE
    include 'mpif.h'
#endif
#ifdef F08
    type(MPI_Request) :: request, exchange
    type(MPI_Win) :: window
    type(MPI_Comm) :: cart
#else
    integer :: request, exchange, window, cart
#endif
    integer :: rank, ranks, code, got, next, give(3), take(3)
    integer(kind=MPI_ADDRESS_KIND) :: place
    real(8) :: sum, there(1)
    call MPI_Init(code)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
    next = mod(rank + 1, ranks)
    call MPI_Isend(rank, 1, MPI_INTEGER, next, 7, MPI_COMM_WORLD, request, code)
    call MPI_Recv(got, 1, MPI_INTEGER, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE, code)
    call MPI_Wait(request, MPI_STATUS_IGNORE, code)
    sum = 1
    call MPI_Allreduce(MPI_IN_PLACE, sum, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, code)
    if (got /= mod(rank + ranks - 1, ranks) .or. sum /= ranks) call MPI_Abort(MPI_COMM_WORLD, 1, code)
    call MPI_Send_init(sum, 1, MPI_DOUBLE_PRECISION, next, 8, MPI_COMM_WORLD, request, code)
    do got = 1, 2
        call MPI_Start(request, code)
        call MPI_Recv(there, 1, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE, code)
        call MPI_Wait(request, MPI_STATUS_IGNORE, code)
    end do
    call MPI_Request_free(request, code)
    place = 8
    call MPI_Win_create(there, place, 8, MPI_INFO_NULL, MPI_COMM_WORLD, window, code)
    place = 0
    call MPI_Win_fence(0, window, code)
    call MPI_Put(sum, 1, MPI_DOUBLE_PRECISION, next, place, 1, MPI_DOUBLE_PRECISION, window, code)
    call MPI_Win_fence(0, window, code)
    call MPI_Win_free(window, code)
    call MPI_Alltoall(give, 1, MPI_INTEGER, take, 1, MPI_INTEGER, MPI_COMM_WORLD, code)
    call MPI_Cart_create(MPI_COMM_WORLD, 1, [ranks], [.true.], .false., cart, code)
    call MPI_Ineighbor_alltoall(give, 1, MPI_INTEGER, take, 1, MPI_INTEGER, cart, exchange, code)
    call MPI_Wait(exchange, MPI_STATUS_IGNORE, code)
    call MPI_Finalize(code)
end program
END
    for way in mpif.h:-DMPIF mpi:-DMODULE=mpi "mpi_f08:-DMODULE=mpi_f08 -DF08"; do
        # shellcheck disable=SC2086 # two options
        check "a Fortran program is built with ${way%%:*}" \
            quietly mpif90 -fallow-argument-mismatch ${way#*:} -o "$work/ring" "$work/ring.F90"
        check "and right" profiled 3 "$work/ring"
        check "its calls are counted once" fortran_counts
    done
fi
finish

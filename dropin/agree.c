/* The vote on a call: all processes of the communicator take it over, or none does. A process cannot know by
 * itself whether the others can: MPI lets them pass different kinds of memory, datatypes and, in an
 * alltoallv, counts.
 *
 * On one node, each process writes its vote on a board in shared memory. A process that cannot take the call
 * over votes no and goes on at once. The others read all votes; these are the same for every reader, so that
 * all of them decide alike. Between nodes, the vote is an allreduce.
 *
 * The board keeps the votes of the last CALLS_KEPT calls. A process that is that many calls ahead of another
 * one waits for it. This cannot deadlock correct programs: MPI allows every collective to synchronize. */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "dropin.h"
#include "mpi_team.h"

enum { CALLS_KEPT = 32, LINE_BYTES = 64, SPINS = 1000 };

/* What one process writes on the board. */
typedef struct {
    _Alignas(LINE_BYTES) atomic_uint_fast64_t voted; /* calls on which it has voted */
    _Alignas(LINE_BYTES) atomic_uint_fast64_t done;  /* calls of which it no longer needs the votes */
    _Alignas(LINE_BYTES) drop_vote_t vote[CALLS_KEPT];
} process_votes_t;

struct drop_board {
    int size;
    int rank;
    uint64_t calls;
    uint64_t all_done;        /* calls of which no process needs the votes; a lower bound */
    process_votes_t *process; /* by rank */
    pto_shared_handle_t handle;
};

pto_status_t drop_board_create(MPI_Comm comm, drop_board_t **board, pto_error_t *err) {
    drop_board_t *made = calloc(1, sizeof *made);
    void *memory = NULL;
    pto_status_t status =
        pto_mpi_agree(comm, made ? PTO_OK : pto_error_set(err, PTO_ERR_MEMORY, "out of memory"), err);
    if (status != PTO_OK || !made) {
        free(made);
        return status;
    }
    MPI_Comm_size(comm, &made->size);
    MPI_Comm_rank(comm, &made->rank);
    status = pto_mpi_share(comm, (size_t)made->size * sizeof(process_votes_t), &memory, &made->handle, err);
    if (status != PTO_OK) {
        free(made);
        return status;
    }
    made->process = memory;
    *board = made;
    return PTO_OK;
}

void drop_board_destroy(drop_board_t *board) {
    if (board)
        pto_team_unshare(board->rank, board->process, &board->handle);
    free(board);
}

/* While this process waits, MPI_Iprobe lets MPI progress: the other processes may depend on its messages. */
static void pause_spinning(MPI_Comm comm, int *spins) {
    int flag;
    if (++*spins < SPINS)
        return;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, MPI_STATUS_IGNORE);
    sched_yield();
}

static void wait_until(MPI_Comm comm, atomic_uint_fast64_t *counter, uint64_t least) {
    int spins = 0;
    while (atomic_load_explicit(counter, memory_order_acquire) < least)
        pause_spinning(comm, &spins);
}

/* Waits until no process needs the vote of CALLS_KEPT calls ago. The other processes' counters are read only
 * when the known lower bound does not suffice: once in many calls. */
static void wait_for_room(drop_board_t *board, MPI_Comm comm) {
    if (board->calls < board->all_done + CALLS_KEPT)
        return;
    uint64_t least = UINT64_MAX, enough = board->calls - CALLS_KEPT + 1;
    for (int i = 0; i < board->size; i++) {
        wait_until(comm, &board->process[i].done, enough);
        uint64_t done = atomic_load_explicit(&board->process[i].done, memory_order_acquire);
        least = done < least ? done : least;
    }
    board->all_done = least;
}

static void write_vote(drop_board_t *board, MPI_Comm comm, drop_vote_t vote) {
    process_votes_t *own = &board->process[board->rank];
    wait_for_room(board, comm);
    own->vote[board->calls % CALLS_KEPT] = vote;
    board->calls++;
    atomic_store_explicit(&own->voted, board->calls, memory_order_release);
}

static void end_call(drop_board_t *board) {
    atomic_store_explicit(&board->process[board->rank].done, board->calls, memory_order_release);
}

void drop_board_decline(drop_board_t *board, MPI_Comm comm) {
    write_vote(board, comm, (drop_vote_t){0});
    end_call(board);
}

bool drop_board_vote(drop_board_t *board, MPI_Comm comm, drop_vote_t vote, bool *have_plan) {
    bool all_agree = true;
    write_vote(board, comm, vote);
    *have_plan = vote.plan != 0;
    for (int i = 0; i < board->size && all_agree; i++) {
        wait_until(comm, &board->process[i].voted, board->calls);
        drop_vote_t other = board->process[i].vote[(board->calls - 1) % CALLS_KEPT];
        all_agree = other.key == vote.key;
        *have_plan &= other.plan == vote.plan;
    }
    end_call(board);
    return all_agree;
}

/* One allreduce finds both the minimum and the maximum of each number: the maximum is the complement of the
 * minimum of the complements. All processes have the same number if the two are equal. */
bool drop_messages_vote(MPI_Comm comm, drop_vote_t vote, bool *have_plan) {
    uint64_t own[4] = {vote.key, ~vote.key, vote.plan, ~vote.plan}, least[4];
    if (MPI_Allreduce(own, least, 4, MPI_UINT64_T, MPI_MIN, comm) != MPI_SUCCESS)
        return false;
    *have_plan = least[2] == ~least[3] && least[2] != 0;
    return least[0] == ~least[1] && least[0] != 0;
}

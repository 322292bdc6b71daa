/* Agreement on a call: MPI lets its processes pass different kinds of memory, datatypes and, in an alltoallv,
 * counts, which no process knows of the others. On one node each process writes what it can offer on a board
 * in shared memory, whether it can take the call or not. One that cannot goes on at once. One that can reads
 * all offers, which are the same to all who read them, so that all of them decide alike.
 *
 * The board keeps the offers of the last calls. A process that is that many calls ahead of another one waits
 * for it. MPI allows every collective to wait for all processes, so no correct program notices. */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "dropin.h"
#include "mpi_team.h"

enum { CALLS_KEPT = 32, LINE_BYTES = 64, SPINS = 1000 };

/* The message of one process. */
typedef struct {
    _Alignas(LINE_BYTES) atomic_uint_fast64_t offered; /* calls of which the offer is written */
    _Alignas(LINE_BYTES) atomic_uint_fast64_t done; /* calls of which others' offers are no longer needed */
    _Alignas(LINE_BYTES) drop_offer_t offer[CALLS_KEPT];
} column_t;

struct drop_board {
    int size;
    int rank;
    uint64_t calls;
    uint64_t all_done; /* calls that no process needs; a lower bound */
    column_t *column;  /* by rank */
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
    status = pto_mpi_share(comm, (size_t)made->size * sizeof(column_t), &memory, &made->handle, err);
    if (status != PTO_OK) {
        free(made);
        return status;
    }
    made->column = memory;
    *board = made;
    return PTO_OK;
}

void drop_board_destroy(drop_board_t *board) {
    if (board)
        pto_team_unshare(board->rank, board->column, &board->handle);
    free(board);
}

/* Others may wait for messages that this process must help to send. */
static void rest(MPI_Comm comm, int *spins) {
    int flag;
    if (++*spins < SPINS)
        return;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, MPI_STATUS_IGNORE);
    sched_yield();
}

static void wait_until(MPI_Comm comm, atomic_uint_fast64_t *counter, uint64_t least) {
    int spins = 0;
    while (atomic_load_explicit(counter, memory_order_acquire) < least)
        rest(comm, &spins);
}

/* Wait until the offer of CALLS_KEPT calls ago is not needed; look at the others once for many calls. */
static void wait_for_room(drop_board_t *board, MPI_Comm comm) {
    if (board->calls < board->all_done + CALLS_KEPT)
        return;
    uint64_t least = UINT64_MAX, enough = board->calls - CALLS_KEPT + 1;
    for (int i = 0; i < board->size; i++) {
        wait_until(comm, &board->column[i].done, enough);
        uint64_t done = atomic_load_explicit(&board->column[i].done, memory_order_acquire);
        least = done < least ? done : least;
    }
    board->all_done = least;
}

static void write_offer(drop_board_t *board, MPI_Comm comm, drop_offer_t offer) {
    column_t *mine = &board->column[board->rank];
    wait_for_room(board, comm);
    mine->offer[board->calls % CALLS_KEPT] = offer;
    board->calls++;
    atomic_store_explicit(&mine->offered, board->calls, memory_order_release);
}

static void end_call(drop_board_t *board) {
    atomic_store_explicit(&board->column[board->rank].done, board->calls, memory_order_release);
}

void drop_board_decline(drop_board_t *board, MPI_Comm comm) {
    write_offer(board, comm, (drop_offer_t){0});
    end_call(board);
}

bool drop_board_offer(drop_board_t *board, MPI_Comm comm, drop_offer_t offer, bool *have_plan) {
    bool all = true;
    write_offer(board, comm, offer);
    *have_plan = offer.plan != 0;
    for (int i = 0; i < board->size && all; i++) {
        wait_until(comm, &board->column[i].offered, board->calls);
        drop_offer_t other = board->column[i].offer[(board->calls - 1) % CALLS_KEPT];
        all = other.cell == offer.cell;
        *have_plan &= other.plan == offer.plan;
    }
    end_call(board);
    return all;
}

bool drop_messages_offer(MPI_Comm comm, drop_offer_t offer, bool *have_plan) {
    uint64_t mine[4] = {offer.cell, ~offer.cell, offer.plan, ~offer.plan}, least[4];
    if (MPI_Allreduce(mine, least, 4, MPI_UINT64_T, MPI_MIN, comm) != MPI_SUCCESS)
        return false;
    *have_plan = least[2] == ~least[3] && least[2] != 0;
    return least[0] == ~least[1] && least[0] != 0;
}

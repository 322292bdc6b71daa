/* Teams: the processes that make an executor together, and how they exchange what they need to know of each
 * other. Once it is made, a plan of kernels needs its team no more.
 *
 * The library makes teams on memory that the processes of a node share (below), and on MPI's communicators
 * (exec_mpi.h). A program with other means, such as a socket or a key-value store, fills in the table. */
#ifndef PORTOLAN_TEAM_H
#define PORTOLAN_TEAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "portolan/api.h"
#include "portolan/status.h"

PTO_API_BEGIN

typedef struct pto_team pto_team_t;
struct pto_team {
    int rank; /* of this process, from 0 */
    int size;
    void *context; /* the first argument of all functions */
    /* The processes that share memory with this one, in the order of their ranks; NULL: all of them. */
    const pto_team_t *node;
    int node_first; /* the lowest rank of these; 0 if all share memory */

    /* Collective: all processes call these two in the same order. */
    /* `bytes` of each process, in the order of ranks, into `all`. */
    pto_status_t (*allgather)(void *context, const void *mine, size_t bytes, void *all, pto_error_t *err);
    /* Begin a barrier, and return at once. */
    pto_status_t (*enter)(void *context, pto_error_t *err);
    /* Whether all processes have entered. Does not block. */
    pto_status_t (*entered)(void *context, bool *all, pto_error_t *err);

    /* All that follow may be NULL. */
    /* Collective: the least of each of `count` numbers replaces the process's own; `bytes` of the root's.
     * NULL: by `allgather`. */
    pto_status_t (*least)(void *context, int64_t *numbers, int count, pto_error_t *err);
    pto_status_t (*broadcast)(void *context, void *data, size_t bytes, int root, pto_error_t *err);
    /* Where process `rank` has what this one has at `memory`, as addressed here. Of teams whose processes
     * have their device's memory for each other in symmetric pieces, allocated alike and zero at first: they
     * exchange no handles. */
    void *(*reach)(void *context, int rank, const void *memory);
    /* Called now and then while this process waits for others. */
    pto_status_t (*rest)(void *context, pto_error_t *err);
    /* A run failed, so that other processes may still use the team: it must not be freed. */
    void (*abandon)(void *context);
    /* End the processes (PTO_TIMEOUT_ABORT). NULL: abort(). */
    void (*end)(void *context);
    /* What plans with messages need; set by the library's own teams of MPI. */
    const struct pto_mpi_part *mpi;
};

/* A team of processes of one node, on memory that they share and that is zero at first, such as an anonymous
 * shared mapping made before fork(). It is borrowed until pto_team_shared_destroy, and serves one team.
 * `timeout_s`: how long a process waits for the others in one exchange; negative: without limit. Errors of
 * its exchanges: PTO_ERR_TIMEOUT. */
size_t pto_team_shared_bytes(int size);
pto_status_t pto_team_shared_create(void *memory, int rank, int size, double timeout_s, pto_team_t **team,
                                    pto_error_t *err);
void pto_team_shared_destroy(pto_team_t *team); /* NULL is legal */

PTO_API_END

#endif

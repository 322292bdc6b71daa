/* The functions of MPI that plans with messages and MPI's own collectives need. The executor reaches it
 * through its team, so that it links no MPI; impl/mpi has the functions. */
#ifndef PTO_MPI_PART_H
#define PTO_MPI_PART_H

#include "members.h"
#include "schedule_items.h"

/* User buffers that go elsewhere (rebind.c). */
typedef struct {
    const char *from;
    int64_t bytes;
    char *to;
} pto_moved_t;

typedef struct {
    pto_moved_t *item; /* exec->moved, which has room for all of them */
    int count;
} pto_moves_t;

/* Where an address is now; itself if it lies in no user's buffer. */
void *pto_moved(const pto_moves_t *moves, const void *address);

struct pto_mpi_part {
    /* Collective: prepare the library calls, one for each collective node that MPI runs. `status` is what
     * this process has come to so far: one that has failed takes part, and keeps its error. */
    pto_status_t (*prepare)(pto_exec_t *exec, pto_status_t status, pto_error_t *err);
    /* Whether this process is a member of library call `index`. */
    bool (*takes_part)(const pto_exec_t *exec, int index);
    /* Run it. Blocks. */
    pto_status_t (*call)(pto_exec_t *exec, int index, pto_error_t *err);
    /* Append a message's request (but not its start) for a slice's ranges. */
    pto_status_t (*message)(pto_schedule_t *builder, bool sends, const pto_byte_ranges_t *ranges, int peer);
    /* Start a task's requests; wait for them, or with `wait` false look whether they are complete. */
    pto_status_t (*post)(pto_exec_t *exec, const pto_task_t *task, pto_error_t *err);
    pto_status_t (*finish)(pto_exec_t *exec, const pto_task_t *task, bool wait, bool *finished,
                           pto_error_t *err);
    /* User buffers have moved. Nothing fails here of which the other processes would not know. */
    void (*move)(pto_exec_t *exec, const pto_moves_t *moves);
    /* Collective: a team of the members of each group, in the group's order; NULL on other processes. */
    pto_status_t (*members)(const pto_exec_t *exec, const pto_membership_t *member, pto_team_t **team,
                            pto_error_t *err);
    void (*members_free)(pto_team_t *team);
    void (*free)(pto_exec_t *exec);
};

#endif

/* The table of functions by which the executor uses MPI, for messages and for MPI's own collectives. The
 * executor finds it in its team, so that it links no MPI. impl/mpi implements it. */
#ifndef PTO_MPI_PART_H
#define PTO_MPI_PART_H

#include "members.h"
#include "schedule_items.h"

/* A user buffer that a rebinding replaces (rebind.c): addresses in it move to the same offset in `to`. */
typedef struct {
    const char *from; /* the old buffer */
    int64_t bytes;
    char *to; /* the new one */
} pto_relocation_t;

typedef struct {
    pto_relocation_t *item; /* exec->relocations, which has room for all of them */
    int count;
} pto_relocations_t;

/* Returns the new address for an old one. It is the same if no relocation contains it. */
void *pto_relocated(const pto_relocations_t *relocations, const void *address);

struct pto_mpi_part {
    /* Collective: prepare the library calls, one for each collective node that MPI runs. A process that has
     * already failed passes its `status`, takes part nevertheless and gets it back. */
    pto_status_t (*prepare)(pto_exec_t *exec, pto_status_t status, pto_error_t *err);
    /* Whether this process is a member of library call `index`. */
    bool (*takes_part)(const pto_exec_t *exec, int index);
    /* Run library call `index`. Blocks. */
    pto_status_t (*call)(pto_exec_t *exec, int index, pto_error_t *err);
    /* Append a request that sends or receives a slice's ranges. It is not started. `peer`: MPI rank. */
    pto_status_t (*message)(pto_schedule_t *builder, bool sends, const pto_byte_ranges_t *ranges, int peer);
    /* Start a task's requests (`post`). Wait for them, or test them without `wait` (`finish`). */
    pto_status_t (*post)(pto_exec_t *exec, const pto_task_t *task, pto_error_t *err);
    pto_status_t (*finish)(pto_exec_t *exec, const pto_task_t *task, bool wait, bool *finished,
                           pto_error_t *err);
    /* Replace the addresses in calls and requests. It does not fail: the other processes would not know. */
    void (*relocate)(pto_exec_t *exec, const pto_relocations_t *relocations);
    /* Collective: create a team of the members of each group, in its order; NULL on other processes. */
    pto_status_t (*members)(const pto_exec_t *exec, const pto_membership_t *member, pto_team_t **team,
                            pto_error_t *err);
    void (*members_free)(pto_team_t *team);
    void (*free)(pto_exec_t *exec);
};

#endif

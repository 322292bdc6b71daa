/* execute: do what a plan says, on MPI and a device. It neither prints nor ends the job, unless
 * PTO_TIMEOUT_ABORT asks for that.
 *
 * pto_exec_create resolves the plan once into a flat schedule for the calling process: buffers bound,
 * requests and datatypes made, other processes' memory opened. Running allocates nothing. All functions
 * marked collective are called by every process of the communicator; on an error all of them return one, but
 * for failures inside a run, which the other processes notice when their time is up.
 *
 * Errors: PTO_ERR_RANGE (the job does not fit the layout, or its processes were given different plans or
 * options), PTO_ERR_NOT_APPLICABLE with the reason, PTO_ERR_TOO_LARGE, PTO_ERR_MEMORY, PTO_ERR_TIMEOUT where
 * others did not come, and PTO_ERR_IO where a
 * call of MPI, the device or the system failed, with rank, stage and cause. */
#ifndef PORTOLAN_EXEC_H
#define PORTOLAN_EXEC_H

#include <mpi.h>

#include "portolan/api.h"
#include "portolan/device.h"
#include "portolan/plan.h"

PTO_API_BEGIN

typedef struct pto_exec pto_exec_t;

/* Which process of the communicator is which logical rank of the plan. */
typedef enum {
    PTO_PLACEMENT_NODES,    /* the j-th node's i-th process (by rank) is the i-th of the plan's j-th node */
    PTO_PLACEMENT_IDENTITY, /* by rank, wherever the processes really are */
    PTO_PLACEMENT_TABLE,
    PTO_PLACEMENT_COUNT
} pto_placement_t;

/* What happens to a run that takes longer than the time-out.
 *
 * PTO_TIMEOUT_RETURN: pto_exec_wait and pto_exec_run return PTO_ERR_TIMEOUT, with rank, stage and what was
 * waited for. Messages, kernels and other processes may then still use the buffers: the executor refuses
 * further runs, pto_exec_destroy leaves its memory and communicators as they are until the process ends, and
 * so should the caller leave `in` and `out`. Calls that wait inside MPI or NCCL cannot be left: a collective
 * of the MPI library's own (unless `own_algorithms`), and pto_exec_create and pto_exec_destroy, which are
 * collective.
 *
 * PTO_TIMEOUT_ABORT: a thread watches create, runs and destroy, wherever they wait; it writes what was waited
 * for to standard error and calls MPI_Abort, with an alarm that ends the process if that does not return. */
typedef enum { PTO_TIMEOUT_RETURN, PTO_TIMEOUT_ABORT, PTO_TIMEOUT_COUNT } pto_timeout_t;

/* All zero: the defaults. Equal on all processes, but for the seed. */
typedef struct {
    pto_placement_t placement;
    const int64_t *table; /* PTO_PLACEMENT_TABLE: the logical rank of each process of the communicator */
    bool own_algorithms;  /* run the plan's own stages where it names the MPI library's collective */
    double timeout_s;     /* of a run, or of a wait for it; 0: 20 s; negative: none */
    pto_timeout_t on_timeout;
    double delay_max_s; /* for tests: wait up to this long, at random, before each step */
    uint64_t delay_seed;
} pto_exec_options_t;

/* The logical rank of the calling process. Collective. `options` may be NULL. */
pto_status_t pto_exec_place(const pto_layout_t *layout, MPI_Comm comm, const pto_exec_options_t *options,
                            int64_t *logical_rank, pto_error_t *err);

/* Bytes of the user's input or output buffer on a logical rank; 0 where it holds none. */
int64_t pto_exec_user_bytes(const pto_plan_t *plan, int64_t logical_rank, pto_role_t role);

/* Collective. `plan` and `device` are borrowed until the end of pto_exec_destroy, `in` and `out` too; helpers
 * pass NULL. The buffers lie on the device; `in == out` means in place. Memory that is not the device's own
 * is accepted: where other processes must reach it, and for alltoall(v) in place, each run copies it. The
 * element type is the plan's; allreduce's bytes must be whole elements. `op` is allreduce's. */
pto_status_t pto_exec_create(const pto_plan_t *plan, MPI_Comm comm, const pto_device_t *device,
                             const void *in, void *out, pto_op_t op, const pto_exec_options_t *options,
                             pto_exec_t **exec, pto_error_t *err);

/* Collective. pto_exec_create with everything around it: the device of that name, of which this process
 * selects its GPU, and user buffers that it allocates there and pto_exec_destroy frees. */
pto_status_t pto_exec_open(const pto_plan_t *plan, MPI_Comm comm, const char *device, pto_op_t op,
                           const pto_exec_options_t *options, pto_exec_t **exec, pto_error_t *err);

/* The user's buffers, on the device; NULL where this process has none. pto_exec_put copies host memory to all
 * of the `in` that pto_exec_open allocated, and pto_exec_get all of its `out` to host memory; both do nothing
 * where there is none. No run may be under way. */
const void *pto_exec_in(const pto_exec_t *exec);
void *pto_exec_out(const pto_exec_t *exec);
pto_status_t pto_exec_put(pto_exec_t *exec, const void *host, pto_error_t *err);
pto_status_t pto_exec_get(const pto_exec_t *exec, void *host, pto_error_t *err);

/* Begin a run and go on as far as possible without waiting; at most one run at a time. */
pto_status_t pto_exec_start(pto_exec_t *exec, pto_error_t *err);
/* Go on without waiting; `*finished` says whether the run has ended. A collective of the MPI library's own
 * waits, and is left to pto_exec_wait. */
pto_status_t pto_exec_test(pto_exec_t *exec, bool *finished, pto_error_t *err);
pto_status_t pto_exec_wait(pto_exec_t *exec, pto_error_t *err);
/* Start and wait. */
pto_status_t pto_exec_run(pto_exec_t *exec, pto_error_t *err);

/* Put one more run behind those that are under way, and wait for none of them; pto_exec_wait waits for all,
 * and pto_exec_test asks for all. Only what pto_exec_queue began may be under way. All processes queue
 * equally many runs before they wait. Every run finds what stands in the buffers when it begins, and nobody
 * may touch them till all have ended.
 *
 * Errors: PTO_ERR_NOT_APPLICABLE, on all processes alike and with nothing begun, where a run is more than one
 * kernel on each GPU or one call of NCCL's, or where the user's buffers must be copied before or after it. */
pto_status_t pto_exec_queue(pto_exec_t *exec, pto_error_t *err);

/* Collective; NULL is legal. No run may be under way. */
void pto_exec_destroy(pto_exec_t *exec);

PTO_API_END

#endif

/* A case of the executor's tests: a plan, how it is run, and the comparison of its runs with the
 * reference. */
#ifndef PTO_EXEC_CASE_H
#define PTO_EXEC_CASE_H

#include "../../validate/reference.h"
#include "portolan/exec_mpi.h"

enum { CASE_PROCESSES_MAX = 64 };

typedef struct {
    pto_request_t request;
    pto_counts_t counts;
    pto_counts_t host_counts; /* of a second pattern */
    pto_mapping_t mapping;
    int64_t process[CASE_PROCESSES_MAX]; /* of the mapping */
    int64_t list[CASE_PROCESSES_MAX];    /* of the counts */
    int64_t matrix[CASE_PROCESSES_MAX * CASE_PROCESSES_MAX];
    pto_op_t op;
    bool in_place;
    bool plain_memory; /* the user's buffers are not the device's */
    bool asynchronous;
    bool follows;   /* the input is still being copied when a run starts */
    bool rebinds;   /* each run but the first has the other pair of buffers */
    bool registers; /* which are in registered memory, as long as the device can export it */
    int queued;     /* > 0: so many runs are queued, where the plan allows it */
    pto_exec_options_t options;
    int64_t table[CASE_PROCESSES_MAX];
} case_t;

/* Say which case it is, on standard error, and what there is to say of it. */
void case_say(const case_t *test, const char *what);
/* The same of one that failed, and end the job. */
_Noreturn void case_die(const case_t *test, const pto_error_t *err);

/* A number from 0 to bound - 1. All draws come from this state, so equal states draw equally. */
extern uint64_t case_random_state;
int64_t case_random_below(int64_t bound);
/* The numbers from 0 to count - 1 in any order. */
void case_random_order(int *item, int count);

/* Whether the executor may run a case's algorithm itself, in place of MPI: not one whose members use each
 * other's memory, where the data are in each process's own. */
bool case_may_own(const case_t *test);

/* The only collective (its name) that is drawn; NULL: all of them. */
extern const char *case_collective;
/* The only datatype and operation; their COUNTs: all. */
extern pto_datatype_t case_datatype;
extern pto_op_t case_op;
/* A random plan on `layout`, or on a random layout of `size` processes where that is NULL (then placed at
 * random too); any number of owners. */
pto_plan_t *case_random(case_t *test, const pto_layout_t *layout, int size);
/* The same for a given pair; NULL where nothing was found to which it applies. */
pto_plan_t *case_random_of(case_t *test, const pto_strategy_t *strategy, const pto_algorithm_t *algorithm,
                           const pto_layout_t *layout, int size);

/* The plan of the case's request by this strategy and algorithm. Without one, the job ends. */
pto_plan_t *case_plan(case_t *test, const char *strategy, const char *algorithm);

/* The user's buffers on the device, and host memory to fill them from and look at them in. */
typedef struct {
    void *in;
    void *out;
    void *other_in; /* of the runs that have other buffers */
    void *other_out;
    void *host;
    reference_host_t second; /* of a second pattern */
    int64_t in_bytes;
    int64_t out_bytes;
    int64_t owner; /* number among the owners; -1: a helper */
    void *stream;
} case_user_t;

case_user_t case_user(const case_t *test, const pto_plan_t *plan, const pto_device_t *device, int64_t rank);
/* The process's place, buffers and executor, of which the caller frees the latter two also after an error.
 * Collective. Errors: those of pto_exec_create. */
pto_status_t case_open(const case_t *test, const pto_plan_t *plan, MPI_Comm comm, const pto_device_t *device,
                       case_user_t *user, pto_exec_t **exec, pto_error_t *err);
void case_user_free(const case_t *test, const pto_device_t *device, case_user_t *user);

/* Run the plan `runs` times, each with fresh inputs, and compare. Collective. False: it does not apply to
 * this device's memory (an MPI library that does not reach it). */
bool case_run(const case_t *test, const pto_plan_t *plan, MPI_Comm comm, const pto_device_t *device,
              int64_t runs);

#endif

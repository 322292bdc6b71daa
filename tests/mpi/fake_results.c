/* A drop-in that is wrong on purpose, to see that tests notice: linked into libportolan-mpi.so in front of
 * the executor (--wrap), it spoils what plans of calls that are taken leave in the program's buffers.
 *
 *   PORTOLAN_WRONG=byte   the last byte of each output changes
 *   PORTOLAN_WRONG=skip   plans are not run
 *   PORTOLAN_WRONG=late   the same, from the third run of a plan on
 *   PORTOLAN_WRONG=slow   results are right, and plans take 5 ms more */
#include <mpi.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mpi_team.h"

enum { EXECS_MAX = 4096, LATE = 3, SLOWER_NS = 5000000 };

typedef struct {
    const pto_exec_t *exec;
    int64_t out_bytes;
    int runs;
    char *out;
} run_t;

static run_t known[EXECS_MAX];

static run_t *find(const pto_exec_t *exec) {
    int i = 0;
    while (i < EXECS_MAX - 1 && known[i].exec != exec && known[i].exec)
        i++;
    return &known[i];
}

static bool is_wrong(const char *how) {
    const char *text = getenv("PORTOLAN_WRONG");
    return text && strcmp(text, how) == 0;
}

pto_status_t __real_pto_exec_create_in(const pto_plan_t *plan, const pto_team_t *team,
                                       const pto_device_t *device, const void *in, void *out, pto_op_t op,
                                       const pto_exec_options_t *options, pto_exec_t **exec,
                                       pto_error_t *err);
pto_status_t __real_pto_exec_rebind_private(pto_exec_t *exec, const void *in, void *out, pto_error_t *err);
pto_status_t __real_pto_exec_run(pto_exec_t *exec, pto_error_t *err);

pto_status_t __wrap_pto_exec_create_in(const pto_plan_t *plan, const pto_team_t *team,
                                       const pto_device_t *device, const void *in, void *out, pto_op_t op,
                                       const pto_exec_options_t *options, pto_exec_t **exec,
                                       pto_error_t *err) {
    int rank;
    pto_status_t status = __real_pto_exec_create_in(plan, team, device, in, out, op, options, exec, err);
    rank = team->rank;
    if (status == PTO_OK)
        *find(*exec) = (run_t){.exec = *exec,
                               .out_bytes = pto_exec_user_bytes(plan, options->table[rank], PTO_ROLE_OUT)};
    return status;
}

pto_status_t __wrap_pto_exec_rebind_private(pto_exec_t *exec, const void *in, void *out, pto_error_t *err) {
    find(exec)->out = out;
    return __real_pto_exec_rebind_private(exec, in, out, err);
}

pto_status_t __wrap_pto_exec_run(pto_exec_t *exec, pto_error_t *err) {
    run_t *run = find(exec);
    run->runs++;
    if (is_wrong("skip") || (is_wrong("late") && run->runs >= LATE))
        return PTO_OK;
    pto_status_t status = __real_pto_exec_run(exec, err);
    if (is_wrong("slow"))
        nanosleep(&(struct timespec){.tv_nsec = SLOWER_NS}, NULL);
    if (is_wrong("byte") && run->out && run->out_bytes > 0)
        run->out[run->out_bytes - 1] ^= 0x41;
    return status;
}

/* Teams without MPI: what they exchange, and executors that they make, among processes that fork() starts, on
 * the host device. This program links no MPI.
 *
 *   test_teams */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "portolan/exec.h"
#include "portolan/strategy.h"
#include "team.h"

static int failures;

static void expect(bool right, const char *what, const char *found) {
    if (!right)
        fprintf(stderr, "test_teams: expected %s, found %s\n", what, found);
    failures += !right;
}

/* --- processes ------------------------------------------------------------------------------------------ */

typedef void (*body_t)(pto_team_t *team, int argument);

static int run_one(void *memory, int rank, int size, double timeout_s, body_t body, int argument) {
    pto_team_t *team = NULL;
    failures = 0;
    if (pto_team_shared_create(memory, rank, size, timeout_s, &team, NULL) != PTO_OK)
        return 1;
    body(team, argument);
    pto_team_shared_destroy(team);
    return failures > 0;
}

/* `size` processes, of which only the first `started` come. */
static void together(int size, int started, double timeout_s, body_t body, int argument) {
    void *memory =
        mmap(NULL, pto_team_shared_bytes(size), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int ended = 0;
    for (int rank = 0; rank < started; rank++)
        if (fork() == 0)
            _exit(run_one(memory, rank, size, timeout_s, body, argument));
    while (wait(&ended) > 0)
        failures += ended != 0;
    munmap(memory, pto_team_shared_bytes(size));
}

/* --- exchanges ------------------------------------------------------------------------------------------ */

static unsigned char given(int rank, size_t i) { return (unsigned char)(rank * 31 + (int)(i % 251)); }

static void gathers(pto_team_t *team, int bytes) {
    unsigned char *mine = malloc((size_t)bytes), *all = calloc((size_t)team->size, (size_t)bytes);
    bool right = true;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < bytes; i++)
            mine[i] = given(team->rank + round, (size_t)i);
        if (pto_team_allgather(team, mine, (size_t)bytes, all, NULL) != PTO_OK)
            right = false;
        for (int rank = 0; rank < team->size; rank++)
            for (int i = 0; i < bytes; i++)
                right = right && all[rank * bytes + i] == given(rank + round, (size_t)i);
    }
    expect(right, "what all gave", "other bytes");
    free(mine);
    free(all);
}

static void agrees(pto_team_t *team, int count) {
    int64_t least[PTO_AGREE_MAX];
    pto_error_t err = {0};
    bool all = false;
    for (int i = 0; i < count; i++)
        least[i] = (team->rank + i) % team->size;
    expect(pto_agree_least(team, PTO_OK, least, count, &err) == PTO_OK, "agreement", err.message);
    for (int i = 0; i < count; i++)
        expect(least[i] == 0, "the least", "another number");
    pto_status_t own = team->rank == 1 ? pto_error_set(&err, PTO_ERR_IO, "the disk is full") : PTO_OK;
    expect(pto_agree(team, own, &err) == PTO_ERR_IO, "the error on all", "none");
    expect(strcmp(err.message, "rank 1: the disk is full") == 0, "its words", err.message);
    team->enter(team->context, NULL);
    while (!all)
        team->entered(team->context, &all, NULL);
    gathers(team, 8);
}

static void times_out(pto_team_t *team, int unused) {
    int64_t number = unused;
    pto_error_t err = {0};
    expect(pto_team_least(team, &number, 1, &err) == PTO_ERR_TIMEOUT, "a time-out", err.message);
    expect(strstr(err.message, "for rank 2 of its team") != NULL, "the missing rank", err.message);
}

/* --- executors ------------------------------------------------------------------------------------------ */

enum { COUNT = 3000, TIMEOUT_S = 60 };

static pto_plan_t *plan_of(int size, const char *strategy, const char *algorithm, bool by_library) {
    pto_request_t request = {.layout = {1, size, 1, 1, size, false},
                             .collective = PTO_COLLECTIVE_ALLREDUCE,
                             .datatype = PTO_DATATYPE_FLOAT,
                             .by_library = by_library,
                             .bytes = COUNT * (int64_t)sizeof(float)};
    pto_plan_t *plan = NULL;
    pto_error_t err = {0};
    if (pto_strategy_find(strategy, &request.strategy, &err) != PTO_OK ||
        pto_algorithm_find(algorithm, request.collective, &request.algorithm, &err) != PTO_OK ||
        pto_plan_create(&request, &plan, &err) != PTO_OK)
        expect(false, strategy, err.message);
    return plan;
}

static const struct {
    const char *strategy, *algorithm;
    const char *refused; /* NULL: it runs */
    bool by_library;
} plans[] = {{"gas_read", "direct", NULL, false},
             {"gas_allgather", "direct", NULL, false},
             {"gas_split", "direct", NULL, false},
             {"copy_engine", "direct", NULL, false},
             {"nccl", "nccl", NULL, false},
             {"gsb", "direct", NULL, false},
             {"cuda_aware", "ring", "sends messages", false},
             {"cuda_aware", "ring", "MPI's own collective", true}};
enum { PLANS = (int)(sizeof plans / sizeof *plans) };

static void reduces(pto_team_t *team, int index) {
    pto_plan_t *plan =
        plan_of(team->size, plans[index].strategy, plans[index].algorithm, plans[index].by_library);
    float data[COUNT];
    pto_exec_t *exec = NULL;
    pto_error_t err = {0};
    const pto_exec_options_t options = {.timeout_s = TIMEOUT_S};
    if (!plan)
        return;
    pto_status_t status = pto_exec_open_in(plan, team, "host", PTO_OP_SUM, &options, &exec, &err);
    if (plans[index].refused) {
        expect(status == PTO_ERR_NOT_APPLICABLE && strstr(err.message, plans[index].refused),
               plans[index].refused, err.message);
    } else {
        expect(status == PTO_OK, "an executor", err.message);
        bool right = status == PTO_OK;
        for (int run = 0; run < 5 && right; run++) {
            for (int i = 0; i < COUNT; i++)
                data[i] = (float)(team->rank + 1 + i % 7 + run);
            status = pto_exec_put(exec, data, &err);
            if (status == PTO_OK)
                status = pto_exec_run(exec, &err);
            if (status == PTO_OK)
                status = pto_exec_get(exec, data, &err);
            for (int i = 0; i < COUNT; i++) {
                const int sum = team->size * (team->size + 1) / 2 + team->size * (i % 7 + run);
                right = right && status == PTO_OK && data[i] == (float)sum;
            }
        }
        expect(right, plans[index].strategy, status == PTO_OK ? "another sum" : err.message);
        pto_exec_destroy(exec);
    }
    pto_plan_destroy(plan);
}

int main(void) {
    static const int bytes[] = {1, 64, 4032, 4033, 20000};
    for (int size = 1; size <= 5; size++)
        for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
            together(size, size, TIMEOUT_S, gathers, bytes[i]);
    for (int size = 2; size <= 5; size++)
        together(size, size, TIMEOUT_S, agrees, size);
    together(3, 2, 0.2, times_out, 0);
    for (int i = 0; i < PLANS; i++)
        for (int size = 2; size <= 4; size += 2)
            together(size, size, TIMEOUT_S, reduces, i);
    if (failures == 0)
        puts("teams exchange, and make executors");
    return failures > 0;
}

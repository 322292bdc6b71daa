/* An allreduce without MPI: processes of one node that fork() starts share a page for their team. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <portolan/exec.h>
#include <portolan/strategy.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 4, COUNT = 1000 };

static int run(int rank, void *shared, const char *name) {
    /* One node and socket, with a GPU for each process. */
    pto_request_t request = {.layout = {.nodes = 1,
                                        .gpus_per_node = SIZE,
                                        .owners_per_gpu = 1,
                                        .procs_per_gpu = 1,
                                        .gpus_per_socket = SIZE},
                             .collective = PTO_COLLECTIVE_ALLREDUCE,
                             .datatype = PTO_DATATYPE_FLOAT,
                             .bytes = COUNT * (int64_t)sizeof(float)};
    float data[COUNT];
    pto_error_t err = {0};
    pto_team_t *team;
    pto_plan_t *plan;
    pto_exec_t *exec;
    for (int i = 0; i < COUNT; i++)
        data[i] = (float)(rank + 1);
    if (pto_team_shared_create(shared, rank, SIZE, 20, &team, &err) ||
        pto_strategy_find("gas_allgather", &request.strategy, &err) ||
        pto_algorithm_find("direct", request.collective, &request.algorithm, &err) ||
        pto_plan_create(&request, &plan, &err) ||
        pto_exec_open_in(plan, team, name, PTO_OP_SUM, NULL, &exec, &err) || pto_exec_put(exec, data, &err) ||
        pto_exec_run(exec, &err) || pto_exec_get(exec, data, &err))
        return fprintf(stderr, "rank %d: %s\n", rank, err.message), 1;
    printf("rank %d: %g\n", rank, data[COUNT - 1]);
    pto_exec_destroy(exec), pto_plan_destroy(plan), pto_team_shared_destroy(team);
    return 0;
}

int main(int argc, char **argv) {
    void *shared =
        mmap(NULL, pto_team_shared_bytes(SIZE), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int failed = shared == MAP_FAILED, ended;
    for (int rank = 0; rank < SIZE && !failed; rank++)
        if (fork() == 0)
            return run(rank, shared, argc > 1 ? argv[1] : "host");
    while (wait(&ended) > 0)
        failed |= ended != 0;
    return failed;
}

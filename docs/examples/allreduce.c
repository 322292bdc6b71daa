/* An allreduce of GPU data by three_step and ring. Run it with any number of processes on one node. */
#include <portolan/exec_mpi.h>
#include <portolan/strategy.h>
#include <stdio.h>

int main(int argc, char **argv) {
    enum { COUNT = 1000 };
    int size, rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);

    pto_request_t request = {
        .layout = {1, size, 1, 1, size, false}, /* one node and socket, one GPU per rank */
        .collective = PTO_COLLECTIVE_ALLREDUCE,
        .datatype = PTO_DATATYPE_DOUBLE,
        .bytes = COUNT * (int64_t)sizeof(double)};
    pto_error_t err = {0};
    pto_plan_t *plan = NULL;
    pto_exec_t *exec = NULL;
    const pto_device_t *device = NULL;
    void *data = NULL; /* in place; with the host device, a pointer that C can follow */
    if (pto_device_find("host", &device, &err) != PTO_OK || device->select(rank, &err) != PTO_OK ||
        device->allocate(COUNT * sizeof(double), &data, &err) != PTO_OK ||
        pto_strategy_find("three_step", &request.strategy, &err) != PTO_OK ||
        pto_algorithm_find("ring", request.collective, &request.algorithm, &err) != PTO_OK ||
        pto_plan_create(&request, &plan, &err) != PTO_OK ||
        pto_exec_create(plan, MPI_COMM_WORLD, device, data, data, PTO_OP_SUM, NULL, &exec, &err) != PTO_OK)
        return fprintf(stderr, "%s\n", err.message), MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < COUNT; i++)
        ((double *)data)[i] = rank + 1;
    if (pto_exec_run(exec, &err) != PTO_OK) /* as often as you like */
        return fprintf(stderr, "%s\n", err.message), MPI_Abort(MPI_COMM_WORLD, 1);
    printf("rank %d: %g\n", rank, ((double *)data)[COUNT - 1]);
    pto_exec_destroy(exec), pto_plan_destroy(plan), device->release(data, NULL);
    return MPI_Finalize();
}

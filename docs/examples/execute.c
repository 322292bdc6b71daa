/* The cheapest allreduce of 1000 doubles, one process for each GPU of one node. Any number of processes. */
#include <portolan/exec_mpi.h>
#include <portolan/pick.h>
#include <stdio.h>

int main(int argc, char **argv) {
    enum { COUNT = 1000 };
    static double data[COUNT];
    int size, rank;
    pto_machine_t *machine;
    pto_plan_t *plan;
    pto_exec_t *exec;
    pto_error_t err = {.message = "usage: mpirun -n GPUS execute MACHINE.yaml [DEVICE]"};
    MPI_Init(&argc, &argv), MPI_Comm_size(MPI_COMM_WORLD, &size), MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < COUNT; i++)
        data[i] = rank + 1;
    pto_ask_t cell = {"allreduce", .datatype = "double", .bytes = sizeof data, .gpus_per_node = size,
                      .procs_per_gpu = 1};
    if (argc < 2 || pto_machine_open(argv[1], &machine, &err) ||
        pto_predict_one(machine, &cell, &plan, NULL, &err) ||
        pto_exec_open(plan, MPI_COMM_WORLD, argc > 2 ? argv[2] : "host", PTO_OP_SUM, NULL, &exec, &err) ||
        pto_exec_put(exec, data, &err) || pto_exec_run(exec, &err) || pto_exec_get(exec, data, &err))
        return fprintf(stderr, "%s%s%s\n", err.file, *err.file ? ": " : "", err.message),
               MPI_Abort(MPI_COMM_WORLD, 1);
    printf("rank %d: %g\n", rank, data[COUNT - 1]);
    pto_exec_destroy(exec), pto_plan_destroy(plan), pto_machine_destroy(machine);
    return MPI_Finalize();
}

/* Stream in, stream out: an allreduce of 1000 floats that the CPU only enqueues. One process for each GPU. */
#include <portolan/exec_mpi.h>
#include <portolan/pick.h>
#include <stdio.h>

int main(int argc, char **argv) {
    static float data[1000];
    pto_error_t err = {.message = "usage: mpirun -n GPUS stream MACHINE.yaml DEVICE"};
    const pto_device_t *device;
    pto_machine_t *machine;
    pto_plan_t *plan;
    pto_exec_t *exec;
    void *stream; /* of the device: with `cuda`, a cudaStream_t */
    int size;
    MPI_Init(&argc, &argv), MPI_Comm_size(MPI_COMM_WORLD, &size);
    pto_ask_t cell = {"allreduce",           "gas_read",        "float", sizeof data,
                      .gpus_per_node = size, .procs_per_gpu = 1};
    if (argc < 3 || pto_machine_open(argv[1], &machine, &err) || pto_device_find(argv[2], &device, &err) ||
        pto_predict_one(machine, &cell, &plan, NULL, &err) ||
        pto_exec_open(plan, MPI_COMM_WORLD, argv[2], PTO_OP_SUM, NULL, &exec, &err) ||
        device->stream_create(&stream, &err))
        return fprintf(stderr, "%s%s%s\n", err.file, *err.file ? ": " : "", err.message),
               MPI_Abort(MPI_COMM_WORLD, 1);
    data[999] = 2;
    pto_move_t in = {(void *)pto_exec_in(exec), data, sizeof data, 1, sizeof data, sizeof data};
    pto_move_t out = {data, pto_exec_out(exec), sizeof data, 1, sizeof data, sizeof data};
    if (device->copy(&in, stream, &err) || pto_exec_enqueue(exec, stream, &err) ||
        device->copy(&out, stream, &err) || device->finish(stream, &err))
        return fprintf(stderr, "%s\n", err.message), MPI_Abort(MPI_COMM_WORLD, 1);
    printf("%g\n", data[999]);
    pto_exec_destroy(exec), pto_plan_destroy(plan), pto_machine_destroy(machine);
    device->stream_destroy(stream, NULL);
    return MPI_Finalize();
}

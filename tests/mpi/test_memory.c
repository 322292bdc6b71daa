/* A GPU without memory: executors that cannot be made fail with the cause on all processes, in time, and
 * leave nothing; once there is memory again, they can be made.
 *
 *   mpirun -n N test_memory [DEVICE]   on at least two processes; each has a GPU, or all share one
 *
 * The last process takes all memory of its GPU. The host device has no end of it: there, allocations of this
 * process are refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "die.h"
#include "portolan/exec_mpi.h"
#include "portolan/strategy.h"

enum { MIB = 1 << 20, ELEMENTS = 16 * MIB, HELD_MAX = 4096, ROUNDS = 3 };
static const double limit_s = 30;

static int rank, size;
static pto_error_t err;

/* --- taking all memory ---------------------------------------------------------------------------------- */

static struct {
    const pto_device_t *device;
    void *memory[HELD_MAX];
    int count;
    bool refuses; /* the host device */
} held;

static pto_status_t allocate(size_t bytes, void **memory, pto_error_t *why) {
    if (held.refuses)
        return pto_error_set(why, PTO_ERR_MEMORY, "cudaMalloc: out of memory (not really)");
    return held.device->allocate(bytes, memory, why);
}

/* Returns how many bytes there were. */
static int64_t take_all(const pto_device_t *real) {
    int64_t all = 0;
    held.device = real;
    held.refuses = strcmp(real->name, "host") == 0;
    for (size_t bytes = (size_t)1 << 40; bytes >= MIB && !held.refuses; bytes /= 2)
        while (held.count < HELD_MAX && real->allocate(bytes, &held.memory[held.count], &err) == PTO_OK) {
            held.count++;
            all += (int64_t)bytes;
        }
    return all;
}

static void give_back(void) {
    held.refuses = false;
    while (held.count > 0)
        MUST(held.device->release(held.memory[--held.count], &err));
}

/* --- executors ------------------------------------------------------------------------------------------ */

typedef struct {
    const char *strategy;
    const char *algorithm;
} kind_t;

/* All need as much memory of the GPU as their vectors, or more. */
static const kind_t kinds[] = {
    {"gas_split", "direct"}, {"gas_allgather", "direct"}, {"gas_tree", "direct"}, {"gas_gather", "direct"}};
/* Without kernels that wait for each other: processes may share a GPU. */
static const kind_t without_kernels = {"gsb", "direct"};

static pto_plan_t *plan_of(const kind_t *kind) {
    pto_request_t request = {.layout = {1, size, 1, 1, 1, false},
                             .collective = PTO_COLLECTIVE_ALLREDUCE,
                             .datatype = PTO_DATATYPE_INT32,
                             .bytes = ELEMENTS * (int64_t)sizeof(int32_t)};
    return plan_by(request, kind->strategy, kind->algorithm);
}

static const pto_exec_options_t options = {
    .placement = PTO_PLACEMENT_IDENTITY, .timeout_s = 20, .on_timeout = PTO_TIMEOUT_ABORT};

static void check_fails(const pto_device_t *device, const kind_t *kind, const void *in, void *out) {
    pto_plan_t *plan = plan_of(kind);
    pto_exec_t *exec = NULL;
    const double began_s = MPI_Wtime();
    err.message[0] = '\0';
    const pto_status_t status =
        pto_exec_create(plan, MPI_COMM_WORLD, device, in, out, PTO_OP_SUM, &options, &exec, &err);
    if (status != PTO_ERR_MEMORY || exec)
        die(status == PTO_OK ? "an executor was made without memory" : err.message);
    if (!strstr(err.message, "MPI rank ") || !strstr(err.message, "cuda") ||
        !strstr(err.message, "out of memory"))
        die(err.message);
    if (MPI_Wtime() - began_s > limit_s)
        die("an executor took too long to fail");
    if (rank == 0)
        printf("test_memory: %s: %s (%.2f s)\n", kind->strategy, err.message, MPI_Wtime() - began_s);
    fflush(stdout);
    pto_plan_destroy(plan);
}

static int32_t value(int owner, int i) { return (i & 0xffff) * (owner + 1) + owner; }

static void check_works(const pto_device_t *device, const kind_t *kind, const int32_t *in, int32_t *out,
                        int32_t *host, bool runs) {
    pto_plan_t *plan = plan_of(kind);
    pto_exec_t *exec = NULL;
    MUST(pto_exec_create(plan, MPI_COMM_WORLD, device, in, out, PTO_OP_SUM, &options, &exec, &err));
    if (runs) {
        MUST(pto_exec_run(exec, &err));
        MUST(pto_device_copy(device, host, out, ELEMENTS * sizeof *host, &err));
        for (int i = 0; i < ELEMENTS; i++) {
            int64_t sum = 0;
            for (int owner = 0; owner < size; owner++)
                sum += value(owner, i);
            if (host[i] != (int32_t)sum)
                die("a wrong result");
        }
    }
    pto_exec_destroy(exec);
    pto_plan_destroy(plan);
}

int main(int argc, char **argv) {
    const pto_device_t *real = NULL;
    int given;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MUST(pto_device_find(argc > 1 ? argv[1] : "host", &real, &err));
    MUST(real->select(rank, &err));
    pto_device_t device = *real;
    device.allocate = allocate;
    held.device = real;
    const size_t bytes = ELEMENTS * sizeof(int32_t);
    const int count = (int)(sizeof kinds / sizeof *kinds);
    void *in = NULL, *out = NULL;
    int32_t *host = malloc(bytes);
    MUST(real->allocate(bytes, &in, &err));
    MUST(real->allocate(bytes, &out, &err));
    for (int i = 0; host && i < ELEMENTS; i++)
        host[i] = value(rank, i);
    if (!host)
        die("out of memory");
    MUST(pto_device_copy(real, in, host, bytes, &err));
    int64_t taken[ROUNDS] = {0};
    for (int round = 0; round < ROUNDS; round++) {
        for (int k = 0; k < count; k++)
            check_works(&device, &kinds[k], in, out, host, false);
        check_works(&device, &without_kernels, in, out, host, true);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == size - 1)
            taken[round] = take_all(real);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int k = 0; k < count; k++)
            check_fails(&device, &kinds[k], in, out);
        MPI_Barrier(MPI_COMM_WORLD);
        give_back();
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (rank == size - 1) {
        printf("test_memory: all memory was %lld, then %lld MiB\n", (long long)taken[1] / MIB,
               (long long)taken[ROUNDS - 1] / MIB);
        if (taken[ROUNDS - 1] < taken[1] - (int64_t)bytes)
            die("executors that failed kept memory");
    }
    free(host);
    MUST(real->release(in, &err));
    MUST(real->release(out, &err));
    if (rank == 0)
        printf("test_memory: right\n");
    MPI_Finalize();
    return 0;
}

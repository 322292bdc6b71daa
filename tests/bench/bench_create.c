/* How long pto_exec_create takes on one process of many, without the others and without MPI (one_of_many.h).
 * The time should grow like the work of a process, which the column `messages` counts.
 *
 *   mpirun -n 1 bench_create [STRATEGY] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "mpi/die.h"
#include "one_of_many.h"
#include "portolan/exec_mpi.h"

enum { REPEATS = 7 };

typedef struct {
    const char *strategy;
    const char *algorithm;
    pto_collective_t collective;
    bool unequal;
    bool by_library;
    int ranks; /* at most */
    int per_node;
} row_t;

static const row_t rows[] = {
    {"cuda_aware", "pairwise", PTO_COLLECTIVE_ALLTOALLV, true, false, 4096, 8},
    {"cuda_aware", "pairwise", PTO_COLLECTIVE_ALLTOALLV, true, true, 4096, 8},
    {"node_leaders", "pairwise", PTO_COLLECTIVE_ALLTOALL, false, false, 1024, 8},
    {"node_leaders", "pairwise", PTO_COLLECTIVE_ALLTOALL, false, false, 1024, 32},
    {"cuda_aware", "ring", PTO_COLLECTIVE_ALLREDUCE, false, false, 1024, 8},
    {"three_step", "recursive_doubling", PTO_COLLECTIVE_ALLREDUCE, false, false, 1024, 8},
};

static pto_plan_t *plan_of(const row_t *row, const pto_counts_t *counts) {
    const pto_request_t request = {.layout = {many.size / row->per_node, row->per_node, 1, 1, 1, false},
                                   .collective = row->collective,
                                   .datatype = PTO_DATATYPE_FLOAT,
                                   .bytes = row->collective == PTO_COLLECTIVE_ALLREDUCE ? 1 << 20 : 64,
                                   .counts = counts,
                                   .by_library = row->by_library};
    return plan_by(request, row->strategy, row->algorithm);
}

static double create_s(const row_t *row, const pto_plan_t *plan, const pto_device_t *device) {
    pto_exec_options_t options = {
        .placement = PTO_PLACEMENT_IDENTITY, .own_algorithms = !row->by_library, .timeout_s = -1};
    pto_error_t err = {0};
    pto_exec_t *exec = NULL;
    void *in = NULL, *out = NULL;
    size_t in_bytes = (size_t)pto_exec_user_bytes(plan, many.rank, PTO_ROLE_IN);
    size_t out_bytes = (size_t)pto_exec_user_bytes(plan, many.rank, PTO_ROLE_OUT);
    if ((in_bytes > 0 && device->allocate(in_bytes, &in, &err) != PTO_OK) ||
        (out_bytes > 0 && device->allocate(out_bytes, &out, &err) != PTO_OK))
        die(err.message);
    many.messages = 0;
    double began_s = MPI_Wtime();
    if (pto_exec_create(plan, MPI_COMM_SELF, device, in, out, PTO_OP_SUM, &options, &exec, &err) != PTO_OK)
        die(err.message);
    double seconds = MPI_Wtime() - began_s;
    pto_exec_destroy(exec);
    device->release(in, NULL);
    device->release(out, NULL);
    return seconds;
}

static void bench_one(const row_t *row, const pto_device_t *device) {
    pto_counts_t counts = {.kind = PTO_COUNTS_MATRIX};
    size_t owners = (size_t)many.size;
    many.node_size = row->per_node;
    many.rank = row->unequal ? many.size / 2 + 1 : 0; /* 0 is a leader */
    if (row->unequal) {
        counts.order = (int64_t)owners;
        counts.matrix = calloc(owners * owners, sizeof *counts.matrix);
        if (!counts.matrix)
            die("out of memory");
        for (size_t i = 0; i < owners * owners; i++)
            counts.matrix[i] = 512 + (int64_t)(i * 2654435761u % 512);
    }
    pto_plan_t *plan = plan_of(row, row->unequal ? &counts : NULL);
    double least_s = create_s(row, plan, device);
    for (int i = 1; i < (bench_is_short() ? 1 : REPEATS); i++) {
        double seconds = create_s(row, plan, device);
        least_s = seconds < least_s ? seconds : least_s;
    }
    printf("%-14s %-9s %-18s %6d %6d %9d %9.3f\n", row->strategy, pto_collective_name(row->collective),
           row->by_library ? "library" : row->algorithm, many.size, row->per_node, many.messages,
           1e3 * least_s);
    pto_plan_destroy(plan);
    free(counts.matrix);
}

int main(int argc, char **argv) {
    const pto_device_t *device;
    MPI_Init(&argc, &argv);
    if (pto_device_find("host", &device, NULL) != PTO_OK)
        die("no device");
    printf("# creating an executor on one process of many, without MPI's own time\n"
           "# %-12s %-9s %-18s %6s %6s %9s %9s\n",
           "strategy", "", "inside", "ranks", "a node", "messages", "least ms");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (many.size = bench_is_short() ? 64 : rows[i].ranks / 16; many.size <= rows[i].ranks;
             many.size *= 4) {
            if (argc > 1 && strcmp(argv[1], rows[i].strategy) != 0)
                break;
            bench_one(&rows[i], device);
            if (bench_is_short())
                break;
        }
    MPI_Finalize();
    return 0;
}

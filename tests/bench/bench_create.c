/* How long pto_exec_create takes on one process of many, without the others and without MPI: this process
 * plays one rank. MPI's calls on communicators are answered here as if all processes had said the same, and
 * messages go nowhere, so nothing can be run. The time should grow like the work of a process, which the
 * second column counts: the messages that it sends and receives.
 *
 *   mpirun -n 1 bench_create [STRATEGY] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "job.h"
#include "portolan/exec.h"
#include "portolan/strategy.h"

enum { REPEATS = 7 };

/* --- the other processes ----------------------------------------------------------------------------------
 */

static int size, rank, node_size;
static MPI_Comm node = MPI_COMM_NULL;
static int messages;

int MPI_Comm_size(MPI_Comm comm, int *answer) {
    *answer = comm == node ? node_size : size;
    return MPI_SUCCESS;
}

int MPI_Comm_rank(MPI_Comm comm, int *answer) {
    *answer = comm == node ? rank % node_size : rank;
    return MPI_SUCCESS;
}

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *made) {
    (void)type;
    (void)key;
    (void)info;
    int code = PMPI_Comm_dup(comm, made);
    node = *made;
    return code;
}

int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *made) {
    (void)key;
    *made = MPI_COMM_NULL;
    return color == MPI_UNDEFINED ? MPI_SUCCESS : PMPI_Comm_dup(comm, made);
}

int MPI_Group_translate_ranks(MPI_Group from, int count, const int *ranks, MPI_Group to, int *answer) {
    (void)from;
    (void)to;
    for (int i = 0; i < count; i++)
        answer[i] = rank - rank % node_size + ranks[i];
    return MPI_SUCCESS;
}

static int repeat(const void *mine, void *all, int bytes, int times) {
    for (int i = 0; i < times; i++)
        memcpy((char *)all + (size_t)i * (size_t)bytes, mine, (size_t)bytes);
    return MPI_SUCCESS;
}

int MPI_Allreduce(const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    int bytes = 0;
    (void)op;
    (void)comm;
    MPI_Type_size(type, &bytes);
    return repeat(mine, all, count * bytes, 1);
}

int MPI_Scan(const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    return MPI_Allreduce(mine, all, count, type, op, comm);
}

/* All processes say the same, apart from where they are. */
int MPI_Allgather(const void *mine, int count, MPI_Datatype type, void *all, int all_count,
                  MPI_Datatype all_type, MPI_Comm comm) {
    int bytes = 0;
    (void)all_count;
    (void)all_type;
    MPI_Type_size(type, &bytes);
    repeat(mine, all, count * bytes, comm == node ? node_size : size);
    pto_who_t *who = all;
    for (int i = 0; comm != node && i < size; i++)
        who[i] = (pto_who_t){i, i - i % node_size, i % node_size, node_size};
    return MPI_SUCCESS;
}

int MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    (void)data;
    (void)count;
    (void)type;
    (void)root;
    (void)comm;
    return MPI_SUCCESS;
}

int MPI_Barrier(MPI_Comm comm) {
    (void)comm;
    return MPI_SUCCESS;
}

int MPI_Send_init(const void *at, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                  MPI_Request *request) {
    (void)peer;
    messages++;
    return PMPI_Send_init(at, count, type, MPI_PROC_NULL, tag, comm, request);
}

int MPI_Recv_init(void *at, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                  MPI_Request *request) {
    (void)peer;
    messages++;
    return PMPI_Recv_init(at, count, type, MPI_PROC_NULL, tag, comm, request);
}

/* --- what is measured
 * --------------------------------------------------------------------------------------- */

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

_Noreturn static void fail(const char *what) {
    fprintf(stderr, "bench_create: %s\n", what);
    PMPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

static pto_plan_t *plan_of(const row_t *row, const pto_counts_t *counts) {
    pto_error_t err = {0};
    pto_plan_t *plan = NULL;
    pto_request_t request = {.layout = {size / row->per_node, row->per_node, 1, 1, 1},
                             .collective = row->collective,
                             .datatype = PTO_DATATYPE_FLOAT,
                             .bytes = row->collective == PTO_COLLECTIVE_ALLREDUCE ? 1 << 20 : 64,
                             .counts = counts,
                             .by_library = row->by_library};
    if (pto_strategy_find(row->strategy, &request.strategy, &err) != PTO_OK ||
        pto_algorithm_find(row->algorithm, row->collective, &request.algorithm, &err) != PTO_OK ||
        pto_plan_create(&request, &plan, &err) != PTO_OK)
        fail(err.message);
    return plan;
}

static double create_s(const row_t *row, const pto_plan_t *plan, const pto_device_t *device) {
    pto_exec_options_t options = {
        .placement = PTO_PLACEMENT_IDENTITY, .own_algorithms = !row->by_library, .timeout_s = -1};
    pto_error_t err = {0};
    pto_exec_t *exec = NULL;
    void *in = NULL, *out = NULL;
    size_t in_bytes = (size_t)pto_exec_user_bytes(plan, rank, PTO_ROLE_IN);
    size_t out_bytes = (size_t)pto_exec_user_bytes(plan, rank, PTO_ROLE_OUT);
    if ((in_bytes > 0 && device->allocate(in_bytes, &in, &err) != PTO_OK) ||
        (out_bytes > 0 && device->allocate(out_bytes, &out, &err) != PTO_OK))
        fail(err.message);
    messages = 0;
    double began_s = MPI_Wtime();
    if (pto_exec_create(plan, MPI_COMM_SELF, device, in, out, PTO_OP_SUM, &options, &exec, &err) != PTO_OK)
        fail(err.message);
    double seconds = MPI_Wtime() - began_s;
    pto_exec_destroy(exec);
    device->release(in, NULL);
    device->release(out, NULL);
    return seconds;
}

static void bench_one(const row_t *row, const pto_device_t *device) {
    pto_counts_t counts = {.kind = PTO_COUNTS_MATRIX};
    size_t owners = (size_t)size;
    node_size = row->per_node;
    rank = row->unequal ? size / 2 + 1 : 0; /* 0 is a leader */
    if (row->unequal) {
        counts.order = (int64_t)owners;
        counts.matrix = calloc(owners * owners, sizeof *counts.matrix);
        if (!counts.matrix)
            fail("out of memory");
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
           row->by_library ? "library" : row->algorithm, size, row->per_node, messages, 1e3 * least_s);
    pto_plan_destroy(plan);
    free(counts.matrix);
}

int main(int argc, char **argv) {
    const pto_device_t *device;
    MPI_Init(&argc, &argv);
    if (pto_device_find("host", &device, NULL) != PTO_OK)
        fail("no device");
    printf("# creating an executor on one process of many, without MPI's own time\n"
           "# %-12s %-9s %-18s %6s %6s %9s %9s\n",
           "strategy", "", "inside", "ranks", "a node", "messages", "least ms");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size = bench_is_short() ? 64 : rows[i].ranks / 16; size <= rows[i].ranks; size *= 4) {
            if (argc > 1 && strcmp(argv[1], rows[i].strategy) != 0)
                break;
            bench_one(&rows[i], device);
            if (bench_is_short())
                break;
        }
    MPI_Finalize();
    return 0;
}

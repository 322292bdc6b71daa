/* How many calls of MPI an executor takes: few rounds of agreement to make it, whatever a process has to say,
 * and messages by the call that suits their size. On one node, with 2 or more processes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "portolan/exec_mpi.h"
#include "portolan/strategy.h"

/* --- counting ------------------------------------------------------------------------------------------- */

typedef struct {
    int agreements; /* collectives on communicators of all processes, in which they wait for each other */
    int on_node;
    int sends;
    int persistent;
} calls_t;

static calls_t calls;
static MPI_Comm node = MPI_COMM_NULL;

static void note(MPI_Comm comm) {
    calls.agreements += comm != node;
    calls.on_node += comm == node;
}

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *made) {
    int code = PMPI_Comm_split_type(comm, type, key, info, made);
    node = *made;
    return code;
}

/* A process for which no communicator can be made; -1: none. */
static int without_groups = -1;
static int rank;

int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *made) {
    int code = PMPI_Comm_split(comm, color, key, made);
    if (without_groups != rank || code != MPI_SUCCESS)
        return code;
    if (*made != MPI_COMM_NULL)
        PMPI_Comm_free(made);
    return MPI_ERR_NO_MEM;
}

int MPI_Allreduce(const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    note(comm);
    return PMPI_Allreduce(mine, all, count, type, op, comm);
}

int MPI_Scan(const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    note(comm);
    return PMPI_Scan(mine, all, count, type, op, comm);
}

int MPI_Allgather(const void *mine, int count, MPI_Datatype type, void *all, int all_count,
                  MPI_Datatype all_type, MPI_Comm comm) {
    note(comm);
    return PMPI_Allgather(mine, count, type, all, all_count, all_type, comm);
}

int MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    note(comm);
    return PMPI_Bcast(data, count, type, root, comm);
}

int MPI_Isend(const void *at, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
              MPI_Request *request) {
    calls.sends++;
    return PMPI_Isend(at, count, type, peer, tag, comm, request);
}

int MPI_Send_init(const void *at, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                  MPI_Request *request) {
    calls.persistent++;
    return PMPI_Send_init(at, count, type, peer, tag, comm, request);
}

/* --- executors ------------------------------------------------------------------------------------------ */

static int size, wrong;
static const pto_device_t *device;

static void expect(bool right, const char *strategy, const char *what, int found) {
    if (!right)
        fprintf(stderr, "rank %d: %s: %s, found %d\n", rank, strategy, what, found);
    wrong += !right;
}

_Noreturn static void die(const char *strategy, const char *what) {
    fprintf(stderr, "rank %d: %s: %s\n", rank, strategy, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

static pto_plan_t *plan_of(const char *strategy, int64_t bytes, bool by_library) {
    pto_error_t err = {0};
    pto_plan_t *plan = NULL;
    pto_request_t request = {.layout = {1, size, 1, 1, size, false},
                             .collective = PTO_COLLECTIVE_ALLTOALL,
                             .datatype = PTO_DATATYPE_FLOAT,
                             .bytes = bytes,
                             .by_library = by_library};
    if (pto_strategy_find(strategy, &request.strategy, &err) != PTO_OK ||
        pto_algorithm_find("pairwise", request.collective, &request.algorithm, &err) != PTO_OK ||
        pto_plan_create(&request, &plan, &err) != PTO_OK)
        die(strategy, err.message);
    return plan;
}

static void *filled(int64_t bytes) {
    void *memory = NULL;
    if (device->allocate((size_t)bytes, &memory, NULL) != PTO_OK)
        die("device", "no memory");
    memset(memory, rank, (size_t)bytes);
    return memory;
}

typedef struct {
    const char *strategy;
    bool by_library;
    int agreements; /* at most */
    int on_node;
    bool sends; /* a message to each other process */
} row_t;

static pto_status_t create(const row_t *row, const pto_plan_t *plan, const void *in, void *out,
                           pto_exec_t **exec, pto_error_t *err) {
    const pto_exec_options_t options = {.placement = PTO_PLACEMENT_IDENTITY,
                                        .own_algorithms = !row->by_library};
    calls = (calls_t){0};
    return pto_exec_create(plan, MPI_COMM_WORLD, device, in, out, PTO_OP_SUM, &options, exec, err);
}

/* Make it, run it twice, and look at the result. */
static void use(const row_t *row, int64_t bytes) {
    pto_error_t err = {0};
    pto_exec_t *exec = NULL;
    pto_plan_t *plan = plan_of(row->strategy, bytes, row->by_library);
    char *in = filled(bytes * size), *out = filled(bytes * size);
    if (create(row, plan, in, out, &exec, &err) != PTO_OK)
        die(row->strategy, err.message);
    expect(calls.agreements <= row->agreements, row->strategy, "too many agreements", calls.agreements);
    expect(calls.on_node <= row->on_node, row->strategy, "too many collectives on the node", calls.on_node);
    bool is_short = bytes <= 256;
    expect(calls.persistent == (row->sends && !is_short ? size - 1 : 0), row->strategy, "persistent requests",
           calls.persistent);
    for (int run = 0; run < 2; run++) {
        memset(in, rank + 100 * run, (size_t)(bytes * size));
        memset(out, 0x55, (size_t)(bytes * size));
        if (pto_exec_run(exec, &err) != PTO_OK)
            die(row->strategy, err.message);
        for (int64_t i = 0; i < bytes * size; i++)
            if ((unsigned char)out[i] != (unsigned char)(i / bytes + 100 * run))
                die(row->strategy, "a wrong result");
    }
    expect(calls.sends == (row->sends && is_short ? 2 * (size - 1) : 0), row->strategy, "calls of MPI_Isend",
           calls.sends);
    pto_exec_destroy(exec);
    device->release(in, NULL);
    device->release(out, NULL);
    pto_plan_destroy(plan);
}

/* One process cannot take part: it has no buffer, or no communicator. All get its error, and none waits. */
static void refuse(const row_t *row, int failing, bool has_buffer) {
    pto_error_t err = {0};
    pto_exec_t *exec = NULL;
    pto_plan_t *plan = plan_of(row->strategy, 64, row->by_library);
    void *in = filled(64 * size), *out = filled(64 * size);
    char wanted[80] = "MPI_Comm_split";
    if (!has_buffer)
        snprintf(wanted, sizeof wanted, "rank %d holds user data", failing);
    without_groups = has_buffer ? failing : -1;
    pto_status_t status = create(row, plan, rank == failing && !has_buffer ? NULL : in, out, &exec, &err);
    without_groups = -1;
    expect(status == (has_buffer ? PTO_ERR_IO : PTO_ERR_RANGE), row->strategy, "no error on all processes",
           (int)status);
    expect(strstr(err.message, wanted) != NULL, row->strategy, "another error", (int)status);
    device->release(in, NULL);
    device->release(out, NULL);
    pto_plan_destroy(plan);
}

int main(int argc, char **argv) {
    /* Digest and status, places, the end. */
    static const row_t rows[] = {{"cuda_aware", false, 3, 0, true},
                                 {"cuda_aware", true, 3, 0, false},
                                 {"three_step", false, 3, 0, true},
                                 {"node_leaders", false, 3, 4, false}};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (pto_device_find("host", &device, NULL) != PTO_OK)
        die("device", "not found");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        use(&rows[i], 256);
        use(&rows[i], 260);
        for (int failing = 0; failing < 2; failing++)
            refuse(&rows[i], failing, false);
        for (int failing = 0; failing < 2 && rows[i].by_library; failing++)
            refuse(&rows[i], failing, true);
        use(&rows[i], 8);
    }
    PMPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return wrong != 0;
}

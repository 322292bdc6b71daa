/* A workload's calls at once for tests/cluster/steps.sh: test_calls WORKLOAD.yaml MACHINE.yaml REPEATS makes
 * the communicators of its calls, and runs those of each entry with MPI's non-blocking collectives, all
 * started before any is waited for. Process 0 prints "ENTRY,RUN,SECONDS" until the last process has ended the
 * entry. One process for each GPU of the layout; buffers are in host memory. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "portolan/machine.h"
#include "portolan/workload.h"

enum { REPEATS_MAX = 1000 };

/* A call on this process's communicator. */
typedef struct {
    const pto_workload_call_t *call;
    MPI_Comm comm;
    char *in;
    char *out;
} own_call_t;

static void give_up(const char *message) {
    fprintf(stderr, "test_calls: %s\n", message);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void make_call(const pto_workload_t *workload, const pto_workload_call_t *call, int rank, int size,
                      own_call_t *own) {
    pto_error_t err = {0};
    int64_t *member;
    int color = 0, key = 0;
    if (pto_workload_members(workload, call, &member, &err) != PTO_OK)
        give_up(err.message);
    int each = (int)(size / call->communicators.count);
    for (int i = 0; i < size; i++)
        if (member[i] == rank) {
            color = i / each;
            key = i % each;
        }
    free(member);
    *own = (own_call_t){.call = call};
    MPI_Comm_split(MPI_COMM_WORLD, color, key, &own->comm);
    size_t bytes = (size_t)call->scenario.bytes.value[0] * (size_t)each;
    own->in = calloc(bytes, 1);
    own->out = calloc(bytes, 1);
    if (!own->in || !own->out)
        give_up("out of memory");
}

static void start(const own_call_t *own, MPI_Request *request) {
    int bytes = (int)own->call->scenario.bytes.value[0], floats = bytes / (int)sizeof(float);
    switch (own->call->scenario.collective) {
    case PTO_COLLECTIVE_ALLREDUCE:
        MPI_Iallreduce(own->in, own->out, floats, MPI_FLOAT, MPI_SUM, own->comm, request);
        break;
    case PTO_COLLECTIVE_BROADCAST:
        MPI_Ibcast(own->in, bytes, MPI_BYTE, 0, own->comm, request);
        break;
    case PTO_COLLECTIVE_ALLGATHER:
        MPI_Iallgather(own->in, bytes, MPI_BYTE, own->out, bytes, MPI_BYTE, own->comm, request);
        break;
    case PTO_COLLECTIVE_ALLTOALL:
        MPI_Ialltoall(own->in, bytes, MPI_BYTE, own->out, bytes, MPI_BYTE, own->comm, request);
        break;
    default:
        give_up("no such collective here");
    }
}

/* Seconds until the last process has ended the entry's calls. */
static double run_entry(const own_call_t *own, int count, int entry) {
    MPI_Request request[PTO_WORKLOAD_CALLS_MAX];
    int started = 0;
    double most;
    MPI_Barrier(MPI_COMM_WORLD);
    double seconds = MPI_Wtime();
    for (int i = 0; i < count; i++)
        if (own[i].call->entry == entry)
            start(&own[i], &request[started++]);
    MPI_Waitall(started, request, MPI_STATUSES_IGNORE);
    seconds = MPI_Wtime() - seconds;
    MPI_Allreduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

int main(int argc, char **argv) {
    pto_workload_t workload = {0};
    pto_machine_t *machine = NULL;
    pto_error_t err = {0};
    int rank, size, count = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int repeats = argc == 4 ? atoi(argv[3]) : 0;
    if (repeats < 1 || repeats > REPEATS_MAX)
        give_up("usage: test_calls WORKLOAD.yaml MACHINE.yaml REPEATS");
    if (pto_workload_read(argv[1], &workload, &err) != PTO_OK ||
        pto_machine_open(argv[2], &machine, &err) != PTO_OK ||
        pto_workload_bind(&workload, machine, &err) != PTO_OK)
        give_up(err.message);
    if (pto_layout_owner_count(&workload.layout) != size)
        give_up("one process for each GPU of the layout is needed");
    own_call_t *own = calloc((size_t)workload.call_count, sizeof *own);
    for (int i = 0; own && i < workload.call_count; i++)
        if (workload.call[i].scenario.collective < PTO_COLLECTIVE_COUNT)
            make_call(&workload, &workload.call[i], rank, size, &own[count++]);
    for (int entry = 0; own && entry < workload.entry_count; entry++)
        for (int run = -1; run < repeats; run++) { /* the first connects */
            double seconds = run_entry(own, count, entry);
            if (rank == 0 && run >= 0) {
                printf("%d,%d,%.6g\n", entry, run, seconds);
                fflush(stdout);
            }
        }
    for (int i = 0; own && i < count; i++) {
        MPI_Comm_free(&own[i].comm);
        free(own[i].in);
        free(own[i].out);
    }
    free(own);
    pto_workload_fini(&workload);
    pto_machine_destroy(machine);
    return MPI_Finalize();
}

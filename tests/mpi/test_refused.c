/* The drop-in where something fails. What one process has no memory for, MPI does on all of them, and nothing
 * of it is left; a run that fails is an error of the program's call. This program calls the drop-in as its
 * wrappers do.
 *
 *   mpirun -n 2 test_refused */
#include <signal.h>
#include <sys/resource.h>

#include "dropin_begun.h"
#include "portolan/kernel.h"

enum { COUNT_MAX = 4096 };

/* --- a device that fails -------------------------------------------------------------------------------- */

static const pto_device_t *host;
static pto_device_t device;
static pto_kernels_t kernels;
static int without = -1; /* the rank that gets no memory; -1: none */
static bool broken;      /* no kernel starts */
static int held;         /* buffers */

#define COUNTED(name)                                                                                        \
    static pto_status_t name(size_t bytes, void **memory, pto_error_t *err) {                                \
        if (without == drop.rank)                                                                            \
            return pto_error_set(err, PTO_ERR_MEMORY, "no memory here");                                     \
        held++;                                                                                              \
        return host->name(bytes, memory, err);                                                               \
    }
COUNTED(allocate)
COUNTED(allocate_staging)

#define RELEASED(name)                                                                                       \
    static pto_status_t name(void *memory, pto_error_t *err) {                                               \
        held -= memory != NULL;                                                                              \
        return host->name(memory, err);                                                                      \
    }
RELEASED(release)
RELEASED(release_staging)

static pto_status_t start(void *kernel, uint64_t run, bool queued, void *stream, pto_error_t *err) {
    if (broken)
        return pto_error_set(err, PTO_ERR_IO, "no kernel starts");
    return host->kernels->start(kernel, run, queued, stream, err);
}

static void fail_on_demand(void) {
    host = drop.device;
    device = *host;
    kernels = *host->kernels;
    kernels.start = start;
    device.allocate = allocate;
    device.allocate_staging = allocate_staging;
    device.release = release;
    device.release_staging = release_staging;
    device.kernels = &kernels;
    drop.device = &device;
}

/* --- calls ---------------------------------------------------------------------------------------------- */

/* Returns whether a plan does it. */
static bool allreduce(MPI_Comm comm, int count, int *code) {
    static int in[COUNT_MAX], out[COUNT_MAX];
    for (int i = 0; i < count; i++) {
        in[i] = drop.rank + i;
        out[i] = -1;
    }
    drop_taken_t taken = {.given = call_of(PTO_COLLECTIVE_ALLREDUCE, in, out, count)};
    taken.given.comm = comm;
    drop_take(&taken);
    *code = drop_finish(&taken, taken.done ? taken.code : by_mpi(&taken, comm));
    for (int i = 0; i < count && *code == MPI_SUCCESS; i++)
        expect(out[i] == 2 * i + 1, "a sum is wrong");
    return taken.done;
}

static void one_has_no_memory(void) {
    int code;
    expect(allreduce(MPI_COMM_WORLD, 50, &code) && code == MPI_SUCCESS, "no plan");
    for (int rank = 0; rank < 2; rank++) {
        int before = held;
        without = rank;
        expect(!allreduce(MPI_COMM_WORLD, 100 + rank, &code) && code == MPI_SUCCESS, "a plan without memory");
        expect(held == before, "a buffer is left");
        without = -1;
        expect(allreduce(MPI_COMM_WORLD, 200 + rank, &code) && code == MPI_SUCCESS, "no plan any more");
    }
}

/* Its first call meets in shared memory, where one process cannot make a segment, or the other cannot open
 * it. */
static void one_has_no_board(void) {
    for (int rank = 0; rank < 2; rank++) {
        const int resource = rank == 0 ? RLIMIT_FSIZE : RLIMIT_NOFILE;
        struct rlimit limit, none;
        MPI_Comm comm;
        int code;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        if (getrlimit(resource, &limit) != 0 || signal(SIGXFSZ, SIG_IGN) == SIG_ERR)
            expect(false, "no limits");
        none = limit;
        none.rlim_cur = 0;
        if (drop.rank == rank)
            setrlimit(resource, &none);
        allreduce(comm, 300, &code);
        expect(code == MPI_SUCCESS, "a call without shared memory");
        if (drop.rank == rank)
            setrlimit(resource, &limit);
        allreduce(comm, 301, &code);
        expect(code == MPI_SUCCESS, "a call after it");
        MPI_Comm_free(&comm);
    }
}

static int handled;

static void note_error(MPI_Comm *comm, int *code, ...) {
    (void)comm;
    handled += *code == MPI_ERR_OTHER;
}

static void a_run_fails(void) {
    MPI_Errhandler handler;
    int code;
    expect(allreduce(MPI_COMM_WORLD, 400, &code) && code == MPI_SUCCESS, "no plan");
    MPI_Comm_create_errhandler(note_error, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    broken = true;
    expect(allreduce(MPI_COMM_WORLD, 400, &code), "no plan again");
    broken = false;
    expect(code == MPI_ERR_OTHER, "a run that fails is none");
    expect(handled == 1, "the program's error handler is not called once");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    begin();
    fail_on_demand();
    expect(drop.size == 2, "it takes two processes");
    if (drop.size == 2) {
        one_has_no_memory();
        one_has_no_board();
        a_run_fails();
    }
    return end();
}

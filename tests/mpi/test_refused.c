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
static bool broken;      /* no kernel starts, and nothing is copied */
static int left = -1;    /* callocs until one is refused; negative: none is */
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

static pto_status_t copy(const pto_move_t *move, void *stream, pto_error_t *err) {
    if (broken)
        return pto_error_set(err, PTO_ERR_IO, "nothing is copied");
    return host->copy(move, stream, err);
}

/* Of the drop-in and the executor, and no library's. */
void *__libc_calloc(size_t count, size_t bytes); /* NOLINT(bugprone-reserved-identifier,cert-dcl37-c) */

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the header's are reserved */
__attribute__((visibility("hidden"))) void *calloc(size_t count, size_t bytes) {
    if (left >= 0 && left-- == 0)
        return NULL;
    return __libc_calloc(count, bytes);
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
    device.copy = copy;
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
    drop_task_t task = {.call = call_of(PTO_COLLECTIVE_ALLREDUCE, in, out, count)};
    task.call.comm = comm;
    drop_take(&task);
    *code = drop_finish(&task, task.done ? task.code : by_mpi(&task, comm));
    for (int i = 0; i < count && *code == MPI_SUCCESS; i++)
        expect(out[i] == 2 * i + 1, "a sum is wrong");
    return task.done;
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

/* In the first call of a communicator, any request of one process for memory may fail. */
static void one_knows_nothing(void) {
    for (int number = 0; number < 60; number++) {
        MPI_Comm comm;
        int code;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        left = drop.rank == number % 2 ? number / 2 : -1;
        allreduce(comm, 500, &code);
        left = -1;
        expect(code == MPI_SUCCESS, "a call without memory");
        allreduce(comm, 501, &code);
        expect(code == MPI_SUCCESS, "a call after it");
        MPI_Comm_free(&comm);
    }
}

static int handled;

static void note_error(MPI_Comm *comm, int *code, ...) { handled += *code == MPI_ERR_OTHER; }

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
    drop.strategy = "three_step";
    expect(!allreduce(MPI_COMM_WORLD, 600, &code) && code == MPI_SUCCESS, "copies are none of MPI's");
    broken = true;
    expect(allreduce(MPI_COMM_WORLD, 600, &code), "MPI gets what was not copied");
    broken = false;
    expect(code == MPI_ERR_OTHER && handled == 2, "copies that fail are no error");
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
        one_knows_nothing();
        a_run_fails();
    }
    return end();
}

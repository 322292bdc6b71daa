/* What executors hold and let go, on the host device.
 *
 * N is even.
 *
 *   mpirun -n N test_resources exhausted
 *       any request for memory, a stream, an event or a handle may fail, at any place of a creation, on any
 *       process: all get an error, nothing is left, and the next creation and its run are right
 *
 *   mpirun -n N test_resources creations COUNT
 *       COUNT creations, runs and destructions of each of several plans leave no file, thread, mapping or
 *       byte
 *
 *   mpirun -n N test_resources rebinds COUNT
 *       nor do COUNT enqueued runs with other buffers each
 *
 *   mpirun -n N test_resources large
 *       a message and a reduction of more than INT_MAX bytes are right */
#define _DEFAULT_SOURCE /* mallinfo2 */
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec_case.h"
#include "held.h"

static int rank, size;

static _Noreturn void die(const char *what, const char *more) {
    fprintf(stderr, "test_resources: process %d: %s%s\n", rank, what, more);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

/* --- plans ---------------------------------------------------------------------------------------------- */

typedef struct {
    const char *strategy;
    const char *algorithm;
    int64_t procs_per_gpu;
    int64_t chunks;
    bool halo;
} kind_t;

/* Messages, shared host memory, shared device memory, kernels that signal each other, flags, rings, lanes. */
static const kind_t kinds[] = {
    {"three_step", "ring", 1, 0, false},     {"dup_devptr", "rabenseifner", 2, 0, false},
    {"gsb", "direct", 1, 0, false},          {"mix", "direct", 1, 0, false},
    {"mix_learning", "direct", 1, 0, false}, {"gas_split", "direct", 1, 0, false},
    {"staged_ring", "direct", 1, 3, false},  {"split_ring", "direct", 2, 3, false},
    {"shm_ring", "direct", 1, 7, true},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static pto_plan_t *plan_of(const kind_t *kind, case_t *test) {
    int64_t procs = kind->procs_per_gpu;
    *test = (case_t){.options = {.placement = PTO_PLACEMENT_IDENTITY, .on_timeout = PTO_TIMEOUT_ABORT}};
    test->request = (pto_request_t){.layout = {1, size / procs, 1, procs, size / procs, false},
                                    .collective = PTO_COLLECTIVE_ALLREDUCE,
                                    .datatype = PTO_DATATYPE_INT32,
                                    .chunks = kind->chunks,
                                    .bytes = 4 * 1009};
    if (strncmp(kind->strategy, "mix", 3) == 0)
        test->request.staged_members = (pto_staged_t){size / 2, 1};
    if (kind->halo) {
        test->request.collective = PTO_COLLECTIVE_HALO;
        test->request.bytes = 4;
        test->request.halo = (pto_halo_t){.dim_count = 2, .wrap = {true, true}, .extent = {7, 9}, .width = 1};
    }
    return case_plan(test, kind->strategy, kind->algorithm);
}

/* --- a device that runs out ----------------------------------------------------------------------------- */

static pto_device_t real, failing;
static int64_t requests; /* until one is refused; negative: none is */

static pto_status_t refuse(pto_error_t *err) {
    if (requests < 0 || requests-- > 0)
        return PTO_OK;
    return pto_error_set(err, PTO_ERR_MEMORY, "the device is exhausted");
}

#define FAILING(name, parameters, arguments)                                                                 \
    static pto_status_t failing_##name parameters {                                                          \
        pto_status_t status = refuse(err);                                                                   \
        return status == PTO_OK ? real.name arguments : status;                                              \
    }
FAILING(allocate, (size_t bytes, void **memory, pto_error_t *err), (bytes, memory, err))
FAILING(allocate_staging, (size_t bytes, void **memory, pto_error_t *err), (bytes, memory, err))
FAILING(stream_create, (void **stream, pto_error_t *err), (stream, err))
FAILING(event_create, (void **event, pto_error_t *err), (event, err))
FAILING(export_memory, (const void *memory, pto_memory_handle_t *handle, pto_error_t *err),
        (memory, handle, err))
FAILING(open_memory, (const pto_memory_handle_t *handle, void **memory, pto_error_t *err),
        (handle, memory, err))

static void make_failing(const pto_device_t *device) {
    real = failing = *device;
    failing.allocate = failing_allocate;
    failing.allocate_staging = failing_allocate_staging;
    failing.stream_create = failing_stream_create;
    failing.event_create = failing_event_create;
    failing.export_memory = failing_export_memory;
    failing.open_memory = failing_open_memory;
}

/* Whether the creation succeeds in which the victim's request with this number is refused. */
static bool creates(const case_t *test, const pto_plan_t *plan, int victim, int64_t number) {
    pto_exec_t *exec = NULL;
    pto_error_t err = {0};
    case_user_t user = case_user(test, plan, &real, rank);
    requests = rank == victim ? number : -1;
    pto_status_t status = pto_exec_create(plan, MPI_COMM_WORLD, &failing, user.in, user.out, test->op,
                                          &test->options, &exec, &err);
    bool refused = rank == victim && requests < 0;
    requests = -1;
    if (status != PTO_OK && (exec || !err.message[0]))
        die("a refused creation left an executor, or no reason: ", err.message);
    if (refused && !strstr(err.message, "the device is exhausted"))
        die("the error does not tell the cause: ", err.message);
    int failed = status != PTO_OK, all = 0;
    MPI_Allreduce(&failed, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (all != 0 && all != size)
        die("a creation failed on some processes only", "");
    pto_exec_destroy(exec);
    case_user_free(test, &real, &user);
    return all == 0;
}

static void exhaust(const kind_t *kind) {
    case_t test;
    pto_plan_t *plan = plan_of(kind, &test);
    for (int victim = 0; victim < size; victim++) {
        int64_t number = 0;
        while (!creates(&test, plan, victim, number))
            number++;
        if (rank == victim && number == 0)
            die("no request was refused: ", kind->strategy);
        case_run(&test, plan, MPI_COMM_WORLD, &real, 1);
    }
    pto_plan_destroy(plan);
}

/* --- what is left --------------------------------------------------------------------------------------- */

typedef struct {
    int files;
    int threads;
    int mappings;
    int64_t heap_bytes;
} held_t;

/* glibc's 2.33 and later; others count no bytes. */
static int64_t heap_bytes(void) {
#if defined __GLIBC__ && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
    return (int64_t)mallinfo2().uordblks;
#else
    return 0;
#endif
}

/* Shared memory is the executor's, as PORTOLAN_SEGMENTS may name it. */
static held_t held(void) {
    MPI_Barrier(MPI_COMM_WORLD);
    return (held_t){open_files(), entries_of("/proc/self/task"), mappings_of("/dev/shm/portolan"),
                    heap_bytes()};
}

/* The MPI library keeps a little for itself, however often, and its lists of free requests grow where one
 * process is far behind the other: a leak is what comes again. The more creations, the less it may be. */
enum { MPI_KEEPS_BYTES = 32768, SERIES = 3 };

/* Whether some process holds more bytes after `count` creations. */
static bool left_bytes(const kind_t *kind, const pto_plan_t *plan, const case_t *test, int64_t count,
                       bool last) {
    held_t before = held();
    for (int64_t i = 0; i < count; i++)
        case_run(test, plan, MPI_COMM_WORLD, &real, 1);
    held_t after = held();
    int64_t grown = after.heap_bytes - before.heap_bytes;
    int has_grown = grown > MPI_KEEPS_BYTES;
    if (after.files > before.files || after.threads > before.threads || after.mappings > before.mappings ||
        (has_grown && last)) {
        fprintf(stderr,
                "test_resources: process %d: %lld creations by %s left %d files, %d threads, %d mappings, "
                "%lld bytes\n",
                rank, (long long)count, kind->strategy, after.files - before.files,
                after.threads - before.threads, after.mappings - before.mappings, (long long)grown);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Allreduce(MPI_IN_PLACE, &has_grown, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return has_grown;
}

static void create_often(const kind_t *kind, int64_t count) {
    case_t test;
    pto_plan_t *plan = plan_of(kind, &test);
    int series = 0;
    for (int64_t i = 0; i < count / 4 + 2; i++)
        case_run(&test, plan, MPI_COMM_WORLD, &real, 1);
    while (series < SERIES && left_bytes(kind, plan, &test, count, series == SERIES - 1))
        series++;
    pto_plan_destroy(plan);
}

/* --- other buffers in each run -------------------------------------------------------------------------- */

/* Two pairs of buffers in turn, of enqueued runs: what a run needs is freed once it has ended. */
static void rebind_often(int64_t count) {
    static const kind_t kind = {"gas_allgather", "direct", 1, 0, false};
    case_t test;
    pto_plan_t *plan = plan_of(&kind, &test);
    pto_error_t err = {0};
    pto_exec_t *exec = NULL;
    case_user_t user[2] = {case_user(&test, plan, &real, rank), case_user(&test, plan, &real, rank)};
    int64_t before = 0;
    pto_status_t status = pto_exec_create(plan, MPI_COMM_WORLD, &real, user[0].in, user[0].out, test.op,
                                          &test.options, &exec, &err);
    for (int64_t i = 0; i < 2 * count && status == PTO_OK; i++) {
        if (i == count)
            before = heap_bytes();
        status = pto_exec_enqueue_on(exec, user[i % 2].in, user[i % 2].out, user[0].stream, &err);
        if (status == PTO_OK && i % 3 == 2)
            status = real.finish(user[0].stream, &err);
    }
    if (status == PTO_OK)
        status = real.finish(user[0].stream, &err);
    if (status != PTO_OK)
        die("", err.message);
    if (heap_bytes() - before > MPI_KEEPS_BYTES)
        die("other buffers in each run take more and more memory", "");
    pto_exec_destroy(exec);
    for (int i = 0; i < 2; i++)
        case_user_free(&test, &real, &user[i]);
    pto_plan_destroy(plan);
}

/* --- more than INT_MAX bytes ---------------------------------------------------------------------------- */

/* A pattern that repeats at no power of two. */
static unsigned char byte_at(int64_t i) { return (unsigned char)(i % 251 + i / 1000003); }

static void pass_large(const char *strategy, const char *algorithm, int64_t chunks) {
    const int64_t bytes = (int64_t)INT_MAX + 4097;
    case_t test = {.options = {.on_timeout = PTO_TIMEOUT_ABORT, .timeout_s = 120}};
    test.request = (pto_request_t){.layout = {1, 2, 1, 1, 2, false},
                                   .collective = PTO_COLLECTIVE_PAIR,
                                   .datatype = PTO_DATATYPE_BYTE,
                                   .chunks = chunks,
                                   .bytes = bytes};
    pto_plan_t *plan = case_plan(&test, strategy, algorithm);
    pto_error_t err = {0};
    pto_exec_t *exec = NULL;
    void *in = NULL, *out = NULL;
    if (rank == 0 && real.allocate((size_t)bytes, &in, &err) != PTO_OK)
        die("", err.message);
    if (rank == 1 && real.allocate((size_t)bytes, &out, &err) != PTO_OK)
        die("", err.message);
    for (int64_t i = 0; in && i < bytes; i++)
        ((unsigned char *)in)[i] = byte_at(i);
    if (pto_exec_create(plan, MPI_COMM_WORLD, &real, in, out, PTO_OP_SUM, &test.options, &exec, &err) !=
            PTO_OK ||
        pto_exec_run(exec, &err) != PTO_OK)
        die("a large message failed: ", err.message);
    for (int64_t i = 0; out && i < bytes; i++)
        if (((unsigned char *)out)[i] != byte_at(i))
            die("a large message is wrong by ", strategy);
    pto_exec_destroy(exec);
    real.release(in ? in : out, NULL);
    pto_plan_destroy(plan);
}

int main(int argc, char **argv) {
    const pto_device_t *device;
    pto_error_t err = {0};
    const char *what = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (pto_device_find("host", &device, &err) != PTO_OK || device->select(rank, &err) != PTO_OK)
        die("", err.message);
    make_failing(device);
    if (strcmp(what, "exhausted") == 0)
        for (int i = 0; i < KINDS; i++)
            exhaust(&kinds[i]);
    else if (strcmp(what, "creations") == 0 && argc > 2)
        for (int i = 0; i < KINDS; i++)
            create_often(&kinds[i], atoll(argv[2]));
    else if (strcmp(what, "rebinds") == 0 && argc > 2)
        rebind_often(atoll(argv[2]));
    else if (strcmp(what, "large") == 0 && size == 2) {
        pass_large("cuda_aware", "point_to_point", 1);
        pass_large("shm_ring", "direct", 64);
    } else
        die("do what? exhausted, creations COUNT, rebinds COUNT, or large (on two processes)", "");
    MPI_Finalize();
    return 0;
}

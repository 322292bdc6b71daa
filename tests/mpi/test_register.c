/* Registered memory (pto_register): what is refused, with the last process in error, and that nothing is left
 * open. Which plans let other processes access the user's buffers, so that memory that cannot be exported is
 * copied in each run. A process that runs out of memory ends no job. Nothing is accessed beyond the
 * executor's own memory. Random programs with registered buffers are in test_streams.c and exec_case.c.
 *
 *   mpirun -n N test_register [DEVICE]   on at least two processes; each has a GPU
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS. NOLINT(bugprone-reserved-identifier) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../impl/device/vector.h"
#include "../guarded_memory.h"
#include "die.h"
#include "held.h"
#include "portolan/exec_mpi.h"
#include "portolan/strategy.h"

static int rank, size;
static pto_error_t err;

/* --- memory --------------------------------------------------------------------------------------------- */

static bool starved;   /* the executor gets no memory */
static int items = -1; /* that may still be added to the executor's lists; negative: any number */

/* What the executor and the plan allocate is guarded. */
void __real_free(void *memory);
void *__real_realloc(void *memory, size_t bytes);

void *__wrap_malloc(size_t bytes) { return guard(bytes); }

void *__wrap_calloc(size_t count, size_t bytes) {
    return starved ? NULL : memset(guard(count * bytes), 0, count * bytes);
}

/* Some is the C library's own. */
void __wrap_free(void *memory) {
    if (!unguard(memory))
        __real_free(memory);
}

void *__wrap_realloc(void *memory, size_t bytes) {
    if (memory == NULL)
        return guard(bytes);
    return guarded_bytes(memory) > 0 ? guard_resized(memory, bytes) : __real_realloc(memory, bytes);
}

void *__real_pto_vector_add(pto_vector_t *list, size_t item_size);
void *__wrap_pto_vector_add(pto_vector_t *list, size_t item_size) {
    if (items == 0)
        return NULL;
    items -= items > 0;
    return __real_pto_vector_add(list, item_size);
}

/* --- plans ---------------------------------------------------------------------------------------------- */

/* An allreduce in which each process reads the others' input. */
static pto_plan_t *made(int64_t count) {
    pto_request_t request = {.layout = {1, size, 1, 1, 1, false},
                             .collective = PTO_COLLECTIVE_ALLREDUCE,
                             .datatype = PTO_DATATYPE_INT32,
                             .bytes = count * (int64_t)sizeof(uint32_t)};
    return plan_by(request, "gas_read", "direct");
}

static const pto_exec_options_t options = {
    .placement = PTO_PLACEMENT_IDENTITY, .timeout_s = 30, .on_timeout = PTO_TIMEOUT_ABORT};

#define REFUSED(call, wanted, reason)                                                                        \
    do {                                                                                                     \
        err.message[0] = '\0';                                                                               \
        if ((call) != (wanted) || !strstr(err.message, (reason)))                                            \
            die(err.message[0] ? err.message : "what should be refused is not: " reason);                    \
    } while (0)

static void copy(const pto_device_t *device, void *stream, void *target, const void *source, size_t bytes) {
    const pto_move_t move = {target, source, bytes, 1, bytes, bytes};
    MUST(device->copy(&move, stream, &err));
    MUST(device->finish(stream, &err));
}

/* What was unregistered is closed, so that nothing is left however often this is done, and memory that comes
 * in its place, perhaps by the same handle, is opened again. */
static void check_closing(const pto_device_t *device, pto_exec_t *exec, void *stream, const uint32_t *in,
                          uint32_t *out) {
    enum { CYCLES = 100, COUNT = 100 };
    const size_t bytes = 2 * COUNT * sizeof(uint32_t);
    int number = -1, before = 0;
    for (int cycle = 0; cycle < CYCLES; cycle++) {
        void *memory = NULL;
        MUST(device->allocate(bytes, &memory, &err));
        uint32_t *piece = memory;
        MUST(pto_register(exec, memory, bytes, &number, &err));
        uint32_t own[COUNT], sum[COUNT];
        for (int i = 0; i < COUNT; i++)
            own[i] = (uint32_t)((cycle + 1) * (rank + 1) + i);
        copy(device, stream, piece, own, sizeof own);
        MUST(pto_exec_enqueue_on(exec, piece, piece + COUNT, stream, &err));
        copy(device, stream, sum, piece + COUNT, sizeof sum);
        for (int i = 0; i < COUNT; i++)
            if (sum[i] != (uint32_t)((cycle + 1) * size * (size + 1) / 2 + size * i))
                die("a registration is not the memory that was registered");
        MUST(pto_exec_rebind(exec, in, out, &err));
        MUST(pto_unregister(exec, number, &err));
        MUST(device->release(memory, &err));
        if (cycle == 0)
            before = mappings_of("/dev/shm/");
    }
    if (mappings_of("/dev/shm/") != before)
        die("unregistered memory is still open");
}

/* The last process errs, and all get its error; nothing is registered then. */
static void check_registrations(const pto_device_t *device) {
    enum { COUNT = 100, PIECES = 6 };
    const size_t bytes = COUNT * sizeof(uint32_t);
    const bool errs = rank == size - 1;
    pto_plan_t *plan = made(COUNT);
    pto_exec_t *exec = NULL;
    void *memory = NULL, *stream = NULL, *strange = malloc(bytes);
    int number = -1, other = -1;
    MUST(device->stream_create(&stream, &err));
    MUST(device->allocate(PIECES * bytes, &memory, &err));
    uint32_t *piece[PIECES];
    for (int i = 0; i < PIECES; i++)
        piece[i] = (uint32_t *)memory + (size_t)i * COUNT;
    MUST(
        pto_exec_create(plan, MPI_COMM_WORLD, device, piece[0], piece[1], PTO_OP_SUM, &options, &exec, &err));
    REFUSED(pto_exec_enqueue_on(exec, piece[2], piece[3], stream, &err), PTO_ERR_RANGE, "pto_register knows");
    REFUSED(pto_register(exec, errs ? strange : memory, PIECES * bytes, &number, &err),
            PTO_ERR_NOT_APPLICABLE, "memory that");
    REFUSED(pto_register(exec, memory, errs ? 0 : bytes, &number, &err), PTO_ERR_RANGE, "0 bytes");
    REFUSED(pto_unregister(exec, 0, &err), PTO_ERR_RANGE, "no registration 0");
    MUST(pto_register(exec, piece[2], 2 * bytes, &number, &err));
    REFUSED(pto_register(exec, errs ? piece[3] : piece[4], bytes, &other, &err), PTO_ERR_RANGE, "overlaps");
    REFUSED(pto_exec_enqueue_on(exec, piece[4], piece[5], stream, &err), PTO_ERR_RANGE, "pto_register knows");
    MUST(pto_exec_enqueue_on(exec, piece[2], piece[3], stream, &err));
    MUST(device->finish(stream, &err));
    REFUSED(pto_unregister(exec, number, &err), PTO_ERR_RANGE, "rebind them first");
    MUST(pto_register(exec, piece[0], 2 * bytes, &other, &err));
    REFUSED(pto_unregister(exec, errs ? other : number, &err), PTO_ERR_RANGE, "different registrations");
    /* An input that stays is where the others' is only if all were told the same place: not another one of a
     * registration, nor the same one of another registration. */
    for (int last = 0; last < 3; last++) {
        uint32_t *in = piece[errs ? last : 0];
        MUST(pto_exec_rebind(exec, in, piece[4], &err));
        if (last > 0)
            REFUSED(pto_exec_enqueue_on(exec, in, piece[5], stream, &err), PTO_ERR_RANGE,
                    "the others' are not known to be at the same place");
        else
            MUST(pto_exec_enqueue_on(exec, in, piece[5], stream, &err));
        MUST(device->finish(stream, &err));
    }
    /* One process is at a place that is not registered: all exchange handles. */
    MUST(pto_exec_rebind(exec, errs ? piece[4] : piece[0], piece[1], &err));
    MUST(pto_exec_run(exec, &err));
    REFUSED(pto_exec_rebind(exec, errs ? NULL : piece[0], piece[1], &err), PTO_ERR_RANGE, "is NULL");
    MUST(pto_unregister(exec, number, &err));
    REFUSED(pto_unregister(exec, number, &err), PTO_ERR_RANGE, "no registration");
    MUST(pto_exec_run(exec, &err));
    check_closing(device, exec, stream, piece[0], piece[1]);
    pto_exec_destroy(exec);
    pto_plan_destroy(plan);
    MUST(device->stream_destroy(stream, &err));
    MUST(device->release(memory, &err));
    free(strange);
}

/* --- memory that cannot be exported --------------------------------------------------------------------- */

/* Whether other processes access some process's input or output: the table in docs/executing.md. */
static const struct {
    const char *strategy;
    pto_collective_t collective;
    bool in, out;
} accesses[] = {
    {"gas_allgather", PTO_COLLECTIVE_ALLREDUCE, false, false},
    {"gas_allgather", PTO_COLLECTIVE_ALLGATHER, false, false},
    {"gas_allgather", PTO_COLLECTIVE_ALLTOALL, false, false},
    {"gas_split", PTO_COLLECTIVE_REDUCE_SCATTER, false, false},
    {"gas_split", PTO_COLLECTIVE_REDUCE, false, true},
    {"gas_split", PTO_COLLECTIVE_GATHER, false, true},
    {"gas_split", PTO_COLLECTIVE_ALLREDUCE, false, true},
    {"gas_split", PTO_COLLECTIVE_ALLGATHER, false, true},
    {"gas_split", PTO_COLLECTIVE_ALLTOALL, false, true},
    {"gas_split", PTO_COLLECTIVE_SCATTER, false, true},
    {"copy_engine", PTO_COLLECTIVE_ALLREDUCE, false, true},
    {"copy_engine", PTO_COLLECTIVE_ALLGATHER, false, true},
    {"copy_engine", PTO_COLLECTIVE_ALLTOALL, false, true},
    {"gas_read", PTO_COLLECTIVE_ALLREDUCE, true, false},
    {"gas_read", PTO_COLLECTIVE_REDUCE, true, false},
    {"gas_read", PTO_COLLECTIVE_REDUCE_SCATTER, true, false},
    {"gas_read", PTO_COLLECTIVE_ALLGATHER, true, false},
    {"gas_read", PTO_COLLECTIVE_ALLTOALL, true, false},
    {"gas_read", PTO_COLLECTIVE_GATHER, true, false},
    {"gas_read", PTO_COLLECTIVE_SCATTER, true, false},
    {"gas_gather", PTO_COLLECTIVE_REDUCE, false, false},
    {"gas_gather", PTO_COLLECTIVE_ALLREDUCE, false, true},
    {"gas_tree", PTO_COLLECTIVE_REDUCE, false, false},
    {"gas_tree", PTO_COLLECTIVE_ALLREDUCE, false, true},
    {"gas_tree", PTO_COLLECTIVE_BROADCAST, false, true},
    {"gsb", PTO_COLLECTIVE_ALLREDUCE, false, false},
};
enum { ACCESSES = sizeof accesses / sizeof *accesses };

static pto_plan_t *plan_of(int i) {
    pto_request_t request = {.layout = {1, size, 1, 1, 1, false},
                             .collective = accesses[i].collective,
                             .datatype = PTO_DATATYPE_INT32,
                             .bytes = 4096};
    return plan_by(request, accesses[i].strategy, "direct");
}

static bool any_accesses(const pto_exec_t *exec, pto_role_t role) {
    int access = !pto_exec_user_is_private(exec, role);
    MPI_Allreduce(MPI_IN_PLACE, &access, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
    return access;
}

/* Memory of the host instead of the device's: runs can be queued only where none of it is copied. */
static void check_copies(const pto_device_t *device, int i, const pto_plan_t *plan) {
    pto_exec_t *exec = NULL;
    void *in = NULL, *out = NULL;
    bool copies = accesses[i].in || accesses[i].out;
    MUST(device->allocate_staging((size_t)size * 4096, &in, &err));
    MUST(device->allocate_staging((size_t)size * 4096, &out, &err));
    memset(in, 0, (size_t)size * 4096);
    MUST(pto_exec_create(plan, MPI_COMM_WORLD, device, in, out, PTO_OP_SUM, &options, &exec, &err));
    const pto_status_t status = pto_exec_queue(exec, &err);
    if (status != (copies ? PTO_ERR_NOT_APPLICABLE : PTO_OK))
        die(copies ? "buffers that should be copied are not" : err.message);
    MUST(status == PTO_OK ? pto_exec_wait(exec, &err) : pto_exec_run(exec, &err));
    pto_exec_destroy(exec);
    MUST(device->release_staging(in, &err));
    MUST(device->release_staging(out, &err));
}

static void check_accesses(const pto_device_t *device) {
    for (int i = 0; i < ACCESSES; i++) {
        pto_plan_t *plan = plan_of(i);
        pto_exec_t *exec = NULL;
        void *in = NULL, *out = NULL;
        MUST(device->allocate((size_t)size * 4096, &in, &err));
        MUST(device->allocate((size_t)size * 4096, &out, &err));
        MUST(pto_exec_create(plan, MPI_COMM_WORLD, device, in, out, PTO_OP_SUM, &options, &exec, &err));
        if (any_accesses(exec, PTO_ROLE_IN) != accesses[i].in ||
            any_accesses(exec, PTO_ROLE_OUT) != accesses[i].out)
            die(accesses[i].strategy);
        pto_exec_destroy(exec);
        if (strcmp(accesses[i].strategy, "gsb") != 0)
            check_copies(device, i, plan);
        pto_plan_destroy(plan);
        MUST(device->release(in, &err));
        MUST(device->release(out, &err));
    }
}

/* To take buffers that it had before, and to tell the others where they are, a process needs no memory: they
 * would wait for one that could not. They tell handles, or registered places. */
static void check_starved(const pto_device_t *device, bool registered) {
    enum { COUNT = 100 };
    const size_t bytes = 2 * COUNT * sizeof(uint32_t);
    pto_plan_t *plan = made(COUNT);
    pto_exec_t *exec = NULL;
    void *memory = NULL;
    int number = -1;
    MUST(device->allocate(bytes, &memory, &err));
    uint32_t *one = memory, *other = one + COUNT;
    MUST(pto_exec_create(plan, MPI_COMM_WORLD, device, one, other, PTO_OP_SUM, &options, &exec, &err));
    if (registered)
        MUST(pto_register(exec, memory, bytes, &number, &err));
    MUST(pto_exec_rebind(exec, other, one, &err));
    starved = rank == size - 1;
    MUST(pto_exec_rebind(exec, one, other, &err));
    starved = false;
    MUST(pto_exec_run(exec, &err));
    pto_exec_destroy(exec);
    pto_plan_destroy(plan);
    MUST(device->release(memory, &err));
}

/* Where a list of the last process's can't grow, no process gets an executor. */
static void check_short_lists(const pto_device_t *device) {
    enum { BYTES = 4096 };
    pto_request_t request = {.layout = {1, size, 1, 1, 1, false},
                             .collective = PTO_COLLECTIVE_ALLGATHER,
                             .datatype = PTO_DATATYPE_BYTE,
                             .bytes = BYTES};
    pto_plan_t *plan = plan_by(request, "three_step", "ring");
    const pto_exec_options_t own = {.placement = PTO_PLACEMENT_IDENTITY, .own_algorithms = true};
    void *in = NULL, *out = NULL;
    MUST(device->allocate(BYTES, &in, &err));
    MUST(device->allocate((size_t)size * BYTES, &out, &err));
    for (int most = 0;; most++) {
        pto_exec_t *exec = NULL;
        items = rank == size - 1 ? most : -1;
        pto_status_t status =
            pto_exec_create(plan, MPI_COMM_WORLD, device, in, out, PTO_OP_SUM, &own, &exec, &err);
        items = -1;
        if (status != PTO_ERR_MEMORY) {
            MUST(status);
            MUST(pto_exec_run(exec, &err));
            pto_exec_destroy(exec);
            if (most < 4)
                die("an executor's lists did not grow");
            break;
        }
    }
    pto_plan_destroy(plan);
    MUST(device->release(in, &err));
    MUST(device->release(out, &err));
}

int main(int argc, char **argv) {
    const pto_device_t *device = NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MUST(pto_device_find(argc > 1 ? argv[1] : "host", &device, &err));
    MUST(device->select(rank, &err));
    check_registrations(device);
    check_accesses(device);
    check_starved(device, false);
    check_starved(device, true);
    check_short_lists(device);
    if (rank == 0)
        printf("test_register: right\n");
    MPI_Finalize();
    return 0;
}

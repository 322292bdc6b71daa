/* What programs seldom ask of an executor, or get from it: processes whose arguments differ, nodes of which
 * each holds other ranks, memory that MPI does not reach, a stream that a run follows, other buffers, calls
 * of NCCL that end late, and messages that fail. On the host device, with 4 processes.
 *
 *   mpirun -n 4 test_seldom */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../impl/host_stream.h"
#include "portolan/exec.h"
#include "portolan/nccl.h"
#include "portolan/strategy.h"

enum { PROCESSES = 4, ELEMENTS = 96, BYTES = ELEMENTS * (int)sizeof(float) };

static int rank, size, wrong;
static const pto_device_t *host;

static void expect(bool right, const char *what, const char *found) {
    if (!right)
        fprintf(stderr, "rank %d: %s; found: %s\n", rank, what, found);
    wrong += !right;
}

_Noreturn static void die(const char *what) {
    fprintf(stderr, "rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

/* --- calls of MPI ----------------------------------------------------------------------------------------
 */

static const int *node_of; /* the node of each rank; NULL: as they are */
static int failing = -1;   /* the rank whose waits for messages fail; -1: none */
static enum { FIRST_FAILS, LAST_FAILS, ALL_FAIL } failing_message;

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *made) {
    if (node_of)
        return PMPI_Comm_split(comm, node_of[rank], key, made);
    return PMPI_Comm_split_type(comm, type, key, info, made);
}

/* Of all processes. */
typedef struct {
    int gathers;
    int agreements;
} calls_t;

static calls_t calls;

int MPI_Allgather(const void *mine, int count, MPI_Datatype type, void *all, int all_count,
                  MPI_Datatype all_type, MPI_Comm comm) {
    calls.gathers++;
    return PMPI_Allgather(mine, count, type, all, all_count, all_type, comm);
}

int MPI_Allreduce(const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    calls.agreements++;
    return PMPI_Allreduce(mine, all, count, type, op, comm);
}

int MPI_Waitall(int count, MPI_Request request[], MPI_Status status[]) {
    int code = PMPI_Waitall(count, request, status);
    int wrong_one = failing_message == FIRST_FAILS ? 0 : count - 1;
    if (failing != rank)
        return code;
    if (failing_message == ALL_FAIL)
        return MPI_ERR_OTHER;
    for (int i = 0; i < count; i++)
        status[i].MPI_ERROR = i == wrong_one ? MPI_ERR_TRUNCATE : i % 2 ? MPI_SUCCESS : MPI_ERR_PENDING;
    return MPI_ERR_IN_STATUS;
}

/* --- executors -------------------------------------------------------------------------------------------
 */

static const pto_layout_t one_node = {1, PROCESSES, 1, 1, PROCESSES, false};

static pto_plan_t *plan_of(const char *strategy, pto_collective_t collective, const char *algorithm,
                           const pto_layout_t *layout) {
    pto_error_t err = {0};
    pto_plan_t *plan = NULL;
    pto_request_t request = {
        .layout = *layout, .collective = collective, .datatype = PTO_DATATYPE_FLOAT, .bytes = BYTES};
    if (pto_strategy_find(strategy, &request.strategy, &err) != PTO_OK ||
        pto_algorithm_find(algorithm, collective, &request.algorithm, &err) != PTO_OK ||
        pto_plan_create(&request, &plan, &err) != PTO_OK)
        die(err.message);
    return plan;
}

static pto_plan_t *allreduce_by(const char *strategy) {
    const char *algorithm = strncmp(strategy, "gas_", 4) == 0 ? "direct"
                            : strcmp(strategy, "nccl") == 0   ? "nccl"
                                                              : "ring";
    return plan_of(strategy, PTO_COLLECTIVE_ALLREDUCE, algorithm, &one_node);
}

/* Each process has its own value in all elements. */
static float *buffer_of(const pto_device_t *device, float value) {
    void *memory = NULL;
    if (device->allocate(BYTES, &memory, NULL) != PTO_OK)
        die("no memory");
    for (int i = 0; i < ELEMENTS; i++)
        ((float *)memory)[i] = value;
    return memory;
}

static bool holds(const float *buffer, float value) {
    for (int i = 0; i < ELEMENTS; i++)
        if (buffer[i] != value)
            return false;
    return true;
}

/* Of `base` plus the rank, over all processes. */
static float sum_from(float base) { return PROCESSES * base + PROCESSES * (PROCESSES - 1) / 2; }

static const pto_exec_options_t usual = {.placement = PTO_PLACEMENT_IDENTITY, .own_algorithms = true};

/* --- arguments that differ -------------------------------------------------------------------------------
 */

typedef struct {
    const char *what;
    pto_op_t op;
    pto_exec_options_t options;
} arguments_t;

static void create_with(const pto_plan_t *plan, const arguments_t *own, bool works) {
    pto_error_t err = {0};
    pto_exec_t *exec = NULL;
    float *in = buffer_of(host, 1), *out = buffer_of(host, 0);
    pto_status_t status =
        pto_exec_create(plan, MPI_COMM_WORLD, host, in, out, own->op, &own->options, &exec, &err);
    expect(status == (works ? PTO_OK : PTO_ERR_RANGE), own->what, err.message);
    expect(works || strstr(err.message, "different plans") != NULL, "another error", err.message);
    if (status == PTO_OK)
        pto_exec_destroy(exec);
    host->release(in, NULL);
    host->release(out, NULL);
}

/* Any two of these sets differ, and so the processes are refused wherever the odd one out is. */
static void arguments_must_be_alike(void) {
    const int64_t table[PROCESSES] = {0, 1, 2, 3};
    const arguments_t sets[] = {
        {"as usual", PTO_OP_SUM, usual},
        {"another operation", PTO_OP_MAX, usual},
        {"an average", PTO_OP_AVG, usual},
        {"nodes", PTO_OP_SUM, {.placement = PTO_PLACEMENT_NODES, .own_algorithms = true}},
        {"a table", PTO_OP_SUM, {.placement = PTO_PLACEMENT_TABLE, .table = table, .own_algorithms = true}},
        {"the library's algorithm", PTO_OP_SUM, {.placement = PTO_PLACEMENT_IDENTITY}},
        {"slices",
         PTO_OP_SUM,
         {.placement = PTO_PLACEMENT_IDENTITY, .own_algorithms = true, .slice_bytes = 256}},
    };
    enum { SETS = sizeof sets / sizeof *sets };
    pto_plan_t *plan = allreduce_by("cuda_aware"), *other = allreduce_by("three_step");
    for (int a = 0; a < SETS; a++)
        for (int b = 0; b < SETS; b++)
            create_with(plan, &sets[rank == (a + b) % PROCESSES ? b : a], a == b);
    create_with(rank == 2 ? other : plan, &sets[0], false);
    pto_plan_destroy(plan);
    pto_plan_destroy(other);
}

/* --- nodes -----------------------------------------------------------------------------------------------
 */

static void place(const int *nodes, const pto_layout_t *layout, const int64_t *wanted, const char *refusal) {
    pto_error_t err = {0};
    int64_t logical = -1;
    node_of = nodes;
    pto_status_t status = pto_exec_place(layout, MPI_COMM_WORLD, NULL, &logical, &err);
    node_of = NULL;
    expect(status == (refusal ? PTO_ERR_RANGE : PTO_OK), "places by nodes", err.message);
    if (refusal)
        expect(strstr(err.message, refusal) != NULL, refusal, err.message);
    else
        expect(logical == wanted[rank], "another place", err.message);
}

/* Nodes are numbered by their lowest ranks, and the processes of a node by their ranks. */
static void nodes_are_numbered_by_their_lowest_ranks(void) {
    const pto_layout_t two = {2, 2, 1, 1, 2, false}, helped = {2, 1, 1, 2, 1, false};
    const pto_layout_t four = {4, 1, 1, 1, 1, false};
    const int halves[] = {0, 0, 1, 1}, turns[] = {1, 0, 1, 0}, around[] = {5, 3, 3, 5},
              uneven[] = {0, 0, 0, 1};
    const int apart[] = {3, 2, 1, 0};
    place(halves, &two, (const int64_t[]){0, 1, 2, 3}, NULL);
    place(turns, &two, (const int64_t[]){0, 2, 1, 3}, NULL);
    place(around, &two, (const int64_t[]){0, 2, 3, 1}, NULL);
    place(turns, &helped, (const int64_t[]){0, 2, 1, 3}, NULL);
    place(apart, &four, (const int64_t[]){0, 1, 2, 3}, NULL);
    place(uneven, &two, NULL, "the layout has 2 processes per node, but rank 0's node has 3;");
    place(halves, &four, NULL, "the layout has 1 processes per node, but rank 0's node has 2;");
    place(NULL, &two, NULL, "rank 0's node has 4;");
}

static void place_by_table(const int64_t *table, const char *refusal) {
    pto_error_t err = {0};
    int64_t logical = -1;
    const pto_exec_options_t options = {.placement = PTO_PLACEMENT_TABLE, .table = table};
    pto_status_t status = pto_exec_place(&one_node, MPI_COMM_WORLD, &options, &logical, &err);
    expect(status == (refusal ? PTO_ERR_RANGE : PTO_OK), "places by a table", err.message);
    expect(refusal ? strstr(err.message, refusal) != NULL : logical == table[rank], "another place",
           err.message);
}

static void a_table_has_each_place_once(void) {
    place_by_table((const int64_t[]){3, 0, 2, 1}, NULL);
    place_by_table((const int64_t[]){3, 0, 2, 4}, "the table places rank 3 at 4 of 4");
    place_by_table((const int64_t[]){-1, 0, 2, 1}, "the table places rank 0 at -1 of 4");
    place_by_table((const int64_t[]){3, 1, 2, 1}, "ranks 1 and 3 are both placed at 1");
    place_by_table((const int64_t[]){0, 0, 2, 1}, "ranks 0 and 1 are both placed at 0");
}

/* --- memory that MPI does not reach ----------------------------------------------------------------------
 */

static bool does_not_reach(void) { return false; }

/* Only plans that send from the device's memory are refused. */
static void create_unreached(const char *strategy, const char *refusal) {
    pto_device_t device = *host;
    pto_error_t err = {0};
    pto_exec_t *exec = NULL;
    pto_plan_t *plan = allreduce_by(strategy);
    float *in = buffer_of(host, (float)rank), *out = buffer_of(host, -1);
    device.mpi_reaches = does_not_reach;
    pto_status_t status =
        pto_exec_create(plan, MPI_COMM_WORLD, &device, in, out, PTO_OP_SUM, &usual, &exec, &err);
    expect(status == (refusal ? PTO_ERR_NOT_APPLICABLE : PTO_OK), strategy, err.message);
    expect(!refusal || strstr(err.message, refusal) != NULL, strategy, err.message);
    if (status == PTO_OK) {
        expect(pto_exec_run(exec, &err) == PTO_OK && holds(out, sum_from(0)), strategy, err.message);
        pto_exec_destroy(exec);
    }
    pto_plan_destroy(plan);
    host->release(in, NULL);
    host->release(out, NULL);
}

static void what_mpi_does_not_reach_is_not_sent(void) {
    create_unreached("cuda_aware", "cuda_aware sends from GPU memory, but this MPI library does not accept");
    create_unreached("three_step", NULL);
    create_unreached("gas_allgather", NULL);
    create_unreached("nccl", NULL);
}

static void an_unknown_device_is_named(void) {
    pto_error_t err = {0};
    const pto_device_t *found = NULL;
    pto_status_t status = pto_device_find("hos", &found, &err);
    expect(status == PTO_ERR_NOT_FOUND && !found, "a device of no such name", err.message);
    expect(strstr(err.message, "unknown device 'hos'; this build knows: ") != NULL, "names it", err.message);
    expect(strstr(err.message, "host") != NULL && !strstr(err.message, ": ,"), "names others", err.message);
}

/* --- streams ---------------------------------------------------------------------------------------------
 */

typedef struct {
    float *buffer;
    int count;
    int turns; /* until the stream fills it */
} filling_t;

static bool fill_later(void *what, bool *begun) {
    filling_t *filling = what;
    *begun = true;
    if (filling->turns-- > 0)
        return false;
    for (int i = 0; i < filling->count; i++)
        filling->buffer[i] = (float)(10 + rank);
    return true;
}

/* The input is made in a stream of the program's, and a run begins after it. */
static void a_run_follows_a_stream(const char *strategy) {
    pto_error_t err = {0};
    pto_exec_t *exec = NULL;
    void *stream = NULL;
    pto_plan_t *plan = allreduce_by(strategy);
    float *in = buffer_of(host, -7), *out = buffer_of(host, -1);
    if (pto_exec_create(plan, MPI_COMM_WORLD, host, in, out, PTO_OP_SUM, &usual, &exec, &err) != PTO_OK ||
        host->stream_create(&stream, &err) != PTO_OK)
        die(err.message);
    for (int run = 0; run < 3; run++) {
        filling_t filling = {in, ELEMENTS, 5 + rank};
        for (int i = 0; i < ELEMENTS; i++)
            in[i] = -7;
        if (pto_host_stream_step(fill_later, &filling, stream, &err) != PTO_OK ||
            pto_exec_follow(exec, stream, &err) != PTO_OK || pto_exec_run(exec, &err) != PTO_OK)
            die(err.message);
        expect(holds(out, sum_from(10)), strategy, "a run before its input");
    }
    if (pto_exec_start(exec, &err) != PTO_OK)
        die(err.message);
    bool finished = false;
    if (pto_exec_test(exec, &finished, &err) != PTO_OK)
        die(err.message);
    pto_status_t status = pto_exec_follow(exec, stream, &err);
    expect(status == (finished ? PTO_OK : PTO_ERR_RANGE), "follows during a run", err.message);
    if (pto_exec_wait(exec, &err) != PTO_OK)
        die(err.message);
    host->stream_destroy(stream, NULL);
    pto_exec_destroy(exec);
    pto_plan_destroy(plan);
    host->release(in, NULL);
    host->release(out, NULL);
}

/* To the root of a gather, messages leave from the input itself, without a copy that the stream would order.
 */
static void a_message_follows_a_stream(void) {
    pto_error_t err = {0};
    pto_exec_t *exec = NULL;
    void *stream = NULL;
    pto_plan_t *plan = plan_of("cuda_aware", PTO_COLLECTIVE_GATHER, "linear", &one_node);
    float *in = calloc(1, BYTES), *out = calloc(PROCESSES, BYTES);
    filling_t filling = {in, ELEMENTS, 5 + rank};
    if (!in || !out ||
        pto_exec_create(plan, MPI_COMM_WORLD, host, in, out, PTO_OP_SUM, &usual, &exec, &err) != PTO_OK ||
        host->stream_create(&stream, &err) != PTO_OK ||
        pto_host_stream_step(fill_later, &filling, stream, &err) != PTO_OK ||
        pto_exec_follow(exec, stream, &err) != PTO_OK || pto_exec_run(exec, &err) != PTO_OK)
        die(err.message);
    for (int i = 0; i < PROCESSES && rank == 0; i++)
        expect(holds(out + (ptrdiff_t)i * ELEMENTS, (float)(10 + i)), "messages follow a stream",
               "those of before");
    host->stream_destroy(stream, NULL);
    pto_exec_destroy(exec);
    pto_plan_destroy(plan);
    free(in);
    free(out);
}

/* --- other private buffers -------------------------------------------------------------------------------
 */

/* One side or both change, and back; what is not the executor's now stays as it is. */
static void private_buffers_change(const char *strategy) {
    pto_error_t err = {0};
    pto_exec_t *exec = NULL;
    pto_plan_t *plan = allreduce_by(strategy);
    float *in[2], *out[2];
    for (int i = 0; i < 2; i++) {
        in[i] = buffer_of(host, (float)(100 * i + rank));
        out[i] = buffer_of(host, -1);
    }
    if (pto_exec_create(plan, MPI_COMM_WORLD, host, in[0], out[0], PTO_OP_SUM, &usual, &exec, &err) != PTO_OK)
        die(err.message);
    expect(pto_exec_user_is_private(exec, PTO_ROLE_IN) && pto_exec_user_is_private(exec, PTO_ROLE_OUT),
           strategy, "buffers that others use");
    static const int turns[][2] = {{0, 0}, {0, 1}, {1, 1}, {0, 1}, {0, 0}, {1, 0}, {0, 1}, {1, 0}};
    for (size_t i = 0; i < sizeof turns / sizeof *turns; i++) {
        int from = turns[i][0], to = turns[i][1];
        for (int k = 0; k < 2 * ELEMENTS; k++)
            out[k / ELEMENTS][k % ELEMENTS] = -1;
        if (pto_exec_rebind_private(exec, in[from], out[to], &err) != PTO_OK ||
            pto_exec_run(exec, &err) != PTO_OK)
            die(err.message);
        expect(holds(out[to], sum_from((float)(100 * from))), strategy, "other buffers");
        expect(holds(out[1 - to], -1), strategy, "a buffer that is no longer bound");
    }
    pto_status_t status = pto_exec_rebind_private(exec, NULL, out[0], &err);
    expect(status == PTO_ERR_RANGE && strstr(err.message, "a buffer is NULL"), strategy, err.message);
    status = pto_exec_rebind_private(exec, in[1], in[1], &err);
    expect(status == PTO_ERR_RANGE && strstr(err.message, "stays in place"), strategy, err.message);
    if (pto_exec_run(exec, &err) != PTO_OK)
        die(err.message);
    expect(holds(out[0], sum_from(100)), strategy, "the buffers before an error");
    pto_exec_destroy(exec);
    pto_plan_destroy(plan);
    for (int i = 0; i < 2; i++) {
        host->release(in[i], NULL);
        host->release(out[i], NULL);
    }
}

/* --- buffers that others use -----------------------------------------------------------------------------
 */

static int refusing = -1; /* the rank that cannot open memory; -1: none */

static pto_status_t open_or_not(const pto_memory_handle_t *handle, void **memory, pto_error_t *err) {
    if (refusing == rank)
        return pto_error_set(err, PTO_ERR_IO, "rank %d opens nothing", rank);
    return host->open_memory(handle, memory, err);
}

static pto_status_t counted_rebind(pto_exec_t *exec, const void *in, void *out, int gathers, int agreements,
                                   pto_error_t *err) {
    char found[64];
    calls = (calls_t){0};
    pto_status_t status = pto_exec_rebind(exec, in, out, err);
    snprintf(found, sizeof found, "%d messages, %d agreements", calls.gathers, calls.agreements);
    expect(calls.gathers == gathers && (calls.agreements == agreements || agreements < 0),
           "rebinds in few rounds", found);
    return status;
}

/* Runs once, and looks at the output. */
static void run_on(pto_exec_t *exec, const float *out, float base) {
    pto_error_t err = {0};
    expect(pto_exec_run(exec, &err) == PTO_OK && holds(out, sum_from(base)), "a run on other buffers",
           err.message);
}

/* All tell all in one message where their buffers are, and agree where an allocation is new, since some may
 * be unable to open it. */
static void new_allocations_are_agreed_on(void) {
    pto_device_t device = *host;
    pto_error_t err = {0};
    pto_exec_t *exec = NULL;
    pto_plan_t *plan = allreduce_by("gas_read");
    float *in[4], *out = buffer_of(host, -1);
    for (int i = 0; i < 4; i++)
        in[i] = buffer_of(host, (float)(100 * i + rank));
    device.open_memory = open_or_not;
    if (pto_exec_create(plan, MPI_COMM_WORLD, &device, in[0], out, PTO_OP_SUM, &usual, &exec, &err) != PTO_OK)
        die(err.message);
    expect(!pto_exec_user_is_private(exec, PTO_ROLE_IN), "others use the input", "a private one");
    run_on(exec, out, 0);
    expect(counted_rebind(exec, in[1], out, 1, 1, &err) == PTO_OK, "a new allocation", err.message);
    run_on(exec, out, 100);
    expect(counted_rebind(exec, in[0], out, 1, -1, &err) == PTO_OK, "the first one", err.message);
    run_on(exec, out, 0);
    expect(counted_rebind(exec, in[1], out, 1, 0, &err) == PTO_OK, "the second again", err.message);
    run_on(exec, out, 100);
    /* new to one process is new to all */
    expect(counted_rebind(exec, rank == 3 ? in[2] : in[0], out, 1, 1, &err) == PTO_OK, "one new",
           err.message);
    expect(pto_exec_run(exec, &err) == PTO_OK && holds(out, sum_from(0) + 200), "one new", err.message);
    refusing = 2;
    expect(counted_rebind(exec, in[3], out, 1, 1, &err) == PTO_ERR_IO &&
               strstr(err.message, "rank 2 opens nothing"),
           "an allocation that one process cannot open", err.message);
    refusing = -1;
    expect(pto_exec_run(exec, &err) == PTO_OK && holds(out, sum_from(0) + 200), "the buffers before it",
           err.message);
    pto_exec_destroy(exec);
    pto_plan_destroy(plan);
    host->release(out, NULL);
    for (int i = 0; i < 4; i++)
        host->release(in[i], NULL);
}

/* --- NCCL ------------------------------------------------------------------------------------------------
 */

/* A call that its stream makes later, as a GPU does. */
typedef struct {
    void *group;
    pto_nccl_call_t call;
    int turns;
} later_t;

enum { LATER_MAX = 8 };
static later_t later[LATER_MAX];
static int later_count;
static void *aside; /* a stream in which nothing is */

static bool call_later(void *what, bool *begun) {
    later_t *it = what;
    *begun = true;
    if (it->turns-- > 0)
        return false;
    expect(host->nccl->run(it->group, &it->call, aside, NULL) == PTO_OK, "a call of NCCL", "an error");
    return true;
}

static pto_status_t run_later(void *group, const pto_nccl_call_t *call, void *stream, pto_error_t *err) {
    later_t *it = &later[later_count++ % LATER_MAX];
    *it = (later_t){group, *call, 3 + rank};
    return pto_host_stream_step(call_later, it, stream, err);
}

/* Runs that are begun and asked about, or queued, are over when NCCL is. */
static void a_run_is_over_when_nccl_is(void) {
    pto_device_t device = *host;
    pto_nccl_t nccl = *host->nccl;
    pto_error_t err = {0};
    pto_exec_t *exec = NULL;
    pto_plan_t *plan = allreduce_by("nccl");
    float *in = buffer_of(host, (float)rank), *out = buffer_of(host, -1);
    nccl.run = run_later;
    nccl.waits = false;
    device.nccl = &nccl;
    if (host->stream_create(&aside, &err) != PTO_OK ||
        pto_exec_create(plan, MPI_COMM_WORLD, &device, in, out, PTO_OP_SUM, &usual, &exec, &err) != PTO_OK)
        die(err.message);
    for (int run = 0; run < 3; run++) {
        bool finished = false;
        for (int i = 0; i < ELEMENTS; i++)
            out[i] = -1;
        if (pto_exec_start(exec, &err) != PTO_OK)
            die(err.message);
        while (!finished)
            if (pto_exec_test(exec, &finished, &err) != PTO_OK)
                die(err.message);
        expect(holds(out, sum_from(0)), "a run by NCCL", "the output before it");
        for (int i = 0; i < ELEMENTS; i++)
            out[i] = -1;
        for (int i = 0; i < 2; i++)
            if (pto_exec_queue(exec, &err) != PTO_OK)
                die(err.message);
        if (pto_exec_wait(exec, &err) != PTO_OK)
            die(err.message);
        expect(holds(out, sum_from(0)), "queued runs by NCCL", "the output before them");
    }
    pto_exec_destroy(exec);
    host->stream_destroy(aside, NULL);
    pto_plan_destroy(plan);
    host->release(in, NULL);
    host->release(out, NULL);
}

/* --- messages that fail ----------------------------------------------------------------------------------
 */

/* All messages of a linear alltoall are waited for at once, so that the other processes do not miss them. */
static void fail_messages(int of_rank, int message, const char *wanted) {
    pto_error_t err = {0};
    pto_exec_t *exec = NULL;
    const char *named;
    int peer = -1;
    pto_plan_t *plan = plan_of("cuda_aware", PTO_COLLECTIVE_ALLTOALL, "linear", &one_node);
    pto_exec_options_t options = usual;
    char *in = calloc(PROCESSES, BYTES), *out = calloc(PROCESSES, BYTES);
    options.timeout_s = -1; /* so that it waits in MPI */
    if (!in || !out ||
        pto_exec_create(plan, MPI_COMM_WORLD, host, in, out, PTO_OP_SUM, &options, &exec, &err) != PTO_OK)
        die(err.message);
    failing = of_rank;
    failing_message = message;
    pto_status_t status = pto_exec_run(exec, &err);
    failing = -1;
    expect(status == (rank == of_rank ? PTO_ERR_IO : PTO_OK), "a message fails", err.message);
    if (rank == of_rank) {
        named = strstr(err.message, "message with MPI rank ");
        expect(strstr(err.message, wanted) != NULL, wanted, err.message);
        expect(strstr(err.message, " in stage '") != NULL, "its stage", err.message);
        expect((named != NULL) == (message != ALL_FAIL), "names its message", err.message);
        expect(!named || (sscanf(named, "message with MPI rank %d:", &peer) == 1 && peer >= 0 &&
                          peer < PROCESSES && peer != rank),
               "a peer", err.message);
        expect(pto_exec_run(exec, &err) == PTO_ERR_RANGE && strstr(err.message, "an earlier run failed"),
               "runs again", err.message);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != of_rank) /* whose memory messages might still use, for all it knows */
        free(in);
    pto_plan_destroy(plan);
}

static void a_failed_message_is_named(void) {
    for (int of_rank = 0; of_rank < PROCESSES; of_rank++) {
        fail_messages(of_rank, FIRST_FAILS, "receive from");
        fail_messages(of_rank, LAST_FAILS, "send to");
        fail_messages(of_rank, ALL_FAIL, "MPI_Waitall");
    }
}

/* --- a process that does not come ------------------------------------------------------------------------
 */

/* The others give up in time, and each says where it is and what it waits for: in a ring, of the one that is
 * absent after as many rounds as there are between. None frees what the others may still use. */
static void an_absent_process_is_waited_for(const char *strategy, const char *algorithm, pto_wait_t wait,
                                            const char *doing) {
    static const int64_t table[PROCESSES] = {2, 0, 3, 1};
    enum { ABSENT = 3 };
    pto_error_t err = {0};
    pto_exec_t *exec = NULL;
    char place[80];
    pto_plan_t *plan = plan_of(strategy, PTO_COLLECTIVE_ALLREDUCE, algorithm, &one_node);
    const pto_exec_options_t options = {.placement = PTO_PLACEMENT_TABLE,
                                        .table = table,
                                        .own_algorithms = true,
                                        .timeout_s = 0.3,
                                        .wait = wait};
    float *in = buffer_of(host, 1), *out = buffer_of(host, 0);
    if (pto_exec_create(plan, MPI_COMM_WORLD, host, in, out, PTO_OP_SUM, &options, &exec, &err) != PTO_OK)
        die(err.message);
    MPI_Barrier(MPI_COMM_WORLD);
    double began_s = MPI_Wtime();
    if (rank != ABSENT) {
        expect(pto_exec_run(exec, &err) == PTO_ERR_TIMEOUT, strategy, err.message);
        double took_s = MPI_Wtime() - began_s;
        expect(took_s >= 0.3 && took_s < 20, strategy, "not the time that was given");
        snprintf(place, sizeof place, "rank %d (MPI rank %d; node 0, GPU %d, core 0) in stage '",
                 (int)table[rank], rank, (int)table[rank]);
        expect(strncmp(err.message, place, strlen(place)) == 0, place, err.message);
        expect(strstr(err.message, doing) != NULL, doing, err.message);
        snprintf(place, sizeof place,
                 ", k %d: ", ((int)table[rank] - (int)table[ABSENT] + PROCESSES - 1) % PROCESSES);
        expect(strcmp(algorithm, "ring") != 0 || strstr(err.message, place), place, err.message);
        expect(strstr(err.message, ", no progress for 0.3 s") != NULL, strategy, err.message);
        expect(pto_exec_run(exec, &err) == PTO_ERR_RANGE && strstr(err.message, "an earlier run failed"),
               "runs again", err.message);
        pto_exec_destroy(exec);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != PROCESSES || pto_device_find("host", &host, NULL) != PTO_OK)
        die("needs 4 processes");
    arguments_must_be_alike();
    nodes_are_numbered_by_their_lowest_ranks();
    a_table_has_each_place_once();
    what_mpi_does_not_reach_is_not_sent();
    an_unknown_device_is_named();
    a_run_follows_a_stream("cuda_aware");
    a_run_follows_a_stream("three_step");
    a_run_follows_a_stream("gas_allgather");
    a_message_follows_a_stream();
    private_buffers_change("cuda_aware");
    private_buffers_change("three_step");
    new_allocations_are_agreed_on();
    a_run_is_over_when_nccl_is();
    a_failed_message_is_named();
    an_absent_process_is_waited_for("cuda_aware", "ring", PTO_WAIT_YIELD, "waiting for messages");
    an_absent_process_is_waited_for("cuda_aware", "ring", PTO_WAIT_SLEEP, "waiting for messages");
    an_absent_process_is_waited_for("three_step", "ring", PTO_WAIT_SPIN, "waiting for messages");
    an_absent_process_is_waited_for("gsb", "direct", PTO_WAIT_YIELD, "waiting for a signal");
    an_absent_process_is_waited_for("gas_allgather", "direct", PTO_WAIT_YIELD, "in a kernel");
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return wrong != 0;
}

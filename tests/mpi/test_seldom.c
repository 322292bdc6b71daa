/* What programs seldom ask of an executor: processes whose arguments differ, nodes of which each holds other
 * ranks, memory that MPI does not reach, a stream that a run follows, other buffers, and kernels on GPUs of
 * other sizes. On the host device, with 4 processes.
 *
 *   mpirun -n 4 test_seldom */
#include <math.h>

#include "../../impl/device/host_stream.h"
#include "four.h"
#include "portolan/kernel.h"

/* --- calls of MPI -------------------------------------------------------------------------------------- */

static const int *node_of; /* the node of each rank; NULL: as they are */

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

/* --- arguments that differ ----------------------------------------------------------------------------- */

typedef struct {
    const char *what;
    pto_op_t op;
    pto_exec_options_t options;
} arguments_t;

static void create_with(const pto_plan_t *plan, const arguments_t *own, bool works) {
    pto_error_t err = {0};
    pto_exec_t *exec = NULL;
    float *in = buffer_of(1), *out = buffer_of(0);
    pto_status_t status =
        pto_exec_create(plan, MPI_COMM_WORLD, host, in, out, own->op, &own->options, &exec, &err);
    expect(status == (works ? PTO_OK : PTO_ERR_RANGE), own->what, err.message);
    expect(works || strstr(err.message, "different plans") != NULL, "another error", err.message);
    if (status == PTO_OK)
        pto_exec_destroy(exec);
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
}

/* --- nodes --------------------------------------------------------------------------------------------- */

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

/* --- memory that MPI does not reach -------------------------------------------------------------------- */

static bool does_not_reach(void) { return false; }

/* Only plans that send from the device's memory are refused. */
static void create_unreached(const char *strategy, const char *refusal) {
    pto_device_t device = *host;
    pto_error_t err = {0};
    pto_exec_t *exec = NULL;
    pto_plan_t *plan = allreduce_by(strategy);
    float *in = buffer_of((float)rank), *out = buffer_of(-1);
    device.mpi_reaches = does_not_reach;
    pto_status_t status =
        pto_exec_create(plan, MPI_COMM_WORLD, &device, in, out, PTO_OP_SUM, &usual, &exec, &err);
    expect(status == (refusal ? PTO_ERR_NOT_APPLICABLE : PTO_OK), strategy, err.message);
    expect(!refusal || strstr(err.message, refusal) != NULL, strategy, err.message);
    if (status == PTO_OK) {
        run_to(exec, out, sum_from(0), strategy);
        pto_exec_destroy(exec);
    }
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

/* --- streams ------------------------------------------------------------------------------------------- */

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
    void *stream = NULL;
    pto_plan_t *plan = allreduce_by(strategy);
    float *in = buffer_of(-7), *out = buffer_of(-1);
    pto_exec_t *exec = exec_of(plan, host, in, out, &usual);
    MUST(host->stream_create(&stream, &err));
    for (int run = 0; run < 3; run++) {
        filling_t filling = {in, ELEMENTS, 5 + rank};
        fill_with(in, -7);
        MUST(pto_host_stream_step(fill_later, &filling, stream, &err));
        MUST(pto_exec_follow(exec, stream, &err));
        run_to(exec, out, sum_from(10), strategy);
    }
    MUST(pto_exec_start(exec, &err));
    bool finished = false;
    MUST(pto_exec_test(exec, &finished, &err));
    pto_status_t status = pto_exec_follow(exec, stream, &err);
    expect(status == (finished ? PTO_OK : PTO_ERR_RANGE), "follows during a run", err.message);
    MUST(pto_exec_wait(exec, &err));
    host->stream_destroy(stream, NULL);
    pto_exec_destroy(exec);
}

/* To the root of a gather, messages leave from the input itself, without a copy that the stream would order.
 */
static void a_message_follows_a_stream(void) {
    pto_error_t err = {0};
    void *stream = NULL;
    pto_plan_t *plan = plan_of("cuda_aware", PTO_COLLECTIVE_GATHER, "linear", &one_node);
    float *in = blocks_for_all(0), *out = blocks_for_all(0);
    filling_t filling = {in, ELEMENTS, 5 + rank};
    pto_exec_t *exec = exec_of(plan, host, in, out, &usual);
    MUST(host->stream_create(&stream, &err));
    MUST(pto_host_stream_step(fill_later, &filling, stream, &err));
    MUST(pto_exec_follow(exec, stream, &err));
    MUST(pto_exec_run(exec, &err));
    for (int i = 0; i < PROCESSES && rank == 0; i++)
        expect(holds(out + (ptrdiff_t)i * ELEMENTS, (float)(10 + i)), "messages follow a stream",
               "those of before");
    host->stream_destroy(stream, NULL);
    pto_exec_destroy(exec);
}

/* --- other private buffers ----------------------------------------------------------------------------- */

/* One side or both change, and back; what is not the executor's now stays as it is. */
static void private_buffers_change(const char *strategy) {
    pto_error_t err = {0};
    pto_plan_t *plan = allreduce_by(strategy);
    float *in[2], *out[2];
    for (int i = 0; i < 2; i++) {
        in[i] = buffer_of((float)(100 * i + rank));
        out[i] = buffer_of(-1);
    }
    pto_exec_t *exec = exec_of(plan, host, in[0], out[0], &usual);
    expect(pto_exec_user_is_private(exec, PTO_ROLE_IN) && pto_exec_user_is_private(exec, PTO_ROLE_OUT),
           strategy, "buffers that others use");
    static const int turns[][2] = {{0, 0}, {0, 1}, {1, 1}, {0, 1}, {0, 0}, {1, 0}, {0, 1}, {1, 0}};
    for (size_t i = 0; i < sizeof turns / sizeof *turns; i++) {
        int from = turns[i][0], to = turns[i][1];
        for (int k = 0; k < 2 * ELEMENTS; k++)
            out[k / ELEMENTS][k % ELEMENTS] = -1;
        MUST(pto_exec_rebind_private(exec, in[from], out[to], &err));
        run_to(exec, out[to], sum_from((float)(100 * from)), strategy);
        expect(holds(out[1 - to], -1), strategy, "a buffer that is no longer bound");
    }
    expect_error(pto_exec_rebind_private(exec, NULL, out[0], &err), PTO_ERR_RANGE, "a buffer is NULL", &err);
    expect_error(pto_exec_rebind_private(exec, in[1], in[1], &err), PTO_ERR_RANGE, "stays in place", &err);
    run_to(exec, out[0], sum_from(100), strategy);
    pto_exec_destroy(exec);
}

/* --- buffers that others use --------------------------------------------------------------------------- */

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

/* All tell all in one message where their buffers are, and agree where an allocation is new, since some may
 * be unable to open it. */
static void new_allocations_are_agreed_on(void) {
    pto_device_t device = *host;
    pto_error_t err = {0};
    pto_plan_t *plan = allreduce_by("gas_read");
    float *in[4], *out = buffer_of(-1);
    for (int i = 0; i < 4; i++)
        in[i] = buffer_of((float)(100 * i + rank));
    device.open_memory = open_or_not;
    pto_exec_t *exec = exec_of(plan, &device, in[0], out, &usual);
    expect(!pto_exec_user_is_private(exec, PTO_ROLE_IN), "others use the input", "a private one");
    run_to(exec, out, sum_from(0), "other buffers");
    expect(counted_rebind(exec, in[1], out, 1, 1, &err) == PTO_OK, "a new allocation", err.message);
    run_to(exec, out, sum_from(100), "other buffers");
    expect(counted_rebind(exec, in[0], out, 1, -1, &err) == PTO_OK, "the first one", err.message);
    run_to(exec, out, sum_from(0), "other buffers");
    expect(counted_rebind(exec, in[1], out, 1, 0, &err) == PTO_OK, "the second again", err.message);
    run_to(exec, out, sum_from(100), "other buffers");
    /* new to one process is new to all */
    expect(counted_rebind(exec, rank == 3 ? in[2] : in[0], out, 1, 1, &err) == PTO_OK, "one new",
           err.message);
    run_to(exec, out, sum_from(0) + 200, "one new");
    refusing = 2;
    expect_error(counted_rebind(exec, in[3], out, 1, 1, &err), PTO_ERR_IO, "rank 2 opens nothing", &err);
    refusing = -1;
    run_to(exec, out, sum_from(0) + 200, "the buffers before it");
    pto_exec_destroy(exec);
}

/* A process that offers nothing itself may be the one that cannot open what the root offers: twice. */
static void what_was_not_opened_stays_new(void) {
    pto_device_t device = *host;
    pto_error_t err = {0};
    pto_plan_t *plan = plan_of("gas_read", PTO_COLLECTIVE_SCATTER, "direct", &one_node);
    float *in[2] = {NULL, NULL}, *out = buffer_of(-1);
    for (int i = 0; i < 2 && rank == 0; i++) {
        void *memory = NULL;
        if (host->allocate((size_t)PROCESSES * BYTES, &memory, NULL) != PTO_OK)
            die("no memory");
        in[i] = keep(memory, end_buffer);
        for (int owner = 0; owner < PROCESSES; owner++)
            for (int k = 0; k < ELEMENTS; k++)
                in[i][owner * ELEMENTS + k] = (float)(100 * i + owner);
    }
    device.open_memory = open_or_not;
    pto_exec_t *exec = exec_of(plan, &device, in[0], out, &usual);
    for (int i = 0; i < 2; i++) {
        refusing = 2;
        expect_error(counted_rebind(exec, in[1], out, 1, 1, &err), PTO_ERR_IO, "rank 2 opens nothing", &err);
        refusing = -1;
        run_to(exec, out, (float)rank, "the input before it");
    }
    expect(counted_rebind(exec, in[1], out, 1, 1, &err) == PTO_OK, "an allocation that all can open",
           err.message);
    run_to(exec, out, (float)(100 + rank), "another input");
    pto_exec_destroy(exec);
}

/* --- parts of kernels ---------------------------------------------------------------------------------- */

static int blocks_of[PROCESSES] = {5, 4, 7, 6}; /* that each process's GPU can have */
static pto_kernel_program_t noted;              /* of the last kernel */

static pto_status_t own_blocks(pto_datatype_t datatype, pto_op_t op, int *blocks, pto_error_t *err) {
    *blocks = blocks_of[rank];
    return PTO_OK;
}

static pto_status_t create_noted(const pto_kernel_program_t *program, void **kernel, pto_error_t *err) {
    noted = *program;
    return host->kernels->create(program, kernel, err);
}

static int64_t pieces_of(int64_t bytes, int64_t piece_bytes, int64_t most) {
    int64_t count = 1;
    while (count < most && count * piece_bytes < bytes)
        count++;
    return count;
}

/* A block for so many bytes of the largest buffer, as far as the smallest GPU can have them all at once, and
 * a slice for so many bytes of a block, at most 64; with lines, by the vector. */
static void cut_kernel(const char *strategy, int64_t bytes, int64_t largest_bytes, bool lines,
                       double timeout_s) {
    static pto_kernels_t kernels;
    pto_device_t device = *host;
    pto_plan_t *plan = plan_of_bytes(strategy, PTO_COLLECTIVE_ALLREDUCE, "direct", &one_node, bytes);
    pto_exec_options_t options = usual;
    void *in = keep_new((size_t)bytes, NULL), *out = keep_new((size_t)bytes, NULL);
    char found[80];
    kernels = *host->kernels;
    kernels.flags_cut = (pto_kernel_cut_t){96, 1000};
    kernels.lines_cut = (pto_kernel_cut_t){40, 24};
    kernels.lines_bytes_max = 600;
    kernels.blocks_max = own_blocks;
    kernels.create = create_noted;
    device.kernels = &kernels;
    options.timeout_s = timeout_s;
    noted = (pto_kernel_program_t){0};
    pto_exec_t *exec = exec_of(plan, &device, in, out, &options);
    int64_t blocks = pieces_of(largest_bytes, lines ? 40 : 96, 4);
    int64_t slices = pieces_of(largest_bytes, blocks * (lines ? 24 : 1000), 64);
    snprintf(found, sizeof found, "%d blocks and %d slices of %lld bytes", noted.blocks, noted.slices,
             (long long)bytes);
    expect(noted.blocks == blocks && noted.slices == slices, strategy, found);
    expect(noted.patience_s == (timeout_s < 0   ? 0
                                : timeout_s > 0 ? fmin(timeout_s, 30 * 86400.0)
                                                : 20),
           strategy, "another patience");
    pto_exec_destroy(exec);
}

static void kernels_are_cut_by_their_largest_buffer(void) {
    pto_error_t err = {0};
    pto_exec_t *exec = NULL;
    for (int64_t i = 0; i < 24; i++) {
        int64_t bytes = 4 * (1 + 5 * i * i);
        cut_kernel("gas_read", bytes, PROCESSES * bytes, false, 0);
        cut_kernel("gas_allgather", bytes, bytes <= 600 ? bytes : PROCESSES * bytes, bytes <= 600, 0);
    }
    cut_kernel("gas_read", 300000, 1200000, false, -1);
    cut_kernel("gas_read", 24, 96, false, 7);
    cut_kernel("gas_read", 28, 112, false, 1e9);
    for (int none = 0; none < PROCESSES; none++) {
        pto_kernels_t kernels = *host->kernels;
        pto_device_t device = *host;
        pto_plan_t *plan = allreduce_by("gas_read");
        float *in = buffer_of(1), *out = buffer_of(0);
        int blocks = blocks_of[none];
        kernels.blocks_max = own_blocks;
        device.kernels = &kernels;
        blocks_of[none] = 0;
        pto_status_t status =
            pto_exec_create(plan, MPI_COMM_WORLD, &device, in, out, PTO_OP_SUM, &usual, &exec, &err);
        expect_error(status, PTO_ERR_NOT_APPLICABLE, "not even one block of gas_read's", &err);
        blocks_of[none] = blocks;
        device.kernels = rank == none ? NULL : &kernels;
        status = pto_exec_create(plan, MPI_COMM_WORLD, &device, in, out, PTO_OP_SUM, &usual, &exec, &err);
        expect_error(status, PTO_ERR_NOT_APPLICABLE,
                     "gas_read runs kernels, but device host does not support them", &err);
    }
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
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
    what_was_not_opened_stays_new();
    kernels_are_cut_by_their_largest_buffer();
    return end();
}

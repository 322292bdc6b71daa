/* Runs in streams and graphs: random programs of several executors whose results MPI computes anew on the
 * host.
 *
 *   mpirun -n N test_streams random COUNT [SEED [DEVICE]]   COUNT random programs; each process has a GPU
 *   mpirun -n N test_streams replays COUNT [SEED [DEVICE]]  COUNT runs of each plan, in graphs of 100
 *   mpirun -n N test_streams refusals [0 [0 [DEVICE]]]      what cannot be enqueued is refused
 *   mpirun -n N test_streams absent [0 [0 [DEVICE]]]        process 0 enqueues alone and gets a time-out, and
 *                                                           so do the others, who come late
 *
 * The input of each run is a row of a table on the device, which the stream changes after the run; the stream
 * adds up the outputs by row. Sums of integers wrap round, so the collective of all inputs of a row, summed
 * up, is the sum of the row's outputs: a run that read stale data, or another run's, changes it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../chance.h"
#include "exec_strategies.h"
#include "portolan/bench.h"
#include "portolan/exec_mpi.h"
#include "portolan/nccl.h"
#include "portolan/strategy.h"

enum { ROWS = 3, EXECUTORS_MAX = 3, STREAMS = 2, RUNS_MAX = 7, REPLAYS_MAX = 5, GRAPH_RUNS = 100 };
enum {
    PROCESSES_MAX = 64,
    PLACES = 4
}; /* where an input or an output may lie: two in each of two allocations */
/* Few enough blocks that all executors' runs, and those that wait for them, are resident at once. */
enum { ELEMENTS_MAX = 20000, OPS_MAX = 12, ON_ONE_GPU_MAX = 4 /* processes, under MPS */ };

typedef enum { TABLE, STEP, SUM, IN, OUT, IN_2, OUT_2, AREA_COUNT } area_t;

typedef struct {
    pto_plan_t *plan;
    const pto_device_t *device;
    pto_exec_t *exec;
    pto_collective_t collective;
    int64_t block; /* elements of the request */
    size_t in_count;
    size_t in_room; /* the same on all processes */
    pto_counts_t counts;
    int64_t list[PROCESSES_MAX * PROCESSES_MAX]; /* bytes of each process or, of an alltoallv, pair */
    size_t out_count;
    size_t out_room;
    uint32_t *area[AREA_COUNT]; /* on the device; TABLE, STEP and SUM have ROWS rows, the others two places */
    uint32_t *in;               /* the executor's */
    uint32_t *out;
    uint32_t *table; /* this and what follows: on the host, by row */
    uint32_t *step;
    uint32_t *total;
    uint32_t *sum;
    uint32_t *wanted;
    void *graph;
    const uint32_t *graph_in; /* the buffers of the graph's runs */
    const uint32_t *graph_out;
    int graph_runs[ROWS]; /* of the graph, by row */
    int row;              /* of the next run */
    int stream;           /* whose work the next run follows */
    bool in_place;
    bool apart;                   /* the processes' buffers are at different places */
    bool together[2];             /* they are known to be at the same: input, output */
    int registration[AREA_COUNT]; /* of areas that buffers lie in; -1: none */
} user_t;

static int rank, size;

_Noreturn static void die(const user_t *user, const char *what) {
    fprintf(stderr, "test_streams: rank %d, %s by %s, %lld elements%s: %s\n", rank,
            user ? pto_collective_name(user->collective) : "-",
            user ? pto_plan_request(user->plan)->strategy->name : "-", user ? (long long)user->block : 0,
            user && user->in_place ? " in place" : "", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

static pto_error_t err;
#define MUST(user, call) ((call) == PTO_OK ? (void)0 : die((user), err.message))

/* --- memory --------------------------------------------------------------------------------------------- */

static size_t area_count(const user_t *user, area_t area) {
    size_t in = user->in_room, out = user->out_room;
    if (user->in_place)
        in = out = in > out ? in : out;
    return area == TABLE || area == STEP ? ROWS * user->in_count
           : area == SUM                 ? ROWS * user->out_count
                                         : 2 * (area == IN || area == IN_2 ? in : out) + 3;
}

static void copy(const user_t *user, void *target, const void *source, size_t count, void *stream) {
    const size_t bytes = count * sizeof(uint32_t);
    const pto_move_t move = {target, source, bytes, 1, bytes, bytes};
    MUST(user, user->device->copy(&move, stream, &err));
}

static void put(const user_t *user, area_t area, const uint32_t *host) {
    MUST(user, pto_device_copy(user->device, user->area[area], host,
                               area_count(user, area) * sizeof(uint32_t), &err));
}

/* Host memory for the rows of the user's inputs, or outputs. */
static uint32_t *rows_of(size_t count) {
    uint32_t *rows = calloc(ROWS * count + 1, sizeof *rows);
    if (!rows)
        die(NULL, "out of memory");
    return rows;
}

/* The second place of an allocation is aligned for 4 bytes only. Even a buffer without elements begins
 * inside. */
static void choose_places(user_t *user, int in, int out) {
    area_t in_area = in % 2 ? IN_2 : IN, out_area = out % 2 ? OUT_2 : OUT;
    user->in = user->area[in_area] + (size_t)(in / 2) * (area_count(user, in_area) / 2 + 1);
    user->out = user->area[out_area] + (size_t)(out / 2) * (area_count(user, out_area) / 2 + 1);
    if (user->in_place)
        user->out = user->in;
}

static void make_areas(user_t *user) {
    void *memory = NULL;
    for (int area = 0; area < AREA_COUNT; area++) {
        MUST(user, user->device->allocate(area_count(user, (area_t)area) * sizeof(uint32_t), &memory, &err));
        user->area[area] = memory;
    }
    choose_places(user, 0, 0);
    user->table = rows_of(user->in_count);
    user->step = rows_of(user->in_count);
    user->total = rows_of(user->in_count);
    user->sum = rows_of(user->out_count);
    user->wanted = rows_of(user->out_count);
    for (size_t i = 0; i < ROWS * user->in_count; i++) {
        user->table[i] = (uint32_t)(i * 2654435761u) ^ (uint32_t)(rank + 1) * 40503u ^ (uint32_t)chance_state;
        user->step[i] = (uint32_t)(i * 97 + (size_t)rank * 13 + 1);
    }
    put(user, TABLE, user->table);
    put(user, STEP, user->step);
    put(user, SUM, user->sum);
}

/* --- runs ----------------------------------------------------------------------------------------------- */

/* The runs of a row whose input the host has to know: each has changed the row by its step. */
static void note_runs(user_t *user, int row, uint32_t runs) {
    const size_t first = (size_t)row * user->in_count;
    for (size_t i = first; i < first + user->in_count; i++) {
        user->total[i] += runs * user->table[i] + (uint32_t)((uint64_t)runs * (runs - 1) / 2) * user->step[i];
        user->table[i] += runs * user->step[i];
    }
}

static void *row_of(const user_t *user, area_t area, int row) {
    return user->area[area] + (size_t)row * (area == SUM ? user->out_count : user->in_count);
}

static void before_run(const user_t *user, void *stream) {
    copy(user, user->in, row_of(user, TABLE, user->row), user->in_count, stream);
}

static void after_run(user_t *user, void *stream) {
    MUST(user, user->device->reduce(row_of(user, SUM, user->row), user->out, user->out_count,
                                    PTO_DATATYPE_INT32, PTO_OP_SUM, stream, &err));
    MUST(user, user->device->reduce(row_of(user, TABLE, user->row), row_of(user, STEP, user->row),
                                    user->in_count, PTO_DATATYPE_INT32, PTO_OP_SUM, stream, &err));
    user->row = (user->row + 1) % ROWS;
}

static void enqueue_run(user_t *user, void *stream) {
    before_run(user, stream);
    MUST(user, pto_exec_enqueue(user->exec, stream, &err));
    after_run(user, stream);
}

static void enqueue_runs(user_t *user, void *stream, int runs) {
    for (int i = 0; i < runs; i++) {
        note_runs(user, user->row, 1);
        enqueue_run(user, stream);
    }
}

/* A graph begins with row 0, whatever was run before. */
static void capture(user_t *user, void *stream, int runs) {
    const pto_device_bench_t *bench = user->device->bench;
    const int row = user->row;
    if (user->graph) {
        MUST(user, user->device->finish(stream, &err));
        MUST(user, bench->graph_destroy(user->graph, &err));
    }
    memset(user->graph_runs, 0, sizeof user->graph_runs);
    user->row = 0;
    user->graph_in = user->in, user->graph_out = user->out;
    MUST(user, bench->graph_begin(stream, &err));
    for (int i = 0; i < runs; i++) {
        user->graph_runs[user->row]++;
        enqueue_run(user, stream);
    }
    MUST(user, bench->graph_end(stream, &user->graph, &err));
    user->row = row;
}

static void replay(user_t *user, void *stream, int times) {
    for (int i = 0; i < times; i++)
        MUST(user, user->device->bench->graph_launch(user->graph, stream, &err));
    for (int row = 0; row < ROWS; row++)
        if (user->graph_runs[row] > 0)
            note_runs(user, row, (uint32_t)(user->graph_runs[row] * times));
}

/* In the executor's own stream, between what the user's holds. */
static void run_waited(user_t *user, void *stream, int queued) {
    before_run(user, stream);
    note_runs(user, user->row, 1);
    MUST(user, pto_exec_follow(user->exec, stream, &err));
    if (queued > 0 && !user->in_place && pto_exec_queue(user->exec, &err) == PTO_OK) {
        for (int i = 1; i < queued; i++) /* on the same input */
            MUST(user, pto_exec_queue(user->exec, &err));
        MUST(user, pto_exec_wait(user->exec, &err));
    } else {
        MUST(user, pto_exec_run(user->exec, &err));
    }
    after_run(user, stream);
}

/* --- results -------------------------------------------------------------------------------------------- */

/* The elements of each block of the rank's input or output, and where they begin. */
static void table_of(const user_t *user, bool output, int *counts, int *places) {
    for (int i = 0, at = 0; i < size; at += counts[i++]) {
        counts[i] = (int)(user->list[output ? i * size + rank : rank * size + i] / (int64_t)sizeof(uint32_t));
        places[i] = at;
    }
}

static void alltoallv_on_host(const user_t *user, const uint32_t *in, uint32_t *out) {
    int in_counts[PROCESSES_MAX], in_places[PROCESSES_MAX], counts[PROCESSES_MAX], places[PROCESSES_MAX];
    table_of(user, false, in_counts, in_places);
    table_of(user, true, counts, places);
    MPI_Alltoallv(in, in_counts, in_places, MPI_UINT32_T, out, counts, places, MPI_UINT32_T, MPI_COMM_WORLD);
}

static void collective_on_host(const user_t *user, const uint32_t *in, uint32_t *out) {
    const int count = (int)user->block;
    int counts[PROCESSES_MAX], places[PROCESSES_MAX + 1] = {0};
    switch (user->collective) {
    case PTO_COLLECTIVE_ALLREDUCE:
        MPI_Allreduce(in, out, count, MPI_UINT32_T, MPI_SUM, MPI_COMM_WORLD);
        return;
    case PTO_COLLECTIVE_REDUCE_SCATTER:
        MPI_Reduce_scatter_block(in, out, count, MPI_UINT32_T, MPI_SUM, MPI_COMM_WORLD);
        return;
    case PTO_COLLECTIVE_ALLGATHER:
        MPI_Allgather(in, count, MPI_UINT32_T, out, count, MPI_UINT32_T, MPI_COMM_WORLD);
        return;
    case PTO_COLLECTIVE_ALLGATHERV:
        for (int i = 0; i < size; i++)
            counts[i] = (int)(user->list[i] / (int64_t)sizeof *in), places[i + 1] = places[i] + counts[i];
        MPI_Allgatherv(in, (int)user->in_count, MPI_UINT32_T, out, counts, places, MPI_UINT32_T,
                       MPI_COMM_WORLD);
        return;
    case PTO_COLLECTIVE_ALLTOALL:
        MPI_Alltoall(in, count, MPI_UINT32_T, out, count, MPI_UINT32_T, MPI_COMM_WORLD);
        return;
    case PTO_COLLECTIVE_ALLTOALLV:
        alltoallv_on_host(user, in, out);
        return;
    case PTO_COLLECTIVE_GATHER:
        MPI_Gather(in, count, MPI_UINT32_T, out, count, MPI_UINT32_T, 0, MPI_COMM_WORLD);
        return;
    case PTO_COLLECTIVE_SCATTER:
        MPI_Scatter(in, count, MPI_UINT32_T, out, count, MPI_UINT32_T, 0, MPI_COMM_WORLD);
        return;
    case PTO_COLLECTIVE_REDUCE:
        MPI_Reduce(in, out, count, MPI_UINT32_T, MPI_SUM, 0, MPI_COMM_WORLD);
        return;
    case PTO_COLLECTIVE_BROADCAST:
        if (rank == 0)
            memcpy(out, in, user->out_count * sizeof *out);
        MPI_Bcast(out, count, MPI_UINT32_T, 0, MPI_COMM_WORLD);
        return;
    default:
        die(user, "no reference");
    }
}

static void check(const user_t *user, void *stream) {
    const size_t count = ROWS * user->out_count;
    MUST(user, user->device->finish(stream, &err));
    MUST(user, pto_device_copy(user->device, user->sum, user->area[SUM], count * sizeof *user->sum, &err));
    for (size_t row = 0; row < ROWS; row++)
        collective_on_host(user, user->total + row * user->in_count, user->wanted + row * user->out_count);
    for (size_t i = 0; i < count; i++)
        if (user->sum[i] != user->wanted[i])
            die(user, "a wrong result");
}

/* --- executors ------------------------------------------------------------------------------------------ */

typedef struct {
    const char *strategy;
    const char *algorithm;
    pto_collective_t collective;
} kind_t;

/* Of all collectives that these strategies serve. */
static const char *const strategies[] = {"gas_read", "gas_gather",  "gas_allgather",  "gas_split",
                                         "gas_tree", "copy_engine", "device_pipeline"};
enum { KINDS_MAX = 64 };
static kind_t kinds[KINDS_MAX];
static int kind_count;

static void list_kinds(void) {
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        const pto_strategy_t *strategy = NULL;
        MUST(NULL, pto_strategy_find(strategies[i], &strategy, &err));
        for (pto_collective_t collective = 0; collective < PTO_COLLECTIVE_COUNT; collective++)
            if (strategy->collectives >> collective & 1) {
                if (kind_count == KINDS_MAX)
                    die(NULL, "too many kinds");
                kinds[kind_count++] = (kind_t){strategies[i], "direct", collective};
            }
    }
}

static const pto_exec_options_t options = {
    .placement = PTO_PLACEMENT_IDENTITY, .timeout_s = 30, .on_timeout = PTO_TIMEOUT_ABORT};

/* With chunks, of plans that can, copies and messages are in branches. */
static pto_plan_t *plan_in_chunks(const kind_t *kind, int64_t block, const pto_counts_t *counts,
                                  int64_t chunks) {
    pto_request_t request = {.layout = {1, size, 1, 1, 1, false},
                             .collective = kind->collective,
                             .datatype = PTO_DATATYPE_INT32,
                             .counts = counts,
                             .chunks = chunks,
                             .bytes = block * (int64_t)sizeof(uint32_t)};
    pto_plan_t *plan = NULL;
    if (pto_strategy_find(kind->strategy, &request.strategy, &err) != PTO_OK ||
        pto_algorithm_find(kind->algorithm, kind->collective, &request.algorithm, &err) != PTO_OK ||
        pto_plan_create(&request, &plan, &err) != PTO_OK)
        die(NULL, err.message);
    return plan;
}

static pto_plan_t *plan_of(const kind_t *kind, int64_t block, const pto_counts_t *counts) {
    return plan_in_chunks(kind, block, counts, 0);
}

/* An allgatherv in which every third process has nothing, or an alltoallv: in half of them each pair sends in
 * both directions or in none, in the others not. */
static void fill_counts(user_t *user, bool by_pair) {
    const int count = by_pair ? size * size : size, both_ways = draw(2);
    user->counts = (pto_counts_t){
        .kind = by_pair ? PTO_COUNTS_MATRIX : PTO_COUNTS_LIST, .order = size, .matrix = user->list};
    for (int i = 0; i < count; i++) {
        const int from = i / size, to = i % size;
        const bool none = !by_pair ? i % 3 == 1 : both_ways ? (from + to) % 3 == 0 : (2 * from + to) % 4 == 1;
        user->list[i] = none ? 0 : (user->block * (i % 7 + 1) / 7) * (int64_t)sizeof(uint32_t);
    }
}

static void make(user_t *user, const pto_device_t *device, const kind_t *kind, int64_t block, bool in_place) {
    *user = (user_t){.device = device, .collective = kind->collective, .block = block};
    const bool by_pair = kind->collective == PTO_COLLECTIVE_ALLTOALLV;
    const bool differ = by_pair || kind->collective == PTO_COLLECTIVE_ALLGATHERV;
    fill_counts(user, by_pair);
    pto_plan_t *plan = user->plan = plan_of(kind, block, differ ? &user->counts : NULL);
    user->in_count = (size_t)pto_exec_user_bytes(plan, rank, PTO_ROLE_IN) / sizeof(uint32_t);
    user->out_count = (size_t)pto_exec_user_bytes(plan, rank, PTO_ROLE_OUT) / sizeof(uint32_t);
    uint64_t most[] = {user->in_count, user->out_count};
    MPI_Allreduce(MPI_IN_PLACE, most, 2, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    user->in_room = most[0], user->out_room = most[1];
    user->in_place = in_place;
    for (int area = 0; area < AREA_COUNT; area++)
        user->registration[area] = -1;
    make_areas(user);
    pto_exec_options_t chosen = options;
    chosen.slice_bytes = draw(2) ? 0 : 256 << draw(5);
    MUST(user, pto_exec_create(plan, MPI_COMM_WORLD, device, user->in, user->out, PTO_OP_SUM, &chosen,
                               &user->exec, &err));
    if (!pto_exec_is_stream_ordered(user->exec))
        die(user, "a kernel's runs are not stream-ordered");
}

static void unmake(user_t *user) {
    if (user->graph)
        MUST(user, user->device->bench->graph_destroy(user->graph, &err));
    pto_exec_destroy(user->exec);
    for (int area = 0; area < AREA_COUNT; area++)
        MUST(user, user->device->release(user->area[area], &err));
    free(user->table), free(user->step), free(user->total), free(user->sum), free(user->wanted);
    pto_plan_destroy(user->plan);
}

/* --- programs ------------------------------------------------------------------------------------------- */

/* The next work of an executor goes into another stream, behind what it has in this one. */
static void change_stream(user_t *user, void *const *stream, void *event) {
    const int next = (user->stream + 1) % STREAMS;
    MUST(user, user->device->event_record(event, stream[user->stream], &err));
    MUST(user, user->device->event_follow(event, stream[next], &err));
    user->stream = next;
}

static bool is_in(const user_t *user, area_t area, const uint32_t *buffer) {
    return buffer >= user->area[area] && buffer < user->area[area] + area_count(user, area);
}

static bool is_registered(const user_t *user, const uint32_t *buffer) {
    for (int area = IN; area < AREA_COUNT; area++)
        if (is_in(user, (area_t)area, buffer))
            return user->registration[area] >= 0;
    return false;
}

static bool any_process(bool mine) {
    int any = mine;
    MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
    return any;
}

/* A graph whose runs use memory that is registered no more must not be launched again. */
static void forget_graph_in(user_t *user, area_t area) {
    if (!any_process(user->graph &&
                     (is_in(user, area, user->graph_in) || is_in(user, area, user->graph_out))))
        return;
    MUST(user, user->device->bench->graph_destroy(user->graph, &err));
    user->graph = NULL;
}

/* Registered allocations are registered no more, the others are. The buffers must not be in those. */
static void change_registration(user_t *user, void *stream) {
    const area_t area = (area_t)(IN + draw(AREA_COUNT - IN));
    const size_t count = area_count(user, area);
    if (user->registration[area] < 0) {
        MUST(user, pto_register(user->exec, user->area[area], count * sizeof(uint32_t),
                                &user->registration[area], &err));
        return;
    }
    const bool is_bound = any_process(is_in(user, area, user->in) || is_in(user, area, user->out));
    MUST(user, user->device->finish(stream, &err));
    if (pto_unregister(user->exec, user->registration[area], &err) != (is_bound ? PTO_ERR_RANGE : PTO_OK))
        die(user, "memory that runs use is unregistered, or other memory is not");
    if (is_bound)
        return;
    user->registration[area] = -1;
    forget_graph_in(user, area);
}

/* Whether this process alone may give its executor this buffer of a role. */
static bool may_change(const user_t *user, pto_role_t role, const uint32_t *was, const uint32_t *is) {
    if (pto_exec_user_is_private(user->exec, role))
        return true;
    return is == was ? user->together[role == PTO_ROLE_OUT] || !is_registered(user, is)
                     : is_registered(user, is);
}

/* All change their buffers, and may choose different places. */
static void change_together(user_t *user, bool apart) {
    bool known = !apart;
    if (!pto_exec_user_is_private(user->exec, PTO_ROLE_IN))
        known = known && is_registered(user, user->in);
    if (!pto_exec_user_is_private(user->exec, PTO_ROLE_OUT))
        known = known && is_registered(user, user->out);
    MUST(user, pto_exec_rebind(user->exec, user->in, user->out, &err));
    user->together[0] = user->together[1] = known;
    user->apart = apart;
}

/* Private and registered buffers by this process alone, or all by all. In a collective with a root, all
 * change together: whether a process without a buffer of its own may change alone depends on who accesses the
 * root's. So do they where no process has an element: such buffers are at the same place wherever they are.
 */
static void change_buffers(user_t *user) {
    const uint32_t *old_in = user->in, *old_out = user->out;
    const int in_place = draw(PLACES), out_place = draw(PLACES);
    const bool rooted =
        pto_collective_is_from_root(user->collective) || pto_collective_is_to_root(user->collective);
    const bool empty = user->in_room == 0 || user->out_room == 0;
    const bool alone = draw(2) == 0 && !user->apart && !rooted && !empty, apart = draw(2) == 0 && !alone;
    choose_places(user, apart ? (in_place + rank) % PLACES : in_place,
                  apart ? (out_place + rank / 2) % PLACES : out_place);
    const bool can =
        may_change(user, PTO_ROLE_IN, old_in, user->in) && may_change(user, PTO_ROLE_OUT, old_out, user->out);
    if (alone &&
        pto_exec_rebind_private(user->exec, user->in, user->out, &err) != (can ? PTO_OK : PTO_ERR_RANGE))
        die(user, "private and registered buffers are not what they should be");
    if (!alone || !can)
        change_together(user, apart);
    user->together[0] |= user->in != old_in && !apart && alone && can;
    user->together[1] |= user->out != old_out && !apart && alone && can;
}

static void do_something(user_t *user, void *const *stream, void *event) {
    void *own = stream[user->stream];
    switch (draw(11)) {
    case 0:
        capture(user, own, 1 + draw(RUNS_MAX));
        break;
    case 1:
    case 2:
        if (user->graph)
            replay(user, own, 1 + draw(REPLAYS_MAX));
        break;
    case 3:
        change_stream(user, stream, event);
        break;
    case 4:
        run_waited(user, own, draw(4));
        break;
    case 5:
        check(user, own);
        break;
    case 6:
    case 7:
        change_buffers(user);
        break;
    case 8:
        change_registration(user, own);
        break;
    default:
        enqueue_runs(user, own, 1 + draw(RUNS_MAX));
    }
}

static void run_program(const pto_device_t *device) {
    user_t user[EXECUTORS_MAX];
    void *stream[STREAMS], *event[EXECUTORS_MAX];
    const int count = 1 + draw(EXECUTORS_MAX), ops = 1 + draw(OPS_MAX);
    for (int i = 0; i < STREAMS; i++)
        MUST(NULL, device->stream_create(&stream[i], &err));
    for (int i = 0; i < count; i++) {
        const kind_t *kind = &kinds[draw(kind_count)];
        const int most = size > ON_ONE_GPU_MAX ? ELEMENTS_MAX / 4 : ELEMENTS_MAX;
        const int64_t block =
            1 + draw(draw(2) ? most : 100) / (pto_collective_is_vector(kind->collective) ? 1 : size);
        make(&user[i], device, kind, block, draw(3) == 0);
        MUST(&user[i], device->event_create(&event[i], &err));
        user[i].stream = draw(STREAMS);
    }
    for (int i = 0; i < ops * count; i++) {
        const int at = draw(count);
        do_something(&user[at], stream, event[at]);
    }
    for (int i = 0; i < count; i++)
        check(&user[i], stream[user[i].stream]);
    for (int i = 0; i < STREAMS; i++) /* the graphs of one executor may be in both */
        MUST(NULL, device->finish(stream[i], &err));
    for (int i = 0; i < count; i++) {
        MUST(&user[i], device->event_destroy(event[i], &err));
        unmake(&user[i]);
    }
    for (int i = 0; i < STREAMS; i++)
        MUST(NULL, device->stream_destroy(stream[i], &err));
}

static void run_replays_of(const pto_device_t *device, const kind_t *kind, int64_t runs, void *stream) {
    static const int64_t blocks[] = {1, 300, 5000};
    for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++) {
        user_t user;
        make(&user, device, kind, blocks[b], false);
        enqueue_runs(&user, stream, 1); /* NCCL connects its members */
        capture(&user, stream, GRAPH_RUNS);
        for (int64_t left = runs / GRAPH_RUNS + 1; left > 0; left -= 50) {
            replay(&user, stream, (int)(left < 50 ? left : 50));
            check(&user, stream);
        }
        unmake(&user);
    }
    if (rank == 0)
        printf("test_streams: %s by %s: %lld runs in graphs\n", pto_collective_name(kind->collective),
               kind->strategy, (long long)runs);
    fflush(stdout);
}

static void run_replays(const pto_device_t *device, int64_t runs) {
    static const kind_t by_nccl = {"nccl", "nccl", PTO_COLLECTIVE_ALLREDUCE};
    void *stream;
    MUST(NULL, device->stream_create(&stream, &err));
    for (int k = 0; k < kind_count; k++)
        run_replays_of(device, &kinds[k], runs, stream);
    /* MPI, which emulates NCCL on the host, cannot be captured; NCCL takes one process a GPU. */
    int gpus = 0;
    if (device->nccl && !device->nccl->waits && device->nccl->available(&err) == PTO_OK) {
        MUST(NULL, device->bench->count(&gpus, &err));
        if (gpus >= size)
            run_replays_of(device, &by_nccl, runs, stream);
    }
    MUST(NULL, device->stream_destroy(stream, &err));
}

/* One process alone copies and reduces on its device. */
static void check_refusal(const pto_device_t *device, const kind_t *kind, int64_t chunks,
                          const char *reason) {
    pto_plan_t *plan = plan_in_chunks(kind, 100, NULL, chunks);
    pto_exec_t *exec = NULL;
    void *data = NULL, *stream = NULL;
    MUST(NULL, device->stream_create(&stream, &err));
    MUST(NULL, device->allocate((size_t)pto_exec_user_bytes(plan, rank, PTO_ROLE_IN), &data, &err));
    MUST(NULL, pto_exec_create(plan, MPI_COMM_WORLD, device, data, data, PTO_OP_SUM, &options, &exec, &err));
    if (pto_exec_is_stream_ordered(exec) != (size == 1))
        die(NULL, "what the CPU takes part in is not stream-ordered");
    const pto_status_t status = pto_exec_enqueue(exec, stream, &err);
    if (size == 1)
        MUST(NULL, status);
    else if (status != PTO_ERR_NOT_APPLICABLE || !strstr(err.message, reason))
        die(NULL, status == PTO_OK ? "it was enqueued in a stream" : err.message);
    MUST(NULL, device->finish(stream, &err));
    MUST(NULL, pto_exec_run(exec, &err));
    pto_exec_destroy(exec);
    pto_plan_destroy(plan);
    MUST(NULL, device->release(data, &err));
    MUST(NULL, device->stream_destroy(stream, &err));
}

/* Another stream's copy, which a graph takes in by events. The graph ends with an error where the stream that
 * began it does not follow that copy. */
static void check_forks(const pto_device_t *device) {
    static const uint32_t ones = 0x11111111u, twos = 0x22222222u;
    void *stream[2], *event[2], *memory = NULL, *graph = NULL;
    uint32_t *data, found[3];
    for (int i = 0; i < 2; i++) {
        MUST(NULL, device->stream_create(&stream[i], &err));
        MUST(NULL, device->event_create(&event[i], &err));
    }
    MUST(NULL, device->allocate(sizeof found, &memory, &err));
    data = memory;
    for (int joins = 1; joins >= 0; joins--) {
        MUST(NULL, device->bench->graph_begin(stream[0], &err));
        MUST(NULL, device->event_record(event[0], stream[0], &err));
        MUST(NULL, device->event_follow(event[0], stream[1], &err));
        const pto_move_t first = {data + 1, data, sizeof *data, 1, sizeof *data, sizeof *data},
                         second = {data + 2, data + 1, sizeof *data, 1, sizeof *data, sizeof *data};
        MUST(NULL, device->copy(&first, stream[1], &err));
        MUST(NULL, device->event_record(event[1], stream[1], &err));
        if (joins)
            MUST(NULL, device->event_follow(event[1], stream[0], &err));
        MUST(NULL, device->copy(&second, stream[0], &err));
        if ((device->bench->graph_end(stream[0], &graph, &err) == PTO_OK) != joins)
            die(NULL, joins ? err.message : "a graph leaves out a stream that it took in");
        for (int i = 0; joins && i < 2; i++) {
            MUST(NULL, pto_device_copy(device, data, i ? &twos : &ones, sizeof ones, &err));
            MUST(NULL, device->bench->graph_launch(graph, stream[0], &err));
            MUST(NULL, device->finish(stream[0], &err));
            MUST(NULL, pto_device_copy(device, found, data, sizeof found, &err));
            if (found[1] != (i ? twos : ones) || found[2] != found[1])
                die(NULL, "a graph with two streams copies something else");
        }
        if (joins)
            MUST(NULL, device->bench->graph_destroy(graph, &err));
    }
    for (int i = 0; i < 2; i++) {
        MUST(NULL, device->event_destroy(event[i], &err));
        MUST(NULL, device->stream_destroy(stream[i], &err));
    }
    MUST(NULL, device->release(memory, &err));
}

/* --- what the host device refuses, too ------------------------------------------------------------------ */

static const pto_device_t *healthy;
static int copies_left = -1; /* negative: none fails */

static pto_status_t copy_or_fail(const pto_move_t *move, void *stream, pto_error_t *why) {
    if (copies_left-- == 0)
        return pto_error_set(why, PTO_ERR_IO, "a copy failed");
    return healthy->copy(move, stream, why);
}

/* After `copies` copies of a run in a graph one fails, of the branch or before that joined. The error says
 * where. The executor cannot be used, nor a graph that lacks a branch. */
static void check_failed_copy(const pto_device_t *device, void *stream, int copies, bool in_branch,
                              const char *where) {
    static const kind_t kind = {"copy_engine", "direct", PTO_COLLECTIVE_ALLTOALL};
    pto_plan_t *plan = plan_of(&kind, 100, NULL);
    pto_exec_t *exec = NULL;
    void *in = NULL, *out = NULL, *graph = NULL;
    const size_t bytes = (size_t)pto_exec_user_bytes(plan, rank, PTO_ROLE_IN);
    MUST(NULL, device->allocate(bytes, &in, &err));
    MUST(NULL, device->allocate(bytes, &out, &err));
    MUST(NULL, pto_exec_create(plan, MPI_COMM_WORLD, device, in, out, PTO_OP_SUM, &options, &exec, &err));
    MUST(NULL, device->bench->graph_begin(stream, &err));
    copies_left = copies;
    if (pto_exec_enqueue(exec, stream, &err) != PTO_ERR_IO || !strstr(err.message, where))
        die(NULL, "an enqueued run does not say which copy failed");
    if (pto_exec_enqueue(exec, stream, &err) != PTO_ERR_RANGE)
        die(NULL, "a run was enqueued after one that failed");
    copies_left = -1;
    pto_exec_destroy(exec); /* with the branch's stream, which is captured */
    if ((device->bench->graph_end(stream, &graph, &err) == PTO_OK) == in_branch)
        die(NULL, "half a branch became part of a graph");
    if (!in_branch)
        MUST(NULL, device->bench->graph_destroy(graph, &err));
    MUST(NULL, pto_device_copy(device, out, in, bytes, &err));
    MUST(NULL, device->finish(stream, &err));
    pto_plan_destroy(plan);
    MUST(NULL, device->release(in, &err));
    MUST(NULL, device->release(out, &err));
}

/* As on CUDA, where that ends the capture. */
static void check_outside_event(const pto_device_t *device, void *stream) {
    void *outside = NULL, *event = NULL, *graph = NULL;
    MUST(NULL, device->stream_create(&outside, &err));
    MUST(NULL, device->event_create(&event, &err));
    MUST(NULL, device->event_record(event, outside, &err));
    MUST(NULL, device->bench->graph_begin(stream, &err));
    if (device->event_follow(event, stream, &err) == PTO_OK)
        die(NULL, "a graph follows an event from outside");
    if (device->bench->graph_end(stream, &graph, &err) == PTO_OK)
        die(NULL, "such a capture ends well");
    MUST(NULL, device->event_destroy(event, &err));
    MUST(NULL, device->stream_destroy(outside, &err));
}

static void check_failed_copies(const pto_device_t *device) {
    if (size == 1 || strcmp(device->name, "host") != 0)
        return;
    pto_device_t broken = *device;
    void *stream = NULL;
    healthy = device;
    broken.copy = copy_or_fail;
    MUST(NULL, device->stream_create(&stream, &err));
    check_outside_event(device, stream);
    check_failed_copy(&broken, stream, 0, false, "in stage 'copy to others', lane 0");
    check_failed_copy(&broken, stream, size - 1, true, "in stage 'copy own', lane 1");
    MUST(NULL, device->stream_destroy(stream, &err));
}

static void check_refusals(const pto_device_t *device) {
    check_forks(device);
    check_failed_copies(device);
    static const kind_t staged = {"three_step", "ring", PTO_COLLECTIVE_ALLREDUCE};
    static const kind_t in_lanes = {"three_step", "linear", PTO_COLLECTIVE_ALLTOALL};
    static const kind_t shared = {"gsb", "direct", PTO_COLLECTIVE_ALLREDUCE};
    check_refusal(device, &staged, 0, "three_step needs MPI for messages (stage '");
    if (size > 1)
        check_refusal(device, &in_lanes, 2, "three_step needs MPI for messages (stage '");
    if (size > 1) /* which it needs */
        check_refusal(device, &shared, 0, "gsb needs the CPU for flags in host memory (stage 'co");
}

enum { LONELY_ELEMENTS = 300 };
static const double LONELY_S = 0.4; /* until process 0 gives up */

typedef struct {
    pto_exec_t *exec;
    void *stream;
    uint32_t *out;
    size_t out_count;
} lonely_t;

/* Every process's input holds its number, plus one. */
static void fill(const pto_device_t *device, void *buffer, size_t count, uint32_t value) {
    uint32_t *values = malloc((count + 1) * sizeof *values);
    if (!values)
        die(NULL, "out of memory");
    for (size_t i = 0; i < count; i++)
        values[i] = value;
    MUST(NULL, pto_device_copy(device, buffer, values, count * sizeof *values, &err));
    free(values);
}

static lonely_t make_impatient(const pto_device_t *device, const kind_t *kind, double timeout_s) {
    const pto_exec_options_t impatient = {.placement = PTO_PLACEMENT_IDENTITY, .timeout_s = timeout_s};
    pto_plan_t *plan = plan_of(kind, LONELY_ELEMENTS, NULL);
    lonely_t made = {0};
    void *in = NULL, *out = NULL;
    const size_t in_bytes = (size_t)pto_exec_user_bytes(plan, rank, PTO_ROLE_IN),
                 out_bytes = (size_t)pto_exec_user_bytes(plan, rank, PTO_ROLE_OUT);
    MUST(NULL, device->stream_create(&made.stream, &err));
    MUST(NULL, device->allocate(in_bytes, &in, &err));
    MUST(NULL, device->allocate(out_bytes, &out, &err));
    made.out = out;
    made.out_count = out_bytes / sizeof *made.out;
    fill(device, in, in_bytes / sizeof *made.out, (uint32_t)rank + 1);
    MUST(NULL,
         pto_exec_create(plan, MPI_COMM_WORLD, device, in, out, PTO_OP_SUM, &impatient, &made.exec, &err));
    return made;
}

static void must_time_out(const lonely_t *user, const kind_t *kind) {
    if (pto_exec_wait(user->exec, &err) == PTO_ERR_TIMEOUT)
        return;
    fprintf(stderr, "test_streams: rank %d, %s: ", rank, kind->strategy);
    die(NULL, "an enqueued run that waited for others in vain did not end with a time-out");
}

/* Process 0 enqueues, and then waits for a run of its own too or only for the stream. */
static void enqueue_alone(const pto_device_t *device, const lonely_t *user, const kind_t *kind, bool runs) {
    const double began_s = MPI_Wtime();
    for (int run = 0; run < 100; run++)
        MUST(NULL, pto_exec_enqueue(user->exec, user->stream, &err));
    if (runs) {
        MUST(NULL, pto_exec_follow(user->exec, user->stream, &err));
        if (pto_exec_run(user->exec, &err) != PTO_ERR_TIMEOUT)
            die(NULL, "a run behind one that gave up did not end with a time-out");
        MUST(NULL, device->finish(user->stream, &err));
    } else {
        MUST(NULL, device->finish(user->stream, &err));
        must_time_out(user, kind);
    }
    const double took_s = MPI_Wtime() - began_s;
    if (took_s < 0.9 * LONELY_S || took_s > 15) /* less than the default, and than a wait of each run */
        die(NULL, "an enqueued run whose peers never came did not end in time");
    if (pto_exec_enqueue(user->exec, user->stream, &err) != PTO_ERR_RANGE)
        die(NULL, "a run was enqueued after one that failed");
}

static void must_be_right(const pto_device_t *device, const lonely_t *user, const kind_t *kind) {
    uint32_t *found = malloc((user->out_count + 1) * sizeof *found);
    if (!found)
        die(NULL, "out of memory");
    MUST(NULL, pto_device_copy(device, found, user->out, user->out_count * sizeof *found, &err));
    for (size_t i = 0; i < user->out_count; i++)
        if (found[i] != (kind->collective == PTO_COLLECTIVE_ALLREDUCE
                             ? (uint32_t)(size * (size + 1) / 2)
                             : (uint32_t)(i / LONELY_ELEMENTS) + 1)) {
            fprintf(stderr, "test_streams: rank %d, %s of %s: ", rank, pto_collective_name(kind->collective),
                    kind->strategy);
            die(NULL, "a run with a process that had given up has wrong results and no error");
        }
    free(found);
}

/* What is in the output by now is from before the run. */
static void come_late(const pto_device_t *device, const lonely_t *user, const kind_t *kind) {
    fill(device, user->out, user->out_count, UINT32_MAX);
    MUST(NULL, pto_exec_enqueue(user->exec, user->stream, &err));
    MUST(NULL, device->finish(user->stream, &err));
    if (pto_exec_wait(user->exec, &err) == PTO_ERR_TIMEOUT)
        return;
    must_be_right(device, user, kind);
    MUST(NULL, pto_exec_enqueue(user->exec, user->stream, &err));
    MUST(NULL, device->finish(user->stream, &err));
    must_time_out(user, kind);
}

/* By flags and by lines. The others come after process 0 has given up, so they wait in vain as well: in the
 * first run, or where that needs nothing that process 0 had to wait for, in the second. Nothing is freed: the
 * executors have failed. */
static void check_absence(const pto_device_t *device) {
    static const kind_t alone[] = {{"gas_read", "direct", PTO_COLLECTIVE_ALLREDUCE},
                                   {"gas_allgather", "direct", PTO_COLLECTIVE_ALLREDUCE},
                                   {"gas_split", "direct", PTO_COLLECTIVE_ALLREDUCE},
                                   {"gas_tree", "direct", PTO_COLLECTIVE_ALLREDUCE},
                                   {"gas_split", "direct", PTO_COLLECTIVE_ALLTOALL},
                                   {"copy_engine", "direct", PTO_COLLECTIVE_ALLREDUCE},
                                   {"copy_engine", "direct", PTO_COLLECTIVE_ALLTOALL}};
    for (size_t i = 0; i < 2 * sizeof alone / sizeof *alone; i++) {
        const kind_t *kind = &alone[i / 2];
        const lonely_t user = make_impatient(device, kind, LONELY_S);
        if (rank == 0)
            enqueue_alone(device, &user, kind, i % 2 == 1);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank > 0)
            come_late(device, &user, kind);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* Less than a millisecond is a limit, too. */
static void check_short_patience(const pto_device_t *device) {
    static const kind_t kind = {"gas_read", "direct", PTO_COLLECTIVE_ALLREDUCE};
    const lonely_t user = make_impatient(device, &kind, 1e-4);
    if (rank == 0) {
        MUST(NULL, pto_exec_enqueue(user.exec, user.stream, &err));
        MUST(NULL, device->finish(user.stream, &err));
        must_time_out(&user, &kind);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    const pto_device_t *device = NULL;
    int given;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *what = argc > 1 ? argv[1] : "random";
    const int64_t count = argc > 2 ? atoll(argv[2]) : 20;
    chance_state = argc > 3 ? (uint64_t)atoll(argv[3]) : 1; /* all processes draw alike */
    strategies_register();
    list_kinds();
    MUST(NULL, pto_device_find(argc > 4 ? argv[4] : "host", &device, &err));
    MUST(NULL, device->select(rank, &err));
    if (strcmp(what, "random") == 0)
        for (int64_t i = 0; i < count; i++)
            run_program(device);
    else if (strcmp(what, "replays") == 0)
        run_replays(device, count);
    else if (strcmp(what, "absent") == 0)
        check_absence(device), check_short_patience(device);
    else if (strcmp(what, "refusals") == 0)
        check_refusals(device);
    else
        return 2;
    if (rank == 0)
        printf("test_streams: %s %lld: right\n", what, (long long)count);
    MPI_Finalize();
    return 0;
}

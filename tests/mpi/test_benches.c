/* What portolan-calibrate's benchmarks time, by a device whose every call takes a known time on a clock of
 * the test's own: a trial of n iterations takes n times the calls of one, nothing else, within the memory
 * that it has allocated.
 *
 *   test_benches               those of one process
 *   mpirun -n 2 test_benches   those of two, with a GPU each */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../calibrate/benchmark.h"

/* Seconds of each call. */
enum {
    COPY = 3, /* and one a row */
    FINISH = 500,
    REDUCE = 13,
    REDUCE_MANY = 17, /* and one an input */
    COPY_BY = 19,
    LAUNCH = 23,
    GRAPH = 37,
    RECORD = 41,
    POLL = 67,
    OPEN = 71,
    ALLOCATE = 73,
    EXPORT = 79,
    STAGE = 83,
    COPY_HERE = 89, /* by the CPU */
    MESSAGE = 97,   /* to or from another node */
    MOVE = 29
};

/* --- the clock ----------------------------------------------------------------------------------------- */

static double clock_s;

/* Asking for the time takes a little, so that loops that wait for it end. The linker puts it in the place of
 * now_s. */
double __wrap_now_s(void) { /* NOLINT(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
    return clock_s += 1e-6;
}

/* The address sanitizer has a memcpy of its own, which is not wrapped. */
#ifndef __has_feature
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
static const double copy_here_s = 0;
#else
static const double copy_here_s = COPY_HERE;
#endif

static size_t here_bytes; /* copies of so many by the CPU take time; 0: none does */

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): names of the linker's --wrap */
void *__real_memcpy(void *target, const void *source, size_t bytes);
void *__wrap_memcpy(void *target, const void *source, size_t bytes) {
    clock_s += bytes > 0 && bytes == here_bytes ? copy_here_s : 0;
    return __real_memcpy(target, source, bytes);
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

/* --- the device ---------------------------------------------------------------------------------------- */

enum { PIECES_MAX = 64 };

/* Device and staging memory. */
static struct {
    char *at;
    size_t bytes;
    bool on_device;
} pieces[PIECES_MAX];
static int piece_count;
static const pto_device_t *host;
static int polls; /* since an event was recorded */

static pto_status_t take(size_t bytes, bool on_device, void **memory, pto_error_t *err) {
    assert_true(piece_count < PIECES_MAX);
    clock_s += on_device ? ALLOCATE : STAGE;
    pto_status_t status = (on_device ? host->allocate : host->allocate_staging)(bytes, memory, err);
    pieces[piece_count].at = *memory;
    pieces[piece_count].on_device = on_device;
    pieces[piece_count++].bytes = bytes;
    return status;
}

static pto_status_t allocate(size_t bytes, void **memory, pto_error_t *err) {
    return take(bytes, true, memory, err);
}

static pto_status_t allocate_staging(size_t bytes, void **memory, pto_error_t *err) {
    return take(bytes, false, memory, err);
}

static pto_status_t give_back(void *memory, bool on_device, pto_error_t *err) {
    for (int i = 0; i < piece_count && memory; i++)
        if (pieces[i].at == memory) {
            assert_int_equal(pieces[i].on_device, on_device);
            pieces[i] = pieces[--piece_count];
            return (on_device ? host->release : host->release_staging)(memory, err);
        }
    assert_null(memory); /* nothing else is released */
    return PTO_OK;
}

static pto_status_t release(void *memory, pto_error_t *err) { return give_back(memory, true, err); }

static pto_status_t release_staging(void *memory, pto_error_t *err) { return give_back(memory, false, err); }

static pto_status_t export_memory(const void *memory, pto_memory_handle_t *handle, pto_error_t *err) {
    clock_s += EXPORT;
    return host->export_memory(memory, handle, err);
}

static pto_status_t open_memory(const pto_memory_handle_t *handle, void **memory, pto_error_t *err) {
    clock_s += OPEN;
    return host->open_memory(handle, memory, err);
}

/* Rows must be within memory of the device's; pageable memory, and others', are not known here. Returns
 * whether it is the GPU's. */
static bool must_hold(const char *at, size_t bytes, size_t rows, size_t pitch, bool must) {
    size_t all = (rows - 1) * pitch + bytes;
    for (int i = 0; i < piece_count; i++)
        if (at >= pieces[i].at && at < pieces[i].at + pieces[i].bytes) {
            assert_true(at + all <= pieces[i].at + pieces[i].bytes);
            return pieces[i].on_device;
        }
    assert_false(must);
    return false;
}

static bool is_known(const char *at) {
    for (int i = 0; i < piece_count; i++)
        if (at >= pieces[i].at && at < pieces[i].at + pieces[i].bytes)
            return true;
    return false;
}

static pto_status_t fill(void *memory, int byte, size_t bytes, pto_error_t *err) {
    memset(memory, byte, bytes);
    return PTO_OK;
}

static size_t moved_bytes;
static int copies_in;       /* from elsewhere to the GPU's memory */
static int pageable_copies; /* from or to memory that the device did not allocate */

enum { NOTED_MAX = 32 };

/* Addresses in host memory, in the order in which they were used. */
typedef struct {
    const void *at[NOTED_MAX];
    int count;
} noted_t;

static noted_t copied, passed; /* by copies; in messages */
static int rank, size;
static bool two_nodes; /* each process is a node of its own */

static void note(noted_t *noted, const void *at) {
    if (noted->count < NOTED_MAX)
        noted->at[noted->count] = at;
    noted->count++;
}

int MPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    must_hold(data, (size_t)count, 1, 0, !two_nodes);
    note(&passed, data);
    clock_s += two_nodes ? MESSAGE : 0;
    return PMPI_Send(data, count, type, to, tag, comm);
}

int MPI_Recv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status) {
    must_hold(data, (size_t)count, 1, 0, !two_nodes);
    note(&passed, data);
    clock_s += two_nodes ? MESSAGE : 0;
    return PMPI_Recv(data, count, type, from, tag, comm, status);
}

static pto_status_t copy(const pto_move_t *move, void *stream, pto_error_t *err) {
    bool to = must_hold(move->target, move->bytes, move->rows, move->target_pitch_bytes, false);
    bool from = must_hold(move->source, move->bytes, move->rows, move->source_pitch_bytes, false);
    copies_in += to && !from;
    pageable_copies += !is_known(move->target) || !is_known(move->source);
    note(&copied, to ? move->source : move->target);
    assert_true(move->rows == 1 ||
                (move->target_pitch_bytes >= move->bytes && move->source_pitch_bytes >= move->bytes));
    assert_ptr_not_equal(move->target, move->source);
    moved_bytes += move->bytes * move->rows;
    clock_s += COPY + (double)move->rows;
    return PTO_OK;
}

static pto_status_t finish(void *stream, pto_error_t *err) {
    polls = 2;
    clock_s += FINISH;
    return PTO_OK;
}

static pto_status_t reduce(void *target, const void *source, size_t count, pto_datatype_t datatype,
                           pto_op_t op, void *stream, pto_error_t *err) {
    size_t bytes = count * (size_t)pto_datatype_bytes(datatype);
    must_hold(target, bytes, 1, 0, true);
    must_hold(source, bytes, 1, 0, true);
    moved_bytes += bytes;
    clock_s += REDUCE;
    return PTO_OK;
}

static pto_status_t reduce_many(void *target, bool fresh, const void *const *source, int source_count,
                                size_t count, pto_datatype_t datatype, pto_op_t op, void *stream,
                                pto_error_t *err) {
    assert_true(fresh);
    for (int i = 0; i < source_count; i++) {
        must_hold(source[i], count * sizeof(float), 1, 0, true);
        assert_ptr_not_equal(source[i], target);
        assert_true(i == 0 || source[i] != source[i - 1]);
    }
    clock_s += REDUCE_MANY + source_count - REDUCE;
    return reduce(target, source[0], count, datatype, op, stream, err);
}

static pto_status_t copy_by(pto_bench_copy_t how, pto_copy_kind_t kind, void *target, const void *source,
                            size_t bytes, pto_error_t *err) {
    must_hold(target, bytes, 1, 0, true);
    must_hold(source, bytes, 1, 0, true);
    assert_true(kind <= PTO_COPY_H2H);
    moved_bytes += bytes;
    clock_s += COPY_BY;
    return PTO_OK;
}

static pto_status_t launch_empty(void *stream, pto_error_t *err) {
    clock_s += LAUNCH;
    return PTO_OK;
}

/* One of the two is the other process's. */
static pto_status_t move_by_kernel(void *target, const void *source, size_t count, int width, int stride,
                                   int blocks, void *stream, pto_error_t *err) {
    bool to = must_hold(target, count * (size_t)(width * stride), 1, 0, false);
    bool from = must_hold(source, count * (size_t)width, 1, 0, false);
    assert_true(to != from && blocks > 0);
    moved_bytes += count * (size_t)width;
    clock_s += MOVE;
    return PTO_OK;
}

static pto_status_t graph_launch(void *graph, void *stream, pto_error_t *err) {
    assert_non_null(graph);
    clock_s += GRAPH;
    return PTO_OK;
}

static pto_status_t event_record(void *event, void *stream, pto_error_t *err) {
    polls = 0;
    clock_s += RECORD;
    return PTO_OK;
}

/* The second question is answered by yes. */
static pto_status_t event_poll(void *event, bool *finished, pto_error_t *err) {
    clock_s += POLL;
    *finished = ++polls >= 2;
    return PTO_OK;
}

static pto_device_t timed;
static pto_device_bench_t timed_bench;

/* Each process has a GPU; one process has all. */
static void make_job(int devices, job_t *job) {
    static process_t process[2];
    *job = (job_t){.world = MPI_COMM_WORLD,
                   .rank = rank,
                   .size = size,
                   .process = process,
                   .node_count = two_nodes ? size : 1};
    for (int i = 0; i < size; i++) {
        process[i] = (process_t){.node = two_nodes ? i : 0, .node_rank = two_nodes ? 0 : i, .device = i};
        snprintf(process[i].bus, sizeof process[i].bus, "%d", i);
    }
    job->sockets = 1;
    job->cores = 1;
    job->device_count = devices;
    job->gpu_blocks = 4;
    job->reach[0][0] = job->reach[1][1] = job->reach[0][1] = job->reach[1][0] = true;
    assert_int_equal(pto_device_find("host", &host, NULL), PTO_OK);
    timed = *host;
    timed_bench = *host->bench;
    timed.allocate = allocate;
    timed.allocate_staging = allocate_staging;
    timed.release = release;
    timed.release_staging = release_staging;
    timed.export_memory = export_memory;
    timed.open_memory = open_memory;
    timed.copy = copy;
    timed.finish = finish;
    timed.reduce = reduce;
    timed.reduce_many = reduce_many;
    timed.event_record = event_record;
    timed.event_poll = event_poll;
    timed_bench.fill = fill;
    timed_bench.copy_by = copy_by;
    timed_bench.move = move_by_kernel;
    timed_bench.launch_empty = launch_empty;
    timed_bench.graph_launch = graph_launch;
    timed.bench = &timed_bench;
    gpu.device = &timed;
    gpu.bench = &timed_bench;
    gpu_select(rank);
}

/* --- what a trial takes -------------------------------------------------------------------------------- */

static bool begins(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

/* The calls of one iteration; below 0: it is not known here. */
static double iteration_s(const case_t *what, int64_t bytes) {
    const char *name = what->benchmark;
    bool on_gpu = what->buffers == PTO_SPACE_GPU;
    int64_t rows = bytes / what->messages; /* of messages bytes */
    if (begins(name, "remote_load") || (begins(name, "remote_store") && !begins(name, "remote_store_all")))
        return rank == 0 ? MOVE + FINISH : 0;
    if (begins(name, "memcpy_peer"))
        return rank == 0 ? COPY + 1 + FINISH : 0;
    if (strcmp(name, "injection") == 0 || strcmp(name, "ping_pong") == 0)
        return rank == 0 ? MESSAGE : 0; /* half of there and back */
    if (strcmp(name, "staged") == 0)
        return COPY + 1 + FINISH; /* and a wait at the end */
    if (strcmp(name, "setup_open") == 0)
        return rank == 0 ? 0 : OPEN;
    if (strcmp(name, "setup_allocate") == 0)
        return on_gpu ? ALLOCATE + EXPORT : STAGE;
    if (begins(name, "memcpy_method_default") || begins(name, "memcpy_method_explicit") ||
        begins(name, "memcpy_method_query"))
        return COPY_BY;
    if (begins(name, "memcpy_h2h"))
        return copy_here_s;
    if (begins(name, "memcpy_method") || (begins(name, "reduce") && !on_gpu))
        return 0; /* the CPU's */
    if (begins(name, "memcpy_strided"))
        return COPY + (double)rows + FINISH;
    if (begins(name, "memcpy_shared_strided"))
        return COPY + 8 + FINISH;
    if (begins(name, "memcpy_queued"))
        return what->messages * (COPY + 1) + FINISH;
    if (begins(name, "memcpy"))
        return COPY + 1 + FINISH;
    if (strcmp(name, "reduce") == 0)
        return REDUCE + FINISH;
    if (strcmp(name, "reduce_many") == 0)
        return REDUCE_MANY + what->messages + FINISH;
    if (strcmp(name, "kernel_launch") == 0)
        return LAUNCH + FINISH;
    if (strcmp(name, "kernel_enqueue") == 0)
        return LAUNCH;
    if (strcmp(name, "kernel_queued") == 0) /* a thousand, and one wait */
        return LAUNCH + FINISH / 1000.0;
    if (strcmp(name, "graph_launch") == 0)
        return GRAPH + FINISH;
    if (strcmp(name, "event_record") == 0)
        return RECORD;
    if (strcmp(name, "event_query") == 0)
        return POLL;
    return strcmp(name, "signal_event") == 0 ? RECORD + 2 * POLL : -1;
}

/* Below 0: it is not known here. */
static int iteration_messages(const case_t *what) { return begins(what->level, "off_node") ? 2 : -1; }

/* Bytes that an iteration moves; below 0: none, or by the CPU. */
static int64_t iteration_bytes(const case_t *what, int64_t bytes) {
    if (begins(what->benchmark, "memcpy_queued"))
        return bytes * what->messages;
    if (begins(what->benchmark, "memcpy_h2h"))
        return -1;
    bool moves = what->sized && iteration_s(what, bytes) > 0 && !begins(what->benchmark, "setup") &&
                 iteration_messages(what) < 0;
    return moves ? bytes : -1;
}

/* Copies to the GPU in an iteration; below 0: it is not known here. In a duplex, every second process reads.
 */
static int iteration_copies_in(const case_t *what) {
    const char *name = what->benchmark;
    if (!begins(name, "memcpy_shared") && !begins(name, "memcpy_queued"))
        return -1;
    if (begins(name, "memcpy_shared_duplex"))
        return rank == 0;
    return strstr(name, "h2d") ? what->messages : 0;
}

/* Of four chunks in turn one is sent that was copied in the iteration before, while the next is copied; what
 * was received is copied on. */
static void check_staged(const benchmark_t *benchmark, work_t *work, int64_t bytes) {
    enum { CHUNKS = 4, ITERATIONS = 3 * CHUNKS };
    copied.count = passed.count = 0;
    double got = work_trial(work, benchmark, bytes, ITERATIONS);
    assert_true(fabs(got - ITERATIONS * (COPY + 1 + FINISH) - FINISH) < 1e-3);
    assert_int_equal(copied.count, ITERATIONS);
    assert_int_equal(passed.count, ITERATIONS);
    for (int i = 0; i < ITERATIONS; i++) {
        int past = rank == 0 ? i + 1 : i;
        assert_true(past == ITERATIONS || passed.at[past] == copied.at[i]);
        assert_ptr_equal(passed.at[i], passed.at[i % CHUNKS]);
        for (int k = 0; k < i && k < CHUNKS && i < CHUNKS; k++)
            assert_true(labs((const char *)passed.at[i] - (const char *)passed.at[k]) >= bytes);
    }
}

static void check_trials(const benchmark_t *benchmark, work_t *work, int64_t bytes) {
    const case_t *what = work->bench_case;
    for (int iterations = 1; iterations <= 4; iterations++) {
        double expected = iterations * iteration_s(what, bytes);
        moved_bytes = 0;
        copies_in = pageable_copies = 0;
        passed.count = 0;
        here_bytes = begins(what->benchmark, "memcpy_h2h") ? (size_t)bytes : 0;
        double got = work_trial(work, benchmark, bytes, iterations);
        here_bytes = 0;
        if (fabs(got - expected) > 1e-3)
            fail_msg("%s: %d iterations take %.9g, not %.9g", what->benchmark, iterations, got, expected);
        if (iteration_bytes(what, bytes) >= 0)
            assert_int_equal(moved_bytes, iterations * iteration_bytes(what, bytes));
        if (iteration_messages(what) >= 0)
            assert_int_equal(passed.count, iterations * iteration_messages(what));
        if (!begins(what->benchmark, "memcpy_peer"))
            assert_int_equal(pageable_copies, begins(what->benchmark, "memcpy_pageable") ? iterations : 0);
        if (iteration_copies_in(what) >= 0)
            assert_int_equal(copies_in, iterations * iteration_copies_in(what));
    }
}

/* With this process among its members. */
static void check_case(const benchmark_t *benchmark, const job_t *job, const case_t *what, int me) {
    int64_t bytes = what->min_bytes > 64 ? what->min_bytes : 64;
    MPI_Comm comm;
    MPI_Comm_split(what->member_count > 1 ? MPI_COMM_WORLD : MPI_COMM_SELF, 0, me, &comm);
    work_t work = {.job = job, .bench_case = what, .comm = comm, .me = me, .max_bytes = bytes};
    work.together = together_create(two_nodes ? MPI_COMM_SELF : comm);
    work_open(&work, benchmark);
    if (strcmp(what->benchmark, "staged") == 0)
        check_staged(benchmark, &work, bytes);
    else
        check_trials(benchmark, &work, bytes);
    work_close(&work, benchmark);
    together_destroy(work.together);
    MPI_Comm_free(&comm);
    assert_int_equal(piece_count, 0); /* it leaves nothing */
}

/* The cases of all processes; returns how many. */
static int check_benchmark(const char *name, int devices) {
    job_t job;
    case_list_t list = {0};
    const benchmark_t *benchmark = NULL;
    int checked = 0;
    make_job(devices, &job);
    for (int i = 0; i < benchmark_count; i++)
        if (strcmp(benchmark_registry[i]->name, name) == 0)
            benchmark = benchmark_registry[i];
    if (!benchmark) {
        fail_msg("there is no benchmark %s", name);
        return 0;
    }
    case_list_fill(benchmark, &job, &list);
    for (int i = 0; i < list.case_count; i++)
        if (list.cases[i].member_count == size && iteration_s(&list.cases[i], 64) >= 0) {
            assert_int_equal(list.cases[i].member[rank], rank);
            check_case(benchmark, &job, &list.cases[i], rank);
            checked++;
        }
    case_list_fini(&list);
    return checked;
}

static void a_trial_takes_its_iterations_calls(void **state) {
    static const struct {
        const char *name;
        int devices, cases;
    } known[] = {
        {"memcpy", 2, 9}, /* each way, of each GPU, pinned and pageable; and between them */
        {"memcpy_shared", 1, 6},   {"memcpy_queued", 1, 21}, /* 1 to 64 copies */
        {"memcpy_strided", 1, 18},                           /* rows of 4 B to 4 KiB */
        {"memcpy_method", 1, 9},   {"memcpy_h2h", 1, 1},     {"reduce", 1, 34}, {"kernel_launch", 1, 2},
        {"kernel_queued", 1, 1},   {"graph_launch", 1, 1},   {"event", 1, 3},
    };
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        assert_int_equal(check_benchmark(known[k].name, known[k].devices), known[k].cases);
}

static void a_trial_of_two_processes_takes_its_calls(void **state) {
    static const struct {
        const char *name;
        int cases;
    } known[] = {
        {"memcpy_peer", 1},   {"staged", 1},
        {"memcpy_shared", 6}, {"remote", 28}, /* 1 block and 4, of 7 kinds, with and without bytes */
        {"setup", 3},                         /* to open, and to allocate in either memory */
    };
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        assert_int_equal(check_benchmark(known[k].name, 2), known[k].cases);
}

/* Between nodes: the one that sends first has the time of a message, the other one answers. */
static void a_trial_between_nodes_takes_its_messages(void **state) {
    two_nodes = true;
    assert_int_equal(check_benchmark("ping_pong", 2), 1);
    assert_int_equal(check_benchmark("injection", 2), 1);
    two_nodes = false;
}

static void reductions_of_many_inputs_take_one_call(void **state) {
    assert_true(check_benchmark("reduce_many", 1) >= 4);
}

/* The counts that are worth a case: powers of two, these times one and a half, and all. */
static void counts_grow_by_halves_and_thirds(void **state) {
    const int to_24[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 0}, to_7[] = {1, 2, 3, 4, 6, 7, 0};
    for (int i = 0; to_24[i] > 0; i++)
        assert_int_equal(next_count(to_24[i], 24), to_24[i + 1]);
    for (int i = 0; to_7[i] > 0; i++)
        assert_int_equal(next_count(to_7[i], 7), to_7[i + 1]);
    assert_int_equal(next_count(1, 1), 0);
}

static int enqueued;

static void enqueue_run(const work_t *work, int64_t bytes) {
    assert_true(bytes > 0);
    enqueued++;
    clock_s += *(const double *)work->state;
}

/* Whole graphs, or as many runs one by one, are timed with one wait; the first run of a size is not. */
static void runs_are_timed_behind_each_other(void **state) {
    static const struct {
        int64_t bytes;
        int each, iterations, launches;
    } sizes[] = {{64, 100, 1, 1},      {64, 100, 100, 1},  {64, 100, 101, 2},
                 {1 << 20, 64, 65, 2}, {1 << 23, 8, 8, 1}, {INT64_C(1) << 30, 5, 11, 3}};
    double run_s = 7;
    for (pto_runs_t how = PTO_RUNS_ENQUEUED; how <= PTO_RUNS_GRAPH; how++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            int member = 0, each = sizes[i].each, launches = sizes[i].launches;
            job_t job;
            const benchmark_t benchmark = {.once = enqueue_run, .times = TIMES_RUNS};
            make_job(1, &job);
            job.runs = how;
            const case_t what = {.member_count = 1, .member = &member};
            work_t work = {.job = &job, .bench_case = &what, .comm = MPI_COMM_SELF};
            work.together = together_create(MPI_COMM_SELF);
            work_open(&work, &benchmark);
            work.state = &run_s;
            for (int call = 0; call < 2; call++) {
                double launch_s = how == PTO_RUNS_GRAPH ? GRAPH : each * run_s;
                enqueued = 0;
                double got = work_trial(&work, &benchmark, sizes[i].bytes, sizes[i].iterations);
                double all_s = launches * launch_s + FINISH;
                assert_true(fabs(got - all_s / (launches * each) * sizes[i].iterations) < 1e-3);
                int first = call > 0 ? 0 : how == PTO_RUNS_GRAPH ? 1 + each : 1;
                assert_int_equal(enqueued, first + (how == PTO_RUNS_GRAPH ? 0 : launches * each));
            }
            work_close(&work, &benchmark);
            together_destroy(work.together);
        }
}

int main(int argc, char **argv) {
    const struct CMUnitTest one[] = {
        cmocka_unit_test(runs_are_timed_behind_each_other),
        cmocka_unit_test(a_trial_takes_its_iterations_calls),
        cmocka_unit_test(reductions_of_many_inputs_take_one_call),
        cmocka_unit_test(counts_grow_by_halves_and_thirds),
    };
    const struct CMUnitTest two[] = {
        cmocka_unit_test(a_trial_of_two_processes_takes_its_calls),
        cmocka_unit_test(a_trial_between_nodes_takes_its_messages),
    };
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int failed =
        size == 1 ? cmocka_run_group_tests(one, NULL, NULL) : cmocka_run_group_tests(two, NULL, NULL);
    if (failed)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Finalize();
    return failed;
}

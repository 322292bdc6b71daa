/* What portolan-calibrate's benchmarks time, by a device whose every call takes a known time on a clock of
 * the test's own: a trial of n iterations takes n times the calls of one, nothing else, within the memory
 * that it has allocated. Of benchmarks that one process can run. Needs no mpirun. */
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
    POLL = 67
};

/* --- the clock -------------------------------------------------------------------------------------------
 */

static double clock_s;

/* Asking for the time takes a little, so that loops that wait for it end. The linker puts it in the place of
 * now_s. */
double __wrap_now_s(void);  /* NOLINT(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
double __wrap_now_s(void) { /* NOLINT(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
    return clock_s += 1e-6;
}

/* --- the device ------------------------------------------------------------------------------------------
 */

enum { PIECES_MAX = 64 };

/* Device and staging memory. */
static struct {
    char *at;
    size_t bytes;
} pieces[PIECES_MAX];
static int piece_count;
static const pto_device_t *host;
static int polls; /* since an event was recorded */

static pto_status_t take(size_t bytes, void **memory, pto_error_t *err) {
    (void)err;
    assert_true(piece_count < PIECES_MAX);
    *memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096 + 4096);
    assert_non_null(*memory);
    pieces[piece_count].at = *memory;
    pieces[piece_count++].bytes = bytes;
    return PTO_OK;
}

static pto_status_t give_back(void *memory, pto_error_t *err) {
    (void)err;
    for (int i = 0; i < piece_count; i++)
        if (pieces[i].at == memory) {
            free(memory);
            pieces[i] = pieces[--piece_count];
            return PTO_OK;
        }
    fail_msg("memory is released that was not allocated");
    return PTO_ERR_IO;
}

/* Whether rows are in memory of the device's; pageable memory is not known here. */
static void must_hold(const char *at, size_t bytes, size_t rows, size_t pitch, bool must) {
    size_t all = (rows - 1) * pitch + bytes;
    for (int i = 0; i < piece_count; i++)
        if (at >= pieces[i].at && at < pieces[i].at + pieces[i].bytes) {
            assert_true(at + all <= pieces[i].at + pieces[i].bytes);
            return;
        }
    assert_false(must);
}

static pto_status_t fill(void *memory, int byte, size_t bytes, pto_error_t *err) {
    (void)err;
    memset(memory, byte, bytes);
    return PTO_OK;
}

static size_t moved_bytes;

static pto_status_t copy(const pto_move_t *move, void *stream, pto_error_t *err) {
    (void)stream;
    (void)err;
    must_hold(move->target, move->bytes, move->rows, move->target_pitch_bytes, false);
    must_hold(move->source, move->bytes, move->rows, move->source_pitch_bytes, false);
    assert_true(move->rows == 1 ||
                (move->target_pitch_bytes >= move->bytes && move->source_pitch_bytes >= move->bytes));
    assert_ptr_not_equal(move->target, move->source);
    moved_bytes += move->bytes * move->rows;
    clock_s += COPY + (double)move->rows;
    return PTO_OK;
}

static pto_status_t finish(void *stream, pto_error_t *err) {
    (void)stream;
    (void)err;
    polls = 2;
    clock_s += FINISH;
    return PTO_OK;
}

static pto_status_t reduce(void *target, const void *source, size_t count, pto_datatype_t datatype,
                           pto_op_t op, void *stream, pto_error_t *err) {
    (void)op;
    (void)stream;
    (void)err;
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
    (void)how;
    (void)err;
    must_hold(target, bytes, 1, 0, true);
    must_hold(source, bytes, 1, 0, true);
    assert_true(kind <= PTO_COPY_H2H);
    moved_bytes += bytes;
    clock_s += COPY_BY;
    return PTO_OK;
}

static pto_status_t launch_empty(void *stream, pto_error_t *err) {
    (void)stream;
    (void)err;
    clock_s += LAUNCH;
    return PTO_OK;
}

static pto_status_t graph_launch(void *graph, void *stream, pto_error_t *err) {
    (void)stream;
    (void)err;
    assert_non_null(graph);
    clock_s += GRAPH;
    return PTO_OK;
}

static pto_status_t event_record(void *event, void *stream, pto_error_t *err) {
    (void)event;
    (void)stream;
    (void)err;
    polls = 0;
    clock_s += RECORD;
    return PTO_OK;
}

/* The second question is answered by yes. */
static pto_status_t event_poll(void *event, bool *finished, pto_error_t *err) {
    (void)event;
    (void)err;
    clock_s += POLL;
    *finished = ++polls >= 2;
    return PTO_OK;
}

static pto_device_t timed;
static pto_device_bench_t timed_bench;

/* The first of two GPUs of one process. */
static void make_job(int devices, job_t *job) {
    static process_t process;
    process = (process_t){.bus = "0"};
    *job = (job_t){.world = MPI_COMM_SELF, .size = 1, .process = &process, .node_count = 1};
    job->sockets = 1;
    job->cores = 1;
    job->device_count = devices;
    job->gpu_blocks = 4;
    job->reach[0][1] = job->reach[1][0] = true;
    assert_int_equal(pto_device_find("host", &host, NULL), PTO_OK);
    timed = *host;
    timed_bench = *host->bench;
    timed.allocate = timed.allocate_staging = take;
    timed.release = timed.release_staging = give_back;
    timed.copy = copy;
    timed.finish = finish;
    timed.reduce = reduce;
    timed.reduce_many = reduce_many;
    timed.event_record = event_record;
    timed.event_poll = event_poll;
    timed_bench.fill = fill;
    timed_bench.copy_by = copy_by;
    timed_bench.launch_empty = launch_empty;
    timed_bench.graph_launch = graph_launch;
    timed.bench = &timed_bench;
    gpu.device = &timed;
    gpu.bench = &timed_bench;
    gpu_select(0);
}

/* --- what a trial takes ----------------------------------------------------------------------------------
 */

static bool begins(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

/* The calls of one iteration; below 0: it is not known here. */
static double iteration_s(const case_t *what, int64_t bytes) {
    const char *name = what->benchmark;
    bool on_gpu = what->buffers == PTO_SPACE_GPU;
    if (begins(name, "memcpy_method_default") || begins(name, "memcpy_method_explicit") ||
        begins(name, "memcpy_method_query"))
        return COPY_BY;
    if (begins(name, "memcpy_method") || begins(name, "memcpy_h2h") || (begins(name, "reduce") && !on_gpu))
        return 0; /* the CPU's */
    if (begins(name, "memcpy_strided"))
        return COPY + (double)(bytes / what->messages) + FINISH;
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

/* Bytes that an iteration moves; below 0: none, or by the CPU. */
static int64_t iteration_bytes(const case_t *what, int64_t bytes) {
    if (begins(what->benchmark, "memcpy_queued"))
        return bytes * what->messages;
    return !what->sized || iteration_s(what, bytes) == 0 ? -1 : bytes;
}

static void check_case(const benchmark_t *benchmark, const job_t *job, const case_t *what) {
    int64_t bytes = what->least_bytes > 64 ? what->least_bytes : 64;
    work_t work = {.job = job, .what = what, .comm = MPI_COMM_SELF, .most_bytes = bytes};
    work.together = together_create(MPI_COMM_SELF);
    void *state = benchmark->open ? benchmark->open(&work) : &work;
    for (int iterations = 1; iterations <= 4; iterations++) {
        double expected = iterations * iteration_s(what, bytes);
        moved_bytes = 0;
        double got = benchmark->trial(state, bytes, iterations);
        if (fabs(got - expected) > 1e-3)
            fail_msg("%s: %d iterations take %.9g, not %.9g", what->benchmark, iterations, got, expected);
        if (iteration_bytes(what, bytes) >= 0)
            assert_int_equal(moved_bytes, iterations * iteration_bytes(what, bytes));
    }
    if (benchmark->close)
        benchmark->close(state);
    together_destroy(work.together);
    assert_int_equal(piece_count, 0); /* it leaves nothing */
}

/* The cases of one process; returns how many. */
static int check_benchmark(const benchmark_t *benchmark, int devices) {
    job_t job;
    case_list_t list = {0};
    int checked = 0;
    make_job(devices, &job);
    benchmark->list(&job, &list);
    for (int i = 0; i < list.case_count; i++)
        if (list.cases[i].member_count == 1 && iteration_s(&list.cases[i], 64) >= 0) {
            assert_int_equal(list.cases[i].member[0], 0);
            check_case(benchmark, &job, &list.cases[i]);
            checked++;
        }
    case_list_fini(&list);
    return checked;
}

static void a_trial_takes_its_iterations_calls(void **state) {
    (void)state;
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
        for (int i = 0; i < benchmark_count; i++)
            if (strcmp(benchmark_registry[i]->name, known[k].name) == 0)
                assert_int_equal(check_benchmark(benchmark_registry[i], known[k].devices), known[k].cases);
}

static void reductions_of_many_inputs_take_one_call(void **state) {
    (void)state;
    for (int i = 0; i < benchmark_count; i++)
        if (strcmp(benchmark_registry[i]->name, "reduce_many") == 0)
            assert_true(check_benchmark(benchmark_registry[i], 1) >= 4);
}

/* The counts that are worth a case: powers of two, these times one and a half, and all. */
static void counts_grow_by_halves_and_thirds(void **state) {
    (void)state;
    const int to_24[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 0}, to_7[] = {1, 2, 3, 4, 6, 7, 0};
    for (int i = 0; to_24[i] > 0; i++)
        assert_int_equal(next_count(to_24[i], 24), to_24[i + 1]);
    for (int i = 0; to_7[i] > 0; i++)
        assert_int_equal(next_count(to_7[i], 7), to_7[i + 1]);
    assert_int_equal(next_count(1, 1), 0);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trial_takes_its_iterations_calls),
        cmocka_unit_test(reductions_of_many_inputs_take_one_call),
        cmocka_unit_test(counts_grow_by_halves_and_thirds),
    };
    MPI_Init(&argc, &argv);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_Finalize();
    return failed;
}

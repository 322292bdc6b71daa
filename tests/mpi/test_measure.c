/* What portolan-validate's table says, by an executor whose every call takes a known time on a clock of the
 * test's own: which runs are checked, which are timed, and how times and joules become a cell.
 *
 *   test_measure               one process
 *   mpirun -n 2 test_measure   two, of which the second is the slower */
#include "../../validate/pattern.h"
#include "../../validate/reference.h"
#include "../../validate/validate.h"
#include "../unit/plan_request.h"
#include "portolan/bench.h"
#include "test.h"

/* Seconds of each call, and watts of the counter. CHECKED runs precede WARM repeats, which are not counted.
 */
enum {
    CREATE = 1009,
    QUEUE = 2,
    ENQUEUE = 3,
    LAUNCH = 5,
    RUN = 100, /* and one more for each run before; the slower process's twice as long */
    KERNEL = 7,
    WATTS = 40,
    CHECKED = 3,
    WARM = 3,
    STEPS = 4 /* of the pattern */
};

/* What the clock adds, as it is asked many times. */
static const double slack_s = 0.01;

static int self, size;

/* --- the clock ------------------------------------------------------------------------------------------ */

static double clock_s = 5000;

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): names of the linker's --wrap */

/* Asking takes a little, so that loops that wait for a time end. */
double __wrap_now_s(void) { return clock_s += 1e-7; }

int __wrap_sched_yield(void) {
    clock_s += 1e-3;
    return 0;
}

/* --- the executor --------------------------------------------------------------------------------------- */

static struct {
    const void *in;
    void *out;
    int64_t bytes;
    int runs;    /* done */
    int pending; /* queued or in the stream */
    bool captures;
    int captured;   /* in the graph */
    int wrong_run;  /* that gives a wrong result; -1: none */
    int failed_run; /* that fails; -1: none */
    int late_every; /* for this and each so many runs later, process 0 comes late; 0: for none */
    bool steady;    /* all runs take as long */
    int created, destroyed;
} made;

static bool is_late(int run) { return made.late_every > 0 && run % made.late_every == 0; }

/* Of the run that was the last. */
double __wrap_start_late_s(void) { return self == 0 && is_late(made.runs - 1) ? 1e-6 : 0; }

static double run_s(int run) { return (RUN + (made.steady ? 0 : run)) * (self + 1); }

static pto_status_t do_runs(int count, pto_error_t *err) {
    for (int i = 0; i < count; i++, made.runs++) {
        if (made.runs == made.failed_run)
            return pto_error_set(err, PTO_ERR_RANGE, "as asked");
        clock_s += run_s(made.runs);
        memcpy(made.out, made.in, (size_t)made.bytes);
        *(char *)made.out ^= made.runs == made.wrong_run;
    }
    return PTO_OK;
}

pto_status_t __wrap_pto_exec_create(const pto_plan_t *plan, MPI_Comm comm, const pto_device_t *device,
                                    const void *in, void *out, pto_op_t op, const pto_exec_options_t *options,
                                    pto_exec_t **exec, pto_error_t *err) {
    made.in = in;
    made.out = out;
    made.created++;
    clock_s += CREATE * (self + 1);
    *exec = (pto_exec_t *)(void *)&made;
    return PTO_OK;
}

void __wrap_pto_exec_destroy(pto_exec_t *exec) {
    assert_int_equal(made.pending, 0);
    made.destroyed += exec != NULL;
}

pto_status_t __wrap_pto_exec_run(pto_exec_t *exec, pto_error_t *err) {
    assert_ptr_equal(exec, &made);
    return do_runs(1, err);
}

pto_status_t __wrap_pto_exec_queue(pto_exec_t *exec, pto_error_t *err) {
    assert_ptr_equal(exec, &made);
    clock_s += QUEUE;
    made.pending++;
    return PTO_OK;
}

static pto_status_t do_pending(pto_error_t *err) {
    int count = made.pending;
    made.pending = 0;
    return do_runs(count, err);
}

pto_status_t __wrap_pto_exec_wait(pto_exec_t *exec, pto_error_t *err) {
    assert_ptr_equal(exec, &made);
    return do_pending(err);
}

pto_status_t __wrap_pto_exec_enqueue(pto_exec_t *exec, void *stream, pto_error_t *err) {
    assert_ptr_equal(exec, &made);
    assert_non_null(stream);
    clock_s += ENQUEUE;
    made.pending += !made.captures;
    made.captured += made.captures;
    return PTO_OK;
}

/* One either node of one member, which has taken branch B in every second run. */
bool __wrap_pto_exec_choices(const pto_exec_t *exec, int index, pto_exec_choices_t *choices) {
    assert_ptr_equal(exec, &made);
    if (index > 0)
        return false;
    *choices =
        (pto_exec_choices_t){.members = 1, .runs = {made.runs - (int64_t)made.runs / 2, made.runs / 2}};
    return true;
}

/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

/* --- the device ----------------------------------------------------------------------------------------- */

static const pto_device_t *real;
static pto_device_t timed;
static pto_device_bench_t timed_bench;

static pto_status_t finish(void *stream, pto_error_t *err) {
    pto_status_t status = do_pending(err);
    return status == PTO_OK ? real->finish(stream, err) : status;
}

static pto_status_t graph_begin(void *stream, pto_error_t *err) {
    assert_int_equal(made.pending, 0);
    made.captures = true;
    return PTO_OK;
}

static pto_status_t graph_end(void *stream, void **graph, pto_error_t *err) {
    made.captures = false;
    *graph = &made;
    return PTO_OK;
}

static pto_status_t graph_launch(void *graph, void *stream, pto_error_t *err) {
    assert_ptr_equal(graph, &made);
    clock_s += LAUNCH;
    made.pending += made.captured;
    return PTO_OK;
}

static pto_status_t graph_destroy(void *graph, pto_error_t *err) {
    assert_ptr_equal(graph, &made);
    assert_int_equal(made.destroyed, 0); /* before the executor */
    return PTO_OK;
}

/* --- the counter ---------------------------------------------------------------------------------------- */

static pto_status_t open_meter(const meter_place_t *place, void **meter, pto_error_t *err) {
    *meter = &clock_s;
    return PTO_OK;
}

static pto_status_t read_meter(void *meter, double *joules, pto_error_t *err) {
    *joules = WATTS * *(double *)meter;
    return PTO_OK;
}

static const char *id_of_meter(const void *meter) { return self == 0 ? "first" : "second"; }

static void close_meter(void *meter) {}

static const meter_source_t fake_meter = {"fake", "test", open_meter, read_meter, id_of_meter, close_meter};

/* --- the data ------------------------------------------------------------------------------------------- */

/* The result is the input, which differs from seed to seed. */
void reference_fill(const pto_request_t *request, pto_op_t op, uint64_t seed, int64_t owner, void *in,
                    int64_t bytes) {
    assert_int_equal(owner, self);
    made.bytes = bytes;
    memset(in, (int)(seed * 2 + 1) & 0x7f, (size_t)bytes);
}

pto_status_t reference_compare(const pto_request_t *request, pto_op_t op, uint64_t seed, int64_t owner,
                               const void *out, int64_t bytes, pto_error_t *err) {
    assert_int_equal(owner, self);
    assert_int_equal(bytes, made.bytes);
    for (int64_t i = 0; i < bytes; i++)
        if (((const char *)out)[i] != (char)((seed * 2 + 1) & 0x7f))
            return pto_error_set(err, PTO_ERR_RANGE, "byte %d is wrong", (int)i);
    return PTO_OK;
}

pto_status_t reference_host_make(const pto_plan_t *plan, const pto_device_t *device, int64_t rank,
                                 reference_host_t *host, pto_error_t *err) {
    return PTO_OK;
}

void reference_host_free(const pto_device_t *device, reference_host_t *host) {}

void reference_host_fill(uint64_t seed, int64_t owner, const reference_host_t *host) {}

pto_status_t reference_host_compare(const pto_request_t *request, uint64_t seed, int64_t owner,
                                    const reference_host_t *host, pto_error_t *err) {
    return PTO_OK;
}

/* --- the pattern: steps of a kernel and a run ----------------------------------------------------------- */

static pto_status_t fill_input(const work_t *work, uint64_t seed, pto_error_t *err) {
    made.bytes = 64;
    memset(work->in, (int)seed & 0x7f, 64);
    return PTO_OK;
}

static pto_status_t compare_output(const work_t *work, uint64_t seed, pto_error_t *err) {
    return *(char *)work->out == (char)(seed & 0x7f) ? PTO_OK
                                                     : pto_error_set(err, PTO_ERR_RANGE, "a step is wrong");
}

static const pattern_t fake_pattern = {
    .name = "fake", .steps = STEPS, .fill = fill_input, .compare = compare_output};

const pattern_t *pattern_of(const settings_t *settings) {
    return settings->options.pattern != PTO_PATTERN_COLLECTIVE ? &fake_pattern : NULL;
}

pto_status_t pattern_allowed(const settings_t *settings, const pto_request_t *request, pto_error_t *err) {
    return PTO_OK;
}

pto_status_t work_create(const settings_t *settings, const pto_request_t *request, int64_t owner, void *in,
                         void *out, int64_t user_bytes, work_t *work, pto_error_t *err) {
    *work = (work_t){.pattern = pattern_of(settings), .owner = owner, .in = in, .out = out};
    return PTO_OK;
}

void work_free(work_t *work) {}

pto_status_t work_steps(const settings_t *settings, const work_t *work, pto_exec_t *exec, pto_error_t *err) {
    clock_s += STEPS * KERNEL * (self + 1);
    return exec ? do_runs(STEPS, err) : PTO_OK;
}

/* --- a cell --------------------------------------------------------------------------------------------- */

static settings_t settings_of(int repeats) {
    settings_t settings = {.op = PTO_OP_SUM, .exec = {.placement = PTO_PLACEMENT_IDENTITY}};
    assert_int_equal(pto_device_find("host", &real, NULL), PTO_OK);
    timed = *real;
    timed_bench = *real->bench;
    timed.finish = finish;
    timed_bench.graph_begin = graph_begin;
    timed_bench.graph_end = graph_end;
    timed_bench.graph_launch = graph_launch;
    timed_bench.graph_destroy = graph_destroy;
    timed.bench = &timed_bench;
    settings.device = &timed;
    settings.options.repeats = repeats;
    memset(&made, 0, sizeof made);
    made.wrong_run = made.failed_run = -1;
    return settings;
}

static pto_status_t measure(const settings_t *settings, cell_t *cell, pto_error_t *err) {
    pto_request_t request =
        request_for(PTO_COLLECTIVE_ALLREDUCE, "cuda_aware", "recursive_doubling", 1, size, 1, 64);
    pto_plan_t *plan = NULL;
    assert_int_equal(pto_plan_create(&request, &plan, NULL), PTO_OK);
    *cell = (cell_t){0};
    pto_status_t status = measure_cell(settings, plan, 5, cell, err);
    assert_int_equal(made.created, 1);
    assert_int_equal(made.destroyed, 1);
    pto_plan_destroy(plan);
    return status;
}

/* Its samples live until the test ends. */
static cell_t measure_right(const settings_t *settings) {
    pto_error_t err = {.message = ""};
    cell_t cell;
    assert_ok(measure(settings, &cell, &err), &err);
    keep(cell.sample_s, free);
    return cell;
}

/* The mean of `count` runs of the slowest process. */
static double mean_s(int first, int count) {
    double sum = 0;
    for (int run = first; run < first + count; run++)
        sum += (RUN + (made.steady ? 0 : run)) * size;
    return sum / count;
}

/* A way to run, with the runs of a sample and what they take in addition. Three launches of three runs in a
 * graph are for seven; the first run of all, outside the graph, is not among them. */
static const struct {
    const char *name;
    pto_validate_options_t options;
    int each;         /* runs of a sample */
    int before;       /* the first sample */
    double call_s;    /* of a sample, beside its runs' mean */
    double enqueue_s; /* of the calls */
    double kernel_s;  /* taken out of the samples */
} ways[] = {
    {"one run", {.repeats = 25}, 1, 0, 0, 0, 0},
    {"queued", {.repeats = 5, .queued = 4}, 4, 0, QUEUE, 0, 0},
    {"enqueued", {.repeats = 5, .queued = 4, .enqueue = true}, 4, 0, ENQUEUE, ENQUEUE, 0},
    {"graphs", {.repeats = 5, .queued = 7, .graph = 3}, 9, 1, LAUNCH / 3.0, LAUNCH, 0},
    {"a pattern", {.repeats = 6, .pattern = PTO_PATTERN_GLOBAL_SUM}, STEPS, 0, 0, 0, KERNEL},
};

static void must_be(const char *what, double got_s, double wanted_s) {
    check_near(got_s, wanted_s, 0, slack_s, what, __FILE__, __LINE__);
}

TEST(a_sample_is_the_mean_of_its_runs_by_the_slowest_process) {
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
        const char *name = ways[way].name;
        int each = ways[way].each, repeats = ways[way].options.repeats;
        settings_t settings = settings_of(repeats);
        settings.options = ways[way].options;
        cell_t cell = measure_right(&settings);
        must_be(name, made.runs, ways[way].before + each * (CHECKED + WARM + repeats));
        must_be(name, made.captured, settings.options.graph);
        must_be(name, cell.sample_count, repeats);
        for (int i = 0; i < repeats; i++)
            must_be(name, cell.sample_s[i],
                    ways[way].call_s + mean_s(ways[way].before + each * (CHECKED + WARM + i), each));
        must_be(name, cell.least_s, cell.sample_s[0]);
        must_be(name, cell.setup_s, CREATE * size);
        must_be(name, cell.enqueue_s, ways[way].enqueue_s);
        must_be(name, cell.kernel_s, ways[way].kernel_s * size);
        must_be(name, cell.energy_runs, 0);
    }
}

TEST(a_repeat_for_which_a_process_came_late_is_made_again) {
    settings_t settings = settings_of(7);
    made.late_every = 3;
    cell_t cell = measure_right(&settings);
    int run = CHECKED + WARM;
    for (int i = 0; i < 7; i++, run++) {
        run += is_late(run);
        assert_around(cell.sample_s[i], mean_s(run, 1), slack_s);
    }
    assert_int_equal(made.runs, run);
}

TEST(repeats_end_where_a_process_always_comes_late) {
    settings_t settings = settings_of(7);
    made.late_every = 1;
    cell_t cell = measure_right(&settings);
    assert_int_equal(made.runs, CHECKED + WARM + 2 * 7);
    for (int i = 0; i < 7; i++)
        assert_around(cell.sample_s[i], mean_s(CHECKED + WARM + 7 + i, 1), slack_s);
}

/* For 25 values, tables of the sign test name the 8th and the 18th. */
TEST(the_median_has_its_interval) {
    settings_t settings = settings_of(25);
    cell_t cell = measure_right(&settings);
    assert_around(cell.least_s, mean_s(CHECKED + WARM, 1), slack_s);
    assert_around(cell.low_s, mean_s(CHECKED + WARM + 7, 1), slack_s);
    assert_around(cell.median_s, mean_s(CHECKED + WARM + 12, 1), slack_s);
    assert_around(cell.high_s, mean_s(CHECKED + WARM + 17, 1), slack_s);
    settings = settings_of(4); /* too few for one: all of them */
    cell = measure_right(&settings);
    assert_around(cell.low_s, mean_s(CHECKED + WARM, 1), slack_s);
    assert_around(cell.high_s, mean_s(CHECKED + WARM + 3, 1), slack_s);
}

TEST(a_device_without_graphs_is_refused) {
    settings_t settings = settings_of(5);
    cell_t cell;
    pto_error_t err = {.message = ""};
    settings.options.graph = 3;
    timed.bench = NULL;
    assert_int_equal(measure(&settings, &cell, &err), PTO_ERR_NOT_APPLICABLE);
    assert_int_equal(made.runs, 0);
}

TEST(a_run_that_is_wrong_or_fails_ends_the_cell) {
    for (int fails = 0; fails < 2; fails++)
        for (int queued = 0; queued <= 2; queued++)
            for (int run = 0; run < CHECKED; run++) {
                settings_t settings = settings_of(5);
                cell_t cell;
                pto_error_t err = {.message = ""};
                int each = queued > 0 ? queued : 1;
                settings.options.queued = queued;
                if (fails)
                    made.failed_run = run;
                else /* results are looked at after the last one queued */
                    made.wrong_run = (run + 1) * each - 1;
                assert_int_equal(measure(&settings, &cell, &err), PTO_ERR_RANGE);
                assert_string_equal(err.message, fails ? "as asked" : "byte 0 is wrong");
                assert_int_equal(made.runs, fails ? run : (run + 1) * each);
                assert_null(cell.sample_s);
            }
}

TEST(checks_alone_time_nothing) {
    settings_t settings = settings_of(5);
    settings.options.check_only = true;
    cell_t cell = measure_right(&settings);
    assert_int_equal(made.runs, CHECKED);
    assert_null(cell.sample_s);
    assert_int_equal(cell.chosen_count, 0);
}

/* Runs 3 to 12, of which every second has taken branch B. */
TEST(choices_are_those_of_the_timed_runs) {
    settings_t settings = settings_of(7);
    cell_t cell = measure_right(&settings);
    assert_int_equal(cell.chosen_count, 1);
    assert_int_equal(cell.chosen[0].members, 1);
    assert_int_equal(cell.chosen[0].runs[0], 5);
    assert_int_equal(cell.chosen[0].runs[1], 5);
}

/* Repeats at most triple until the window is full: 1, 3, 9, and then those that are left. */
TEST(energy_is_that_of_a_full_window) {
    const meter_source_t *sources[ENERGY_COUNT] = {&fake_meter, &fake_meter};
    const meter_place_t place = {.gpu = 0};
    for (int queued = 0; queued <= 2; queued += 2) {
        settings_t settings = settings_of(5);
        pto_error_t err = {.message = ""};
        int each = queued > 0 ? queued : 1;
        double run = RUN * (self + 1) + (queued > 0 ? QUEUE : 0);
        double slowest_s = RUN + (queued > 0 ? QUEUE : 0); /* rank 0, whose clock decides */
        made.steady = true;
        settings.options.queued = queued;
        settings.options.energy = true;
        assert_int_equal(
            energy_open(MPI_COMM_WORLD, sources, &place, 20.5 * each * slowest_s, &settings.job, &err),
            PTO_OK);
        cell_t cell = measure_right(&settings);
        assert_int_equal(cell.energy_runs, 21 * each);
        assert_int_equal(made.runs, (CHECKED + WARM + 5 + 21) * each);
        assert_around(cell.energy_run_s, run, slack_s);
        double joules = WATTS * (RUN * (size == 2 ? 3 : 1) + (queued > 0 ? QUEUE * size : 0));
        assert_around(cell.joules[ENERGY_GPUS], joules, slack_s);
        assert_around(cell.joules[ENERGY_CPUS], joules, slack_s);
        energy_close(&settings.job);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &self);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int failed = run_all_tests(NULL, NULL);
    if (failed)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Finalize();
    return failed;
}

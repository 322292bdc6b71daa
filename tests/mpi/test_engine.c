/* What portolan-calibrate's engine does with cases of several processes, whoever leads them, on clocks of the
 * test's own: which rows rank 0 writes, who takes part, how long repetitions and waits are, what is told of
 * progress, and when the budget ends it.
 *
 *   mpirun -n 3 test_engine */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../calibrate/benchmark.h"
#include "../../calibrate/engine.h"
#include "../../calibrate/sizes.h"
#include "made_clock.h"

enum { PROCESSES = 3, CASES = 7, TRIALS_MAX = 4096, ROWS_MAX = 4096, SLOW = CASES - 1 };

static const double timeout_s = 20;
static const double repetition_s = 200e-6; /* as the file's provenance says */

static int rank;
static char path[64];

/* --- the cases ------------------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    int member_count;
    int member[PROCESSES];
    bool sized, has_parts;
    double alpha_s, beta_s_per_byte;
} made[CASES] = {
    {"made_first", 2, {0, 1}, true, false, 1e-6, 1e-9},
    {"made_without_rank_0", 2, {1, 2}, true, false, 3e-5, 1e-8},
    {"made_led_by_another", 2, {2, 0}, true, false, 1e-6, 1e-7},
    {"made_alone", 1, {2}, true, false, 1e-3, 0},
    {"made_without_sizes", 3, {1, 0, 2}, false, false, 2e-6, 0},
    {"made_with_parts", 3, {2, 1, 0}, true, true, 5e-6, 1e-8},
    {"made_slow", 2, {1, 2}, true, false, 0, 1e-6},
};

static const char *const part_name[CASE_PART_MAX] = {"made_part_of_some", "made_part_of_others"};

/* Which process is the slowest depends on the case. */
static double true_s(int which, int process, int64_t bytes) {
    double times = 1 + 0.5 * ((process + which) % PROCESSES);
    return times * (made[which].alpha_s + made[which].beta_s_per_byte * (double)bytes);
}

static int part_of(int place) { return place % CASE_PART_MAX; }

/* Of the slowest member, or of the slowest of a part, which has a quarter of the time. */
static double slowest_s(int which, int part, int64_t bytes) {
    double slowest = 0;
    for (int place = 0; place < made[which].member_count; place++)
        if (part < 0 || part_of(place) == part)
            slowest = fmax(slowest, (part < 0 ? 1 : 0.25) * true_s(which, made[which].member[place], bytes));
    return slowest;
}

/* --- the benchmark -------------------------------------------------------------------------------------- */

typedef struct {
    int64_t bytes;
    int64_t iterations;
} trial_t;

static trial_t trials[CASES][TRIALS_MAX];
static int trial_count[CASES];
static int open_count;
static int opened_count; /* since it was set to 0 */

static struct {
    const work_t *work;
    double part_s;
} own;

static void open_case(const work_t *work) {
    open_count++;
    opened_count++;
    own.work = work;
}

static void close_case(const work_t *work) { open_count--; }

static double trial(const work_t *work, int64_t bytes, int iterations) {
    assert_ptr_equal(work, own.work);
    int which = own.work->bench_case->detail[0];
    assert_int_equal(made[which].member[own.work->me], rank);
    assert_true(trial_count[which] < TRIALS_MAX);
    trials[which][trial_count[which]++] = (trial_t){bytes, iterations};
    double seconds = iterations * true_s(which, rank, bytes);
    made_clock_pass(seconds);
    own.part_s = 0.25 * seconds;
    return seconds;
}

static void parts(const work_t *work, double seconds[CASE_PART_MAX]) {
    assert_ptr_equal(work, own.work);
    seconds[part_of(own.work->me)] = own.part_s;
}

static const benchmark_t made_several = {
    .name = "made", .open = open_case, .trial = trial, .parts = parts, .close = close_case};

/* --- what it calls -------------------------------------------------------------------------------------- */

/* Processes that meet have the latest one's time. */
static void meet(MPI_Comm comm) {
    double latest_s = made_clock_s();
    PMPI_Allreduce(MPI_IN_PLACE, &latest_s, 1, MPI_DOUBLE, MPI_MAX, comm);
    made_clock_pass(latest_s - made_clock_s());
}

int MPI_Barrier(MPI_Comm comm) {
    meet(comm);
    return PMPI_Barrier(comm);
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request) {
    meet(comm);
    return PMPI_Ibarrier(comm, request);
}

static double step_began_s, step_limit_s = INFINITY;

/* No step takes longer than was said when it began, and none may go on for ever. */
static void begin_step(double limit_s) {
    assert_true(made_clock_s() - step_began_s <= step_limit_s);
    step_began_s = made_clock_s();
    step_limit_s = limit_s > 0 ? limit_s : timeout_s;
    assert_true(isfinite(step_limit_s) && step_limit_s >= timeout_s);
}

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): names of the linker's --wrap */

double __wrap_guard_timeout_s(void) { return timeout_s; }

void __wrap_guard_step(double limit_s, const char *format, ...) { begin_step(limit_s); }

void __wrap_guard_tick(double limit_s) { begin_step(limit_s); }

/* Every visit has a new sample. */
void __real_sizes_record(sizes_t *sizes, const visit_t *visit, double *seconds, int count);
void __wrap_sizes_record(sizes_t *sizes, const visit_t *visit, double *seconds, int count) {
    assert_true(count > visit->earlier_samples && count <= visit->max_samples);
    __real_sizes_record(sizes, visit, seconds, count);
}

static struct {
    int shown, cleared, done, total;
    double left_s;
} bar;

bool __wrap_progress_wanted(void) { return false; }

void __wrap_progress_show(const char *benchmark, int done, int total, double left_s) {
    assert_string_equal(benchmark, "made");
    assert_int_equal(bar.cleared, 0);
    assert_true(bar.shown == 0 ? done == 0 : done >= bar.done && total == bar.total && left_s <= bar.left_s);
    assert_true(done <= total);
    bar.shown++;
    bar.done = done;
    bar.total = total;
    bar.left_s = left_s;
}

void __wrap_progress_clear(void) { bar.cleared++; }

/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

/* --- a run ---------------------------------------------------------------------------------------------- */

static const job_t *make_job(void) {
    static process_t process[PROCESSES];
    static job_t job;
    job = (job_t){
        .world = MPI_COMM_WORLD, .rank = rank, .size = PROCESSES, .process = process, .node_count = 1};
    return &job;
}

static pto_calibrate_options_t options_of(bool exhaustive) {
    return (pto_calibrate_options_t){.from_bytes = 1,
                                     .to_bytes = 1 << 12,
                                     .factor = 2,
                                     .budget_s = 1000,
                                     .repeats = 20,
                                     .exhaustive = exhaustive};
}

static case_list_t list_of(int first, int past) {
    case_list_t list = {0};
    for (int which = first; which < past; which++) {
        case_t *added = case_add(&list, made[which].name, made[which].member_count);
        added->space = "cpu";
        added->level = "on_node";
        added->sized = made[which].sized;
        added->detail[0] = which;
        memcpy(added->member, made[which].member, sizeof(int) * (size_t)made[which].member_count);
        for (int part = 0; made[which].has_parts && part < CASE_PART_MAX; part++)
            snprintf(added->part[part], CASE_NAME_MAX, "%s", part_name[part]);
    }
    return list;
}

typedef struct {
    char name[CASE_NAME_MAX];
    int64_t bytes;
    int run;
    double seconds;
} row_t;

/* What rank 0 wrote. */
static row_t rows[ROWS_MAX];
static int row_count;

static void read_rows(void) {
    char line[256];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    row_count = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        row_t row;
        long long bytes;
        if (sscanf(line, "%47[^,],cpu,on_node,-,1,1,%lld,%d,%lf", row.name, &bytes, &row.run, &row.seconds) !=
            4)
            continue;
        row.bytes = bytes;
        assert_true(row_count < ROWS_MAX);
        rows[row_count++] = row;
    }
    fclose(file);
}

/* Returns the seconds that it took. */
static double measure(const pto_calibrate_options_t *options, int first, int past, int *left_out) {
    case_list_t list = list_of(first, past);
    samples_t *file = rank == 0 ? samples_create(path, true) : NULL;
    if (rank == 0)
        samples_begin(file);
    memset(trial_count, 0, sizeof trial_count);
    memset(&bar, 0, sizeof bar);
    meet(MPI_COMM_WORLD);
    double began_s = made_clock_s();
    *left_out = engine_run(make_job(), options, &made_several, &list, file);
    double took_s = made_clock_s() - began_s;
    assert_int_equal(open_count, 0);
    bool shows = rank == 0 && options->progress;
    assert_int_equal(bar.shown > 0, shows);
    assert_int_equal(bar.cleared, shows);
    if (shows) {
        assert_true(bar.done == bar.total || *left_out > 0 || !options->exhaustive);
        assert_int_equal(bar.total, engine_size_count(options, &list));
        assert_true(bar.left_s >= options->budget_s - took_s - 1e-9 && bar.left_s <= options->budget_s);
    }
    row_count = 0;
    if (rank == 0) {
        assert_true(samples_close(file, *left_out));
        read_rows();
    }
    case_list_fini(&list);
    return took_s;
}

/* --- what is written ------------------------------------------------------------------------------------ */

/* Samples of a name and size, which are numbered from 1 on and all take as long. */
static int check_samples(const char *name, int64_t bytes, double seconds) {
    int count = 0;
    for (int i = 0; i < row_count; i++) {
        const row_t *one = &rows[i];
        if (strcmp(one->name, name) != 0 || one->bytes != bytes)
            continue;
        assert_int_equal(one->run, ++count);
        if (fabs(one->seconds / seconds - 1) > 1e-5)
            fail_msg("%s, %d bytes: %.9g s, not %.9g", name, (int)bytes, one->seconds, seconds);
    }
    return count;
}

static void rows_are_of_the_slowest_member_whoever_leads(void **state) {
    for (int exhaustive = 0; exhaustive < 2; exhaustive++) {
        pto_calibrate_options_t options = options_of(exhaustive == 1);
        int left_out;
        int all = 0;
        options.progress = exhaustive == 1;
        measure(&options, 0, SLOW, &left_out);
        assert_int_equal(left_out, 0);
        for (int which = 0; which < SLOW && rank == 0; which++)
            for (int64_t bytes = made[which].sized; bytes <= (made[which].sized ? 1 << 12 : 0);
                 bytes += bytes > 0 ? bytes : 1) {
                int count = check_samples(made[which].name, bytes, slowest_s(which, -1, bytes));
                assert_true(exhaustive == 1 ? count == 6 : count <= 6);
                all += count;
                for (int part = 0; part < CASE_PART_MAX && made[which].has_parts; part++)
                    assert_int_equal(check_samples(part_name[part], bytes, slowest_s(which, part, bytes)),
                                     count);
                all += made[which].has_parts ? CASE_PART_MAX * count : 0;
            }
        assert_true(rank != 0 || (all > 0 && row_count == all)); /* there are no others */
    }
}

/* And those that do not, make none. */
static void members_make_the_same_trials(void **state) {
    pto_calibrate_options_t options = options_of(false);
    int left_out;
    measure(&options, 0, SLOW, &left_out);
    for (int which = 0; which < SLOW; which++) {
        static trial_t leads[TRIALS_MAX];
        int count = trial_count[which], lead = made[which].member[0];
        bool takes_part = false;
        for (int place = 0; place < made[which].member_count; place++)
            takes_part = takes_part || made[which].member[place] == rank;
        memcpy(leads, trials[which], sizeof leads);
        MPI_Bcast(&count, 1, MPI_INT, lead, MPI_COMM_WORLD);
        MPI_Bcast(leads, (int)sizeof leads, MPI_BYTE, lead, MPI_COMM_WORLD);
        assert_true(count > 0);
        assert_int_equal(trial_count[which], takes_part ? count : 0);
        assert_true(!takes_part || memcmp(leads, trials[which], sizeof *leads * (size_t)count) == 0);
    }
}

/* But for the first, in which code is loaded, and those by which the iterations are found. */
static void repetitions_last_as_long_as_the_file_says(void **state) {
    pto_calibrate_options_t options = options_of(true);
    int left_out;
    measure(&options, 0, SLOW, &left_out);
    for (int which = 0; which < SLOW; which++)
        for (int i = 0; i < trial_count[which]; i++) {
            const trial_t *one = &trials[which][i];
            double iteration_s = slowest_s(which, -1, one->bytes);
            bool begins = i == 0 || one[-1].bytes != one->bytes;
            bool ends = i + 1 == trial_count[which] || one[1].bytes != one->bytes;
            assert_true(!begins || one->iterations == 1);
            if (!ends)
                continue;
            assert_true((double)one->iterations * iteration_s >= repetition_s);
            assert_true((double)(one->iterations - 1) * iteration_s <= repetition_s);
        }
}

/* A size takes up to 2 us a byte. Of 40 s, 2^24 bytes would take as much for one visit. */
static void a_budget_ends_a_case_that_another_leads(void **state) {
    for (int exhaustive = 0; exhaustive < 2; exhaustive++) {
        pto_calibrate_options_t options = options_of(exhaustive == 1);
        int left_out;
        int64_t largest = 0;
        options.to_bytes = 1 << 26;
        options.budget_s = 40;
        options.progress = true;
        double took_s = measure(&options, SLOW, CASES, &left_out);
        assert_true(took_s <= options.budget_s);
        if (rank == 0) {
            for (int i = 0; i < row_count; i++)
                largest = rows[i].bytes > largest ? rows[i].bytes : largest;
            assert_in_range(left_out, 3, 7);
            assert_int_equal(largest, (1 << 26) >> left_out);
        } else {
            assert_int_equal(left_out, 0);
        }
    }
}

/* One of the time for all, and each of its own. */
static void an_estimate_is_of_all_cases(void **state) {
    for (int first = 0; first <= SLOW; first++)
        for (int exhaustive = 0; exhaustive < 2; exhaustive++) {
            pto_calibrate_options_t options = options_of(exhaustive == 1);
            int left_out, past = first == SLOW ? SLOW : first + 1, from = first == SLOW ? 0 : first;
            case_list_t list = list_of(from, past);
            meet(MPI_COMM_WORLD);
            double estimated_s = engine_estimate(make_job(), &options, &made_several, &list);
            meet(MPI_COMM_WORLD);
            double took_s = measure(&options, from, past, &left_out);
            if (rank == 0 && (took_s > 2 * estimated_s || estimated_s > 2 * took_s))
                fail_msg("cases %d to %d: estimated %.9g s, took %.9g", from, past - 1, estimated_s, took_s);
            case_list_fini(&list);
        }
}

/* It takes minutes, while rank 0 waits. The last step must not be over its limit either. */
static void an_estimate_may_take_long(void **state) {
    pto_calibrate_options_t options = options_of(false);
    case_list_t list = list_of(SLOW, CASES);
    options.to_bytes = 1 << 26;
    options.budget_s = 10000;
    meet(MPI_COMM_WORLD);
    double began_s = made_clock_s();
    engine_estimate(make_job(), &options, &made_several, &list);
    meet(MPI_COMM_WORLD);
    assert_true(made_clock_s() - began_s > 2 * timeout_s);
    begin_step(0);
    case_list_fini(&list);
}

/* All of a few; else six, or as many as stand for two or more each. */
static void few_cases_stand_for_an_estimate(void **state) {
    for (int cases = 1; cases <= 24; cases++) {
        pto_calibrate_options_t options = options_of(false);
        case_list_t list = {0};
        for (int i = 0; i < cases; i++) {
            case_list_t one = list_of(0, 1);
            case_t *added = case_add(&list, one.cases[0].benchmark, 2);
            int *member = added->member;
            *added = one.cases[0];
            added->member = member;
            memcpy(member, one.cases[0].member, 2 * sizeof *member);
            case_list_fini(&one);
        }
        opened_count = 0;
        meet(MPI_COMM_WORLD);
        double estimated_s = engine_estimate(make_job(), &options, &made_several, &list);
        int each = cases > 4 ? (cases + 5) / 6 : 1; /* at most six, as many as there can be */
        assert_int_equal(opened_count, rank < 2 ? (cases + each - 1) / each : 0);
        static double one_s;
        one_s = cases == 1 ? estimated_s : one_s;
        assert_true(rank != 0 || fabs(estimated_s / (cases * one_s) - 1) < 0.01); /* they cost the same */
        case_list_fini(&list);
    }
}

int main(int argc, char **argv) {
    int size;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_of_the_slowest_member_whoever_leads),
        cmocka_unit_test(members_make_the_same_trials),
        cmocka_unit_test(repetitions_last_as_long_as_the_file_says),
        cmocka_unit_test(a_budget_ends_a_case_that_another_leads),
        cmocka_unit_test(an_estimate_is_of_all_cases),
        cmocka_unit_test(an_estimate_may_take_long),
        cmocka_unit_test(few_cases_stand_for_an_estimate),
    };
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(path, sizeof path, "/tmp/test_engine-%d.csv", (int)getpid());
    int failed = size != PROCESSES;
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        const struct CMUnitTest one[] = {tests[i]};
        failed = failed || cmocka_run_group_tests(one, NULL, NULL) != 0;
        if (failed) /* the others wait for this one */
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    unlink(path);
    MPI_Finalize();
    return failed;
}

/* Fits of runs that the host does not wait for: launches behind launches, whole runs by lines, how the runs
 * of the files began, and machine files of these alone. */
#include "machine/machine_internal.h"
#include "made_samples.h"
#include "must.h"
#include "portolan/machine.h"
#include "test.h"

enum { REPEATS = 12, LIMIT_BYTES = 65536 };

static const double noise = 0.01;

static double lines_s(int32_t gpus, int64_t bytes) {
    double few = 1.5e-6 + 2e-11 * (double)bytes, many = 2e-6 + 4e-12 * (double)bytes;
    return (gpus - 1) * (bytes < LIMIT_BYTES ? few : many);
}

static void add_runs(pto_samples_t *samples) {
    uint64_t state = 5;
    pto_sample_t sample = {.benchmark = PTO_BENCHMARK_RUN_LAUNCH, .where = PTO_IN_GPU, .procs = 1};
    for (sample.messages = 2; sample.messages <= 5; sample.messages += sample.messages - 1)
        add_noisy(samples, sample, 24e-6 + 1.8e-6 * (sample.messages - 1), 0.1 * noise, REPEATS, &state);
    sample = (pto_sample_t){.benchmark = PTO_BENCHMARK_RUN_LINES, .where = PTO_IN_GPU, .messages = 1};
    for (sample.procs = 2; sample.procs <= 4; sample.procs += 2)
        for (sample.bytes = 8; sample.bytes <= 1 << 22; sample.bytes *= 4)
            add_noisy(samples, sample, lines_s(sample.procs, sample.bytes), noise, REPEATS, &state);
}

TEST(launches_and_lines_are_recovered) {
    pto_samples_t *samples = new_samples();
    add_runs(samples);
    pto_fit_t fit = must_fit(samples, &any_node);
    assert_near(fit.machine->run_launch_s.value, 1.8e-6, 0.03);
    assert_true(fit.machine->run_launch_s.has_interval);
    for (int32_t gpus = 2; gpus <= 4; gpus += 2)
        for (int64_t bytes = 8; bytes <= 1 << 22; bytes *= 4) {
            const pto_cost_row_t *row = pto_machine_lines(fit.machine, gpus, bytes);
            assert_non_null(row);
            assert_near(row->postal.alpha_s.value + row->postal.beta_s_per_byte.value * (double)bytes,
                        lines_s(gpus, bytes), 0.03);
        }
    assert_null(pto_machine_lines(fit.machine, 3, 64));
}

/* Three numbers of launches leave one to doubt the line by. */
TEST(launches_off_the_line_widen_its_interval) {
    static const double seconds[] = {[2] = 27.2e-6, [3] = 29.7e-6, [5] = 34.1e-6};
    pto_samples_t *samples = new_samples();
    pto_sample_t sample = {.benchmark = PTO_BENCHMARK_RUN_LAUNCH, .where = PTO_IN_GPU, .procs = 1};
    for (sample.messages = 2; sample.messages <= 5; sample.messages += sample.messages - 1)
        add_equal(samples, sample, seconds[sample.messages], REPEATS);
    pto_fit_t fit = must_fit(samples, &any_node);
    assert_near(fit.machine->run_launch_s.value, 2.3e-6, 0.03);
    assert_true(fit.machine->run_launch_s.low < 2.2e-6 && fit.machine->run_launch_s.high > 2.5e-6);
}

/* A file's lines of provenance, and the benchmark of its rows. */
typedef struct {
    const char *provenance, *benchmark;
} file_t;

static pto_samples_t *samples_of(file_t first, file_t second) {
    const file_t file[] = {first, second};
    static const char *const path[] = {"first.csv", "second.csv"};
    pto_samples_t *samples = new_samples();
    for (int i = 0; i < 2; i++) {
        char columns[64];
        snprintf(columns, sizeof columns, "%s,gpu,-,-,2,1", file[i].benchmark);
        parse_rows(path[i], file[i].provenance, columns, samples);
    }
    return samples;
}

static pto_runs_t runs_of(file_t first, file_t second) {
    pto_fit_t fit = must_fit(samples_of(first, second), &any_node);
    return pto_machine_runs(fit.machine);
}

TEST(runs_are_those_of_the_files_with_launches_and_collectives) {
    static const char *const dependent[] = {"run_lines", "nccl_allreduce", "nccl_allgatherv"};
    const file_t waited_loads = {"# runs=waited\n", "remote_load_16"};
    for (int i = 0; i < 3; i++) {
        const file_t graph = {"# runs=graph\n", dependent[i]}, silent = {"", dependent[i]};
        const file_t waited = {"# runs=waited\n", dependent[(i + 1) % 3]};
        const file_t enqueued = {"# runs=enqueued\n", dependent[(i + 1) % 3]};
        assert_int_equal(runs_of(graph, waited_loads), PTO_RUNS_GRAPH);
        assert_int_equal(runs_of(silent, waited), PTO_RUNS_WAITED);
        assert_no_fit(samples_of(silent, enqueued), &any_node, PTO_ERR_NOT_APPLICABLE,
                      "the runs of first.csv are waited, those of second.csv enqueued: each "
                      "kind needs a machine file of its own (--inherits)");
    }
    const file_t graph = {"# runs=graph\n", "run_lines"}, later = {"# runs=later\n", "nccl_reduce"};
    const file_t odd = {"# runs=?\n", "run_lines"}, silent = {"", "nccl_reduce"};
    assert_no_fit(samples_of(graph, later), &any_node, PTO_ERR_TYPE,
                  "runs=later is none of waited, enqueued and graph");
    assert_no_fit(samples_of(odd, silent), &any_node, PTO_ERR_TYPE, "runs=?");
}

/* The first of all. */
TEST(one_row_tells_the_runs_of_its_file) {
    static const char one[] = "# runs=graph\nbenchmark,space,level,pair,procs,messages,bytes,run,seconds\n"
                              "nccl_reduce,gpu,-,-,2,1,8,1,2e-6\n";
    pto_samples_t *samples = no_samples();
    assert_int_equal(pto_samples_parse(one, sizeof one - 1, "first.csv", samples, NULL), PTO_OK);
    parse_rows("second.csv", "# runs=waited\n", "run_lines,gpu,-,-,2,1", samples);
    assert_no_fit(samples, &any_node, PTO_ERR_NOT_APPLICABLE,
                  "the runs of first.csv are graph, those of second.csv waited");
}

TEST(a_file_that_inherits_needs_no_messages) {
    pto_samples_t *samples = no_samples();
    pto_fit_options_t options = any_node;
    add_runs(samples);
    assert_no_fit(samples, &options, PTO_ERR_NOT_FOUND, "messages");
    options.inherits = "a base";
    pto_fit_t fit = must_fit(samples, &options);
    char *text = must_format(fit.machine);
    assert_non_null(strstr(text, "\ninherits: \"a base\"\n"));
    assert_null(strstr(text, "messages"));
    pto_machine_t *copy = must_duplicate(fit.machine);
    char *again = must_format(copy);
    assert_string_equal(again, text);
}

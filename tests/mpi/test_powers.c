/* The powers that portolan-validate prints, by counters that know what the process does: resting, polling,
 * copying and reducing take different powers, on a clock of the test's own.
 *
 *   test_powers               one process
 *   mpirun -n 2 test_powers   two: of two GPUs, or of one */
#include <time.h>

#include "../../validate/validate.h"
#include "test.h"

typedef enum { RESTING, POLLING, COPYING, REDUCING, STATE_COUNT } state_t;

enum { WINDOWS = 5, QUEUED_MAX = 16, WINDOW_S = 8 };

static int rank, size;

/* --- what happens, and its power ------------------------------------------------------------------------ */

typedef struct {
    const char *id;
    const double *watts; /* of each state */
    double joules;
    int reads; /* two for each window */
} counter_t;

static double clock_s, slept_least_s, slept_most_s;
static counter_t counters[ENERGY_COUNT];
static state_t queued_what;
static int queued_count;

/* Watts that a window differs from the mean of its state. The first one of a state does not count. */
static const double aside_w[WINDOWS] = {1000, -3, -1, 1, 3};

/* Of the 95 percent interval: Student's quantile for three degrees of freedom, of the deviations above. */
static const double half_w = 3.182 * 1.2909944487;

static void pass(double seconds, state_t what) {
    clock_s += seconds;
    for (int kind = 0; kind < ENERGY_COUNT; kind++)
        if (counters[kind].watts)
            counters[kind].joules +=
                seconds * (counters[kind].watts[what] + aside_w[counters[kind].reads / 2 % WINDOWS]);
}

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): names of the linker's --wrap */

double __wrap_now_s(void) { return clock_s; }

int __wrap_nanosleep(const struct timespec *time, struct timespec *left) {
    double seconds = (double)time->tv_sec + 1e-9 * (double)time->tv_nsec;
    slept_least_s = fmin(slept_least_s, seconds);
    slept_most_s = fmax(slept_most_s, seconds);
    pass(seconds, RESTING);
    return 0;
}

int __wrap_MPI_Iprobe(int source, int tag, MPI_Comm comm, int *there, MPI_Status *status) {
    *there = 0;
    pass(0.01, POLLING);
    return MPI_SUCCESS;
}

/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

static void queue(state_t what) {
    assert_true(queued_count == 0 || queued_what == what);
    queued_what = what;
    assert_true(++queued_count <= QUEUED_MAX);
}

static pto_status_t copy(const pto_move_t *move, void *stream, pto_error_t *err) {
    assert_non_null(stream);
    memset(move->target, 0, move->bytes); /* it is there in full */
    assert_non_null(move->source);
    queue(COPYING);
    return PTO_OK;
}

static pto_status_t reduce(void *target, const void *source, size_t count, pto_datatype_t datatype,
                           pto_op_t op, void *stream, pto_error_t *err) {
    assert_non_null(stream);
    memset(target, 0, count * (size_t)pto_datatype_bytes(datatype));
    assert_ptr_not_equal(target, source);
    queue(REDUCING);
    return PTO_OK;
}

static pto_status_t finish(void *stream, pto_error_t *err) {
    assert_true(queued_count > 0);
    pass(0.5 * queued_count, queued_what);
    queued_count = 0;
    return PTO_OK;
}

/* --- counters ------------------------------------------------------------------------------------------- */

static pto_status_t read_counter(void *meter, double *joules, pto_error_t *err) {
    counter_t *counter = meter;
    *joules = counter->joules;
    counter->reads++;
    return PTO_OK;
}

static const char *id_of(const void *meter) { return ((const counter_t *)meter)->id; }

static void close_counter(void *meter) { ((counter_t *)meter)->watts = NULL; }

static const meter_source_t source = {
    .name = "fake", .what = "test", .read = read_counter, .id = id_of, .close = close_counter};

void report_sources(FILE *file, const settings_t *settings) {
    assert_int_equal(rank, 0);
    fprintf(file, "# %d counters of GPUs\n", settings->job.source[ENERGY_GPUS].counter_count);
}

/* --- measuring ------------------------------------------------------------------------------------------ */

static const double gpu_w[STATE_COUNT] = {60, 60, 200, 300};
static const double cpu_w[STATE_COUNT] = {50, 80, 75, 75};

/* This process's counter; NULL: it has none. */
static void add_counter(energy_job_t *job, energy_kind_t kind, int all, const double *watts) {
    counters[kind] = (counter_t){.watts = watts};
    job->source[kind] =
        (energy_source_t){.source = &source, .meter = watts ? &counters[kind] : NULL, .counter_count = all};
}

/* What is printed; on other processes than the first, nothing is. */
static void measure(int gpus, const double *gpu, int cpus, const double *cpu, char *text, size_t text_size) {
    static pto_device_t timed;
    const pto_device_t *host = NULL;
    assert_int_equal(pto_device_find("host", &host, NULL), PTO_OK);
    timed = *host;
    timed.copy = copy;
    timed.reduce = reduce;
    timed.finish = finish;
    settings_t settings = {.device = &timed,
                           .exec = {.placement = PTO_PLACEMENT_IDENTITY},
                           .job = {.comm = MPI_COMM_WORLD, .window_s = WINDOW_S}};
    pto_options_t options = {.scenario = {.layout = {.nodes = 1,
                                                     .gpus_per_node = size,
                                                     .owners_per_gpu = 1,
                                                     .procs_per_gpu = 1,
                                                     .gpus_per_socket = size}}};
    pto_error_t err = {.message = ""};
    slept_least_s = INFINITY;
    slept_most_s = 0;
    add_counter(&settings.job, ENERGY_GPUS, gpus, gpu);
    add_counter(&settings.job, ENERGY_CPUS, cpus, cpu);
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_ok(measure_powers(&settings, &options, file, &err), &err);
    rewind(file);
    text[fread(text, 1, text_size - 1, file)] = '\0';
    fclose(file);
}

/* `key: MEAN, key_95: [LOW, HIGH]` */
static void has_power(const char *text, const char *key, double mean_w, double half) {
    char wanted[200];
    snprintf(wanted, sizeof wanted, "%s: %.4g, %s_95: [%.4g, %.4g]", key, mean_w, key, fmax(mean_w - half, 0),
             mean_w + half);
    if (!strstr(text, wanted))
        fail_msg("not '%s' in\n%s", wanted, text);
}

static const char *line_of(const char *text, const char *what) {
    const char *line = strstr(text, what);
    if (!line)
        fail_msg("no '%s' in\n%s", what, text);
    return line;
}

/* A GPU for each process, and one host. */
TEST(powers_are_those_of_one_gpu_and_one_host) {
    char text[2000];
    measure(size, gpu_w, 1, rank == 0 ? cpu_w : NULL, text, sizeof text);
    assert_true(slept_least_s == 0.5 * WINDOW_S && slept_most_s == 0.5 * WINDOW_S);
    if (rank != 0) {
        assert_string_equal(text, "");
        return;
    }
    const char *gpus = line_of(text, "energy:\n  gpu: {"), *cpus = line_of(text, "}\n  cpu: {");
    has_power(gpus, "idle_w", 60, half_w);
    has_power(gpus, "copy_w", 200, half_w);
    has_power(gpus, "kernel_w", 300, half_w);
    has_power(cpus, "idle_w", 50, half_w);
    has_power(cpus, "core_w", 30.0 / size, hypot(half_w, half_w) / size); /* above the host's */
}

/* Only the first process has counters: another sleeps while it works, and longer. */
TEST(processes_without_counters_sleep) {
    char text[2000];
    measure(1, rank == 0 ? gpu_w : NULL, 0, NULL, text, sizeof text);
    if (rank != 0) {
        assert_true(slept_least_s > 0.5 * WINDOW_S && slept_most_s < 0.5 * WINDOW_S + 0.1);
        return;
    }
    has_power(line_of(text, "  gpu: {"), "idle_w", 60, half_w);
    has_power(text, "copy_w", 200, half_w);
    assert_null(strstr(text, "cpu:"));
}

/* A copy that takes less than rest is noise; so is a core that takes less than none. */
TEST(no_power_is_below_idle) {
    static const double low_gpu_w[STATE_COUNT] = {60, 60, 40, 59};
    static const double low_cpu_w[STATE_COUNT] = {4, 3, 3, 3};
    char text[2000];
    measure(size, low_gpu_w, 1, rank == 0 ? low_cpu_w : NULL, text, sizeof text);
    if (rank != 0)
        return;
    has_power(text, "copy_w", 60, half_w);
    has_power(text, "kernel_w", 60, half_w);
    has_power(line_of(text, "  cpu: {"), "idle_w", 4, half_w); /* from 0 */
    has_power(text, "core_w", 0, hypot(half_w, half_w) / size);
}

TEST(without_gpus_nothing_is_copied) {
    char text[2000];
    measure(0, NULL, 1, rank == 0 ? cpu_w : NULL, text, sizeof text);
    assert_int_equal(counters[ENERGY_CPUS].reads, rank == 0 ? 2 * 2 * WINDOWS : 0); /* two states */
    assert_null(strstr(text, "gpu:"));
    if (rank == 0)
        line_of(text, "  cpu: {");
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int failed = run_all_tests(NULL, NULL);
    if (failed)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Finalize();
    return failed;
}

/* portolan-calibrate: measures the cost of moving bytes on this machine by benchmarks (benchmark.h), and
 * writes samples, to which `portolan fit` fits a machine. This file reads the options, lists the cases of all
 * benchmarks, and passes them to the engine (engine.h). */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agreement.h"
#include "command_line/calibrate_options.h"
#include "engine.h"
#include "fatal.h"
#include "guard.h"
#include "portolan/api.h"
#include "topology.h"

static const char *group_of(const benchmark_t *benchmark) {
    return benchmark->group != NULL ? benchmark->group : benchmark->name;
}

/* Returns whether the first of comma-separated names is that of a benchmark or of its group. */
static bool is_called(const benchmark_t *benchmark, const char *names) {
    const char *const own[] = {benchmark->name, group_of(benchmark)};
    size_t length = strcspn(names, ",");
    for (int i = 0; i < 2; i++)
        if (strlen(own[i]) == length && memcmp(own[i], names, length) == 0)
            return true;
    return false;
}

/* Returns the names after the first one; NULL: there are no more. */
static const char *next_name(const char *names) {
    const char *comma = strchr(names, ',');
    return comma != NULL ? comma + 1 : NULL;
}

/* Returns whether --only, if given, names a benchmark. */
static bool is_wanted(const pto_calibrate_options_t *options, const benchmark_t *benchmark) {
    const char *at = options->only;
    while (at != NULL && !is_called(benchmark, at))
        at = next_name(at);
    return options->only == NULL || at != NULL;
}

static bool supports_runs(const benchmark_t *benchmark, pto_runs_t runs) {
    unsigned supported = benchmark->runs != 0 ? benchmark->runs : 1u << PTO_RUNS_WAITED;
    return (supported >> runs & 1) != 0;
}

static pto_status_t check_names(const char *names, pto_error_t *err) {
    for (const char *at = names; at != NULL; at = next_name(at)) {
        int i = 0, length = (int)strcspn(at, ",");
        while (i < benchmark_count && !is_called(benchmark_registry[i], at))
            i++;
        if (i == benchmark_count)
            return pto_error_set(err, PTO_ERR_NOT_FOUND, "--only: no benchmark '%.*s'; --list shows them all",
                                 length < 60 ? length : 60, at);
    }
    return PTO_OK;
}

/* Returns -1 to continue, otherwise an exit code: PTO_EXIT_OK for --help, or that of the error in `err`. */
static int read_options(int argc, char **argv, pto_calibrate_options_t *options, pto_error_t *err) {
    pto_arguments_t arguments;
    pto_error_t cause = {0};
    int code = pto_arguments_read(&pto_calibrate_syntax, argc, argv, &arguments, err);
    if (code >= 0)
        return code;
    pto_status_t status = pto_arguments_apply(&arguments, options, &cause);
    if (status == PTO_OK && arguments.operand_count > 0) {
        status = pto_error_set(&cause, PTO_ERR_RANGE, "unknown argument '%s'; --help shows what there is",
                               arguments.operand[0]);
    }
    if (status == PTO_OK && options->from != NULL && !options->topology)
        status = pto_error_set(&cause, PTO_ERR_RANGE, "--from is for --topology");
    if (status == PTO_OK)
        status = check_names(options->only, &cause);
    pto_arguments_fini(&arguments);
    if (status != PTO_OK) {
        pto_error_set(err, status, "%s: %s", pto_calibrate_syntax.program, cause.message);
        return PTO_EXIT_USAGE;
    }
    return -1;
}

static void print_list(void) {
    for (int i = 0; i < benchmark_count; i++) {
        const benchmark_t *benchmark = benchmark_registry[i];
        printf("%-14s %-14s %s\n%-14s %-14s writes %s\n", benchmark->name, group_of(benchmark),
               benchmark->summary, "", "", benchmark->rows != NULL ? benchmark->rows : benchmark->name);
    }
}

/* Handles the options that need no other processes, and so no launcher: --help, --list and --version. Returns
 * false if there is none of these. `code` is from read_options. */
static bool print_information(int code, const pto_calibrate_options_t *options) {
    if (code == PTO_EXIT_OK)
        pto_print_help(&pto_calibrate_syntax);
    else if (code < 0 && options->list)
        print_list();
    else if (code < 0 && options->version)
        printf("portolan-calibrate %s, %s\n", pto_version(), gpu_build());
    else
        return false;
    return true;
}

static int finish_output(void) {
    if (fflush(stdout) == 0 && !ferror(stdout))
        return PTO_EXIT_OK;
    perror("portolan-calibrate: cannot write standard output");
    return PTO_EXIT_ERROR;
}

static int write_topology(const pto_calibrate_options_t *options) {
    pto_error_t err = {0};
    char message[PTO_ERROR_MESSAGE_MAX + PTO_ERROR_FILE_MAX];
    if (write_node_topology(options, &err) == PTO_OK)
        return 0;
    pto_error_format(&err, message, sizeof message);
    fprintf(stderr, "portolan-calibrate: %s\n", message);
    return 1;
}

/* Returns a list of cases for each benchmark, empty for those that are not wanted. */
static case_list_t *list_cases(const job_t *job, const pto_calibrate_options_t *options) {
    case_list_t *lists = must_allocate((size_t)benchmark_count, sizeof *lists);
    for (int i = 0; i < benchmark_count; i++) {
        const benchmark_t *benchmark = benchmark_registry[i];
        if (!is_wanted(options, benchmark))
            continue;
        guard_step(0, "listing the cases of %s", benchmark->name);
        if (!supports_runs(benchmark, job->runs)) {
            if (options->only != NULL)
                case_skip(&lists[i],
                          job->runs == PTO_RUNS_WAITED ? "its runs are not waited for (--runs)"
                                                       : "its runs are waited for (--runs)",
                          "%s", benchmark->name);
        } else if (benchmark->gpu_only != NULL && job->no_gpu[0] != '\0')
            case_skip(&lists[i], job->no_gpu, "%s", benchmark->gpu_only);
        else
            case_list_fill(benchmark, job, &lists[i]);
    }
    return lists;
}

static void write_skips(samples_t *samples, const case_list_t *lists) {
    char key[CASE_NAME_MAX + 16];
    for (int i = 0; i < benchmark_count; i++) {
        for (int j = 0; j < lists[i].skip_count; j++) {
            snprintf(key, sizeof key, "skipped_%s", lists[i].skips[j].what);
            samples_provenance(samples, key, "%s", lists[i].skips[j].reason);
        }
    }
}

/* Rank 0 opens the file. Returns, on all processes, whether it could. */
static bool open_samples(const job_t *job, const pto_calibrate_options_t *options, samples_t **samples) {
    int opened = 1;
    guard_step(0, "opening the samples file");
    if (job->rank == 0) {
        *samples = samples_create(options->out, options->force);
        opened = *samples != NULL;
    }
    MPI_DO(MPI_Bcast(&opened, 1, MPI_INT, 0, job->world));
    return opened == 1;
}

/* --estimate: prints the estimated time of each benchmark. Returns the exit code. */
static int estimate(const job_t *job, const pto_calibrate_options_t *options) {
    case_list_t *lists = list_cases(job, options);
    double sum_s = 0.0;
    if (job->rank == 0)
        printf("%-18s %6s %6s %9s\n", "benchmark", "cases", "sizes", "seconds");
    for (int i = 0; i < benchmark_count; i++) {
        double seconds = engine_estimate(job, options, benchmark_registry[i], &lists[i]);
        sum_s += seconds;
        if (job->rank == 0 && lists[i].case_count > 0) {
            printf("%-18s %6d %6d %9.2f\n", benchmark_registry[i]->name, lists[i].case_count,
                   engine_size_count(options, &lists[i]), seconds);
            fflush(stdout);
        }
        case_list_fini(&lists[i]);
    }
    free(lists);
    if (job->rank != 0)
        return PTO_EXIT_OK;
    printf("%-18s %6s %6s %9.2f\n", "all", "", "", sum_s);
    return finish_output();
}

/* Measures all wanted benchmarks and writes the samples. Returns the exit code. */
static int measure(const job_t *job, const pto_calibrate_options_t *options, int argc, char **argv) {
    samples_t *samples = NULL;
    if (!open_samples(job, options, &samples))
        return 1;
    case_list_t *lists = list_cases(job, options);
    if (job->rank == 0) {
        provenance_write(samples, job, options, argc, argv);
        write_skips(samples, lists);
        samples_begin(samples);
    }
    int left_out = 0;
    for (int i = 0; i < benchmark_count; i++) {
        left_out += engine_run(job, options, benchmark_registry[i], &lists[i], samples);
        case_list_fini(&lists[i]);
    }
    free(lists);
    if (left_out > 0) {
        fprintf(stderr, "portolan-calibrate: %d points had no room in the budget; --budget gives more\n",
                left_out);
    }
    return samples_close(samples, left_out) ? 0 : 1;
}

/* Each process may have arguments of its own (mpirun's `:`), but all must measure the same cases. */
static void compare_options(const pto_calibrate_options_t *options) {
    setting_t settings[] = {{.name = "--only"},    {.name = "--bytes"},      {.name = "--budget"},
                            {.name = "--repeats"}, {.name = "--exhaustive"}, {.name = "--estimate"},
                            {.name = "--runs"}};
    pto_error_t err = {0};
    snprintf(settings[0].value, SETTING_MAX, "%s", options->only != NULL ? options->only : "(all)");
    snprintf(settings[1].value, SETTING_MAX, "%lld:%lld:%lld", (long long)options->from_bytes,
             (long long)options->to_bytes, (long long)options->factor);
    snprintf(settings[2].value, SETTING_MAX, "%.15g", options->budget_s);
    snprintf(settings[3].value, SETTING_MAX, "%d", options->repeats);
    snprintf(settings[4].value, SETTING_MAX, "%s", options->exhaustive ? "yes" : "no");
    snprintf(settings[5].value, SETTING_MAX, "%s", options->estimate ? "yes" : "no");
    snprintf(settings[6].value, SETTING_MAX, "%s", pto_runs_name(options->runs));
    if (agree_on_settings(settings, 7, &err) != PTO_OK && guard_says(err.message))
        die("%s", err.message);
    MPI_DO(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv) {
    pto_calibrate_options_t options = {.timeout_s = GUARD_TIMEOUT_DEFAULT_S};
    pto_error_t err = {0};
    int code = read_options(argc, argv, &options, &err);
    if (print_information(code, &options))
        return finish_output();
    if (code < 0 && options.topology)
        return write_topology(&options);
    guard_begin(pto_calibrate_syntax.program, options.timeout_s);
    MPI_DO(MPI_Init(&argc, &argv));
    guard_meet(MPI_COMM_WORLD);
    code = agree_on_arguments(&pto_calibrate_syntax, code, &err);
    MPI_DO(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    if (code < 0) {
        job_t job;
        guard_step(0, "finding out who is where");
        job_init(&job);
        compare_options(&options);
        job.runs = options.runs;
        code = options.estimate ? estimate(&job, &options) : measure(&job, &options, argc, argv);
        job_fini(&job);
    }
    guard_leave_mpi();
    MPI_DO(MPI_Finalize());
    guard_end();
    return code;
}

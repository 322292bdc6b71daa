/* portolan-calibrate: measure what moving bytes costs on this machine. Writes samples, never fits. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "engine.h"
#include "guard.h"
#include "options.h"
#include "portolan/version.h"
#include "provenance.h"

/* A list for every benchmark that is wanted; others stay empty. */
static case_list_t *list_cases(const job_t *job, const options_t *options) {
    case_list_t *lists = must_allocate((size_t)benchmark_count, sizeof *lists);
    for (int i = 0; i < benchmark_count; i++) {
        if (options_want(options, benchmark_registry[i])) {
            guard_step(0, "listing the cases of %s", benchmark_registry[i]->name);
            benchmark_registry[i]->list(job, &lists[i]);
        }
    }
    return lists;
}

static void write_skips(samples_t *samples, const case_list_t *lists) {
    char key[CASE_NAME_MAX + 16];
    for (int i = 0; i < benchmark_count; i++) {
        for (int j = 0; j < lists[i].skip_count; j++) {
            snprintf(key, sizeof key, "skipped_%s", lists[i].skips[j].what);
            samples_provenance(samples, key, lists[i].skips[j].reason);
        }
    }
}

/* Rank 0 opens the file; all learn whether it could. */
static bool open_samples(const job_t *job, const options_t *options, samples_t **samples) {
    int opened = 1;
    guard_step(0, "opening the samples file");
    if (job->rank == 0) {
        *samples = samples_create(options->out, options->force);
        opened = *samples != NULL;
    }
    MPI_DO(MPI_Bcast(&opened, 1, MPI_INT, 0, job->world));
    return opened == 1;
}

static int measure(const job_t *job, const options_t *options, int argc, char **argv) {
    samples_t *samples = NULL;
    if (!open_samples(job, options, &samples)) {
        return 1;
    }
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

/* Whether all processes understood their arguments; the first that did not says why. */
static bool all_understood(bool understood, const char *error) {
    int rank = 0;
    int size = 0;
    int first = 0;
    MPI_DO(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    MPI_DO(MPI_Comm_size(MPI_COMM_WORLD, &size));
    int mine = understood ? size : rank;
    MPI_DO(MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    if (rank == first) {
        fprintf(stderr, "portolan-calibrate: %s\n", error);
    }
    return first == size;
}

/* Each process may have arguments of its own (mpirun's `:`), but the cases must be the same. */
static void compare_options(const job_t *job, const options_t *options) {
    char own[512];
    char first[sizeof own];
    memset(own, 0, sizeof own);
    snprintf(own, sizeof own, "--only %.256s --bytes %lld:%lld --budget %.15g --repeats %d",
             options->only != NULL ? options->only : "(all)", (long long)options->from_bytes,
             (long long)options->to_bytes, options->budget_s, options->repeats);
    memcpy(first, own, sizeof own);
    MPI_DO(MPI_Bcast(first, (int)sizeof first, MPI_CHAR, 0, job->world));
    if (strcmp(own, first) != 0) {
        die("the processes were given different arguments: MPI rank %d has %s, MPI rank 0 has %s", job->rank,
            own, first);
    }
    MPI_DO(MPI_Barrier(job->world));
}

int main(int argc, char **argv) {
    options_t options;
    char error[OPTIONS_ERROR_MAX] = "";
    bool understood = options_parse(argc, argv, &options, error);
    if (understood && (options.help || options.list || options.version)) {
        if (options.help) {
            options_print_help();
        } else if (options.list) {
            options_print_list();
        } else {
            printf("portolan-calibrate %s, %s\n", pto_version(), gpu_build());
        }
        return 0;
    }
    guard_begin("portolan-calibrate", understood ? options.timeout_s : GUARD_TIMEOUT_DEFAULT_S);
    MPI_DO(MPI_Init(&argc, &argv));
    MPI_DO(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    guard_meet(MPI_COMM_WORLD);
    int result = 2;
    if (all_understood(understood, error)) {
        job_t job;
        guard_step(0, "finding out who is where");
        job_init(&job);
        compare_options(&job, &options);
        result = measure(&job, &options, argc, argv);
        job_fini(&job);
    }
    guard_part();
    MPI_DO(MPI_Finalize());
    guard_end();
    return result;
}

/* portolan-calibrate: measure what moving bytes costs on this machine. Writes samples, never fits. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "engine.h"
#include "options.h"
#include "portolan/version.h"
#include "provenance.h"

/* A list for every benchmark that is wanted; others stay empty. */
static case_list_t *list_cases(const job_t *job, const options_t *options) {
    case_list_t *lists = must_allocate((size_t)benchmark_count, sizeof *lists);
    for (int i = 0; i < benchmark_count; i++) {
        if (options_want(options, benchmark_registry[i])) {
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

/* Only one of the processes complains. */
static int refuse(const char *error) {
    int rank = 0;
    MPI_DO(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    if (rank == 0) {
        fprintf(stderr, "portolan-calibrate: %s\n", error);
    }
    return 2;
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
    MPI_DO(MPI_Init(&argc, &argv));
    MPI_DO(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    int result = 2;
    if (understood) {
        job_t job;
        job_init(&job);
        result = measure(&job, &options, argc, argv);
        job_fini(&job);
    } else {
        result = refuse(error);
    }
    MPI_DO(MPI_Finalize());
    return result;
}

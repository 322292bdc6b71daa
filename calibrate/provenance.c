/* Everything that a reader of the file would otherwise have to ask for. */
#include "provenance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fatal.h"
#include "nccl_dl.h"
#include "portolan/version.h"

enum { LINE_MAX_BYTES = 1024 };

static void write_date(samples_t *samples) {
    char text[32];
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc) != NULL && strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc) > 0) {
        samples_provenance(samples, "date", text);
    }
}

static void write_machine(samples_t *samples, const job_t *job, const pto_calibrate_options_t *options) {
    char text[LINE_MAX_BYTES];
    if (job->device_count > 0) {
        snprintf(text, sizeof text, "%s, %d x %s", job->cpu, job->device_count, job->gpu);
    } else {
        snprintf(text, sizeof text, "%s", job->cpu);
    }
    samples_provenance(samples, "machine", options->machine != NULL ? options->machine : text);
    snprintf(text, sizeof text, "%d sockets, %d GPUs, %d cores", job->sockets, job->device_count, job->cores);
    samples_provenance(samples, "node", text);
    samples_provenance(samples, "cpu", job->cpu);
    samples_provenance(samples, "gpu", job->device_count > 0 ? job->gpu : "none");
    samples_provenance(samples, "driver", job->driver[0] != '\0' ? job->driver : "none");
    samples_provenance(samples, "cuda", job->cuda[0] != '\0' ? job->cuda : "none");
    samples_provenance(samples, "mps", job->mps > 0 ? "yes" : job->mps == 0 ? "no" : "unknown");
}

static void write_layout(samples_t *samples, const job_t *job) {
    char text[LINE_MAX_BYTES];
    int fewest = job->size;
    int most = 0;
    for (int node = 0; node < job->node_count; node++) {
        int count = job_processes_on(job, node);
        fewest = count < fewest ? count : fewest;
        most = count > most ? count : most;
    }
    snprintf(text, sizeof text, "%d", job->node_count);
    samples_provenance(samples, "hosts", text);
    snprintf(text, sizeof text, fewest == most ? "%d processes, %d a node" : "%d processes, %d to %d a node",
             job->size, fewest, most);
    samples_provenance(samples, "layout", text);
    samples_provenance(samples, "binding",
                       job->bound_here ? "to sockets, by portolan-calibrate" : "the launcher's");
}

static void write_mpi(samples_t *samples, const job_t *job) {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_DO(MPI_Get_library_version(text, &length));
    samples_provenance(samples, "mpi", text);
    samples_provenance(samples, "cuda_aware", job->cuda_aware ? "yes" : "no");
}

static void write_nccl(samples_t *samples, const job_t *job) {
    const pto_nccl_library_t *library = NULL;
    bool found = job->no_gpu[0] == '\0' && pto_nccl_library(&library, NULL) == PTO_OK;
    samples_provenance(samples, "nccl", found ? library->version : "none");
}

static void write_clock(samples_t *samples) {
    struct timespec step = {0, 0};
    clock_getres(CLOCK_MONOTONIC, &step);
    char source[64] = "unknown";
    FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "r");
    if (file != NULL) {
        if (fscanf(file, "%63s", source) != 1) {
            snprintf(source, sizeof source, "unknown");
        }
        fclose(file);
    }
    char text[LINE_MAX_BYTES];
    snprintf(text, sizeof text, "%s, resolution %ld ns, source %s", clock_name(), step.tv_nsec, source);
    samples_provenance(samples, "clock", text);
}

static void write_command(samples_t *samples, const pto_calibrate_options_t *options, int argc, char **argv) {
    size_t size = 1;
    for (int i = 0; i < argc; i++) {
        size += strlen(argv[i]) + 1;
    }
    char *command = must_allocate(size, 1);
    size_t length = 0;
    for (int i = 0; i < argc; i++) {
        const char *word = argv[i];
        if (i == 0 && strrchr(word, '/') != NULL) {
            word = strrchr(word, '/') + 1;
        }
        length += (size_t)snprintf(command + length, size - length, "%s%s", i > 0 ? " " : "", word);
    }
    samples_provenance(samples, "portolan", pto_version());
    samples_provenance(samples, "command", command);
    free(command);
    char text[LINE_MAX_BYTES];
    snprintf(text, sizeof text, "%g s for each benchmark, at most %d samples of a point", options->budget_s,
             options->repeats);
    samples_provenance(samples, "budget", text);
}

void provenance_write(samples_t *samples, const job_t *job, const pto_calibrate_options_t *options, int argc,
                      char **argv) {
    write_date(samples);
    write_machine(samples, job, options);
    write_layout(samples, job);
    write_mpi(samples, job);
    write_nccl(samples, job);
    write_clock(samples);
    write_command(samples, options, argc, argv);
    samples_provenance(
        samples, "unit",
        "seconds are per one-way message, copy or call; bytes are of each message or copy, never a "
        "total; multi_message seconds are one way for all messages together");
    samples_provenance(samples, "run", "counts the repetitions of a point");
    samples_provenance(
        samples, "how",
        "after a warm-up, each sample is the mean of as many iterations as make 200 microseconds, "
        "of the slowest process involved, from a synchronised start");
}

/* Writes the provenance of samples (samples.h): the comment lines `# key=value` at the top of the file, about
 * the machine, its software, the job and the options. */
#include "samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fatal.h"
#include "nccl/nccl_dl.h"
#include "portolan/api.h"

static void write_date(samples_t *samples) {
    char text[32];
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc) != NULL && strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc) > 0)
        samples_provenance(samples, "date", "%s", text);
}

static void write_machine(samples_t *samples, const job_t *job, const pto_calibrate_options_t *options) {
    if (options->machine != NULL)
        samples_provenance(samples, "machine", "%s", options->machine);
    else if (job->device_count > 0)
        samples_provenance(samples, "machine", "%s, %d x %s", job->cpu, job->device_count, job->gpu);
    else
        samples_provenance(samples, "machine", "%s", job->cpu);
    samples_provenance(samples, "node", "%d sockets, %d GPUs, %d cores", job->sockets, job->device_count,
                       job->cores);
    samples_provenance(samples, "cpu", "%s", job->cpu);
    samples_provenance(samples, "gpu", "%s", job->device_count > 0 ? job->gpu : "none");
    samples_provenance(samples, "driver", "%s", job->driver[0] != '\0' ? job->driver : "none");
    samples_provenance(samples, "cuda", "%s", job->cuda[0] != '\0' ? job->cuda : "none");
    samples_provenance(samples, "mps", "%s", pto_mps_name(job->mps));
    samples_provenance(samples, "runs", "%s", pto_runs_name(job->runs));
}

static void write_layout(samples_t *samples, const job_t *job) {
    int fewest = job->size, most = 0;
    for (int node = 0; node < job->node_count; node++) {
        int count = job_processes_on(job, node);
        fewest = count < fewest ? count : fewest;
        most = count > most ? count : most;
    }
    samples_provenance(samples, "hosts", "%d", job->node_count);
    if (fewest == most)
        samples_provenance(samples, "layout", "%d processes, %d a node", job->size, most);
    else
        samples_provenance(samples, "layout", "%d processes, %d to %d a node", job->size, fewest, most);
    samples_provenance(samples, "binding", "%s",
                       job->bound_here ? "to sockets, by portolan-calibrate" : "the launcher's");
}

/* Cuts off the version at MPICH's configure options, 2 KB of text. */
static void write_mpi(samples_t *samples, const job_t *job) {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_DO(MPI_Get_library_version(text, &length));
    for (char *at = strstr(text, "configure:"); at != NULL && at > text && *at != '\n'; at--)
        *at = '\0';
    samples_provenance(samples, "mpi", "%s", text);
    samples_provenance(samples, "cuda_aware", "%s", job->cuda_aware ? "yes" : "no");
}

static void write_nccl(samples_t *samples, const job_t *job) {
    const pto_nccl_library_t *library = NULL;
    bool found = job->no_gpu[0] == '\0' && pto_nccl_library(&library, NULL) == PTO_OK;
    samples_provenance(samples, "nccl", "%s", found ? library->version : "none");
}

static void write_clock(samples_t *samples) {
    struct timespec step = {0, 0};
    clock_getres(CLOCK_MONOTONIC, &step);
    char source[64] = "unknown";
    FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "r");
    if (file != NULL) {
        if (fscanf(file, "%63s", source) != 1)
            snprintf(source, sizeof source, "unknown");
        fclose(file);
    }
    samples_provenance(samples, "clock", "%s, resolution %ld ns, source %s", clock_name(), step.tv_nsec,
                       source);
}

static void write_command(samples_t *samples, const pto_calibrate_options_t *options, int argc, char **argv) {
    size_t size = 1, length = 0;
    for (int i = 0; i < argc; i++)
        size += strlen(argv[i]) + 1;
    char *command = must_allocate(size, 1);
    for (int i = 0; i < argc; i++) {
        const char *slash = i == 0 ? strrchr(argv[i], '/') : NULL;
        length += (size_t)snprintf(command + length, size - length, "%s%s", i > 0 ? " " : "",
                                   slash != NULL ? slash + 1 : argv[i]);
    }
    samples_provenance(samples, "portolan", "%s", pto_version());
    samples_provenance(samples, "command", "%s", command);
    free(command);
    samples_provenance(samples, "budget", "%g s for each benchmark, at most %d samples of a point",
                       options->budget_s, options->repeats);
    samples_provenance(samples, "sizes", "%s",
                       options->exhaustive ? "all" : "every second power of two, more at limits and bends");
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

/* Energy counters that fail on one process only.
 *
 *   mpirun -n N test_counters
 *
 * Every process must get the error, and none a sum that lacks the failed process's joules. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agreement.h"
#include "energy.h"

/* A counter of each process: every read adds a joule, until the reads run out. */
typedef struct {
    double joules;
    int reads_left;
    char id[METER_ID_MAX];
} counter_t;

static int rank, size;
static int failing_rank = -1, failing_read;
static bool opens = true;
static int open_count; /* counters that have not been closed */

static pto_status_t counter_open(const meter_place_t *place, void **meter, pto_error_t *err) {
    if (!opens && rank == failing_rank)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "rank %d has no counter", rank);
    counter_t *counter = calloc(1, sizeof *counter);
    if (!counter)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    snprintf(counter->id, sizeof counter->id, "counter of %d", rank);
    counter->reads_left = rank == failing_rank ? failing_read : 1 << 30;
    open_count++;
    *meter = counter;
    return PTO_OK;
}

static pto_status_t counter_read(void *meter, double *joules, pto_error_t *err) {
    counter_t *counter = meter;
    if (counter->reads_left-- == 0)
        return pto_error_set(err, PTO_ERR_IO, "the counter of rank %d cannot be read", rank);
    *joules = ++counter->joules;
    return PTO_OK;
}

static const char *counter_id(const void *meter) { return ((const counter_t *)meter)->id; }

static void counter_close(void *meter) {
    open_count--;
    free(meter);
}

static const meter_source_t working = {"working",    "GPUs",     counter_open,
                                       counter_read, counter_id, counter_close};
static const meter_source_t working_too = {"working",    "CPUs",     counter_open,
                                           counter_read, counter_id, counter_close};

static pto_status_t no_counter(const meter_place_t *place, void **meter, pto_error_t *err) {
    return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "there is none");
}

static const meter_source_t absent = {"absent", "CPUs", no_counter, counter_read, counter_id, counter_close};

static int failures;

/* True if it holds on all processes. */
static void expect(bool holds, const char *what) {
    pto_error_t err = {0};
    pto_status_t status = holds ? PTO_OK : pto_error_set(&err, PTO_ERR_RANGE, "not on rank %d", rank);
    status = agree_on_status(MPI_COMM_WORLD, status, &err);
    failures += status != PTO_OK;
    if (rank == 0)
        printf("%s %s%s%s\n", status == PTO_OK ? "ok  " : "FAIL", what, err.message[0] ? ": " : "",
               err.message);
}

static energy_job_t open_job(void) {
    static const meter_source_t *const source[ENERGY_COUNT] = {&working, &absent};
    energy_job_t job;
    pto_error_t err = {0};
    if (energy_open(MPI_COMM_WORLD, source, &(meter_place_t){.gpu = 0}, 0.1, &job, &err) != PTO_OK)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return job;
}

static pto_status_t measure(const energy_job_t *job, double sum[ENERGY_COUNT], pto_error_t *err) {
    double before[ENERGY_COUNT] = {0}, used[ENERGY_COUNT] = {0};
    pto_status_t status = agree_on_status(job->comm, energy_read(job, before, err), err);
    if (status != PTO_OK)
        return status;
    status = energy_read(job, used, err);
    for (int i = 0; i < ENERGY_COUNT; i++)
        used[i] -= before[i];
    return energy_add_up(job, status, used, sum, err);
}

/* Opening a counter reads it at least three times. */
static void a_failed_read_fails_everywhere(int read, const char *what) {
    char message[PTO_ERROR_MESSAGE_MAX];
    double sum[ENERGY_COUNT] = {0};
    pto_error_t err = {0};
    failing_rank = size - 1;
    failing_read = read;
    energy_job_t job = open_job();
    pto_status_t status = measure(&job, sum, &err);
    snprintf(message, sizeof message, "the counter of rank %d cannot be read", failing_rank);
    expect(status == PTO_ERR_IO && strcmp(err.message, message) == 0, what);
    energy_close(&job);
}

int main(int argc, char **argv) {
    double sum[ENERGY_COUNT] = {0};
    pto_error_t err = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    energy_job_t job = open_job();
    expect(measure(&job, sum, &err) == PTO_OK && sum[ENERGY_GPUS] > size - 0.5 &&
               sum[ENERGY_GPUS] < size + 0.5 && job.source[ENERGY_GPUS].counter_count == size,
           "every process's joules are in the sum");
    energy_close(&job);
    a_failed_read_fails_everywhere(3, "a counter that fails before the window fails on all processes");
    a_failed_read_fails_everywhere(4, "a counter that fails after the window fails on all processes");
    failing_read = 1;
    job = open_job();
    expect(!energy_any(&job) && strstr(job.source[ENERGY_GPUS].reason, "cannot be read"),
           "a counter that fails while it is opened is not used, and all have the reason");
    energy_close(&job);
    opens = false;
    job = open_job();
    expect(!energy_any(&job) && strstr(job.source[ENERGY_GPUS].reason, "has no counter"),
           "a counter that one process lacks is not used, and all have the reason");
    energy_close(&job);
    opens = true;
    failing_rank = -1;
    static const meter_source_t *const both[ENERGY_COUNT] = {&working, &working_too};
    if (energy_open(MPI_COMM_WORLD, both, &(meter_place_t){.gpu = 0}, 0.1, &job, &err) != PTO_OK)
        MPI_Abort(MPI_COMM_WORLD, 1);
    expect(open_count == 2, "both kinds of counters are open");
    expect(measure(&job, sum, &err) == PTO_OK && sum[ENERGY_GPUS] > size - 0.5 &&
               sum[ENERGY_GPUS] < size + 0.5 && sum[ENERGY_CPUS] > size - 0.5 &&
               sum[ENERGY_CPUS] < size + 0.5,
           "each kind has a sum of its own");
    energy_close(&job);
    expect(open_count == 0, "all counters are closed again");
    MPI_Finalize();
    return failures > 0;
}

/* Energy counters of a job: which process reads which, how often they are updated, and the sum of all. */
#include "energy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agreement.h"
#include "clock.h"

/* Minimum number of a counter's updates in a window: an error of one update is then at most 5 percent. */
enum { STEPS_LEAST = 20 };

/* A counter that does not change for this long is unusable. */
static const double still_s = 1.0;

/* Collective. Lets only the first of the processes that share a counter keep it. Sets counter_count. */
static pto_status_t assign_counters(MPI_Comm comm, energy_source_t *source, pto_error_t *err) {
    int rank = 0, size = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    char mine[METER_ID_MAX] = "", (*id)[METER_ID_MAX] = calloc((size_t)size, sizeof *id);
    strncpy(mine, source->source->id(source->meter), sizeof mine - 1);
    pto_status_t status =
        id ? PTO_OK : pto_error_set(err, PTO_ERR_MEMORY, "out of memory for energy counters");
    status = agree_on_status(comm, status, err);
    if (status != PTO_OK || !id) {
        free(id);
        return status;
    }
    MPI_Allgather(mine, METER_ID_MAX, MPI_CHAR, id, METER_ID_MAX, MPI_CHAR, comm);
    for (int i = 0; i < size; i++) {
        bool seen = false;
        for (int j = 0; j < i && !seen; j++)
            seen = strcmp(id[i], id[j]) == 0;
        source->counter_count += !seen;
        if (i == rank && seen) {
            source->source->close(source->meter);
            source->meter = NULL;
        }
    }
    free(id);
    return PTO_OK;
}

/* Measures the time between two updates of a counter. */
static pto_status_t measure_step(const energy_source_t *source, double *step_s, pto_error_t *err) {
    double last = 0, now = 0, changed_s = now_s();
    pto_status_t status = source->source->read(source->meter, &last, err);
    for (int changes = 0; changes < 2 && status == PTO_OK;) {
        status = source->source->read(source->meter, &now, err);
        *step_s = now_s() - changed_s;
        if (now > last) {
            changes++;
            changed_s = now_s();
            last = now;
        } else if (*step_s > still_s) {
            return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "a counter has not changed for %g s", still_s);
        }
    }
    return status;
}

static void close_source(energy_source_t *source) {
    if (source->meter)
        source->source->close(source->meter);
    source->meter = NULL;
    source->counter_count = 0;
}

/* Collective. Returns whether all processes can use the source. Otherwise all close it and get the reason. */
static bool agree_to_use(MPI_Comm comm, energy_source_t *source, pto_status_t status, pto_error_t *cause) {
    if (agree_on_status(comm, status, cause) == PTO_OK)
        return true;
    memcpy(source->reason, cause->message, sizeof source->reason);
    close_source(source);
    return false;
}

static pto_status_t open_source(MPI_Comm comm, const meter_place_t *place, energy_source_t *source,
                                pto_error_t *err) {
    pto_error_t cause = {0};
    if (!agree_to_use(comm, source, source->source->open(place, &source->meter, &cause), &cause))
        return PTO_OK;
    pto_status_t status = assign_counters(comm, source, err);
    if (status != PTO_OK)
        return status;
    double mine_s = 0;
    status = source->meter ? measure_step(source, &mine_s, &cause) : PTO_OK;
    if (agree_to_use(comm, source, status, &cause))
        MPI_Allreduce(&mine_s, &source->step_s, 1, MPI_DOUBLE, MPI_MAX, comm);
    return PTO_OK;
}

pto_status_t energy_open(MPI_Comm comm, const meter_source_t *const source[ENERGY_COUNT],
                         const meter_place_t *place, double window_s, energy_job_t *job, pto_error_t *err) {
    pto_status_t status = PTO_OK;
    *job = (energy_job_t){.comm = comm, .window_s = window_s};
    for (int i = 0; i < ENERGY_COUNT && status == PTO_OK; i++) {
        job->source[i].source = source[i];
        status = open_source(comm, place, &job->source[i], err);
        job->window_s = fmax(job->window_s, STEPS_LEAST * job->source[i].step_s);
    }
    if (status != PTO_OK)
        energy_close(job);
    return status;
}

void energy_close(energy_job_t *job) {
    for (int i = 0; i < ENERGY_COUNT; i++)
        if (job->source[i].source)
            close_source(&job->source[i]);
}

bool energy_any(const energy_job_t *job) {
    for (int i = 0; i < ENERGY_COUNT; i++)
        if (job->source[i].counter_count > 0)
            return true;
    return false;
}

pto_status_t energy_read(const energy_job_t *job, double joules[ENERGY_COUNT], pto_error_t *err) {
    pto_status_t status = PTO_OK;
    for (int i = 0; i < ENERGY_COUNT && status == PTO_OK; i++) {
        const energy_source_t *source = &job->source[i];
        joules[i] = 0;
        if (source->meter)
            status = source->source->read(source->meter, &joules[i], err);
    }
    return status;
}

pto_status_t energy_add_up(const energy_job_t *job, pto_status_t status, const double mine[ENERGY_COUNT],
                           double sum[ENERGY_COUNT], pto_error_t *err) {
    status = agree_on_status(job->comm, status, err);
    if (status == PTO_OK)
        MPI_Allreduce(mine, sum, ENERGY_COUNT, MPI_DOUBLE, MPI_SUM, job->comm);
    return status;
}

/* The energy of a whole job: every counter of every host that its processes run on, each read by one of them.
 */
#ifndef PTO_ENERGY_H
#define PTO_ENERGY_H

#include <mpi.h>
#include <stdbool.h>

#include "meter.h"

typedef enum { ENERGY_GPUS, ENERGY_CPUS, ENERGY_COUNT } energy_kind_t;

/* One source of the job; all but `meter` are equal on all processes. */
typedef struct {
    const meter_source_t *source;
    void *meter;       /* NULL: nothing is read, or another process reads the same counter */
    int counter_count; /* different counters; 0: some process can't read its own, so none is used; see
                          `reason` */
    double step_s;     /* the update interval of the slowest counter */
    char reason[PTO_ERROR_MESSAGE_MAX];
} energy_source_t;

typedef struct {
    MPI_Comm comm;
    energy_source_t source[ENERGY_COUNT];
    double window_s; /* long enough for the counters' steps */
} energy_job_t;

/* Open the sources, GPUs' and CPUs'. Collective. `window_s`: minimum length of a measurement. A source that
 * can't be read is not an error. Free with energy_close. */
pto_status_t energy_open(MPI_Comm comm, const meter_source_t *const source[ENERGY_COUNT],
                         const meter_place_t *place, double window_s, energy_job_t *job, pto_error_t *err);
void energy_close(energy_job_t *job);

/* Returns whether anything can be read. */
bool energy_any(const energy_job_t *job);

/* The process's own counters now. */
pto_status_t energy_read(const energy_job_t *job, double joules[ENERGY_COUNT], pto_error_t *err);

/* The sum over all processes of what each has measured, if its `status` is PTO_OK. Collective. If any process
 * failed, all return the error of the first one (agree_on_status), and `sum` is unset. */
pto_status_t energy_add_up(const energy_job_t *job, pto_status_t status, const double mine[ENERGY_COUNT],
                           double sum[ENERGY_COUNT], pto_error_t *err);

#endif

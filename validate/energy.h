/* The energy of a whole MPI job: the energy counters (meter.h) of all hosts and GPUs that it runs on. If
 * several processes have access to a counter, one of them reads it. */
#ifndef PTO_ENERGY_H
#define PTO_ENERGY_H

#include <mpi.h>
#include <stdbool.h>

#include "meter.h"

typedef enum { ENERGY_GPUS, ENERGY_CPUS, ENERGY_COUNT } energy_kind_t;

/* A source of the job: NVML or RAPL. All members but `meter` are equal on all processes. */
typedef struct {
    const meter_source_t *source;
    void *meter;       /* NULL: this process reads no counter */
    int counter_count; /* distinct counters of the job; 0: none is used, because of `reason` */
    double step_s;     /* update interval of the slowest counter */
    char reason[PTO_ERROR_MESSAGE_MAX];
} energy_source_t;

typedef struct {
    MPI_Comm comm;
    energy_source_t source[ENERGY_COUNT];
    double window_s; /* minimum length of a measurement, many update intervals long */
} energy_job_t;

/* Collective. Opens both sources. A source is used only if all processes can read it; if not, that is not an
 * error. `window_s`: minimum length of a measurement. Free with energy_close. */
pto_status_t energy_open(MPI_Comm comm, const meter_source_t *const source[ENERGY_COUNT],
                         const meter_place_t *place, double window_s, energy_job_t *job, pto_error_t *err);
void energy_close(energy_job_t *job);

/* Returns whether anything can be read. */
bool energy_any(const energy_job_t *job);

/* Reads this process's counters; 0 for one that it does not read. */
pto_status_t energy_read(const energy_job_t *job, double joules[ENERGY_COUNT], pto_error_t *err);

/* Collective. Sums over all processes what each has measured. `status` is the result of this process's
 * measurement. If any failed, all return the error of the first one that did (agree_on_status), and `sum` is
 * unset. */
pto_status_t energy_add_up(const energy_job_t *job, pto_status_t status, const double mine[ENERGY_COUNT],
                           double sum[ENERGY_COUNT], pto_error_t *err);

#endif

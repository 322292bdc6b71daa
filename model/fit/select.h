/* Selecting the samples that a part of the machine is fitted to. */
#ifndef PTO_FIT_SELECT_H
#define PTO_FIT_SELECT_H

#include "entries.h"

/* The value of the samples' column `level` for copies and kernels, by reach. */
static const pto_sample_level_t fit_place_of_reach[PTO_REACH_COUNT] = {
    [PTO_REACH_ON_SOCKET] = PTO_AT_ON_SOCKET,
    [PTO_REACH_OFF_SOCKET] = PTO_AT_OFF_SOCKET,
};

/* The value of the samples' column `space`. */
static const pto_sample_space_t fit_where_of_space[PTO_SPACE_COUNT] = {
    [PTO_SPACE_CPU] = PTO_IN_CPU,
    [PTO_SPACE_GPU] = PTO_IN_GPU,
};

/* Which samples to select, by column. PTO_IN_COUNT, PTO_AT_COUNT, procs 0 and pair_hash 0 match all. */
typedef struct {
    pto_benchmark_t benchmark;
    pto_sample_space_t where; /* column `space` */
    pto_sample_level_t place; /* column `level` */
    int32_t procs;
    uint64_t pair_hash; /* pto_sample_pair_hash of column `pair` */
} fit_filter_t;

/* Returns a file's value of a provenance key; NULL: it has none. */
const char *fit_provenance(const pto_samples_t *samples, int file, const char *key);

/* Mark the samples of slow jobs and report these jobs. In minima mode, slow jobs do no harm; there, mark the
 * samples of benchmarks whose minima a loaded host has made useless. */
void fit_skip_slow_jobs(fit_work_t *work);

/* The samples that a filter selects, without slow jobs; in minima mode the minimum of each (procs, messages,
 * bytes). They last until fit_free_all. After an error, there are none. */
fit_points_t fit_select(fit_work_t *work, fit_filter_t filter);

/* Those of a benchmark in all spaces, or in one, at all levels. */
fit_points_t fit_select_all(fit_work_t *work, pto_benchmark_t benchmark);
fit_points_t fit_select_in(fit_work_t *work, pto_benchmark_t benchmark, pto_space_t space);

#endif

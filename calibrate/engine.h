/* Measures the cases of the benchmarks that were asked for, within their budgets, and writes every finished
 * point. */
#ifndef PORTOLAN_CALIBRATE_ENGINE_H
#define PORTOLAN_CALIBRATE_ENGINE_H

#include "benchmark.h"
#include "command_line/calibrate_options.h"
#include "samples.h"

/* Collective. `samples` is rank 0's, NULL elsewhere. Returns how many points had no room in the budget (rank
 * 0 knows; elsewhere 0). */
int engine_run(const job_t *job, const pto_calibrate_options_t *options, const benchmark_t *benchmark,
               const case_list_t *list, samples_t *samples);

/* Collective. About how many seconds engine_run will take; rank 0 knows. Measures next to nothing. */
double engine_estimate(const job_t *job, const pto_calibrate_options_t *options, const benchmark_t *benchmark,
                       const case_list_t *list);

/* Sizes of all cases, of which an exhaustive run measures each. */
int engine_size_count(const pto_calibrate_options_t *options, const case_list_t *list);

#endif

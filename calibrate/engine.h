/* Measures the cases of benchmarks (benchmark.h) in a time budget, and writes each point when it is finished.
 * */
#ifndef PORTOLAN_CALIBRATE_ENGINE_H
#define PORTOLAN_CALIBRATE_ENGINE_H

#include "benchmark.h"
#include "command_line/calibrate_options.h"
#include "samples.h"

/* Collective. `samples` is NULL except at rank 0. Returns, at rank 0, the number of points left out for
 * lack of time. */
int engine_run(const job_t *job, const pto_calibrate_options_t *options, const benchmark_t *benchmark,
               const case_list_t *list, samples_t *samples);

/* Collective. Returns, at rank 0, about how many seconds engine_run will take. Measures only a few points. */
double engine_estimate(const job_t *job, const pto_calibrate_options_t *options, const benchmark_t *benchmark,
                       const case_list_t *list);

/* Returns the number of points of all cases on their ladders of sizes (sizes.h). */
int engine_size_count(const pto_calibrate_options_t *options, const case_list_t *list);

#endif

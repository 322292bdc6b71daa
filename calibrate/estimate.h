/* Estimates how long a case will take (--estimate), from probes: the measured times of a few sizes. */
#ifndef PORTOLAN_CALIBRATE_ESTIMATE_H
#define PORTOLAN_CALIBRATE_ESTIMATE_H

#include "sizes.h"

enum { PROBE_MAX = 8, PROBE_SAMPLES = 3 };

typedef struct {
    int64_t bytes;
    double seconds; /* of one iteration */
    double scatter; /* standard deviation of a sample, relative */
} probe_t;

/* Returns the probe of a size from its samples, and sorts them. */
probe_t probe_of(int64_t bytes, double seconds[PROBE_SAMPLES]);

/* Returns the estimated seconds of a case. `probe`: in ascending order of bytes. `meeting_s`: what a
 * repetition takes besides its iterations. */
double estimate_s(const sizes_options_t *options, const probe_t *probe, int probe_count, double meeting_s);

#endif

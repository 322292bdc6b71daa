/* Progress of what takes long: a line on standard error that the next one overwrites. */
#ifndef PTO_PROGRESS_H
#define PTO_PROGRESS_H

#include "options.h"
#include "portolan/simulate.h"

/* --progress, or standard error is a terminal. */
bool pto_progress_wanted(const pto_options_t *options);

void pto_progress_show(const pto_simulate_progress_t *progress);
void pto_progress_clear(const pto_options_t *options);

#endif

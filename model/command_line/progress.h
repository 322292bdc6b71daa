/* The progress of long calls of the library: a line on standard error that the next one overwrites. */
#ifndef PTO_COMMAND_LINE_PROGRESS_H
#define PTO_COMMAND_LINE_PROGRESS_H

#include "portolan/simulate.h"

/* Show the progress of all long calls from now on, once they take more than a second. */
void pto_progress_watch(void);

/* The same where standard error is a terminal. */
void pto_progress_watch_terminal(void);

/* For pto_simulate_options_t: names the strategy and algorithm being simulated beside the progress. */
void pto_progress_show(const pto_simulate_progress_t *progress);

#endif

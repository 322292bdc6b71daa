/* A bar on a terminal's standard error: which benchmark, how far, and at most how long it still takes. */
#ifndef PORTOLAN_CALIBRATE_PROGRESS_H
#define PORTOLAN_CALIBRATE_PROGRESS_H

#include <stdbool.h>

/* Returns whether standard error is a terminal, or a launcher's pipe to one. */
bool progress_wanted(void);

/* Draw the bar for `done` of `total` points; at most ten times a second. */
void progress_show(const char *benchmark, int done, int total, double left_s);

/* Removes the progress bar from the terminal. */
void progress_clear(void);

#endif

/* A progress bar on standard error: the benchmark, the finished points, and the maximum time left. */
#ifndef PORTOLAN_CALIBRATE_PROGRESS_H
#define PORTOLAN_CALIBRATE_PROGRESS_H

#include <stdbool.h>

/* Returns whether standard error is a terminal, or a launcher's pipe to one. */
bool progress_wanted(void);

/* Draws the bar for `done` of `total` points, at most ten times a second. */
void progress_show(const char *benchmark, int done, int total, double left_s);

/* Removes the progress bar from the terminal. */
void progress_clear(void);

#endif

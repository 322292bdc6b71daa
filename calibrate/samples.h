/* The samples file: provenance, then rows, each finished point written at once. */
#ifndef PORTOLAN_CALIBRATE_SAMPLES_H
#define PORTOLAN_CALIBRATE_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include "benchmark.h"

typedef struct samples samples_t;

/* "-" is standard output. NULL where the file can't be made, or exists and `force` isn't given; the reason
 * goes to standard error. With `force` an existing file is replaced when the samples are closed (row_file.h).
 * From then on SIGINT and SIGTERM end this process with what is written kept. */
samples_t *samples_create(const char *path, bool force);

/* Line breaks in the formatted value become blanks. */
void samples_provenance(samples_t *samples, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Ends the provenance: the line that says whether the file is complete, and the names of the columns. */
void samples_begin(samples_t *samples);

/* `benchmark` is the case's name, or that of one of its parts. `had`: samples of the point that were written
 * before. */
void samples_point(samples_t *samples, const case_t *what, const char *benchmark, int64_t bytes, int had,
                   const double *seconds, int count);

/* `left_out` points were beyond the budget. Returns false where the file could not be written whole. */
bool samples_close(samples_t *samples, int left_out);

#endif

/* The samples file (docs/formats.md): provenance, then rows. It is written by rank 0 of calibrate, point by
 * point. */
#ifndef PORTOLAN_CALIBRATE_SAMPLES_H
#define PORTOLAN_CALIBRATE_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include "benchmark.h"
#include "command_line/calibrate_options.h"

typedef struct samples samples_t;

/* Creates the file; "-" is standard output. Returns NULL, with the reason on standard error, if the file
 * cannot be created, or exists and `force` is not given. With `force`, an existing file is replaced when the
 * samples are closed (row_file.h). After this call, SIGINT and SIGTERM end the process and keep what is
 * written. */
samples_t *samples_create(const char *path, bool force);

/* Writes a line `# key=value`. Line breaks in the formatted value become blanks. */
void samples_provenance(samples_t *samples, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Writes the machine, its software, the layout of the job, and how it was measured, with the command line
 * `argv`. Call it in the process that writes the file. */
void provenance_write(samples_t *samples, const job_t *job, const pto_calibrate_options_t *options, int argc,
                      char **argv);

/* Ends the provenance: writes `# complete=`, which samples_close rewrites, and the names of the columns. */
void samples_begin(samples_t *samples);

/* Writes `count` rows of a point. `benchmark` is the name of the case or of one of its parts; `earlier`, the
 * number of rows of the point that were written before. */
void samples_point(samples_t *samples, const case_t *bench_case, const char *benchmark, int64_t bytes,
                   int earlier, const double *seconds, int count);

/* Ends the file and frees the samples. `left_out`: the number of points that --budget left no time for.
 * Returns false if the file could not be written whole. */
bool samples_close(samples_t *samples, int left_out);

#endif

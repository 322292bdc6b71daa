/* The provenance of samples: the `# key=value` lines at the beginning of their file. */
#ifndef PORTOLAN_CALIBRATE_PROVENANCE_H
#define PORTOLAN_CALIBRATE_PROVENANCE_H

#include "command_line/calibrate_options.h"
#include "job.h"
#include "samples.h"

/* Writes the machine, its software, the layout of the job, and how it was measured, with the command line
 * `argv`. Call it in the process that writes the file, before the first sample. */
void provenance_write(samples_t *samples, const job_t *job, const pto_calibrate_options_t *options, int argc,
                      char **argv);

#endif

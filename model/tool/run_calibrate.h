/* portolan run --calibrate: a machine file for the next runs (docs/decisions/0052). */
#ifndef PTO_RUN_CALIBRATE_H
#define PTO_RUN_CALIBRATE_H

#include "portolan/api.h"

typedef struct {
    const char *machine; /* the file to write; a name in a folder of machines is none */
    const char *budget;  /* portolan-calibrate's --budget */
    const char
        *library; /* the drop-in, beside whose MPI library's portolan-calibrate is; NULL: the installed */
    char *const *command; /* LAUNCHER ... -- PROGRAM ...; NULL behind the last word */
    int separator;        /* where that -- is */
} pto_calibration_t;

/* The word "--" between launcher and program; -1: none, or nothing on one side of it. */
int pto_run_separator(char *const *command);

/* Run the program without the library. If it succeeds, measure with its launcher, and fit. `*exit_code` is
 * that of the program, or 128 and the signal that this command was sent; what goes wrong behind the program
 * is printed and changes nothing. Errors: the program cannot be started. */
pto_status_t pto_run_and_calibrate(const pto_calibration_t *calibration, int *exit_code, pto_error_t *err);

#endif

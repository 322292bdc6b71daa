/* A fit under way, and the entries that it reports. */
#ifndef PORTOLAN_FIT_ENTRIES_H
#define PORTOLAN_FIT_ENTRIES_H

#include "regress.h"

/* A line that misses the middle of its samples by more than this says nothing. */
static const double fit_useless_residual = 0.5;

/* A residual above this is worth a remark in the machine file. */
static const double fit_doubtful_residual = 0.15;

/* A fit under way. */
typedef struct {
    const pto_samples_t *samples;
    const pto_fit_options_t *options;
    uint8_t *skip; /* by sample: of a slow job */
    pto_fit_t *fit;
    pto_error_t *err;
} fit_work_t;

/* A new entry, zeroed but for its name, at the end; NULL where memory is out (the error is set). */
pto_fit_entry_t *fit_entry_add(fit_work_t *work, pto_fit_kind_t kind, const char *format, ...)
    PTO_PRINTF_LIKE(3, 4);

/* Fit alpha and beta of `points` under an entry's name and keep both in `postal`. Too little or useless data
 * is PTO_ERR_NOT_FOUND, or with --partial an absent entry and a postal that stays unknown. */
pto_status_t fit_postal_entry(fit_work_t *work, const char *name, const fit_points_t *points,
                              pto_postal_t *postal);

/* PTO_ERR_NOT_FOUND with the parameter's name, or with --partial an absent entry. */
pto_status_t fit_give_up(fit_work_t *work, const char *name, const char *why);

/* As many digits as a file carries. */
double fit_round(double value);

/* A parameter from column `j` of a regression, rounded to as many digits as a file carries. */
pto_param_t fit_param(const fit_regression_t *regression, int j);

#endif

/* State of a fit, and the entries that it reports. */
#ifndef PTO_FIT_ENTRIES_H
#define PTO_FIT_ENTRIES_H

#include "machine/registry.h"
#include "regress.h"

/* A larger residual is mentioned in the machine file. */
static const double fit_doubtful_residual = 0.15;

/* State of a fit. */
typedef struct {
    const pto_samples_t *samples;
    const pto_fit_options_t *options;
    bool *skip;         /* by sample: belongs to a slow job */
    bool keeps_useless; /* lines far off their samples are kept, with a note */
    pto_fit_t *fit;
    pto_error_t *err;
} fit_work_t;

/* The key in a machine file of the fitted machine's part at this address; returns `key`. */
const char *fit_key(const fit_work_t *work, const void *at, char key[PTO_PARAM_KEY_MAX]);

/* Appends an entry, zeroed but for its name; NULL if out of memory (the error is set). */
pto_fit_entry_t *fit_entry_add(fit_work_t *work, pto_fit_kind_t kind, const char *format, ...)
    PTO_PRINTF_LIKE(3, 4);

/* An absent entry, which only has samples and a note. Errors: PTO_ERR_MEMORY. */
pto_status_t fit_note(fit_work_t *work, const char *name, size_t sample_count, const char *format, ...)
    PTO_PRINTF_LIKE(4, 5);

/* Fit alpha and beta of `points` under an entry's name and store both in `postal`. If the data are
 * insufficient or useless: an absent entry and an unknown postal. */
pto_status_t fit_postal_entry(fit_work_t *work, const char *name, const fit_points_t *points,
                              pto_postal_t *postal);

/* Keep the line whose alpha and beta are the columns from `alpha` on, as an entry and in `postal`. What
 * raises doubts about it flags both; `missed` does if nothing worse is found, unless it is empty. */
pto_status_t fit_keep_postal(fit_work_t *work, const char *name, const fit_points_t *points,
                             const fit_regression_t *line, int alpha, const char *missed,
                             pto_postal_t *postal);

/* Returns whether half of the samples lie so far off the line that it is left out. */
bool fit_is_useless(const fit_work_t *work, const fit_regression_t *line);

/* An absent entry of a parameter that was measured. Errors: PTO_ERR_MEMORY. */
pto_status_t fit_give_up(fit_work_t *work, const char *name, const char *why);

/* Rounds to as many digits as a machine file carries. */
double fit_round(double value);

/* Returns the parameter of column `j` of a regression, rounded to as many digits as a machine file carries.
 */
pto_param_t fit_param(const fit_regression_t *regression, int j);

#endif

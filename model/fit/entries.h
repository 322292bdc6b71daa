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
    struct fit_piece *room; /* the memory of the part that is fitted */
    pto_error_t *err;
} fit_work_t;

/* Room for `count` elements, not initialised, until fit_free_room; NULL if out of memory (the error is set).
 */
void *fit_room(fit_work_t *work, size_t count, size_t size);
void fit_free_room(fit_work_t *work);

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

/* fit_regress under the name of an entry. Returns whether there is a line that half of the samples are near.
 * If not, `*status` is an error, or the entry is absent; `useless` says why of samples that are far from the
 * line. There is no entry if `fill` leaves out all points. */
bool fit_line(fit_work_t *work, const char *name, const fit_points_t *points, int columns, fit_fill_t fill,
              const void *context, const char *useless, fit_regression_t *line, pto_status_t *status);

/* Keep a value that comes from a line as an entry of this kind, a time or a rate, and in `param`. Errors:
 * PTO_ERR_MEMORY. */
pto_status_t fit_keep_param(fit_work_t *work, pto_fit_kind_t kind, const char *name, pto_param_t value,
                            const fit_regression_t *line, pto_param_t *param, const char *format, ...)
    PTO_PRINTF_LIKE(7, 8);

/* An absent entry of a parameter that was measured. Errors: PTO_ERR_MEMORY. */
pto_status_t fit_give_up(fit_work_t *work, const char *name, const char *why);

/* Rounds to as many digits as a machine file carries. */
double fit_round(double value);

/* Returns the parameter of column `j` of a regression, rounded to as many digits as a machine file carries.
 */
pto_param_t fit_param(const fit_regression_t *regression, int j);

#endif

/* The state of a fit to samples, which the fits of all parts share, and the entries that they report. */
#ifndef PTO_FIT_ENTRIES_H
#define PTO_FIT_ENTRIES_H

#include "machine/registry.h"
#include "regress.h"

/* A larger residual is mentioned in the machine file. */
static const double fit_doubtful_residual = 0.15;

typedef struct {
    const pto_samples_t *samples;
    const pto_fit_options_t *options;
    bool *skip;         /* [sample]: it belongs to a slow job */
    double *scratch;    /* [sample]: for any function that calls no other function that uses it */
    bool keeps_useless; /* lines far off their samples are kept, with a note */
    pto_fit_t *fit;
    struct fit_block *blocks; /* allocated by fit_alloc */
    char key[PTO_PARAM_KEY_MAX];
    pto_status_t status; /* the first error; after it, there are no samples to be selected */
    pto_error_t *err;
} fit_work_t;

/* Errors: PTO_ERR_MEMORY. Call fit_work_fini even then. */
pto_status_t fit_work_init(const pto_samples_t *samples, const pto_fit_options_t *options, pto_fit_t *fit,
                           fit_work_t *work, pto_error_t *err);
void fit_work_fini(fit_work_t *work);

/* Sets the status to this one, unless it already is an error. */
void fit_fail(fit_work_t *work, pto_status_t status);

/* Returns uninitialised memory, which fit_free_all frees; NULL if out of memory. */
void *fit_alloc(fit_work_t *work, size_t count, size_t size);
void fit_free_all(fit_work_t *work);

/* The key in a machine file of the fitted machine's part at this address; valid until the next call. */
const char *fit_key(fit_work_t *work, const void *at);

/* Appends an entry, zeroed but for its name; NULL if out of memory. */
pto_fit_entry_t *fit_entry_add(fit_work_t *work, pto_fit_kind_t kind, const char *name);

/* Adds an absent entry, which only has a number of samples and a note. */
void fit_note(fit_work_t *work, const char *name, size_t sample_count, const char *format, ...)
    PTO_PRINTF_LIKE(4, 5);

/* Adds an absent entry of a parameter that was measured but cannot be fitted. */
void fit_give_up(fit_work_t *work, const char *name, const char *why);

/* Returns whether a regression for a parameter succeeded. If not, there is an error or an absent entry. */
bool fit_succeeded(fit_work_t *work, pto_status_t status, const char *name);

/* Fits alpha and beta of `points`, adds an entry of this name, and stores both in `postal`. If the points are
 * too few or useless, adds an absent entry, and `postal` stays unknown. */
void fit_postal_entry(fit_work_t *work, const char *name, const fit_points_t *points, pto_postal_t *postal);

/* Stores a line as an entry and in `postal`; its alpha and beta are columns `alpha` and `alpha` + 1. Both are
 * flagged with the reason if the line is doubtful, or else with `missed` unless that is empty. */
void fit_keep_postal(fit_work_t *work, const char *name, const fit_points_t *points,
                     const fit_regression_t *line, int alpha, const char *missed, pto_postal_t *postal);

/* fit_regress under the name of an entry. Returns whether there is a line that half of the samples are near.
 * If not, there is an error, or an absent entry has been added, whose note is `useless` if the samples are
 * far from the line. There is no entry if the model leaves out all points. */
bool fit_line(fit_work_t *work, const char *name, const fit_points_t *points, const fit_model_t *model,
              const char *useless, fit_regression_t *line);

/* Stores a line's value as an entry (a time or a rate) and in `param`. Returns the entry; NULL: no memory. */
pto_fit_entry_t *fit_keep_param(fit_work_t *work, pto_fit_kind_t kind, const char *name, pto_param_t value,
                                const fit_regression_t *line, pto_param_t *param, const char *format, ...)
    PTO_PRINTF_LIKE(7, 8);

/* Rounds to the number of digits in a machine file. */
double fit_round(double value);

/* Returns the parameter of column `j` of a regression, rounded likewise. */
pto_param_t fit_param(const fit_regression_t *regression, int j);

#endif

/* portolan fit --plot: drawing samples and the fitted model with gnuplot. */
#ifndef PTO_FIT_PLOT_H
#define PTO_FIT_PLOT_H

#include "portolan/fit.h"

/* Draw one panel for each kind of sample: the median of each size as a point, the fitted model as a line.
 * Errors: those of pto_plot_draw, PTO_ERR_MEMORY. */
pto_status_t pto_fit_plot(const pto_samples_t *samples, const pto_fit_t *fit, const char *path,
                          pto_error_t *err);

#endif

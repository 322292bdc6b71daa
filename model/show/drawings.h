/* The drawings of a topology (`portolan topology --plot`), of two sweeps (`predict --plot`) and of a fit
 * (`fit --plot`), as gnuplot scripts (plot.h). */
#ifndef PTO_DRAWINGS_H
#define PTO_DRAWINGS_H

#include "plot.h"
#include "portolan/fit.h"
#include "portolan/topology.h"
#include "sweeps.h"

/* Returns the drawing of a node: its devices and switches, with the links between them. It borrows the
 * topology. */
pto_plot_t pto_topology_plot(const pto_topology_t *topology);

/* Returns the drawing of two sweeps: above, the time of the cheapest strategy along each row; below, which
 * one it is in each cell. `sweeps` must be predicted, and must outlive the drawing. */
pto_plot_t pto_sweeps_plot(const pto_sweeps_t *sweeps);

/* Draws samples into the file `path`, one panel for each kind: the median of each size as a point, the fitted
 * model as a line.
 * Errors: those of pto_plot_draw, PTO_ERR_MEMORY. */
pto_status_t pto_fit_plot(const pto_samples_t *samples, const pto_fit_t *fit, const char *path,
                          pto_error_t *err);

#endif

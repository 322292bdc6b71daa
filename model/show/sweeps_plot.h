/* Drawing a scenario over two sweeps: a line for each row, and a map of the picks. */
#ifndef PTO_SWEEPS_PLOT_H
#define PTO_SWEEPS_PLOT_H

#include "plot.h"
#include "sweeps.h"

/* Above, the time of the cheapest strategy along each row; below, which one it is in each cell. `sweeps` must
 * be predicted, and must outlive the drawing. */
pto_plot_t pto_sweeps_plot(const pto_sweeps_t *sweeps);

#endif

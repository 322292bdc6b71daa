/* Drawing a question over two sweeps: a line for each row, and a map of the picks. */
#ifndef PTO_SWEEPS_PLOT_H
#define PTO_SWEEPS_PLOT_H

#include "plot.h"
#include "sweeps.h"

/* Above, what the cheapest strategy takes along each row; below, which one it is at each place. `sweeps` has
 * been predicted and must outlive the drawing. */
pto_plot_t pto_sweeps_plot(const pto_sweeps_t *sweeps);

#endif

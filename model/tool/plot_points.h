/* Measurements to draw beside a prediction. */
#ifndef PTO_PLOT_POINTS_H
#define PTO_PLOT_POINTS_H

#include "predict_plot.h"

/* The measurements of a file of collectives that answer the prediction's question: its collective, layout and
 * strategies, at values within its sweep. `*point` is the caller's to free(). Errors: those of
 * pto_collectives_read, and PTO_ERR_NOT_FOUND where there is no such measurement. */
pto_status_t pto_plot_points_read(const char *path, const pto_predictions_t *predictions,
                                  pto_plot_point_t **point, size_t *point_count, pto_error_t *err);

#endif

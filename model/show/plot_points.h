/* The measurements that portolan predict --plot and portolan report draw beside a prediction. */
#ifndef PTO_PLOT_POINTS_H
#define PTO_PLOT_POINTS_H

#include "predict_plot.h"

/* Read the measurements that match a prediction: the same collective, layout and strategies, at values
 * within the sweep. The caller frees `*point`. Errors: those of pto_collectives_read, and PTO_ERR_NOT_FOUND
 * if no measurement matches. */
pto_status_t pto_plot_points_read(const char *path, const pto_predictions_t *predictions,
                                  pto_plot_point_t **point, size_t *point_count, pto_error_t *err);

#endif

/* Drawing a prediction: a line with its interval for each strategy, measurements as points, and the picks
 * below. */
#ifndef PTO_PREDICT_PLOT_H
#define PTO_PREDICT_PLOT_H

#include <stddef.h>
#include <stdint.h>

#include "plot.h"
#include "portolan/pick.h"

/* A measurement of one of the prediction's strategies at a value of the swept quantity. */
typedef struct {
    int strategy;
    int64_t at;
    double seconds;
} pto_plot_point_t;

/* The contents of a plot. All of it is borrowed. */
typedef struct {
    const pto_predictions_t *predictions;
    const pto_range_t *range;
    int64_t range_count;
    const pto_plot_point_t *point;
    size_t point_count;
    const char *measured; /* what the points are, for the title; or NULL */
    /* Chosen by pto_predict_plot: */
    uint64_t line[4]; /* a bit for each strategy that is drawn */
    int line_count;
    int left_out; /* strategies with prices that are not drawn */
} pto_predict_plot_t;

/* The drawing of a prediction; `predict_plot` must outlive it. The picks are drawn and the strategies that
 * come nearest to them, at least 8 in all; all of them if the scenario names its strategies. Both axes are
 * logarithmic, so points at 0 are omitted. Measurements are drawn slightly left or right of their size, by
 * strategy. */
pto_plot_t pto_predict_plot(pto_predict_plot_t *predict_plot);

#endif

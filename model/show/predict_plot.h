/* Drawing a prediction for `predict --plot`: a line with its interval for each strategy, measurements as
 * points, and below them the picks. */
#ifndef PTO_PREDICT_PLOT_H
#define PTO_PREDICT_PLOT_H

#include <stddef.h>
#include <stdint.h>

#include "plot.h"
#include "portolan/pick.h"

typedef struct {
    int strategy; /* its index in the predictions */
    int64_t at;   /* the value of the swept quantity: bytes, nodes or messages */
    double seconds;
} pto_plot_point_t;

/* What a plot shows; the caller keeps the ownership of all that is pointed to. */
typedef struct {
    const pto_predictions_t *predictions;
    const pto_range_t *range; /* of picks, from pto_pick */
    int64_t range_count;
    const pto_plot_point_t *point; /* measurements */
    size_t point_count;
    const char *measured; /* the file of the measurements, for the title; NULL: none */
    /* Set by pto_predict_plot: */
    uint64_t line[4]; /* a bit for each strategy that is drawn */
    int line_count;
    int left_out; /* number of strategies with prices that are not drawn */
} pto_predict_plot_t;

/* Returns the drawing of a prediction; `plot` must outlive it. It shows the strategies that are picked
 * somewhere and, until there are 8, those that come nearest to the cheapest price; if the scenario names its
 * strategies, it shows all of them. Both axes are logarithmic, so points at 0 are omitted. Measurements are
 * drawn slightly to the left or right of their size, each strategy's at a place of its own. */
pto_plot_t pto_predict_plot(pto_predict_plot_t *plot);

/* Reads the measurements that match a prediction, for this plot and for portolan report: the same collective,
 * layout and strategies, at values within the sweep. The caller frees `*point`. Errors: those of
 * pto_collectives_read, and PTO_ERR_NOT_FOUND if no measurement matches. */
pto_status_t pto_plot_points_read(const char *path, const pto_predictions_t *predictions,
                                  pto_plot_point_t **point, size_t *point_count, pto_error_t *err);

#endif

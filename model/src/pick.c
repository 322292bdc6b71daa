/* Picking: the cheapest strategy at each point, and the ranges in which it stays the same. */
#include "portolan/pick.h"

#include <math.h>
#include <stdlib.h>

/* The two cheapest at a point. */
typedef struct {
    int winner;
    int runner_up;
    double margin;
    bool toss_up;
} place_t;

static double half_width_s(const pto_price_t *price, bool above) {
    if (!price->has_interval)
        return 0;
    return above ? price->high_s - price->seconds : price->seconds - price->low_s;
}

static place_t place_at(const pto_predictions_t *predictions, int64_t point) {
    place_t place = {-1, -1, 0, false};
    for (int i = 0; i < predictions->strategy_count; i++) {
        const pto_prediction_t *prediction = pto_prediction_at(predictions, point, i);
        if (!prediction->applicable)
            continue;
        double seconds = prediction->price.seconds;
        if (place.winner < 0 ||
            seconds < pto_prediction_at(predictions, point, place.winner)->price.seconds) {
            place.runner_up = place.winner;
            place.winner = i;
        } else if (place.runner_up < 0 ||
                   seconds < pto_prediction_at(predictions, point, place.runner_up)->price.seconds) {
            place.runner_up = i;
        }
    }
    if (place.runner_up < 0)
        return place;
    const pto_price_t *best = &pto_prediction_at(predictions, point, place.winner)->price;
    const pto_price_t *second = &pto_prediction_at(predictions, point, place.runner_up)->price;
    place.margin = best->seconds > 0 ? second->seconds / best->seconds - 1 : 0;
    /* The difference's own interval, the two prices taken as independent. */
    double noise_s = hypot(half_width_s(best, true), half_width_s(second, false));
    place.toss_up = second->seconds - best->seconds <= noise_s;
    return place;
}

static void open_range(pto_range_t *range, const pto_predictions_t *predictions, int64_t point,
                       const place_t *place) {
    *range = (pto_range_t){.from = predictions->point[point],
                           .below = INT64_MAX,
                           .point_first = point,
                           .winner = place->winner,
                           .runner_up = -1,
                           .margin_low = place->margin,
                           .margin_high = place->margin};
}

/* The strategy that is second at most of the range's points, the first named where several are. */
static int usual_runner_up(const pto_predictions_t *predictions, const pto_range_t *range) {
    int usual = -1;
    int64_t usual_count = 0;
    for (int i = 0; i < predictions->strategy_count; i++) {
        int64_t count = 0;
        for (int64_t point = range->point_first; point < range->point_first + range->point_count; point++)
            count += place_at(predictions, point).runner_up == i;
        if (count > usual_count) {
            usual = i;
            usual_count = count;
        }
    }
    return usual;
}

pto_status_t pto_pick(const pto_predictions_t *predictions, pto_range_t **range, int64_t *range_count,
                      pto_error_t *err) {
    pto_range_t *made = calloc((size_t)predictions->point_count, sizeof *made);
    if (!made)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for ranges");
    int64_t count = 0;
    for (int64_t point = 0; point < predictions->point_count; point++) {
        place_t place = place_at(predictions, point);
        if (count == 0 || made[count - 1].winner != place.winner) {
            if (count > 0)
                made[count - 1].below = predictions->point[point];
            open_range(&made[count++], predictions, point, &place);
        }
        pto_range_t *last = &made[count - 1];
        last->point_count++;
        last->margin_low = fmin(last->margin_low, place.margin);
        last->margin_high = fmax(last->margin_high, place.margin);
        last->toss_up = last->toss_up || place.toss_up;
    }
    for (int64_t i = 0; i < count; i++)
        made[i].runner_up = usual_runner_up(predictions, &made[i]);
    *range = made;
    *range_count = count;
    return PTO_OK;
}

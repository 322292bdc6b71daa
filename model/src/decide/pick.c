/* Picking: the cheapest strategy at each point, and the ranges in which it stays the same. */
#include "portolan/pick.h"
#include "base/names.h"

#include <math.h>
#include <stdlib.h>

/* The two cheapest at a point. */
typedef struct {
    int winner;
    int runner_up;
    double margin;
    bool toss_up;
} place_t;

const char *pto_by_name(pto_by_t by) {
    static const char *const name[] = {
        [PTO_BY_TIME] = "time", [PTO_BY_ENERGY] = "energy", [PTO_BY_PRODUCT] = "product"};
    PTO_EACH_NAMED(name, PTO_BY_COUNT);
    return by < PTO_BY_COUNT ? name[by] : "nothing";
}

/* Time and energy rise and fall together, so the product's bounds are those of both. */
bool pto_prediction_cost(const pto_prediction_t *prediction, pto_by_t by, pto_cost_t *cost) {
    const pto_price_t *price = &prediction->price;
    const pto_energy_t *energy = &prediction->energy;
    if (!prediction->applicable || (by != PTO_BY_TIME && !prediction->has_energy))
        return false;
    pto_cost_t seconds = {price->seconds, price->seconds, price->seconds};
    pto_cost_t joules = {energy->joules, energy->joules, energy->joules};
    if (price->has_interval)
        seconds = (pto_cost_t){price->seconds, price->low_s, price->high_s};
    if (energy->has_interval)
        joules = (pto_cost_t){energy->joules, energy->low_joules, energy->high_joules};
    *cost = by == PTO_BY_TIME ? seconds : joules;
    if (by == PTO_BY_PRODUCT)
        *cost =
            (pto_cost_t){seconds.value * joules.value, seconds.low * joules.low, seconds.high * joules.high};
    return true;
}

static place_t place_at(const pto_predictions_t *predictions, int64_t point) {
    place_t place = {-1, -1, 0, false};
    pto_cost_t best = {0, 0, 0}, second = {0, 0, 0};
    for (int i = 0; i < predictions->strategy_count; i++) {
        pto_cost_t cost;
        if (!pto_prediction_cost(pto_prediction_at(predictions, point, i), predictions->by, &cost))
            continue;
        if (place.winner < 0 || cost.value < best.value) {
            place.runner_up = place.winner;
            second = best;
            place.winner = i;
            best = cost;
        } else if (place.runner_up < 0 || cost.value < second.value) {
            place.runner_up = i;
            second = cost;
        }
    }
    if (place.runner_up < 0)
        return place;
    place.margin = best.value > 0 ? second.value / best.value - 1 : 0;
    /* The difference's own interval, the two costs taken as independent. */
    double noise = hypot(best.high - best.value, second.value - second.low);
    place.toss_up = second.value - best.value <= noise;
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

/* Picks the cheapest strategy at each point of a scenario, and joins successive points with the same pick to
 * ranges, with margins and doubts (doubt.c). */
#include "portolan/pick.h"
#include "base/names.h"
#include "decide/doubt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The pick at one point. */
typedef struct {
    int winner;
    int tied; /* number of other strategies that tie with the winner */
    int runner_up;
    double margin;
    int rival;           /* the strategy that makes the pick most doubtful (doubt_pick) */
    bool near_tie;       /* with any other strategy: see pto_doubt_t */
    bool overlap;        /* the same */
    double regret;       /* the largest over the other strategies: see pto_doubt_t */
    pto_settle_t settle; /* what to measure to decide between the winner and the rival */
} pick_t;

PTO_NAME_FUNCTION(pto_by_name, pto_by_t, PTO_BY_COUNT, "nothing",
                  {[PTO_BY_TIME] = "time", [PTO_BY_ENERGY] = "energy", [PTO_BY_PRODUCT] = "product"});

/* Time and energy rise and fall together, so the product's bounds are the products of their bounds. */
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

/* Prices that sum the same addends in another order differ only by rounding. */
bool pto_cost_is_same(double a, double b) { return fabs(a - b) <= 1e-12 * fmax(fabs(a), fabs(b)); }

static bool cost_at(const pto_predictions_t *predictions, int64_t point, int strategy, pto_cost_t *cost) {
    return pto_prediction_cost(pto_prediction_at(predictions, point, strategy), predictions->by, cost);
}

/* Of two strategies of equal cost, returns whether `strategy` is preferred: only the price of `other` is that
 * of an unknown library. */
static bool is_preferred(const pto_predictions_t *predictions, int64_t point, int strategy, int other) {
    return pto_prediction_at(predictions, point, other)->library_unknown &&
           !pto_prediction_at(predictions, point, strategy)->library_unknown;
}

/* Returns the cheapest strategy that costs more than `above`; or -1. Sets `*found` to its cost. */
static int cheapest_above(const pto_predictions_t *predictions, int64_t point, double above,
                          pto_cost_t *found) {
    int cheapest = -1;
    for (int i = 0; i < predictions->strategy_count; i++) {
        pto_cost_t cost;
        if (!cost_at(predictions, point, i, &cost) || cost.value < above ||
            pto_cost_is_same(cost.value, above))
            continue;
        const bool same = cheapest >= 0 && pto_cost_is_same(cost.value, found->value);
        if (cheapest < 0 ||
            (same ? is_preferred(predictions, point, i, cheapest) : cost.value < found->value)) {
            cheapest = i;
            *found = cost;
        }
    }
    return cheapest;
}

static bool is_cheapest(const pto_predictions_t *predictions, int64_t point, int strategy) {
    pto_cost_t best, cost;
    return cheapest_above(predictions, point, -1, &best) >= 0 &&
           cost_at(predictions, point, strategy, &cost) && pto_cost_is_same(cost.value, best.value);
}

static pick_t pick_at(const pto_predictions_t *predictions, int64_t point) {
    pick_t pick = {.winner = -1, .runner_up = -1, .rival = -1};
    pto_cost_t best, second;
    pick.winner = cheapest_above(predictions, point, -1, &best);
    if (pick.winner < 0)
        return pick;
    for (int i = 0; i < predictions->strategy_count; i++)
        pick.tied += i != pick.winner && is_cheapest(predictions, point, i);
    pick.runner_up = cheapest_above(predictions, point, best.value, &second);
    if (pick.runner_up < 0)
        return pick;
    pick.margin = best.value > 0 ? second.value / best.value - 1 : 0;
    return pick;
}

/* Compares the winner with the others. The rival is the one with the largest regret: among the near-ties, if
 * there are any, else among all. */
static void doubt_pick(const pto_predictions_t *predictions, int64_t point, pick_t *pick) {
    double rival_regret = 0;
    for (int i = 0; i < predictions->strategy_count && pick->winner >= 0; i++) {
        const pto_prediction_t *best = pto_prediction_at(predictions, point, pick->winner);
        const pto_prediction_t *other = pto_prediction_at(predictions, point, i);
        pto_cost_t cost;
        if (i == pick->winner || !cost_at(predictions, point, i, &cost) || is_cheapest(predictions, point, i))
            continue;
        pto_doubt_t doubt = pto_doubt(best, other, predictions->by);
        const bool first_near_tie = doubt.near_tie && !pick->near_tie;
        const bool more_regret = doubt.near_tie == pick->near_tie && doubt.regret > rival_regret;
        if (pick->rival < 0 || first_near_tie || more_regret) {
            pick->rival = i;
            rival_regret = doubt.regret;
            pick->settle = pto_settle(best, other, &doubt);
        }
        pick->near_tie = pick->near_tie || doubt.near_tie;
        pick->overlap = pick->overlap || doubt.overlap;
        pick->regret = fmax(pick->regret, doubt.regret);
    }
    pick->overlap = pick->overlap && !pick->near_tie;
}

bool pto_range_is_tied(const pto_predictions_t *predictions, const pto_range_t *range, int strategy) {
    return range->tied > 0 && strategy != range->winner &&
           is_cheapest(predictions, range->point_first, strategy);
}

/* Returns whether the same strategies tie for the cheapest at both points. */
static bool same_winners(const pto_predictions_t *predictions, int64_t a, int64_t b) {
    for (int i = 0; i < predictions->strategy_count; i++)
        if (is_cheapest(predictions, a, i) != is_cheapest(predictions, b, i))
            return false;
    return true;
}

int pto_pick_at(const pto_predictions_t *predictions, int64_t point) {
    pto_cost_t best;
    return cheapest_above(predictions, point, -1, &best);
}

/* A copy within one memory (copies.d2d, copies.h2h), such as a process's copy of its own block. */
static bool is_local_copy(const pto_term_t *term) {
    return strncmp(term->key, "copies.d2d.", strlen("copies.d2d.")) == 0 ||
           strncmp(term->key, "copies.h2h.", strlen("copies.h2h.")) == 0;
}

/* Returns the parameter's own name: alpha_s. */
static const char *leaf_of(const pto_term_t *term) {
    const char *dot = strrchr(term->key, '.');
    return dot ? dot + 1 : term->key;
}

/* Returns whether two terms count as the same. Every strategy copies the blocks that stay in place, in GPU or
 * host memory. These copies cost about the same, so only their number distinguishes strategies. */
static bool is_same_term(const pto_term_t *a, const pto_term_t *b) {
    if (is_local_copy(a) && is_local_copy(b))
        return strcmp(leaf_of(a), leaf_of(b)) == 0;
    return strcmp(a->key, b->key) == 0;
}

/* Returns how often a price would contain the parameter of a term, which the machine lacks. */
static double unpriced_count(const pto_explanation_t *explanation, const pto_term_t *like) {
    double count = 0;
    for (int i = 0; i < explanation->count; i++)
        if (!explanation->term[i].param && is_same_term(&explanation->term[i], like))
            count += explanation->term[i].count;
    return count;
}

static bool any_has_less(const pto_predictions_t *predictions, int64_t point, const pto_term_t *term,
                         double count) {
    for (int i = 0; i < predictions->strategy_count; i++) {
        const pto_prediction_t *prediction = pto_prediction_at(predictions, point, i);
        pto_cost_t cost;
        if (pto_prediction_cost(prediction, predictions->by, &cost) &&
            unpriced_count(&prediction->explanation, term) < count)
            return true;
    }
    return false;
}

const char *pto_choice_unpriced(const pto_predictions_t *predictions, int64_t point, int strategy) {
    const pto_prediction_t *chosen = pto_prediction_at(predictions, point, strategy);
    const pto_explanation_t *own = &chosen->explanation;
    for (int i = 0; chosen->applicable && i < own->count; i++) {
        const pto_term_t *term = &own->term[i];
        bool only_bytes = is_local_copy(term) && strcmp(leaf_of(term), "beta_s_per_byte") == 0;
        if (!term->param && !only_bytes && any_has_less(predictions, point, term, unpriced_count(own, term)))
            return term->key;
    }
    return NULL;
}

const char *pto_pick_unpriced(const pto_predictions_t *predictions, int64_t point) {
    int winner = pto_pick_at(predictions, point);
    return winner < 0 ? NULL : pto_choice_unpriced(predictions, point, winner);
}

static void open_range(pto_range_t *range, const pto_predictions_t *predictions, int64_t point,
                       const pick_t *pick) {
    *range = (pto_range_t){.from = predictions->point[point],
                           .below = INT64_MAX,
                           .point_first = point,
                           .winner = pick->winner,
                           .tied = pick->tied,
                           .runner_up = -1,
                           .margin_low = pick->margin,
                           .margin_high = pick->margin,
                           .settle_point = -1};
}

/* Returns the strategy that is second at most of the range's points, the first listed of equals. */
static int usual_runner_up(const pto_predictions_t *predictions, const pto_range_t *range) {
    int usual = -1;
    int64_t usual_count = 0;
    for (int i = 0; i < predictions->strategy_count; i++) {
        int64_t count = 0;
        for (int64_t point = range->point_first; point < range->point_first + range->point_count; point++)
            count += pick_at(predictions, point).runner_up == i;
        if (count > usual_count) {
            usual = i;
            usual_count = count;
        }
    }
    return usual;
}

static void add_doubt(pto_range_t *range, int64_t point, const pick_t *pick) {
    if ((pick->overlap && !range->overlap) || (pick->near_tie && range->settle_point < 0)) {
        range->settle_point = point;
        range->settle_other = pick->rival;
        range->settle = pick->settle;
    }
    range->near_tie = range->near_tie || pick->near_tie;
    range->overlap = range->overlap || pick->overlap;
    range->regret = fmax(range->regret, pick->regret);
}

pto_status_t pto_pick(const pto_predictions_t *predictions, pto_range_t **range, int64_t *range_count,
                      pto_error_t *err) {
    pto_range_t *result = calloc((size_t)predictions->point_count, sizeof *result);
    if (!result)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for ranges");
    int64_t count = 0;
    for (int64_t point = 0; point < predictions->point_count; point++) {
        pick_t pick = pick_at(predictions, point);
        doubt_pick(predictions, point, &pick);
        if (count == 0 || !same_winners(predictions, result[count - 1].point_first, point)) {
            if (count > 0)
                result[count - 1].below = predictions->point[point];
            open_range(&result[count++], predictions, point, &pick);
        }
        pto_range_t *last = &result[count - 1];
        last->point_count++;
        last->margin_low = fmin(last->margin_low, pick.margin);
        last->margin_high = fmax(last->margin_high, pick.margin);
        add_doubt(last, point, &pick);
        if (!last->unpriced)
            last->unpriced = pto_pick_unpriced(predictions, point);
    }
    for (int64_t i = 0; i < count; i++)
        result[i].runner_up = usual_runner_up(predictions, &result[i]);
    *range = result;
    *range_count = count;
    return PTO_OK;
}

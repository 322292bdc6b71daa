/* Sensitivity: by which factor a parameter must change until another strategy is picked at a point.
 *
 * Prices are computed again with the parameter moved, not linearised: protocols, injection limits, longest
 * paths and the choice of algorithms make them nonlinear. But a price never falls as a parameter rises, since
 * all parameters are costs (sums, maxima and minima of such prices do not fall, either). So two prices bound
 * all prices between them, and most of the range needs no evaluation. Let strategy A, the pick, take 5 us at
 * one value and 6 us at a larger one, and let B take 7 us and 9 us: A is picked at all values between.
 *
 * The plans are made once for a point. The arithmetic of each plan's price is recorded on a tape and replayed
 * with other values of the parameter (kept_price.h). */
#include "portolan/sensitivity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "decide/candidates.h"
#include "decide/kept_price.h"

/* The grid of factors: step i is the largest factor to the power of i / STEPS, or its inverse (`sign`), so
 * successive steps differ by 9 percent. STEPS is a power of two. HALVINGS bisections locate a change between
 * two steps to 0.01 percent. */
enum { STEPS = 32, HALVINGS = 10 };

/* A plan whose price has more operations, as with many chunks, is recorded only once, on the machine as it
 * is. A recording takes as long as ten prices, and few more recordings would be replayed often enough. */
enum { RECORDS_MAX = 1 << 14 };

/* A plan that a strategy may choose. */
typedef struct {
    pto_plan_t *plan;
    bool in_chunks;         /* it belongs to a search for the number of chunks: see pto_visit_candidate_t */
    pto_tape_t *tape;       /* its price on the machine as it is; NULL: not recorded yet, or it cannot be */
    pto_kept_price_t price; /* short tapes: the price as a function of the parameter that is moved */
} alternative_t;

/* The alternatives of a strategy, in the order of pto_plan_candidates. */
typedef struct {
    int count; /* 0: they are not listed, and pto_plan_choose searches */
    alternative_t *alternative;
} alternatives_t;

/* The search for one parameter's change at one point. */
typedef struct {
    const pto_predictions_t *predictions;
    const pto_machine_t *machine; /* a copy */
    int64_t point;
    pto_param_t *param; /* the parameter of the copy that is moved */
    double value;       /* its value on the machine as it is */
    int winner;
    double sign;                  /* of the exponent of factors: 1: upwards, -1: downwards */
    bool *moves;                  /* [strategy]: its price depends on the parameter in this direction */
    double *row;                  /* [step][strategy]: prices; INFINITY if the strategy does not apply */
    bool known[STEPS + 1];        /* rows that are priced */
    alternatives_t *alternatives; /* [strategy] */
    pto_kept_scratch_t scratch;
} trial_t;

/* Returns the cheapest strategy above `above_s`, the first listed of those that tie; -1: none. */
static int cheapest_above(const double *seconds, int count, double above_s) {
    int cheapest = -1;
    for (int i = 0; i < count; i++) {
        if (isinf(seconds[i]) || seconds[i] < above_s || pto_cost_is_same(seconds[i], above_s))
            continue;
        if (cheapest < 0 ||
            (seconds[i] < seconds[cheapest] && !pto_cost_is_same(seconds[i], seconds[cheapest])))
            cheapest = i;
    }
    return cheapest;
}

static double *row_at(const trial_t *trial, int step) {
    return trial->row + (size_t)step * (size_t)trial->predictions->strategy_count;
}

static int picked_in(const trial_t *trial, const double *seconds) {
    return cheapest_above(seconds, trial->predictions->strategy_count, -1);
}

static void find_winners(const trial_t *trial, pto_sensitivities_t *result) {
    const double *seconds = row_at(trial, 0);
    int count = trial->predictions->strategy_count;
    result->winner = picked_in(trial, seconds);
    result->runner_up = result->winner < 0 ? -1 : cheapest_above(seconds, count, seconds[result->winner]);
}

/* --- prices --------------------------------------------------------------------------------------------- */

typedef struct {
    const trial_t *trial;
    alternatives_t *result;
} listing_t;

static pto_status_t add_alternative(pto_plan_t **plan, bool in_chunks, void *context, pto_error_t *err) {
    const listing_t *listing = context;
    pto_price_t price = {0};
    if (!PTO_EXTEND(listing->result->alternative, listing->result->count))
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a sensitivity");
    pto_status_t status = pto_price(*plan, listing->trial->machine, &price, NULL, err);
    if (status != PTO_OK)
        return status;
    listing->result->alternative[listing->result->count++] =
        (alternative_t){.plan = *plan, .in_chunks = in_chunks};
    *plan = NULL;
    return PTO_OK;
}

static void free_alternatives(alternatives_t *alternatives) {
    for (int i = 0; i < alternatives->count; i++) {
        pto_plan_destroy(alternatives->alternative[i].plan);
        pto_tape_destroy(alternatives->alternative[i].tape);
        pto_kept_price_fini(&alternatives->alternative[i].price);
    }
    free(alternatives->alternative);
    *alternatives = (alternatives_t){0};
}

static pto_status_t list_alternatives(const trial_t *trial, int strategy, alternatives_t *result,
                                      pto_error_t *err) {
    const pto_predictions_t *predictions = trial->predictions;
    listing_t listing = {trial, result};
    pto_status_t status = pto_plan_candidates(predictions->scenario, trial->machine, trial->point,
                                              predictions->strategy[strategy],
                                              &(pto_visit_candidate_t){add_alternative, &listing}, err);
    if (status != PTO_ERR_TOO_LARGE)
        return status;
    /* two numbers of staged members are open: pto_plan_choose searches them in turns, so there is no list */
    free_alternatives(result);
    return PTO_OK;
}

/* Makes `param`, of the copy of the machine, the one that is moved. */
static void select_param(trial_t *trial, pto_param_t *param) {
    trial->param = param;
    trial->value = param->value;
    for (int s = 0; s < trial->predictions->strategy_count; s++)
        for (int i = 0; i < trial->alternatives[s].count; i++)
            pto_kept_price_fini(&trial->alternatives[s].alternative[i].price);
}

/* Records the price on the machine as it is, unless another parameter's search has done so. Keeps the short
 * tape of the operations that depend on the current parameter. */
static pto_status_t record_price(trial_t *trial, alternative_t *alternative, pto_error_t *err) {
    const pto_param_t *const params[] = {trial->param};
    const double moved = trial->param->value;
    pto_price_t price = {0};
    pto_status_t status = PTO_OK;
    if (!alternative->tape) {
        trial->param->value = trial->value;
        alternative->tape = pto_tape_begin();
        status = pto_price(alternative->plan, trial->machine, &price, NULL, err);
        if (alternative->tape)
            alternative->tape = pto_tape_end(alternative->tape, price.seconds);
        trial->param->value = moved;
        alternative->price.refused = !alternative->tape;
    }
    if (alternative->tape)
        pto_kept_price_add(&alternative->price, 0, alternative->tape, params, 1, &trial->scratch);
    return status;
}

static bool is_long(const pto_tape_t *tape) {
    int count = 0, result = 0;
    if (tape)
        pto_tape_records(tape, &count, &result);
    return count > RECORDS_MAX;
}

/* Computes the price on the current machine: by a tape if one holds there, else anew. */
static pto_status_t price_alternative(trial_t *trial, alternative_t *alternative, double *seconds,
                                      pto_error_t *err) {
    const pto_param_t *const params[] = {trial->param};
    const double *value = &trial->param->value;
    pto_kept_price_t *kept = &alternative->price;
    pto_status_t status = PTO_OK;
    if (kept->count == 0 && !kept->refused)
        status = record_price(trial, alternative, err);
    if (status == PTO_OK && !pto_kept_price_find(kept, 0, value, &trial->scratch, seconds)) {
        pto_price_t price = {0};
        const bool records = !is_long(alternative->tape);
        pto_tape_t *tape = records ? pto_kept_price_begin(kept, 0) : NULL;
        status = pto_price(alternative->plan, trial->machine, &price, NULL, err);
        if (records)
            pto_kept_price_end(kept, 0, tape, price.seconds, params, 1, &trial->scratch);
        *seconds = price.seconds;
    }
    return status;
}

static int end_of_algorithm(const alternatives_t *all, int first) {
    const pto_algorithm_t *algorithm = all->alternative[first].plan->request.algorithm;
    int until = first;
    while (until < all->count && all->alternative[until].plan->request.algorithm == algorithm)
        until++;
    return until;
}

/* Prices the plans of an algorithm, of which `first` is the first, as pto_plan_choose does. Lowers `*best_s`
 * to the least of their prices. */
static pto_status_t price_algorithm(trial_t *trial, alternatives_t *all, int first, double *best_s,
                                    pto_error_t *err) {
    const int until = end_of_algorithm(all, first);
    double cheapest_s = INFINITY;
    pto_status_t status = PTO_OK;
    for (int i = first; i < until && status == PTO_OK; i++) {
        double seconds = INFINITY;
        status = price_alternative(trial, &all->alternative[i], &seconds, err);
        cheapest_s = fmin(cheapest_s, seconds);
        if (all->alternative[i].in_chunks && seconds > PTO_HOPELESS * cheapest_s)
            break;
    }
    *best_s = fmin(*best_s, cheapest_s);
    return status;
}

/* Computes the price of a strategy on the current machine, as pto_plan_choose does. */
static pto_status_t price_strategy(trial_t *trial, int strategy, double *seconds, pto_error_t *err) {
    const pto_predictions_t *predictions = trial->predictions;
    alternatives_t *all = &trial->alternatives[strategy];
    pto_status_t status = PTO_OK;
    *seconds = INFINITY;
    for (int i = 0; i < all->count && status == PTO_OK; i = end_of_algorithm(all, i))
        status = price_algorithm(trial, all, i, seconds, err);
    if (all->count > 0)
        return status;
    pto_plan_t *plan = NULL;
    pto_price_t price = {0};
    status = pto_plan_choose(predictions->scenario, trial->machine, trial->point,
                             predictions->strategy[strategy], &plan, &price, NULL, err);
    *seconds = price.seconds;
    pto_plan_destroy(plan);
    return status;
}

/* Prices all strategies on the current machine; those that the parameter does not move keep their price. */
static pto_status_t price_all(trial_t *trial, double *seconds, pto_error_t *err) {
    pto_status_t status = PTO_OK;
    for (int i = 0; i < trial->predictions->strategy_count && status == PTO_OK; i++) {
        seconds[i] = row_at(trial, 0)[i];
        if (trial->moves[i])
            status = price_strategy(trial, i, &seconds[i], err);
    }
    return status;
}

static pto_status_t price_at(trial_t *trial, double factor, double *seconds, pto_error_t *err) {
    pto_param_t kept = *trial->param;
    trial->param->value *= factor;
    pto_status_t status = price_all(trial, seconds, err);
    *trial->param = kept;
    return status;
}

/* --- one parameter -------------------------------------------------------------------------------------- */

static double factor_of(const trial_t *trial, double step) {
    return pow(PTO_SENSITIVITY_FACTOR_MAX, trial->sign * step / STEPS);
}

/* Prices the row of a step unless it is known. */
static pto_status_t price_row(trial_t *trial, int step, pto_error_t *err) {
    if (trial->known[step])
        return PTO_OK;
    trial->known[step] = true;
    return price_at(trial, factor_of(trial, step), row_at(trial, step), err);
}

/* Returns whether the winner certainly stays below all others between two steps: its higher price there is
 * below the lower price of each. */
static bool stays_winner(const trial_t *trial, int from, int to) {
    const double *a = row_at(trial, from), *b = row_at(trial, to);
    double highest_s = fmax(a[trial->winner], b[trial->winner]);
    for (int i = 0; i < trial->predictions->strategy_count; i++)
        if (i != trial->winner && fmin(a[i], b[i]) <= highest_s)
            return false;
    return true;
}

/* Finds the first step in (from, to] with another pick than at `from`; 0: none. Both rows are known. */
static pto_status_t search(trial_t *trial, int from, int to, int *found, pto_error_t *err) {
    *found = 0;
    if (stays_winner(trial, from, to))
        return PTO_OK;
    if (to - from == 1) {
        *found = picked_in(trial, row_at(trial, to)) == trial->winner ? 0 : to;
        return PTO_OK;
    }
    int middle = from + (to - from) / 2;
    pto_status_t status = price_row(trial, middle, err);
    if (status == PTO_OK)
        status = search(trial, from, middle, found, err);
    if (status == PTO_OK && *found == 0)
        status = search(trial, middle, to, found, err);
    return status;
}

/* Bisects between `found` and the step before it. */
static pto_status_t bisect(trial_t *trial, int found, double *factor, int *becomes, pto_error_t *err) {
    double kept = found - 1, changed = found;
    double *seconds = row_at(trial, STEPS); /* scratch: the last row is no longer needed */
    *becomes = picked_in(trial, row_at(trial, found));
    for (int i = 0; i < HALVINGS; i++) {
        double middle = (kept + changed) / 2;
        pto_status_t status = price_at(trial, factor_of(trial, middle), seconds, err);
        if (status != PTO_OK)
            return status;
        int picked = picked_in(trial, seconds);
        if (picked == trial->winner) {
            kept = middle;
        } else {
            changed = middle;
            *becomes = picked;
        }
    }
    *factor = factor_of(trial, changed);
    return PTO_OK;
}

/* Finds the nearest change in one direction; `*becomes` is unchanged if there is none. The last row, at the
 * largest factor, shows which prices move at all. */
static pto_status_t find_change(trial_t *trial, double *factor, int *becomes, pto_error_t *err) {
    const double *first = row_at(trial, 0), *last = row_at(trial, STEPS);
    for (int i = 0; i < trial->predictions->strategy_count; i++)
        trial->moves[i] = !isinf(first[i]);
    memset(trial->known, 0, sizeof trial->known);
    trial->known[0] = true;
    int found = 0;
    pto_status_t status = price_row(trial, STEPS, err);
    for (int i = 0; i < trial->predictions->strategy_count; i++)
        trial->moves[i] = trial->moves[i] && (last[i] < first[i] || last[i] > first[i]);
    if (status == PTO_OK)
        status = search(trial, 0, STEPS, &found, err);
    return status == PTO_OK && found > 0 ? bisect(trial, found, factor, becomes, err) : status;
}

/* Finds the nearer of the changes upwards and downwards. */
static pto_status_t find_nearest(trial_t *trial, pto_sensitivity_t *item, pto_error_t *err) {
    item->becomes = -1;
    for (int up = 1; up >= 0; up--) {
        double factor = 0;
        int becomes = -1;
        trial->sign = up ? 1 : -1;
        pto_status_t status = find_change(trial, &factor, &becomes, err);
        if (status != PTO_OK)
            return status;
        if (becomes >= 0 && (item->becomes < 0 || fabs(log(factor)) < fabs(log(item->factor)))) {
            item->factor = factor;
            item->becomes = becomes;
        }
    }
    return PTO_OK;
}

/* Returns the seconds of a price that come from one parameter. */
static double seconds_of(const pto_prediction_t *prediction, const pto_param_t *param) {
    double seconds = 0;
    for (int t = 0; t < prediction->explanation.count; t++)
        if (prediction->explanation.term[t].param == param)
            seconds += prediction->explanation.term[t].seconds;
    return seconds;
}

/* Returns whether, by the terms of the prices, one of the two cheapest depends on the parameter, or another
 * one could become the cheapest. */
static bool could_matter(const trial_t *trial, const pto_sensitivities_t *result, const pto_param_t *param) {
    const pto_predictions_t *predictions = trial->predictions;
    double best_s = pto_prediction_at(predictions, trial->point, result->winner)->price.seconds;
    for (int i = 0; i < predictions->strategy_count; i++) {
        const pto_prediction_t *prediction = pto_prediction_at(predictions, trial->point, i);
        if (!prediction->applicable)
            continue;
        double own_s = seconds_of(prediction, param);
        /* bounds this plan's price at the least factor; see is_hidden for what that leaves out */
        double lowest_s = prediction->price.seconds - own_s * (1 - 1.0 / PTO_SENSITIVITY_FACTOR_MAX);
        bool among_two = i == result->winner || i == result->runner_up;
        if (own_s > 0 && (among_two || lowest_s < best_s))
            return true;
    }
    return false;
}

static int compare_items(const void *a, const void *b) {
    const pto_sensitivity_t *x = a, *y = b;
    if ((x->becomes < 0) != (y->becomes < 0))
        return x->becomes < 0 ? 1 : -1;
    double nearer =
        x->becomes < 0 ? y->elasticity - x->elasticity : fabs(log(x->factor)) - fabs(log(y->factor));
    return nearer < 0 ? -1 : nearer > 0;
}

/* Prices a strategy with the selected parameter at `factor` times its value. */
static pto_status_t price_with(trial_t *trial, double factor, int strategy, double *seconds,
                               pto_error_t *err) {
    trial->param->value = trial->value * factor;
    pto_status_t status = price_strategy(trial, strategy, seconds, err);
    trial->param->value = trial->value;
    return status;
}

/* Sets `*elasticity` from a new price: the seconds of the parameter's terms lack those of ratios that
 * multiply them, as messages.both_ways does. */
static pto_status_t find_elasticity(trial_t *trial, double *elasticity, pto_error_t *err) {
    const double percent = 0.01, before_s = row_at(trial, 0)[trial->winner];
    double after_s = 0;
    pto_status_t status = price_with(trial, 1 + percent, trial->winner, &after_s, err);
    *elasticity = status == PTO_OK && before_s > 0 ? (after_s / before_s - 1) / percent : 0;
    return status;
}

static pto_status_t fill_item(trial_t *trial, pto_sensitivity_t *item, pto_error_t *err) {
    const pto_param_t *param = item->param.param;
    pto_status_t status = find_elasticity(trial, &item->elasticity, err);
    if (status == PTO_OK)
        status = find_nearest(trial, item, err);
    double changed = item->factor * param->value;
    item->inside_interval =
        item->becomes >= 0 && param->has_interval && changed >= param->low && changed <= param->high;
    return status;
}

/* Sets `*hidden`: whether the selected parameter could change the pick although could_matter does not show
 * it. The terms of the prices lack costs that hide behind a larger one, ratios that multiply other costs, and
 * the costs of other plans of a strategy. So the pick is priced at the largest factor, which may raise its
 * price, and the others at the least, which may bring them below the pick. */
static pto_status_t is_hidden(trial_t *trial, bool *hidden, pto_error_t *err) {
    const double *now = row_at(trial, 0);
    const double best_s = now[trial->winner];
    double after_s = 0;
    pto_status_t status = price_with(trial, PTO_SENSITIVITY_FACTOR_MAX, trial->winner, &after_s, err);
    *hidden = after_s > best_s;
    for (int i = 0; i < trial->predictions->strategy_count && status == PTO_OK && !*hidden; i++) {
        if (i == trial->winner || isinf(now[i]))
            continue;
        status = price_with(trial, 1.0 / PTO_SENSITIVITY_FACTOR_MAX, i, &after_s, err);
        *hidden = after_s < best_s && after_s < now[i];
    }
    return status;
}

/* Examines each parameter that could matter. `copied`: the same parameters of the machine's copy. */
static pto_status_t examine(trial_t *trial, const pto_machine_param_t *param,
                            const pto_machine_param_t *copied, int param_count, pto_sensitivities_t *result,
                            pto_error_t *err) {
    result->item = calloc((size_t)param_count, sizeof *result->item);
    if (!result->item)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a sensitivity");
    for (int i = 0; i < param_count; i++) {
        if (!param[i].param)
            continue;
        select_param(trial, copied[i].param);
        const bool matters = could_matter(trial, result, param[i].param);
        bool hidden = false;
        pto_status_t status = matters ? PTO_OK : is_hidden(trial, &hidden, err);
        pto_sensitivity_t *item = &result->item[result->count];
        item->param = param[i];
        if (status == PTO_OK && (matters || hidden))
            status = fill_item(trial, item, err);
        if (status != PTO_OK)
            return status;
        result->count += matters || (hidden && item->becomes >= 0);
    }
    if (result->count > 0)
        qsort(result->item, (size_t)result->count, sizeof *result->item, compare_items);
    return PTO_OK;
}

/* The first row has the prices of the predictions. */
static pto_status_t begin(trial_t *trial, pto_error_t *err) {
    const int count = trial->predictions->strategy_count;
    pto_status_t status = PTO_OK;
    trial->row = calloc((size_t)count * (STEPS + 1), sizeof *trial->row);
    trial->moves = calloc((size_t)count, sizeof *trial->moves);
    trial->alternatives = calloc((size_t)count, sizeof *trial->alternatives);
    if (!trial->row || !trial->moves || !trial->alternatives)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a sensitivity");
    for (int i = 0; i < count && status == PTO_OK; i++) {
        const pto_prediction_t *prediction = pto_prediction_at(trial->predictions, trial->point, i);
        trial->row[i] = prediction->applicable ? prediction->price.seconds : INFINITY;
        if (prediction->applicable)
            status = list_alternatives(trial, i, &trial->alternatives[i], err);
    }
    return status;
}

static void end(trial_t *trial) {
    for (int i = 0; trial->alternatives && i < trial->predictions->strategy_count; i++)
        free_alternatives(&trial->alternatives[i]);
    free(trial->alternatives);
    free(trial->scratch.place);
    free(trial->row);
    free(trial->moves);
}

static pto_status_t look_for_changes(trial_t *trial, const pto_machine_param_t *param,
                                     const pto_machine_param_t *copied, int param_count,
                                     pto_sensitivities_t *result, pto_error_t *err) {
    pto_status_t status = begin(trial, err);
    if (status == PTO_OK) {
        find_winners(trial, result);
        trial->winner = result->winner;
        if (result->winner >= 0)
            status = examine(trial, param, copied, param_count, result, err);
    }
    end(trial);
    return status;
}

pto_status_t pto_sensitivity(const pto_predictions_t *predictions, const pto_machine_t *machine,
                             int64_t point, pto_sensitivities_t *sensitivities, pto_error_t *err) {
    pto_machine_param_t *param = NULL, *copied = NULL;
    int param_count = 0;
    pto_sensitivities_t result = {0};
    pto_machine_t *copy = NULL;
    pto_status_t status = pto_machine_duplicate(machine, &copy, err);
    trial_t trial = {.predictions = predictions, .machine = copy, .point = point};
    if (status == PTO_OK)
        status = pto_machine_params(machine, &param, &param_count, err);
    if (status == PTO_OK)
        status = pto_machine_params(copy, &copied, &param_count, err);
    if (status == PTO_OK)
        status = look_for_changes(&trial, param, copied, param_count, &result, err);
    free(param);
    free(copied);
    pto_machine_destroy(copy);
    if (status == PTO_OK)
        *sensitivities = result;
    else
        pto_sensitivities_fini(&result);
    return status;
}

void pto_sensitivities_fini(pto_sensitivities_t *sensitivities) {
    free(sensitivities->item);
    *sensitivities = (pto_sensitivities_t){0};
}

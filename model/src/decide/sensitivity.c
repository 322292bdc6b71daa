/* Sensitivity: predict again with one parameter moved, instead of linearising. Protocols, injection limits,
 * longest paths and the choice of algorithms all make the price nonlinear. But a price is monotonic in a
 * parameter (sums, maxima and minima of such prices are too), so two prices bound all prices between them,
 * and most of the range needs no evaluation. */
#include "portolan/sensitivity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Number of steps from 1 to the largest factor, a power of two, and of halvings of a step, which locate a
 * change to a hundredth of a percent. */
enum { STEPS = 32, HALVINGS = 10 };

/* The search for one parameter's change at one point. */
typedef struct {
    const pto_predictions_t *predictions;
    const pto_machine_t *machine; /* the copy, and the parameter of it that is moved */
    int64_t point;
    pto_param_t *param;
    int winner;
    double sign; /* 1: upwards, -1: downwards */
    bool *moves; /* per strategy: whether the parameter matters in this direction */
    double *row; /* STEPS + 1 rows with a price for each strategy; INFINITY if it does not apply */
    bool known[STEPS + 1];
} trial_t;

/* The cheapest strategy above `above_s`, the first listed of those that tie; -1: none. */
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

static void find_winners(const trial_t *trial, pto_sensitivities_t *made) {
    const double *seconds = row_at(trial, 0);
    int count = trial->predictions->strategy_count;
    made->winner = picked_in(trial, seconds);
    made->runner_up = made->winner < 0 ? -1 : cheapest_above(seconds, count, seconds[made->winner]);
}

/* The prices of all strategies on the current machine; those that don't move keep the first row's. */
static pto_status_t price_all(const trial_t *trial, double *seconds, pto_error_t *err) {
    const pto_predictions_t *predictions = trial->predictions;
    for (int i = 0; i < predictions->strategy_count; i++) {
        seconds[i] = row_at(trial, 0)[i];
        if (!trial->moves[i])
            continue;
        pto_plan_t *plan = NULL;
        pto_price_t price = {0};
        pto_status_t status = pto_plan_choose(predictions->scenario, trial->machine, trial->point,
                                              predictions->strategy[i], &plan, &price, NULL, err);
        if (status != PTO_OK)
            return status;
        seconds[i] = price.seconds;
        pto_plan_destroy(plan);
    }
    return PTO_OK;
}

static pto_status_t price_at(const trial_t *trial, double factor, double *seconds, pto_error_t *err) {
    pto_param_t kept = *trial->param;
    trial->param->value *= factor;
    pto_status_t status = price_all(trial, seconds, err);
    *trial->param = kept;
    return status;
}

static double factor_of(const trial_t *trial, double step) {
    return pow(PTO_SENSITIVITY_FACTOR_MAX, trial->sign * step / STEPS);
}

static pto_status_t know(trial_t *trial, int step, pto_error_t *err) {
    if (trial->known[step])
        return PTO_OK;
    trial->known[step] = true;
    return price_at(trial, factor_of(trial, step), row_at(trial, step), err);
}

/* Whether the winner certainly stays below all others between two steps. */
static bool stays(const trial_t *trial, int from, int to) {
    const double *a = row_at(trial, from), *b = row_at(trial, to);
    double highest_s = fmax(a[trial->winner], b[trial->winner]);
    for (int i = 0; i < trial->predictions->strategy_count; i++)
        if (i != trial->winner && fmin(a[i], b[i]) <= highest_s)
            return false;
    return true;
}

/* The first step after `from` (where the winner is still picked), up to `to`, at which it is no longer
 * picked; 0: none. Both rows are known. */
static pto_status_t search(trial_t *trial, int from, int to, int *found, pto_error_t *err) {
    *found = 0;
    if (stays(trial, from, to))
        return PTO_OK;
    if (to - from == 1) {
        *found = picked_in(trial, row_at(trial, to)) == trial->winner ? 0 : to;
        return PTO_OK;
    }
    int middle = from + (to - from) / 2;
    pto_status_t status = know(trial, middle, err);
    if (status == PTO_OK)
        status = search(trial, from, middle, found, err);
    if (status == PTO_OK && *found == 0)
        status = search(trial, middle, to, found, err);
    return status;
}

/* Bisect between `found` and the step before it. */
static pto_status_t bisect(trial_t *trial, int found, double *factor, int *becomes, pto_error_t *err) {
    double kept = found - 1, changed = found;
    double *seconds = row_at(trial, STEPS);
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

/* The nearest change in one direction; `*becomes` is unchanged if there is none. */
static pto_status_t find_change(trial_t *trial, double *factor, int *becomes, pto_error_t *err) {
    const double *first = row_at(trial, 0), *last = row_at(trial, STEPS);
    for (int i = 0; i < trial->predictions->strategy_count; i++)
        trial->moves[i] = !isinf(first[i]);
    memset(trial->known, 0, sizeof trial->known);
    trial->known[0] = true;
    int found = 0;
    pto_status_t status = know(trial, STEPS, err);
    for (int i = 0; i < trial->predictions->strategy_count; i++)
        trial->moves[i] = trial->moves[i] && (last[i] < first[i] || last[i] > first[i]);
    if (status == PTO_OK)
        status = search(trial, 0, STEPS, &found, err);
    return status == PTO_OK && found > 0 ? bisect(trial, found, factor, becomes, err) : status;
}

/* The nearer of the changes upwards and downwards. */
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

/* Seconds of a price that come from one parameter. */
static double seconds_of(const pto_prediction_t *prediction, const pto_param_t *param) {
    double seconds = 0;
    for (int t = 0; t < prediction->explanation.count; t++)
        if (prediction->explanation.term[t].param == param)
            seconds += prediction->explanation.term[t].seconds;
    return seconds;
}

/* Whether the two cheapest prices depend on the parameter, or another strategy could become the cheapest
 * through it. */
static bool could_matter(const trial_t *trial, const pto_sensitivities_t *made, const pto_param_t *param) {
    const pto_predictions_t *predictions = trial->predictions;
    double best_s = pto_prediction_at(predictions, trial->point, made->winner)->price.seconds;
    for (int i = 0; i < predictions->strategy_count; i++) {
        const pto_prediction_t *prediction = pto_prediction_at(predictions, trial->point, i);
        if (!prediction->applicable)
            continue;
        double own_s = seconds_of(prediction, param);
        double lowest_s = prediction->price.seconds - own_s * (1 - 1.0 / PTO_SENSITIVITY_FACTOR_MAX);
        bool among_two = i == made->winner || i == made->runner_up;
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

static pto_status_t fill_item(trial_t *trial, pto_sensitivity_t *item, pto_error_t *err) {
    const pto_prediction_t *picked = pto_prediction_at(trial->predictions, trial->point, trial->winner);
    const pto_param_t *param = item->param.param;
    item->elasticity = picked->price.seconds > 0 ? seconds_of(picked, param) / picked->price.seconds : 0;
    pto_status_t status = find_nearest(trial, item, err);
    double changed = item->factor * param->value;
    item->inside_interval =
        item->becomes >= 0 && param->has_interval && changed >= param->low && changed <= param->high;
    return status;
}

/* `copied`: the same parameters of the copy. */
static pto_status_t examine(trial_t *trial, const pto_machine_param_t *param,
                            const pto_machine_param_t *copied, int param_count, pto_sensitivities_t *made,
                            pto_error_t *err) {
    made->item = calloc((size_t)param_count, sizeof *made->item);
    if (!made->item)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a sensitivity");
    for (int i = 0; i < param_count; i++) {
        if (!param[i].param || !could_matter(trial, made, param[i].param))
            continue;
        pto_sensitivity_t *item = &made->item[made->count++];
        item->param = param[i];
        trial->param = copied[i].param;
        pto_status_t status = fill_item(trial, item, err);
        if (status != PTO_OK)
            return status;
    }
    if (made->count > 0)
        qsort(made->item, (size_t)made->count, sizeof *made->item, compare_items);
    return PTO_OK;
}

/* The first row holds the prices of the predictions. */
static bool begin(trial_t *trial) {
    size_t count = (size_t)trial->predictions->strategy_count;
    trial->row = calloc(count * (STEPS + 1), sizeof *trial->row);
    trial->moves = calloc(count, sizeof *trial->moves);
    if (!trial->row || !trial->moves)
        return false;
    for (size_t i = 0; i < count; i++) {
        const pto_prediction_t *prediction = pto_prediction_at(trial->predictions, trial->point, (int)i);
        trial->row[i] = prediction->applicable ? prediction->price.seconds : INFINITY;
    }
    return true;
}

/* Examine all parameters; `trial` holds the machine's copy. */
static pto_status_t look_for_changes(trial_t *trial, const pto_machine_param_t *param,
                                     const pto_machine_param_t *copied, int param_count,
                                     pto_sensitivities_t *made, pto_error_t *err) {
    pto_status_t status = PTO_OK;
    if (begin(trial)) {
        find_winners(trial, made);
        trial->winner = made->winner;
        if (made->winner >= 0)
            status = examine(trial, param, copied, param_count, made, err);
    } else {
        status = pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a sensitivity");
    }
    free(trial->row);
    free(trial->moves);
    return status;
}

pto_status_t pto_sensitivity(const pto_predictions_t *predictions, const pto_machine_t *machine,
                             int64_t point, pto_sensitivities_t *sensitivities, pto_error_t *err) {
    pto_machine_param_t *param = NULL, *copied = NULL;
    int param_count = 0;
    pto_sensitivities_t made = {0};
    pto_machine_t *copy = NULL;
    pto_status_t status = pto_machine_duplicate(machine, &copy, err);
    trial_t trial = {.predictions = predictions, .machine = copy, .point = point};
    if (status == PTO_OK)
        status = pto_machine_params(machine, &param, &param_count, err);
    if (status == PTO_OK)
        status = pto_machine_params(copy, &copied, &param_count, err);
    if (status == PTO_OK)
        status = look_for_changes(&trial, param, copied, param_count, &made, err);
    free(param);
    free(copied);
    pto_machine_destroy(copy);
    if (status == PTO_OK)
        *sensitivities = made;
    else
        pto_sensitivities_fini(&made);
    return status;
}

void pto_sensitivities_fini(pto_sensitivities_t *sensitivities) {
    free(sensitivities->item);
    *sensitivities = (pto_sensitivities_t){0};
}

/* Summarises the cells of a score for a picker (the model or a baseline): how often it picks the best
 * strategy, the cost of a wrong pick (regret), and the errors of its times. */
#include <math.h>
#include <stdlib.h>

#include "base/names.h"
#include "portolan/score.h"

PTO_NAME_FUNCTION(pto_picker_name, pto_picker_t, PTO_PICKER_COUNT, "nobody",
                  {[PTO_PICKER_MODEL] = "model",
                   [PTO_PICKER_FLOOR] = "floor",
                   [PTO_PICKER_ALWAYS] = "always",
                   [PTO_PICKER_NEAREST] = "nearest",
                   [PTO_PICKER_AFFINE] = "affine",
                   [PTO_PICKER_LOG] = "log",
                   [PTO_PICKER_NEIGHBORS] = "neighbors",
                   [PTO_PICKER_RESIDUAL] = "residual"});

static int by_value(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

double pto_quantile(double *value, int64_t count, double fraction) {
    if (count == 0)
        return 0;
    qsort(value, (size_t)count, sizeof *value, by_value);
    double place = fraction * (double)(count - 1);
    int64_t below = (int64_t)floor(place);
    if (below >= count - 1)
        return value[count - 1];
    return value[below] + (place - (double)below) * (value[below + 1] - value[below]);
}

/* Values collected for a summary. */
typedef struct {
    double *value;
    int64_t count;
} values_t;

typedef struct {
    values_t regret;
    values_t error;
    double regret_sum;
} tally_t;

static bool is_in(const pto_score_filter_t *filter, const pto_score_cell_t *cell) {
    return cell->picked >= 0 &&
           (filter->collective == PTO_COLLECTIVE_COUNT || filter->collective == cell->collective) &&
           (filter->implementation == PTO_IMPLEMENTATION_COUNT ||
            filter->implementation == cell->implementation) &&
           (filter->nodes == 0 || filter->nodes == cell->nodes);
}

/* Returns the strategy's candidate; of several (chunks, staged members), the one predicted to be fastest. */
static int find_candidate(const pto_score_cell_t *cell, const pto_strategy_t *strategy) {
    int found = -1;
    for (int c = 0; c < cell->candidate_count; c++) {
        const pto_prediction_t *prediction = &cell->prediction[c];
        if (cell->candidate[c].strategy != strategy)
            continue;
        if (found < 0 ||
            (prediction->applicable && (!cell->prediction[found].applicable ||
                                        prediction->price.seconds < cell->prediction[found].price.seconds)))
            found = c;
    }
    return found;
}

/* Returns the number of picks of a picker in a cell: one, except for the floor. Sets `*pick` to the picks;
 * `*single` is memory for one. `strategy`: the pick of PTO_PICKER_ALWAYS. */
static int picks_of(const pto_score_cell_t *cell, pto_picker_t picker, const pto_strategy_t *strategy,
                    int *single, const int **pick) {
    *pick = single;
    if (picker == PTO_PICKER_FLOOR) {
        *pick = cell->floor_pick;
        return cell->floor_count;
    }
    if (picker >= PTO_BASELINE_FIRST)
        *single = cell->baseline[picker - PTO_BASELINE_FIRST].picked;
    else
        *single = picker == PTO_PICKER_MODEL ? cell->picked : find_candidate(cell, strategy);
    return *single >= 0 ? 1 : 0;
}

static void add_picks(const pto_score_cell_t *cell, const int *pick, int count, tally_t *tally,
                      pto_score_summary_t *summary) {
    double right = 0, regret_sum = 0;
    for (int i = 0; i < count; i++) {
        double regret = pto_score_regret(cell, pick[i]);
        right += regret <= 0;
        regret_sum += regret;
        tally->regret.value[tally->regret.count++] = regret;
        summary->regret_max = fmax(summary->regret_max, regret);
    }
    summary->cells++;
    summary->right += right / count;
    summary->clear_cells += cell->clear;
    summary->clear_right += cell->clear ? right / count : 0;
    tally->regret_sum += regret_sum / count;
}

/* Returns the time that a picker expects of a candidate; 0: none. */
static double expected_s(const pto_score_cell_t *cell, pto_picker_t picker, int candidate) {
    if (picker >= PTO_BASELINE_FIRST) {
        const double *seconds = cell->baseline[picker - PTO_BASELINE_FIRST].seconds;
        return seconds ? seconds[candidate] : 0;
    }
    const pto_prediction_t *prediction = &cell->prediction[candidate];
    return prediction->applicable && picker != PTO_PICKER_FLOOR ? prediction->price.seconds : 0;
}

static void add_errors(const pto_score_cell_t *cell, pto_picker_t picker, const pto_strategy_t *strategy,
                       tally_t *tally) {
    for (int c = 0; c < cell->candidate_count; c++) {
        double seconds = expected_s(cell, picker, c);
        if (seconds > 0 && (picker != PTO_PICKER_ALWAYS || cell->candidate[c].strategy == strategy))
            tally->error.value[tally->error.count++] = fabs(seconds / cell->candidate[c].measured_s - 1);
    }
}

/* Returns whether the pick and its runner-up were measured as nearly the same. */
static bool is_close(const pto_score_cell_t *cell) {
    if (cell->runner_up < 0)
        return false;
    double ratio = cell->candidate[cell->runner_up].measured_s / cell->candidate[cell->picked].measured_s;
    return fabs(log(ratio)) <= log(1.1);
}

/* Counts how often near-ties are close, and intervals contain the measured time. */
static void add_doubts(const pto_score_cell_t *cell, pto_score_summary_t *summary) {
    summary->near_ties += cell->near_tie;
    summary->close_ties += cell->near_tie && is_close(cell);
    summary->right_no_ties += !cell->near_tie && cell->regret <= 0;
    for (int c = 0; c < cell->candidate_count; c++) {
        const pto_price_t *price = &cell->prediction[c].price;
        double measured = cell->candidate[c].measured_s;
        if (!cell->prediction[c].applicable || !price->has_interval)
            continue;
        summary->intervals++;
        summary->held += measured >= price->low_s && measured <= price->high_s;
    }
}

static pto_status_t make_room(const pto_score_t *score, tally_t *tally, pto_error_t *err) {
    size_t picks = 1, pairs = 1;
    for (int64_t i = 0; i < score->cell_count; i++) {
        picks += (size_t)score->cell[i].floor_count + 1;
        pairs += (size_t)score->cell[i].candidate_count;
    }
    tally->regret.value = calloc(picks, sizeof *tally->regret.value);
    tally->error.value = calloc(pairs, sizeof *tally->error.value);
    if (!tally->regret.value || !tally->error.value)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a summary");
    return PTO_OK;
}

static void close_tally(tally_t *tally, pto_score_summary_t *summary) {
    summary->regret_mean = summary->cells > 0 ? tally->regret_sum / (double)summary->cells : 0;
    summary->regret_95 = pto_quantile(tally->regret.value, tally->regret.count, 0.95);
    summary->pairs = tally->error.count;
    summary->error_median = pto_quantile(tally->error.value, tally->error.count, 0.5);
    summary->error_90 = pto_quantile(tally->error.value, tally->error.count, 0.9);
}

pto_status_t pto_score_summarise(const pto_score_t *score, const pto_score_filter_t *filter,
                                 pto_picker_t picker, const pto_strategy_t *strategy,
                                 pto_score_summary_t *summary, pto_error_t *err) {
    tally_t tally = {0};
    pto_score_summary_t result = {0};
    pto_status_t status = make_room(score, &tally, err);
    for (int64_t i = 0; i < score->cell_count && status == PTO_OK; i++) {
        const pto_score_cell_t *cell = &score->cell[i];
        int single = -1;
        const int *pick = NULL;
        if (!is_in(filter, cell))
            continue;
        int count = picks_of(cell, picker, strategy, &single, &pick);
        if (count > 0)
            add_picks(cell, pick, count, &tally, &result);
        if (picker == PTO_PICKER_MODEL)
            add_doubts(cell, &result);
        add_errors(cell, picker, strategy, &tally);
    }
    if (status == PTO_OK) {
        close_tally(&tally, &result);
        *summary = result;
    }
    free(tally.regret.value);
    free(tally.error.value);
    return status;
}

/* Fills the rules of `portolan export` by price: which algorithm a library should run from which size on.
 * Also finds the sizes at which a strategy that no rule can select is faster (pto_export_write_missed). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "export.h"
#include "portolan/progress.h"
#include "portolan/units.h"
#include "show/table.h"

/* Returns the scenario of a table's communicator. It borrows `bytes`, `nodes` and all that the export owns.
 */
static pto_scenario_t scenario_at(const pto_export_t *export, const pto_export_table_t *table,
                                  pto_series_t bytes, pto_series_t nodes) {
    pto_scenario_t scenario = export->options.scenario;
    scenario.collective = table->collective->collective;
    scenario.layout.nodes = table->nodes;
    scenario.nodes = nodes;
    scenario.bytes = bytes;
    return scenario;
}

pto_status_t pto_export_check_work(const pto_export_t *export, pto_error_t *err) {
    int64_t work = 0, more;
    pto_status_t status = PTO_OK;
    for (int i = 0; i < export->table_count && status == PTO_OK; i++) {
        int64_t nodes = export->table[i].nodes;
        pto_scenario_t scenario =
            scenario_at(export, &export->table[i], export->bytes, (pto_series_t){&nodes, 1});
        status = pto_check_work(&scenario, export->options.machine, 2, &more, err);
        if (status == PTO_OK && !pto_add(work, more, &work))
            work = INT64_MAX;
    }
    return status == PTO_OK
               ? pto_check_amount(&export->options.scenario, "pricing takes the work of", work, 2, err)
               : status;
}

/* Sets the seconds of a strategy with this algorithm (NULL: the cheapest) at a size; INFINITY if it does not
 * apply. */
static pto_status_t price_strategy(const pto_export_t *export, const pto_export_table_t *table,
                                   const char *strategy, const char *algorithm, int64_t bytes,
                                   double *seconds, pto_error_t *err) {
    char name[64];
    int64_t nodes = table->nodes;
    pto_scenario_t scenario =
        scenario_at(export, table, (pto_series_t){&bytes, 1}, (pto_series_t){&nodes, 1});
    const pto_strategy_t *found;
    pto_plan_t *plan = NULL;
    pto_price_t price;
    pto_error_t reason = {0};
    *seconds = INFINITY;
    if (algorithm) {
        snprintf(name, sizeof name, "%s", algorithm);
        scenario.library.name = name;
    }
    if (scenario.layout.in_host && strcmp(strategy, "nccl") != 0)
        strategy = "mpi"; /* buffers in host memory */
    pto_status_t status = pto_strategy_find(strategy, &found, &reason);
    if (status == PTO_OK)
        status = pto_plan_choose(&scenario, export->options.machine, 0, found, &plan, &price, NULL, &reason);
    if (status == PTO_OK)
        *seconds = price.seconds;
    pto_plan_destroy(plan);
    if (status == PTO_OK || status == PTO_ERR_NOT_APPLICABLE)
        return PTO_OK;
    return pto_error_set(err, status, "%s", reason.message);
}

pto_status_t pto_export_price(const pto_export_t *export, const pto_export_table_t *table,
                              const pto_export_algorithm_t *algorithm, int64_t bytes, double *seconds,
                              pto_error_t *err) {
    const char *strategy = algorithm->strategy ? algorithm->strategy : table->collective->strategy;
    if (export->target->price) {
        *seconds = export->target->price(export, table, algorithm, bytes);
        return PTO_OK;
    }
    return price_strategy(export, table, strategy, algorithm->algorithm, bytes, seconds, err);
}

/* Whether rules for this communicator may name an algorithm. */
static bool may_run(const pto_export_t *export, const pto_export_table_t *table,
                    const pto_export_algorithm_t *algorithm) {
    if (algorithm->needs_commutative && !export->commutative)
        return false;
    bool is_power = (table->ranks & (table->ranks - 1)) == 0;
    return (is_power || !algorithm->needs_power) &&
           (!algorithm->ranks_max || table->ranks <= algorithm->ranks_max);
}

pto_status_t pto_export_best(const pto_export_t *export, const pto_export_table_t *table, int64_t bytes,
                             const pto_export_algorithm_t **best, double *seconds, pto_error_t *err) {
    const pto_export_algorithm_t *algorithm = table->collective->algorithm;
    pto_status_t status = PTO_OK;
    bool all_priced = true;
    *best = NULL;
    *seconds = INFINITY;
    for (; algorithm->name && status == PTO_OK; algorithm++) {
        double algorithm_s = INFINITY;
        if (!may_run(export, table, algorithm))
            continue;
        status = pto_export_price(export, table, algorithm, bytes, &algorithm_s, err);
        all_priced = all_priced && isfinite(algorithm_s);
        if (algorithm_s < *seconds) {
            *best = algorithm;
            *seconds = algorithm_s;
        }
    }
    if (!all_priced && table->collective->needs_all)
        *best = NULL;
    return status;
}

/* Sets the price of an algorithm or (NULL) of the library's default: 0, so that it wins, if it is unknown.
 * */
static pto_status_t price_rule(const pto_export_t *export, const pto_export_table_t *table,
                               const pto_export_algorithm_t *algorithm, int64_t bytes, double *seconds,
                               pto_error_t *err) {
    if (!algorithm)
        algorithm = export->target->default_rule(export, table, bytes).algorithm;
    *seconds = 0;
    return algorithm ? pto_export_price(export, table, algorithm, bytes, seconds, err) : PTO_OK;
}

/* Finds the size from which on a rule for `next` should replace one for `last`: by bisection in
 * (`slow`, `fast`], to 1/64 of the size. `next` must be as fast as `last` or, if `last` is NULL, faster than
 * the library's default. */
static pto_status_t find_crossing(const pto_export_t *export, const pto_export_table_t *table,
                                  const pto_export_algorithm_t *last, const pto_export_algorithm_t *next,
                                  int64_t slow, int64_t fast, int64_t *crossing, pto_error_t *err) {
    pto_status_t status = PTO_OK;
    while (fast - slow > 1 + fast / 64 && status == PTO_OK) {
        int64_t middle = slow + (fast - slow) / 2;
        double last_s, next_s = 0;
        status = price_rule(export, table, last, middle, &last_s, err);
        if (status == PTO_OK)
            status = price_rule(export, table, next, middle, &next_s, err);
        if (status == PTO_OK && isfinite(next_s) && (next_s < last_s || (last && next_s <= last_s)))
            fast = middle;
        else
            slow = middle;
    }
    *crossing = fast;
    return status;
}

static pto_status_t add_rule(pto_export_table_t *table, int64_t from, const pto_export_algorithm_t *algorithm,
                             pto_error_t *err) {
    if (table->rule_count == PTO_EXPORT_RULES_MAX)
        return pto_error_set(err, PTO_ERR_TOO_LARGE, "more than %d rules for one communicator",
                             PTO_EXPORT_RULES_MAX);
    table->rule[table->rule_count++] = (pto_export_rule_t){from, algorithm, ""};
    return PTO_OK;
}

/* Sets whether the price of `last` is within the tolerance of the best one, so that no new rule is needed;
 * false if `last` is NULL. */
static pto_status_t is_good_enough(const pto_export_t *export, const pto_export_table_t *table, int64_t bytes,
                                   const pto_export_algorithm_t *last, double best_s, bool *is_enough,
                                   pto_error_t *err) {
    double last_s = INFINITY;
    pto_status_t status = last ? pto_export_price(export, table, last, bytes, &last_s, err) : PTO_OK;
    *is_enough = isfinite(last_s) && last_s <= best_s * (1 + export->tolerance / 100);
    return status;
}

/* Sets `*best` to NULL (the library decides) unless it is better than the library's default, if that is
 * known. */
static pto_status_t prefer_default(const pto_export_t *export, const pto_export_table_t *table, int64_t bytes,
                                   const pto_export_algorithm_t **best, double best_s, pto_error_t *err) {
    if (!export->target->default_rule || !*best)
        return PTO_OK;
    bool is_enough;
    const pto_export_algorithm_t *own = export->target->default_rule(export, table, bytes).algorithm;
    pto_status_t status = is_good_enough(export, table, bytes, own, best_s, &is_enough, err);
    if (!own || is_enough)
        *best = NULL;
    return status;
}

/* Adds a rule from this size of the export on, if it is the first one or the last rule is not good enough.
 * */
static pto_status_t decide_at(const pto_export_t *export, pto_export_table_t *table, int64_t index,
                              pto_error_t *err) {
    const bool is_first = index == 0;
    const int64_t bytes = export->bytes.value[index];
    const pto_export_algorithm_t *best,
        *last = is_first ? NULL : table->rule[table->rule_count - 1].algorithm;
    double best_s;
    bool is_enough = false;
    int64_t from = is_first ? 0 : bytes;
    pto_status_t status = pto_export_best(export, table, bytes, &best, &best_s, err);
    if (status == PTO_OK)
        status = prefer_default(export, table, bytes, &best, best_s, err);
    if (status == PTO_OK)
        status = is_good_enough(export, table, bytes, last, best_s, &is_enough, err);
    const bool keeps_last = !is_first && (best == last || (is_enough && best));
    if (status != PTO_OK || keeps_last)
        return status;
    const bool both_have_prices = (last && best) || export->target->default_rule;
    if (!is_first && both_have_prices)
        status = find_crossing(export, table, last, best, export->bytes.value[index - 1], bytes, &from, err);
    return status == PTO_OK ? add_rule(table, from, best, err) : status;
}

/* Inserts a rule that leaves the sizes below the first priced one to the library, unless they are smaller
 * than an element. */
static pto_status_t leave_smaller_sizes(const pto_export_t *export, pto_export_table_t *table,
                                        pto_error_t *err) {
    int64_t first_bytes = export->bytes.value[0];
    if (!table->rule[0].algorithm || first_bytes <= pto_datatype_bytes(export->options.scenario.datatype))
        return PTO_OK;
    pto_status_t status = add_rule(table, 0, NULL, err);
    if (status != PTO_OK)
        return status;
    memmove(table->rule + 1, table->rule, (size_t)(table->rule_count - 1) * sizeof *table->rule);
    table->rule[0] = (pto_export_rule_t){.from_bytes = 0};
    table->rule[1].from_bytes = first_bytes;
    return PTO_OK;
}

pto_status_t pto_export_decide(const pto_export_t *export, pto_export_table_t *table, pto_error_t *err) {
    pto_status_t status = PTO_OK;
    table->rule_count = 0;
    for (int64_t i = 0; i < export->bytes.count && status == PTO_OK; i++)
        status = decide_at(export, table, i, err);
    if (status == PTO_OK)
        status = leave_smaller_sizes(export, table, err);
    if (status == PTO_OK && table->rule_count > 0 && table->rule[table->rule_count - 1].algorithm)
        status = add_rule(table, export->bytes.value[export->bytes.count - 1] + 1, NULL, err);
    return status;
}

const pto_export_algorithm_t *pto_export_algorithm(const pto_export_collective_t *collective,
                                                   const char *name) {
    const pto_export_algorithm_t *found = collective->algorithm;
    while (found->name && strcmp(found->name, name) != 0)
        found++;
    return found->name ? found : NULL;
}

const pto_export_algorithm_t *pto_export_algorithm_of_id(const pto_export_collective_t *collective,
                                                         int64_t id) {
    const pto_export_algorithm_t *found = collective->algorithm;
    while (found->name && found->id != id)
        found++;
    return found->name ? found : NULL;
}

const pto_export_rule_t *pto_export_rule_at(const pto_export_table_t *table, int64_t bytes) {
    int found = 0;
    while (found + 1 < table->rule_count && table->rule[found + 1].from_bytes <= bytes)
        found++;
    return &table->rule[found];
}

int64_t pto_export_size(const pto_export_table_t *table, int64_t bytes) {
    return table->collective->total ? bytes * table->ranks : bytes;
}

/* Whether staging through the host is as fast as giving the library GPU buffers. */
static pto_status_t staging_is_as_fast(const pto_export_t *export, const pto_export_table_t *table,
                                       int64_t bytes, bool *as_fast, pto_error_t *err) {
    double staged_s, direct_s = 0;
    pto_status_t status = price_strategy(export, table, "three_step", NULL, bytes, &staged_s, err);
    if (status == PTO_OK)
        status = price_strategy(export, table, "cuda_aware", NULL, bytes, &direct_s, err);
    *as_fast = status == PTO_OK && staged_s <= direct_s;
    return status;
}

pto_status_t pto_export_last_staged(const pto_export_t *export, const pto_export_table_t *table,
                                    int64_t *bytes, pto_error_t *err) {
    const pto_series_t *sizes = &export->bytes;
    int64_t staged_count = 0; /* of the first sizes: those at which staging is as fast */
    pto_status_t status = PTO_OK;
    while (staged_count < sizes->count) {
        bool as_fast;
        status = staging_is_as_fast(export, table, sizes->value[staged_count], &as_fast, err);
        if (!as_fast)
            break;
        staged_count++;
    }
    *bytes = staged_count > 0 ? sizes->value[staged_count - 1] : -1;
    if (staged_count == 0 || staged_count == sizes->count || status != PTO_OK)
        return status;
    int64_t above = sizes->value[staged_count];
    while (above - *bytes > 1 + above / 64 && status == PTO_OK) {
        int64_t middle = *bytes + (above - *bytes) / 2;
        bool as_fast;
        status = staging_is_as_fast(export, table, middle, &as_fast, err);
        if (as_fast)
            *bytes = middle;
        else
            above = middle;
    }
    return status;
}

/* Write a line if a range's winner is faster than the library with its rules by more than the tolerance. */
static pto_status_t write_range(const pto_export_t *export, const pto_export_table_t *table,
                                const pto_predictions_t *predictions, const pto_range_t *range, FILE *stream,
                                pto_error_t *err) {
    double gain = 1;
    pto_status_t status = PTO_OK;
    const pto_strategy_t *winner = predictions->strategy[range->winner];
    for (int64_t i = range->point_first; i < range->point_first + range->point_count && status == PTO_OK;
         i++) {
        const pto_export_algorithm_t *algorithm = pto_export_rule_at(table, predictions->point[i])->algorithm;
        double library_s = INFINITY, best_s = pto_prediction_at(predictions, i, range->winner)->price.seconds;
        status = algorithm
                     ? pto_export_price(export, table, algorithm, predictions->point[i], &library_s, err)
                     : price_strategy(export, table, table->collective->strategy, NULL, predictions->point[i],
                                      &library_s, err);
        gain = fmax(gain, library_s / best_s);
    }
    if (status != PTO_OK || gain <= 1 + export->tolerance / 100)
        return status;
    char from[PTO_BYTES_TEXT_MAX], last[PTO_BYTES_TEXT_MAX];
    pto_size_text(range->from, from);
    pto_size_text(predictions->point[range->point_first + range->point_count - 1], last);
    bool is_range = strcmp(from, last) != 0;
    fprintf(stream, "%s on %lld ranks, %s%s%s: %s is up to %.2f times faster\n", table->collective->name,
            (long long)table->ranks, from, is_range ? " to " : "", is_range ? last : "", winner->name, gain);
    return PTO_OK;
}

static bool is_named(const pto_strategy_t *strategy, const char *name) {
    return name && strcmp(strategy->name, name) == 0;
}

/* Whether the library runs a strategy by itself or by a rule. */
static bool can_run(const pto_export_collective_t *collective, const pto_strategy_t *strategy) {
    bool found = is_named(strategy, collective->strategy) || is_named(strategy, "mpi");
    for (const pto_export_algorithm_t *algorithm = collective->algorithm; algorithm->name; algorithm++)
        found = found || is_named(strategy, algorithm->strategy);
    return found;
}

/* Writes the lines of pto_export_write_missed about one table. */
static pto_status_t write_table(const pto_export_t *export, const pto_export_table_t *table,
                                const char *except, FILE *stream, pto_error_t *err) {
    int64_t nodes = table->nodes;
    pto_scenario_t scenario = scenario_at(export, table, export->bytes, (pto_series_t){&nodes, 1});
    pto_predictions_t predictions;
    pto_range_t *range = NULL;
    int64_t count = 0;
    pto_status_t status = pto_predict(&scenario, export->options.machine, true, &predictions, err);
    if (status != PTO_OK)
        return status;
    status = pto_pick(&predictions, &range, &count, err);
    for (int64_t i = 0; i < count && status == PTO_OK; i++) {
        const pto_strategy_t *winner = range[i].winner >= 0 ? predictions.strategy[range[i].winner] : NULL;
        /* If a cost of the winner's is not priced, it may not be the cheapest. */
        bool is_sure = winner && !range[i].unpriced;
        if (is_sure && !can_run(table->collective, winner) && !is_named(winner, except))
            status = write_range(export, table, &predictions, &range[i], stream, err);
    }
    free(range);
    pto_predictions_fini(&predictions);
    return status;
}

pto_status_t pto_export_write_missed(const pto_export_t *export, const char *except, FILE *stream,
                                     pto_error_t *err) {
    pto_status_t status = PTO_OK;
    for (int i = 0; i < export->table_count && status == PTO_OK; i++) {
        if (!pto_is_stopped())
            status = write_table(export, &export->table[i], except, stream, err);
        if (pto_is_stopped()) { /* not an error: the rules are complete */
            fputs("interrupted: what else may be faster is not listed\n", stream);
            return PTO_OK;
        }
        if (export->shows_progress)
            pto_progress_add(1);
    }
    return status;
}

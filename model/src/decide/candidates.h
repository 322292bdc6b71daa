/* The plans among which a strategy's is chosen, and the library's choice. */
#ifndef PTO_DECIDE_CANDIDATES_H
#define PTO_DECIDE_CANDIDATES_H

#include "portolan/pick.h"
#include "price/bounded.h"

/* From this many times the cheapest price on, the starts of the chunks are most of it, and double with them:
 * the search for chunks ends. */
#define PTO_HOPELESS 2

/* A cell of a scenario: a strategy at a point. */
typedef struct {
    const pto_scenario_t *scenario;
    const pto_machine_t *machine;
    pto_request_t request;    /* without its algorithm */
    const char *algorithm;    /* that the scenario or the machine file names; NULL: the cheapest */
    bool explained;           /* its price is, which takes more work */
    int64_t work;             /* once counted (pto_each_work) */
    pto_price_cache_t *cache; /* shared with the prices of other cells; NULL: each price has its own */
} pto_scenario_cell_t;

pto_scenario_cell_t pto_scenario_cell(const pto_scenario_t *scenario, const pto_machine_t *machine,
                                      int64_t point, const pto_strategy_t *strategy);

/* Returns whether plans of an algorithm are candidates of the cell. Of a library that nothing describes,
 * those that share host memory are not: few libraries have one. */
bool pto_scenario_cell_tries(const pto_scenario_cell_t *cell, const pto_algorithm_t *algorithm);

/* pto_plan_choose. `likely`: the algorithm that is likely to be chosen; NULL: unknown. */
pto_status_t pto_scenario_cell_choose(const pto_scenario_cell_t *cell, const pto_algorithm_t *likely,
                                      pto_plan_t **plan, pto_price_t *price, pto_explanation_t *explanation,
                                      pto_error_t *err);

/* Called for each plan, which is then freed unless `*plan` has been set to NULL. `in_chunks`: one of a search
 * for the number of chunks, which ends at a hopeless one. Errors end the visit; those that leave a cell out
 * end that of the algorithm's plans. */
typedef struct {
    pto_status_t (*call)(pto_plan_t **plan, bool in_chunks, void *context, pto_error_t *err);
    void *context;
} pto_visit_candidate_t;

/* Visit the plans that pto_plan_choose may choose at a point, whatever they cost: by algorithm, and then by
 * number of chunks or of staged members. Errors: those of `visit`, of pto_plan_create except that a plan does
 * not apply, and PTO_ERR_TOO_LARGE if two numbers are open, which are not tried in all pairs. */
pto_status_t pto_plan_candidates(const pto_scenario_t *scenario, const pto_machine_t *machine, int64_t point,
                                 const pto_strategy_t *strategy, const pto_visit_candidate_t *visit,
                                 pto_error_t *err);

/* Ask a scenario, which must be initialised, for one cell, and bind it. What the cell does not say, such as
 * counts, stays as it is. Errors: those of pto_predict_one. */
pto_status_t pto_bind_cell(const pto_ask_t *cell, const pto_machine_t *machine, pto_scenario_t *scenario,
                           pto_error_t *err);

/* The plan of the named strategy (NULL: of the cheapest one) at the first point of a bound scenario. Errors:
 * the first strategy's if none applies. */
pto_status_t pto_choose_cheapest(const pto_scenario_t *scenario, const pto_machine_t *machine,
                                 const char *strategy, pto_plan_t **plan, pto_price_t *price,
                                 pto_error_t *err);

/* Returns whether the strategy calls a collective of an MPI library that neither the scenario nor the machine
 * file describes. Its price is that of the cheapest algorithm, of reductions on GPUs staged through the host,
 * if the machine has the cost of pageable copies. */
bool pto_library_is_unknown(const pto_scenario_t *scenario, const pto_machine_t *machine,
                            const pto_request_t *request);

/* Add a term without a price: library.COLLECTIVE.SPACE, or its .algorithm where a row is flagged. Errors:
 * PTO_ERR_MEMORY. */
pto_status_t pto_library_explain_unknown(const pto_scenario_t *scenario, const pto_machine_t *machine,
                                         const pto_request_t *request, pto_explanation_t *explanation,
                                         pto_error_t *err);

/* Count the work of all cells, in the order of predictions. Returns their sum, or INT64_MAX. */
int64_t pto_each_work(pto_scenario_cell_t *cell, int64_t point_count, int strategy_count);

/* Predict a scenario that is a sweep's at a value between two of its points. Work is counted again only where
 * the sweep has any, or is one of numbers of nodes: plans of other sizes have none, if those of a sweep's
 * sizes have none. Errors: those of pto_predict. */
pto_status_t pto_predict_between(const pto_predictions_t *swept, const pto_scenario_t *scenario,
                                 pto_predictions_t *predictions, pto_error_t *err);

/* Returns the series of a scenario that a sweep of this kind varies; like strchr's, it may be changed if the
 * scenario may. */
static inline pto_series_t *pto_swept_series(const pto_scenario_t *scenario, pto_sweep_kind_t sweep) {
    const pto_series_t *series = sweep == PTO_SWEEP_NODES      ? &scenario->nodes
                                 : sweep == PTO_SWEEP_MESSAGES ? &scenario->messages
                                                               : &scenario->bytes;
    return (pto_series_t *)series;
}

/* Leave out all points but the first ones. */
void pto_predictions_cut(pto_predictions_t *predictions, int64_t point_count);

/* Returns whether the library chooses the request's algorithm by tables; the row that it, or the scenario's
 * own table, then has for it. NULL: none. */
bool pto_library_has_rules(const pto_request_t *request);
const pto_library_rule_t *pto_library_rule(const pto_scenario_t *scenario, const pto_machine_t *machine,
                                           const pto_request_t *request);

#endif

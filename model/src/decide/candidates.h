/* The cells of a scenario (a strategy at a point of its sweep), the plans that are candidates for a cell, how
 * the cheapest of them is chosen, and what the MPI library would choose. Shared by the files of this folder.
 */
#ifndef PTO_DECIDE_CANDIDATES_H
#define PTO_DECIDE_CANDIDATES_H

#include "portolan/pick.h"
#include "price/bounded.h"

/* The search for the number of chunks doubles it, and ends when a price exceeds the cheapest one by this
 * factor: the start costs of the chunks are then most of the price, and double with them. */
#define PTO_HOPELESS 2

/* A cell of a scenario: a strategy at a point. */
typedef struct {
    const pto_scenario_t *scenario;
    const pto_machine_t *machine;
    pto_request_t request;    /* without its algorithm */
    const char *algorithm;    /* named by the scenario or the machine file; NULL: the cheapest */
    bool explained;           /* the price is explained, which takes more work */
    int64_t work;             /* of pricing it, in units of about 1 us (work.c); set by pto_count_work */
    pto_price_cache_t *cache; /* shared with the prices of other cells; NULL: each price has its own */
} pto_scenario_cell_t;

pto_scenario_cell_t pto_scenario_cell(const pto_scenario_t *scenario, const pto_machine_t *machine,
                                      int64_t point, const pto_strategy_t *strategy);

/* Returns whether plans of an algorithm are candidates of the cell. If nothing describes the MPI library,
 * algorithms that share host memory are not: few libraries have one. */
bool pto_scenario_cell_tries(const pto_scenario_cell_t *cell, const pto_algorithm_t *algorithm);

/* pto_plan_choose. `likely`: the algorithm that is likely to be chosen; NULL: unknown. */
pto_status_t pto_scenario_cell_choose(const pto_scenario_cell_t *cell, const pto_algorithm_t *likely,
                                      pto_plan_t **plan, pto_price_t *price, pto_explanation_t *explanation,
                                      pto_error_t *err);

/* Called for each plan, which is then freed unless `*plan` has been set to NULL. `in_chunks`: the plan is one
 * of a search for the number of chunks (PTO_HOPELESS). An error ends the visit. An error that only excludes a
 * cell (pto_leaves_cell_out) ends it for the other numbers of chunks or staged members of this algorithm. */
typedef struct {
    pto_status_t (*call)(pto_plan_t **plan, bool in_chunks, void *context, pto_error_t *err);
    void *context;
} pto_visit_candidate_t;

/* Visits the plans that pto_plan_choose may choose at a point, whatever they cost: by algorithm, and then by
 * number of chunks or of staged members. Plans that do not apply are skipped. Errors: those of `visit` and of
 * pto_plan_create, and PTO_ERR_TOO_LARGE if both numbers of staged members are open: not all pairs are tried.
 */
pto_status_t pto_plan_candidates(const pto_scenario_t *scenario, const pto_machine_t *machine, int64_t point,
                                 const pto_strategy_t *strategy, const pto_visit_candidate_t *visit,
                                 pto_error_t *err);

/* Sets an initialised scenario to one cell, and binds it to the machine. What the cell does not have, such as
 * counts, stays as it is. Errors: those of pto_predict_one. */
pto_status_t pto_bind_cell(const pto_ask_t *cell, const pto_machine_t *machine, pto_scenario_t *scenario,
                           pto_error_t *err);

/* Makes the plan of the named strategy (NULL: of the cheapest one) at the first point of a bound scenario.
 * `*plan` must be NULL. Errors: that of the first strategy if none applies. */
pto_status_t pto_choose_cheapest(const pto_scenario_t *scenario, const pto_machine_t *machine,
                                 const char *strategy, pto_plan_t **plan, pto_price_t *price,
                                 pto_error_t *err);

/* Returns whether the strategy calls a collective of an MPI library that neither the scenario nor the machine
 * file describes. Its price is then that of the cheapest algorithm, with reductions on GPUs staged through
 * the host if the machine has the cost of pageable copies. */
bool pto_library_is_unknown(const pto_scenario_t *scenario, const pto_machine_t *machine,
                            const pto_request_t *request);

/* Adds a term without a price: library.COLLECTIVE.SPACE, with .algorithm if a row is flagged. */
pto_status_t pto_library_explain_unknown(const pto_scenario_t *scenario, const pto_machine_t *machine,
                                         const pto_request_t *request, pto_explanation_t *explanation,
                                         pto_error_t *err);

/* Sets the work of all cells, [point][strategy]. Returns the sum, or INT64_MAX on overflow. */
int64_t pto_count_work(pto_scenario_cell_t *cell, int64_t point_count, int strategy_count);

/* Predicts `scenario`, which is the scenario of `swept` at a value between two of its points. If pricing a
 * sweep of sizes took no work, none is counted: other sizes take none, either. Errors: those of pto_predict.
 */
pto_status_t pto_predict_between(const pto_predictions_t *swept, const pto_scenario_t *scenario,
                                 pto_predictions_t *predictions, pto_error_t *err);

/* Returns the series of a scenario that a sweep of this kind varies. Like strchr, it drops `const`: change
 * the series only if the scenario may be changed. */
static inline pto_series_t *pto_swept_series(const pto_scenario_t *scenario, pto_sweep_kind_t sweep) {
    if (sweep == PTO_SWEEP_NODES)
        return (pto_series_t *)&scenario->nodes;
    return (pto_series_t *)(sweep == PTO_SWEEP_MESSAGES ? &scenario->messages : &scenario->bytes);
}

/* Drops all points but the first ones. */
void pto_predictions_cut(pto_predictions_t *predictions, int64_t point_count);

/* Returns whether the library may choose the request's algorithm by tables. */
bool pto_library_has_rules(const pto_request_t *request);
/* Returns the row for the request in the scenario's own table, or else in the machine's; NULL: none. */
const pto_library_rule_t *pto_library_rule(const pto_scenario_t *scenario, const pto_machine_t *machine,
                                           const pto_request_t *request);

#endif

/* A strategy's price at a point of the sweep as formulas (formula.h) of a few parameters. Each plan that the
 * strategy chooses from has one or more, so that the page of a report can choose again when sliders change
 * the parameters. */
#ifndef PTO_REPORT_CELL_FORMULAS_H
#define PTO_REPORT_CELL_FORMULAS_H

#include "portolan/pick.h"
#include "report/formula.h"

/* A plan. The first of its formulas that holds gives the price, which is unknown if none does. */
typedef struct {
    const pto_algorithm_t *algorithm;
    int64_t chunks;
    pto_staged_t staged_members;
    bool in_chunks; /* of a search for the number of chunks, which ends at PTO_HOPELESS times the cheapest */
    int formula_first; /* index among the cell's */
    int formula_count;
} pto_candidate_t;

/* The formulas of a cell: of one strategy at one point. */
typedef struct {
    pto_formulas_t formulas;
    int count;
    pto_candidate_t *candidate; /* in the order in which they are tried; of equal prices the first wins */
    char reason[PTO_ERROR_MESSAGE_MAX]; /* why there are no formulas; else "" */
} pto_cell_formulas_t;

/* Makes the formulas of a strategy that applies. The variables point to parameters of `machine`, which are
 * changed and restored. Errors: PTO_ERR_MEMORY. */
pto_status_t pto_cell_formulas(const pto_scenario_t *scenario, const pto_machine_t *machine, int64_t point,
                               const pto_strategy_t *strategy, const pto_formula_variable_t *variable,
                               int variable_count, pto_cell_formulas_t *formulas, pto_error_t *err);
void pto_cell_formulas_fini(pto_cell_formulas_t *formulas);

#endif

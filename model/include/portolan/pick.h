/* Predicting a whole scenario and picking from it: the price of every strategy at every point of the sweep,
 * and the ranges in which each is the cheapest. */
#ifndef PORTOLAN_PICK_H
#define PORTOLAN_PICK_H

#include "portolan/api.h"
#include "portolan/energy.h"
#include "portolan/scenario.h"
#include "portolan/setup.h"
#include "portolan/simulate.h"
#include "portolan/strategy.h"

PTO_API_BEGIN

/* One strategy at one point. Where it does not apply, `reason` says why and the rest is unset. */
typedef struct {
    bool applicable;
    const pto_algorithm_t *algorithm;
    pto_price_t price;
    pto_explanation_t explanation; /* only where pto_predict was asked to explain */
    bool has_energy; /* only then, and where the machine has the powers; else `reason` says why */
    pto_energy_t energy;
    pto_setup_t setup; /* only then */
    char reason[PTO_ERROR_MESSAGE_MAX];
} pto_prediction_t;

/* What makes a strategy the cheapest. */
typedef enum {
    PTO_BY_TIME,
    PTO_BY_ENERGY,
    PTO_BY_PRODUCT, /* of both, the energy-delay product: joule seconds */
    PTO_BY_COUNT
} pto_by_t;

const char *pto_by_name(pto_by_t by);

/* A prediction as what it is judged by: seconds, joules or joule seconds, with their interval, which is the
 * value itself where there is none. */
typedef struct {
    double value;
    double low;
    double high;
} pto_cost_t;

/* False where the strategy does not apply, or its energy is wanted and not known. */
bool pto_prediction_cost(const pto_prediction_t *prediction, pto_by_t by, pto_cost_t *cost);

/* What was predicted: point by point, strategy by strategy. The scenario and the machine are borrowed. */
typedef struct {
    const pto_scenario_t *scenario;
    const pto_machine_t *machine;
    pto_sweep_kind_t sweep;
    pto_by_t by; /* PTO_BY_TIME, unless the caller changes it: what pto_pick and the tables judge by */
    int64_t point_count;
    const int64_t *point; /* the swept values; borrowed from the scenario */
    int strategy_count;
    const pto_strategy_t **strategy;
    pto_prediction_t *prediction; /* point_count * strategy_count */
} pto_predictions_t;

/* Price all strategies of a bound scenario at all points. `explain` keeps the terms of every price, its
 * energy and its setup.
 * Errors: PTO_ERR_NOT_FOUND (an unknown strategy or algorithm), PTO_ERR_NOT_APPLICABLE where none applies
 * anywhere, PTO_ERR_TOO_LARGE, PTO_ERR_MEMORY. A strategy that does not apply is no error. */
pto_status_t pto_predict(const pto_scenario_t *scenario, const pto_machine_t *machine, bool explain,
                         pto_predictions_t *predictions, pto_error_t *err);
void pto_predictions_fini(pto_predictions_t *predictions);

const pto_prediction_t *pto_prediction_at(const pto_predictions_t *predictions, int64_t point, int strategy);

/* All strategies of a bound scenario at all points, as pto_predict has them, with the simulated seconds as
 * prices. The algorithm is the one that pto_predict takes; where the scenario asks for the best, the one with
 * the shortest simulation. A cell whose plan, or one of whose plans, is above the limit is not applicable,
 * with the reason, and none of its plans is simulated. `*simulation`, one for every prediction, is the
 * caller's to free(). Errors: those of pto_predict and pto_simulate; PTO_ERR_TOO_LARGE where every cell is
 * above the limit. */
pto_status_t pto_simulate_scenario(const pto_scenario_t *scenario, const pto_machine_t *machine,
                                   const pto_simulate_options_t *options, pto_predictions_t *predictions,
                                   pto_simulation_t **simulation, pto_error_t *err);

/* From how many calls on a strategy costs no more than another one that needs less setup, both setups
 * included: ceil((S - S_other) / (t_other - t)) with setups S and times t of a call; INFINITY where its calls
 * cost no less. False where the other doesn't need less, one of both doesn't apply or its setup is not known.
 * Needs predictions that were explained. */
bool pto_payback(const pto_prediction_t *own, const pto_prediction_t *other, double *calls);

/* How many points a bound scenario's sweep has. */
int64_t pto_scenario_points(const pto_scenario_t *scenario);

/* The strategies that a scenario names, else all that know its collective; `*strategy` is the caller's to
 * free(). Errors: PTO_ERR_NOT_FOUND, at the scenario's place, PTO_ERR_MEMORY. */
pto_status_t pto_scenario_strategies(const pto_scenario_t *scenario, const pto_strategy_t ***strategy,
                                     int *strategy_count, pto_error_t *err);

/* The request for a plan at a point of a bound scenario; `algorithm` may be NULL until one is chosen. */
pto_request_t pto_scenario_request(const pto_scenario_t *scenario, int64_t point,
                                   const pto_strategy_t *strategy, const pto_algorithm_t *algorithm);

/* The collective inside a request's plan as an MPI library sees it, which chooses its algorithm by that; of a
 * plan without one, one process and the request's own bytes. */
typedef struct {
    int64_t procs;
    int64_t bytes; /* per destination, or of the vector */
} pto_call_t;
pto_call_t pto_request_call(const pto_request_t *request);

/* The algorithm that the scenario or the machine file names for a request's call (NULL: the cheapest), and
 * whether the library then moves GPU buffers through host memory of its own. */
const char *pto_library_algorithm(const pto_scenario_t *scenario, const pto_machine_t *machine,
                                  const pto_request_t *request, bool *staged);

/* The plan in force at a point: that of the algorithm which the scenario or the machine file names, else of
 * the cheapest. The caller owns `*plan`. Errors as for pto_plan_create and pto_price, and
 * PTO_ERR_NOT_APPLICABLE where a GPU's or a node's memory is too small for the plan's buffers. */
pto_status_t pto_plan_choose(const pto_scenario_t *scenario, const pto_machine_t *machine, int64_t point,
                             const pto_strategy_t *strategy, pto_plan_t **plan, pto_price_t *price,
                             pto_explanation_t *explanation, pto_error_t *err);

/* One cell: a collective of one size on one layout. Zeros and NULLs: the defaults. */
typedef struct {
    const char *collective; /* "allreduce", "alltoall", ... */
    const char *strategy;   /* NULL: the cheapest of all that apply */
    const char *datatype;   /* NULL: "float" */
    int64_t bytes;          /* per destination, per message, or of the vector */
    int64_t nodes;          /* 0: 1 */
    int64_t gpus_per_node;  /* 0: the machine's */
    int64_t cores_per_gpu;  /* processes of a GPU, owner included; 0: the machine's cores shared out */
} pto_ask_t;

/* Price one cell: the plan in force of the strategy, or of the cheapest strategy. The caller owns `*plan`,
 * which borrows nothing from `cell` and can be executed (exec.h); both outputs may be NULL. Errors:
 * PTO_ERR_NOT_FOUND for an unknown name, PTO_ERR_NOT_APPLICABLE with the first strategy's reason where none
 * applies, PTO_ERR_RANGE, PTO_ERR_KEY, PTO_ERR_MEMORY. */
pto_status_t pto_predict_one(const pto_machine_t *machine, const pto_ask_t *cell, pto_plan_t **plan,
                             pto_price_t *price, pto_error_t *err);

/* Consecutive points with the same cheapest strategy, or the same strategies that tie for it: [from, below)
 * of the swept quantity, where `below` is the first point at which another one wins, or INT64_MAX. Strategies
 * tie where their costs are equal but for rounding. */
typedef struct {
    int64_t from;
    int64_t below;
    int64_t point_first;
    int64_t point_count;
    int winner;        /* index of a strategy, the first named of those that tie; -1 where none applies */
    int tied;          /* how many others tie with it: pto_range_is_tied says which */
    int runner_up;     /* the next that costs more, at most of the range's points; -1 where there is none */
    double margin_low; /* how much more the runner-up costs, as a fraction: least and most over the points */
    double margin_high;
    bool toss_up;         /* at some point the margin lies inside the costs' intervals */
    const char *unpriced; /* as pto_pick_unpriced at the first point where that is not NULL; else NULL */
} pto_range_t;

/* Whether a strategy other than the winner costs what the winner does, all over the range. */
bool pto_range_is_tied(const pto_predictions_t *predictions, const pto_range_t *range, int strategy);

/* The strategy that costs least at a point, the first of equals; -1 where none applies. */
int pto_pick_at(const pto_predictions_t *predictions, int64_t point);

/* Whether the pick at a point is unsure: the key of a parameter that the machine file lacks and that the
 * pick's price would contain, but another strategy's would not, or less often. With it the pick would cost
 * more, and the other might be cheaper. NULL where there is none, or the predictions were not explained. The
 * key lives as long as the predictions. */
const char *pto_pick_unpriced(const pto_predictions_t *predictions, int64_t point);

/* `*range` is the caller's to free(). */
pto_status_t pto_pick(const pto_predictions_t *predictions, pto_range_t **range, int64_t *range_count,
                      pto_error_t *err);

PTO_API_END

#endif

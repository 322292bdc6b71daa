/* Prediction and selection: the price of every strategy at every point of a scenario's sweep, and the ranges
 * in which each strategy is the cheapest. */
#ifndef PORTOLAN_PICK_H
#define PORTOLAN_PICK_H

#include "portolan/api.h"
#include "portolan/price.h"
#include "portolan/scenario.h"
#include "portolan/simulate.h"
#include "portolan/strategy.h"

PTO_API_BEGIN

/* One strategy at one point. If it does not apply, `reason` says why and the other fields are unset. */
typedef struct {
    bool applicable;
    const pto_algorithm_t *algorithm;
    int64_t chunks;              /* of a chunked strategy; else 0 */
    pto_staged_t staged_members; /* of a strategy that stages; else 0 */
    bool library_unknown; /* the MPI library's algorithm is not known, so the price assumes the best one, or
                             the table row that names it is flagged */
    pto_price_t price;
    pto_explanation_t explanation; /* only if pto_predict was asked to explain */
    bool has_energy; /* only with an explanation and a machine that has the powers; else `reason` says why */
    pto_energy_t energy;
    pto_setup_t *setup; /* NULL before pto_predictions_find_setups; owned by the predictions */
    char reason[PTO_ERROR_MESSAGE_MAX];
} pto_prediction_t;

/* The cost by which strategies are compared. */
typedef enum {
    PTO_BY_TIME,
    PTO_BY_ENERGY,
    PTO_BY_PRODUCT, /* energy-delay product, in joule seconds */
    PTO_BY_COUNT
} pto_by_t;

const char *pto_by_name(pto_by_t value);

/* A prediction's cost in seconds, joules or joule seconds. Without an interval, low = high = value. */
typedef struct {
    double value;
    double low;
    double high;
} pto_cost_t;

/* False if the strategy does not apply, or if its energy is needed and unknown. */
bool pto_prediction_cost(const pto_prediction_t *prediction, pto_by_t by, pto_cost_t *cost);

/* The gain from as many processes per GPU as the GPU's equal share of the node's cores. */
typedef struct {
    int64_t procs_per_gpu; /* 0: nothing is gained, or no more than the intervals can distinguish */
    int64_t point;         /* where the gain is largest relative to the pick's time */
    const pto_strategy_t *strategy;
    double seconds, pick_s; /* of this strategy with these processes, and of the pick */
    /* A key that the machine lacks and `seconds` would contain; never copies.shared; empty: none. */
    char unpriced[PTO_PARAM_KEY_MAX];
} pto_more_procs_t;

/* All predictions, by point and then by strategy. The scenario and the machine are borrowed. */
typedef struct {
    const pto_scenario_t *scenario;
    const pto_machine_t *machine;
    pto_sweep_kind_t sweep;
    pto_by_t by; /* the cost that pto_pick and the tables compare; PTO_BY_TIME unless the caller changes it */
    int64_t point_count;
    const int64_t *point; /* the swept values; borrowed from the scenario */
    int strategy_count;
    const pto_strategy_t **strategy;
    pto_prediction_t *prediction; /* point_count * strategy_count */
    int64_t work;                 /* of all points and strategies, explained or not */
    pto_more_procs_t more_procs;  /* none before pto_predictions_find_more_procs */
} pto_predictions_t;

/* Work is counted in messages that pricing walks one by one (pto_price_work); several messages of a table
 * that share no links count as one (docs/reliability.md, "Bounds on work"). A command's total is limited by
 * the scenario's work_limit or, without one, by PTO_WORK_LIMIT, which takes about a minute. pto_cell_work is
 * the work for one strategy at one point, without an explanation. */
enum { PTO_WORK_LIMIT = 1 << 26, PTO_WORK_PER_SECOND = 1 << 20 };
int64_t pto_cell_work(const pto_scenario_t *scenario, const pto_machine_t *machine, int64_t point,
                      const pto_strategy_t *strategy);
int64_t pto_scenario_work_limit(const pto_scenario_t *scenario);

/* Check that pricing all cells `times` times stays within the limit; pto_predict does so with 1. `*work` (or
 * NULL) is the work of pricing them once. Errors: PTO_ERR_TOO_LARGE with the work, the limit and the option.
 */
pto_status_t pto_check_work(const pto_scenario_t *scenario, const pto_machine_t *machine, int64_t times,
                            int64_t *work, pto_error_t *err);

/* The same for pricing one point once. Errors: the same, and those of pto_scenario_strategies. */
pto_status_t pto_check_point_work(const pto_scenario_t *scenario, const pto_machine_t *machine, int64_t point,
                                  pto_error_t *err);
/* The same for `each` messages or copies, counted by the caller, that are walked `times` times. `what` begins
 * the error message, as in "pricing walks". */
pto_status_t pto_check_amount(const pto_scenario_t *scenario, const char *what, int64_t each, int64_t times,
                              pto_error_t *err);

/* Price all strategies of a bound scenario at all points. `explain` keeps the terms and the energy of every
 * price.
 * Errors: PTO_ERR_NOT_FOUND (an unknown strategy or algorithm), PTO_ERR_NOT_APPLICABLE if no strategy applies
 * at any point, PTO_ERR_TOO_LARGE, PTO_ERR_MEMORY. A single strategy that does not apply is not an error. */
pto_status_t pto_predict(const pto_scenario_t *scenario, const pto_machine_t *machine, bool explain,
                         pto_predictions_t *predictions, pto_error_t *err);
void pto_predictions_fini(pto_predictions_t *predictions);

/* Find the setup costs of all predictions' plans (pto_setup). The scenario and the machine must be those of
 * pto_predict. Errors: PTO_ERR_MEMORY. */
pto_status_t pto_predictions_find_setups(pto_predictions_t *predictions, pto_error_t *err);

/* Find where more processes per GPU would be faster, if the scenario leaves their number open and times are
 * compared. (Only strategies that split work over the processes of a GPU depend on it.) The predictions must
 * have been explained. Nothing is found if the machine lacks the costs of sharing a GPU, or after an
 * interruption. Errors: PTO_ERR_MEMORY. */
pto_status_t pto_predictions_find_more_procs(pto_predictions_t *predictions, pto_error_t *err);

const pto_prediction_t *pto_prediction_at(const pto_predictions_t *predictions, int64_t point, int strategy);

/* Simulate all strategies of a bound scenario at all points. The predictions are those of pto_predict, with
 * the simulated seconds as prices and with the same algorithms; if the scenario asks for the best algorithm,
 * the one with the shortest simulation. A cell with a plan above the limit is not applicable, with the
 * reason, and none of its plans is simulated. `*simulation` has one entry per prediction; the caller frees it
 * with free(). Errors: those of pto_predict and pto_simulate; PTO_ERR_TOO_LARGE if all cells are. */
pto_status_t pto_simulate_scenario(const pto_scenario_t *scenario, const pto_machine_t *machine,
                                   const pto_simulate_options_t *options, pto_predictions_t *predictions,
                                   pto_simulation_t **simulation, pto_error_t *err);

/* The number of calls after which a strategy costs no more than another one with less setup, both setups
 * included: ceil((S - S_other) / (t_other - t)) with setups S and times per call t; INFINITY if its calls are
 * not faster. False if the other does not need less setup, one of the two does not apply, or a setup is
 * unknown or has not been found. */
bool pto_payback(const pto_prediction_t *own, const pto_prediction_t *other, double *calls);

/* Number of points in a bound scenario's sweep. */
int64_t pto_scenario_points(const pto_scenario_t *scenario);

/* The strategies that a scenario names, or all that support its collective. The caller frees `*strategy` with
 * free(). Errors: PTO_ERR_NOT_FOUND, at the scenario's place; PTO_ERR_MEMORY. */
pto_status_t pto_scenario_strategies(const pto_scenario_t *scenario, const pto_strategy_t ***strategy,
                                     int *strategy_count, pto_error_t *err);

/* The request for a plan at a point of a bound scenario; `algorithm` may be NULL until one is chosen. */
pto_request_t pto_scenario_request(const pto_scenario_t *scenario, int64_t point,
                                   const pto_strategy_t *strategy, const pto_algorithm_t *algorithm);

/* The inner collective of a request's plan as the MPI library sees it when it chooses an algorithm. For a
 * plan without one: one process and the request's own bytes. */
typedef struct {
    int64_t procs;
    int64_t bytes; /* per destination, or of the vector */
} pto_call_t;
pto_call_t pto_request_call(const pto_request_t *request);

/* The algorithm that the scenario or the machine file names for a request's call; NULL: the cheapest. Sets
 * the request's `staged` and `segment_bytes` to what the library then does. */
const char *pto_library_algorithm(const pto_scenario_t *scenario, const pto_machine_t *machine,
                                  pto_request_t *request);

/* ", 8 chunks" or ", 3/1 staged" (in and out), by what the strategy has; else "". Returns `text`. */
enum { PTO_CHOICE_TEXT_MAX = 40 };
const char *pto_choice_text(const pto_strategy_t *strategy, int64_t chunks, pto_staged_t staged_members,
                            char text[PTO_CHOICE_TEXT_MAX]);

/* The plan that a strategy uses at a point: with the algorithm that the scenario or the machine file names,
 * else with the cheapest; a chunked strategy's with the scenario's number of chunks, else with the cheapest
 * power of two; with the scenario's or the machine file's number of staged members, else with the cheapest.
 * The caller owns `*plan`. Errors: those of pto_plan_create and pto_price, and PTO_ERR_NOT_APPLICABLE if the
 * plan's buffers do not fit in the memory of a GPU or a node. */
pto_status_t pto_plan_choose(const pto_scenario_t *scenario, const pto_machine_t *machine, int64_t point,
                             const pto_strategy_t *strategy, pto_plan_t **plan, pto_price_t *price,
                             pto_explanation_t *explanation, pto_error_t *err);

/* One cell: a collective of one size on one layout. Zero and NULL select the defaults. */
typedef struct {
    const char *collective; /* "allreduce", "alltoall", ... */
    const char *strategy;   /* NULL: the cheapest that applies */
    const char *datatype;   /* NULL: "float" */
    int64_t bytes;          /* per destination, per message, or of the vector */
    int64_t nodes;          /* 0: 1 */
    int64_t gpus_per_node;  /* 0: the machine's */
    int64_t procs_per_gpu;  /* processes per GPU, owner included; 0: 1 */
    int64_t procs_per_node; /* above 0: processes a node, with data in host memory; leave GPUs 0 */
} pto_ask_t;

/* Price one cell: the plan of the strategy, or of the cheapest strategy. The caller owns `*plan`, which
 * borrows nothing from `cell` and can be executed (exec.h). Both outputs may be NULL. Errors:
 * PTO_ERR_NOT_FOUND for an unknown name, PTO_ERR_NOT_APPLICABLE with the first strategy's reason if none
 * applies, PTO_ERR_RANGE, PTO_ERR_KEY, PTO_ERR_MEMORY. */
pto_status_t pto_predict_one(const pto_machine_t *machine, const pto_ask_t *cell, pto_plan_t **plan,
                             pto_price_t *price, pto_error_t *err);

/* The measurement that would settle a doubtful pick: of the parameter that makes the difference least
 * certain, or of the strategies themselves where the model's own error does. */
typedef struct {
    char key[PTO_PARAM_KEY_MAX]; /* the parameter; empty: measure the strategies themselves */
    char benchmark[48];          /* of portolan-calibrate; empty: none measures it */
    int64_t bytes;               /* of each message or copy; 0: any */
} pto_settle_t;

/* A value of the swept quantity from which on another strategy is the cheapest, found by bisection between
 * two points of a sweep with different picks. It is exact to a 256th of `at`, or to one element of a
 * reduction. Bisection may miss a strategy that is the cheapest only in between. */
typedef struct {
    int64_t at;  /* above the point before and at most the next point */
    int winner;  /* index of the strategy that is picked at `at`; -1: none applies there */
    int64_t gap; /* it lies between this point of the sweep and the next one */
} pto_crossing_t;

/* The crossings of a sweep in increasing order, at most 8 between two points; the eighth is not bisected, but
 * reported at the next point. Points with the same pick have none between them. The caller frees `*crossing`
 * with free(). Errors: those of pto_predict; PTO_ERR_TOO_LARGE if bisection is too much work. */
pto_status_t pto_crossings(const pto_predictions_t *predictions, pto_crossing_t **crossing, int64_t *count,
                           pto_error_t *err);

/* Consecutive points with the same cheapest strategy, or the same set of tied strategies: [from, below) of
 * the swept quantity, where `below` is the first point with another winner, or INT64_MAX. Strategies tie if
 * their costs differ only by rounding. */
typedef struct {
    int64_t from;
    int64_t below;
    int64_t point_first;
    int64_t point_count;
    int winner;    /* index of the cheapest strategy, the first listed of tied ones; -1 if none applies */
    int tied;      /* number of other strategies that tie with it; see pto_range_is_tied */
    int runner_up; /* the next more expensive strategy at most of the range's points; -1 if there is none */
    double margin_low; /* relative extra cost of the runner-up: least and most over the points */
    double margin_high;
    bool near_tie;        /* at some point another strategy costs about as much (docs/model.md) */
    bool overlap;         /* at some point without a near-tie, another strategy's interval overlaps */
    double regret;        /* expected relative regret of the pick: the maximum over the points */
    int64_t settle_point; /* the first where intervals overlap, else the first near-tie; -1: there is none */
    int settle_other;     /* the strategy whose interval overlaps, or which nearly ties, at that point */
    pto_settle_t settle;  /* the measurement that would decide between it and the winner */
    const char *unpriced; /* pto_pick_unpriced at the first point where it is not NULL; else NULL */
} pto_range_t;

/* Whether two costs differ only by rounding: strategies with such costs tie. */
bool pto_cost_is_same(double a, double b);

/* True if a strategy other than the winner ties with it over the whole range. */
bool pto_range_is_tied(const pto_predictions_t *predictions, const pto_range_t *range, int strategy);

/* The cheapest strategy at a point, the first of tied ones; -1 if none applies. */
int pto_pick_at(const pto_predictions_t *predictions, int64_t point);

/* The key of a missing parameter that makes the pick at a point uncertain: the machine file lacks it, and the
 * pick's price would contain it, while another strategy's would not, or fewer times. With it the pick would
 * cost more, and the other might be cheaper. NULL if there is no such key, or if the predictions were not
 * explained. The key lives as long as the predictions. */
const char *pto_pick_unpriced(const pto_predictions_t *predictions, int64_t point);
/* The same for a strategy (an index) that is not chosen by its price; NULL also if it does not apply. */
const char *pto_choice_unpriced(const pto_predictions_t *predictions, int64_t point, int strategy);

/* The ranges of a sweep. The caller frees `*range` with free(). Errors: PTO_ERR_MEMORY. */
pto_status_t pto_pick(const pto_predictions_t *predictions, pto_range_t **range, int64_t *range_count,
                      pto_error_t *err);

/* Estimates: a table of prices from which the cost and the best strategy of a collective of any size on one
 * layout are looked up in well under a microsecond. For compilers and schedulers, which ask often and have no
 * communicator.
 *
 * The table holds the prices of pto_predict_one at powers of two; between two sizes an estimate is
 * interpolated linearly. An interval is halved, down to a 256th of the size, while the price in its middle
 * differs from the interpolated one by more than PTO_ESTIMATE_TOLERANCE or has another strategy. So a jump of
 * the price, as between message protocols, is located to a 256th. */

#define PTO_ESTIMATE_TOLERANCE 0.005

/* Immutable, so several threads may use it. */
typedef struct pto_estimates pto_estimates_t;

/* Create a table. `cell` gives the collective and the layout; its `bytes` are the largest size (0: 1 GiB).
 * The table ends earlier if no strategy applies to larger sizes, for instance for lack of memory. Creating it
 * takes some hundred prices: milliseconds, or seconds if many strategies have chunk counts to choose. The
 * machine is not needed afterwards; free `*estimates` with pto_estimates_destroy. Errors: those of
 * pto_predict_one; PTO_ERR_TOO_LARGE if a sweep of the powers of two is above the work limit. */
pto_status_t pto_estimates_create(const pto_machine_t *machine, const pto_ask_t *cell,
                                  pto_estimates_t **estimates, pto_error_t *err);

void pto_estimates_destroy(pto_estimates_t *estimates);

/* The sizes that were priced, in increasing order. */
int pto_estimates_count(const pto_estimates_t *estimates);
int64_t pto_estimates_bytes(const pto_estimates_t *estimates, int index);

/* Returns the seconds, and the strategy if `strategy` is not NULL. Sizes below one element cost as much as
 * one element. NaN and NULL: the size is negative or above the table's largest. */
double pto_estimate(const pto_estimates_t *estimates, int64_t bytes, const pto_strategy_t **strategy);

PTO_API_END

#endif

/* Printing the prediction of an application's step, for portolan step, replay, report and upgrade. */
#ifndef PTO_STEP_TABLE_H
#define PTO_STEP_TABLE_H

#include "caveats.h"
#include "command_line/options.h"
#include "portolan/workload.h"

/* Prints the calls with their cheapest routes and shares of the time; then the time of each call by the
 * cheapest routes and by each strategy, the fastest first. The options or the width of the terminal limit the
 * columns. */
void pto_print_step(const pto_step_prediction_t *step, const pto_options_t *options);
/* Compares two pto_step_route_t for qsort: routes that apply come first, by rising time of communication. */
int pto_step_by_time(const void *a, const void *b);

/* The totals of a step, by index: 0 communication, 1 exposed (communication that no computation hides),
 * 2 the whole step. */
enum { PTO_STEP_TOTALS = 3 };
const char *pto_step_total_name(int total);
double pto_step_total(const pto_step_end_t *end, int total);

/* Prints simulated times beside the predicted ones, for each call, each entry and the total. */
void pto_print_step_simulations(const pto_step_prediction_t *step, const pto_step_simulation_t *simulation,
                                int count);

/* Returns the machine that the workload's computation times are for; NULL if it is that of --machine. */
const char *pto_step_compute_of(const pto_step_prediction_t *step, const pto_options_t *options);

enum { PTO_STEP_COMPUTE_TEXT_MAX = 320 };
/* Returns the origin of the computation times if they are scaled or for another machine; else NULL. */
const char *pto_step_compute_text(const pto_step_prediction_t *step, const pto_options_t *options,
                                  char text[PTO_STEP_COMPUTE_TEXT_MAX]);
/* Prints this text as a comment line, with advice on how to change the times; nothing if it is NULL. */
void pto_print_computation(const pto_step_prediction_t *step, const pto_options_t *options,
                           const char *advice);
/* Prints the computation time, its scale and its origin as members of a JSON object. */
void pto_print_json_computation(const pto_step_prediction_t *step, const pto_options_t *options);

/* Returns the cheapest prediction of a call, and sets `*strategy` to its strategy. */
const pto_prediction_t *pto_step_best(const pto_step_prediction_t *step, int call,
                                      const pto_strategy_t **strategy);

/* Returns the parameter that makes a call's route unsure, as pto_choice_unpriced does; NULL if it is sure. */
const char *pto_step_unsure(const pto_step_prediction_t *step, int call);
/* Returns whether the route of a call was chosen together with those of calls that run at the same time. */
bool pto_step_is_chosen_together(const pto_step_prediction_t *step, int call);

/* Returns the marks of the route of a call. */
pto_marks_t pto_step_marks(const pto_step_prediction_t *step, int call);
/* Adds the caveats of the prices of all calls by one strategy (NULL: each by its cheapest). */
void pto_step_caveats_add(const pto_step_prediction_t *step, const pto_strategy_t *strategy,
                          pto_caveats_t *caveats);
/* The same for all strategies. */
void pto_step_caveats_add_all(const pto_step_prediction_t *step, pto_caveats_t *caveats);

#endif

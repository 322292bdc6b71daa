/* The prediction of a step, for people. */
#ifndef PTO_STEP_TABLE_H
#define PTO_STEP_TABLE_H

#include <stdio.h>

#include "caveats.h"
#include "command_line/options.h"
#include "portolan/workload.h"

/* The calls with their cheapest routes and shares; then every call's time by the cheapest routes and by each
 * strategy, the fastest step first, as far as the terminal is wide or the options ask for. */
void pto_print_step(FILE *stream, const pto_step_prediction_t *step, const pto_options_t *options);

/* For qsort of pto_step_route_t: those that apply first, and of them those with the least communication. */
int pto_step_by_time(const void *a, const void *b);

/* Simulated times beside the predicted ones, of every call, entry and total. */
void pto_print_step_simulations(FILE *stream, const pto_step_prediction_t *step,
                                const pto_step_simulation_t *simulation, int count);

/* The machine that the workload names, whose GPUs its computation is for, where --machine names another. */
const char *pto_step_compute_of(const pto_step_prediction_t *step, const pto_options_t *options);

/* Whose computation the step has, which does not follow from the machine; NULL: that of the workload for this
 * machine. */
enum { PTO_STEP_COMPUTE_TEXT_MAX = 320 };
const char *pto_step_compute_text(const pto_step_prediction_t *step, const pto_options_t *options,
                                  char text[PTO_STEP_COMPUTE_TEXT_MAX]);
/* The same for people, with advice on how to change it, if there is something to say; and for programs. */
void pto_print_computation(FILE *stream, const pto_step_prediction_t *step, const pto_options_t *options,
                           const char *advice);
void pto_print_json_computation(FILE *stream, const pto_step_prediction_t *step,
                                const pto_options_t *options);

/* The cheapest prediction of a call. */
const pto_prediction_t *pto_step_best(const pto_step_prediction_t *step, int call,
                                      const pto_strategy_t **strategy);

/* The reason why the route of a call is unsure, as in pto_choice_unpriced; else NULL. */
const char *pto_step_unsure(const pto_step_prediction_t *step, int call);
/* Whether the route of a call was chosen together with those of others that run at the same time. */
bool pto_step_is_chosen_together(const pto_step_prediction_t *step, int call);

/* The marks of the route of a call. */
pto_marks_t pto_step_marks(const pto_step_prediction_t *step, int call);
/* Add the caveats of the prices of all calls by a strategy (NULL: by the cheapest mix), and those of all
 * strategies. */
void pto_step_caveats_add(const pto_step_prediction_t *step, const pto_strategy_t *strategy,
                          pto_caveats_t *caveats);
void pto_step_caveats_add_all(const pto_step_prediction_t *step, pto_caveats_t *caveats);

/* Open the machine of a workload, change both as the options say, and predict it. The step borrows from both.
 * Errors: those of pto_options_bind_workload and pto_step_predict. */
pto_status_t pto_step_open(pto_options_t *options, pto_workload_t *workload, pto_step_prediction_t *step,
                           pto_error_t *err);

#endif

/* The prediction of a workload: what each of its calls costs by each strategy while all communicators make
 * it, and what of the communication is exposed. docs/model.md, 'A step of an application'. */
#ifndef PORTOLAN_STEP_H
#define PORTOLAN_STEP_H

#include "portolan/api.h"
#include "portolan/pick.h"
#include "portolan/simulate.h"
#include "portolan/workload.h"

PTO_API_BEGIN

/* A call's predictions: one point, on a machine of which a communicator has its share. Computation has none.
 */
typedef struct {
    pto_machine_t *machine; /* owned */
    pto_predictions_t predictions;
    int best;      /* strategy of `predictions` that the cheapest mix takes */
    bool left_out; /* of all sums: pto_step_predict_some could not price it */
} pto_step_call_t;

/* One end of the totals of a route, in seconds. */
typedef struct {
    double communication_s;
    double exposed_s;
    double step_s;
} pto_step_end_t;

/* A step in which all calls take one strategy, or the cheapest mix of strategies. */
typedef struct {
    const pto_strategy_t *strategy; /* NULL: the cheapest mix */
    bool applicable;                /* to all calls */
    double seconds;                 /* of the step: communication that is exposed, and computation */
    double communication_s;         /* with what computation hides */
    double exposed_s;
    bool has_interval;        /* the prices of all its calls have one */
    pto_step_end_t low, high; /* the totals where every call is at this end of its own interval: the calls are
                                 priced by one model, so that it errs alike for all of them */
} pto_step_route_t;

/* The workload is borrowed; free with pto_step_fini. */
typedef struct {
    const pto_workload_t *workload;
    pto_step_call_t *call; /* one for each of the workload's */
    double compute_s;
    pto_step_route_t mix;
    int route_count;
    pto_step_route_t *route; /* of the strategies that apply to a call, in the registry's order */
} pto_step_prediction_t;

/* Predict a bound workload. Only the strategies named, if any are. Errors: those of pto_predict, at the
 * call's place if no strategy applies to it; PTO_ERR_NOT_APPLICABLE if the machine has a fabric and nodes of
 * a communicator do not follow each other. */
pto_status_t pto_step_predict(const pto_workload_t *workload, const pto_machine_t *machine,
                              pto_step_prediction_t *step, pto_error_t *err);
/* The same without the calls that cannot be priced. `left_out` has an error for each call: those with a
 * status are left out, and get one. Errors: the first call's if all are left out; failures that are not a
 * limitation of the call. */
pto_status_t pto_step_predict_some(const pto_workload_t *workload, const pto_machine_t *machine,
                                   pto_error_t *left_out, pto_step_prediction_t *step, pto_error_t *err);
void pto_step_fini(pto_step_prediction_t *step);

/* The prediction of a call by a strategy (NULL: that of the cheapest mix); NULL if that does not apply. */
const pto_prediction_t *pto_step_call_prediction(const pto_step_prediction_t *step, int call,
                                                 const pto_strategy_t *strategy);

/* The seconds of a call once, by a strategy (NULL: that of the cheapest mix); false if that does not apply.
 */
bool pto_step_call_seconds(const pto_step_prediction_t *step, int call, const pto_strategy_t *strategy,
                           double *seconds);

/* What the calls of an entry take, which run at once: at least the longest of them, and at least what they
 * ask of any resource of a process or node together. */
bool pto_step_entry_seconds(const pto_step_prediction_t *step, int entry, const pto_strategy_t *strategy,
                            double *seconds);

/* A step by simulation: a strategy for all calls, or the cheapest mix. */
typedef struct {
    const pto_strategy_t *strategy; /* NULL: the cheapest mix */
    double *call_s;         /* of each of the workload's calls: its repetitions, until the last rank ends */
    double communication_s; /* as in pto_step_route_t */
    double exposed_s;
    double seconds;
    int64_t messages;
} pto_step_simulation_t;

/* Simulate the plans of a prediction. All communicators of a call and all calls of an entry compete for NICs,
 * links and the processes themselves. Communicators that share no node with others do not compete, so only
 * some that do are simulated, unless the machine has a fabric. Repetitions of a call alone are as long as the
 * first; of calls at once, as many are simulated as show their ratio. `begin` of the options is called before
 * each entry. Errors: those of pto_simulate_at_once, at the call's place. Free with pto_step_simulation_fini.
 */
pto_status_t pto_step_simulate(const pto_step_prediction_t *step, const pto_machine_t *machine,
                               const pto_strategy_t *strategy, const pto_simulate_options_t *options,
                               pto_step_simulation_t *simulation, pto_error_t *err);
/* Choose the mixes of calls at once by simulation: of the PTO_STEP_SETTLED cheapest mixes of each entry that
 * computation does not hide, the fastest becomes the step's. Mixes that cannot be simulated within `limit`
 * (0: its standard), or have more than half a million messages, are no candidates. Prices ask which resource
 * is busiest and thus do not tell apart mixes that differ in the others. `*changed`: some entry has another
 * mix than the cheapest. Errors: PTO_ERR_MEMORY, PTO_ERR_INTERRUPTED; the step is valid in any case. */
enum { PTO_STEP_SETTLED = 4 };
pto_status_t pto_step_settle(pto_step_prediction_t *step, const pto_machine_t *machine, int64_t limit,
                             bool *changed, pto_error_t *err);

void pto_step_simulation_fini(pto_step_simulation_t *simulation);

PTO_API_END

#endif

/* A workload: one step of an application, such as a training step, as collectives and computation, in order
 * or at once, on all processes or on the communicators of a process grid. Read from YAML (docs/formats.md,
 * 'Workload file'), predicted and simulated. */
#ifndef PORTOLAN_WORKLOAD_H
#define PORTOLAN_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "portolan/api.h"
#include "portolan/machine.h"
#include "portolan/pick.h"
#include "portolan/scenario.h"
#include "portolan/simulate.h"

PTO_API_BEGIN

enum { PTO_WORKLOAD_DIMS_MAX = 8, PTO_WORKLOAD_CALLS_MAX = 512 };

typedef struct {
    char *name;
    int64_t size; /* 0: as many as fill the layout */
} pto_dimension_t;

/* The shape of all communicators of a call. Each GPU is in one of them, and all make the call at once. */
typedef struct {
    int64_t count;      /* communicators in the job */
    int64_t per_node;   /* communicators with members on one node */
    int64_t per_socket; /* on one socket */
    bool has_gaps;      /* the nodes of a communicator are not consecutive */
} pto_communicators_t;

/* A call, or computation. */
typedef struct {
    pto_scenario_t scenario; /* the call; once bound, its layout is that of one communicator */
    char *name;              /* NULL: not given */
    unsigned along;          /* bit d: the members of a communicator differ in dimension d */
    int64_t times;
    double compute_s; /* computation; a call: 0 */
    int entry;        /* of the file's list `step`, from 0; calls of one entry (`at_once`) run at once */
    pto_place_t place;
    pto_communicators_t communicators; /* of a call that is bound */
} pto_workload_call_t;

/* Processes are numbered as owners are: by node, then by GPU. The last dimension varies fastest. */
typedef struct {
    char *name;
    char *path;
    char *machine_path; /* resolved against the workload's folder; NULL: not given */
    pto_place_t machine_place;
    pto_place_t layout_place;
    pto_place_t grid_place;
    pto_layout_t layout; /* of the job; 0 where left open until bound */
    pto_data_memory_t memory;
    int64_t procs_per_node; /* host memory only; 0: one for each core */
    int dim_count;
    pto_dimension_t dim[PTO_WORKLOAD_DIMS_MAX];
    int entry_count;
    int call_count;
    pto_workload_call_t *call;
} pto_workload_t;

/* Read a workload file. Relative paths in it are relative to its folder. Errors: those of pto_scenario_read,
 * and PTO_ERR_TOO_LARGE for too many calls, with file, line and column. `*workload` is set on success. */
pto_status_t pto_workload_read(const char *path, pto_workload_t *workload, pto_error_t *err);
pto_status_t pto_workload_parse(const char *text, size_t text_size, const char *path,
                                pto_workload_t *workload, pto_error_t *err);
void pto_workload_fini(pto_workload_t *workload);

/* Bind a workload to a machine, once: complete the layout and the grid, and give each call the layout of its
 * communicators. Errors: PTO_ERR_RANGE if the grid does not have as many processes as the layout has GPUs, or
 * if communicators of one call have different numbers of GPUs on their nodes; those of pto_scenario_bind. */
pto_status_t pto_workload_bind(pto_workload_t *workload, const pto_machine_t *machine, pto_error_t *err);

/* False: computation. */
bool pto_workload_is_call(const pto_workload_call_t *call);

/* The processes of a bound call, one communicator after another. Free `*member` with free(). */
pto_status_t pto_workload_members(const pto_workload_t *workload, const pto_workload_call_t *call,
                                  int64_t **member, pto_error_t *err);

/* "gradients", or the collective's name where the call has none. */
const char *pto_workload_call_name(const pto_workload_call_t *call);

/* "world", or the dimensions that a call's communicators extend along, as "data+tensor". Returns `text`. */
enum { PTO_WORKLOAD_ALONG_MAX = 160 };
const char *pto_workload_along_text(const pto_workload_t *workload, unsigned along,
                                    char text[PTO_WORKLOAD_ALONG_MAX]);

/* The prediction of a workload: the cost of each call by each strategy while all communicators make the call,
 * and the exposed part of the communication (docs/model.md, 'A step of an application'). */

/* A call's predictions, on a machine with a communicator's share of resources. Computation has none. */
typedef struct {
    pto_machine_t *machine; /* owned */
    pto_predictions_t predictions;
    int best;      /* the strategy in the cheapest mix */
    bool left_out; /* pto_step_predict_some could not price it: it is in no sum */
} pto_step_call_t;

/* Totals of a route with all calls at one end of their intervals. */
typedef struct {
    double communication_s;
    double exposed_s;
    double step_s;
} pto_step_end_t;

/* A step in which all calls take one strategy, or the cheapest mix of strategies. */
typedef struct {
    const pto_strategy_t *strategy; /* NULL: the cheapest mix */
    bool applicable;                /* to all calls */
    double seconds;                 /* of the step: exposed communication and computation */
    double communication_s;         /* exposed or hidden behind computation */
    double exposed_s;
    bool has_interval;        /* the prices of all its calls have one */
    pto_step_end_t low, high; /* all calls at the same end of their intervals: one model prices them, so its
                                 errors are taken as fully correlated */
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

/* Predict a bound workload by the strategies that it names, or by all. Errors: those of pto_predict, at the
 * call's place if no strategy applies to it; PTO_ERR_NOT_APPLICABLE if the machine has a fabric and the nodes
 * of a communicator are not consecutive. */
pto_status_t pto_step_predict(const pto_workload_t *workload, const pto_machine_t *machine,
                              pto_step_prediction_t *step, pto_error_t *err);
/* The same without the calls that cannot be priced. `left_out` has an error for each call: calls whose error
 * already has a status are left out, and calls that cannot be priced get one. Errors: the first call's if all
 * are left out; failures that are not a limitation of the call. */
pto_status_t pto_step_predict_some(const pto_workload_t *workload, const pto_machine_t *machine,
                                   pto_error_t *left_out, pto_step_prediction_t *step, pto_error_t *err);
/* pto_predictions_find_more_procs for all calls. */
pto_status_t pto_step_find_more_procs(pto_step_prediction_t *step, pto_error_t *err);
void pto_step_fini(pto_step_prediction_t *step);

/* The prediction of a call by a strategy (NULL: the one in the cheapest mix); NULL if it does not apply. */
const pto_prediction_t *pto_step_call_prediction(const pto_step_prediction_t *step, int call,
                                                 const pto_strategy_t *strategy);

/* The seconds of one execution of a call, by a strategy as above; false if it does not apply. */
bool pto_step_call_seconds(const pto_step_prediction_t *step, int call, const pto_strategy_t *strategy,
                           double *seconds);

/* The time of an entry's calls, which run at once: at least the longest of them, and at least their total
 * demand on any resource of a process or node. */
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
 * links and the processes themselves. Unless the machine has a fabric, only one set of communicators that
 * share nodes is simulated, since other sets do not compete with it. A call that runs alone is simulated
 * once, however often it is repeated; of calls that run at once, enough repetitions are simulated to show
 * their ratio. `begin` of the options is called before each entry. Errors: those of pto_simulate_at_once, at
 * the call's place. Free with pto_step_simulation_fini. */
pto_status_t pto_step_simulate(const pto_step_prediction_t *step, const pto_machine_t *machine,
                               const pto_strategy_t *strategy, const pto_simulate_options_t *options,
                               pto_step_simulation_t *simulation, pto_error_t *err);
/* Choose the mixes of calls at once by simulation: of the PTO_STEP_SETTLED cheapest mixes of each entry that
 * computation does not hide, the fastest in simulation becomes the step's. Mixes that cannot be simulated
 * within `limit` (0: its default), or have more than half a million messages, are no candidates. (A price
 * only counts the busiest resource, so it cannot distinguish mixes that differ in the others.) `*changed`:
 * some entry has another mix than the cheapest. Errors: PTO_ERR_MEMORY, PTO_ERR_INTERRUPTED; the step is
 * valid in any case. */
enum { PTO_STEP_SETTLED = 4 };
pto_status_t pto_step_settle(pto_step_prediction_t *step, const pto_machine_t *machine, int64_t limit,
                             bool *changed, pto_error_t *err);

void pto_step_simulation_fini(pto_step_simulation_t *simulation);

PTO_API_END

#endif

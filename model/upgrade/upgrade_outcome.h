/* The outcome of an upgrade: a scenario or a workload predicted with it. */
#ifndef PTO_UPGRADE_OUTCOME_H
#define PTO_UPGRADE_OUTCOME_H

#include "command_line/options.h"
#include "portolan/workload.h"
#include "upgrade/upgrades.h"

/* Of a scenario, the seconds are the sum of the cheapest at each point; of a workload, those of its step. */
typedef struct {
    const char *name; /* borrowed from the upgrade */
    double cost;      /* 0: not given */
    bool applies;
    bool of_workload;
    bool unchanged; /* what it changes is not priced; nothing is exposed, so that it saves nothing */
    double seconds;
    double saved_s;
    pto_options_t options;
    pto_predictions_t predictions; /* of a scenario */
    int64_t priced_points;         /* of these, those that `seconds` has */
    pto_workload_t workload;
    pto_step_prediction_t step;         /* of a workload, by the cheapest routes */
    char note[PTO_ERROR_MESSAGE_MAX];   /* what its price assumes; else "" */
    char reason[PTO_ERROR_MESSAGE_MAX]; /* why it does not apply, saves more than is priced, or `note` */
} pto_outcome_t;

/* Predict what the arguments ask for, with an upgrade of the machine `as_it_is` or without (both NULL). With
 * more cores, the faster of more processes and as many as before. `outcome` is to be freed in any case.
 * Errors: those of reading, binding and predicting. */
pto_status_t pto_outcome_predict(const pto_arguments_t *given, const pto_upgrade_t *upgrade,
                                 const pto_outcome_t *as_it_is, pto_outcome_t *outcome, pto_error_t *err);
void pto_outcome_fini(pto_outcome_t *outcome);

/* How many points of a scenario are left out of the sums, and why; "" if none is. Returns `text`. */
const char *pto_outcome_left_out(const pto_outcome_t *outcome, char text[PTO_ERROR_MESSAGE_MAX]);

/* Whether both have sums over the same points. */
bool pto_outcome_compares(const pto_outcome_t *as_it_is, const pto_outcome_t *own);

/* An upgrade that saves nothing does not apply if the picks rest on parameters which it should change and
 * cannot, with the reason; one that saves something says so. Else its reason is what it assumes. */
void pto_outcome_doubt(const pto_outcome_t *as_it_is, const pto_upgrade_t *upgrade, pto_outcome_t *own);

/* The saving of an upgrade, divided by its cost; without costs, the saving. */
double pto_outcome_worth(const pto_outcome_t *outcome);

/* The seconds of the cheapest strategy at a point of a scenario; false if none applies. */
bool pto_outcome_seconds(const pto_outcome_t *outcome, int64_t point, double *seconds);

#endif

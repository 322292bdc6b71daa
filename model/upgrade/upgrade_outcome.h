/* The outcome of an upgrade: the prediction of a scenario or a workload on the upgraded machine. `portolan
 * upgrade` compares it with the outcome on the machine as it is. */
#ifndef PTO_UPGRADE_OUTCOME_H
#define PTO_UPGRADE_OUTCOME_H

#include "command_line/options.h"
#include "portolan/workload.h"
#include "upgrade/upgrades.h"

/* An outcome. Its seconds are the sum of the cheapest at each point of a scenario, or those of a step. */
typedef struct {
    const char *name; /* borrowed from the upgrade */
    double cost;      /* 0 if not given */
    bool applies;
    bool of_workload;
    bool unchanged; /* its changes are not priced; as nothing is exposed, it saves nothing */
    double seconds;
    double saved_s;
    pto_options_t options;
    pto_predictions_t predictions; /* of a scenario */
    int64_t priced_points;         /* the number of points in the sum `seconds` */
    pto_workload_t workload;
    pto_step_prediction_t step;         /* of a workload, by the cheapest routes */
    char note[PTO_ERROR_MESSAGE_MAX];   /* what its price assumes; "" if nothing */
    char reason[PTO_ERROR_MESSAGE_MAX]; /* why it does not apply, saves more than is priced, or `note` */
} pto_outcome_t;

/* Predicts what the arguments ask for, with an upgrade of the machine of `as_it_is`, or without (both NULL).
 * `outcome` is to be freed in any case. Errors: those of reading, binding and predicting. */
pto_status_t pto_outcome_predict(const pto_arguments_t *given, const pto_upgrade_t *upgrade,
                                 const pto_outcome_t *as_it_is, pto_outcome_t *outcome, pto_error_t *err);
void pto_outcome_fini(pto_outcome_t *outcome);

/* Writes how many points of a scenario are left out of the sums, and why; "" if none are. Returns `text`. */
const char *pto_outcome_left_out(const pto_outcome_t *outcome, char text[PTO_ERROR_MESSAGE_MAX]);

/* Returns whether both have sums over the same points. */
bool pto_outcome_compares(const pto_outcome_t *as_it_is, const pto_outcome_t *outcome);

/* Sets the reason of an outcome. If the picks depend on parameters that the upgrade should change and cannot,
 * the reason says so: an upgrade that saves nothing then does not apply, another one saves at least what is
 * predicted. Otherwise the reason is the note. */
void pto_outcome_doubt(const pto_outcome_t *as_it_is, const pto_upgrade_t *upgrade, pto_outcome_t *outcome);

/* Returns the saving of an upgrade divided by its cost; the saving, if no cost is given. */
double pto_outcome_worth(const pto_outcome_t *outcome);

/* Finds the seconds of the cheapest strategy at a point of a scenario; false if none applies. */
bool pto_outcome_seconds(const pto_outcome_t *outcome, int64_t point, double *seconds);

#endif

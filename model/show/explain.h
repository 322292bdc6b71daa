/* Prints `predict --explain`: the terms of every price. The predictions must have explanations. */
#ifndef PTO_EXPLAIN_H
#define PTO_EXPLAIN_H

#include "portolan/pick.h"

/* The parameters of a machine, with the remarks on doubtful ones in its file, by pto_machine_params. */
typedef struct {
    pto_machine_param_t *param;
    int count;
} pto_flags_t;

/* Returns the file's remark on why to doubt a parameter; NULL if there is none, or if --what-if has set the
 * parameter. */
const char *pto_flag_of(const pto_flags_t *flags, const pto_param_t *param);

/* Print to standard output: for people, with the remarks on flagged parameters once at the end; or as CSV,
 * one row per term. */
void pto_print_explanations(const pto_predictions_t *predictions, const pto_flags_t *flags);
void pto_print_explanations_csv(const pto_predictions_t *predictions, const pto_flags_t *flags);

#endif

/* `predict --explain`: the terms of every price. The predictions must be explained ones. */
#ifndef PTO_EXPLAIN_H
#define PTO_EXPLAIN_H

#include "portolan/pick.h"

/* A machine's parameters, for what its file says of each. */
typedef struct {
    pto_machine_param_t *param;
    int count;
} pto_flags_t;

/* `flags` points into the machine. Errors: PTO_ERR_MEMORY. */
pto_status_t pto_flags_find(pto_machine_t *machine, pto_flags_t *flags, pto_error_t *err);
void pto_flags_fini(pto_flags_t *flags);

/* The file's remark on why to doubt a parameter; NULL where it has none, or where a what-if has set it. */
const char *pto_flag_of(const pto_flags_t *flags, const pto_param_t *param);

/* To standard output: for people, with the remarks on flagged parameters once at the end; one row a term. */
void pto_print_explanations(const pto_predictions_t *predictions, const pto_flags_t *flags);
void pto_print_explanations_csv(const pto_predictions_t *predictions, const pto_flags_t *flags);

#endif

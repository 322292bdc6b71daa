/* The hint that more processes per GPU would be faster, if the user has not set their number. It is printed
 * below the tables of `predict`, `step` and `replay`, and as the JSON member more_procs. */
#ifndef PTO_MORE_PROCS_H
#define PTO_MORE_PROCS_H

#include "portolan/workload.h"

enum { PTO_MORE_PROCS_TEXT_MAX = 256 };

/* Each returns the hint in `text`, or NULL if pto_predictions_find_more_procs has found nothing.
 * `has_option`: the command has --procs-per-gpu, which the hint then names. */
const char *pto_more_procs_text(const pto_predictions_t *predictions, char text[PTO_MORE_PROCS_TEXT_MAX]);
const char *pto_step_more_procs_text(const pto_step_prediction_t *step, bool has_option,
                                     char text[PTO_MORE_PROCS_TEXT_MAX]);

/* Each prints the hint as a member of a JSON object, after a comma; nothing if there is no hint. */
void pto_print_json_more_procs(const pto_predictions_t *predictions);
void pto_print_json_step_more_procs(const pto_step_prediction_t *step);

#endif

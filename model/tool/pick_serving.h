/* The routes of programs that serve language models. */
#ifndef PTO_PICK_SERVING_H
#define PTO_PICK_SERVING_H

#include "command_line/options.h"

/* Print which route of options->server is the fastest at each size, as far as they are priced, the gain of a
 * token of options->layers layers, and the settings. Errors: PTO_ERR_RANGE, PTO_ERR_NOT_APPLICABLE, and those
 * of reading `measured`. */
pto_status_t pto_print_serving(const pto_options_t *options, const pto_predictions_t *predictions,
                               pto_error_t *err);

#endif

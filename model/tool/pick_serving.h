/* portolan pick --for vllm|sglang: an inference server's routes for allreduces of tensor-parallel groups. */
#ifndef PTO_PICK_SERVING_H
#define PTO_PICK_SERVING_H

#include "command_line/options.h"

/* The options of `portolan pick`. */
typedef struct {
    pto_options_t shared;
    const char *measured; /* borrowed from argv; NULL: not given */
    int server;           /* of pto_server_at; 0: none */
    int64_t layers;
} pto_pick_options_t;

/* The names of the servers, the first of which is "none"; NULL after the last one. */
const char *pto_server_at(int i);

/* Print which route of options->server with a price is the fastest at each size, the time that it saves a
 * token of options->layers layers, and the settings. Errors: PTO_ERR_RANGE, PTO_ERR_NOT_APPLICABLE, and those
 * of reading `measured`. */
pto_status_t pto_print_serving(const pto_pick_options_t *options, const pto_predictions_t *predictions,
                               pto_error_t *err);

#endif

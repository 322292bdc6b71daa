/* Fits the latency of messages between nodes: the part of a message's startup cost alpha during which neither
 * end is busy. In a stream of messages, each one after the first costs the gap g, which contains all the work
 * of both ends for one message. So at least alpha - g of the first message is latency. Rows of messages and
 * of gaps have different ranges of sizes; the smallest difference of two rows with a size in common is a
 * lower bound of the latency of all messages. */
#include <math.h>
#include <stdio.h>

#include "parts.h"

/* Returns whether the rows have a size in common. */
static bool overlap(const pto_cost_row_t *a, const pto_cost_row_t *b) {
    return a->from_bytes < b->below_bytes && b->from_bytes < a->below_bytes;
}

static double half_width(const pto_param_t *param) {
    return param->has_interval ? fmax(param->high - param->value, param->value - param->low) : 0;
}

static pto_param_t difference(const pto_param_t *alpha, const pto_param_t *gap) {
    double value = alpha->value - gap->value, half = hypot(half_width(alpha), half_width(gap));
    return (pto_param_t){.value = fit_round(value),
                         .low = fit_round(fmax(value - half, 0)),
                         .high = fit_round(value + half),
                         .has_interval = alpha->has_interval && gap->has_interval,
                         .line = 1};
}

/* Unknown if there are no two such rows, or if a gap may cost as much as alpha. */
static pto_param_t least_difference(const pto_cost_table_t *cost, const pto_cost_table_t *gap) {
    pto_param_t least = {.value = INFINITY};
    for (int i = 0; i < cost->count; i++)
        for (int j = 0; j < gap->count; j++) {
            pto_param_t candidate = difference(&cost->row[i].postal.alpha_s, &gap->row[j].postal.alpha_s);
            if (overlap(&cost->row[i], &gap->row[j]) && candidate.value < least.value)
                least = candidate;
        }
    return least.low > 0 ? least : (pto_param_t){0};
}

void fit_latency(fit_work_t *work, pto_space_t space) {
    pto_machine_t *machine = work->fit->machine;
    pto_param_t latency = least_difference(&machine->messages[space][PTO_LEVEL_OFF_NODE],
                                           &machine->gap[space][PTO_LEVEL_OFF_NODE]);
    if (pto_param_known(&latency))
        fit_keep_param(work, PTO_FIT_TIME, fit_key(work, &machine->latency_s[space]), latency,
                       &(fit_regression_t){0}, &machine->latency_s[space],
                       "the least start of a message less its gap");
}

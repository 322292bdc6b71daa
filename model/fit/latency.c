/* The latency of messages between nodes: of a message's start alpha, what occupies neither of its ends. A
 * stream of messages shows it: each message of it but the first costs the gap g, in which its ends do all
 * that they do for one. So at least alpha - g of the first passes between them. Rows of messages and of gaps
 * end at different sizes; the least difference of two that hold for the same sizes is kept, so that no
 * message is said to leave its ends free for longer than it does. */
#include <math.h>
#include <stdio.h>

#include "parts.h"

/* Returns whether a size belongs to both rows. */
static bool meet(const pto_cost_row_t *a, const pto_cost_row_t *b) {
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

/* Unknown if there are no two rows, or if a gap may cost as much as a start. */
static pto_param_t least_difference(const pto_cost_table_t *cost, const pto_cost_table_t *gap) {
    pto_param_t least = {.value = INFINITY};
    for (int i = 0; i < cost->count; i++)
        for (int j = 0; j < gap->count; j++) {
            pto_param_t one = difference(&cost->row[i].postal.alpha_s, &gap->row[j].postal.alpha_s);
            if (meet(&cost->row[i], &gap->row[j]) && one.value < least.value)
                least = one;
        }
    return least.low > 0 ? least : (pto_param_t){0};
}

pto_status_t fit_latency(fit_work_t *work, pto_space_t space) {
    pto_machine_t *machine = work->fit->machine;
    pto_param_t latency = least_difference(&machine->messages[space][PTO_LEVEL_OFF_NODE],
                                           &machine->gap[space][PTO_LEVEL_OFF_NODE]);
    if (!pto_param_known(&latency))
        return PTO_OK;
    pto_fit_entry_t *entry = fit_entry_add(work, PTO_FIT_TIME, "messages.latency.%s", pto_space_name(space));
    if (entry == NULL)
        return PTO_ERR_MEMORY;
    entry->alpha_s = latency;
    snprintf(entry->note, sizeof entry->note, "the least start of a message less its gap");
    machine->latency_s[space] = latency;
    return PTO_OK;
}

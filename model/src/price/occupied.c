/* How long a plan occupies the resources that concurrent calls of a workload share (`portolan step`): each
 * process's copy engines, CPU, sending and receiving, and each node's memory and NICs. Unlike the terms of
 * the longest path, this counts every lane and every process, even if no other waits for them. */
#include <math.h>
#include <stdlib.h>

#include "price/nccl.h"
#include "price/pricing.h"

/* Lanes share all resources but the NICs. Theirs have the same numbers, so that one converts to the other. */
_Static_assert((int)PTO_OCCUPIED_OUT == (int)PTO_LANE_OUT && (int)PTO_OCCUPIED_IN == (int)PTO_LANE_IN &&
                   (int)PTO_OCCUPIED_GPU == (int)PTO_LANE_GPU && (int)PTO_OCCUPIED_CPU == (int)PTO_LANE_CPU &&
                   (int)PTO_OCCUPIED_SEND == (int)PTO_LANE_SEND &&
                   (int)PTO_OCCUPIED_RECV == (int)PTO_LANE_RECV &&
                   (int)PTO_OCCUPIED_MEMORY == (int)PTO_LANE_MEMORY,
               "resources of lanes have other numbers");

/* Counters: those of each actor, [actor][resource] without the NICs, then one for the NICs of each node. */
static int64_t counter_count(const pto_pricing_t *pricing) {
    return PTO_OCCUPIED_NICS * pricing->actors.count + pricing->actors.node_count;
}

bool pto_occupied_allocate(pto_pricing_t *pricing) {
    if (pricing->clocks.explain)
        pricing->outcome.occupied_s =
            calloc(2 * (size_t)counter_count(pricing), sizeof *pricing->outcome.occupied_s);
    return pricing->outcome.occupied_s || !pricing->clocks.explain;
}

void pto_occupied_remember(pto_pricing_t *pricing) {
    int64_t count = counter_count(pricing);
    for (int64_t i = 0; pricing->outcome.occupied_s && i < count; i++)
        pricing->outcome.occupied_s[count + i] = pricing->outcome.occupied_s[i];
}

void pto_occupied_repeat(pto_pricing_t *pricing, double times) {
    int64_t count = counter_count(pricing);
    for (int64_t i = 0; pricing->outcome.occupied_s && i < count; i++)
        pricing->outcome.occupied_s[i] +=
            times * (pricing->outcome.occupied_s[i] - pricing->outcome.occupied_s[count + i]);
}

static void add(pto_pricing_t *pricing, int64_t actor, pto_occupied_t what, double seconds) {
    pricing->outcome.occupied_s[actor * PTO_OCCUPIED_NICS + what] += seconds;
}

static double *nics_of(const pto_pricing_t *pricing, int64_t node) {
    return &pricing->outcome.occupied_s[PTO_OCCUPIED_NICS * pricing->actors.count + node];
}

void pto_occupied_step(pto_pricing_t *pricing, const pto_action_t *action, double seconds) {
    const pto_step_t *step = action->step;
    bool by_gpu = step->in_kernel || step->kind == PTO_STEP_LAUNCH;
    if (pricing->outcome.occupied_s)
        add(pricing, action->rank,
            by_gpu ? PTO_OCCUPIED_GPU : (pto_occupied_t)pto_lane_resource(pricing->plan, step), seconds);
}

void pto_occupied_messages(pto_pricing_t *pricing, int64_t actor, pto_time_t out, pto_time_t in) {
    if (!pricing->outcome.occupied_s)
        return;
    add(pricing, actor, PTO_OCCUPIED_SEND, out.s);
    add(pricing, actor, PTO_OCCUPIED_RECV, in.s);
}

void pto_occupied_stage(pto_pricing_t *pricing) {
    for (int64_t node = 0; pricing->outcome.occupied_s && node < pricing->actors.node_count; node++)
        *nics_of(pricing, node) += pto_outflow_seconds(&pricing->shared.outflow[node], pricing->machine);
    for (int64_t i = 0; pricing->outcome.occupied_s && i < pricing->actors.priced_count; i++)
        for (int kind = 0; kind < PTO_LOAD_KINDS && pricing->shared.loads.links.memory_s_per_byte; kind++)
            add(pricing, pricing->actors.priced[i], PTO_OCCUPIED_MEMORY,
                pto_links_busiest_memory(pricing, (pto_load_kind_t)kind, pricing->actors.priced[i]).time.s);
}

/* The part of an NCCL call in which the NICs are busy is unknown, so all of it counts. */
void pto_occupied_nccl(pto_pricing_t *pricing, const pto_node_t *node, double seconds) {
    if (!pricing->outcome.occupied_s)
        return;
    bool leaves_node = pricing->plan->request.layout.nodes > 1;
    for (int64_t i = 0; leaves_node && i < pricing->actors.node_count; i++)
        *nics_of(pricing, i) += seconds;
    for (int64_t i = 0; !leaves_node && i < pricing->actors.priced_count; i++)
        if (pto_nccl_takes_core(node, pricing->actors.actor[pricing->actors.priced[i]].place.core))
            add(pricing, pricing->actors.priced[i], PTO_OCCUPIED_GPU, seconds);
}

void pto_occupied_report(const pto_pricing_t *pricing, double seconds, pto_explanation_t *explanation) {
    for (int what = 0; what < PTO_OCCUPIED_COUNT; what++)
        explanation->occupied_s[what] = 0;
    for (int64_t i = 0; i < pricing->actors.priced_count; i++)
        for (int what = 0; what < PTO_OCCUPIED_NICS; what++)
            explanation->occupied_s[what] =
                fmax(explanation->occupied_s[what],
                     pricing->outcome.occupied_s[pricing->actors.priced[i] * PTO_OCCUPIED_NICS + what]);
    for (int64_t node = 0; node < pricing->actors.node_count; node++)
        explanation->occupied_s[PTO_OCCUPIED_NICS] =
            fmax(explanation->occupied_s[PTO_OCCUPIED_NICS], *nics_of(pricing, node));
    for (int what = 0; what < PTO_OCCUPIED_COUNT; what++)
        explanation->occupied_s[what] = fmin(explanation->occupied_s[what], seconds);
}

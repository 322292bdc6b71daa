/* Lanes in the price: parallel branches and pipelines. Each lane has a ledger of its own, and the rank goes
 * on when the last one has ended.
 *
 * Lanes also share what an actor has only one of: the two directions of its GPU's copies, its CPU, and its
 * sending and its receiving side. What the lanes ask of one of these is added up, and they take at least that
 * long together. c equal chunks through stages t_i, of which those on one resource add up to t_r, hence cost
 * sum t_i + (c - 1) max t_r. */
#include <stdlib.h>

#include "price/pricing.h"

static pto_ledger_t *lane_at(const pto_pricing_t *pricing, int lane) {
    return pricing->lane + lane * pricing->actor_count;
}

static void copy_ledgers(pto_pricing_t *pricing, pto_ledger_t *to, const pto_ledger_t *from) {
    for (int64_t actor = 0; actor < pricing->actor_count; actor++)
        if (!pto_ledger_copy(&to[actor], &from[actor], pricing->explain))
            pricing->out_of_memory = true;
}

static void follow_ledgers(pto_pricing_t *pricing, pto_ledger_t *to, const pto_ledger_t *from) {
    for (int64_t actor = 0; actor < pricing->actor_count; actor++)
        pto_pricing_follow(pricing, &to[actor], &from[actor]);
}

/* Add up from here what the lanes ask of each resource. */
static void count_from(pto_pricing_t *pricing, const pto_ledger_t *ledgers) {
    copy_ledgers(pricing, pricing->base, ledgers);
    for (int64_t i = 0; i < PTO_LANE_RESOURCE_COUNT * pricing->actor_count; i++) {
        pricing->demand[i].seconds = 0;
        pricing->demand[i].entry_count = 0;
    }
}

static void fork(pto_pricing_t *pricing, int lanes) {
    for (int lane = 1; lane < lanes; lane++)
        copy_ledgers(pricing, lane_at(pricing, lane), pricing->lane);
    count_from(pricing, pricing->lane);
    pricing->in_lanes = true;
}

/* A resource that is asked for longer than the slowest lane takes decides instead. */
static void follow_demand(pto_pricing_t *pricing, int64_t actor, const pto_ledger_t *demand) {
    static const pto_ledger_t nothing;
    const double rounding = 1e-12;
    pto_ledger_t *mine = &pricing->lane[actor];
    if (pricing->base[actor].seconds + demand->seconds <= mine->seconds * (1 + rounding))
        return;
    if (!pto_ledger_copy(mine, &pricing->base[actor], pricing->explain) ||
        !pto_ledger_shift(mine, demand, &nothing, 1))
        pricing->out_of_memory = true;
}

static void join(pto_pricing_t *pricing, int lanes) {
    pricing->ledger = pricing->lane;
    pricing->in_lanes = false;
    for (int lane = 1; lane < lanes; lane++)
        follow_ledgers(pricing, pricing->lane, lane_at(pricing, lane));
    for (int64_t actor = 0; actor < pricing->actor_count; actor++)
        for (int resource = 0; resource < PTO_LANE_RESOURCE_COUNT; resource++)
            follow_demand(pricing, actor, &pricing->demand[resource * pricing->actor_count + actor]);
}

static pto_status_t price_branches(pto_pricing_t *pricing, int index, int64_t k) {
    int end = index + 1 + pto_plan_node(pricing->plan, index)->span, lane = 0;
    pto_status_t status = PTO_OK;
    for (int i = index + 1; i < end && status == PTO_OK; lane++) {
        int span = pto_plan_node(pricing->plan, i)->span;
        pricing->ledger = lane_at(pricing, lane);
        status = pto_price_nodes(pricing, i + 1, span, k);
        i += 1 + span;
    }
    return status;
}

/* One chunk. `slot`: the last lane's ledgers at the end of the chunk whose slot this one takes, then this
 * one's own; NULL: every chunk has a slot of its own. */
static pto_status_t price_chunk(pto_pricing_t *pricing, int index, int64_t k, pto_ledger_t *slot) {
    int lanes = pto_plan_node(pricing->plan, index)->span;
    pto_status_t status = PTO_OK;
    for (int lane = 0; lane < lanes && status == PTO_OK; lane++) {
        pricing->ledger = lane_at(pricing, lane);
        if (lane > 0)
            follow_ledgers(pricing, pricing->ledger, lane_at(pricing, lane - 1));
        else if (slot)
            follow_ledgers(pricing, pricing->ledger, slot);
        status = pto_price_nodes(pricing, index + 1 + lane, 1, k);
    }
    if (slot)
        copy_ledgers(pricing, slot, pricing->ledger);
    return status;
}

/* The first chunk is alone in each stage: what the chunks ask of a resource counts from its end. */
static pto_status_t price_chunks(pto_pricing_t *pricing, int index) {
    const pto_node_t *node = pto_plan_node(pricing->plan, index);
    bool reuses = node->depth < node->to - node->from;
    int64_t slots = reuses ? node->depth * pricing->actor_count : 0;
    pto_ledger_t *slot = calloc((size_t)slots + 1, sizeof *slot);
    pto_status_t status = PTO_OK;
    pricing->out_of_memory = pricing->out_of_memory || !slot;
    for (int64_t k = node->from; k < node->to && status == PTO_OK && !pricing->out_of_memory; k++) {
        pricing->round++;
        status = price_chunk(pricing, index, k,
                             reuses ? slot + (k - node->from) % node->depth * pricing->actor_count : NULL);
        if (k == node->from)
            count_from(pricing, pricing->ledger);
    }
    for (int64_t i = 0; i < slots && slot; i++)
        pto_ledger_fini(&slot[i]);
    free(slot);
    return status;
}

pto_status_t pto_price_lanes(pto_pricing_t *pricing, int index, int64_t k) {
    const pto_node_t *node = pto_plan_node(pricing->plan, index);
    int lanes = pto_node_lane_count(pricing->plan, index);
    fork(pricing, lanes);
    pto_status_t status =
        node->kind == PTO_NODE_PIPELINE ? price_chunks(pricing, index) : price_branches(pricing, index, k);
    join(pricing, lanes);
    return status;
}

/* --- what a step asks for --------------------------------------------------------------------------------
 */

pto_lane_resource_t pto_lane_resource(const pto_plan_t *plan, const pto_step_t *step) {
    static const pto_lane_resource_t by_copy[PTO_COPY_COUNT] = {
        [PTO_COPY_H2D] = PTO_LANE_IN,
        [PTO_COPY_D2H] = PTO_LANE_OUT,
        [PTO_COPY_D2D] = PTO_LANE_GPU,
        [PTO_COPY_H2H] = PTO_LANE_CPU,
    };
    if (step->kind == PTO_STEP_COPY)
        return by_copy[pto_step_copy_kind(plan, step)];
    bool on_gpu =
        step->kind == PTO_STEP_REDUCE && pto_plan_buffer(plan, step->target.buffer)->space == PTO_SPACE_GPU;
    return on_gpu ? PTO_LANE_GPU : PTO_LANE_CPU;
}

void pto_lane_demand(pto_pricing_t *pricing, int64_t actor, pto_lane_resource_t resource,
                     const pto_charge_t *charge, double seconds) {
    if (!pto_ledger_add(&pricing->demand[(int64_t)resource * pricing->actor_count + actor], charge, seconds))
        pricing->out_of_memory = true;
}

/* Prices parallel branches and pipelines. A lane is a branch, or a stage of a pipeline. Each lane has a
 * ledger of its own for each actor, and an actor continues when its last lane has ended.
 *
 * Lanes share the resources of which an actor has only one, such as its CPU and the two directions of its
 * GPU's copies (pto_lane_resource_t). The demand on a resource is the sum of the times for which lanes use
 * it. The lanes together take at least as long as the demand on each resource.
 *
 * In a pipeline, the demand counts from the end of the first chunk. So c equal chunks through stages that
 * take t_i, where t_r is the sum of the stages on resource r, cost sum t_i + (c - 1) max t_r. Example: 4
 * chunks of a copy of 2 s, a message of 3 s and a copy of 2 s by the same engine cost 7 + 3 * 4 = 19 s.
 *
 * Branches begin at the same time, so that the resource is idle until the first use in any branch. It is idle
 * again after the last use, at least for the shortest time that any branch still takes then. Both times are
 * added to the demand. Example: two branches each copy to the host in 1 s and back in 1 s. The engine to the
 * host is used from 0 s on, for 2 s, and then a copy back follows: the branches take 3 s. */
#include <stdlib.h>

#include "price/busy.h"
#include "price/pricing.h"

static pto_ledger_t *lane_at(const pto_pricing_t *pricing, int lane) {
    return pricing->clocks.lane + lane * pricing->actors.count;
}

static int current_lane(const pto_pricing_t *pricing) {
    return (int)((pricing->clocks.ledger - pricing->clocks.lane) / pricing->actors.count);
}

/* Returns the index in arrays [resource][actor]. */
static int64_t use_index(const pto_pricing_t *pricing, pto_lane_resource_t resource, int64_t actor) {
    return (int64_t)resource * pricing->actors.count + actor;
}

static pto_ledger_t *last_use_at(const pto_pricing_t *pricing, int lane, int64_t index) {
    return pricing->lanes.last_use + lane * PTO_LANE_RESOURCE_COUNT * pricing->actors.count + index;
}

static void copy_ledger(pto_pricing_t *pricing, pto_ledger_t *to, const pto_ledger_t *from) {
    pto_pricing_must(pricing, pto_ledger_copy(to, from));
}

static void reset_demand(pto_pricing_t *pricing) {
    pto_pricing_save(pricing, pricing->lanes.base);
    for (int64_t i = 0; i < PTO_LANE_RESOURCE_COUNT * pricing->actors.count; i++) {
        pricing->lanes.demand[i].time = (pto_time_t){0};
        pricing->lanes.demand[i].entry_count = 0;
        pricing->lanes.users[i] = 0;
    }
}

static void follow_all(pto_pricing_t *pricing, pto_ledger_t *to, const pto_ledger_t *from) {
    for (int64_t i = 0; i < pricing->actors.priced_count; i++)
        pto_pricing_follow(pricing, &to[pricing->actors.priced[i]], &from[pricing->actors.priced[i]]);
}

static void reset_behind(pto_pricing_t *pricing) {
    for (int64_t actor = 0; actor < pricing->actors.count; actor++)
        pricing->clocks.behind[actor] = PTO_BEHIND_NOTHING;
}

/* Starts all lanes at the actors' current times. */
static void fork(pto_pricing_t *pricing, int lanes) {
    reset_behind(pricing);
    for (int lane = 1; lane < lanes; lane++)
        pto_pricing_save(pricing, lane_at(pricing, lane));
    reset_demand(pricing);
    pricing->lanes.active = true;
}

/* Returns the ledger at the end of a lane, once all have ended: lane 0's is in `before`. */
static const pto_ledger_t *lane_end(const pto_pricing_t *pricing, int lane, int64_t actor) {
    return lane > 0 ? &lane_at(pricing, lane)[actor] : &pricing->clocks.before[actor];
}

/* Returns the lane with the least time after its last use of a resource, its tail; -1: none used it. */
static int shortest_tail(const pto_pricing_t *pricing, int64_t actor, int64_t index, pto_time_t *tail) {
    int shortest = -1;
    const uint64_t users = pricing->lanes.users[index];
    for (int lane = 0; lane < PTO_LANES_MAX && users >> lane; lane++) {
        pto_time_t after =
            pto_time_subtract(lane_end(pricing, lane, actor)->time, last_use_at(pricing, lane, index)->time);
        bool used = (users >> lane & 1) != 0;
        if (!used || (shortest >= 0 && !pto_time_less(after, *tail)))
            continue;
        *tail = after;
        shortest = lane;
    }
    return shortest;
}

/* Lets an actor continue no earlier than the demand on a resource allows, if several lanes use it: in
 * branches, at the first use + the demand + the shortest tail; in pipelines, at the base + the demand. A
 * node's memory is always treated as in a pipeline: other processes use it before one's first use. */
static void apply_demand(pto_pricing_t *pricing, int64_t actor, pto_lane_resource_t resource) {
    int64_t index = use_index(pricing, resource, actor);
    const pto_ledger_t *demand = &pricing->lanes.demand[index], *from = &pricing->lanes.base[actor];
    const uint64_t users = pricing->lanes.users[index];
    static const pto_ledger_t nothing;
    const double rounding = 1e-12;
    pto_ledger_t *own = &pricing->clocks.lane[actor];
    pto_time_t tail = {0};
    if ((users & (users - 1)) == 0) /* fewer than two lanes */
        return;
    int tail_lane = -1;
    if (pricing->lanes.in_branches && resource != PTO_LANE_MEMORY)
        tail_lane = shortest_tail(pricing, actor, index, &tail);
    if (tail_lane >= 0)
        from = &pricing->lanes.first_use[index];
    pto_time_t needed = pto_time_add(pto_time_add(from->time, demand->time), tail);
    if (!pto_time_less(pto_time_scale(own->time, 1 + rounding), needed))
        return;
    copy_ledger(pricing, own, from);
    pto_pricing_must(pricing, pto_ledger_shift(own, demand, &nothing, 1));
    if (tail_lane >= 0)
        pto_pricing_must(pricing, pto_ledger_shift(own, lane_end(pricing, tail_lane, actor),
                                                   last_use_at(pricing, tail_lane, index), 1));
}

/* Lets each actor continue when its last lane has ended, and the demand on each resource is met. */
static void join(pto_pricing_t *pricing, int lanes) {
    pricing->clocks.ledger = pricing->clocks.lane;
    pricing->lanes.active = false;
    pto_pricing_save(pricing, pricing->clocks.before);
    reset_behind(pricing);
    for (int lane = 1; lane < lanes; lane++)
        follow_all(pricing, pricing->clocks.lane, lane_at(pricing, lane));
    for (int64_t actor = 0; actor < pricing->actors.count; actor++)
        for (int resource = 0; resource < PTO_LANE_RESOURCE_COUNT; resource++)
            apply_demand(pricing, actor, (pto_lane_resource_t)resource);
    pricing->lanes.in_branches = false;
}

static pto_status_t price_branches(pto_pricing_t *pricing, int index, int64_t k) {
    int end = index + 1 + pto_node_at(pricing->plan, index)->span, lane = 0;
    pto_status_t status = PTO_OK;
    for (int i = index + 1; i < end && status == PTO_OK; lane++) {
        int span = pto_node_at(pricing->plan, i)->span;
        pricing->clocks.ledger = lane_at(pricing, lane);
        status = pto_price_nodes(pricing, i + 1, span, k);
        i += 1 + span;
    }
    return status;
}

/* Sets for each actor whether its lane's copies of this chunk follow those of the previous chunk without a
 * gap: if all that this chunk waits for, `awaited`, ended no later than those. `first`: of the pipeline. */
static void set_behind(pto_pricing_t *pricing, const pto_ledger_t *awaited, bool first) {
    bool matters = !first && pto_queued_copies_cost(pricing->machine);
    for (int64_t i = 0; i < pricing->actors.priced_count; i++) {
        int64_t actor = pricing->actors.priced[i];
        pricing->clocks.behind[actor] =
            matters && (!awaited || !pto_time_less(pricing->clocks.ledger[actor].time, awaited[actor].time))
                ? PTO_BEHIND_CHUNK
                : PTO_BEHIND_NOTHING;
    }
}

/* Prices chunk k. `slot`, [actor]: the last lane's ledgers at the end of the previous chunk in the same slot
 * of the buffers, which this chunk waits for and then replaces; NULL: every chunk has buffers of its own. */
static pto_status_t price_chunk(pto_pricing_t *pricing, int index, int64_t k, pto_ledger_t *slot) {
    int lanes = pto_node_at(pricing->plan, index)->span;
    pto_status_t status = PTO_OK;
    for (int lane = 0; lane < lanes && status == PTO_OK; lane++) {
        const pto_ledger_t *awaited = lane > 0 ? lane_at(pricing, lane - 1) : slot;
        pricing->clocks.ledger = lane_at(pricing, lane);
        set_behind(pricing, awaited, k == pto_node_at(pricing->plan, index)->from);
        if (awaited)
            follow_all(pricing, pricing->clocks.ledger, awaited);
        status = pto_price_nodes(pricing, index + 1 + lane, 1, k);
    }
    if (slot)
        pto_pricing_save(pricing, slot);
    return status;
}

/* --- chunks that cost the same -------------------------------------------------------------------------- */

void pto_lanes_remember_demand(pto_pricing_t *pricing) {
    for (int64_t i = 0; i < PTO_LANE_RESOURCE_COUNT * pricing->actors.count; i++)
        copy_ledger(pricing, &pricing->lanes.demand_before[i], &pricing->lanes.demand[i]);
}

/* Adds `times` the growth since `before` to each of `count` ledgers. */
static void repeat_growth(pto_pricing_t *pricing, pto_ledger_t *ledger, const pto_ledger_t *before,
                          int64_t count, double times) {
    for (int64_t i = 0; i < count; i++)
        pto_pricing_must(pricing, pto_ledger_shift(&ledger[i], &ledger[i], &before[i], times));
}

/* Postpones last uses in the measured iterations to the last repetition. Call it before repeating ledgers. */
static void repeat_last_uses(pto_pricing_t *pricing, double times) {
    int64_t count = PTO_LANE_RESOURCE_COUNT * pricing->actors.count;
    for (int64_t index = 0; index < count; index++) {
        int64_t actor = index % pricing->actors.count;
        pto_ledger_t *last_use = last_use_at(pricing, current_lane(pricing), index);
        if (pto_time_less(pricing->clocks.snapshot[actor].time, last_use->time))
            pto_pricing_must(pricing, pto_ledger_shift(last_use, &pricing->clocks.ledger[actor],
                                                       &pricing->clocks.snapshot[actor], times));
    }
}

void pto_lanes_repeat_demand(pto_pricing_t *pricing, double times) {
    if (pricing->lanes.in_branches)
        repeat_last_uses(pricing, times);
    repeat_growth(pricing, pricing->lanes.demand, pricing->lanes.demand_before,
                  PTO_LANE_RESOURCE_COUNT * pricing->actors.count, times);
}

/* A pipeline while its chunks are priced. A gain is the time by which a ledger advances in a period. Once two
 * successive periods have the same gains, the remaining periods are not priced, but repeat them. */
typedef struct {
    int index; /* of its node in the plan */
    int lanes;
    int64_t slots;  /* number of chunks for which the buffers have room; 0: every chunk has its own */
    int64_t period; /* number of chunks after which the gains may repeat */
    pto_repeat_t repeat;
    bool independent;     /* actors never wait for each other */
    pto_ledger_t *slot;   /* [slot][actor]: the last lane's ledger at the end of the slot's latest chunk */
    pto_ledger_t *before; /* [lane][actor]: at the start of the period */
    int64_t pending;      /* raised flags at the start of the period */
    pto_time_t *gain;     /* [lane][actor]: in the previous period; -1: unknown */
    bool only_busy;       /* after the first chunk, only processes with bytes are priced */
    pto_busy_t busy;
} pipeline_t;

static bool queues_are_empty(const pto_pricing_t *pricing) {
    for (int64_t gpu = 0; gpu < pricing->actors.gpu_count; gpu++)
        for (int resource = 0; resource < PTO_COPY_RESOURCE_COUNT; resource++)
            if (pricing->shared.engine[gpu].queue[resource].count > 0)
                return false;
    return true;
}

/* Returns whether actors never wait for each other: they are classes that send messages only within
 * themselves and use no flags. `index`: the pipeline's node. */
static bool are_independent(const pto_pricing_t *pricing, int index) {
    const pto_plan_t *plan = pricing->plan;
    for (int i = index + 1; i <= index + pto_node_at(plan, index)->span; i++) {
        const pto_stage_t *stage = pto_node_stage(plan, i);
        for (int s = stage->step_first; s < stage->step_first + stage->step_count; s++) {
            const pto_step_t *step = pto_step_at(plan, s);
            if (pto_step_is_signal(step) ||
                (pto_step_is_message(step) &&
                 pto_group_traits[pto_group_at(plan, step->group)->kind].index & PTO_BY_CORE))
                return false;
        }
    }
    return pricing->actors.kind == PTO_ACTORS_CLASSES;
}

static pto_time_t gain_of(const pto_pricing_t *pricing, const pipeline_t *pipeline, int64_t index) {
    return pto_time_subtract(pricing->clocks.lane[index].time, pipeline->before[index].time);
}

/* Returns whether later periods gain the same as the last one. Three things can change a gain later:
 * - A lane gained another time than in the previous period, or less than a lane before it, which it will have
 *   to wait for later.
 * - Actors gained different times, and are not independent.
 * - Lanes gained different times, and wait for each other's slots.
 * Lanes without a gain do not count. `on_tape`: a tape records the comparisons. */
static bool gains_repeat(const pto_pricing_t *pricing, const pipeline_t *pipeline, bool on_tape) {
    bool steady = pricing->flags.lag == 0 && pto_raises_pending(pricing) == pipeline->pending;
    bool empty = queues_are_empty(pricing), lanes_agree = true, actors_agree = true;
    pto_time_t gain_of_lane[PTO_LANES_MAX] = {{0}};
    for (int64_t actor = 0; actor < pricing->actors.count; actor++) {
        pto_time_t largest = {0};
        for (int lane = 0; lane < pipeline->lanes; lane++) {
            int64_t i = lane * pricing->actors.count + actor;
            pto_time_t gain = gain_of(pricing, pipeline, i), earlier = pipeline->gain[i];
            if (!on_tape) {
                gain = pto_time_off_tape(gain);
                earlier = pto_time_off_tape(earlier);
            }
            bool gains = pto_time_positive(gain);
            bool agrees = !gains || !pto_time_positive(largest) || pto_time_same(gain, largest);
            steady = steady && pto_time_same(gain, earlier) && (agrees || !pto_time_less(gain, largest));
            lanes_agree = lanes_agree && agrees;
            actors_agree = actors_agree && (!gains || !pto_time_positive(gain_of_lane[lane]) ||
                                            pto_time_same(gain, gain_of_lane[lane]));
            largest = pto_time_max(largest, gain);
            gain_of_lane[lane] = gains ? gain : gain_of_lane[lane];
        }
    }
    return steady && (actors_agree || (pipeline->independent && empty)) &&
           (lanes_agree || (pipeline->slots == 0 && empty));
}

/* Returns gains_repeat, and keeps the gains for the next period. A tape records only the comparisons of a
 * positive result: it is always right to price chunk by chunk. */
static bool is_steady(const pto_pricing_t *pricing, pipeline_t *pipeline) {
    bool steady = gains_repeat(pricing, pipeline, false);
    if (steady && pto_tape_recording)
        gains_repeat(pricing, pipeline, true);
    for (int64_t i = 0; i < pipeline->lanes * pricing->actors.count; i++)
        pipeline->gain[i] = gain_of(pricing, pipeline, i);
    return steady;
}

/* Adds `times` the gains of the last period to everything that later chunks depend on. */
static void repeat_period(pto_pricing_t *pricing, pipeline_t *pipeline, double times) {
    int64_t actors = pricing->actors.count, last = (pipeline->lanes - 1) * actors;
    for (int64_t i = 0; i < pipeline->slots * actors; i++)
        pto_pricing_must(pricing,
                         pto_ledger_shift(&pipeline->slot[i], &pricing->clocks.lane[last + i % actors],
                                          &pipeline->before[last + i % actors], times));
    pto_pricing_shift_queues(pricing, pricing->clocks.lane, pipeline->before, times);
    pto_lanes_repeat_demand(pricing, times);
    pto_occupied_repeat(pricing, times);
    repeat_growth(pricing, pricing->clocks.lane, pipeline->before, pipeline->lanes * actors, times);
}

/* Starts a period at chunk k. If the last period repeats, adds its gains for all remaining periods instead,
 * and returns their number of chunks, which are not priced; else returns 0. */
static int64_t begin_period(pto_pricing_t *pricing, pipeline_t *pipeline, int64_t k) {
    int64_t periods = (pipeline->repeat.uniform_to - k) / pipeline->period;
    if (k >= pipeline->repeat.uniform_from + pipeline->period && is_steady(pricing, pipeline) &&
        periods > 0) {
        repeat_period(pricing, pipeline, (double)periods);
        return periods * pipeline->period;
    }
    for (int lane = 0; lane < pipeline->lanes; lane++) {
        pricing->clocks.ledger = lane_at(pricing, lane);
        pto_pricing_save(pricing, pipeline->before + lane * pricing->actors.count);
    }
    pto_lanes_remember_demand(pricing);
    pto_occupied_remember(pricing);
    pipeline->pending = pto_raises_pending(pricing);
    pricing->flags.lag = 0;
    return 0;
}

/* The first chunk has all stages to itself: demand counts from its end. Single ranks have no periods. */
static pto_status_t price_each_chunk(pto_pricing_t *pricing, pipeline_t *pipeline) {
    const pto_node_t *node = pto_node_at(pricing->plan, pipeline->index);
    pto_status_t status = PTO_OK;
    for (int64_t k = node->from; k < node->to && status == PTO_OK && !pricing->clocks.out_of_memory; k++) {
        int64_t since = k - node->from;
        if (pipeline->before && since > 0 && since % pipeline->period == 0)
            k += begin_period(pricing, pipeline, k);
        if (k == node->to)
            break;
        pricing->flags.round++;
        if (since > 0 && pipeline->only_busy) {
            pricing->actors.priced = pipeline->busy.actor;
            pricing->actors.priced_count = pto_busy_list(pricing, k, &pipeline->busy);
        }
        pto_ledger_t *slot = NULL;
        if (pipeline->slots > 0)
            slot = pipeline->slot + since % pipeline->slots * pricing->actors.count;
        status = price_chunk(pricing, pipeline->index, k, slot);
        if (since == 0)
            reset_demand(pricing);
    }
    return status;
}

static void free_ledgers(pto_ledger_t *ledger, int64_t count) {
    for (int64_t i = 0; ledger && i < count; i++)
        pto_ledger_fini(&ledger[i]);
    free(ledger);
}

/* False: out of memory. */
static bool allocate_pipeline(pipeline_t *pipeline, int64_t slots, int64_t lanes, bool repeats) {
    pipeline->slot = calloc((size_t)slots + 1, sizeof *pipeline->slot);
    if (!repeats)
        return pipeline->slot != NULL;
    pipeline->before = calloc((size_t)lanes + 1, sizeof *pipeline->before);
    pipeline->gain = malloc((size_t)(lanes + 1) * sizeof *pipeline->gain);
    for (int64_t i = 0; pipeline->gain && i < lanes; i++)
        pipeline->gain[i] = (pto_time_t){.s = -1};
    return pipeline->slot && pipeline->before && pipeline->gain;
}

static pto_status_t price_chunks(pto_pricing_t *pricing, int index) {
    const pto_node_t *node = pto_node_at(pricing->plan, index);
    int64_t chunks = node->to - node->from, actors = pricing->actors.count;
    pipeline_t pipeline = {.index = index,
                           .lanes = node->span,
                           .slots = node->depth < chunks ? node->depth : 0,
                           .repeat = pto_find_repeat(pricing->plan, index)};
    pipeline.period = pipeline.repeat.period * (pipeline.slots > 0 ? pipeline.slots : 1);
    int64_t slots = pipeline.slots * actors, lanes = pipeline.lanes * actors;
    bool repeats = chunks > 3 * pipeline.period && pricing->actors.kind != PTO_ACTORS_RANKS;
    pipeline.independent = repeats && are_independent(pricing, index);
    pto_pricing_must(pricing, allocate_pipeline(&pipeline, slots, lanes, repeats));
    int64_t all_count = pricing->actors.priced_count, *all = pricing->actors.priced;
    const pto_stage_t *first = pto_node_stage(pricing->plan, index + 1);
    const pto_stage_t *last = pto_node_stage(pricing->plan, index + node->span);
    pipeline.only_busy =
        pipeline.slots == 0 && !pricing->clocks.out_of_memory &&
        pto_busy_find(pricing, first->step_first, last->step_first + last->step_count, &pipeline.busy);
    pto_status_t status = price_each_chunk(pricing, &pipeline);
    pricing->actors.priced_count = all_count;
    pricing->actors.priced = all;
    pto_busy_fini(&pipeline.busy);
    free_ledgers(pipeline.slot, slots);
    free_ledgers(pipeline.before, lanes);
    free(pipeline.gain);
    return status;
}

static bool has_lanes(const pto_pricing_t *pricing, int node) {
    pto_node_kind_t kind = pto_node_at(pricing->plan, node)->kind;
    return (kind == PTO_NODE_PIPELINE || kind == PTO_NODE_PARALLEL) &&
           pto_node_lane_count(pricing->plan, node) > 1;
}

static pto_status_t price_lanes(pto_pricing_t *pricing, int index, int64_t k) {
    const pto_node_t *node = pto_node_at(pricing->plan, index);
    int lanes = pto_node_lane_count(pricing->plan, index);
    pricing->lanes.in_branches = node->kind == PTO_NODE_PARALLEL;
    fork(pricing, lanes);
    pto_status_t status =
        node->kind == PTO_NODE_PIPELINE ? price_chunks(pricing, index) : price_branches(pricing, index, k);
    join(pricing, lanes);
    return status;
}

const pto_pricer_t pto_pricer_lanes = {has_lanes, price_lanes};

/* --- the resources of a step ---------------------------------------------------------------------------- */

/* Returns whether a copy is between two GPUs. If each GPU has one owner, its peers are on other GPUs. */
static bool is_between_gpus(const pto_plan_t *plan, const pto_step_t *step) {
    return pto_step_copy_kind(plan, step) == PTO_COPY_D2D && plan->request.layout.owners_per_gpu == 1 &&
           (step->source.holder == PTO_HOLDER_PEER) != (step->target.holder == PTO_HOLDER_PEER);
}

/* A copy from or to another GPU uses the GPU's link, as its messages do, and hardly its memory. */
pto_lane_resource_t pto_lane_resource(const pto_plan_t *plan, const pto_step_t *step) {
    static const pto_lane_resource_t by_copy[PTO_COPY_COUNT] = {
        [PTO_COPY_H2D] = PTO_LANE_IN,
        [PTO_COPY_D2H] = PTO_LANE_OUT,
        [PTO_COPY_D2D] = PTO_LANE_GPU,
        [PTO_COPY_H2H] = PTO_LANE_CPU,
    };
    if (step->kind == PTO_STEP_COPY && is_between_gpus(plan, step))
        return step->target.holder == PTO_HOLDER_PEER ? PTO_LANE_SEND : PTO_LANE_RECV;
    if (step->kind == PTO_STEP_COPY)
        return by_copy[pto_step_copy_kind(plan, step)];
    bool on_gpu =
        step->kind == PTO_STEP_REDUCE && pto_buffer_at(plan, step->target.buffer)->space == PTO_SPACE_GPU;
    return on_gpu ? PTO_LANE_GPU : PTO_LANE_CPU;
}

void pto_lane_ended(pto_pricing_t *pricing, int64_t actor) {
    for (int resource = 0; resource < PTO_LANE_RESOURCE_COUNT && pricing->lanes.in_branches; resource++) {
        int64_t index = use_index(pricing, (pto_lane_resource_t)resource, actor);
        pto_ledger_t *last_use = last_use_at(pricing, current_lane(pricing), index);
        if (pricing->lanes.uses[index])
            copy_ledger(pricing, last_use, &pricing->clocks.ledger[actor]);
        pricing->lanes.uses[index] = false;
    }
}

void pto_lane_demand(pto_pricing_t *pricing, int64_t actor, pto_lane_resource_t resource,
                     const pto_charge_t *charge, pto_time_t time) {
    int64_t index = use_index(pricing, resource, actor);
    bool first = pricing->lanes.users[index] == 0;
    const pto_ledger_t *own = &pricing->clocks.ledger[actor];
    bool used = pto_time_positive(time);
    if (used)
        pricing->lanes.users[index] |= UINT64_C(1) << current_lane(pricing);
    if (used && pricing->lanes.in_branches) {
        if (first || pto_time_less(own->time, pricing->lanes.first_use[index].time))
            copy_ledger(pricing, &pricing->lanes.first_use[index], own);
        pricing->lanes.uses[index] = true;
    }
    pto_pricing_must(pricing, pto_ledger_add(&pricing->lanes.demand[index], charge, time));
}

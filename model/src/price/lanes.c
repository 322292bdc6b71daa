/* Lanes in the price: parallel branches and pipelines. Each lane has a ledger of its own, and the rank goes
 * on when the last one has ended.
 *
 * Lanes also share what an actor has only one of: the two directions of its GPU's copies, its CPU, and its
 * sending and its receiving side. What the lanes ask of one of these is added up, and they take at least that
 * long together. Branches take longer by the least that any of them does before it asks, and by the least
 * that any does afterwards: two branches of a copy to the host and one back end after three copies. c equal
 * chunks through stages t_i, of which those on one resource add up to t_r, hence cost sum t_i + (c - 1) max
 * t_r. */
#include <stdlib.h>

#include "price/busy.h"
#include "price/pricing.h"

static pto_ledger_t *lane_at(const pto_pricing_t *pricing, int lane) {
    return pricing->clocks.lane + lane * pricing->actors.count;
}

static int current_lane(const pto_pricing_t *pricing) {
    return (int)((pricing->clocks.ledger - pricing->clocks.lane) / pricing->actors.count);
}

static int64_t asked_at(const pto_pricing_t *pricing, pto_lane_resource_t resource, int64_t actor) {
    return (int64_t)resource * pricing->actors.count + actor;
}

static pto_ledger_t *last_ask_at(const pto_pricing_t *pricing, int lane, int64_t index) {
    return pricing->lanes.last_ask + lane * PTO_LANE_RESOURCE_COUNT * pricing->actors.count + index;
}

bool pto_lanes_allocate(pto_pricing_t *pricing, int lanes) {
    bool branches = false;
    for (int n = 0; n < pto_plan_node_count(pricing->plan); n++)
        branches = branches || pto_node_at(pricing->plan, n)->kind == PTO_NODE_PARALLEL;
    if (!branches)
        return true;
    size_t asked = PTO_LANE_RESOURCE_COUNT * (size_t)pricing->actors.count;
    pricing->lanes.ask_count = (1 + (size_t)lanes) * asked;
    pricing->lanes.first_ask = calloc(pricing->lanes.ask_count, sizeof *pricing->lanes.first_ask);
    pricing->lanes.asks = calloc(asked, sizeof *pricing->lanes.asks);
    pricing->lanes.last_ask = pricing->lanes.first_ask ? pricing->lanes.first_ask + asked : NULL;
    return pricing->lanes.first_ask && pricing->lanes.asks;
}

void pto_lanes_release(pto_lanes_t *lanes) {
    for (size_t i = 0; lanes->first_ask && i < lanes->ask_count; i++)
        pto_ledger_fini(&lanes->first_ask[i]);
    free(lanes->first_ask);
    free(lanes->asks);
}

static void copy_ledger(pto_pricing_t *pricing, pto_ledger_t *to, const pto_ledger_t *from) {
    pto_pricing_keep(pricing, pto_ledger_copy(to, from));
}

/* Add up from here what the lanes ask of each resource. */
static void count_from_here(pto_pricing_t *pricing) {
    pto_pricing_remember(pricing, pricing->lanes.base);
    for (int64_t i = 0; i < PTO_LANE_RESOURCE_COUNT * pricing->actors.count; i++) {
        pricing->lanes.demand[i].time = (pto_time_t){0};
        pricing->lanes.demand[i].entry_count = 0;
        pricing->lanes.askers[i] = 0;
    }
}

static void follow_walked(pto_pricing_t *pricing, pto_ledger_t *to, const pto_ledger_t *from) {
    for (int64_t i = 0; i < pricing->actors.walked_count; i++)
        pto_pricing_follow(pricing, &to[pricing->actors.walked[i]], &from[pricing->actors.walked[i]]);
}

static void follow_nothing(pto_pricing_t *pricing) {
    for (int64_t actor = 0; actor < pricing->actors.count; actor++)
        pricing->clocks.behind[actor] = PTO_BEHIND_NOTHING;
}

static void fork(pto_pricing_t *pricing, int lanes) {
    follow_nothing(pricing);
    for (int lane = 1; lane < lanes; lane++)
        pto_pricing_remember(pricing, lane_at(pricing, lane));
    count_from_here(pricing);
    pricing->lanes.active = true;
}

/* Returns the lane that takes the least time after it has asked for the last time; lane 0's end is in
 * `before`. */
static int shortest_end(const pto_pricing_t *pricing, int64_t actor, int64_t index, pto_time_t *time) {
    int shortest = -1;
    for (int lane = 0; lane < PTO_LANES_MAX && pricing->lanes.askers[index] >> lane; lane++) {
        const pto_ledger_t *end = lane > 0 ? &lane_at(pricing, lane)[actor] : &pricing->clocks.before[actor];
        pto_time_t after = pto_time_subtract(end->time, last_ask_at(pricing, lane, index)->time);
        if ((pricing->lanes.askers[index] >> lane & 1) == 0 ||
            (shortest >= 0 && !pto_time_less(after, *time)))
            continue;
        *time = after;
        shortest = lane;
    }
    return shortest;
}

/* A resource that several lanes ask for longer than the slowest lane takes decides instead. All processes of
 * a node ask for its memory, so what one of them does before and after says nothing. */
static void follow_demand(pto_pricing_t *pricing, int64_t actor, pto_lane_resource_t resource) {
    int64_t index = asked_at(pricing, resource, actor);
    const pto_ledger_t *demand = &pricing->lanes.demand[index], *from = &pricing->lanes.base[actor];
    uint64_t askers = pricing->lanes.askers[index];
    static const pto_ledger_t nothing;
    const double rounding = 1e-12;
    pto_ledger_t *mine = &pricing->clocks.lane[actor];
    pto_time_t after = {0};
    if ((askers & (askers - 1)) == 0)
        return;
    int lane = pricing->lanes.in_branches && resource != PTO_LANE_MEMORY
                   ? shortest_end(pricing, actor, index, &after)
                   : -1;
    if (lane >= 0)
        from = &pricing->lanes.first_ask[index];
    pto_time_t needed = pto_time_add(pto_time_add(from->time, demand->time), after);
    if (!pto_time_less(pto_time_scale(mine->time, 1 + rounding), needed))
        return;
    copy_ledger(pricing, mine, from);
    bool fits = pto_ledger_shift(mine, demand, &nothing, 1);
    if (lane >= 0)
        fits = fits && pto_ledger_shift(
                           mine, lane > 0 ? &lane_at(pricing, lane)[actor] : &pricing->clocks.before[actor],
                           last_ask_at(pricing, lane, index), 1);
    pto_pricing_keep(pricing, fits);
}

static void join(pto_pricing_t *pricing, int lanes) {
    pricing->clocks.ledger = pricing->clocks.lane;
    pricing->lanes.active = false;
    pto_pricing_remember(pricing, pricing->clocks.before);
    follow_nothing(pricing);
    for (int lane = 1; lane < lanes; lane++)
        follow_walked(pricing, pricing->clocks.lane, lane_at(pricing, lane));
    for (int64_t actor = 0; actor < pricing->actors.count; actor++)
        for (int resource = 0; resource < PTO_LANE_RESOURCE_COUNT; resource++)
            follow_demand(pricing, actor, (pto_lane_resource_t)resource);
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

/* A stage of a chunk follows that of the previous chunk without a gap if what it waits for in other lanes was
 * there before. */
static void note_gaps(pto_pricing_t *pricing, const pto_ledger_t *awaited, bool first) {
    bool matters = !first && pto_queued_copies_cost(pricing->machine);
    for (int64_t i = 0; i < pricing->actors.walked_count; i++) {
        int64_t actor = pricing->actors.walked[i];
        pricing->clocks.behind[actor] =
            matters && (!awaited || !pto_time_less(pricing->clocks.ledger[actor].time, awaited[actor].time))
                ? PTO_BEHIND_CHUNK
                : PTO_BEHIND_NOTHING;
    }
}

/* One chunk. `slot`: the last lane's ledgers at the end of the chunk whose slot this one takes, then this
 * one's own; NULL: every chunk has a slot of its own. */
static pto_status_t price_chunk(pto_pricing_t *pricing, int index, int64_t k, pto_ledger_t *slot) {
    int lanes = pto_node_at(pricing->plan, index)->span;
    pto_status_t status = PTO_OK;
    for (int lane = 0; lane < lanes && status == PTO_OK; lane++) {
        const pto_ledger_t *awaited = lane > 0 ? lane_at(pricing, lane - 1) : slot;
        pricing->clocks.ledger = lane_at(pricing, lane);
        note_gaps(pricing, awaited, k == pto_node_at(pricing->plan, index)->from);
        if (awaited)
            follow_walked(pricing, pricing->clocks.ledger, awaited);
        status = pto_price_nodes(pricing, index + 1 + lane, 1, k);
    }
    if (slot)
        pto_pricing_remember(pricing, slot);
    return status;
}

/* --- chunks that cost the same -------------------------------------------------------------------------- */

void pto_lanes_remember_demand(pto_pricing_t *pricing) {
    for (int64_t i = 0; i < PTO_LANE_RESOURCE_COUNT * pricing->actors.count; i++)
        copy_ledger(pricing, &pricing->lanes.demand_before[i], &pricing->lanes.demand[i]);
}

/* Add `times` what `count` ledgers have gained since `before`. */
static void repeat(pto_pricing_t *pricing, pto_ledger_t *ledger, const pto_ledger_t *before, int64_t count,
                   double times) {
    for (int64_t i = 0; i < count; i++)
        pto_pricing_keep(pricing, pto_ledger_shift(&ledger[i], &ledger[i], &before[i], times));
}

/* Before the ledgers themselves are repeated: what has been asked in the last period was asked in its last
 * repetition, too. */
static void repeat_asks(pto_pricing_t *pricing, double times) {
    int64_t count = PTO_LANE_RESOURCE_COUNT * pricing->actors.count;
    for (int64_t index = 0; index < count; index++) {
        int64_t actor = index % pricing->actors.count;
        pto_ledger_t *ask = last_ask_at(pricing, current_lane(pricing), index);
        if (pto_time_less(pricing->clocks.snapshot[actor].time, ask->time))
            pto_pricing_keep(pricing, pto_ledger_shift(ask, &pricing->clocks.ledger[actor],
                                                       &pricing->clocks.snapshot[actor], times));
    }
}

void pto_lanes_repeat_demand(pto_pricing_t *pricing, double times) {
    if (pricing->lanes.in_branches)
        repeat_asks(pricing, times);
    repeat(pricing, pricing->lanes.demand, pricing->lanes.demand_before,
           PTO_LANE_RESOURCE_COUNT * pricing->actors.count, times);
}

/* A pipeline while its chunks are priced. */
typedef struct {
    int index;
    int lanes;
    int64_t slots;  /* 0: every chunk has its own */
    int64_t period; /* of chunks, after which its state may repeat itself */
    pto_repeat_t repeat;
    bool apart;           /* actors never wait for each other */
    pto_ledger_t *slot;   /* per slot and actor: the last lane's, when it was used last */
    pto_ledger_t *before; /* per lane and actor: at the start of the period */
    int64_t pending;      /* raised flags, then */
    pto_time_t *gain;     /* per lane and actor: in the period before; -1: unknown */
    bool knows_busy;      /* after the first chunk, only processes with bytes are walked */
    pto_busy_t busy;
} pipeline_t;

static bool queues_are_empty(const pto_pricing_t *pricing) {
    for (int64_t gpu = 0; gpu < pricing->actors.gpu_count; gpu++)
        for (int resource = 0; resource < PTO_COPY_RESOURCE_COUNT; resource++)
            if (pricing->shared.engine[gpu].queue[resource].count > 0)
                return false;
    return true;
}

/* Returns whether actors never wait for each other: classes whose messages stay among them, without flags. */
static bool are_apart(const pto_pricing_t *pricing, int index) {
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

/* Returns whether each lane of each actor has gained as much as in the period before, and all actors the same
 * unless they are apart. A lane that gains less than the one before it will have to wait for that one. Lanes
 * that wait for each other's slots gain the same. */
static bool gains_repeat(const pto_pricing_t *pricing, const pipeline_t *pipeline, bool on_tape) {
    bool steady = pricing->flags.lag == 0 && pto_raises_pending(pricing) == pipeline->pending, alike = true;
    bool empty = queues_are_empty(pricing), together = true;
    pto_time_t of_all[PTO_LANES_MAX] = {{0}};
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
            bool like_others = !gains || !pto_time_positive(largest) || pto_time_same(gain, largest);
            steady = steady && pto_time_same(gain, earlier) && (like_others || !pto_time_less(gain, largest));
            alike = alike && like_others;
            together =
                together && (!gains || !pto_time_positive(of_all[lane]) || pto_time_same(gain, of_all[lane]));
            largest = pto_time_max(largest, gain);
            of_all[lane] = gains ? gain : of_all[lane];
        }
    }
    return steady && (together || (pipeline->apart && empty)) && (alike || (pipeline->slots == 0 && empty));
}

/* A tape need not keep that they don't: to price chunk by chunk is always right. */
static bool is_steady(const pto_pricing_t *pricing, pipeline_t *pipeline) {
    bool steady = gains_repeat(pricing, pipeline, false);
    if (steady && pto_tape_recording)
        gains_repeat(pricing, pipeline, true);
    for (int64_t i = 0; i < pipeline->lanes * pricing->actors.count; i++)
        pipeline->gain[i] = gain_of(pricing, pipeline, i);
    return steady;
}

/* Add `times` the gains of the last period to all that the next chunks depend on. */
static void repeat_period(pto_pricing_t *pricing, pipeline_t *pipeline, double times) {
    int64_t actors = pricing->actors.count, last = (pipeline->lanes - 1) * actors;
    for (int64_t i = 0; i < pipeline->slots * actors; i++)
        pto_pricing_keep(pricing,
                         pto_ledger_shift(&pipeline->slot[i], &pricing->clocks.lane[last + i % actors],
                                          &pipeline->before[last + i % actors], times));
    pto_pricing_shift_queues(pricing, pricing->clocks.lane, pipeline->before, times);
    pto_lanes_repeat_demand(pricing, times);
    pto_occupied_repeat(pricing, times);
    repeat(pricing, pricing->clocks.lane, pipeline->before, pipeline->lanes * actors, times);
}

/* At the start of a period: the number of chunks from k on that are priced at once, because they cost what
 * the last period did. */
static int64_t begin_period(pto_pricing_t *pricing, pipeline_t *pipeline, int64_t k) {
    int64_t periods = (pipeline->repeat.uniform_to - k) / pipeline->period;
    if (k >= pipeline->repeat.uniform_from + pipeline->period && is_steady(pricing, pipeline) &&
        periods > 0) {
        repeat_period(pricing, pipeline, (double)periods);
        return periods * pipeline->period;
    }
    for (int lane = 0; lane < pipeline->lanes; lane++) {
        pricing->clocks.ledger = lane_at(pricing, lane);
        pto_pricing_remember(pricing, pipeline->before + lane * pricing->actors.count);
    }
    pto_lanes_remember_demand(pricing);
    pto_occupied_remember(pricing);
    pipeline->pending = pto_raises_pending(pricing);
    pricing->flags.lag = 0;
    return 0;
}

/* The first chunk is alone in each stage: what the chunks ask of a resource counts from its end. Between
 * single ranks no chunks are uniform. */
static pto_status_t walk_chunks(pto_pricing_t *pricing, pipeline_t *pipeline) {
    const pto_node_t *node = pto_node_at(pricing->plan, pipeline->index);
    pto_status_t status = PTO_OK;
    for (int64_t k = node->from; k < node->to && status == PTO_OK && !pricing->clocks.out_of_memory; k++) {
        int64_t since = k - node->from;
        if (pipeline->before && since > 0 && since % pipeline->period == 0)
            k += begin_period(pricing, pipeline, k);
        if (k == node->to)
            break;
        pricing->flags.round++;
        if (since > 0 && pipeline->knows_busy) { /* the others' lanes have followed each other */
            pricing->actors.walked = pipeline->busy.actor;
            pricing->actors.walked_count = pto_busy_list(pricing, k, &pipeline->busy);
        }
        status = price_chunk(
            pricing, pipeline->index, k,
            pipeline->slots > 0 ? pipeline->slot + since % pipeline->slots * pricing->actors.count : NULL);
        if (since == 0)
            count_from_here(pricing);
    }
    return status;
}

static void free_ledgers(pto_ledger_t *ledger, int64_t count) {
    for (int64_t i = 0; ledger && i < count; i++)
        pto_ledger_fini(&ledger[i]);
    free(ledger);
}

static pto_status_t price_chunks(pto_pricing_t *pricing, int index) {
    const pto_node_t *node = pto_node_at(pricing->plan, index);
    int64_t chunks = node->to - node->from, actors = pricing->actors.count;
    pipeline_t pipeline = {
        .index = index, .lanes = node->span, .repeat = pto_find_repeat(pricing->plan, index)};
    pipeline.slots = node->depth < chunks ? node->depth : 0;
    pipeline.period = pipeline.repeat.period * (pipeline.slots > 0 ? pipeline.slots : 1);
    int64_t slots = pipeline.slots * actors, lanes = pipeline.lanes * actors;
    bool repeats = chunks > 3 * pipeline.period && pricing->actors.kind != PTO_ACTORS_RANKS;
    pipeline.slot = calloc((size_t)slots + 1, sizeof *pipeline.slot);
    if (repeats) {
        pipeline.apart = are_apart(pricing, index);
        pipeline.before = calloc((size_t)lanes + 1, sizeof *pipeline.before);
        pipeline.gain = malloc((size_t)(lanes + 1) * sizeof *pipeline.gain);
    }
    if (!pipeline.slot || (repeats && (!pipeline.before || !pipeline.gain)))
        pricing->clocks.out_of_memory = true;
    for (int64_t i = 0; pipeline.gain && i < lanes; i++)
        pipeline.gain[i] = (pto_time_t){.s = -1};
    int64_t walked_count = pricing->actors.walked_count, *walked = pricing->actors.walked;
    const pto_stage_t *first = pto_node_stage(pricing->plan, index + 1);
    const pto_stage_t *last = pto_node_stage(pricing->plan, index + node->span);
    pipeline.knows_busy =
        pipeline.slots == 0 && !pricing->clocks.out_of_memory &&
        pto_busy_find(pricing, first->step_first, last->step_first + last->step_count, &pipeline.busy);
    pto_status_t status = walk_chunks(pricing, &pipeline);
    pricing->actors.walked_count = walked_count;
    pricing->actors.walked = walked;
    pto_busy_fini(&pipeline.busy);
    free_ledgers(pipeline.slot, slots);
    free_ledgers(pipeline.before, lanes);
    free(pipeline.gain);
    return status;
}

bool pto_lanes_apply(const pto_pricing_t *pricing, int node) {
    pto_node_kind_t kind = pto_node_at(pricing->plan, node)->kind;
    return (kind == PTO_NODE_PIPELINE || kind == PTO_NODE_PARALLEL) &&
           pto_node_lane_count(pricing->plan, node) > 1;
}

pto_status_t pto_lanes_price(pto_pricing_t *pricing, int index, int64_t k) {
    const pto_node_t *node = pto_node_at(pricing->plan, index);
    int lanes = pto_node_lane_count(pricing->plan, index);
    pricing->lanes.in_branches = node->kind == PTO_NODE_PARALLEL;
    fork(pricing, lanes);
    pto_status_t status =
        node->kind == PTO_NODE_PIPELINE ? price_chunks(pricing, index) : price_branches(pricing, index, k);
    join(pricing, lanes);
    return status;
}

/* --- what a step asks for ------------------------------------------------------------------------------- */

/* Where each GPU has one owner, its peers are on other GPUs. */
static bool is_between_gpus(const pto_plan_t *plan, const pto_step_t *step) {
    return pto_step_copy_kind(plan, step) == PTO_COPY_D2D && plan->request.layout.owners_per_gpu == 1 &&
           (step->source.holder == PTO_HOLDER_PEER) != (step->target.holder == PTO_HOLDER_PEER);
}

/* A copy from or to another GPU takes the GPU's link, as its messages do, and hardly any of its memory's
 * time. */
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
        int64_t index = asked_at(pricing, (pto_lane_resource_t)resource, actor);
        if (pricing->lanes.asks[index])
            copy_ledger(pricing, last_ask_at(pricing, current_lane(pricing), index),
                        &pricing->clocks.ledger[actor]);
        pricing->lanes.asks[index] = false;
    }
}

void pto_lane_demand(pto_pricing_t *pricing, int64_t actor, pto_lane_resource_t resource,
                     const pto_charge_t *charge, pto_time_t time) {
    int64_t index = asked_at(pricing, resource, actor);
    bool first = pricing->lanes.askers[index] == 0;
    const pto_ledger_t *mine = &pricing->clocks.ledger[actor];
    bool asks = pto_time_positive(time);
    if (asks)
        pricing->lanes.askers[index] |= UINT64_C(1) << current_lane(pricing);
    if (asks && pricing->lanes.in_branches) {
        if (first || pto_time_less(mine->time, pricing->lanes.first_ask[index].time))
            copy_ledger(pricing, &pricing->lanes.first_ask[index], mine);
        pricing->lanes.asks[index] = true;
    }
    pto_pricing_keep(pricing, pto_ledger_add(&pricing->lanes.demand[index], charge, time));
}

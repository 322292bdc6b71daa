/* The control flow of a price: prices the plan's nodes in order and, in a stage, the steps of each actor. The
 * plan's price is the time at which the last actor ends (whole.c).
 *
 * An actor is usually a class of ranks: a range of cores that do the same in every step, priced once for all
 * GPUs. A stage costs a class as much as its most expensive member; docs/decisions/0001 says when that is
 * exact and when it is an upper bound. If processes use their peers' memory, an actor is a process of the
 * first node, which represents its counterparts on all nodes (docs/decisions/0003), and on GPUs that do the
 * same (gpus.c). If byte counts are a table, or each step has a single member, every rank is an actor. */
#include "portolan/price.h"

#include <math.h>

#include "price/pricing.h"

_Thread_local int64_t pto_price_visits;

/* --- the bytes of a stage at nodes and copy engines --------------------------------------------------- */

static pto_copies_t *engine_of(const pto_pricing_t *pricing, int64_t actor) {
    return &pricing->shared.engine[actor / pricing->actors.per_gpu];
}

static void count_copies(pto_pricing_t *pricing, pto_action_t *action) {
    const pto_step_t *step = action->step;
    if (pto_actors_are_exact(pricing, step)) {
        int64_t only_gpu =
            pricing->actors.represented_by ? action->rank / pricing->actors.per_gpu : PTO_COPIES_ALL_GPUS;
        pto_copies_count(pricing->plan, pricing->machine, pricing->tables, action, only_gpu,
                         pricing->shared.engine);
        pto_links_count_copies(pricing, action);
        return;
    }
    int64_t bytes = pricing->actors.actor[action->rank].cores * pto_class_copy_bytes(pricing->plan, action);
    engine_of(pricing, action->rank)->bytes[pto_step_copy_kind(pricing->plan, step)] += bytes;
    pto_links_count_class_copies(pricing, action, (double)bytes);
}

/* Counts what all actors send and copy in a stage, since its nodes and GPUs share the cost. */
static void count_demand(pto_pricing_t *pricing, const pto_stage_t *stage, int64_t k) {
    for (int64_t node = 0; node < pricing->actors.node_count; node++)
        pricing->shared.outflow[node] = (pto_outflow_t){0};
    for (int64_t i = 0; i < pricing->actors.priced_count; i += pricing->actors.per_gpu)
        pto_copies_begin(engine_of(pricing, pricing->actors.priced[i]));
    pto_links_begin(pricing);
    for (int i = 0; i < stage->step_count; i++) {
        const pto_step_t *step = pto_step_at(pricing->plan, stage->step_first + i);
        if (step->kind != PTO_STEP_SEND && step->kind != PTO_STEP_COPY && step->kind != PTO_STEP_REDUCE)
            continue;
        if (step->kind == PTO_STEP_SEND && pricing->messages->count_step)
            pricing->messages->count_step(pricing, step, k);
        if (step->kind == PTO_STEP_COPY && pricing->actors.represented_by)
            pto_gpus_count_copies_with_peers(pricing, step, k);
        for (int64_t a = 0; a < pricing->actors.priced_count; a++) {
            pto_action_t action;
            if (!pto_actor_acts(pricing, step, pricing->actors.priced[a], k, &action))
                continue;
            if (step->kind == PTO_STEP_SEND)
                pricing->messages->count(pricing, &action);
            else if (step->kind == PTO_STEP_COPY)
                count_copies(pricing, &action);
            else
                pto_links_count_reductions(pricing, &action);
        }
    }
}

/* --- one actor's stage -------------------------------------------------------------------------------- */

/* The costs of one actor's steps in a stage, so far. */
typedef struct {
    pto_charge_t out;   /* messages that it sends */
    pto_charge_t in;    /* messages that it receives */
    pto_charge_t other; /* copies and all else */
    pto_time_t copies;  /* the part of `other` of copies */
    /* The busiest links of the messages in both directions, and of the copies: */
    pto_busiest_links_t out_link;
    pto_busiest_links_t in_link;
    pto_busiest_t copy_link;
    unsigned queued; /* as in pto_copying_t */
} costs_t;

/* Returns whether a process enqueues copies without waiting for each: outside lanes and the MPI library. */
static bool streams(const pto_pricing_t *pricing, const pto_step_t *step) {
    return !pricing->lanes.active && !pricing->at.in_library && pto_step_streams(pricing->plan, step);
}

/* Returns whether a kernel's copies are within the actor's own GPU, as they are if the actor is not exact. */
static bool is_in_own_memory(const pto_pricing_t *pricing, const pto_step_t *step) {
    return step->in_kernel && !pto_actors_are_exact(pricing, step);
}

/* Returns the arguments of the functions of copies.h that charge copies to `costs->other`. */
static pto_copying_t copying_of(const pto_pricing_t *pricing, const pto_action_t *action, costs_t *costs) {
    return (pto_copying_t){.plan = pricing->plan,
                           .machine = pricing->machine,
                           .tables = pricing->tables,
                           .engine = pricing->shared.engine,
                           .represented_by = pricing->actors.represented_by,
                           .own = &pricing->clocks.ledger[action->rank],
                           .charge = &costs->other,
                           .behind = pricing->clocks.behind[action->rank],
                           .streams = streams(pricing, action->step),
                           .queued = costs->queued,
                           .err = pricing->err};
}

static pto_status_t charge_copies(pto_pricing_t *pricing, pto_action_t *action, costs_t *costs) {
    pto_copying_t copying = copying_of(pricing, action, costs);
    pto_time_t before = costs->other.other;
    pto_status_t status;
    if (pto_actors_are_exact(pricing, action->step)) {
        status = pto_copies_charge(&copying, action);
        pto_links_busiest_of_copies(pricing, action, &costs->copy_link);
    } else {
        status =
            pto_copy_charge(&copying, action, PTO_REACH_ON_SOCKET, action->rank / pricing->actors.per_gpu,
                            pto_class_copy_bytes(pricing->plan, action));
        pto_links_busiest_of_all(pricing, PTO_LOAD_COPIES, PTO_END_RECEIVER, &costs->copy_link);
    }
    costs->queued = copying.queued;
    costs->copies = pto_time_add(costs->copies, pto_time_subtract(costs->other.other, before));
    if (copying.streams && pto_time_less(before, costs->other.other))
        pricing->clocks.behind[action->rank] = PTO_BEHIND_COPY;
    return status;
}

static void charge_reductions(const pto_pricing_t *pricing, pto_action_t *action, pto_charge_t *charge) {
    const pto_plan_t *plan = pricing->plan;
    if (pto_actors_are_exact(pricing, action->step))
        pto_reduction_charge(plan, pricing->machine, action, charge);
    else
        pto_step_charge_reduce(plan, pricing->machine, action->step,
                               pto_class_slice_bytes(plan, &action->step->target, action),
                               pto_class_slice_bytes(plan, &action->step->source, action), charge);
}

/* Begins three charges at once, which is faster than pto_charge_begin for each. */
static void begin_costs(pto_pricing_t *pricing, const pto_stage_t *stage, costs_t *costs) {
    pto_charge_t *const charge[] = {
        [PTO_TERMS_OUT] = &costs->out, [PTO_TERMS_IN] = &costs->in, [PTO_TERMS_OTHER] = &costs->other};
    *costs = (costs_t){.queued = 0};
    for (int i = 0; i <= PTO_TERMS_OTHER; i++) {
        charge[i]->stage = stage->name;
        charge[i]->terms = pto_pricing_terms(pricing, (pto_terms_t)i);
        pricing->clocks.terms[i].entry_count = 0;
    }
    costs->out.at_once = stage->order == PTO_ORDER_AT_ONCE;
    costs->in.at_once = costs->out.at_once;
}

static bool goes_both_ways(const pto_pricing_t *pricing, const pto_stage_t *stage, int64_t k) {
    const pto_param_t *both_ways = pricing->machine->both_ways;
    const pto_message_rules_t *rules = pricing->messages;
    return (pto_param_known(&both_ways[PTO_SPACE_CPU]) || pto_param_known(&both_ways[PTO_SPACE_GPU])) &&
           (!rules->both_ways || rules->both_ways(pricing->plan, stage, k));
}

static bool any_link(const costs_t *costs) {
    return costs->out_link.on_node.s_per_byte || costs->out_link.off_node.s_per_byte ||
           costs->in_link.on_node.s_per_byte || costs->in_link.off_node.s_per_byte ||
           costs->copy_link.s_per_byte;
}

/* Charges the additional time of sending and receiving at once, and that of shared links. */
static void charge_sharing(const pto_pricing_t *pricing, costs_t *costs) {
    if (!pricing->at.both_ways && !pricing->lanes.active && !any_link(costs))
        return;
    pto_time_t both = {0};
    if (pricing->at.both_ways)
        both = pto_charge_both_ways(&costs->out, &costs->in, pricing->machine);
    pto_time_t out = pto_time_add(both, costs->out.max_on_node);
    pto_time_t in = pto_time_add(both, costs->in.max_on_node);
    if (pricing->lanes.active) {
        out = pto_time_add(out, pto_charge_staged(&costs->out, pricing->machine));
        in = pto_time_add(in, pto_charge_staged(&costs->in, pricing->machine));
    }
    pto_charge_busiest(&costs->out, &costs->out_link.on_node, out);
    pto_charge_busiest(&costs->in, &costs->in_link.on_node, in);
    pto_charge_busiest(&costs->out, &costs->out_link.off_node, costs->out.off_node);
    pto_charge_busiest(&costs->in, &costs->in_link.off_node, costs->in.off_node);
    pto_charge_busiest(&costs->other, &costs->copy_link, costs->copies);
}

/* Returns the CPU time of on-node messages, with the cost of sharing the CPU; of a class, the maximum. */
static pto_time_t cpu_time(const pto_charge_t *charge) {
    pto_time_t by_cpu = pto_charge_by_cpu(charge);
    if (pto_time_positive(by_cpu))
        by_cpu = pto_time_add(by_cpu, charge->other);
    return pto_time_max(by_cpu, charge->max_by_cpu);
}

/* In lanes, on-node messages also demand the CPU, even if messages between nodes take longer. */
static void demand_messages(pto_pricing_t *pricing, int64_t actor, costs_t *costs, pto_time_t out,
                            pto_time_t in) {
    const pto_param_t *both_ways = &pricing->machine->both_ways[PTO_SPACE_CPU];
    pto_lane_demand(pricing, actor, PTO_LANE_SEND, &costs->out, out);
    pto_lane_demand(pricing, actor, PTO_LANE_RECV, &costs->in, in);
    pto_time_t by_cpu = pto_time_max(cpu_time(&costs->out), cpu_time(&costs->in));
    if (!pto_param_known(both_ways) || !pto_time_positive(by_cpu))
        return;
    pto_charge_t charge;
    pto_charge_begin(&charge, costs->out.stage, pto_pricing_terms(pricing, PTO_TERMS_EXTRA));
    pto_charge_share(&charge, both_ways, PTO_SPACE_CPU, by_cpu);
    pto_lane_demand(pricing, actor, PTO_LANE_CPU, &charge, charge.other);
}

/* Adds the costs so far to the actor's ledger: the longer one of sending and receiving, then all else. */
static void settle_costs(pto_pricing_t *pricing, int64_t actor, costs_t *costs) {
    charge_sharing(pricing, costs);
    pto_outflow_t *outflow = &pricing->shared.outflow[pto_actor_node(pricing, actor)];
    pto_time_t out = pto_charge_time(&costs->out, pricing->machine, outflow);
    pto_time_t in = pto_charge_time(&costs->in, pricing->machine, outflow);
    pto_charge_t *messages = in.s > out.s ? &costs->in : &costs->out;
    pto_occupied_messages(pricing, actor, out, in);
    pto_charge_settle(messages, pricing->machine, outflow);
    if (pricing->lanes.active) {
        pto_charge_settle(in.s > out.s ? &costs->out : &costs->in, pricing->machine, outflow);
        demand_messages(pricing, actor, costs, out, in);
    }
    pto_time_t longer = pto_time_max(out, in);
    pto_time_t other = pto_charge_time(&costs->other, pricing->machine, outflow);
    pto_pricing_add(pricing, actor, messages, longer);
    pto_pricing_add(pricing, actor, &costs->other, other);
    if (costs->queued)
        pto_pricing_must(pricing, pto_copies_leave(engine_of(pricing, actor), costs->queued, actor,
                                                   &pricing->clocks.ledger[actor]));
    pto_lane_ended(pricing, actor);
}

static pto_status_t charge_step(pto_pricing_t *pricing, pto_action_t *action, costs_t *costs) {
    if (action->step->peers.kind != PTO_PEERS_NONE && !pto_step_is_message(action->step) &&
        pto_actors_are_exact(pricing, action->step))
        pto_price_visits += pto_step_peer_count(pricing->plan, action);
    switch (action->step->kind) {
    case PTO_STEP_SEND:
        pto_charge_mixed(&costs->out, pricing->plan);
        return pricing->messages->charge(pricing, action, &costs->out, &costs->out_link);
    case PTO_STEP_RECV:
        pto_charge_mixed(&costs->in, pricing->plan);
        return pricing->messages->charge(pricing, action, &costs->in, &costs->in_link);
    case PTO_STEP_COPY:
        if (!is_in_own_memory(pricing, action->step))
            return charge_copies(pricing, action, costs);
        pto_charge_kernel_bytes(&costs->other, pricing->machine, pto_class_copy_bytes(pricing->plan, action));
        break;
    case PTO_STEP_REDUCE:
        charge_reductions(pricing, action, &costs->other);
        break;
    case PTO_STEP_SIGNAL:
        pto_raises_raise(pricing, action);
        break;
    case PTO_STEP_WAIT:
        pto_raises_wait(pricing, action, &costs->other);
        break;
    case PTO_STEP_LAUNCH:
        pto_charge_launch(&costs->other, pricing->machine);
        break;
    case PTO_STEP_COUNT:
        break;
    }
    return PTO_OK;
}

/* Charges the step alone, since in a lane its cost is also a demand on a resource, then adds it up. */
static pto_status_t charge_in_lane(pto_pricing_t *pricing, pto_action_t *action, costs_t *costs) {
    pto_charge_t sum = costs->other;
    pto_charge_t *own = &costs->other;
    pto_ledger_t *own_terms = pto_pricing_terms(pricing, PTO_TERMS_EXTRA);
    pto_charge_begin(own, sum.stage, own_terms);
    if (action->step->kind == PTO_STEP_COPY) {
        pto_charge_queueing(own, pricing->machine, pto_step_copy_kind(pricing->plan, action->step));
        pto_lane_demand(pricing, action->rank, PTO_LANE_CPU, own, own->other);
        pto_charge_begin(own, sum.stage, own_terms);
    }
    pto_status_t status = charge_step(pricing, action, costs);
    pto_lane_demand(pricing, action->rank, pto_lane_resource(pricing->plan, action->step), own, own->other);
    sum.other = pto_time_add(sum.other, own->other);
    sum.out_of_memory = sum.out_of_memory || own->out_of_memory;
    for (int i = 0; own_terms && i < own_terms->entry_count; i++)
        pto_charge_enter(&sum, own_terms->entry[i]);
    costs->other = sum;
    return status;
}

static pto_status_t charge_action(pto_pricing_t *pricing, pto_action_t *action, costs_t *costs) {
    double before_s = costs->other.other.s;
    pto_status_t status =
        pricing->lanes.active ? charge_in_lane(pricing, action, costs) : charge_step(pricing, action, costs);
    pto_occupied_step(pricing, action, costs->other.other.s - before_s);
    return status;
}

/* Returns whether a step raises or awaits a flag after steps that take time, which must be settled first. */
static bool is_after_costs(const pto_stage_t *stage, const pto_step_t *step, const costs_t *costs) {
    return pto_step_is_signal(step) && stage->order == PTO_ORDER_SEQUENCE &&
           pto_time_positive(costs->other.other);
}

/* Prices one actor's steps. `begun`: it has taken part in a step since its costs were settled. Costs are
 * begun only then, since many actors take no part in a stage. */
static pto_status_t price_actor(pto_pricing_t *pricing, const pto_stage_t *stage, int64_t actor, int64_t k) {
    costs_t costs;
    bool begun = false, early = pto_pricing_begin_early(pricing, stage, actor, k);
    pto_status_t status = PTO_OK;
    pto_price_visits++;
    for (int i = 0; i < stage->step_count && status == PTO_OK; i++) {
        const pto_step_t *step = pto_step_at(pricing->plan, stage->step_first + i);
        pto_action_t action;
        if (!pto_actor_acts(pricing, step, actor, k, &action))
            continue;
        if (!pricing->lanes.active && !streams(pricing, step))
            pricing->clocks.behind[actor] = PTO_BEHIND_NOTHING;
        if (begun && is_after_costs(stage, step, &costs)) {
            settle_costs(pricing, actor, &costs);
            begun = false;
        }
        if (!begun)
            begin_costs(pricing, stage, &costs);
        begun = true;
        status = charge_action(pricing, &action, &costs);
    }
    if (status != PTO_OK)
        return status;
    if (begun)
        settle_costs(pricing, actor, &costs);
    else
        pto_lane_ended(pricing, actor);
    if (early)
        pto_pricing_follow(pricing, &pricing->clocks.ledger[actor], &pricing->clocks.before[actor]);
    return PTO_OK;
}

/* --- stages ------------------------------------------------------------------------------------------- */

static bool has_queued_copies(const pto_pricing_t *pricing, const pto_stage_t *stage) {
    for (int i = 0; i < stage->step_count; i++)
        if (pto_step_queues(pricing->plan, pricing->machine,
                            pto_step_at(pricing->plan, stage->step_first + i)))
            return true;
    return false;
}

/* Sorts the actors of each GPU by arrival, which is the order of their copies. If copies are not queued, the
 * order changes nothing, so that a tape need not record the comparisons. */
static void sort_by_arrival(pto_pricing_t *pricing, const pto_stage_t *stage) {
    int64_t *order = pricing->clocks.order;
    bool matters = has_queued_copies(pricing, stage);
    for (int64_t i = 0; i < pricing->actors.priced_count; i++) {
        int64_t at = i, actor = pricing->actors.priced[i];
        pto_time_t own = pricing->clocks.before[actor].time;
        for (; at % pricing->actors.per_gpu > 0; at--) {
            pto_time_t other = pricing->clocks.before[order[at - 1]].time;
            bool earlier = matters ? pto_time_less(own, other) : own.s < other.s;
            if (!earlier)
                break;
            order[at] = order[at - 1];
        }
        order[at] = actor;
    }
}

static bool has_waits(const pto_pricing_t *pricing, const pto_stage_t *stage) {
    for (int i = 0; i < stage->step_count; i++)
        if (pto_step_at(pricing->plan, stage->step_first + i)->kind == PTO_STEP_WAIT)
            return true;
    return false;
}

/* Returns whether an actor takes part in a step of one of these kinds, a bit each. */
static bool acts_in(const pto_pricing_t *pricing, const pto_stage_t *stage, unsigned kinds, int64_t actor,
                    int64_t k) {
    for (int i = 0; i < stage->step_count; i++) {
        const pto_step_t *step = pto_step_at(pricing->plan, stage->step_first + i);
        pto_action_t action;
        if (kinds & 1u << step->kind && pto_actor_acts(pricing, step, actor, k, &action))
            return true;
    }
    return false;
}

/* Extends an actor's `duration` by the ratio of the time of its node's memory to the node's `longest`. */
static void slow_down(pto_pricing_t *pricing, const pto_stage_t *stage, int64_t actor, pto_time_t duration,
                      pto_time_t longest) {
    pto_busiest_t memory = pto_links_busiest_memory(pricing, PTO_LOAD_COPIES, actor);
    pto_charge_t charge;
    if (pto_time_positive(longest))
        memory.time = pto_time_multiply(memory.time, pto_time_divide(duration, longest));
    pto_charge_begin(&charge, stage->name, pto_pricing_terms(pricing, PTO_TERMS_OTHER));
    pto_charge_busiest(&charge, &memory, duration);
    pto_pricing_add(pricing, actor, &charge, charge.other);
}

/* A stage's copies and reductions take at least as long as their node's memory needs for them. If the longest
 * takes less, all are slower in the same proportion, even those that follow each other. The first pass finds
 * the longest duration on each node, the second one extends all. */
static void apply_memory_limit(pto_pricing_t *pricing, const pto_stage_t *stage, int64_t k) {
    pto_time_t *longest = pricing->shared.loads.longest;
    for (int64_t node = 0; node < pricing->shared.loads.nodes; node++)
        longest[node] = (pto_time_t){0};
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < pricing->actors.priced_count; i++) {
            int64_t actor = pricing->actors.priced[i];
            pto_time_t duration =
                pto_time_subtract(pricing->clocks.ledger[actor].time, pricing->clocks.before[actor].time);
            int64_t node = pto_actor_node(pricing, actor);
            if (!acts_in(pricing, stage, 1u << PTO_STEP_COPY | 1u << PTO_STEP_REDUCE, actor, k))
                continue;
            if (pass == 0)
                longest[node] = pto_time_max(longest[node], duration);
            else
                slow_down(pricing, stage, actor, duration, longest[node]);
        }
}

/* In lanes, a stage occupies its node's memory for all processes of the node, even if they do not act. */
static void demand_memory(pto_pricing_t *pricing, const pto_stage_t *stage) {
    for (int64_t i = 0; i < pricing->actors.priced_count; i++) {
        int64_t actor = pricing->actors.priced[i];
        pto_charge_t charge;
        pto_charge_begin(&charge, stage->name, pto_pricing_terms(pricing, PTO_TERMS_EXTRA));
        for (int kind = 0; kind < PTO_LOAD_KINDS; kind++) {
            pto_busiest_t memory = pto_links_busiest_memory(pricing, (pto_load_kind_t)kind, actor);
            pto_charge_busiest(&charge, &memory, (pto_time_t){0});
        }
        pto_lane_demand(pricing, actor, PTO_LANE_MEMORY, &charge, charge.other);
    }
}

/* If the stage has waits, actors that wait are priced in a second pass, when their flags are raised. */
pto_status_t pto_stage_price(pto_pricing_t *pricing, int node, int64_t k) {
    const pto_stage_t *stage = pto_node_stage(pricing->plan, node);
    pricing->at.stage = stage;
    pricing->at.both_ways = goes_both_ways(pricing, stage, k);
    pto_pricing_save(pricing, pricing->clocks.before);
    count_demand(pricing, stage, k);
    pto_occupied_stage(pricing);
    bool memory = pricing->shared.loads.links.memory_s_per_byte != NULL;
    if (memory && pricing->lanes.active)
        demand_memory(pricing, stage);
    sort_by_arrival(pricing, stage);
    pto_status_t status = PTO_OK;
    bool waits = has_waits(pricing, stage);
    for (int pass = 0; pass < (waits ? 2 : 1); pass++)
        for (int64_t i = 0; i < pricing->actors.priced_count && status == PTO_OK; i++) {
            int64_t actor = pricing->clocks.order[i];
            int pass_of_actor = waits && acts_in(pricing, stage, 1u << PTO_STEP_WAIT, actor, k) ? 1 : 0;
            if (pass_of_actor == pass)
                status = price_actor(pricing, stage, actor, k);
        }
    if (memory)
        apply_memory_limit(pricing, stage, k);
    return status;
}

/* --- nodes ---------------------------------------------------------------------------------------------- */

/* Returns whether the price surely exceeds its bound: no actor's time falls, and the last lane decides. */
static bool exceeds_bound(const pto_pricing_t *pricing) {
    if (isinf(pricing->bound_s))
        return false;
    for (int64_t i = 0; i < pricing->actors.priced_count; i++)
        if (pricing->clocks.ledger[pricing->actors.priced[i]].time.s > pricing->bound_s)
            return true;
    return false;
}

static bool is_stage(const pto_pricing_t *pricing, int node) {
    return pto_node_at(pricing->plan, node)->kind == PTO_NODE_STAGE;
}

/* The ways to price a node; the first that applies is taken. If none does, the nodes inside it are priced. */
static const pto_pricer_t stage_pricer = {is_stage, pto_stage_price};
static const pto_pricer_t *const pricers[] = {
    &pto_pricer_lines,   /* a kernel whose data carry their flags: as a whole */
    &pto_pricer_nccl,    /* a collective of NCCL: as a whole */
    &pto_pricer_lanes,   /* branches and pipelines: repeating chunks only once */
    &pto_pricer_pairs,   /* rounds of all pairs of a table: in arrays */
    &pto_pricer_loops,   /* loops: repeating rounds only once */
    &pto_pricer_at_once, /* an exchange of a table: by its sums */
    &stage_pricer,       /* step by step */
    NULL};

static const pto_pricer_t *find_pricer(const pto_pricing_t *pricing, int node) {
    const pto_pricer_t *const *pricer = pricers;
    while (*pricer && !(*pricer)->applies(pricing, node))
        pricer++;
    return *pricer;
}

/* Notes whether the node is in a collective that the MPI library runs. */
static void note_library(pto_pricing_t *pricing, const pto_node_t *node, int index) {
    if (node->by == PTO_DONE_BY_LIBRARY && node->kind == PTO_NODE_COLLECTIVE)
        pricing->at.library_end = index + node->span;
    pricing->at.in_library = index <= pricing->at.library_end;
}

pto_status_t pto_price_nodes(pto_pricing_t *pricing, int first, int count, int64_t k) {
    pto_status_t status = PTO_OK;
    for (int i = first; i < first + count && status == PTO_OK && !pricing->clocks.out_of_memory; i++) {
        const pto_node_t *node = pto_node_at(pricing->plan, i);
        note_library(pricing, node, i);
        const pto_pricer_t *pricer = find_pricer(pricing, i);
        if (!pricer)
            continue;
        status = pricer->price(pricing, i, k);
        i += node->span;
        pricing->outcome.exceeded = pricing->outcome.exceeded || exceeds_bound(pricing);
        if (status == PTO_OK && pricing->outcome.exceeded) /* leave all loops */
            status = PTO_ERR_INTERRUPTED;
    }
    return status;
}

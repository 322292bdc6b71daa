/* Pricing by class: ranks that act alike are priced once, whatever their number.
 *
 * A class is a range of cores that every step and every split treats alike. Within a class a stage costs what
 * it costs the dearest member; docs/decisions/0001 says where that is exact and where it is an upper bound.
 * Where processes use their peers' memory, a class is a place of a node instead: the processes of the first
 * node stand for those of all (docs/decisions/0003). A loop over shifts is a closed sum: all rounds in which
 * every message leaves the node cost the same. */
#include "portolan/price.h"

#include <assert.h>
#include <stdlib.h>

#include "price/copies.h"
#include "price/nccl.h"
#include "price/traffic.h"

typedef struct {
    const pto_plan_t *plan;
    const pto_machine_t *machine;
    bool explain;
    bool places; /* classes are the ranks of the first node, else ranges of cores */
    int class_count;
    int64_t *class_first;   /* class_count + 1 cores; NULL for places */
    int *order;             /* class_count classes */
    pto_ledger_t *ledger;   /* one a class */
    pto_ledger_t *before;   /* where they stood before the stage, or before a loop's measured iterations */
    pto_ledger_t *snapshot; /* one a class, for loops */
    pto_ledger_t *raised;   /* one a flag, and for places one a flag and class: when it was last raised */
    int engine_count;
    pto_copies_t *engine; /* one for any GPU, since all are alike; for places one a GPU */
    pto_traffic_cache_t *traffic;
    bool out_of_memory;
    pto_error_t *err;
} pricing_t;

/* --- classes ------------------------------------------------------------------------------------------ */

static int64_t class_core(const pricing_t *pricing, int class) {
    return pricing->places ? class % pricing->plan->request.layout.cores_per_gpu
                           : pricing->class_first[class];
}

static int64_t class_cores(const pricing_t *pricing, int class) {
    return pricing->places ? 1 : pricing->class_first[class + 1] - pricing->class_first[class];
}

static pto_copies_t *class_engine(const pricing_t *pricing, int class) {
    return &pricing->engine[pricing->places ? class / pricing->plan->request.layout.cores_per_gpu : 0];
}

static bool find_classes(pricing_t *pricing) {
    const pto_layout_t *layout = &pricing->plan->request.layout;
    pricing->places = pto_plan_uses_peers_memory(pricing->plan);
    pricing->engine_count = pricing->places ? (int)layout->gpus_per_node : 1;
    pricing->engine = calloc((size_t)pricing->engine_count, sizeof *pricing->engine);
    if (!pricing->engine)
        return false;
    if (pricing->places) {
        pricing->class_count = (int)(layout->gpus_per_node * layout->cores_per_gpu);
        return true;
    }
    pricing->class_first = pto_core_classes(pricing->plan, pricing->machine, &pricing->class_count);
    return pricing->class_first != NULL;
}

static int class_of(const pricing_t *pricing, int64_t core) {
    int class = pricing->class_count - 1;
    while (pricing->class_first[class] > core)
        class --;
    return class;
}

static bool is_within_node(const pricing_t *pricing, const pto_group_t *group) {
    return pricing->plan->request.layout.nodes == 1 || pto_group_is_on_node(group->kind);
}

/* Whether a class is a place whose part in the step is known: in groups of one node. */
static bool place_acts(const pricing_t *pricing, const pto_step_t *step, int class, int64_t k,
                       pto_action_t *action) {
    return pricing->places && is_within_node(pricing, pto_plan_group(pricing->plan, step->group)) &&
           pto_step_acts(pricing->plan, step, class, k, action);
}

/* In other groups the cores decide, and for a place whether it is a member before folding. */
static bool class_acts(const pricing_t *pricing, const pto_step_t *step, int class, int64_t k) {
    pto_group_t group = *pto_plan_group(pricing->plan, step->group);
    pto_action_t action;
    if (pricing->places && is_within_node(pricing, &group))
        return pto_step_acts(pricing->plan, step, class, k, &action);
    int64_t core = class_core(pricing, class);
    group.fold = 0;
    return core >= step->core_first && core < step->core_first + step->core_count &&
           (!pricing->places || pto_group_index(pricing->plan, &group, class) >= 0);
}

/* --- messages ----------------------------------------------------------------------------------------- */

static pto_status_t charge_mix(const pricing_t *pricing, const pto_mix_t *mix, pto_space_t space,
                               int64_t bytes, pto_charge_t *charge) {
    for (int level = 0; level < PTO_LEVEL_COUNT; level++) {
        if (mix->messages[level] == 0)
            continue;
        pto_status_t status = pto_charge_messages(charge, pricing->machine, space, (pto_level_t)level, bytes,
                                                  mix->messages[level], pricing->err);
        if (status != PTO_OK)
            return status;
    }
    return PTO_OK;
}

static bool by_peer(const pricing_t *pricing, const pto_step_t *step) {
    return step->peers.kind == PTO_PEERS_INDEX &&
           pto_group_is_on_gpu(pto_plan_group(pricing->plan, step->group)->kind);
}

/* Messages whose sizes differ by peer, as the shares that one process hands to the others of its GPU. */
static pto_status_t charge_by_peer(const pricing_t *pricing, const pto_step_t *step, int64_t k, int64_t core,
                                   pto_space_t space, pto_charge_t *charge) {
    int64_t until = pto_expr_value(step->peers.until, k, core, 0);
    int64_t stride = pto_expr_value(step->peers.stride, k, core, 0);
    for (int64_t peer = pto_expr_value(step->peers.first, k, core, 0); peer < until; peer += stride) {
        int64_t bytes = pto_class_slice_bytes(pricing->plan, pto_message_slice(step), k, core, peer, 0);
        if (peer == core || (bytes == 0 && !step->even_empty))
            continue;
        pto_status_t status =
            pto_charge_messages(charge, pricing->machine, space, PTO_LEVEL_ON_GPU, bytes, 1, pricing->err);
        if (status != PTO_OK)
            return status;
    }
    return PTO_OK;
}

/* The dearest mix of a step's members, added to `charge`. */
static pto_status_t charge_messages(const pricing_t *pricing, const pto_step_t *step, int64_t k, int64_t core,
                                    const pto_outflow_t *outflow, pto_charge_t *charge) {
    pto_space_t space = pto_plan_buffer(pricing->plan, pto_message_slice(step)->buffer)->space;
    if (by_peer(pricing, step))
        return charge_by_peer(pricing, step, k, core, space, charge);
    int64_t distance = pto_expr_value(step->peers.first, k, core, 0);
    int64_t bytes = pto_class_slice_bytes(pricing->plan, pto_message_slice(step), k, core, 0, distance);
    if (bytes == 0 && !step->even_empty)
        return PTO_OK;
    const pto_traffic_t *traffic = pto_traffic_count(pricing->plan, step, k, core, pricing->traffic);
    const pto_mix_t *dearest = NULL;
    double dearest_s = -1;
    for (int i = 0; i < traffic->mix_count; i++) {
        pto_charge_t mix = *charge;
        mix.explain = false;
        pto_status_t status = charge_mix(pricing, &traffic->mix[i], space, bytes, &mix);
        if (status != PTO_OK)
            return status;
        double mix_s = pto_charge_seconds(&mix, pricing->machine, outflow);
        if (mix_s > dearest_s) {
            dearest_s = mix_s;
            dearest = &traffic->mix[i];
        }
    }
    return dearest ? charge_mix(pricing, dearest, space, bytes, charge) : PTO_OK;
}

/* How many groups of a step's partition have members of a class on one node: those of each color. */
static int64_t groups_per_node(const pricing_t *pricing, const pto_step_t *step, int class) {
    const pto_layout_t *layout = &pricing->plan->request.layout;
    unsigned color = pto_group_traits[pto_plan_group(pricing->plan, step->group)->kind].color;
    int64_t groups = color & PTO_BY_GPU && !pricing->places ? layout->gpus_per_node : 1;
    if (pricing->places && !(color & PTO_BY_GPU) && class >= layout->cores_per_gpu)
        return 0; /* the first GPU's places stand for the group */
    if (color & PTO_BY_CORE)
        return groups * class_cores(pricing, class);
    return class_core(pricing, class) == step->core_first ? groups : 0;
}

static void count_outflow(const pricing_t *pricing, const pto_stage_t *stage, int64_t k,
                          pto_outflow_t *outflow) {
    *outflow = (pto_outflow_t){0};
    for (int i = 0; i < stage->step_count; i++) {
        const pto_step_t *step = pto_plan_step(pricing->plan, stage->step_first + i);
        if (step->kind != PTO_STEP_SEND || by_peer(pricing, step))
            continue;
        for (int class = 0; class < pricing->class_count; class ++) {
            if (!class_acts(pricing, step, class, k))
                continue;
            int64_t core = class_core(pricing, class);
            int64_t distance = pto_expr_value(step->peers.first, k, core, 0);
            int64_t bytes = pto_class_slice_bytes(pricing->plan, &step->source, k, core, 0, distance);
            if (bytes == 0 && !step->even_empty)
                continue;
            const pto_traffic_t *traffic = pto_traffic_count(pricing->plan, step, k, core, pricing->traffic);
            pto_outflow_add(outflow, pricing->plan, step,
                            (double)(traffic->off_per_node * groups_per_node(pricing, step, class)),
                            (double)bytes);
        }
    }
}

/* --- the other steps ---------------------------------------------------------------------------------- */

/* All processes of a GPU that copy in the same stage and direction share its engine; `mine` is one of them.
 */
static int64_t engine_bytes(const pricing_t *pricing, const pto_stage_t *stage, pto_copy_kind_t kind,
                            int64_t k, int mine) {
    int64_t total_bytes = 0;
    for (int i = 0; i < stage->step_count; i++) {
        const pto_step_t *other = pto_plan_step(pricing->plan, stage->step_first + i);
        if (other->kind != PTO_STEP_COPY || pto_step_copy_kind(pricing->plan, other) != kind)
            continue;
        for (int class = 0; class < pricing->class_count; class ++) {
            int64_t core = class_core(pricing, class);
            if (class_engine(pricing, class) == class_engine(pricing, mine) &&
                class_acts(pricing, other, class, k))
                total_bytes += class_cores(pricing, class) *
                               pto_class_slice_bytes(pricing->plan, &other->source, k, core, 0, 0);
        }
    }
    return total_bytes;
}

/* `*queued` where the copy stands in its GPU's queue, which it leaves when the stage has ended. */
static pto_status_t charge_copy(pricing_t *pricing, const pto_stage_t *stage, const pto_step_t *step,
                                int64_t k, int class, pto_charge_t *charge, bool *queued) {
    pto_copy_kind_t kind = pto_step_copy_kind(pricing->plan, step);
    int64_t bytes = pto_class_slice_bytes(pricing->plan, &step->source, k, class_core(pricing, class), 0, 0);
    if (bytes == 0 || !pto_step_queues(pricing->plan, pricing->machine, step))
        return pto_charge_one_copy(charge, pricing->machine, kind, pto_step_is_pageable(pricing->plan, step),
                                   bytes, engine_bytes(pricing, stage, kind, k, class), pricing->err);
    *queued = true;
    int64_t core = class_core(pricing, class);
    pto_queued_copy_t copy = {kind, pto_step_is_strided(step, k, core), bytes,
                              bytes / pto_step_pieces(step, k, core)};
    if (!pto_copy_queue_enter(&class_engine(pricing, class)->queue, pricing->machine, copy, class,
                              &pricing->ledger[class], charge))
        pricing->out_of_memory = true;
    return PTO_OK;
}

/* The classes that a receive or a wait depends on: those of the peers' cores. */
static void peer_classes(const pricing_t *pricing, const pto_step_t *step, int class, int64_t k, int *first,
                         int *last) {
    pto_group_kind_t kind = pto_plan_group(pricing->plan, step->group)->kind;
    bool across_cores = pto_group_traits[kind].index & PTO_BY_CORE;
    *first = class;
    *last = class;
    if (pricing->places) {
        bool alone = pto_group_traits[kind].index == PTO_BY_NODE;
        *first = alone ? class : 0;
        *last = alone ? class : pricing->class_count - 1;
    } else if (pto_group_is_on_gpu(kind)) {
        *first = class_of(pricing, pto_expr_value(step->peers.first, k, 0, 0));
        *last = class_of(pricing, pto_expr_value(step->peers.until, k, 0, 0) - 1);
    } else if (across_cores) {
        *first = class_of(pricing, step->core_first);
        *last = class_of(pricing, step->core_first + step->core_count - 1);
    }
}

/* --- stages ------------------------------------------------------------------------------------------- */

static pto_reduction_t reduction_of(const pricing_t *pricing, const pto_step_t *step, int64_t k,
                                    int64_t core) {
    pto_reduction_t reduction = {pto_class_slice_bytes(pricing->plan, &step->target, k, core, 0, 0),
                                 pto_class_slice_bytes(pricing->plan, &step->source, k, core, 0, 0)};
    if (step->fresh)
        reduction.bytes -= reduction.input_bytes;
    return reduction;
}

static pto_ledger_t *raised_at(const pricing_t *pricing, int flag, int64_t class) {
    return &pricing->raised[pricing->places ? flag * pricing->class_count + class : flag];
}

/* At a place a flag is raised for each peer. */
static void raise_flag(pricing_t *pricing, const pto_step_t *step, pto_action_t *action,
                       const pto_ledger_t *mine) {
    if (!action) {
        if (!pto_ledger_follow(raised_at(pricing, step->flag, 0), mine, pricing->explain))
            pricing->out_of_memory = true;
        return;
    }
    int64_t peers = pto_step_peer_count(pricing->plan, action);
    for (int64_t j = 0; j < peers; j++)
        if (pto_step_peer(pricing->plan, j, action) && action->peer_rank < pricing->class_count &&
            !pto_ledger_follow(raised_at(pricing, step->flag, action->peer_rank), mine, pricing->explain))
            pricing->out_of_memory = true;
}

/* What a stage costs one class while its steps are looked at. */
typedef struct {
    pto_charge_t out;
    pto_charge_t in;
    pto_charge_t other;
    bool queued; /* a copy of it stands in its GPU's queue */
} costs_t;

static pto_status_t charge_step(pricing_t *pricing, const pto_stage_t *stage, const pto_step_t *step,
                                int class, int64_t k, const pto_outflow_t *outflow, costs_t *costs) {
    int64_t core = class_core(pricing, class);
    pto_ledger_t *mine = &pricing->ledger[class];
    pto_action_t action;
    bool at_place = place_acts(pricing, step, class, k, &action);
    int first, last;
    switch (step->kind) {
    case PTO_STEP_SEND:
        return charge_messages(pricing, step, k, core, outflow, &costs->out);
    case PTO_STEP_RECV:
        peer_classes(pricing, step, class, k, &first, &last);
        for (int peer = first; peer <= last; peer++)
            if (!pto_ledger_follow(mine, &pricing->before[peer], pricing->explain))
                pricing->out_of_memory = true;
        return charge_messages(pricing, step, k, core, outflow, &costs->in);
    case PTO_STEP_COPY:
        return at_place ? pto_copies_charge(pricing->plan, pricing->machine, &action, pricing->engine, mine,
                                            &costs->other, &costs->queued, pricing->err)
                        : charge_copy(pricing, stage, step, k, class, &costs->other, &costs->queued);
    case PTO_STEP_REDUCE:
        if (at_place)
            pto_reduction_charge(pricing->plan, pricing->machine, &action, &costs->other);
        else
            pto_charge_reduce(&costs->other, pricing->machine,
                              pto_plan_buffer(pricing->plan, step->target.buffer)->space,
                              reduction_of(pricing, step, k, core));
        return PTO_OK;
    case PTO_STEP_SIGNAL:
        raise_flag(pricing, step, at_place ? &action : NULL, mine);
        return PTO_OK;
    case PTO_STEP_WAIT:
        if (!pto_ledger_follow(mine, raised_at(pricing, step->flag, class), pricing->explain))
            pricing->out_of_memory = true;
        pto_charge_wait(&costs->other, pricing->machine, step);
        return PTO_OK;
    case PTO_STEP_LAUNCH:
        pto_charge_launch(&costs->other, pricing->machine);
        return PTO_OK;
    case PTO_STEP_COUNT:
        break;
    }
    return PTO_OK;
}

/* What the stage costs one class, added to its ledger. */
static pto_status_t price_class(pricing_t *pricing, const pto_stage_t *stage, int class, int64_t k,
                                const pto_outflow_t *outflow) {
    pto_ledger_t *mine = &pricing->ledger[class];
    costs_t costs;
    costs.queued = false;
    pto_charge_begin(&costs.out, stage->name, pricing->explain);
    pto_charge_begin(&costs.in, stage->name, pricing->explain);
    pto_charge_begin(&costs.other, stage->name, pricing->explain);
    costs.out.at_once = stage->order == PTO_ORDER_AT_ONCE;
    costs.in.at_once = costs.out.at_once;
    for (int i = 0; i < stage->step_count; i++) {
        const pto_step_t *step = pto_plan_step(pricing->plan, stage->step_first + i);
        pto_status_t status = PTO_OK;
        if (class_acts(pricing, step, class, k))
            status = charge_step(pricing, stage, step, class, k, outflow, &costs);
        if (status != PTO_OK)
            return status;
    }
    double out_s = pto_charge_seconds(&costs.out, pricing->machine, outflow);
    double in_s = pto_charge_seconds(&costs.in, pricing->machine, outflow);
    pto_charge_t *messages = out_s >= in_s ? &costs.out : &costs.in;
    pto_charge_settle(messages, pricing->machine, outflow);
    if (!pto_ledger_add(mine, messages, out_s >= in_s ? out_s : in_s) ||
        !pto_ledger_add(mine, &costs.other, pto_charge_seconds(&costs.other, pricing->machine, outflow)) ||
        (costs.queued &&
         !pto_copy_queue_leave(&class_engine(pricing, class)->queue, class, mine, pricing->explain)))
        pricing->out_of_memory = true;
    return PTO_OK;
}

static bool class_waits(const pricing_t *pricing, const pto_stage_t *stage, int class, int64_t k) {
    for (int i = 0; i < stage->step_count; i++) {
        const pto_step_t *step = pto_plan_step(pricing->plan, stage->step_first + i);
        if (step->kind == PTO_STEP_WAIT && class_acts(pricing, step, class, k))
            return true;
    }
    return false;
}

static void remember(pricing_t *pricing, pto_ledger_t *copies) {
    for (int class = 0; class < pricing->class_count; class ++) {
        copies[class].seconds = -1;
        if (!pto_ledger_follow(&copies[class], &pricing->ledger[class], pricing->explain))
            pricing->out_of_memory = true;
    }
}

/* The classes in the order in which they come to a stage, which is that of their copies. */
static void sort_by_arrival(pricing_t *pricing) {
    for (int i = 0; i < pricing->class_count; i++) {
        int at = i;
        for (; at > 0; at--) {
            if (pricing->before[pricing->order[at - 1]].seconds <= pricing->before[i].seconds)
                break;
            pricing->order[at] = pricing->order[at - 1];
        }
        pricing->order[at] = i;
    }
}

static void count_copies(pricing_t *pricing, const pto_stage_t *stage, int64_t k) {
    for (int gpu = 0; gpu < pricing->engine_count; gpu++)
        pto_copies_begin(&pricing->engine[gpu]);
    for (int i = 0; i < stage->step_count; i++) {
        const pto_step_t *step = pto_plan_step(pricing->plan, stage->step_first + i);
        pto_action_t action;
        for (int class = 0; class < pricing->class_count && step->kind == PTO_STEP_COPY; class ++)
            if (place_acts(pricing, step, class, k, &action))
                pto_copies_count(pricing->plan, &action, pricing->engine);
    }
}

/* Those who only signal go first, so that those who wait find the flag raised. */
static pto_status_t price_stage(pricing_t *pricing, const pto_stage_t *stage, int64_t k) {
    pto_outflow_t outflow;
    count_outflow(pricing, stage, k, &outflow);
    count_copies(pricing, stage, k);
    remember(pricing, pricing->before);
    sort_by_arrival(pricing);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < pricing->class_count; i++) {
            int class = pricing->order[i];
            if (class_waits(pricing, stage, class, k) != (pass == 1))
                continue;
            pto_status_t status = price_class(pricing, stage, class, k, &outflow);
            if (status != PTO_OK)
                return status;
        }
    return PTO_OK;
}

/* --- loops -------------------------------------------------------------------------------------------- */

static pto_status_t price_body(pricing_t *pricing, int first, int count, int64_t k);

/* Iterations [uniform_from, uniform_to) of a loop that cost the same, taken `period` at a time. */
typedef struct {
    int64_t uniform_from;
    int64_t uniform_to;
    int64_t period;
} repeat_t;

/* Rounds in which a shift of k takes every message off the node; with no such shift all rounds are alike. */
static repeat_t find_repeat(const pto_plan_t *plan, const pto_node_t *loop, int body) {
    repeat_t repeat = {loop->from, loop->power ? loop->from : loop->to, 1};
    for (int i = body; i < body + loop->span; i++) {
        const pto_node_t *node = pto_plan_node(plan, i);
        const pto_stage_t *stage = pto_plan_stage(plan, node->stage);
        for (int s = 0; s < stage->step_count; s++) {
            const pto_step_t *step = pto_plan_step(plan, stage->step_first + s);
            const pto_group_t *group = pto_plan_group(plan, step->group);
            if (step->peers.kind != PTO_PEERS_SHIFT || step->peers.first.loop == 0)
                continue;
            const pto_buffer_t *buffer = pto_plan_buffer(plan, pto_message_slice(step)->buffer);
            if (buffer->dealt != PTO_DEAL_NONE)
                repeat.period = buffer->deal;
            if (repeat.uniform_from < group->members_per_node)
                repeat.uniform_from = group->members_per_node;
            if (repeat.uniform_to > group->size - group->members_per_node + 1)
                repeat.uniform_to = group->size - group->members_per_node + 1;
        }
    }
    return repeat;
}

static pto_status_t price_rounds(pricing_t *pricing, int body, int count, int64_t from, int64_t to) {
    pto_status_t status = PTO_OK;
    for (int64_t k = from; k < to && status == PTO_OK; k++)
        status = price_body(pricing, body, count, k);
    return status;
}

/* Two periods one by one, the second measured; then as many more as there are, at once. */
static pto_status_t price_loop(pricing_t *pricing, int index) {
    const pto_node_t *loop = pto_plan_node(pricing->plan, index);
    int body = index + 1;
    repeat_t repeat = find_repeat(pricing->plan, loop, body);
    int64_t measured = repeat.uniform_from + 2 * repeat.period;
    int64_t more = (repeat.uniform_to - measured) / repeat.period;
    if (more <= 0)
        return price_rounds(pricing, body, loop->span, loop->from, loop->to);
    pto_status_t status =
        price_rounds(pricing, body, loop->span, loop->from, repeat.uniform_from + repeat.period);
    remember(pricing, pricing->snapshot);
    if (status == PTO_OK)
        status = price_rounds(pricing, body, loop->span, repeat.uniform_from + repeat.period, measured);
    for (int class = 0; class < pricing->class_count; class ++)
        pto_ledger_repeat(&pricing->ledger[class], &pricing->snapshot[class], (double)more);
    if (status == PTO_OK)
        status = price_rounds(pricing, body, loop->span, measured + more * repeat.period, loop->to);
    return status;
}

/* All who take part end at one time, which counts from when the last has come. */
static pto_status_t price_nccl(pricing_t *pricing, const pto_node_t *node) {
    pto_charge_t charge;
    pto_charge_begin(&charge, pto_nccl_stage, pricing->explain);
    pto_status_t status = pto_charge_nccl(&charge, pricing->machine, pricing->plan, node, pricing->err);
    remember(pricing, pricing->before);
    for (int class = 0; class < pricing->class_count && status == PTO_OK; class ++) {
        pto_ledger_t *mine = &pricing->ledger[class];
        if (!pto_nccl_takes_core(node, class_core(pricing, class)))
            continue;
        for (int other = 0; other < pricing->class_count; other++)
            if (pto_nccl_takes_core(node, class_core(pricing, other)) &&
                !pto_ledger_follow(mine, &pricing->before[other], pricing->explain))
                pricing->out_of_memory = true;
        if (!pto_ledger_add(mine, &charge, charge.other_s))
            pricing->out_of_memory = true;
    }
    return status;
}

static pto_status_t price_body(pricing_t *pricing, int first, int count, int64_t k) {
    pto_status_t status = PTO_OK;
    for (int i = first; i < first + count && status == PTO_OK; i++) {
        const pto_node_t *node = pto_plan_node(pricing->plan, i);
        if (node->kind == PTO_NODE_STAGE) {
            status = price_stage(pricing, pto_plan_stage(pricing->plan, node->stage), k);
        } else if (node->kind == PTO_NODE_LOOP) {
            status = price_loop(pricing, i);
            i += node->span;
        } else if (node->by == PTO_DONE_BY_NCCL) {
            status = price_nccl(pricing, node);
            i += node->span;
        }
    }
    return status;
}

/* --- the price ---------------------------------------------------------------------------------------- */

static size_t ledger_count(const pricing_t *pricing) {
    size_t classes = (size_t)pricing->class_count;
    return 3 * classes + (size_t)pricing->plan->flags.count * (pricing->places ? classes : 1);
}

static bool allocate(pricing_t *pricing) {
    if (!find_classes(pricing))
        return false;
    size_t classes = (size_t)pricing->class_count;
    pricing->ledger = calloc(ledger_count(pricing), sizeof *pricing->ledger);
    pricing->order = calloc(classes, sizeof *pricing->order);
    if (!pricing->ledger || !pricing->order)
        return false;
    pricing->before = pricing->ledger + classes;
    pricing->snapshot = pricing->before + classes;
    pricing->raised = pricing->snapshot + classes;
    return true;
}

static void release(pricing_t *pricing) {
    for (size_t i = 0; pricing->ledger && i < ledger_count(pricing); i++)
        pto_ledger_fini(&pricing->ledger[i]);
    for (int gpu = 0; pricing->engine && gpu < pricing->engine_count; gpu++)
        pto_copy_queue_fini(&pricing->engine[gpu].queue);
    free(pricing->engine);
    free(pricing->ledger);
    free(pricing->order);
    free(pricing->class_first);
}

pto_status_t pto_price(const pto_plan_t *plan, const pto_machine_t *machine, pto_price_t *price,
                       pto_explanation_t *explanation, pto_error_t *err) {
    if (pto_plan_has_tables(plan))
        return pto_price_walk(plan, machine, price, explanation, err);
    pto_status_t status = pto_price_check_size(plan, err);
    if (status != PTO_OK)
        return status;
    pto_traffic_cache_t traffic;
    traffic.count = 0;
    traffic.next = 0;
    pricing_t pricing = {
        .plan = plan, .machine = machine, .explain = explanation != NULL, .traffic = &traffic, .err = err};
    pricing.out_of_memory = !allocate(&pricing);
    if (!pricing.out_of_memory)
        status = price_body(&pricing, 0, pto_plan_node_count(plan), 0);
    if (pricing.out_of_memory)
        status = pto_error_set(err, PTO_ERR_MEMORY, "out of memory while pricing");
    if (status == PTO_OK) {
        assert(pricing.ledger); /* else memory was out */
        int slowest = 0;
        for (int class = 1; class < pricing.class_count; class ++)
            if (pricing.ledger[class].seconds > pricing.ledger[slowest].seconds)
                slowest = class;
        status = pto_ledger_report(&pricing.ledger[slowest], machine, price, explanation, err);
    }
    release(&pricing);
    return status;
}

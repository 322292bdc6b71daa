/* Pricing rank by rank: for plans whose byte counts are a table, where no two ranks are alike, and to check
 * the pricing by class. The same terms, one ledger a rank. */
#include "portolan/price.h"

#include <stdlib.h>

#include "plan/plan_internal.h"
#include "price/copies.h"
#include "price/nccl.h"

typedef struct {
    const pto_plan_t *plan;
    const pto_machine_t *machine;
    bool explain;
    int64_t rank_count;
    pto_rank_t *place;    /* one a rank */
    pto_ledger_t *ledger; /* one a rank, and where they stood before the stage */
    pto_ledger_t *before;
    pto_ledger_t *raised; /* one a flag and rank that waits for it */
    int64_t gpu_count;
    pto_outflow_t *outflow; /* one a node */
    pto_copies_t *engine;   /* one a GPU */
    int64_t *order;         /* ranks as they come to a stage */
    bool out_of_memory;
    pto_error_t *err;
} walk_t;

static int64_t gpu_of(const walk_t *walk, int64_t rank) {
    return rank / walk->plan->request.layout.cores_per_gpu;
}

static pto_level_t level_between(const walk_t *walk, int64_t a, int64_t b) {
    return pto_layout_level(&walk->plan->request.layout, walk->place[a], walk->place[b]);
}

/* --- what a stage asks of nodes and copy engines ------------------------------------------------------- */

/* The messages of one rank's step: what it sends or receives, of whose buffer. */
typedef struct {
    const pto_slice_t *slice;
    pto_held_t held;
    bool peers_block;
} messages_t;

static messages_t messages_of(const pto_plan_t *plan, const pto_action_t *action) {
    const pto_slice_t *slice = pto_message_slice(action->step);
    return (messages_t){.slice = slice,
                        .held = pto_held_by(plan, slice->buffer, pto_slice_holder(plan, slice, action)),
                        .peers_block = pto_slice_is_peers_block(slice)};
}

static int64_t message_bytes(messages_t *messages, const pto_action_t *action) {
    return messages->peers_block && action->peer < messages->held.buffer->block_count
               ? pto_held_block_bytes(&messages->held, action->peer)
               : pto_held_slice_bytes(messages->slice, action, &messages->held);
}

static void count_sends(walk_t *walk, pto_action_t *action, pto_outflow_t *outflow) {
    int64_t peers = pto_step_peer_count(walk->plan, action);
    messages_t messages = messages_of(walk->plan, action);
    for (int64_t j = 0; j < peers; j++) {
        if (!pto_step_peer(walk->plan, j, action) ||
            walk->place[action->rank].node == walk->place[action->peer_rank].node)
            continue;
        int64_t bytes = message_bytes(&messages, action);
        if (bytes > 0 || action->step->even_empty)
            pto_outflow_add(outflow, walk->plan, action->step, 1, (double)bytes);
    }
}

static void count_demand(walk_t *walk, const pto_stage_t *stage, int64_t k) {
    const pto_layout_t *layout = &walk->plan->request.layout;
    for (int64_t node = 0; node < layout->nodes; node++)
        walk->outflow[node] = (pto_outflow_t){0};
    for (int64_t gpu = 0; gpu < walk->gpu_count; gpu++)
        pto_copies_begin(&walk->engine[gpu]);
    for (int i = 0; i < stage->step_count; i++) {
        const pto_step_t *step = pto_plan_step(walk->plan, stage->step_first + i);
        for (int64_t rank = 0; rank < walk->rank_count; rank++) {
            pto_action_t action;
            if (!pto_step_acts(walk->plan, step, rank, k, &action))
                continue;
            if (step->kind == PTO_STEP_SEND)
                count_sends(walk, &action, &walk->outflow[walk->place[rank].node]);
            if (step->kind == PTO_STEP_COPY)
                pto_copies_count(walk->plan, &action, walk->engine);
        }
    }
}

/* --- one rank's stage --------------------------------------------------------------------------------- */

static pto_status_t charge_messages(walk_t *walk, pto_action_t *action, pto_charge_t *charge) {
    messages_t messages = messages_of(walk->plan, action);
    pto_space_t space = messages.held.buffer->space;
    int64_t peers = pto_step_peer_count(walk->plan, action);
    for (int64_t j = 0; j < peers; j++) {
        if (!pto_step_peer(walk->plan, j, action))
            continue;
        int64_t bytes = message_bytes(&messages, action);
        if (bytes == 0 && !action->step->even_empty)
            continue;
        pto_status_t status =
            pto_charge_messages(charge, walk->machine, space,
                                level_between(walk, action->rank, action->peer_rank), bytes, 1, walk->err);
        if (status != PTO_OK)
            return status;
        if (action->step->kind == PTO_STEP_RECV &&
            !pto_ledger_follow(&walk->ledger[action->rank], &walk->before[action->peer_rank], walk->explain))
            walk->out_of_memory = true;
    }
    return PTO_OK;
}

/* Raise the flag at all its peers, at the time where the rank stands. */
static void raise_flags(walk_t *walk, pto_action_t *action) {
    int64_t peers = pto_step_peer_count(walk->plan, action);
    for (int64_t j = 0; j < peers; j++)
        if (pto_step_peer(walk->plan, j, action) &&
            !pto_ledger_follow(&walk->raised[action->step->flag * walk->rank_count + action->peer_rank],
                               &walk->ledger[action->rank], walk->explain))
            walk->out_of_memory = true;
}

static pto_status_t charge_step(walk_t *walk, pto_action_t *action, pto_charge_t *out, pto_charge_t *in,
                                pto_charge_t *other, bool *queued) {
    const pto_step_t *step = action->step;
    pto_ledger_t *mine = &walk->ledger[action->rank];
    switch (step->kind) {
    case PTO_STEP_SEND:
        return charge_messages(walk, action, out);
    case PTO_STEP_RECV:
        return charge_messages(walk, action, in);
    case PTO_STEP_COPY:
        return pto_copies_charge(walk->plan, walk->machine, action, walk->engine, mine, other, queued,
                                 walk->err);
    case PTO_STEP_REDUCE:
        pto_reduction_charge(walk->plan, walk->machine, action, other);
        return PTO_OK;
    case PTO_STEP_SIGNAL:
        raise_flags(walk, action);
        return PTO_OK;
    case PTO_STEP_WAIT:
        if (pto_step_peer_count(walk->plan, action) == 0)
            return PTO_OK;
        if (!pto_ledger_follow(mine, &walk->raised[step->flag * walk->rank_count + action->rank],
                               walk->explain))
            walk->out_of_memory = true;
        pto_charge_wait(other, walk->machine, step);
        return PTO_OK;
    case PTO_STEP_LAUNCH:
        pto_charge_launch(other, walk->machine);
        return PTO_OK;
    case PTO_STEP_COUNT:
        break;
    }
    return PTO_OK;
}

static pto_status_t price_rank(walk_t *walk, const pto_stage_t *stage, int64_t rank, int64_t k) {
    pto_charge_t out, in, other;
    bool queued = false;
    pto_charge_begin(&out, stage->name, walk->explain);
    pto_charge_begin(&in, stage->name, walk->explain);
    pto_charge_begin(&other, stage->name, walk->explain);
    out.at_once = stage->order == PTO_ORDER_AT_ONCE;
    in.at_once = out.at_once;
    for (int i = 0; i < stage->step_count; i++) {
        pto_action_t action;
        if (!pto_step_acts(walk->plan, pto_plan_step(walk->plan, stage->step_first + i), rank, k, &action))
            continue;
        pto_status_t status = charge_step(walk, &action, &out, &in, &other, &queued);
        if (status != PTO_OK)
            return status;
    }
    const pto_outflow_t *outflow = &walk->outflow[walk->place[rank].node];
    double out_s = pto_charge_seconds(&out, walk->machine, outflow);
    double in_s = pto_charge_seconds(&in, walk->machine, outflow);
    pto_charge_t *messages = out_s >= in_s ? &out : &in;
    pto_charge_settle(messages, walk->machine, outflow);
    if (!pto_ledger_add(&walk->ledger[rank], messages, out_s >= in_s ? out_s : in_s) ||
        !pto_ledger_add(&walk->ledger[rank], &other, pto_charge_seconds(&other, walk->machine, outflow)) ||
        (queued && !pto_copy_queue_leave(&walk->engine[gpu_of(walk, rank)].queue, rank, &walk->ledger[rank],
                                         walk->explain)))
        walk->out_of_memory = true;
    return PTO_OK;
}

static bool rank_waits(const walk_t *walk, const pto_stage_t *stage, int64_t rank, int64_t k) {
    for (int i = 0; i < stage->step_count; i++) {
        const pto_step_t *step = pto_plan_step(walk->plan, stage->step_first + i);
        pto_action_t action;
        if (step->kind == PTO_STEP_WAIT && pto_step_acts(walk->plan, step, rank, k, &action))
            return true;
    }
    return false;
}

/* The ranks of each GPU in the order in which they come to a stage, which is that of their copies. */
static void sort_by_arrival(walk_t *walk) {
    int64_t cores = walk->plan->request.layout.cores_per_gpu;
    for (int64_t i = 0; i < walk->rank_count; i++) {
        int64_t at = i;
        for (; at % cores > 0; at--) {
            if (walk->before[walk->order[at - 1]].seconds <= walk->before[i].seconds)
                break;
            walk->order[at] = walk->order[at - 1];
        }
        walk->order[at] = i;
    }
}

static pto_status_t price_stage(walk_t *walk, const pto_stage_t *stage, int64_t k) {
    count_demand(walk, stage, k);
    for (int64_t rank = 0; rank < walk->rank_count; rank++) {
        walk->before[rank].seconds = -1;
        if (!pto_ledger_follow(&walk->before[rank], &walk->ledger[rank], walk->explain))
            walk->out_of_memory = true;
    }
    pto_status_t status = PTO_OK;
    sort_by_arrival(walk);
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < walk->rank_count && status == PTO_OK; i++)
            if (rank_waits(walk, stage, walk->order[i], k) == (pass == 1))
                status = price_rank(walk, stage, walk->order[i], k);
    return status;
}

/* All who take part end at one time, which counts from when the last has come. */
static pto_status_t price_nccl(walk_t *walk, const pto_node_t *node) {
    int64_t cores = walk->plan->request.layout.cores_per_gpu;
    pto_charge_t charge;
    pto_charge_begin(&charge, pto_nccl_stage, walk->explain);
    pto_status_t status = pto_charge_nccl(&charge, walk->machine, walk->plan, node, walk->err);
    const pto_ledger_t *last = NULL;
    for (int64_t rank = 0; rank < walk->rank_count; rank++)
        if (pto_nccl_takes_core(node, rank % cores) && (!last || walk->ledger[rank].seconds > last->seconds))
            last = &walk->ledger[rank];
    walk->before[0].seconds = -1;
    if (!last || !pto_ledger_follow(&walk->before[0], last, walk->explain))
        walk->out_of_memory = true;
    for (int64_t rank = 0; rank < walk->rank_count && status == PTO_OK; rank++)
        if (pto_nccl_takes_core(node, rank % cores) &&
            (!pto_ledger_follow(&walk->ledger[rank], &walk->before[0], walk->explain) ||
             !pto_ledger_add(&walk->ledger[rank], &charge, charge.other_s)))
            walk->out_of_memory = true;
    return status;
}

/* --- the price ---------------------------------------------------------------------------------------- */

static size_t ledger_count(const walk_t *walk) {
    return 2 * (size_t)walk->rank_count + (size_t)walk->plan->flags.count * (size_t)walk->rank_count;
}

static bool allocate(walk_t *walk) {
    const pto_layout_t *layout = &walk->plan->request.layout;
    walk->gpu_count = layout->nodes * layout->gpus_per_node;
    walk->ledger = calloc(ledger_count(walk), sizeof *walk->ledger);
    walk->outflow = malloc((size_t)layout->nodes * sizeof *walk->outflow);
    walk->engine = calloc((size_t)walk->gpu_count, sizeof *walk->engine);
    walk->order = malloc((size_t)walk->rank_count * sizeof *walk->order);
    walk->place = malloc((size_t)walk->rank_count * sizeof *walk->place);
    if (!walk->ledger || !walk->outflow || !walk->engine || !walk->order || !walk->place)
        return false;
    for (int64_t rank = 0; rank < walk->rank_count; rank++)
        walk->place[rank] = pto_layout_rank(layout, rank);
    walk->before = walk->ledger + walk->rank_count;
    walk->raised = walk->before + walk->rank_count;
    return true;
}

static void release(walk_t *walk) {
    for (size_t i = 0; walk->ledger && i < ledger_count(walk); i++)
        pto_ledger_fini(&walk->ledger[i]);
    free(walk->ledger);
    for (int64_t gpu = 0; walk->engine && gpu < walk->gpu_count; gpu++)
        pto_copy_queue_fini(&walk->engine[gpu].queue);
    free(walk->outflow);
    free(walk->engine);
    free(walk->order);
    free(walk->place);
}

pto_status_t pto_price_walk(const pto_plan_t *plan, const pto_machine_t *machine, pto_price_t *price,
                            pto_explanation_t *explanation, pto_error_t *err) {
    walk_t walk = {.plan = plan,
                   .machine = machine,
                   .explain = explanation != NULL,
                   .rank_count = pto_layout_rank_count(&plan->request.layout),
                   .err = err};
    pto_status_t status = pto_price_walk_check_size(plan, err);
    if (status != PTO_OK)
        return status;
    walk.out_of_memory = !allocate(&walk);
    pto_walk_t stages;
    pto_walk_begin(&stages, plan);
    while (!walk.out_of_memory && status == PTO_OK && pto_walk_next(&stages)) {
        bool nccl = pto_walk_in_nccl(&stages);
        status = nccl ? price_nccl(&walk, pto_plan_node(plan, stages.collective))
                      : price_stage(&walk, stages.stage, stages.k);
        if (nccl)
            pto_walk_leave_collective(&stages);
    }
    if (walk.out_of_memory)
        status = pto_error_set(err, PTO_ERR_MEMORY, "out of memory while pricing");
    if (status == PTO_OK) {
        int64_t slowest = 0;
        for (int64_t rank = 1; rank < walk.rank_count; rank++)
            if (walk.ledger[rank].seconds > walk.ledger[slowest].seconds)
                slowest = rank;
        status = pto_ledger_report(&walk.ledger[slowest], machine, price, explanation, err);
    }
    release(&walk);
    return status;
}

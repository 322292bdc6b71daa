/* Copies and reductions of one rank, priced by whose memory they touch (docs/model.md, 'How a plan is
 * priced').
 */
#include "price/copies.h"

#include <stdlib.h>

#include "plan/plan_internal.h"

/* One copy of one rank. */
typedef struct {
    pto_copy_kind_t kind;
    int64_t bytes;
    int64_t gpu; /* the rank's own, whose engine copies */
    int64_t source_gpu;
    int64_t target_gpu;
    bool between_gpus;
} copy_t;

static copy_t copy_of(const pto_plan_t *plan, const pto_action_t *action) {
    const pto_step_t *step = action->step;
    int64_t cores = plan->request.layout.cores_per_gpu;
    copy_t copy = {.kind = pto_step_copy_kind(plan, step),
                   .bytes = pto_slice_bytes(plan, &step->source, action),
                   .gpu = action->rank / cores,
                   .source_gpu = pto_slice_holder(plan, &step->source, action) / cores,
                   .target_gpu = pto_slice_holder(plan, &step->target, action) / cores};
    copy.between_gpus = copy.kind == PTO_COPY_D2D && copy.source_gpu != copy.target_gpu;
    return copy;
}

void pto_copies_begin(pto_copies_t *engine) {
    for (int kind = 0; kind < PTO_COPY_COUNT; kind++)
        engine->bytes[kind] = 0;
    engine->in_bytes = 0;
    engine->out_bytes = 0;
}

static void count_one(const pto_plan_t *plan, const pto_action_t *action, pto_copies_t *engine) {
    copy_t copy = copy_of(plan, action);
    if (!copy.between_gpus) {
        engine[copy.gpu].bytes[copy.kind] += copy.bytes;
        return;
    }
    engine[copy.source_gpu].out_bytes += copy.bytes;
    engine[copy.target_gpu].in_bytes += copy.bytes;
}

void pto_copies_count(const pto_plan_t *plan, pto_action_t *action, pto_copies_t *engine) {
    if (action->step->peers.kind == PTO_PEERS_NONE)
        count_one(plan, action, engine);
    int64_t peers = pto_step_peer_count(plan, action);
    for (int64_t j = 0; j < peers; j++)
        if (pto_step_peer(plan, j, action))
            count_one(plan, action, engine);
}

/* What copies are charged with and to. */
typedef struct {
    const pto_plan_t *plan;
    const pto_machine_t *machine;
    pto_copies_t *engine;
    pto_ledger_t *mine;
    pto_charge_t *charge;
    bool queued;
    pto_error_t *err;
} charging_t;

static pto_status_t charge_between(const charging_t *to, const copy_t *copy) {
    const pto_layout_t *layout = &to->plan->request.layout;
    pto_level_t level =
        pto_layout_level(layout, pto_layout_rank(layout, copy->source_gpu * layout->cores_per_gpu),
                         pto_layout_rank(layout, copy->target_gpu * layout->cores_per_gpu));
    pto_reach_t reach = level == PTO_LEVEL_ON_SOCKET ? PTO_REACH_ON_SOCKET : PTO_REACH_OFF_SOCKET;
    int64_t out_bytes = to->engine[copy->source_gpu].out_bytes;
    int64_t in_bytes = to->engine[copy->target_gpu].in_bytes;
    return pto_charge_peer_copy(to->charge, to->machine, reach, copy->bytes,
                                out_bytes > in_bytes ? out_bytes : in_bytes, to->err);
}

/* Between processes that share memory the copy is all there is, so its price must be known. */
static pto_status_t charge_one(charging_t *to, const pto_action_t *action) {
    const pto_step_t *step = action->step;
    copy_t copy = copy_of(to->plan, action);
    bool shared = step->source.holder == PTO_HOLDER_PEER || step->target.holder == PTO_HOLDER_PEER;
    bool pageable = pto_step_is_pageable(to->plan, step);
    if (copy.between_gpus)
        return charge_between(to, &copy);
    if (shared && copy.kind == PTO_COPY_D2D &&
        !pto_postal_known(&to->machine->copies[PTO_COPY_D2D][PTO_REACH_ON_SOCKET]))
        return pto_error_set_at(to->err, PTO_ERR_NOT_APPLICABLE, to->machine->path, 0, 0,
                                "machine %s has no copies.d2d.on_socket, which the plan needs",
                                to->machine->name);
    bool queued_kind = pto_copy_is_queued(to->machine, copy.kind);
    if (shared && copy.kind == PTO_COPY_D2D && !queued_kind &&
        to->engine[copy.gpu].bytes[copy.kind] > copy.bytes)
        pto_charge_unshared(to->charge, to->machine, copy.kind);
    if (copy.bytes == 0 || pageable || !queued_kind)
        return pto_charge_one_copy(to->charge, to->machine, copy.kind, pageable, copy.bytes,
                                   to->engine[copy.gpu].bytes[copy.kind], to->err);
    to->queued = true;
    pto_queued_copy_t queued = {copy.kind, pto_step_is_strided(step, action->k, action->core), copy.bytes,
                                copy.bytes / pto_step_pieces(step, action->k, action->core)};
    if (!pto_copy_queue_enter(&to->engine[copy.gpu].queue, to->machine, queued, action->rank, to->mine,
                              to->charge))
        return pto_error_set(to->err, PTO_ERR_MEMORY, "out of memory while pricing");
    return PTO_OK;
}

pto_status_t pto_copies_charge(const pto_plan_t *plan, const pto_machine_t *machine, pto_action_t *action,
                               pto_copies_t *engine, pto_ledger_t *mine, pto_charge_t *charge, bool *queued,
                               pto_error_t *err) {
    if (action->step->in_kernel)
        return pto_kernel_copy_charge(plan, machine, action, engine, charge, err);
    charging_t to = {plan, machine, engine, mine, charge, *queued, err};
    pto_status_t status = PTO_OK;
    if (action->step->peers.kind == PTO_PEERS_NONE)
        status = charge_one(&to, action);
    int64_t peers = pto_step_peer_count(plan, action);
    for (int64_t j = 0; j < peers && status == PTO_OK; j++)
        if (pto_step_peer(plan, j, action))
            status = charge_one(&to, action);
    *queued = to.queued;
    return status;
}

void pto_reduction_charge_one(const pto_plan_t *plan, const pto_machine_t *machine,
                              const pto_action_t *action, pto_charge_t *charge) {
    const pto_step_t *step = action->step;
    pto_reduction_t reduction = {pto_slice_bytes(plan, &step->target, action),
                                 pto_slice_bytes(plan, &step->source, action)};
    if (step->fresh)
        reduction.bytes -= reduction.input_bytes;
    if (step->in_kernel)
        pto_charge_kernel_reduce(charge, machine, reduction);
    else
        pto_charge_reduce(charge, machine, pto_plan_buffer(plan, step->target.buffer)->space, reduction);
}

void pto_reduction_charge(const pto_plan_t *plan, const pto_machine_t *machine, pto_action_t *action,
                          pto_charge_t *charge) {
    if (action->step->peers.kind == PTO_PEERS_NONE)
        pto_reduction_charge_one(plan, machine, action, charge);
    int64_t peers = pto_step_peer_count(plan, action);
    for (int64_t j = 0; j < peers; j++)
        if (pto_step_peer(plan, j, action))
            pto_reduction_charge_one(plan, machine, action, charge);
}

/* --- the queue of a GPU --------------------------------------------------------------------------------- */

void pto_copy_queue_fini(pto_copy_queue_t *queue) {
    free(queue->held);
    pto_ledger_fini(&queue->last);
    *queue = (pto_copy_queue_t){0};
}

bool pto_copy_queue_enter(pto_copy_queue_t *queue, const pto_machine_t *machine, pto_queued_copy_t copy,
                          int64_t who, pto_ledger_t *mine, pto_charge_t *charge) {
    pto_charge_t alone = *charge;
    int64_t waiting = 0;
    for (int i = 0; i < queue->count; i++)
        waiting += queue->held[i].who != who && queue->held[i].until_s > mine->seconds;
    queue->hold_s = pto_copy_hold_s(machine, copy);
    pto_charge_queued(&alone, machine, copy, 0);
    if (waiting > 0) {
        pto_charge_t queued = *charge;
        pto_charge_queued(&queued, machine, copy, waiting);
        if (queue->last.seconds + queued.other_s > mine->seconds + alone.other_s) {
            *charge = queued;
            mine->seconds = -1; /* the path goes through the one before, who may have ended earlier */
            return pto_ledger_follow(mine, &queue->last, charge->explain);
        }
    }
    *charge = alone;
    return true;
}

bool pto_copy_queue_leave(pto_copy_queue_t *queue, int64_t who, const pto_ledger_t *mine, bool explain) {
    if (queue->count == queue->capacity) {
        int capacity = queue->capacity > 0 ? 2 * queue->capacity : 16;
        pto_held_copy_t *grown = realloc(queue->held, (size_t)capacity * sizeof *grown);
        if (!grown)
            return false;
        queue->held = grown;
        queue->capacity = capacity;
    }
    queue->held[queue->count++] = (pto_held_copy_t){who, mine->seconds + queue->hold_s};
    return pto_ledger_follow(&queue->last, mine, explain);
}

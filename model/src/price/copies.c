/* Copies and reductions (copies.h): what a copy costs depends on whose memory is at its two ends
 * (docs/model.md, 'How a plan is priced'). */
#include "price/copies.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "plan/plan_internal.h"

/* One copy of one rank. */
typedef struct {
    pto_copy_kind_t kind;
    pto_reach_t reach;
    int64_t bytes;
    int64_t gpu; /* of the rank, whose engine copies */
    int64_t source_gpu;
    int64_t target_gpu;
    bool between_gpus;
} copy_t;

pto_reach_t pto_copy_reach(const pto_plan_t *plan, const pto_action_t *action) {
    const pto_layout_t *layout = &plan->request.layout;
    int64_t source = pto_slice_holder(plan, &action->step->source, action);
    int64_t target = pto_slice_holder(plan, &action->step->target, action);
    pto_level_t level =
        pto_layout_level(layout, pto_layout_rank(layout, source), pto_layout_rank(layout, target));
    return level <= PTO_LEVEL_ON_SOCKET ? PTO_REACH_ON_SOCKET : PTO_REACH_OFF_SOCKET;
}

/* pto_copy_bytes, by the sums of a table where there is one. */
static int64_t copy_bytes(const pto_plan_t *plan, const pto_machine_t *machine, pto_tables_t *tables,
                          const pto_action_t *action) {
    if (!tables || pto_copy_joins_user_buffers(plan, action->step))
        return pto_copy_bytes(plan, action);
    return pto_tables_slice_bytes(tables, plan, machine, &action->step->source, action);
}

/* Returns a copy without its bytes. */
static copy_t ends_of(const pto_plan_t *plan, const pto_action_t *action) {
    const pto_step_t *step = action->step;
    int64_t cores = plan->request.layout.procs_per_gpu;
    copy_t copy = {.kind = pto_step_copy_kind(plan, step),
                   .reach = pto_copy_reach(plan, action),
                   .gpu = action->rank / cores,
                   .source_gpu = pto_slice_holder(plan, &step->source, action) / cores,
                   .target_gpu = pto_slice_holder(plan, &step->target, action) / cores};
    copy.between_gpus = copy.kind == PTO_COPY_D2D && copy.source_gpu != copy.target_gpu;
    return copy;
}

static copy_t copy_of(const pto_plan_t *plan, const pto_machine_t *machine, pto_tables_t *tables,
                      const pto_action_t *action) {
    copy_t copy = ends_of(plan, action);
    copy.bytes = copy_bytes(plan, machine, tables, action);
    return copy;
}

void pto_copies_begin(pto_copies_t *engine) {
    for (int kind = 0; kind < PTO_COPY_COUNT; kind++)
        engine->bytes[kind] = 0;
    engine->in_bytes = 0;
    engine->out_bytes = 0;
}

void pto_copy_count(const pto_plan_t *plan, const pto_machine_t *machine, pto_tables_t *tables,
                    const pto_action_t *action, int64_t only_gpu, pto_copies_t *engine) {
    copy_t copy = copy_of(plan, machine, tables, action);
    bool all = only_gpu == PTO_COPIES_ALL_GPUS;
    if (!copy.between_gpus && (all || copy.gpu == only_gpu))
        engine[copy.gpu].bytes[copy.kind] += copy.bytes;
    if (copy.between_gpus && (all || copy.source_gpu == only_gpu))
        engine[copy.source_gpu].out_bytes += copy.bytes;
    if (copy.between_gpus && (all || copy.target_gpu == only_gpu))
        engine[copy.target_gpu].in_bytes += copy.bytes;
}

void pto_copies_count(const pto_plan_t *plan, const pto_machine_t *machine, pto_tables_t *tables,
                      pto_action_t *action, int64_t only_gpu, pto_copies_t *engine) {
    if (pto_step_copy_kind(plan, action->step) == PTO_COPY_H2H) /* no engine carries it */
        return;
    for (int64_t next = 0; pto_step_next(plan, &next, action);)
        pto_copy_count(plan, machine, tables, action, only_gpu, engine);
}

/* All copies of a process between GPUs in one step. */
typedef struct {
    int64_t bytes;
    int64_t link_bytes; /* what the busiest of their links carries for all processes */
} between_t;

static between_t all_between(const pto_copying_t *copying, pto_action_t *action) {
    between_t all = {0};
    if (pto_step_copy_kind(copying->plan, action->step) != PTO_COPY_D2D)
        return all;
    for (int64_t next = 0; pto_step_next(copying->plan, &next, action);) {
        copy_t copy = copy_of(copying->plan, copying->machine, copying->tables, action);
        if (!copy.between_gpus || copy.bytes == 0)
            continue;
        int64_t out_bytes = pto_copying_engine(copying, copy.source_gpu)->out_bytes;
        int64_t in_bytes = pto_copying_engine(copying, copy.target_gpu)->in_bytes;
        int64_t link_bytes = out_bytes > in_bytes ? out_bytes : in_bytes;
        all.bytes += copy.bytes;
        all.link_bytes = link_bytes > all.link_bytes ? link_bytes : all.link_bytes;
    }
    return all;
}

/* Copies with several peers together take the time of the busiest link, each in proportion to its bytes. */
static pto_status_t charge_between(const pto_copying_t *copying, const copy_t *copy, between_t all) {
    int64_t link_bytes = all.link_bytes;
    if (copy->bytes < all.bytes)
        link_bytes = (int64_t)((double)link_bytes * ((double)copy->bytes / (double)all.bytes));
    return pto_charge_peer_copy(copying->charge, copying->machine, copy->reach, copying->behind, copy->bytes,
                                link_bytes, copying->err);
}

bool pto_step_streams(const pto_plan_t *plan, const pto_step_t *step) {
    return step->kind == PTO_STEP_COPY && !step->in_kernel && !pto_step_is_pageable(plan, step) &&
           pto_step_copy_kind(plan, step) != PTO_COPY_H2H;
}

bool pto_step_queues(const pto_plan_t *plan, const pto_machine_t *machine, const pto_step_t *step) {
    return step->kind == PTO_STEP_COPY && pto_copy_is_queued(machine, pto_step_copy_kind(plan, step));
}

pto_status_t pto_copy_charge(pto_copying_t *copying, const pto_action_t *action, pto_reach_t reach,
                             int64_t gpu, int64_t bytes) {
    const pto_step_t *step = action->step;
    pto_copy_kind_t kind = pto_step_copy_kind(copying->plan, step);
    if (bytes > 0)
        pto_charge_rows(copying->charge, copying->machine, kind, pto_step_rows(copying->plan, step));
    const pto_one_copy_t copy = {.kind = kind,
                                 .reach = reach,
                                 .behind = copying->behind,
                                 .pageable = pto_step_is_pageable(copying->plan, step),
                                 .strided = pto_step_is_strided(step, action->k, action->core),
                                 .bytes = bytes,
                                 .piece_bytes = bytes / pto_step_pieces(step, action->k, action->core)};
    if (bytes == 0 || !pto_step_queues(copying->plan, copying->machine, step))
        return pto_charge_one_copy(copying->charge, copying->machine, copy, copying->engine[gpu].bytes[kind],
                                   copying->err);
    pto_copy_resource_t resource = pto_copy_resource(copying->machine, copy);
    copying->queued |= 1u << resource;
    if (!pto_copy_queue_enter(&copying->engine[gpu].queue[resource], copying->machine, copy, action->rank,
                              copying->own, copying->charge))
        return pto_error_set(copying->err, PTO_ERR_MEMORY, "out of memory while pricing");
    return PTO_OK;
}

/* Checks that a copy in one memory whose ends belong to different processes has a cost: a plan may consist of
 * nothing else, so that without this cost it would be free. */
static pto_status_t check_shared(const pto_machine_t *machine, const pto_step_t *step, pto_copy_kind_t kind,
                                 pto_error_t *err) {
    bool shared = step->source.holder == PTO_HOLDER_PEER || step->target.holder == PTO_HOLDER_PEER;
    bool in_one_memory = kind == PTO_COPY_D2D || kind == PTO_COPY_H2H;
    if (!shared || !in_one_memory || pto_postal_known(&machine->copies[kind][PTO_REACH_ON_SOCKET]))
        return PTO_OK;
    return pto_error_set_at(err, PTO_ERR_NOT_APPLICABLE, machine->path, 0, 0,
                            "machine %s has no copies.%s.on_socket, which the plan needs", machine->name,
                            pto_copy_kind_name(kind));
}

static pto_status_t charge_one(pto_copying_t *copying, const pto_action_t *action, between_t all) {
    copy_t copy = copy_of(copying->plan, copying->machine, copying->tables, action);
    if (copy.between_gpus)
        return charge_between(copying, &copy, all);
    pto_status_t status = check_shared(copying->machine, action->step, copy.kind, copying->err);
    return status == PTO_OK ? pto_copy_charge(copying, action, copy.reach, copy.gpu, copy.bytes) : status;
}

pto_status_t pto_copies_check(const pto_plan_t *plan, const pto_machine_t *machine, pto_action_t *action,
                              pto_error_t *err) {
    pto_status_t status = PTO_OK;
    for (int64_t next = 0; status == PTO_OK && pto_step_next(plan, &next, action);) {
        copy_t copy = ends_of(plan, action);
        status = copy.between_gpus ? pto_find_peer_copy(machine, &copy.reach, err)
                                   : check_shared(machine, action->step, copy.kind, err);
        if (status != PTO_OK && pto_copy_bytes(plan, action) == 0)
            status = PTO_OK;
    }
    return status;
}

pto_status_t pto_copies_charge(pto_copying_t *copying, pto_action_t *action) {
    if (action->step->in_kernel)
        return pto_kernel_copy_charge(copying, action);
    const between_t all = all_between(copying, action);
    pto_status_t status = PTO_OK;
    for (int64_t next = 0; status == PTO_OK && pto_step_next(copying->plan, &next, action);) {
        pto_time_t before = copying->charge->other;
        status = charge_one(copying, action, all);
        if (copying->streams && pto_time_less(before, copying->charge->other))
            copying->behind = PTO_BEHIND_COPY;
    }
    return status;
}

void pto_step_charge_reduce(const pto_plan_t *plan, const pto_machine_t *machine, const pto_step_t *step,
                            int64_t target_bytes, int64_t source_bytes, pto_charge_t *charge) {
    pto_reduction_t reduction = {.input_bytes = target_bytes, .bytes = source_bytes};
    if (step->fresh)
        reduction.bytes -= reduction.input_bytes;
    if (step->in_kernel)
        pto_charge_kernel_reduce(charge, machine, reduction);
    else
        pto_charge_reduce(charge, machine, pto_plan_buffer(plan, step->target.buffer)->space, reduction);
}

void pto_reduction_charge(const pto_plan_t *plan, const pto_machine_t *machine, pto_action_t *action,
                          pto_charge_t *charge) {
    const pto_step_t *step = action->step;
    for (int64_t next = 0; pto_step_next(plan, &next, action);)
        pto_step_charge_reduce(plan, machine, step, pto_slice_bytes(plan, &step->target, action),
                               pto_slice_bytes(plan, &step->source, action), charge);
}

bool pto_copies_leave(pto_copies_t *engine, unsigned queued, int64_t actor, const pto_ledger_t *own) {
    bool kept = true;
    for (int resource = 0; resource < PTO_COPY_RESOURCE_COUNT; resource++)
        if (queued & 1u << resource)
            kept = pto_copy_queue_leave(&engine->queue[resource], actor, own) && kept;
    return kept;
}

void pto_copies_fini(pto_copies_t *engine) {
    for (int resource = 0; resource < PTO_COPY_RESOURCE_COUNT; resource++)
        pto_copy_queue_fini(&engine->queue[resource]);
}

void pto_copy_queue_fini(pto_copy_queue_t *queue) {
    free(queue->active);
    pto_ledger_fini(&queue->last);
    *queue = (pto_copy_queue_t){0};
}

bool pto_copy_queue_enter(pto_copy_queue_t *queue, const pto_machine_t *machine, pto_one_copy_t copy,
                          int64_t actor, pto_ledger_t *own, pto_charge_t *charge) {
    int64_t active = 0;
    for (int i = 0; i < queue->count; i++)
        active += queue->active[i].actor != actor && pto_time_less(own->time, queue->active[i].until);
    queue->hold = pto_copy_hold(machine, copy);
    pto_charge_t single = *charge, queued = *charge;
    single.terms = queued.terms = NULL;
    pto_charge_queued(&single, machine, copy, 0);
    if (active > 0)
        pto_charge_queued(&queued, machine, copy, active);
    bool delayed = active > 0 && pto_time_less(pto_time_add(own->time, single.other),
                                               pto_time_add(queue->last.time, queued.other));
    pto_charge_queued(charge, machine, copy, delayed ? active : 0);
    /* A delayed copy ends when the queue's last copy and its own addition have ended. So the longest path
     * goes through the last copy, even if that ended before the time of `own`. */
    return !delayed || pto_ledger_copy(own, &queue->last);
}

/* Removes an actor's earlier copy, so that none counts twice. Returns the time until which it was active, or
 * 0.
 */
static pto_time_t remove_active(pto_copy_queue_t *queue, int64_t actor) {
    int at = 0;
    while (at < queue->count && queue->active[at].actor != actor)
        at++;
    if (at == queue->count)
        return (pto_time_t){0};
    pto_time_t until = queue->active[at].until;
    memmove(&queue->active[at], &queue->active[at + 1],
            (size_t)(--queue->count - at) * sizeof *queue->active);
    return until;
}

bool pto_copy_queue_leave(pto_copy_queue_t *queue, int64_t actor, const pto_ledger_t *own) {
    pto_time_t until = pto_time_max(remove_active(queue, actor), pto_time_add(own->time, queue->hold));
    if (!PTO_RESERVE(queue->active, queue->capacity, queue->count + 1))
        return false;
    queue->active[queue->count++] = (pto_active_copy_t){actor, until};
    return pto_ledger_follow(&queue->last, own);
}

bool pto_copy_queue_shift(pto_copy_queue_t *queue, const pto_ledger_t *now, const pto_ledger_t *before,
                          double times) {
    for (int i = 0; i < queue->count; i++) {
        int64_t actor = queue->active[i].actor;
        queue->active[i].until =
            pto_time_add(queue->active[i].until,
                         pto_time_scale(pto_time_subtract(now[actor].time, before[actor].time), times));
    }
    int64_t last = queue->count > 0 ? queue->active[queue->count - 1].actor : 0;
    return queue->count == 0 || pto_ledger_shift(&queue->last, &now[last], &before[last], times);
}

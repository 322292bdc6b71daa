/* Copy engines: the copies that the processes of one GPU make at the same time. simulate.c begins and ends
 * copies here.
 *
 * If the machine file says how processes share a GPU's copies (`copies.shared`), the copies wait in a queue
 * for each resource of the GPU (pto_copy_resource), and each adds the cost that price charges for one more
 * copy. The end of a queued copy is known when it joins.
 *
 * Otherwise each direction is an engine that carries the bytes of all copies under way. A copy that starts or
 * ends changes the speed of all, so each copy stores its remaining work as a fraction. Let a copy take 4 s
 * alone and 8 s beside an equal one, which joins after 2 s: then 1/2 is left, so it ends 4 s later. Copies
 * that start together slow each other from the start: an engine's event comes after those set before it. */
#include <math.h>

#include "price/copies.h"
#include "simulate/simulate_internal.h"

/* Sets the time of a GPU's next event. */
static void set_event(pto_sim_t *sim, uint32_t gpu, double time_s) {
    pto_agenda_set(sim->job.agenda, sim->job.first_gpu_slot + gpu, time_s, false);
}

/* Returns the copy of the process that an engine's list holds as `number`, its number among all plans + 1;
 * NULL after the end of the list, which is 0. */
static pto_local_t *copy_of(const pto_sim_t *sim, uint32_t number) {
    return number > 0 ? &sim->all->local[number - 1] : NULL;
}

/* Returns the time that all bytes of a copy would take at the speed that its engine has now. */
static double whole_s(pto_sim_t *sim, const pto_engine_t *engine, const pto_local_t *local) {
    return engine->total_bytes == local->copy.bytes ? local->copy.alone_s
                                                    : pto_sim_copy_s(sim, local, engine->total_bytes);
}

/* Accounts for the bytes copied since the engine was last updated, at the speeds of that period. */
static void advance(pto_sim_t *sim, pto_engine_t *engine) {
    double dt_s = sim->now_s - engine->at_s;
    pto_local_t *local = dt_s > 0 ? copy_of(sim, engine->first) : NULL;
    for (; local; local = copy_of(sim, local->copy_next)) {
        double seconds = whole_s(sim, engine, local);
        local->copy_left -= seconds > 0 ? dt_s / seconds : local->copy_left;
    }
    engine->at_s = sim->now_s;
}

/* Adds a rank's copy to an engine. First accounts for the time in which it did not slow the others. */
static void join_engine(pto_sim_t *sim, pto_engine_t *engine, uint32_t rank) {
    pto_local_t *local = &sim->local[rank];
    if (!engine->first)
        engine->at_s = sim->now_s;
    if (engine->at_s < sim->now_s)
        advance(sim, engine);
    local->copy_left = 1;
    local->copy_next = engine->first;
    engine->first = sim->first_proc + rank + 1;
    uint32_t gpu = (uint32_t)local->copy.gpu;
    sim->job.in_use[gpu] |= (uint8_t)(1u << local->copy.engine);
    engine->total_bytes += local->copy.bytes;
    engine->next_s = sim->now_s;
    set_event(sim, gpu, sim->now_s);
}

/* Returns the address of a time. Until that time, other processes that copy at the resource must queue behind
 * this process of the job. */
static double *copy_held_s(const pto_sim_t *sim, int64_t process, pto_copy_resource_t resource) {
    return &sim->all->copy_held_s[process * PTO_COPY_RESOURCE_COUNT + (int64_t)resource];
}

/* Returns the number of other processes of the GPU whose copies at the resource a new copy of `own` must
 * await. */
static int64_t copies_waited_for(const pto_sim_t *sim, int64_t own, pto_copy_resource_t resource) {
    int64_t cores = sim->layout->procs_per_gpu, first = own / cores * cores, waiting = 0;
    for (int64_t other = first; other < first + cores; other++)
        waiting += other != own && pto_sim_before(sim->now_s, *copy_held_s(sim, other, resource));
    return waiting;
}

/* Adds a rank's copy to a queue of its GPU, as pto_copy_queue_enter does for prices. Later copies do not
 * change its end, which is therefore known now: when it would end alone or, if that is later, the end of the
 * queue and what a copy adds to it. In the second case, its turn comes at the end of the queue. */
static void join_queue(pto_sim_t *sim, uint32_t rank) {
    pto_local_t *local = &sim->local[rank];
    pto_one_copy_t copy = pto_sim_one_copy(local);
    pto_copy_resource_t resource = pto_copy_resource(sim->machine, copy);
    double *last_s =
        &sim->job.queue_end_s[pto_sim_gpu(sim, local->rank) * PTO_COPY_RESOURCE_COUNT + (int64_t)resource];
    int64_t own = pto_sim_place(sim, local->rank), waiting = copies_waited_for(sim, own, resource);
    double end_s = sim->now_s + local->copy.alone_s, turn_s = sim->now_s;
    double queued_end_s = waiting > 0 ? *last_s + pto_sim_queued_copy_s(sim, local, waiting) : end_s;
    if (queued_end_s > end_s) {
        turn_s = fmax(turn_s, *last_s);
        end_s = queued_end_s;
    }
    *last_s = end_s;
    double *held_s = copy_held_s(sim, own, resource);
    *held_s = fmax(*held_s, end_s + pto_copy_hold(sim->machine, copy).s);
    bool waits = sim->shared_links.count > 0 && turn_s > sim->now_s; /* its flow begins with its turn */
    local->copy_end_s = waits ? end_s : 0;
    pto_sim_set(sim, rank, PTO_SLOT_RUN, waits ? turn_s : end_s);
}

static pto_engine_t *engine_of(const pto_sim_t *sim, const pto_local_t *local) {
    return pto_engine_at(sim, local->copy.gpu, local->copy.engine);
}

/* Finds the GPU whose engine carries a copy. Between two GPUs, it is the link of the one that is not the
 * rank's own, which processes of other GPUs may use, too: a push uses the target's link inwards, a pull the
 * source's link outwards. */
static void find_engine(pto_sim_t *sim, const pto_action_t *action, pto_local_t *local) {
    const pto_step_t *step = action->step;
    int64_t own = pto_sim_gpu(sim, local->rank);
    int64_t source = pto_sim_gpu(sim, pto_slice_holder(sim->plan, &step->source, action));
    int64_t target = pto_sim_gpu(sim, pto_slice_holder(sim->plan, &step->target, action));
    bool pushes = target != own;
    local->copy.kind = pto_step_copy_kind(sim->plan, step);
    local->copy.between_gpus = local->copy.kind == PTO_COPY_D2D && source != target;
    local->copy.reach = pto_copy_reach(sim->plan, action);
    local->copy.gpu = (int32_t)own;
    local->copy.engine = (uint8_t)local->copy.kind;
    if (!local->copy.between_gpus)
        return;
    local->copy.gpu = (int32_t)(pushes ? target : source);
    local->copy.engine = pushes ? PTO_ENGINE_IN : PTO_ENGINE_OUT;
}

/* Puts a copy on the links of its node, with the action's current peer, unless it still waits in a queue. The
 * links are those between the ports of two GPUs, or of a GPU and its socket, and the host memory at its ends.
 */
static void begin_flow(pto_sim_t *sim, uint32_t rank, const pto_action_t *action, int64_t bytes) {
    pto_local_t *local = &sim->local[rank];
    local->copy_path = pto_copy_path(&sim->shared_links, sim->plan, action);
    if (local->copy_end_s == 0)
        local->copy_flows += pto_flow_begin(sim, PTO_LINK_ROUTES, PTO_FLOW_COPY, rank, local->copy_path,
                                            bytes, local->copy.alone_s);
}

bool pto_engine_begin_turn(pto_sim_t *sim, uint32_t rank) {
    pto_local_t *local = &sim->local[rank];
    double end_s = local->copy_end_s;
    if (end_s == 0)
        return false;
    local->copy_end_s = 0;
    local->copy_flows += pto_flow_begin(sim, PTO_LINK_ROUTES, PTO_FLOW_COPY, rank, local->copy_path,
                                        local->copy.bytes, end_s - sim->now_s);
    pto_sim_set(sim, rank, PTO_SLOT_RUN, end_s);
    return true;
}

/* Puts a kernel's accesses to all its peers on the links of its node, at once. */
static void begin_flows(pto_sim_t *sim, uint32_t rank, pto_action_t *action) {
    for (int64_t next = 0; sim->shared_links.count > 0 && pto_step_next(sim->plan, &next, action);)
        begin_flow(sim, rank, action, pto_slice_bytes(sim->plan, &action->step->source, action));
}

static void occupy(const pto_sim_t *sim, pto_engine_t *engine, int64_t bytes) {
    if (engine->active++ == 0) {
        engine->busy_since_s = sim->now_s;
        engine->busy_bytes = 0;
    }
    engine->busy_bytes += bytes;
}

/* Accesses to several GPUs use the link of the rank's own GPU; those to a single GPU use that GPU's link. A
 * store to a single GPU thus uses that GPU's link inwards; stores to several, the own GPU's link outwards. */
bool pto_engine_join_kernel(pto_sim_t *sim, pto_action_t *action) {
    uint32_t rank = (uint32_t)action->rank;
    pto_local_t *local = &sim->local[rank];
    pto_kernel_copy_t copy = pto_kernel_copy(sim->plan, action);
    double local_s = pto_sim_kernel_bytes_s(sim, copy.local_bytes);
    if (copy.remote_bytes == 0 && local_s > 0)
        pto_sim_set(sim, rank, PTO_SLOT_RUN, sim->now_s + local_s);
    if (copy.remote_bytes == 0)
        return local_s > 0;
    bool stores = copy.access.how == PTO_REMOTE_STORE, on_own_link = copy.peers > 1;
    bool leaves_gpu = on_own_link ? stores : !stores; /* data leave the GPU whose link it is */
    local->copy.kind = PTO_COPY_D2D;
    local->copy.between_gpus = true;
    local->copy.in_kernel = true;
    local->copy.queued = false;
    local->copy.how = copy.access.how;
    local->copy.reach = copy.access.reach;
    local->copy.most_bytes = copy.access.most_bytes;
    local->copy.bytes = copy.remote_bytes;
    int64_t rank_there = on_own_link ? local->rank : copy.other_gpu * sim->layout->procs_per_gpu;
    local->copy.gpu = (int32_t)pto_sim_gpu(sim, rank_there);
    local->copy.engine = leaves_gpu ? PTO_ENGINE_OUT : PTO_ENGINE_IN;
    occupy(sim, engine_of(sim, local), local->copy.bytes);
    local->copy.alone_s = pto_sim_copy_s(sim, local, local->copy.bytes);
    join_engine(sim, engine_of(sim, local), rank);
    begin_flows(sim, rank, action);
    return true;
}

void pto_engine_find_copy(pto_sim_t *sim, const pto_action_t *action, int64_t bytes, pto_local_t *local) {
    const pto_step_t *step = action->step;
    find_engine(sim, action, local);
    local->copy.in_kernel = false;
    local->copy.pageable = pto_step_is_pageable(sim->plan, step);
    int64_t core = action->core;
    local->copy.strided = pto_step_is_strided(step, 0, core);
    local->copy.pieces = pto_step_pieces(step, 0, core);
    local->copy.rows = pto_step_rows(sim->plan, step);
    local->copy.queued = !local->copy.between_gpus && pto_copy_is_queued(sim->machine, local->copy.kind);
    local->copy.bytes = bytes;
    local->copy.alone_s =
        local->copy.queued ? pto_sim_queued_copy_s(sim, local, 0) : pto_sim_copy_s(sim, local, bytes);
}

/* Finds a copy within a GPU: by the cache, if a process of this core has made one of these bytes before. */
static void find_copy_on_gpu(pto_sim_t *sim, const pto_action_t *action, int64_t bytes, pto_local_t *local) {
    uint64_t key = pto_sim_step_key(sim, action->step, action->core, local->behind);
    pto_known_copy_t *known = pto_sim_known_copy(sim, bytes, 0, key);
    if (!known->is_known) {
        pto_engine_find_copy(sim, action, bytes, local);
        known = pto_sim_known_copy(sim, bytes, 0, key); /* again: the entry may have been replaced */
        known->copy = local->copy;
        known->is_known = true;
    }
    local->copy = known->copy;
    local->copy.gpu = (int32_t)pto_sim_gpu(sim, local->rank);
}

void pto_engine_join(pto_sim_t *sim, uint32_t rank, const pto_action_t *action, bool on_gpu, int64_t bytes) {
    pto_local_t *local = &sim->local[rank];
    if (on_gpu)
        find_copy_on_gpu(sim, action, bytes, local);
    else
        pto_engine_find_copy(sim, action, bytes, local);
    if (sim->all->lanes > 1)
        pto_sim_interrupt(sim, rank, pto_sim_queueing_s(sim, local->copy.kind));
    pto_engine_t *engine = engine_of(sim, local);
    occupy(sim, engine, bytes);
    if (local->copy.queued)
        join_queue(sim, rank);
    else
        join_engine(sim, engine, rank);
    if (sim->shared_links.count > 0)
        begin_flow(sim, rank, action, bytes);
}

void pto_engine_leave(pto_sim_t *sim, uint32_t rank) {
    pto_local_t *local = &sim->local[rank];
    pto_engine_t *engine = engine_of(sim, local);
    local->copy.bytes = 0;
    engine->waiting_s += pto_sim_excess(sim->now_s, sim->proc[rank].stage_s + local->copy.alone_s);
    if (--engine->active > 0)
        return;
    engine->busy_s += sim->now_s - engine->busy_since_s;
    pto_sim_shared_span(sim, (pto_resource_t)((int)PTO_RESOURCE_COPY_H2D + (int)local->copy.engine),
                        local->copy.gpu, engine->busy_bytes, engine->busy_since_s, sim->now_s);
}

static double left_s(pto_sim_t *sim, const pto_engine_t *engine, const pto_local_t *local) {
    return local->copy_left * whole_s(sim, engine, local);
}

/* Removes the copies that have ended: those whose remaining time is within rounding of 0. */
static void end_copies(pto_sim_t *sim, pto_engine_t *engine) {
    int64_t ended_bytes = 0;
    for (uint32_t *place = &engine->first; *place;) {
        pto_local_t *local = copy_of(sim, *place);
        if (pto_sim_before(sim->now_s, sim->now_s + left_s(sim, engine, local))) {
            place = &local->copy_next;
            continue;
        }
        uint32_t rank = *place - 1;
        pto_sim_t *owner = pto_sim_owner(sim, &rank);
        pto_sim_set(owner, rank, PTO_SLOT_RUN, sim->now_s);
        ended_bytes += local->copy.bytes;
        *place = local->copy_next;
    }
    engine->total_bytes -= ended_bytes;
}

static void engine_event(pto_sim_t *sim, pto_engine_t *engine) {
    advance(sim, engine);
    end_copies(sim, engine);
    double next_s = INFINITY;
    for (pto_local_t *local = copy_of(sim, engine->first); local; local = copy_of(sim, local->copy_next))
        next_s = fmin(next_s, left_s(sim, engine, local));
    engine->next_s = sim->now_s + next_s;
}

/* The next event is that of the engine whose next copy ends first. */
void pto_gpu_event(pto_sim_t *sim, uint32_t gpu) {
    double first_s = INFINITY;
    unsigned in_use = sim->job.in_use[gpu];
    for (int kind = 0; in_use >> kind; kind++) {
        if (!(in_use >> kind & 1))
            continue;
        pto_engine_t *engine = pto_engine_at(sim, gpu, kind);
        if (engine->next_s <= sim->now_s)
            engine_event(sim, engine);
        if (!engine->first)
            sim->job.in_use[gpu] &= (uint8_t) ~(1u << kind);
        else if (engine->next_s < first_s)
            first_s = engine->next_s;
    }
    set_event(sim, gpu, first_s);
}

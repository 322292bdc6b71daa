/* Views of a plan's steps and stages (stages.h): properties that are the same for all ranks and iterations,
 * found once, before the simulation begins. Many of a step's properties select a fast path. Where one is
 * false, the simulation is slower, but has the same result. */
#include <stdlib.h>

#include "simulate/simulate_internal.h"

/* Returns whether expressions have the same value for all cores and peers. */
static bool are_uniform(const pto_expr_t *const *expr, int count) {
    for (int i = 0; i < count; i++)
        if (expr[i]->core || expr[i]->peer)
            return false;
    return true;
}

/* Returns whether the members of a step's group are all ranks, in order. */
static bool is_of_all(const pto_sim_t *sim, const pto_step_t *step) {
    const pto_group_t *group = pto_plan_group(sim->plan, step->group);
    return group->size == pto_layout_rank_count(&sim->plan->request.layout) && group->fold == 0 &&
           sim->layout->procs_per_gpu == 1 && step->core_first == 0 && step->core_count > 0;
}

/* Returns whether a slice has the same number of bytes for all ranks and peers: whole blocks, or parts of
 * equal size. */
static bool has_same_bytes(const pto_sim_t *sim, const pto_slice_t *slice) {
    const pto_buffer_t *buffer = pto_plan_buffer(sim->plan, slice->buffer);
    int64_t parts = slice->parts > 0 ? slice->parts : 1;
    const pto_expr_t *blocks[] = {&slice->first, &slice->run, &slice->stride, &slice->until};
    return are_uniform(blocks, 4) && buffer->blocks == PTO_BLOCKS_EQUAL &&
           buffer->cyclic == PTO_CYCLIC_NONE && buffer->split <= 1 &&
           (parts == 1 || buffer->block_bytes % (parts * buffer->granularity_bytes) == 0) &&
           slice->share == PTO_SHARE_ALL && slice->chunks <= 1 && slice->fold == 0;
}

/* Returns whether a table (pto_sizes_t) can have the bytes of a slice: in an iteration, they may depend only
 * on the core and on the numbers of the slice's blocks or parts, and these numbers only on the rank. */
static bool is_by_number(const pto_sim_t *sim, const pto_slice_t *slice) {
    const pto_buffer_t *buffer = pto_plan_buffer(sim->plan, slice->buffer);
    const pto_expr_t *blocks[] = {&slice->first, &slice->run,    &slice->stride,
                                  &slice->until, &slice->offset, &slice->align};
    bool of_core = buffer->blocks == PTO_BLOCKS_EQUAL ||
                   (buffer->blocks == PTO_BLOCKS_SHARE && pto_group_is_on_gpu(buffer->group));
    bool by_rank = slice->anchor == PTO_ANCHOR_ABSOLUTE || slice->anchor == PTO_ANCHOR_ME;
    return of_core && by_rank && are_uniform(blocks, 6) && buffer->cyclic == PTO_CYCLIC_NONE &&
           slice->holder != PTO_HOLDER_PEER && slice->share != PTO_SHARE_PEERS &&
           slice->cells == PTO_CELLS_NONE && slice->align.constant == 0 && slice->align.loop == 0 &&
           slice->reverse_bits == 0 && slice->chunks <= 1 && slice->fold == 0 && slice->repeat <= 1;
}

/* Returns a table, not yet filled, of the bytes of a slice's parts: an entry for each core and part of the
 * buffer. No table if the slice has no parts or is not `is_by_number`, if it would be large (more than 8
 * entries per rank), and when out of memory. */
static pto_slice_view_t table_of(const pto_sim_t *sim, const pto_slice_t *slice) {
    int64_t parts = slice->parts * pto_plan_buffer(sim->plan, slice->buffer)->block_count;
    int64_t count = parts * sim->layout->procs_per_gpu;
    if (parts == 0 || count > 8 * (int64_t)sim->ranks || !is_by_number(sim, slice))
        return (pto_slice_view_t){0};
    pto_slice_view_t view = {.bytes = malloc((size_t)count * sizeof *view.bytes), .count = parts};
    for (int64_t i = 0; view.bytes && i < count; i++)
        view.bytes[i] = -1;
    return view;
}

/* Returns whether a slice is the block, of random size, between members of the step's group. */
static bool is_random(pto_sim_t *sim, const pto_step_t *step, const pto_slice_t *slice) {
    const pto_buffer_t *buffer = pto_plan_buffer(sim->plan, slice->buffer);
    const pto_group_t *group = pto_plan_group(sim->plan, step->group);
    return pto_slice_is_peers_block(slice) && slice->holder == PTO_HOLDER_SELF &&
           slice->cells == PTO_CELLS_NONE && buffer->cyclic == PTO_CYCLIC_NONE && buffer->split <= 1 &&
           buffer->group == group->kind && group->fold == 0 &&
           pto_buffer_is_skewed(sim->plan, buffer, &sim->skew);
}

static void view_slice(pto_sim_t *sim, const pto_step_t *step, int end, pto_step_view_t *view) {
    const pto_slice_t *slice = end ? &step->target : &step->source;
    pto_blocks_t blocks = pto_plan_buffer(sim->plan, slice->buffer)->blocks;
    view->same_bytes[end] = has_same_bytes(sim, slice) && slice->cells == PTO_CELLS_NONE;
    if (is_random(sim, step, slice))
        view->slice[end] =
            (pto_slice_view_t){.from_peer = blocks == PTO_BLOCKS_COLUMN, .to_peer = blocks == PTO_BLOCKS_ROW};
    else if (!view->same_bytes[end])
        view->slice[end] = table_of(sim, slice);
}

static void view_local_step(pto_sim_t *sim, const pto_step_t *step, pto_step_view_t *view) {
    const pto_slice_t *source = &step->source, *target = &step->target;
    bool has_no_peers = !step->in_kernel && step->peers.kind == PTO_PEERS_NONE;
    view_slice(sim, step, 0, view);
    view_slice(sim, step, 1, view);
    view->for_each_peer = !step->in_kernel && step->peers.kind != PTO_PEERS_NONE;
    view->joins = pto_copy_joins_user_buffers(sim->plan, step);
    view->same_for_all = has_no_peers && view->same_bytes[0] && view->same_bytes[1] &&
                         source->holder == PTO_HOLDER_SELF && target->holder == PTO_HOLDER_SELF &&
                         !view->joins;
    view->on_gpu = has_no_peers && source->holder != PTO_HOLDER_PEER && target->holder != PTO_HOLDER_PEER;
}

static void view_message_step(pto_sim_t *sim, const pto_step_t *step, pto_step_view_t *view) {
    const pto_expr_t *peers[] = {&step->peers.first, &step->peers.stride, &step->peers.until};
    pto_peers_kind_t kind = step->peers.kind;
    view->same_peers = are_uniform(peers, 3);
    view->by_index = view->of_all && view->same_peers && (kind == PTO_PEERS_SHIFT || kind == PTO_PEERS_XOR);
    view_slice(sim, step, step->kind == PTO_STEP_RECV, view);
    if (step->kind != PTO_STEP_SEND)
        return;
    view->injection_s_per_byte = pto_sim_injection_s_per_byte(sim, step);
    view->rate_s = pto_sim_rate_s(sim, step);
}

/* Adds a step to the range [*first, *last] of those that send, or that receive. */
static void widen(int step, int *first, int *last) {
    if (*last < 0)
        *first = step;
    *last = step;
}

/* Returns whether the loop for plain simulations may run (run.c): nothing delays messages, there is one plan,
 * with one lane and no trace, and all nodes are simulated. There may be local steps. */
static bool is_plain(const pto_sim_t *sim) {
    return sim->all->count == 1 && sim->all->lanes == 1 && !sim->options->visit &&
           sim->nodes == sim->layout->nodes && sim->is_free && !sim->has_wire_latency && !sim->both_ways;
}

/* Returns the engines that a copy may use, a bit each: that of its kind and, if it may be between two GPUs,
 * both directions of a GPU's link. `own`: within a rank's own memory, so not between GPUs. */
static unsigned engines_of(const pto_sim_t *sim, const pto_step_t *step, bool own) {
    unsigned links = 1u << PTO_ENGINE_IN | 1u << PTO_ENGINE_OUT;
    pto_copy_kind_t kind = pto_step_copy_kind(sim->plan, step);
    return 1u << kind | ((kind == PTO_COPY_D2D && !own) || step->in_kernel ? links : 0);
}

static void view_stage(pto_sim_t *sim, const pto_stage_t *stage, pto_stage_view_t *view) {
    view->last_send = view->last_recv = -1;
    for (int i = stage->step_first; i < stage->step_first + stage->step_count; i++) {
        const pto_step_t *step = pto_plan_step(sim->plan, i);
        bool is_message = pto_step_is_message(step);
        bool is_early = step->kind == PTO_STEP_SIGNAL && stage->order == PTO_ORDER_AT_ONCE;
        view->sends = view->sends || step->kind == PTO_STEP_SEND;
        if (step->kind == PTO_STEP_SEND)
            widen(i - stage->step_first, &view->first_send, &view->last_send);
        if (step->kind == PTO_STEP_RECV)
            widen(i - stage->step_first, &view->first_recv, &view->last_recv);
        view->messages = view->messages || is_message;
        view->signals_early = view->signals_early || is_early;
        view->locals = view->locals || (!is_message && !is_early);
        sim->view[i].of_all = is_of_all(sim, step);
        if (is_message)
            view_message_step(sim, step, &sim->view[i]);
        if (step->kind == PTO_STEP_COPY || step->kind == PTO_STEP_REDUCE)
            view_local_step(sim, step, &sim->view[i]);
        if (step->kind == PTO_STEP_COPY)
            sim->all->engines |= engines_of(sim, step, sim->view[i].same_for_all);
    }
}

/* Finds the links that can delay messages: those whose limits bind, and all if a trace is wanted or other
 * plans run at the same time. */
static void find_limits(pto_sim_t *sim) {
    sim->has_flows = sim->machine->fabric.levels > 0 || sim->shared_links.count > 0;
    for (int space = 0; space < PTO_SPACE_COUNT; space++) {
        sim->ejection_s_per_byte[space] = pto_sim_ejection_s_per_byte(sim->machine, (pto_space_t)space);
        sim->has_wire_latency = sim->has_wire_latency || pto_param_known(&sim->machine->latency_s[space]);
        sim->both_ways = sim->both_ways || pto_param_known(&sim->machine->both_ways[space]);
    }
    for (int kind = 0; kind < PTO_LINKS_PER_NODE; kind++)
        sim->limited[kind] =
            sim->options->visit || sim->all->count > 1 || pto_sim_is_limited(sim, (pto_link_kind_t)kind);
    sim->is_free = !sim->has_flows && !sim->limited[PTO_LINK_INJECTION] && !sim->limited[PTO_LINK_EJECTION];
    for (int i = 0; i < sim->plan->steps.count; i++)
        sim->is_free = sim->is_free && sim->view[i].rate_s == 0;
}

void pto_sim_view_plan(pto_sim_t *sim) {
    for (int i = 0; i < sim->plan->stages.count; i++)
        view_stage(sim, pto_plan_stage(sim->plan, i), &sim->stage[i]);
    find_limits(sim);
    sim->is_plain = is_plain(sim);
    bool no_gpu_links = !(sim->all->engines >> PTO_ENGINE_IN); /* IN and OUT are the last engines */
    sim->own_engines = sim->is_plain && sim->layout->procs_per_gpu == 1 && no_gpu_links;
}

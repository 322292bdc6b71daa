/* The memory of simulations: that of each plan and that of all plans together, and the places of their
 * ranks. */
#include <stdlib.h>

#include "simulate/simulate_internal.h"

static void place_ranks(pto_sim_t *sim) {
    for (uint32_t i = 0; i < sim->ranks * sim->lanes; i++) {
        pto_proc_t *proc = &sim->proc[i];
        uint32_t rank = i % sim->ranks;
        proc->rank = rank;
        proc->lane = (uint16_t)(i / sim->ranks);
        proc->node = (int32_t)pto_sim_node(sim, rank);
        proc->out.waits = PTO_LINKS_PER_NODE;
        proc->in.waits = PTO_LINKS_PER_NODE;
        proc->waits_sender = PTO_LINKS_PER_NODE;
        if (!pto_core_acts(sim->plan, rank % sim->layout->procs_per_gpu)) {
            proc->state = PTO_PROC_ENDED;
            sim->reached[rank * sim->lanes + proc->lane] = UINT32_MAX;
        }
    }
}

/* Whether expressions are the same for all cores and peers. */
static bool same_for_all(const pto_expr_t *const *expr, int count) {
    for (int i = 0; i < count; i++)
        if (expr[i]->core || expr[i]->peer)
            return false;
    return true;
}

/* Whether a group's members are all ranks, in order, and its steps are for all processes. */
static bool is_of_all(const pto_sim_t *sim, const pto_step_t *step) {
    const pto_group_t *group = pto_plan_group(sim->plan, step->group);
    return group->size == pto_layout_rank_count(&sim->plan->request.layout) && group->fold == 0 &&
           sim->layout->procs_per_gpu == 1 && step->core_first == 0 && step->core_count > 0;
}

/* Whether a slice has as many bytes for all ranks and peers: whole blocks, or parts of equal size. */
static bool is_alike(const pto_sim_t *sim, const pto_slice_t *slice) {
    const pto_buffer_t *buffer = pto_plan_buffer(sim->plan, slice->buffer);
    int64_t parts = slice->parts > 0 ? slice->parts : 1;
    const pto_expr_t *blocks[] = {&slice->first, &slice->run, &slice->stride, &slice->until};
    return same_for_all(blocks, 4) && buffer->blocks == PTO_BLOCKS_EQUAL &&
           buffer->cyclic == PTO_CYCLIC_NONE && buffer->split <= 1 &&
           (parts == 1 || buffer->block_bytes % (parts * buffer->granularity_bytes) == 0) &&
           slice->share == PTO_SHARE_ALL && slice->chunks <= 1 && slice->fold == 0;
}

/* Whether the bytes of a slice depend only on its core and on its blocks or parts, and these on its rank. */
static bool is_by_number(const pto_sim_t *sim, const pto_slice_t *slice) {
    const pto_buffer_t *buffer = pto_plan_buffer(sim->plan, slice->buffer);
    const pto_expr_t *blocks[] = {&slice->first, &slice->run,    &slice->stride,
                                  &slice->until, &slice->offset, &slice->align};
    bool of_core = buffer->blocks == PTO_BLOCKS_EQUAL ||
                   (buffer->blocks == PTO_BLOCKS_SHARE && pto_group_is_on_gpu(buffer->group));
    bool by_rank = slice->anchor == PTO_ANCHOR_ABSOLUTE || slice->anchor == PTO_ANCHOR_ME;
    return of_core && by_rank && same_for_all(blocks, 6) && buffer->cyclic == PTO_CYCLIC_NONE &&
           slice->holder != PTO_HOLDER_PEER && slice->share != PTO_SHARE_PEERS &&
           slice->cells == PTO_CELLS_NONE && slice->align.constant == 0 && slice->align.loop == 0 &&
           slice->reverse_bits == 0 && slice->chunks <= 1 && slice->fold == 0 && slice->repeat <= 1;
}

/* A table of the bytes of a slice's parts; none if it is no such slice, out of memory, or large. */
static pto_slice_view_t parts_of(const pto_sim_t *sim, const pto_slice_t *slice) {
    int64_t parts = slice->parts * pto_plan_buffer(sim->plan, slice->buffer)->block_count;
    int64_t count = parts * sim->layout->procs_per_gpu;
    if (parts == 0 || count > 8 * (int64_t)sim->ranks || !is_by_number(sim, slice))
        return (pto_slice_view_t){0};
    pto_slice_view_t view = {.bytes = malloc((size_t)count * sizeof *view.bytes), .count = parts};
    for (int64_t i = 0; view.bytes && i < count; i++)
        view.bytes[i] = -1;
    return view;
}

/* Whether a slice is the random block between members of the step's group. */
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
    view->is_alike[end] = is_alike(sim, slice) && slice->cells == PTO_CELLS_NONE;
    if (is_random(sim, step, slice))
        view->slice[end] =
            (pto_slice_view_t){.from_peer = blocks == PTO_BLOCKS_COLUMN, .to_peer = blocks == PTO_BLOCKS_ROW};
    else if (!view->is_alike[end])
        view->slice[end] = parts_of(sim, slice);
}

static void view_local_step(pto_sim_t *sim, const pto_step_t *step, pto_step_view_t *view) {
    const pto_slice_t *source = &step->source, *target = &step->target;
    bool once = !step->in_kernel && step->peers.kind == PTO_PEERS_NONE;
    view_slice(sim, step, 0, view);
    view_slice(sim, step, 1, view);
    view->for_each_peer = !step->in_kernel && step->peers.kind != PTO_PEERS_NONE;
    view->joins = pto_copy_joins_user_buffers(sim->plan, step);
    view->alike = once && view->is_alike[0] && view->is_alike[1] && source->holder == PTO_HOLDER_SELF &&
                  target->holder == PTO_HOLDER_SELF && !view->joins;
    view->on_gpu = once && source->holder != PTO_HOLDER_PEER && target->holder != PTO_HOLDER_PEER;
}

static void view_message_step(pto_sim_t *sim, const pto_step_t *step, pto_step_view_t *view) {
    const pto_expr_t *peers[] = {&step->peers.first, &step->peers.stride, &step->peers.until};
    pto_peers_kind_t kind = step->peers.kind;
    view->same_peers = same_for_all(peers, 3);
    view->by_index = view->of_all && view->same_peers && (kind == PTO_PEERS_SHIFT || kind == PTO_PEERS_XOR);
    view_slice(sim, step, step->kind == PTO_STEP_RECV, view);
    if (step->kind != PTO_STEP_SEND)
        return;
    view->injection_s_per_byte = pto_sim_injection_s_per_byte(sim, step);
    view->rate_s = pto_sim_rate_s(sim, step);
}

/* Add a step to the range of those that send, or that receive. */
static void widen(int step, int *first, int *last) {
    if (*last < 0)
        *first = step;
    *last = step;
}

/* Whether there are only messages that nothing delays: no links that can bind, no lanes, no other plans, no
 * trace, and all nodes are simulated. There may be local steps. */
static bool is_plain(const pto_sim_t *sim) {
    return sim->all->count == 1 && sim->all->lanes == 1 && !sim->options->visit &&
           sim->nodes == sim->layout->nodes && sim->is_free && !sim->latency_apart && !sim->both_ways;
}

/* The engines that a copy may use: those of other GPUs' links too, unless it is within a rank's own memory.
 */
static unsigned engines_of(const pto_sim_t *sim, const pto_step_t *step, bool own) {
    unsigned links = 1u << PTO_ENGINE_IN | 1u << PTO_ENGINE_OUT;
    pto_copy_kind_t kind = pto_step_copy_kind(sim->plan, step);
    return 1u << kind | ((kind == PTO_COPY_D2D && !own) || step->in_kernel ? links : 0);
}

static void view_plan(pto_sim_t *sim) {
    for (int i = 0; i < sim->plan->stages.count; i++) {
        const pto_stage_t *stage = pto_plan_stage(sim->plan, i);
        pto_stage_view_t *view = &sim->stage[i];
        view->send_last = view->recv_last = -1;
        for (int j = stage->step_first; j < stage->step_first + stage->step_count; j++) {
            const pto_step_t *step = pto_plan_step(sim->plan, j);
            bool message = pto_step_is_message(step);
            bool first = step->kind == PTO_STEP_SIGNAL && stage->order == PTO_ORDER_AT_ONCE;
            view->sends = view->sends || step->kind == PTO_STEP_SEND;
            if (step->kind == PTO_STEP_SEND)
                widen(j - stage->step_first, &view->send_first, &view->send_last);
            if (step->kind == PTO_STEP_RECV)
                widen(j - stage->step_first, &view->recv_first, &view->recv_last);
            view->messages = view->messages || message;
            view->signals_first = view->signals_first || first;
            view->locals = view->locals || (!message && !first);
            sim->view[j].of_all = is_of_all(sim, step);
            if (message)
                view_message_step(sim, step, &sim->view[j]);
            if (step->kind == PTO_STEP_COPY || step->kind == PTO_STEP_REDUCE)
                view_local_step(sim, step, &sim->view[j]);
            if (step->kind == PTO_STEP_COPY)
                sim->all->engines |= engines_of(sim, step, sim->view[j].alike);
        }
    }
    sim->has_flows = sim->machine->fabric.levels > 0 || sim->shared_links.count > 0;
    for (int space = 0; space < PTO_SPACE_COUNT; space++) {
        sim->ejection_s_per_byte[space] = pto_sim_ejection_s_per_byte(sim->machine, (pto_space_t)space);
        sim->latency_apart = sim->latency_apart || pto_param_known(&sim->machine->latency_s[space]);
        sim->both_ways = sim->both_ways || pto_param_known(&sim->machine->both_ways[space]);
    }
    for (int kind = 0; kind < PTO_LINKS_PER_NODE; kind++) /* a trace shows all; other plans may share them */
        sim->limited[kind] =
            sim->options->visit || sim->all->count > 1 || pto_sim_is_limited(sim, (pto_link_kind_t)kind);
    sim->is_free = !sim->has_flows && !sim->limited[PTO_LINK_INJECTION] && !sim->limited[PTO_LINK_EJECTION];
    for (int i = 0; i < sim->plan->steps.count; i++)
        sim->is_free = sim->is_free && sim->view[i].rate_s == 0;
    sim->is_plain = is_plain(sim);
    sim->own_engines =
        sim->is_plain && sim->layout->procs_per_gpu == 1 && !(sim->all->engines >> PTO_ENGINE_IN);
}

/* The shared resources of a node, and the links of a fabric. */
static bool find_capacities(pto_sim_t *sim) {
    const pto_fabric_t *fabric = &sim->machine->fabric;
    int64_t nodes = sim->layout->nodes, between = pto_fabric_link_count(fabric, nodes);
    sim->first_fabric_link = sim->shared_links.count;
    sim->capacity = calloc((size_t)(sim->first_fabric_link + between) + 1, sizeof *sim->capacity);
    if (!sim->capacity)
        return false;
    for (int i = 0; i < sim->first_fabric_link; i++)
        sim->capacity[i].bytes_per_s = 1 / pto_link_s_per_byte(&sim->shared_links, i)->value;
    for (int64_t i = 0; i < between; i++)
        sim->capacity[sim->first_fabric_link + i].bytes_per_s =
            1 / pto_fabric_s_per_byte(fabric, nodes, i)->value;
    return true;
}

/* Allocate the state of one plan, and its part of the shared state. */
static bool allocate(pto_sim_t *sim) {
    size_t flags = (size_t)pto_plan_flag_count(sim->plan) * sim->ranks * sim->ranks_per_node;
    sim->view = calloc((size_t)sim->plan->steps.count + 1, sizeof *sim->view);
    sim->stage = calloc((size_t)sim->plan->stages.count + 1, sizeof *sim->stage);
    sim->raised = calloc(flags + 1, sizeof *sim->raised);
    sim->either =
        calloc((size_t)pto_plan_either_count(sim->plan, sim->plan->nodes.count) + 1, sizeof *sim->either);
    bool flows = sim->machine->fabric.levels > 0;
    sim->fabric_path = calloc(flows ? 2 * (size_t)sim->ranks * sim->lanes : 1, sizeof *sim->fabric_path);
    sim->reached = calloc((size_t)sim->ranks * sim->lanes + 1, sizeof *sim->reached);
    if (!sim->view || !sim->stage || !sim->raised || !sim->either || !sim->fabric_path || !sim->reached)
        return false;
    view_plan(sim);
    sim->all->has_links = sim->all->has_links || !sim->is_free;
    return true;
}

/* Zeroed records, each of whole cache lines, in memory that is not touched until they are: NULL if there is
 * none. What is freed is `whole`. */
static void *zeroed_lines(size_t count, size_t size, void **whole) {
    enum { CACHE_LINE = 64 };
    *whole = calloc(count + 1, size);
    size_t beyond = (size_t)((uintptr_t)*whole % CACHE_LINE);
    return *whole ? (char *)*whole + (beyond > 0 ? CACHE_LINE - beyond : 0) : NULL;
}

/* The places of the engines in use. */
static void place_engines(pto_sims_t *all) {
    for (int engine = 0; engine < PTO_ENGINES_PER_GPU; engine++)
        if (all->engines >> engine & 1)
            all->engine_place[engine] = all->engines_per_gpu++;
}

/* Allocate the state that all plans share, first in the one given. */
static bool allocate_shared(pto_sims_t *all, pto_sim_t *sim, pto_agenda_t *agenda) {
    size_t nodes = (size_t)sim->nodes;
    size_t links = all->has_links ? nodes * PTO_LINKS_PER_NODE : 0;
    size_t gpus = all->engines ? (size_t)sim->gpus : 0;
    int64_t ranks_per_node = pto_layout_rank_count(sim->layout) / sim->layout->nodes;
    sim->agenda = agenda;
    sim->first_link_slot = all->procs * PTO_SLOTS_PER_RANK;
    sim->first_gpu_slot = sim->first_link_slot + (uint32_t)links;
    all->proc = zeroed_lines(all->procs, sizeof *all->proc, &all->memory[0]);
    all->local = zeroed_lines(all->procs, sizeof *all->local, &all->memory[1]);
    all->brief = calloc(all->procs + (size_t)1, sizeof *all->brief);
    all->set = calloc(all->lanes > 1 ? (size_t)all->ranks : 1, sizeof *all->set);
    sim->link_size = sizeof(pto_link_t) + (size_t)ranks_per_node * all->lanes * sizeof(pto_engine_job_t);
    sim->links = calloc(links + 1, sim->link_size);
    place_engines(all);
    sim->engine = zeroed_lines(gpus * (size_t)all->engines_per_gpu, sizeof *sim->engine, &all->memory[2]);
    sim->in_use = calloc(gpus + 1, sizeof *sim->in_use);
    sim->line_s = calloc(gpus * PTO_COPY_RESOURCE_COUNT + 1, sizeof *sim->line_s);
    sim->routes = calloc(nodes + 1, sizeof *sim->routes);
    size_t processes = all->engines ? (size_t)(ranks_per_node * sim->nodes) : 0;
    all->copy_held_s = calloc(processes * PTO_COPY_RESOURCE_COUNT + 1, sizeof *all->copy_held_s);
    return pto_agenda_init(agenda, sim->first_gpu_slot + (uint32_t)sim->gpus) && all->proc && all->local &&
           all->brief && all->set && sim->links && sim->engine && sim->in_use && sim->line_s && sim->routes &&
           all->copy_held_s && find_capacities(sim);
}

/* All of it, and each plan's share in what the first one has. */
bool pto_sims_allocate(pto_sims_t *all, pto_agenda_t *agenda) {
    bool complete = true;
    uint32_t procs = 0;
    for (uint32_t i = 0; i < all->count && complete; i++)
        complete = allocate(&all->sim[i]);
    complete = complete && allocate_shared(all, all->sim, agenda);
    for (uint32_t i = 0; i < all->count && complete; i++) {
        pto_sim_t *sim = &all->sim[i];
        sim->agenda = agenda;
        sim->first_link_slot = all->sim->first_link_slot;
        sim->first_gpu_slot = all->sim->first_gpu_slot;
        sim->link_size = all->sim->link_size;
        sim->links = all->sim->links;
        sim->engine = all->sim->engine;
        sim->in_use = all->sim->in_use;
        sim->line_s = all->sim->line_s;
        sim->routes = all->sim->routes;
        sim->capacity = all->sim->capacity;
        sim->first_fabric_link = all->sim->first_fabric_link;
        sim->first_proc = procs;
        sim->proc = all->proc + procs;
        sim->local = all->local + procs;
        sim->brief = all->brief + procs;
        procs += sim->ranks * sim->lanes;
        place_ranks(sim);
        pto_passages_begin(sim, sim->ranks * sim->lanes);
    }
    return complete;
}

void pto_sims_release(pto_sims_t *all, pto_agenda_t *agenda) {
    pto_sim_t *first = all->sim;
    for (uint32_t i = 0; i < all->count; i++) {
        pto_pool_fini(&all->sim[i].pool);
        for (int j = 0; all->sim[i].view && j < all->sim[i].plan->steps.count; j++)
            for (int end = 0; end < 2; end++)
                free(all->sim[i].view[j].slice[end].bytes);
        free(all->sim[i].view);
        free(all->sim[i].stage);
        free(all->sim[i].raised);
        free(all->sim[i].reached);
        free(all->sim[i].either);
        free(all->sim[i].fabric_path);
        pto_passages_fini(&all->sim[i].passages);
    }
    pto_agenda_fini(agenda);
    for (int i = 0; i < 3; i++)
        free(all->memory[i]);
    free(all->copy_held_s);
    free(all->set);
    free(all->brief);
    free(first->links);
    free(first->in_use);
    free(first->line_s);
    for (int64_t node = 0; first->routes && node <= first->nodes; node++)
        free(first->routes[node].flow);
    free(first->routes);
    free(first->capacity);
}

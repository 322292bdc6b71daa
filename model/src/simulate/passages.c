/* The sequence of a plan's stages. A passage is a stage in one iteration of its loops. All ranks go through
 * the same passages, so values that are the same for all ranks are computed once for each. A passage is made
 * when the first rank reaches it, and freed when the last rank has left it. */
#include <stdlib.h>

#include "simulate/simulate_internal.h"

void pto_passages_begin(pto_sim_t *sim, uint32_t procs) {
    pto_passages_t *passages = &sim->passages;
    pto_walk_begin(&passages->walk, sim->plan);
    passages->start.walk = passages->walk;
    passages->last = &passages->start;
    for (uint32_t i = 0; i < procs; i++) {
        sim->proc[i].at = &passages->start;
        passages->start.procs += sim->proc[i].state != PTO_PROC_ENDED;
    }
}

/* Frees the passages that come before `to`; NULL: all. */
static void free_passages(pto_passages_t *passages, const pto_passage_t *to) {
    pto_passage_t *passage = passages->start.next;
    while (passage != to) {
        pto_passage_t *next = passage->next;
        free(passage);
        passage = next;
    }
    passages->start.next = passage;
}

void pto_passages_fini(pto_passages_t *passages) { free_passages(passages, NULL); }

static pto_sim_move_t make_move(const pto_sim_t *sim, int step_number, int64_t k) {
    const pto_step_t *step = pto_plan_step(sim->plan, step_number);
    const pto_peers_t *peers = &step->peers;
    pto_action_t action = {.step = step, .k = k};
    int64_t size = pto_plan_group(sim->plan, step->group)->size;
    int64_t peer_first = pto_expr_at(&peers->first, k, 0, 0), sign = peers->sign;
    if (peers->kind == PTO_PEERS_SHIFT) /* from 0 to size - 1 */
        peer_first = pto_floor_mod(sign * peer_first, size);
    return (pto_sim_move_t){.step = step,
                            .sends = step->kind == PTO_STEP_SEND,
                            .receives = step->kind == PTO_STEP_RECV,
                            .by_index = sim->view[step_number].by_index,
                            .by_xor = peers->kind == PTO_PEERS_XOR,
                            .view = &sim->view[step_number],
                            .who_first = pto_expr_at(&step->who_first, k, 0, 0),
                            .who_stride = pto_expr_at(&step->who_stride, k, 0, 0),
                            .who_until = pto_expr_at(&step->who_until, k, 0, 0),
                            .peer_first = peer_first,
                            .peer_stride = sign * pto_expr_at(&peers->stride, k, 0, 0),
                            .peer_count = pto_step_peer_count(sim->plan, &action),
                            .group_size = size};
}

/* Sets the table of a slice's bytes in an iteration. */
static void find_sizes(pto_sim_move_t *move, int end, int64_t k) {
    const pto_slice_t *slice = end ? &move->step->target : &move->step->source;
    const pto_slice_view_t *view = &move->view->slice[end];
    pto_sizes_t *sizes = &move->sizes[end];
    int64_t blocks = view->bytes ? pto_slice_block_count(slice, k, 0, 0) : 0;
    *sizes = (pto_sizes_t){.of_all = view->bytes ? 0 : -1, .count = 1};
    if (move->view->same_bytes[end] || (view->bytes && blocks == 0))
        sizes->bytes = &sizes->of_all;
    if (blocks != 1)
        return;
    int64_t first = pto_expr_at(&slice->first, k, 0, 0);
    sizes->bytes = view->bytes;
    sizes->first = pto_expr_at(&slice->offset, k, 0, 0) + (slice->reversed ? -first : first);
    if (slice->anchor != PTO_ANCHOR_ABSOLUTE)
        sizes->stride = slice->anchor_step > 1 ? slice->anchor_step : 1;
    sizes->count = sizes->core_count = view->count;
}

/* Returns whether all ranks act in a step. */
static bool all_act(const pto_sim_move_t *move) {
    return move->view->of_all && move->who_first <= 0 && move->who_stride == 1 &&
           move->who_until >= move->group_size;
}

/* As in price, copies stream outside of lanes and of the library's collectives only. */
static bool may_stream(const pto_sim_t *sim, const pto_walk_t *walk) {
    return walk->lanes < 0 &&
           (walk->collective < 0 || pto_plan_node(sim->plan, walk->collective)->by != PTO_DONE_BY_LIBRARY);
}

/* Returns the passage's `only_local` step (stages.h), or NULL. */
static pto_sim_move_t *find_only_local(const pto_sim_t *sim, const pto_passage_t *passage) {
    pto_sim_move_t *found = NULL;
    for (int i = 0; i < passage->walk.stage->step_count && sim->own_engines; i++) {
        pto_sim_move_t *move = &passage->move[i];
        if (move->sends || move->receives)
            continue;
        if (found || !move->all_act || !move->view->same_for_all)
            return NULL;
        found = move;
    }
    return found;
}

static void make_passage(const pto_sim_t *sim, pto_passage_t *passage) {
    const pto_stage_t *stage = passage->walk.stage;
    passage->view = &sim->stage[stage - pto_plan_stage(sim->plan, 0)];
    passage->cost_key = pto_cost_key(passage->walk.lanes >= 0);
    passage->after = pto_walk_after(&passage->walk);
    passage->ends_streams = false;
    passage->plain = sim->all->lanes == 1 && passage->walk.branch < 0 && !pto_walk_in_nccl(&passage->walk);
    for (int i = 0; i < stage->step_count; i++) {
        passage->move[i] = make_move(sim, stage->step_first + i, passage->walk.k);
        find_sizes(&passage->move[i], 0, passage->walk.k);
        find_sizes(&passage->move[i], 1, passage->walk.k);
        passage->move[i].all_act = all_act(&passage->move[i]);
        passage->move[i].streams =
            may_stream(sim, &passage->walk) && pto_step_streams(sim->plan, passage->move[i].step);
        passage->ends_streams |=
            passage->move[i].all_act && (passage->move[i].sends || passage->move[i].receives);
    }
    passage->only_local = find_only_local(sim, passage);
}

/* Makes the passage after the last one. Returns NULL if there is none, or out of memory (sim->status). */
static pto_passage_t *make_next(pto_sim_t *sim) {
    pto_passages_t *passages = &sim->passages;
    if (passages->walk.stage && pto_walk_in_nccl(&passages->walk))
        pto_walk_leave_collective(&passages->walk);
    passages->ended = passages->ended || !pto_walk_next(&passages->walk);
    if (passages->ended)
        return NULL;
    size_t steps = (size_t)passages->walk.stage->step_count;
    pto_passage_t *passage = malloc(sizeof *passage + steps * sizeof *passage->move);
    if (!passage) {
        sim->status = pto_error_set(sim->err, PTO_ERR_MEMORY, "out of memory for stages");
        return NULL;
    }
    passage->next = NULL;
    passage->procs = 0;
    passage->move = (pto_sim_move_t *)(passage + 1);
    passage->walk = passages->walk;
    make_passage(sim, passage);
    passages->last->next = passage;
    passages->last = passage;
    return passage;
}

/* Counts a process at the passage that it has reached, and no longer at the one that it has left. */
static void move_to(pto_sim_t *sim, pto_proc_t *proc, pto_passage_t *to) {
    pto_passages_t *passages = &sim->passages;
    proc->at->procs--;
    to->procs++;
    proc->at = to;
    if (sim->lanes > 1)
        sim->reached[proc->rank * sim->lanes + proc->lane] = (uint32_t)to->walk.instance + 1;
    const pto_passage_t *oldest = passages->start.next;
    while (passages->start.procs == 0 && oldest != passages->last && oldest->procs == 0)
        oldest = oldest->next;
    free_passages(passages, oldest);
}

bool pto_sim_next_stage(pto_sim_t *sim, pto_proc_t *proc) {
    pto_passage_t *last = proc->at; /* the last one that is not the process's next */
    pto_passage_t *next = last->next ? last->next : make_next(sim);
    while (next && next->walk.lane != (int)proc->lane) {
        last = next;
        next = last->next ? last->next : make_next(sim);
    }
    if (next || last != proc->at)
        move_to(sim, proc, next ? next : last);
    return next != NULL;
}

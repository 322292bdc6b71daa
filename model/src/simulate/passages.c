/* The sequence of a plan's stages. All ranks pass the same sequence, so each stage of each iteration is a
 * passage that they share, and what is the same for all ranks is computed once. Passages are made in blocks,
 * when the first rank reaches them, and freed when the last rank has left them. */
#include <stdlib.h>

#include "base/grow.h"
#include "simulate/simulate_internal.h"

void pto_passages_begin(pto_sim_t *sim, uint32_t procs) {
    pto_passages_t *passages = &sim->passages;
    pto_walk_begin(&passages->walk, sim->plan);
    passages->start.walk = passages->walk;
    passages->last = &passages->start;
    for (int i = 0; i < sim->plan->stages.count; i++)
        if (pto_plan_stage(sim->plan, i)->step_count > passages->max_steps)
            passages->max_steps = pto_plan_stage(sim->plan, i)->step_count;
    for (uint32_t i = 0; i < procs; i++) {
        sim->proc[i].at = &passages->start;
        passages->starting += sim->proc[i].state != PTO_PROC_ENDED;
    }
}

void pto_passages_fini(pto_passages_t *passages) {
    for (int64_t i = passages->oldest; i < passages->block_count; i++)
        free(passages->block[i]);
    free(passages->block);
}

/* --- making passages ------------------------------------------------------------------------------------ */

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

static bool all_act(const pto_sim_move_t *move) {
    return move->view->of_all && move->who_first <= 0 && move->who_stride == 1 &&
           move->who_until >= move->group_size;
}

/* As in price, copies stream outside of lanes and of the library's collectives only. */
static bool may_stream(const pto_sim_t *sim, const pto_walk_t *walk) {
    return walk->lanes < 0 &&
           (walk->collective < 0 || pto_plan_node(sim->plan, walk->collective)->by != PTO_DONE_BY_LIBRARY);
}

static pto_sim_move_t *find_only_local(const pto_sim_t *sim, const pto_passage_t *at) {
    pto_sim_move_t *found = NULL;
    for (int i = 0; i < at->walk.stage->step_count && sim->own_engines; i++) {
        pto_sim_move_t *move = &at->move[i];
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

/* Add an empty block; NULL when out of memory. */
static pto_passage_block_t *add_block(pto_sim_t *sim) {
    pto_passages_t *passages = &sim->passages;
    size_t moves = (size_t)passages->max_steps * PTO_PASSAGES_PER_BLOCK;
    if (!PTO_RESERVE(passages->block, passages->block_room, passages->block_count + 1))
        return NULL;
    pto_passage_block_t *block = malloc(sizeof *block + moves * sizeof *block->move);
    if (!block)
        return NULL;
    block->procs = 0;
    block->count = 0;
    for (int i = 0; i < PTO_PASSAGES_PER_BLOCK; i++)
        block->passage[i].move = &block->move[i * passages->max_steps];
    passages->block[passages->block_count++] = block;
    return block;
}

/* Make the passage after the last one; NULL if there is none. */
static const pto_passage_t *make_next(pto_sim_t *sim) {
    pto_passages_t *passages = &sim->passages;
    if (passages->walk.stage && pto_walk_in_nccl(&passages->walk))
        pto_walk_leave_collective(&passages->walk);
    passages->ended = passages->ended || !pto_walk_next(&passages->walk);
    if (passages->ended)
        return NULL;
    pto_passage_block_t *block = passages->walk.instance % PTO_PASSAGES_PER_BLOCK > 0
                                     ? passages->block[passages->block_count - 1]
                                     : add_block(sim);
    if (!block) {
        sim->status = pto_error_set(sim->err, PTO_ERR_MEMORY, "out of memory for stages");
        return NULL;
    }
    pto_passage_t *passage = &block->passage[block->count++];
    passage->next = NULL;
    passage->block = block;
    passage->walk = passages->walk;
    make_passage(sim, passage);
    passages->last->next = passage;
    passages->last = passage;
    return passage;
}

/* --- passing -------------------------------------------------------------------------------------------- */

static void free_passed(pto_sim_t *sim) {
    pto_passages_t *passages = &sim->passages;
    while (passages->oldest < passages->block_count - 1 && passages->block[passages->oldest]->procs == 0) {
        free(passages->block[passages->oldest]);
        passages->block[passages->oldest++] = NULL;
    }
}

/* Count a process in the block that it has reached, and no longer in the one that it has left. */
static void move_to(pto_sim_t *sim, pto_proc_t *proc, const pto_passage_t *to) {
    pto_passage_block_t *left = proc->at->block;
    proc->at = to;
    if (sim->lanes > 1)
        sim->reached[proc->rank * sim->lanes + proc->lane] = (uint32_t)to->walk.instance + 1;
    if (to->block == left)
        return;
    to->block->procs++;
    if (left)
        left->procs--;
    else
        sim->passages.starting--;
    if (sim->passages.starting == 0)
        free_passed(sim);
}

bool pto_sim_next_stage(pto_sim_t *sim, pto_proc_t *proc) {
    const pto_passage_t *at = proc->at, *next;
    while ((next = at->next ? at->next : make_next(sim)) && next->walk.lane != (int)proc->lane)
        at = next;
    if (next || at != proc->at)
        move_to(sim, proc, next ? next : at);
    return next != NULL;
}

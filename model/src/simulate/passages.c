/* The sequence of stages of a plan. All ranks pass the same one, so each stage of each iteration is a passage
 * that they share, and what is the same for all of them is computed once. Passages exist from the first rank
 * that reaches their block to the last one that leaves it. */
#include <stdlib.h>

#include "base/grow.h"
#include "simulate/simulate_internal.h"

void pto_passages_begin(pto_sim_t *sim, uint32_t procs) {
    pto_passages_t *passages = &sim->passages;
    pto_walk_begin(&passages->walk, sim->plan);
    passages->start.walk = passages->walk;
    passages->last = &passages->start;
    for (int i = 0; i < sim->plan->stages.count; i++)
        if (pto_plan_stage(sim->plan, i)->step_count > passages->most_steps)
            passages->most_steps = pto_plan_stage(sim->plan, i)->step_count;
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

static pto_move_t made_move(const pto_sim_t *sim, int step_number, int64_t k) {
    const pto_step_t *step = pto_plan_step(sim->plan, step_number);
    const pto_peers_t *peers = &step->peers;
    pto_action_t action = {.step = step, .k = k};
    int64_t size = pto_plan_group(sim->plan, step->group)->size;
    int64_t peer_first = pto_expr_at(&peers->first, k, 0, 0), sign = peers->sign;
    if (peers->kind == PTO_PEERS_SHIFT) /* from 0 to size - 1 */
        peer_first = pto_floor_mod(sign * peer_first, size);
    return (pto_move_t){.step = step,
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

/* Where the bytes of a slice are in an iteration. */
static void find_sizes(pto_move_t *move, int end, int64_t k) {
    const pto_slice_t *slice = end ? &move->step->target : &move->step->source;
    const pto_slice_view_t *view = &move->view->slice[end];
    pto_sizes_t *sizes = &move->sizes[end];
    int64_t blocks = view->bytes ? pto_slice_block_count(slice, k, 0, 0) : 0;
    *sizes = (pto_sizes_t){.of_all = view->bytes ? 0 : -1, .count = 1};
    if (move->view->is_alike[end] || (view->bytes && blocks == 0))
        sizes->bytes = &sizes->of_all;
    if (blocks != 1)
        return;
    int64_t first = pto_expr_at(&slice->first, k, 0, 0);
    sizes->bytes = view->bytes;
    sizes->first = pto_expr_at(&slice->offset, k, 0, 0) + (slice->reversed ? -first : first);
    sizes->stride = slice->anchor == PTO_ANCHOR_ABSOLUTE ? 0
                    : slice->anchor_step > 1             ? slice->anchor_step
                                                         : 1;
    sizes->count = sizes->core_count = view->count;
}

static bool all_act(const pto_move_t *move) {
    return move->view->of_all && move->who_first <= 0 && move->who_stride == 1 &&
           move->who_until >= move->group_size;
}

/* As price's: outside lanes and the library's collectives. */
static bool may_stream(const pto_sim_t *sim, const pto_walk_t *walk) {
    return walk->lanes < 0 &&
           (walk->collective < 0 || pto_plan_node(sim->plan, walk->collective)->by != PTO_DONE_BY_LIBRARY);
}

static pto_move_t *alone(const pto_sim_t *sim, const pto_passage_t *at) {
    pto_move_t *found = NULL;
    for (int i = 0; i < at->walk.stage->step_count && sim->own_engines; i++) {
        pto_move_t *move = &at->move[i];
        if (move->sends || move->receives)
            continue;
        if (found || !move->all_act || !move->view->alike)
            return NULL;
        found = move;
    }
    return found;
}

static void make_passage(const pto_sim_t *sim, pto_passage_t *made) {
    const pto_stage_t *stage = made->walk.stage;
    made->view = &sim->stage[stage - pto_plan_stage(sim->plan, 0)];
    made->cost_key = pto_cost_key(made->walk.lanes >= 0);
    made->after = pto_walk_after(&made->walk);
    made->ends_streams = false;
    made->plain = sim->all->lanes == 1 && made->walk.branch < 0 && !pto_walk_in_nccl(&made->walk);
    for (int i = 0; i < stage->step_count; i++) {
        made->move[i] = made_move(sim, stage->step_first + i, made->walk.k);
        find_sizes(&made->move[i], 0, made->walk.k);
        find_sizes(&made->move[i], 1, made->walk.k);
        made->move[i].all_act = all_act(&made->move[i]);
        made->move[i].streams =
            may_stream(sim, &made->walk) && pto_step_streams(sim->plan, made->move[i].step);
        made->ends_streams |= made->move[i].all_act && (made->move[i].sends || made->move[i].receives);
    }
    made->alone = alone(sim, made);
}

/* Add an empty block; NULL when out of memory. */
static pto_passage_block_t *add_block(pto_sim_t *sim) {
    pto_passages_t *passages = &sim->passages;
    size_t moves = (size_t)passages->most_steps * PTO_PASSAGES_PER_BLOCK;
    if (!PTO_RESERVE(passages->block, passages->block_room, passages->block_count + 1))
        return NULL;
    pto_passage_block_t *block = malloc(sizeof *block + moves * sizeof *block->move);
    if (!block)
        return NULL;
    block->procs = 0;
    block->count = 0;
    for (int i = 0; i < PTO_PASSAGES_PER_BLOCK; i++)
        block->passage[i].move = &block->move[i * passages->most_steps];
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
    pto_passage_t *made = &block->passage[block->count++];
    made->next = NULL;
    made->straight = NULL;
    made->block = block;
    made->walk = passages->walk;
    make_passage(sim, made);
    passages->last->next = made;
    if (made->plain && made->block == passages->last->block)
        passages->last->straight = made;
    passages->last = made;
    return made;
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

bool pto_sim_find_next_stage(pto_sim_t *sim, pto_proc_t *proc) {
    const pto_passage_t *at = proc->at, *next;
    while ((next = at->next ? at->next : make_next(sim)) && next->walk.lane != (int)proc->lane)
        at = next;
    if (next || at != proc->at)
        move_to(sim, proc, next ? next : at);
    return next != NULL;
}

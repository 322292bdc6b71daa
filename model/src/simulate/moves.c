/* The messages that a rank sends and receives in its stage, one after another, never as a list. */
#include "simulate/simulate_internal.h"

/* The action of a rank in a step, without a peer, and the number of its peers; false if it does not act. */
static bool begin_move(const pto_sim_t *sim, const pto_proc_t *proc, const pto_move_t *move,
                       pto_action_t *action, int64_t *peers) {
    int64_t me = proc->rank, k = proc->at->walk.k;
    if (!move->view->by_index) {
        if (!pto_step_acts(sim->plan, move->step, me, k, action))
            return false;
        *peers = move->view->alike ? move->peer_count : pto_step_peer_count(sim->plan, action);
        return true;
    }
    *action = (pto_action_t){.step = move->step, .rank = me, .me = me, .k = k, .peer = -1, .peer_rank = -1};
    *peers = move->peer_count;
    return me >= move->who_first && me < move->who_until &&
           (move->who_stride == 1 || (me - move->who_first) % move->who_stride == 0);
}

/* As pto_step_peer: set the action's peer; false if it has none with this number. */
static bool find_peer(const pto_sim_t *sim, const pto_move_t *move, int64_t number, pto_action_t *action) {
    if (!move->view->by_index)
        return pto_step_peer(sim->plan, number, action);
    const pto_peers_t *peers = &move->step->peers;
    int64_t value = move->peer_first + number * move->peer_stride;
    int64_t peer = peers->kind == PTO_PEERS_XOR ? action->me ^ value : action->me + peers->sign * value;
    if (peers->kind == PTO_PEERS_SHIFT && peer >= move->group_size)
        peer -= move->group_size; /* without a division, nearly always */
    else if (peers->kind == PTO_PEERS_SHIFT && peer < 0)
        peer += move->group_size;
    if (peers->kind == PTO_PEERS_SHIFT)
        peer = pto_floor_mod(peer, move->group_size);
    action->ordinal = value;
    action->peer = peer;
    action->peer_rank = peer;
    return peer != action->me;
}

static int64_t message_bytes(const pto_sim_t *sim, pto_move_t *move, const pto_action_t *action) {
    if (!move->view->alike)
        return pto_slice_bytes(sim->plan, pto_message_slice(move->step), action);
    if (move->bytes < 0)
        move->bytes = pto_slice_bytes(sim->plan, pto_message_slice(move->step), action);
    return move->bytes;
}

/* --- sends ---------------------------------------------------------------------------------------------- */

/* The next peer of the current step that is sent more than nothing; false if there is none left. */
static bool next_peer(const pto_sim_t *sim, pto_proc_t *proc, int64_t *peer_rank, int64_t *bytes) {
    if (proc->send_next >= proc->send_count)
        return false;
    pto_move_t *move = &proc->at->move[proc->send_step];
    pto_action_t action = {.step = move->step,
                           .rank = proc->rank,
                           .core = proc->rank % sim->layout->procs_per_gpu,
                           .me = proc->send_me,
                           .k = proc->at->walk.k};
    while (proc->send_next < proc->send_count) {
        if (!find_peer(sim, move, proc->send_next++, &action))
            continue;
        *peer_rank = action.peer_rank;
        *bytes = message_bytes(sim, move, &action);
        if (*bytes > 0 || move->step->send_empty)
            return true;
    }
    return false;
}

bool pto_sim_next_send(const pto_sim_t *sim, pto_proc_t *proc, int64_t *peer_rank, int64_t *bytes) {
    const pto_stage_t *stage = proc->at->walk.stage;
    while (!proc->sends_made_all) {
        if (next_peer(sim, proc, peer_rank, bytes))
            return true;
        proc->send_next = 0;
        proc->send_count = 0;
        if (++proc->send_step >= stage->step_count) {
            proc->sends_made_all = true;
            break;
        }
        const pto_step_t *step = pto_plan_step(sim->plan, stage->step_first + proc->send_step);
        pto_action_t action;
        int64_t peers;
        if (step->kind != PTO_STEP_SEND ||
            !begin_move(sim, proc, &proc->at->move[proc->send_step], &action, &peers))
            continue;
        proc->send_me = (uint32_t)action.me;
        proc->send_count = peers;
    }
    return false;
}

/* --- receives ------------------------------------------------------------------------------------------- */

/* Constants: SplitMix64. */
uint64_t pto_sim_message_digest(int64_t source, int64_t bytes) {
    uint64_t hash = ((uint64_t)source + 1) * 0x9e3779b97f4a7c15u + (uint64_t)bytes;
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9u;
    return hash ^ (hash >> 27);
}

static void count_step(const pto_sim_t *sim, pto_proc_t *proc, pto_move_t *move) {
    pto_action_t action;
    int64_t peers;
    if (!begin_move(sim, proc, move, &action, &peers))
        return;
    for (int64_t j = 0; j < peers; j++) {
        if (!find_peer(sim, move, j, &action))
            continue;
        int64_t bytes = message_bytes(sim, move, &action);
        if (bytes == 0 && !move->step->send_empty)
            continue;
        proc->recvs_open++;
        proc->expected += pto_sim_message_digest(action.peer_rank, bytes);
    }
}

void pto_sim_count_receives(const pto_sim_t *sim, pto_proc_t *proc) {
    const pto_stage_t *stage = proc->at->walk.stage;
    proc->recvs_open = 0;
    proc->expected = 0;
    for (int i = 0; i < stage->step_count; i++)
        if (pto_plan_step(sim->plan, stage->step_first + i)->kind == PTO_STEP_RECV)
            count_step(sim, proc, &proc->at->move[i]);
}

/* The messages that a rank sends and receives in its stage, one after another, never as a list. */
#include "simulate/simulate_internal.h"

/* --- the members of a group in the order of their ranks ------------------------------------------------- */

/* Whether a rank acts in a step whose view is `by_index`. */
static bool acts(const pto_move_t *move, int64_t rank) {
    return rank >= move->who_first && rank < move->who_until &&
           (move->who_stride == 1 || (rank - move->who_first) % move->who_stride == 0);
}

/* Its peer with a number: as pto_step_peer, nearly always without a division. */
static int64_t peer_of(const pto_move_t *move, int64_t rank, int64_t number) {
    int64_t value = move->peer_first + number * move->peer_stride;
    const pto_peers_t *peers = &move->step->peers;
    if (peers->kind == PTO_PEERS_XOR)
        return rank ^ value;
    int64_t peer = rank + peers->sign * value, size = move->group_size;
    peer += peer >= size ? -size : peer < 0 ? size : 0;
    return peer >= 0 && peer < size ? peer : pto_floor_mod(peer, size);
}

/* --- any group ------------------------------------------------------------------------------------------ */

/* The action of a rank in a step, without a peer, and the number of its peers; false if it does not act. */
static bool begin_move(const pto_sim_t *sim, const pto_proc_t *proc, const pto_move_t *move,
                       pto_action_t *action, int64_t *peers) {
    if (!pto_step_acts(sim->plan, move->step, proc->rank, proc->at->walk.k, action))
        return false;
    *peers = move->view->alike ? move->peer_count : pto_step_peer_count(sim->plan, action);
    return true;
}

static int64_t message_bytes(const pto_sim_t *sim, pto_move_t *move, const pto_action_t *action) {
    if (!move->view->alike)
        return pto_slice_bytes(sim->plan, pto_message_slice(move->step), action);
    if (move->bytes < 0)
        move->bytes = pto_slice_bytes(sim->plan, pto_message_slice(move->step), action);
    return move->bytes;
}

/* The bytes for a peer; -1 if there is no message. */
static int64_t bytes_for(const pto_sim_t *sim, pto_move_t *move, int64_t number, pto_action_t *action) {
    if (!pto_step_peer(sim->plan, number, action))
        return -1;
    int64_t bytes = message_bytes(sim, move, action);
    return bytes > 0 || move->step->send_empty ? bytes : -1;
}

/* --- sends ---------------------------------------------------------------------------------------------- */

/* The next peer of the current step that is sent more than nothing; false if there is none left. */
static bool next_peer(const pto_sim_t *sim, pto_proc_t *proc, int64_t *peer_rank, int64_t *bytes) {
    pto_move_t *move = &proc->at->move[proc->send_step];
    if (move->view->by_index && move->bytes > 0) {
        *bytes = move->bytes;
        while (proc->send_next < proc->send_count)
            if ((*peer_rank = peer_of(move, proc->rank, proc->send_next++)) != (int64_t)proc->rank)
                return true;
        return false;
    }
    pto_action_t action = {.step = move->step,
                           .rank = proc->rank,
                           .core = proc->rank % sim->layout->procs_per_gpu,
                           .me = proc->send_me,
                           .k = proc->at->walk.k};
    while (proc->send_next < proc->send_count) {
        *bytes = bytes_for(sim, move, proc->send_next++, &action);
        *peer_rank = action.peer_rank;
        if (*bytes >= 0)
            return true;
    }
    return false;
}

/* Begin with the next step of the stage. */
static void next_step(const pto_sim_t *sim, pto_proc_t *proc) {
    const pto_move_t *move = &proc->at->move[++proc->send_step];
    proc->send_next = 0;
    proc->send_count = 0;
    if (!move->sends)
        return;
    pto_action_t action;
    int64_t peers;
    if (move->view->by_index && acts(move, proc->rank)) {
        proc->send_me = proc->rank;
        proc->send_count = move->peer_count;
    } else if (!move->view->by_index && begin_move(sim, proc, move, &action, &peers)) {
        proc->send_me = (uint32_t)action.me;
        proc->send_count = peers;
    }
}

bool pto_sim_next_send(const pto_sim_t *sim, pto_proc_t *proc, int64_t *peer_rank, int64_t *bytes) {
    int last = proc->at->walk.stage->step_count - 1;
    while (!proc->sends_made_all) {
        if (proc->send_next < proc->send_count && next_peer(sim, proc, peer_rank, bytes))
            return true;
        if (proc->send_step < last)
            next_step(sim, proc);
        else
            proc->sends_made_all = true;
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

static void expect(const pto_sim_t *sim, pto_proc_t *proc, int64_t peer_rank, int64_t bytes) {
    proc->recvs_open++;
    proc->expected += pto_sim_message_digest(pto_sim_stand_in(sim, peer_rank), bytes);
}

static void count_step(const pto_sim_t *sim, pto_proc_t *proc, pto_move_t *move) {
    pto_action_t action;
    int64_t peers, bytes;
    if (move->view->by_index && move->bytes > 0) {
        for (int64_t j = 0; j < move->peer_count && acts(move, proc->rank); j++)
            if (peer_of(move, proc->rank, j) != (int64_t)proc->rank)
                expect(sim, proc, peer_of(move, proc->rank, j), move->bytes);
        return;
    }
    if (!begin_move(sim, proc, move, &action, &peers))
        return;
    for (int64_t j = 0; j < peers; j++)
        if ((bytes = bytes_for(sim, move, j, &action)) >= 0)
            expect(sim, proc, action.peer_rank, bytes);
}

void pto_sim_count_receives(const pto_sim_t *sim, pto_proc_t *proc) {
    proc->recvs_open = 0;
    proc->expected = 0;
    for (int i = 0; i < proc->at->walk.stage->step_count; i++)
        if (proc->at->move[i].receives)
            count_step(sim, proc, &proc->at->move[i]);
}

/* Enumerates the messages of a rank's stage, for all kinds of steps (simulate/moves.h). */
#include "simulate/moves.h"

/* Finds the action of a rank, without a peer, and the number of its peers; false if it does not act. */
static bool begin_move(const pto_sim_t *sim, const pto_proc_t *proc, const pto_sim_move_t *move,
                       pto_action_t *action, int64_t *peers) {
    if (!pto_step_acts(sim->plan, move->step, proc->rank, proc->at->walk.k, action))
        return false;
    *peers = move->view->same_peers ? move->peer_count : pto_step_peer_count(sim->plan, action);
    return true;
}

_Thread_local int64_t pto_slices_measured;

int64_t pto_sim_slice_bytes(const pto_sim_t *sim, const pto_sim_move_t *move, int end,
                            const pto_action_t *action) {
    int64_t bytes = pto_move_bytes_with(sim, move, end, action->me, action->peer, action->core);
    if (bytes >= 0)
        return bytes;
    pto_slices_measured++;
    int64_t *known = pto_move_bytes(move, end, action->me, action->core);
    bytes = pto_slice_bytes(sim->plan, end ? &move->step->target : &move->step->source, action);
    if (known)
        *known = bytes;
    return bytes;
}

/* Returns the bytes of the message to or from a peer; -1 if there is none. */
static int64_t bytes_for(const pto_sim_t *sim, const pto_sim_move_t *move, int64_t number,
                         pto_action_t *action) {
    if (!pto_step_peer(sim->plan, number, action))
        return -1;
    int64_t bytes = pto_sim_slice_bytes(sim, move, move->receives, action);
    return bytes > 0 || move->step->send_empty ? bytes : -1;
}

void pto_sim_begin_any_sends(const pto_sim_t *sim, pto_proc_t *proc, const pto_sim_move_t *move) {
    pto_action_t action;
    int64_t peers;
    if (!move->sends || !begin_move(sim, proc, move, &action, &peers))
        return;
    proc->send_me = (uint32_t)action.me;
    proc->send_count = (uint32_t)peers;
}

/* Finds the next message of the current step; false if none is left. */
static bool next_peer(const pto_sim_t *sim, pto_proc_t *proc, int64_t *peer_rank, int64_t *bytes) {
    pto_sim_move_t *move = &proc->at->move[proc->send_step];
    pto_action_t action = {.step = move->step,
                           .rank = proc->rank,
                           .core = proc->rank % sim->layout->procs_per_gpu,
                           .me = move->by_index ? proc->rank : proc->send_me,
                           .k = proc->at->walk.k};
    while (proc->send_next < proc->send_count) {
        *bytes = bytes_for(sim, move, proc->send_next++, &action);
        *peer_rank = action.peer_rank;
        if (*bytes >= 0)
            return true;
    }
    return false;
}

bool pto_sim_next_send_of_any(const pto_sim_t *sim, pto_proc_t *proc, int64_t *peer_rank, int64_t *bytes) {
    int last = proc->at->view->last_send;
    while (!proc->sends_made_all) {
        bool found = next_peer(sim, proc, peer_rank, bytes);
        proc->sends_made_all = proc->send_step == last && proc->send_next == proc->send_count;
        if (found)
            return true;
        if (proc->send_step < last)
            pto_sim_begin_sends(sim, proc, proc->send_step + 1);
    }
    return false;
}

void pto_sim_count_any_receives(const pto_sim_t *sim, pto_proc_t *proc, pto_sim_move_t *move) {
    pto_action_t action;
    int64_t peers, bytes;
    if (!move->receives || !begin_move(sim, proc, move, &action, &peers))
        return;
    for (int64_t j = 0; j < peers; j++)
        if ((bytes = bytes_for(sim, move, j, &action)) >= 0)
            pto_sim_expect(proc, pto_sim_representative(sim, action.peer_rank), bytes);
}

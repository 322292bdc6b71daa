/* Enumerates the messages of a rank's stage one by one, from the plan's arithmetic. A move is a step in one
 * iteration (pto_sim_move_t). Steps whose members are all ranks in order (`by_index`) are handled here,
 * inline, since run.c calls this for every message; all others are handled in moves.c. */
#ifndef PTO_SIMULATE_MOVES_H
#define PTO_SIMULATE_MOVES_H

#include "simulate/simulate_internal.h"

/* pto_sim_next_send for any step. */
bool pto_sim_next_send_of_any(const pto_sim_t *sim, pto_proc_t *proc, int64_t *peer_rank, int64_t *bytes);
/* Prepares a rank's sends in any step. */
void pto_sim_begin_any_sends(const pto_sim_t *sim, pto_proc_t *proc, const pto_sim_move_t *move);
/* Counts a rank's receives in any step. */
void pto_sim_count_any_receives(const pto_sim_t *sim, pto_proc_t *proc, pto_sim_move_t *move);
/* Work done in this thread, for tests: slices whose bytes were not in a table. */
extern _Thread_local int64_t pto_slices_measured;
/* Returns pto_slice_bytes of the step's source (`end` 0) or target (1). */
int64_t pto_sim_slice_bytes(const pto_sim_t *sim, const pto_sim_move_t *move, int end,
                            const pto_action_t *action);

/* Whether a rank acts in a step whose view is `by_index`. */
static inline bool pto_move_acts(const pto_sim_move_t *move, int64_t rank) {
    return move->all_act || (rank >= move->who_first && rank < move->who_until &&
                             (move->who_stride == 1 || (rank - move->who_first) % move->who_stride == 0));
}

/* Returns a rank's peer `number` in such a step: as pto_step_peer, nearly always without a division. */
static inline int64_t pto_move_peer(const pto_sim_move_t *move, int64_t rank, int64_t number) {
    int64_t value = move->peer_first + number * move->peer_stride;
    if (move->by_xor)
        return rank ^ value;
    int64_t peer = rank + value, size = move->group_size;
    peer -= peer >= size ? size : 0;
    return peer >= 0 && peer < size ? peer : pto_floor_mod(peer, size);
}

/* Returns the entry with the bytes of a step's source (0) or target (1) for a member of its group: -1 if they
 * have not been computed. NULL: no table. */
static inline int64_t *pto_move_bytes(const pto_sim_move_t *move, int end, int64_t me, int64_t core) {
    const pto_sizes_t *sizes = &move->sizes[end];
    int64_t number = me * sizes->stride + sizes->first;
    if (number >= sizes->count || number < 0)
        number = pto_floor_mod(number, sizes->count);
    return sizes->bytes ? &sizes->bytes[core * sizes->core_count + number] : NULL;
}

/* Returns the bytes between a member and its peer in a step; -1: they have to be computed. */
static inline int64_t pto_move_bytes_with(const pto_sim_t *sim, const pto_sim_move_t *move, int end,
                                          int64_t me, int64_t peer, int64_t core) {
    if (move->sizes[end].bytes)
        return *pto_move_bytes(move, end, me, core);
    const pto_slice_view_t *view = &move->view->slice[end];
    if (view->to_peer)
        return pto_skew_bytes(&sim->skew, me, peer);
    return view->from_peer ? pto_skew_bytes(&sim->skew, peer, me) : -1;
}

/* Prepares a rank's sends in a step of its stage. */
static inline void pto_sim_begin_sends(const pto_sim_t *sim, pto_proc_t *proc, int step) {
    const pto_sim_move_t *move = &proc->at->move[step];
    proc->send_step = (int16_t)step;
    proc->send_next = 0;
    proc->send_count = 0;
    if (!move->by_index)
        pto_sim_begin_any_sends(sim, proc, move);
    else if (move->sends && pto_move_acts(move, proc->rank))
        proc->send_count = (uint32_t)move->peer_count;
}

/* Finds the next non-empty send of the rank's stage; false if none is left. */
static inline bool pto_sim_next_send(const pto_sim_t *sim, pto_proc_t *proc, int64_t *peer_rank,
                                     int64_t *bytes) {
    if (proc->sends_made_all)
        return false;
    const pto_sim_move_t *move = &proc->at->move[proc->send_step];
    if (!move->by_index || proc->send_next == proc->send_count)
        return pto_sim_next_send_of_any(sim, proc, peer_rank, bytes);
    *peer_rank = pto_move_peer(move, proc->rank, proc->send_next);
    *bytes = pto_move_bytes_with(sim, move, 0, proc->rank, *peer_rank, 0);
    if (*bytes <= 0 || *peer_rank == (int64_t)proc->rank)
        return pto_sim_next_send_of_any(sim, proc, peer_rank, bytes);
    proc->sends_made_all =
        ++proc->send_next == proc->send_count && proc->send_step == proc->at->view->last_send;
    return true;
}

/* Adds a message from a simulated rank to those that a rank expects. */
static inline void pto_sim_expect(pto_proc_t *proc, int64_t source, int64_t bytes) {
    proc->recvs_open++;
    proc->expected += pto_sim_message_digest(source, bytes);
}

/* Adds all receives of the stage to the expected messages. */
PTO_SIM_HOT void pto_sim_count_receives(const pto_sim_t *sim, pto_proc_t *proc, bool plain) {
    const pto_passage_t *passage = proc->at;
    proc->recvs_open = 0;
    proc->expected = 0;
    for (int i = passage->view->first_recv; i <= passage->view->last_recv; i++) {
        pto_sim_move_t *move = &passage->move[i];
        int64_t count = move->receives && pto_move_acts(move, proc->rank) ? move->peer_count : 0;
        int64_t bytes = 0; /* of the last message; -1: they have to be computed */
        for (int64_t j = 0; move->by_index && j < count && bytes >= 0; j++) {
            const int64_t peer = pto_move_peer(move, proc->rank, j);
            if (peer == (int64_t)proc->rank)
                continue;
            bytes = pto_move_bytes_with(sim, move, 1, proc->rank, peer, 0);
            if (bytes > 0 || (bytes == 0 && move->step->send_empty))
                pto_sim_expect(proc, plain ? peer : pto_sim_representative(sim, peer), bytes);
        }
        if (!move->by_index || bytes < 0)
            pto_sim_count_any_receives(sim, proc, move);
    }
}

#endif

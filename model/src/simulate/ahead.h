/* Prefetching. A simulation of many ranks spends most of its time waiting for memory. Events of equal time
 * are in a list (events.h), so the records that the next events need can be prefetched. */
#ifndef PTO_SIMULATE_AHEAD_H
#define PTO_SIMULATE_AHEAD_H

#include "simulate/simulate_internal.h"

/* The number of ranks from which on their records rarely stay in the cache. */
enum { PTO_RANKS_TO_PREFETCH = 2048 };

#if defined(__GNUC__)
#define PTO_PREFETCH(address) __builtin_prefetch(address, 1)
#else
#define PTO_PREFETCH(address) ((void)(address))
#endif

/* Returns the rank of the event that comes `distance` after the next one, and its kind; NULL: none. */
PTO_SIM_HOT const pto_proc_t *pto_sim_proc_ahead(const pto_sim_t *sim, const pto_agenda_t *agenda,
                                                 uint32_t distance, pto_slot_t *slot) {
    uint32_t number = pto_agenda_ahead(agenda, distance);
    *slot = (pto_slot_t)(number % PTO_SLOTS_PER_RANK);
    return number < sim->job.first_link_slot ? &sim->proc[number / PTO_SLOTS_PER_RANK] : NULL;
}

/* Prefetches for the next events: first their ranks, then the messages of these, and then the ranks at the
 * other ends. */
PTO_SIM_HOT void pto_sim_prefetch(const pto_sim_t *sim, const pto_agenda_t *agenda) {
    enum { FAR = 12, MIDDLE = 8, NEAR = 4, CACHE_LINE = 64 };
    pto_slot_t slot;
    const pto_proc_t *proc = pto_sim_proc_ahead(sim, agenda, FAR, &slot);
    for (size_t line = 0; proc && line < sizeof *proc; line += CACHE_LINE)
        PTO_PREFETCH((const char *)proc + line);
    proc = pto_sim_proc_ahead(sim, agenda, MIDDLE, &slot);
    if (proc)
        PTO_PREFETCH(
            pto_message_at(&sim->pool, slot == PTO_SLOT_SEND ? proc->out.message : proc->in.message));
    proc = pto_sim_proc_ahead(sim, agenda, NEAR, &slot);
    if (proc && slot == PTO_SLOT_SEND && proc->out.message)
        PTO_PREFETCH(&sim->proc[pto_message_at(&sim->pool, proc->out.message)->target].in);
    if (proc && slot == PTO_SLOT_RECV && proc->in.message)
        PTO_PREFETCH(&sim->proc[pto_message_at(&sim->pool, proc->in.message)->source].out);
}

#endif

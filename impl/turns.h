/* The order in which a block executes its slices (kernel.h): one rule for all devices.
 *
 * The ops of a program form three phases: send (before the first wait), work, and end (the waits after all
 * other ops). With n slices, a block takes these turns:
 *
 *   send 0, send 1, work 0, send 2, work 1, ... send n - 1, work n - 2, work n - 1, end 0, ... end n - 1
 *
 * So it sends its next slice before it waits for what others send of the current one, and the link stays
 * busy. This order cannot deadlock: the send phases wait for no other block, so every block executes them;
 * and the first of all slices that are waited for in a work phase is ordered as if it were the only one. */
#ifndef PTO_TURNS_H
#define PTO_TURNS_H

#include <stdbool.h>

#include "anywhere.h"
#include "portolan/kernel.h"

/* The ends of a program's phases, as numbers of ops. */
typedef struct {
    unsigned send_end;
    unsigned work_end;
    unsigned op_count;
} pto_phases_t;

/* Returns the phases of a program. */
static inline pto_phases_t pto_phases_of(const pto_kernel_program_t *program) {
    int send_end = 0, work_end = program->op_count;
    while (send_end < program->op_count && program->ops[send_end].kind != PTO_KERNEL_WAIT)
        send_end++;
    while (work_end > send_end && program->ops[work_end - 1].kind == PTO_KERNEL_WAIT)
        work_end--;
    pto_phases_t phases = {(unsigned)send_end, (unsigned)work_end, (unsigned)program->op_count};
    return phases;
}

/* The work of one turn: the ops from `first` to before `end` of a slice; nothing if it does not exist. */
typedef struct {
    unsigned slice;
    unsigned first;
    unsigned end;
    bool begins; /* the first turn of the slice */
} pto_turn_t;

static inline PTO_ANYWHERE unsigned pto_turn_count(unsigned slices) { return 3 * slices + 1; }

static inline PTO_ANYWHERE pto_turn_t pto_turn(unsigned slices, pto_phases_t phases, unsigned turn) {
    pto_turn_t now = {turn / 2 - 1, phases.send_end, phases.work_end, false}; /* work */
    if (turn > 2 * slices) {
        now.slice = turn - 2 * slices - 1;
        now.first = phases.work_end;
        now.end = phases.op_count;
    } else if (turn == 0 || turn % 2 == 1) { /* send; of slice n, which does not exist, in turn 2 n - 1 */
        now.slice = (turn + 1) / 2;
        now.first = 0;
        now.end = phases.send_end;
        now.begins = true;
    }
    return now;
}

#endif

/* The order in which a block executes its slices (kernel.h): one rule for all devices.
 *
 * The ops of a program form three phases: send (before the first wait), work, and end (the waits after all
 * other ops). A block executes each phase once for each slice. With 3 slices, it takes these turns:
 *
 *   turn    0       1       2       3       4       5       6       7      8      9
 *   does    send 0  send 1  work 0  send 2  work 1  (none)  work 2  end 0  end 1  end 2
 *
 * So it sends its next slice before it waits for what others send of the current one, and the link stays
 * busy. Turn 5 would send slice 3, which does not exist.
 *
 * This order cannot deadlock. Send phases wait for nothing. Suppose that some blocks are stuck in work
 * phases, and let s be the lowest slice in which one is stuck. Then every block reaches the work of slice
 * s, and has sent slice s before. So slice s behaves as if it were the only one, and with one slice, a
 * plan does not deadlock (`check` proves that). The end phases come last, when no other block waits for
 * this one. */
#ifndef PTO_TURNS_H
#define PTO_TURNS_H

#include <stdbool.h>

#include "anywhere.h"
#include "portolan/kernel.h"

/* The ends of a program's phases: send is ops [0, send_end), work [send_end, work_end), end the others. */
typedef struct {
    unsigned send_end;
    unsigned work_end;
    unsigned op_count;
} pto_phases_t;

static inline pto_phases_t pto_phases_of(const pto_kernel_program_t *program) {
    int send_end = 0, work_end = program->op_count;
    while (send_end < program->op_count && program->ops[send_end].kind != PTO_KERNEL_WAIT)
        send_end++;
    while (work_end > send_end && program->ops[work_end - 1].kind == PTO_KERNEL_WAIT)
        work_end--;
    pto_phases_t phases = {(unsigned)send_end, (unsigned)work_end, (unsigned)program->op_count};
    return phases;
}

/* One turn: execute ops [first, end) for a slice; nothing if the slice's number is `slices`. */
typedef struct {
    unsigned slice;
    unsigned first;
    unsigned end;
    bool begins; /* this is the slice's send phase, its first turn */
} pto_turn_t;

static inline PTO_ANYWHERE unsigned pto_turn_count(unsigned slices) { return 3 * slices + 1; }

static inline PTO_ANYWHERE pto_turn_t pto_turn(unsigned slices, pto_phases_t phases, unsigned turn) {
    pto_turn_t now = {turn / 2 - 1, phases.send_end, phases.work_end, false}; /* work */
    if (turn > 2 * slices) {                                                  /* end */
        now.slice = turn - 2 * slices - 1;
        now.first = phases.work_end;
        now.end = phases.op_count;
    } else if (turn == 0 || turn % 2 == 1) { /* send */
        now.slice = (turn + 1) / 2;
        now.first = 0;
        now.end = phases.send_end;
        now.begins = true;
    }
    return now;
}

#endif

/* In which order a block goes through its slices: one rule for all devices. */
#ifndef PTO_TURNS_H
#define PTO_TURNS_H

#include <stdbool.h>

#include "anywhere.h"

/* A block's work in a turn: of slice `slice`, the ops from `first` to before `end`. No such slice:
 * nothing. */
typedef struct {
    unsigned slice;
    unsigned first;
    unsigned end;
    bool begins; /* the slice */
} pto_turn_t;

/* A program's ops before its first wait, those before the waits that nothing follows, and all. */
typedef struct {
    unsigned sends;
    unsigned works;
    unsigned ops;
} pto_cuts_t;

static inline PTO_ANYWHERE unsigned pto_turn_count(unsigned slices) { return 3 * slices + 1; }

/* A block sends its next slice before it waits for what others send of this one, so that the link has work.
 * Last of all it waits for what no op uses. Deadlock stays impossible: the sends wait for no other block, so
 * every block does them; and of all slices that are waited for in the middle, the first is ordered as if it
 * were alone. */
static inline PTO_ANYWHERE pto_turn_t pto_turn(unsigned slices, pto_cuts_t cuts, unsigned turn) {
    pto_turn_t now = {turn / 2 - 1, cuts.sends, cuts.works, false};
    if (turn > 2 * slices) {
        now.slice = turn - 2 * slices - 1;
        now.first = cuts.works;
        now.end = cuts.ops;
    } else if (turn == 0 || turn % 2 == 1) {
        now.slice = (turn + 1) / 2;
        now.first = 0;
        now.end = cuts.sends;
        now.begins = true;
    }
    return now;
}

#endif

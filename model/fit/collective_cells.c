/* How badly a machine predicts one measured cell. */
#include "collective_cells.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- tapes ---------------------------------------------------------------------------------------------- */

static size_t tapes_count(const collective_fit_t *fit) {
    return (size_t)fit->score.cell_count * COLLECTIVE_CANDIDATES_MAX;
}

/* Without memory for them, prices are computed as a whole. */
void collective_fit_begin_tapes(collective_fit_t *fit) {
    if (!fit->tapes)
        fit->tapes = calloc(tapes_count(fit) + 1, sizeof *fit->tapes);
}

void collective_fit_end_tapes(collective_fit_t *fit) {
    for (size_t i = 0; fit->tapes && i < tapes_count(fit); i++)
        for (int t = 0; t < fit->tapes[i].count; t++)
            pto_tape_destroy(fit->tapes[i].tape[t]);
    free(fit->tapes);
    fit->tapes = NULL;
}

static void move_to_front(collective_tapes_t *tapes, int from) {
    pto_tape_t *tape = tapes->tape[from];
    memmove(&tapes->tape[1], &tapes->tape[0], (size_t)from * sizeof *tapes->tape);
    tapes->tape[0] = tape;
}

static bool replay(collective_tapes_t *tapes, double *seconds) {
    for (int t = 0; t < tapes->count; t++)
        if (pto_tape_replay(tapes->tape[t], seconds)) {
            move_to_front(tapes, t);
            return true;
        }
    return false;
}

/* In front of the others, of which the one that was used least recently leaves if there are too many. */
static void keep(collective_tapes_t *tapes, pto_tape_t *tape) {
    tapes->refused = tape == NULL;
    if (!tape)
        return;
    if (tapes->count == COLLECTIVE_TAPES_MAX)
        pto_tape_destroy(tapes->tape[--tapes->count]);
    tapes->tape[tapes->count++] = tape;
    move_to_front(tapes, tapes->count - 1);
}

/* --- misses --------------------------------------------------------------------------------------------- */

static double price(collective_fit_t *fit, const pto_score_cell_t *cell, int candidate,
                    const pto_library_rule_t *rule, int64_t *call_bytes) {
    double seconds = 0;
    collective_tapes_t *tapes = NULL;
    if (fit->tapes && !rule)
        tapes = &fit->tapes[(cell - fit->score.cell) * COLLECTIVE_CANDIDATES_MAX + candidate];
    if (tapes && replay(tapes, &seconds))
        return seconds;
    pto_tape_t *tape = tapes && !tapes->refused ? pto_tape_begin() : NULL;
    fit->status = pto_score_price(cell, candidate, fit->machine, rule, call_bytes, &seconds, fit->err);
    if (tape)
        keep(tapes, pto_tape_end(tape, seconds));
    return seconds;
}

double collective_fit_miss(collective_fit_t *fit, const pto_score_cell_t *cell, int candidate,
                           const pto_library_rule_t *rule, int64_t *call_bytes) {
    double seconds = fit->status == PTO_OK ? price(fit, cell, candidate, rule, call_bytes) : 0;
    return seconds > 0 ? log(seconds / cell->candidate[candidate].measured_s) : 1;
}

double collective_fit_badness(const pto_score_cell_t *cell, const double *miss) {
    double sum = 0;
    int pick = 0;
    for (int c = 0; c < cell->candidate_count; c++) {
        sum += fabs(miss[c]);
        if (exp(miss[c]) * cell->candidate[c].measured_s < exp(miss[pick]) * cell->candidate[pick].measured_s)
            pick = c;
    }
    return sum / cell->candidate_count + pto_score_regret(cell, pick);
}

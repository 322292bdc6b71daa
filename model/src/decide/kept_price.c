/* Prices as short tapes (kept_price.h). */
#include "decide/kept_price.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

static void move_to_front(pto_kept_price_t *price, int from) {
    const pto_kept_tape_t tape = price->kept[from];
    memmove(&price->kept[1], &price->kept[0], (size_t)from * sizeof tape);
    price->kept[0] = tape;
}

bool pto_kept_price_find(pto_kept_price_t *price, unsigned known, const double *value,
                         const pto_kept_scratch_t *scratch, double *seconds) {
    for (int t = 0; t < price->count; t++)
        if (price->kept[t].known == known &&
            pto_short_tape_replay(price->kept[t].tape, value, scratch->place, seconds)) {
            if (t > 0)
                move_to_front(price, t);
            return true;
        }
    return false;
}

void pto_kept_price_add(pto_kept_price_t *price, unsigned known, const pto_tape_t *tape,
                        const pto_param_t *const *param, int count, pto_kept_scratch_t *scratch) {
    pto_short_tape_t *result = pto_tape_shorten(tape, param, count);
    if (!result || !PTO_RESERVE(scratch->place, scratch->count, pto_short_tape_places(result))) {
        pto_short_tape_destroy(result);
        return;
    }
    if (price->count == PTO_KEPT_TAPES_MAX)
        pto_short_tape_destroy(price->kept[--price->count].tape);
    price->kept[price->count++] = (pto_kept_tape_t){known, result};
    move_to_front(price, price->count - 1);
}

pto_tape_t *pto_kept_price_begin(const pto_kept_price_t *price, unsigned known) {
    return price->refused >> known & 1 ? NULL : pto_tape_begin();
}

void pto_kept_price_end(pto_kept_price_t *price, unsigned known, pto_tape_t *tape, double seconds,
                        const pto_param_t *const *param, int count, pto_kept_scratch_t *scratch) {
    if (tape)
        tape = pto_tape_end(tape, seconds);
    if (tape)
        pto_kept_price_add(price, known, tape, param, count, scratch);
    else
        price->refused |= UINT64_C(1) << known;
    pto_tape_destroy(tape);
}

void pto_kept_price_fini(pto_kept_price_t *price) {
    for (int t = 0; t < price->count; t++)
        pto_short_tape_destroy(price->kept[t].tape);
    price->count = 0;
}

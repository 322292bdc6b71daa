/* The offsets of blocks of different sizes in a rank's buffers, summed once for all slices. */
#include <stdlib.h>

#include "plan/plan_internal.h"

int64_t pto_buffer_block_bytes(const pto_plan_t *plan, int buffer, int64_t rank, int64_t block) {
    pto_held_t held = pto_held_by(plan, buffer, rank);
    return pto_held_block_bytes(&held, block);
}

/* Visits the blocks in the order of their offsets, without those that are dealt to other cores. */
static void fill_offsets(const pto_held_t *held, int64_t *offsets) {
    const pto_buffer_t *buffer = held->buffer;
    int64_t sign = buffer->cyclic == PTO_CYCLIC_BACKWARD ? -1 : 1, at = 0;
    bool dealt = buffer->cyclic != PTO_CYCLIC_NONE;
    for (int64_t i = dealt ? held->core : 0; i < buffer->block_count; i += dealt ? buffer->cyclic_count : 1) {
        int64_t block = dealt ? pto_floor_mod(held->index + sign * i, held->members) : i;
        offsets[block] = at;
        at += pto_held_block_bytes(held, block);
    }
}

pto_status_t pto_offsets_create(const pto_plan_t *plan, int64_t rank, pto_offsets_t **offsets,
                                pto_error_t *err) {
    pto_offsets_t *made = calloc(1, sizeof *made);
    int count = pto_plan_buffer_count(plan);
    if (made)
        made->of = calloc((size_t)count + 1, sizeof *made->of);
    bool room = made && made->of;
    for (int b = 0; room && b < count; b++) {
        pto_held_t held = pto_held_by(plan, b, rank);
        bool is_block_per_member =
            held.buffer->cyclic == PTO_CYCLIC_NONE || held.buffer->block_count == held.members;
        if (!pto_blocks_are_table(held.buffer) || !pto_buffer_holds(plan, b, rank) || !is_block_per_member ||
            held.buffer->cyclic == PTO_CYCLIC_ORDINAL)
            continue;
        made->count = b + 1;
        made->of[b] = calloc((size_t)held.buffer->block_count, sizeof *made->of[b]);
        room = made->of[b] != NULL;
        if (room)
            fill_offsets(&held, made->of[b]);
    }
    if (!room) {
        pto_offsets_destroy(made);
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for the offsets of blocks");
    }
    made->rank = rank;
    *offsets = made;
    return PTO_OK;
}

void pto_offsets_destroy(pto_offsets_t *offsets) {
    if (!offsets)
        return;
    for (int b = 0; b < offsets->count; b++)
        free(offsets->of[b]);
    free(offsets->of);
    free(offsets);
}

/* The offsets of blocks of different sizes in a rank's buffers (pto_offsets_t), summed once for all slices.
 * The executor and price create them; pto_slice_visit_by reads them. */
#include <stdlib.h>

#include "plan/plan_internal.h"

int64_t pto_buffer_block_bytes(const pto_plan_t *plan, int buffer, int64_t rank, int64_t block) {
    pto_held_t held = pto_held_by(plan, buffer, rank);
    return pto_held_block_bytes(&held, block);
}

/* Fills `offsets`, by block. Blocks that are dealt out are stored in the order of their distance; those of
 * other cores keep the offset 0. */
static void fill_offsets(const pto_held_t *held, int64_t *offsets) {
    const pto_buffer_t *buffer = held->buffer;
    bool dealt = buffer->cyclic != PTO_CYCLIC_NONE;
    int64_t sign = buffer->cyclic == PTO_CYCLIC_BACKWARD ? -1 : 1;
    int64_t first = dealt ? held->core : 0, stride = dealt ? buffer->cyclic_count : 1;
    int64_t offset = 0;
    for (int64_t i = first; i < buffer->block_count; i += stride) {
        int64_t block = dealt ? pto_floor_mod(held->index + sign * i, held->members) : i;
        offsets[block] = offset;
        offset += pto_held_block_bytes(held, block);
    }
}

pto_status_t pto_offsets_create(const pto_plan_t *plan, int64_t rank, pto_offsets_t **offsets,
                                pto_error_t *err) {
    pto_offsets_t *made = calloc(1, sizeof *made);
    int count = pto_plan_buffer_count(plan);
    if (made)
        made->by_buffer = calloc((size_t)count + 1, sizeof *made->by_buffer);
    bool has_memory = made && made->by_buffer;
    for (int b = 0; has_memory && b < count; b++) {
        pto_held_t held = pto_held_by(plan, b, rank);
        pto_cyclic_t cyclic = held.buffer->cyclic;
        bool is_supported = cyclic == PTO_CYCLIC_NONE ||
                            (cyclic != PTO_CYCLIC_ORDINAL && held.buffer->block_count == held.members);
        if (!pto_blocks_are_table(held.buffer) || !pto_buffer_holds(plan, b, rank) || !is_supported)
            continue;
        made->count = b + 1;
        made->by_buffer[b] = calloc((size_t)held.buffer->block_count, sizeof *made->by_buffer[b]);
        has_memory = made->by_buffer[b] != NULL;
        if (has_memory)
            fill_offsets(&held, made->by_buffer[b]);
    }
    if (!has_memory) {
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
        free(offsets->by_buffer[b]);
    free(offsets->by_buffer);
    free(offsets);
}

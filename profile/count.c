/* The profiler's tables in one process: messages and bytes sent to each process, by routine, kind and memory
 * space; sizes of messages; times of calls; and a row for each call. */
#include <stdlib.h>
#include <sys/mman.h>

#include "profile.h"

prof_t prof;

bool prof_count_begin(void) {
    prof.cells = (pto_slots_t){.slot_size = sizeof(prof_cell_t), .key_words = 1};
    prof.received = calloc((size_t)prof.size, sizeof *prof.received);
    return pto_slots_grow(&prof.cells) && prof.received;
}

/* A cache of the sizes of predefined datatypes, which are never freed. */
static struct {
    MPI_Datatype type;
    int64_t bytes;
} known_types[8];
static int known_count;

static void remember(MPI_Datatype type, int64_t bytes) {
    int integers, addresses, types, combiner = MPI_COMBINER_DUP;
    if (known_count == sizeof known_types / sizeof *known_types)
        return;
    PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    if (combiner != MPI_COMBINER_NAMED)
        return;
    known_types[known_count].type = type;
    known_types[known_count++].bytes = bytes;
}

int64_t prof_type_bytes(MPI_Datatype type) {
    MPI_Count bytes = 0;
    for (int i = 0; i < known_count; i++)
        if (known_types[i].type == type)
            return known_types[i].bytes;
    if (type == MPI_DATATYPE_NULL || PMPI_Type_size_x(type, &bytes) != MPI_SUCCESS || bytes < 0)
        return 0;
    remember(type, (int64_t)bytes);
    return (int64_t)bytes;
}

_Static_assert(sizeof(prof_key_t) == sizeof(uint64_t), "a key is one word");

prof_cell_t *prof_find_cell(const prof_key_t *key) { return pto_slots_find(&prof.cells, key); }

static int size_class(int64_t bytes) {
    return bytes > 0 ? 64 - __builtin_clzll((unsigned long long)bytes) : 0;
}

/* NULL: out of memory. */
static prof_cell_t *add_to_cell(const prof_key_t *key, int64_t messages, int64_t bytes_each) {
    prof_cell_t *cell = pto_slots_add(&prof.cells, key);
    if (!cell)
        return NULL;
    cell->messages += messages;
    cell->bytes += messages * bytes_each;
    prof_size_t *size = &prof.sizes[key->routine][key->space][size_class(bytes_each)];
    size->messages += messages;
    size->bytes += messages * bytes_each;
    return cell;
}

prof_cell_t *prof_count_sent(prof_routine_t routine, int kind, const prof_group_t *group, int peer, int tag,
                             int64_t messages, int64_t bytes_each, preload_space_t space) {
    prof_key_t key = {prof_world_rank(group, peer), (uint8_t)routine, (uint8_t)kind, (uint8_t)space,
                      PRELOAD_UNKNOWN};
    prof_cell_t *cell = key.peer >= 0 ? add_to_cell(&key, messages, bytes_each) : NULL;
    if (!cell && peer != MPI_PROC_NULL)
        prof.messages_lost += messages;
    if (cell && prof.ordered)
        prof_order_sent(cell, group->id, tag, messages, bytes_each);
    return cell;
}

prof_cell_t *prof_count_access(prof_routine_t routine, int kind, const prof_group_t *group, int peer,
                               int64_t bytes, preload_space_t space, preload_space_t peer_space) {
    prof_key_t key = {prof_world_rank(group, peer), (uint8_t)routine, (uint8_t)kind, (uint8_t)space,
                      (uint8_t)peer_space};
    prof_cell_t *cell = key.peer >= 0 ? add_to_cell(&key, 1, bytes) : NULL;
    if (!cell && peer != MPI_PROC_NULL)
        prof.messages_lost++;
    return cell;
}

void prof_count_received(const prof_group_t *group, int peer, int tag, int64_t messages,
                         preload_space_t space, int64_t post_index) {
    int world = prof_world_rank(group, peer);
    if (world < 0)
        return;
    prof.received[world] |= (uint8_t)(1u << space);
    if (prof.ordered)
        prof_order_received(world, group->id, tag, messages, space, post_index);
}

/* Allocate the next chunk of rows. NULL: out of memory, or too many rows. */
static prof_row_t *new_chunk(void) {
    int64_t number = prof.row_count / PROF_ROWS_PER_CHUNK, left = prof.row_max - prof.row_count;
    prof_row_t *chunk = left > 0 ? aligned_alloc(PROF_CHUNK_BYTES, PROF_CHUNK_BYTES) : NULL;
    if (!chunk)
        return NULL;
    madvise(chunk, PROF_CHUNK_BYTES, MADV_HUGEPAGE);
    prof.chunk[number] = prof.row = chunk;
    prof.row_end = chunk + (left < PROF_ROWS_PER_CHUNK ? left : PROF_ROWS_PER_CHUNK);
    return chunk;
}

void prof_count_call(const prof_call_t *call, const prof_group_t *group, int peer, int tag, int64_t bytes,
                     preload_space_t space) {
    if (!prof.enabled)
        return;
    prof_time_t *time = &prof.time[call->routine][space];
    time->calls++;
    time->inside_ticks += call->end_ticks - call->begin_ticks;
    prof_row_t *row = prof.row < prof.row_end ? prof.row : new_chunk();
    if (!row) {
        prof.rows_lost++;
        return;
    }
    row->begin_ticks = call->begin_ticks;
    row->end_ticks = call->end_ticks;
    row->bytes = bytes;
    row->group = group;
    row->peer = prof_world_rank(group, peer);
    row->tag = tag;
    row->routine = (uint8_t)call->routine;
    row->space = (uint8_t)space;
    prof.row = row + 1;
    prof.row_count++;
}

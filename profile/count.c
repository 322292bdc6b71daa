/* The tables of one process: what it sent to whom, by routine, kind and memory space, and the time of its
 * calls. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "profile.h"

prof_t prof;

enum { FIRST_CELLS = 256 };

int64_t prof_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

bool prof_count_begin(void) {
    prof.cell = calloc(FIRST_CELLS, sizeof *prof.cell);
    prof.cell_capacity = prof.cell ? FIRST_CELLS : 0;
    prof.received = calloc((size_t)prof.size, sizeof *prof.received);
    return prof.cell && prof.received;
}

/* Sizes of predefined types, whose handles never change their meaning. */
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

/* --- cells ---------------------------------------------------------------------------------------------- */

static size_t hash_of(int32_t peer, int routine, int kind, int space) {
    uint64_t key =
        (uint64_t)(uint32_t)peer << 24 | (uint64_t)routine << 16 | (uint64_t)kind << 8 | (uint64_t)space;
    key *= 0x9e3779b97f4a7c15u;
    return (size_t)(key ^ key >> 32);
}

/* The cell with this key, or the unused one where it belongs. */
static prof_cell_t *find_in(prof_cell_t *cells, size_t capacity, int32_t peer, int routine, int kind,
                            int space) {
    for (size_t at = hash_of(peer, routine, kind, space);; at++) {
        prof_cell_t *cell = &cells[at & (capacity - 1)];
        if (cell->messages == 0 ||
            (cell->peer == peer && cell->routine == routine && cell->kind == kind && cell->space == space))
            return cell;
    }
}

prof_cell_t *prof_find_cell(int32_t peer, int routine, int kind, int space) {
    prof_cell_t *cell = find_in(prof.cell, prof.cell_capacity, peer, routine, kind, space);
    return cell->messages > 0 ? cell : NULL;
}

/* The new table is complete before it replaces the old one, which a signal handler may be reading. */
static bool grow(void) {
    size_t capacity = 2 * prof.cell_capacity;
    prof_cell_t *larger = calloc(capacity, sizeof *larger), *before = prof.cell;
    if (!larger)
        return false;
    for (size_t i = 0; i < prof.cell_capacity; i++) {
        const prof_cell_t *cell = &before[i];
        if (cell->messages > 0)
            *find_in(larger, capacity, cell->peer, cell->routine, cell->kind, cell->space) = *cell;
    }
    prof.cell = larger;
    prof.cell_capacity = capacity;
    free(before);
    return true;
}

static int size_class(int64_t bytes) {
    int class = 0;
    for (; bytes > 0; bytes /= 2)
        class ++;
    return class;
}

prof_cell_t *prof_count_sent(prof_routine_t routine, int kind, const prof_group_t *group, int peer, int tag,
                             int64_t messages, int64_t bytes_each, prof_space_t space) {
    int world = prof_world_rank(group, peer);
    if (world < 0 || (prof.cell_count >= prof.cell_capacity / 2 && !grow())) {
        prof.messages_lost += peer == MPI_PROC_NULL ? 0 : messages;
        return NULL;
    }
    prof_cell_t *cell = find_in(prof.cell, prof.cell_capacity, world, (int)routine, kind, (int)space);
    if (cell->messages == 0) {
        *cell = (prof_cell_t){.peer = world,
                              .routine = (uint8_t)routine,
                              .kind = (uint8_t)kind,
                              .space = (uint8_t)space,
                              .arrival = PROF_UNKNOWN};
        prof.cell_count++;
    }
    cell->messages += messages;
    cell->bytes += messages * bytes_each;
    prof_size_t *size = &prof.sizes[routine][space][size_class(bytes_each)];
    size->messages += messages;
    size->bytes += messages * bytes_each;
    if (prof.ordered)
        prof_order_sent(cell, group->id, tag, messages, bytes_each);
    return cell;
}

static void receive_at(const prof_group_t *group, int peer, int tag, int64_t messages, prof_space_t space,
                       int64_t place) {
    int world = prof_world_rank(group, peer);
    if (world < 0)
        return;
    prof.received[world] |= (uint8_t)(1u << space);
    if (prof.ordered)
        prof_order_received(world, group->id, tag, messages, space, place);
}

void prof_count_received(const prof_group_t *group, int peer, int tag, int64_t messages, prof_space_t space) {
    receive_at(group, peer, tag, messages, space, prof_order_post());
}

void prof_count_received_at(const prof_group_t *group, int peer, int tag, prof_space_t space, int64_t place) {
    receive_at(group, peer, tag, 1, space, place);
}

/* --- calls ---------------------------------------------------------------------------------------------- */

static prof_line_t *new_line(void) {
    int64_t at = prof.line_count % PROF_LINES_PER_CHUNK, chunk = prof.line_count / PROF_LINES_PER_CHUNK;
    if (prof.line_count >= prof.line_max)
        return NULL;
    if (!prof.chunk[chunk])
        prof.chunk[chunk] = malloc(PROF_LINES_PER_CHUNK * sizeof(prof_line_t));
    return prof.chunk[chunk] ? &prof.chunk[chunk][at] : NULL;
}

void prof_count_call(const prof_call_t *call, const prof_group_t *group, int peer, int tag, int64_t bytes,
                     prof_space_t space) {
    if (!prof.enabled)
        return;
    prof_time_t *time = &prof.time[call->routine][space];
    time->calls++;
    time->inside += call->end - call->begin;
    prof_line_t *line = new_line();
    if (!line) {
        prof.lines_lost++;
        return;
    }
    *line = (prof_line_t){.begin = call->begin,
                          .end = call->end,
                          .bytes = bytes,
                          .group = group ? group->id : 0,
                          .procs = group ? group->size : 0,
                          .peer = group ? prof_world_rank(group, peer) : -1,
                          .tag = tag,
                          .routine = (uint8_t)call->routine,
                          .space = (uint8_t)space};
    prof.line_count++;
}

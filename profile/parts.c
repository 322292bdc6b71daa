/* The parts of collectives: which messages this process sends to and receives from each other process. For
 * alltoall, gather, scatter and neighborhood collectives, MPI's definition determines which bytes go from
 * which process to which, so the parts are exact. For the others, they are the messages of an algorithm that
 * the library may use: of one of portolan's plans (plans.c), or direct exchange ("linear"). */
#include "parts.h"

#include <stdlib.h>

#include "base/grow.h"

static bool is_in_place(const prof_side_t *side) { return side->buffer == MPI_IN_PLACE; }

/* Returns the bytes of block `i`, the one for process `i`. */
static int64_t bytes_for(const prof_side_t *side, int i) {
    MPI_Count count = side->count;
    if (side->counts)
        count = side->is_large ? ((const MPI_Count *)side->counts)[i] : ((const int *)side->counts)[i];
    return count * prof_type_bytes(side->types ? side->types[i] : side->type);
}

static preload_space_t space_of(const prof_side_t *side) {
    return side->types ? preload_space(side->buffer) : preload_message_space(side->buffer, side->type);
}

static int64_t sum_of(const prof_side_t *side, int n) {
    int64_t sum = 0;
    for (int i = 0; i < n; i++)
        sum += bytes_for(side, i);
    return sum;
}

/* A part: equal messages to or from one peer. */
typedef struct {
    int64_t messages;
    int64_t bytes;
    int peer; /* in the group */
    int kind;
    preload_space_t space;
    bool sends;
} part_t;

/* The parts of a persistent collective. */
struct prof_persistent {
    const prof_group_t *group;
    size_t count;
    size_t capacity;
    part_t *part;
};

static prof_persistent_t *recorded; /* to which parts are added while is_recording; NULL: out of memory */
static bool is_recording;

prof_persistent_t *prof_record_parts(void) {
    is_recording = true;
    recorded = calloc(1, sizeof *recorded);
    return recorded;
}

void prof_stop_recording(void) { is_recording = false; }

static void record(const prof_group_t *group, part_t part) {
    if (!recorded || !PTO_RESERVE(recorded->part, recorded->capacity, recorded->count + 1)) {
        prof.messages_lost += part.messages;
        return;
    }
    recorded->group = group;
    recorded->part[recorded->count++] = part;
}

static void count_part(prof_routine_t routine, const prof_group_t *group, const part_t *part) {
    /* Messages of a routine match only among themselves (order.c). Tags of MPI are not negative, and -1 is
     * none. */
    int tag = -2 - (int)routine;
    if (part->sends)
        prof_count_sent(routine, part->kind, group, part->peer, tag, part->messages, part->bytes,
                        part->space);
    else
        prof_count_received(group, part->peer, tag, part->messages, part->space, prof_order_post());
}

void prof_count_persistent(const prof_persistent_t *parts, prof_routine_t routine) {
    for (size_t i = 0; parts && i < parts->count; i++)
        count_part(routine, parts->group, &parts->part[i]);
}

void prof_persistent_free(prof_persistent_t *parts) {
    if (parts)
        free(parts->part);
    free(parts);
}

/* Records or counts a part, unless it is empty. */
static void add_part(const prof_collective_t *collective, const prof_group_t *group, part_t part) {
    if (part.bytes > 0 && is_recording)
        record(group, part);
    else if (part.bytes > 0)
        count_part(collective->call->routine, group, &part);
}

static void send_part(const prof_collective_t *collective, const prof_group_t *group, int kind, int peer,
                      int64_t messages, int64_t bytes, preload_space_t space) {
    add_part(collective, group, (part_t){messages, bytes, peer, kind, space, .sends = true});
}

static void receive_part(const prof_collective_t *collective, const prof_group_t *group, int peer,
                         int64_t messages, int64_t bytes, preload_space_t space) {
    add_part(collective, group, (part_t){messages, bytes, peer, 0, space, .sends = false});
}

static void count_call(const prof_collective_t *collective, const prof_group_t *group, int64_t bytes,
                       preload_space_t space) {
    prof_count_call(collective->call, group, collective->root, -1, bytes, space);
}

void prof_note(const prof_collective_t *collective, prof_parts_of_t *parts) {
    const prof_group_t *group = prof_group_of(collective->comm);
    if (parts && group && !group->is_inter)
        parts(collective, group);
    else
        count_call(collective, group, 0, PRELOAD_CPU);
}

/* Every process exchanges directly with all others. To each it sends that process's block of `sent` or, if
 * sends_own, its own block. From each it receives that process's block of the output or, if receives_own, its
 * own block. */
static void exchange_with_all(const prof_collective_t *collective, const prof_group_t *group, int kind,
                              const prof_side_t *sent, bool sends_own, bool receives_own) {
    const int me = group->rank;
    preload_space_t from = space_of(is_in_place(&collective->in) ? &collective->out : &collective->in);
    preload_space_t to = space_of(&collective->out);
    for (int i = 0; i < group->size; i++) {
        if (i == me)
            continue;
        send_part(collective, group, kind, i, 1, bytes_for(sent, sends_own ? me : i), from);
        receive_part(collective, group, i, 1, bytes_for(&collective->out, receives_own ? me : i), to);
    }
    count_call(collective, group, sends_own ? bytes_for(sent, me) : sum_of(sent, group->size), from);
}

void prof_parts_of_alltoall(const prof_collective_t *collective, const prof_group_t *group) {
    exchange_with_all(collective, group, PROF_EXACT,
                      is_in_place(&collective->in) ? &collective->out : &collective->in, false, false);
}

/* The root receives a block from each other process (gathers), or sends one to each. */
static void exchange_with_root(const prof_collective_t *collective, const prof_group_t *group, bool gathers) {
    const bool is_root = group->rank == collective->root, sends = gathers != is_root;
    const prof_side_t *side = sends ? &collective->in : &collective->out;
    preload_space_t space = space_of(side);
    for (int i = 0; i < (is_root ? group->size : 1); i++) {
        const int peer = is_root ? i : collective->root;
        if (peer != group->rank && sends)
            send_part(collective, group, PROF_EXACT, peer, 1, bytes_for(side, i), space);
        else if (peer != group->rank)
            receive_part(collective, group, peer, 1, bytes_for(side, i), space);
    }
    const bool scatters = is_root && !gathers;
    count_call(collective, group,
               scatters ? sum_of(side, group->size) : bytes_for(side, is_root ? group->rank : 0), space);
}

void prof_parts_of_gather(const prof_collective_t *collective, const prof_group_t *group) {
    exchange_with_root(collective, group, true);
}
void prof_parts_of_scatter(const prof_collective_t *collective, const prof_group_t *group) {
    exchange_with_root(collective, group, false);
}

/* Adds the parts by the plan of a collective, whose member 0 is the root. `bytes` are those of a vector or of
 * one block, `contributed_bytes` those of all data that this process contributes, which calls.csv has. */
static void by_plan(const prof_collective_t *collective, const prof_group_t *group, pto_collective_t planned,
                    int64_t bytes, int64_t contributed_bytes, int64_t element_bytes, preload_space_t space) {
    const int n = group->size, root = collective->root > 0 ? collective->root : 0;
    const int me = (group->rank - root + n) % n; /* as a member of the plan */
    const prof_parts_t *parts =
        n > 1 && bytes > 0
            ? prof_plan_parts(planned, n, me, bytes, element_bytes > 0 ? element_bytes : 1, space)
            : NULL;
    for (int i = 0; parts && i < parts->send_count; i++) {
        const prof_part_t *part = &parts->part[i];
        send_part(collective, group, parts->kind, (part->peer + root) % n, part->messages, part->bytes,
                  space);
    }
    for (int i = 0; parts && i < parts->receive_count; i++) {
        const prof_part_t *part = &parts->part[parts->send_count + 1 + i];
        receive_part(collective, group, (part->peer + root) % n, part->messages, part->bytes, space);
    }
    count_call(collective, group, contributed_bytes, space);
}

/* For a reduction, to which a process contributes this number of blocks. The elements that are combined have
 * the size of the datatype, even if it is a derived one. */
static void reduce_by_plan(const prof_collective_t *collective, const prof_group_t *group,
                           pto_collective_t planned, int blocks) {
    const int64_t bytes = bytes_for(&collective->in, 0);
    by_plan(collective, group, planned, bytes, blocks * bytes, prof_type_bytes(collective->in.type),
            space_of(is_in_place(&collective->in) ? &collective->out : &collective->in));
}

/* For a collective whose contribution has the size of one block of the output. */
static void output_by_plan(const prof_collective_t *collective, const prof_group_t *group,
                           pto_collective_t planned) {
    const int64_t bytes = bytes_for(&collective->out, 0);
    by_plan(collective, group, planned, bytes, bytes, 1, space_of(&collective->out));
}

void prof_parts_of_bcast(const prof_collective_t *collective, const prof_group_t *group) {
    output_by_plan(collective, group, PTO_COLLECTIVE_BROADCAST);
}
void prof_parts_of_allgather(const prof_collective_t *collective, const prof_group_t *group) {
    output_by_plan(collective, group, PTO_COLLECTIVE_ALLGATHER);
}
void prof_parts_of_reduce(const prof_collective_t *collective, const prof_group_t *group) {
    reduce_by_plan(collective, group, PTO_COLLECTIVE_REDUCE, 1);
}
void prof_parts_of_allreduce(const prof_collective_t *collective, const prof_group_t *group) {
    reduce_by_plan(collective, group, PTO_COLLECTIVE_ALLREDUCE, 1);
}
void prof_parts_of_reduce_scatter_block(const prof_collective_t *collective, const prof_group_t *group) {
    reduce_by_plan(collective, group, PTO_COLLECTIVE_REDUCE_SCATTER, group->size);
}

/* Every process sends its block to all others. */
void prof_parts_of_allgatherv(const prof_collective_t *collective, const prof_group_t *group) {
    exchange_with_all(collective, group, PROF_LINEAR, &collective->out, true, false);
}

/* Every process sends each other one that process's block of the vector. */
void prof_parts_of_reduce_scatter(const prof_collective_t *collective, const prof_group_t *group) {
    exchange_with_all(collective, group, PROF_LINEAR, &collective->out, false, true);
}

/* Every process sends its result to the next one. */
void prof_parts_of_scan(const prof_collective_t *collective, const prof_group_t *group) {
    preload_space_t space = space_of(is_in_place(&collective->in) ? &collective->out : &collective->in);
    int64_t bytes = bytes_for(&collective->in, 0);
    if (group->rank + 1 < group->size)
        send_part(collective, group, PROF_LINEAR, group->rank + 1, 1, bytes, space);
    if (group->rank > 0)
        receive_part(collective, group, group->rank - 1, 1, bytes, space_of(&collective->out));
    count_call(collective, group, bytes, space);
}

/* The neighbors of this process. MPI_PROC_NULL, a negative number, may be among them. */
typedef struct {
    int in_count;
    int out_count;
    int *in;        /* sources; one array with the destinations behind them */
    const int *out; /* destinations: within that array, or equal to `in` */
} neighbors_t;

static bool allocate_neighbors(neighbors_t *found, int in, int out) {
    found->in = calloc((size_t)in + (size_t)out + 1, sizeof *found->in);
    found->in_count = in;
    found->out_count = out;
    found->out = found->in ? found->in + in : NULL;
    return found->in != NULL;
}

/* The same if sources and destinations are the same processes. */
static bool allocate_symmetric(neighbors_t *found, int count) {
    bool taken = allocate_neighbors(found, count, 0);
    found->out_count = count;
    found->out = found->in;
    return taken;
}

static bool find_cart(MPI_Comm comm, neighbors_t *found) {
    int dims = 0;
    PMPI_Cartdim_get(comm, &dims);
    if (!allocate_symmetric(found, 2 * dims))
        return false;
    for (int i = 0; i < dims; i++)
        PMPI_Cart_shift(comm, i, 1, &found->in[2 * i], &found->in[2 * i + 1]);
    return true;
}

static bool find_graph(MPI_Comm comm, int rank, neighbors_t *found) {
    int count = 0;
    PMPI_Graph_neighbors_count(comm, rank, &count);
    if (!allocate_symmetric(found, count))
        return false;
    PMPI_Graph_neighbors(comm, rank, count, found->in);
    return true;
}

static bool find_dist_graph(MPI_Comm comm, neighbors_t *found) {
    int in = 0, out = 0, weighted = 0;
    PMPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
    int *weights = weighted ? calloc((size_t)in + (size_t)out + 1, sizeof *weights) : NULL;
    bool room = (!weighted || weights) && allocate_neighbors(found, in, out);
    if (room)
        PMPI_Dist_graph_neighbors(comm, in, found->in, weighted ? weights : MPI_UNWEIGHTED, out,
                                  found->in + in, weighted ? weights + in : MPI_UNWEIGHTED);
    free(weights);
    return room;
}

static bool find_neighbors(MPI_Comm comm, int rank, neighbors_t *found) {
    int kind = MPI_UNDEFINED;
    PMPI_Topo_test(comm, &kind);
    if (kind == MPI_CART)
        return find_cart(comm, found);
    if (kind == MPI_GRAPH)
        return find_graph(comm, rank, found);
    return kind == MPI_DIST_GRAPH && find_dist_graph(comm, found);
}

/* Every neighbor gets a block of its own or, if same_block, all get the same one. */
static void exchange_with_neighbors(const prof_collective_t *collective, const prof_group_t *group,
                                    bool same_block) {
    neighbors_t neighbors = {.in = NULL};
    preload_space_t from = space_of(&collective->in), to = space_of(&collective->out);
    int64_t bytes = 0;
    if (find_neighbors(collective->comm, group->rank, &neighbors)) {
        for (int i = 0; i < neighbors.out_count; i++) {
            int64_t own = neighbors.out[i] >= 0 ? bytes_for(&collective->in, same_block ? 0 : i) : 0;
            send_part(collective, group, PROF_EXACT, neighbors.out[i], 1, own, from);
            bytes += own;
        }
        for (int i = 0; i < neighbors.in_count; i++)
            if (neighbors.in[i] >= 0)
                receive_part(collective, group, neighbors.in[i], 1, bytes_for(&collective->out, i), to);
        free(neighbors.in);
    }
    count_call(collective, group, bytes, from);
}

void prof_parts_of_neighbor_allgather(const prof_collective_t *collective, const prof_group_t *group) {
    exchange_with_neighbors(collective, group, true);
}
void prof_parts_of_neighbor_alltoall(const prof_collective_t *collective, const prof_group_t *group) {
    exchange_with_neighbors(collective, group, false);
}

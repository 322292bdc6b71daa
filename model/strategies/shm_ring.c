/* shm_ring: the sender of a pair copies its message, chunk by chunk, into a ring of page-locked slots in host
 * memory that both processes share. The receiver copies the chunks out as they arrive. While one chunk leaves
 * the ring, the next one enters it (Ji et al., "Efficient Intranode Communication in GPU-Accelerated
 * Systems", 2012, section IV-C). With one chunk this is what the paper calls an eager cell.
 *
 * Flags replace the paper's lengths and pointers. "full" says that a chunk is in its slot, "empty" that the
 * slot may be filled again. The sender is therefore ahead of the receiver by at most the slots of the ring.
 * With 4 slots, it fills slot 0 with chunk 4 only once the receiver has drained chunk 0. Chunks are whole
 * elements, so no element continues in the next slot (the paper calls that surfeit).
 *
 * For messages both ways there are two rings, one for each direction, in branches that overlap: a process
 * fills one ring and drains the other. A halo exchange has a ring for each direction in the grid, so that the
 * directions of a phase overlap. */
#include "plan/sides.h"
#include "staging.h"

enum { SLOTS = 4 };

/* One direction. Slices [0] are those of chunk k, slices [1] those of the last chunk, which may be shorter
 * and has a slot of its own. */
typedef struct {
    pto_step_t sends;    /* a step of the sender, with the receiver as peer; its kind is set later */
    pto_step_t receives; /* a step of the receiver, with the sender as peer */
    /* The receiver's copy. It has no peer, unless processes without neighbors must skip it. */
    pto_step_t drains;
    pto_slice_t from[2]; /* in the sender's input */
    pto_slice_t slot[2]; /* in a buffer of the receiver */
    pto_slice_t to[2];   /* in the receiver's output */
    int64_t chunks;      /* including the last one */
    int full;            /* flags */
    int empty;
} ring_t;

static void flag_stage(pto_builder_t *builder, const char *name, pto_step_t step, pto_step_kind_t kind,
                       int flag) {
    step.kind = kind;
    step.flag = flag;
    pto_build_stage(builder, name, PTO_ORDER_SEQUENCE);
    pto_build_step(builder, step);
}

/* The sender waits until a slot is empty: a credit, in the words of flow control. */
static void take_credit(pto_builder_t *builder, const ring_t *ring) {
    flag_stage(builder, "take a credit", ring->sends, PTO_STEP_WAIT, ring->empty);
}

/* One chunk passes the ring. `was_used`: its slot has been used before, so the sender waits until it is
 * empty. `last`: it is the last chunk. */
static void pass(pto_builder_t *builder, const ring_t *ring, bool was_used, bool last) {
    if (was_used)
        take_credit(builder, ring);
    pto_build_local(builder, "fill", ring->sends, ring->from[last], pto_slice_of_peer(ring->slot[last]));
    flag_stage(builder, "full", ring->sends, PTO_STEP_SIGNAL, ring->full);
    flag_stage(builder, "wait for a chunk", ring->receives, PTO_STEP_WAIT, ring->full);
    pto_build_local(builder, "drain", ring->drains, ring->slot[last], ring->to[last]);
    flag_stage(builder, "empty", ring->receives, PTO_STEP_SIGNAL, ring->empty);
}

/* Passes chunks `from` to `to` - 1, none of which is the last one. */
static void pass_chunks(pto_builder_t *builder, const ring_t *ring, int64_t from, int64_t to) {
    if (to <= from)
        return;
    pto_build_loop(builder, from, to, false);
    pass(builder, ring, from > 0, false);
    pto_build_end(builder);
}

/* Returns the number of slots of the ring, without the slot of the last chunk. */
static int64_t slot_count(int64_t chunks) { return chunks - 1 < SLOTS ? chunks - 1 : SLOTS; }

/* Passes all chunks. The first ones, and the last one with its own slot, find their slots empty and need no
 * credit. At the end the sender takes the credits of all slots and of the last chunk's, so all are empty. */
static void build_ring(pto_builder_t *builder, const ring_t *ring) {
    int64_t slots = slot_count(ring->chunks);
    pass_chunks(builder, ring, 0, slots);
    pass_chunks(builder, ring, slots, ring->chunks - 1);
    pass(builder, ring, false, true);
    pto_build_loop(builder, 0, slots + 1, false);
    take_credit(builder, ring);
    pto_build_end(builder);
}

/* Builds slots at the receiver of a pair. */
static int build_slots(pto_builder_t *builder, const pto_exchange_t *user, int64_t sender, const char *name,
                       int64_t count, int64_t bytes) {
    pto_buffer_t slots = pto_temporary_like(builder, user->out, name);
    slots.space = PTO_SPACE_CPU;
    slots.held_first = 1 - sender;
    slots.held_stride = 2;
    slots.block_count = count;
    slots.block_bytes = bytes;
    return pto_build_buffer(builder, slots);
}

/* Returns a step of one member of the pair; its peer is the next (sign 1) or the previous (-1) member. */
static pto_step_t of_member(const pto_exchange_t *pair, int64_t member, int64_t sign) {
    pto_step_t step = pto_step_of(PTO_STEP_COPY, pair);
    step.who_first = pto_constant(member);
    step.who_until = pto_constant(member + 1);
    step.peers = pto_peers_at(pto_constant(1), sign);
    return step;
}

static void build_direction(pto_builder_t *builder, const pto_request_t *request, const pto_exchange_t *user,
                            int64_t sender) {
    ring_t ring = {.sends = of_member(user, sender, 1), .receives = of_member(user, 1 - sender, -1)};
    int64_t unit = pto_chunk_bytes(request->bytes, request->chunks);
    ring.chunks = pto_chunk_count(request->bytes, request->chunks);
    int64_t last_chunk = ring.chunks - 1, count = slot_count(ring.chunks);
    int slots = 0;
    if (count > 0)
        slots = build_slots(builder, user, sender, sender == 0 ? "ring" : "ring back", count, unit);
    int tail = build_slots(builder, user, sender, sender == 0 ? "last chunk" : "last chunk back", 1,
                           request->bytes - last_chunk * unit);
    for (int last = 0; last < 2; last++) {
        pto_expr_t chunk = last ? pto_constant(last_chunk) : pto_loop_index(1, 0);
        ring.from[last] = pto_slice_part(user->in, ring.chunks, PTO_ANCHOR_ABSOLUTE, chunk);
        ring.to[last] = pto_slice_part(user->out, ring.chunks, PTO_ANCHOR_ABSOLUTE, chunk);
        ring.slot[last] = pto_slice_block(last ? tail : slots, PTO_ANCHOR_ABSOLUTE);
        ring.slot[last].offset = last ? pto_constant(0) : chunk; /* modulo the number of slots */
    }
    ring.drains = ring.receives;
    ring.drains.peers = (pto_peers_t){.kind = PTO_PEERS_NONE};
    ring.full = pto_build_flag(builder, sender == 0 ? "full" : "full back");
    ring.empty = pto_build_flag(builder, sender == 0 ? "empty" : "empty back");
    build_ring(builder, &ring);
}

static void build_pair(pto_builder_t *builder, const pto_request_t *request) {
    pto_exchange_t user = pto_route_user(builder, request);
    if (!request->ends.both_ways) {
        build_direction(builder, request, &user, 0);
        return;
    }
    pto_build_parallel(builder);
    for (int64_t sender = 0; sender < 2; sender++) {
        pto_build_branch(builder);
        build_direction(builder, request, &user, sender);
        pto_build_end(builder);
    }
    pto_build_end(builder);
}

/* Names of buffers and flags for each shift, such as "ring to -1 0 +1", indexed by the shift's number
 * (pto_halo_shift). */
#define PLANE(name, x)                                                                                       \
    name x "-1 -1", name x "-1 0", name x "-1 +1", name x "0 -1", name x "0 0", name x "0 +1",               \
        name x "+1 -1", name x "+1 0", name x "+1 +1"
#define EVERY_SHIFT(name)                                                                                    \
    { PLANE(name, "-1 "), PLANE(name, "0 "), PLANE(name, "+1 ") }

static int build_cells(pto_builder_t *builder, int field, const char *name, int64_t cells) {
    pto_buffer_t slots = pto_temporary_like(builder, field, name);
    slots.space = PTO_SPACE_CPU;
    slots.block_count = cells;
    return pto_build_buffer(builder, slots);
}

static void build_halo_ring(pto_builder_t *builder, const pto_exchange_t *members, const int *shift) {
    static const char *const rings[] = EVERY_SHIFT("ring to "), *const tails[] =
                                                                    EVERY_SHIFT("last chunk to ");
    static const char *const full[] = EVERY_SHIFT("full to "), *const empty[] = EVERY_SHIFT("empty to ");
    const pto_request_t *request = pto_builder_request(builder);
    int64_t parts = request->chunks > 1 ? request->chunks : 1;
    pto_units_t units = pto_halo_units(&request->halo, shift, parts);
    int64_t count = slot_count(units.count);
    int number = 9 * (shift[0] + 1) + 3 * (shift[1] + 1) + shift[2] + 1, slots = 0;
    ring_t ring = {.sends = pto_step_of(PTO_STEP_COPY, members),
                   .receives = pto_step_of(PTO_STEP_COPY, members)};
    if (count > 0)
        slots = build_cells(builder, members->out, rings[number], count * units.cells);
    int tail = build_cells(builder, members->out, tails[number], units.last_cells);
    for (int last = 0; last < 2; last++) {
        pto_expr_t unit = last ? pto_constant(units.count - 1) : pto_loop_index(1, 0);
        pto_side_t side = pto_side_towards(builder, members->out, shift, parts, unit);
        ring.from[last] = side.border;
        ring.to[last] = side.halo;
        ring.slot[last] = last ? pto_side_packed(tail, pto_constant(0), units.last_cells)
                               : pto_side_packed(slots, pto_loop_index(units.cells, 0), units.cells);
        ring.sends.peers = side.to;
        ring.receives.peers = side.from;
    }
    ring.drains = ring.receives;
    ring.chunks = units.count;
    ring.full = pto_build_flag(builder, full[number]);
    ring.empty = pto_build_flag(builder, empty[number]);
    build_ring(builder, &ring);
}

static void build_phase(pto_builder_t *builder, const pto_exchange_t *members, int phase) {
    int shift[PTO_SHIFTS_MAX][PTO_DIMS_MAX], to_others = 0;
    int count = pto_halo_shifts(&pto_builder_request(builder)->halo, phase, shift);
    pto_side_t side[PTO_SHIFTS_MAX];
    for (int i = 0; i < count; i++) {
        side[i] = pto_side_towards(builder, members->out, shift[i], 1, pto_constant(0));
        to_others += !side[i].own;
    }
    pto_sides_own(builder, members, side, count);
    if (to_others == 0)
        return;
    pto_build_parallel(builder);
    for (int i = 0; i < count; i++) {
        if (side[i].own)
            continue;
        pto_build_branch(builder);
        build_halo_ring(builder, members, shift[i]);
        pto_build_end(builder);
    }
    pto_build_end(builder);
}

static void build_halo(pto_builder_t *builder, const pto_request_t *request) {
    pto_exchange_t members = pto_route_user(builder, request);
    for (int phase = 0; phase < pto_halo_phases(&request->halo); phase++)
        build_phase(builder, &members, phase);
}

static void build(pto_builder_t *builder, const pto_request_t *request) {
    if (request->collective == PTO_COLLECTIVE_HALO)
        build_halo(builder, request);
    else
        build_pair(builder, request);
}

static pto_status_t applicable(const pto_request_t *request, pto_error_t *err) {
    if (request->layout.nodes > 1)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "host memory is shared on one node only");
    return PTO_OK;
}

const pto_strategy_t pto_strategy_shm_ring = {
    .name = "shm_ring",
    .summary = "chunks go through a ring of page-locked host memory that both processes share",
    .collectives = 1u << PTO_COLLECTIVE_PAIR | 1u << PTO_COLLECTIVE_HALO,
    .direct = true,
    .chunked = true,
    .collective_space = PTO_SPACE_CPU,
    .applicable = applicable,
    .build = build,
};

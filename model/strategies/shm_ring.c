/* shm_ring: the sender of a pair copies its message, chunk by chunk, into a ring of page-locked slots in host
 * memory that both processes share; the receiver copies the chunks out as they come. While one chunk leaves
 * the ring the next one enters it (Ji et al., "Efficient Intranode Communication in GPU-Accelerated Systems",
 * 2012, section IV-C). One chunk alone is the paper's eager cell.
 *
 * Flags take the place of the paper's lengths and pointers: "full" says that a chunk is in its slot, "empty"
 * that the slot may be filled again. The sender runs ahead by the slots of the ring and no further. Chunks
 * are whole elements, so none goes on in the next slot (the paper's surfeit).
 *
 * Both ways there are two rings, one for each direction, in branches that overlap: a process fills one ring
 * and drains the other. */
#include "staging.h"

enum { SLOTS = 4 };

typedef struct {
    pto_exchange_t pair;
    pto_user_t user;
    int64_t sender; /* the member that fills the ring */
    int64_t chunks;
    int slots; /* the buffers: of all chunks but the last, which may be shorter, and of the last */
    int tail;
    int full;
    int empty;
} ring_t;

static pto_slice_t chunk(const ring_t *ring, int buffer, bool last) {
    return pto_slice_part(buffer, ring->chunks, PTO_ANCHOR_ABSOLUTE,
                          last ? pto_constant(ring->chunks - 1) : pto_loop_index(1, 0));
}

static pto_slice_t slot(const ring_t *ring, bool last) {
    pto_slice_t slot = pto_slice_block(last ? ring->tail : ring->slots, PTO_ANCHOR_ABSOLUTE);
    slot.offset = last ? pto_constant(0) : pto_loop_index(1, 0);
    return slot;
}

/* A step of one end, with the other as its peer. */
static pto_step_t of_end(pto_step_kind_t kind, const ring_t *ring, bool sends) {
    int64_t who = sends ? ring->sender : 1 - ring->sender;
    pto_step_t step = pto_step_of(kind, &ring->pair);
    step.who_first = pto_constant(who);
    step.who_until = pto_constant(who + 1);
    step.peers = pto_peers_at(pto_constant(1), sends ? 1 : -1);
    return step;
}

static void take_credit(pto_builder_t *builder, const ring_t *ring) {
    pto_step_t wait = of_end(PTO_STEP_WAIT, ring, true);
    wait.flag = ring->empty;
    pto_build_stage(builder, "take a credit", PTO_ORDER_SEQUENCE);
    pto_build_step(builder, wait);
}

/* One chunk's way. `credit`: its slot has been used before, so the sender waits until it is empty. */
static void pass(pto_builder_t *builder, const ring_t *ring, bool credit, bool last) {
    pto_slice_t own = slot(ring, last), peers = own;
    peers.holder = PTO_HOLDER_PEER;
    if (credit)
        take_credit(builder, ring);
    pto_route_pair_copy(builder, "fill", of_end(PTO_STEP_COPY, ring, true), chunk(ring, ring->user.in, last),
                        peers);
    pto_step_t signal = of_end(PTO_STEP_SIGNAL, ring, true);
    pto_step_t wait = of_end(PTO_STEP_WAIT, ring, false);
    signal.flag = wait.flag = ring->full;
    pto_build_stage(builder, "full", PTO_ORDER_SEQUENCE);
    pto_build_step(builder, signal);
    pto_build_step(builder, wait);
    pto_route_pair_copy(builder, "drain", of_end(PTO_STEP_COPY, ring, false), own,
                        chunk(ring, ring->user.out, last));
    signal = of_end(PTO_STEP_SIGNAL, ring, false);
    signal.flag = ring->empty;
    pto_build_stage(builder, "empty", PTO_ORDER_SEQUENCE);
    pto_build_step(builder, signal);
}

static void pass_chunks(pto_builder_t *builder, const ring_t *ring, int64_t from, int64_t to) {
    if (to <= from)
        return;
    pto_build_loop(builder, from, to, false);
    pass(builder, ring, from > 0, false);
    pto_build_end(builder);
}

/* The ring lies with the receiver. */
static int build_slots(pto_builder_t *builder, const ring_t *ring, const char *name, int64_t count,
                       int64_t bytes) {
    pto_buffer_t slots = *pto_builder_buffer(builder, ring->user.out);
    slots.name = name;
    slots.role = PTO_ROLE_TEMPORARY;
    slots.space = PTO_SPACE_CPU;
    slots.held_first = 1 - ring->sender;
    slots.held_stride = 2;
    slots.block_count = count;
    slots.block_bytes = bytes;
    return pto_build_buffer(builder, slots);
}

static void build_ring(pto_builder_t *builder, const pto_request_t *request, const pto_user_t *user,
                       int64_t sender) {
    ring_t ring = {.user = *user, .pair = pto_route_pair(request, user), .sender = sender};
    int64_t unit = pto_chunk_bytes(request->bytes, request->chunks);
    ring.chunks = pto_chunk_count(request->bytes, request->chunks);
    int64_t before_last = ring.chunks - 1, ahead = before_last < SLOTS ? before_last : SLOTS;
    if (ahead > 0)
        ring.slots = build_slots(builder, &ring, sender == 0 ? "ring" : "ring back", ahead, unit);
    ring.tail = build_slots(builder, &ring, sender == 0 ? "last chunk" : "last chunk back", 1,
                            request->bytes - before_last * unit);
    ring.full = pto_build_flag(builder, sender == 0 ? "full" : "full back");
    ring.empty = pto_build_flag(builder, sender == 0 ? "empty" : "empty back");
    pass_chunks(builder, &ring, 0, ahead);
    pass_chunks(builder, &ring, ahead, before_last);
    pass(builder, &ring, false, true);
    pto_build_loop(builder, 0, ahead + 1, false);
    take_credit(builder, &ring);
    pto_build_end(builder);
}

static void build(pto_builder_t *builder, const pto_request_t *request) {
    pto_user_t user = pto_route_user(builder, request);
    if (!request->ends.both_ways) {
        build_ring(builder, request, &user, 0);
        return;
    }
    pto_build_parallel(builder);
    for (int64_t sender = 0; sender < 2; sender++) {
        pto_build_branch(builder);
        build_ring(builder, request, &user, sender);
        pto_build_end(builder);
    }
    pto_build_end(builder);
}

static pto_status_t applicable(const pto_request_t *request, pto_error_t *err) {
    if (request->layout.nodes > 1)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "host memory is shared on one node only");
    return PTO_OK;
}

const pto_strategy_t pto_strategy_shm_ring = {
    .name = "shm_ring",
    .summary = "chunks go through a ring of page-locked host memory that both processes share",
    .collectives = 1u << PTO_COLLECTIVE_PAIR,
    .direct = true,
    .chunked = true,
    .collective_space = PTO_SPACE_CPU,
    .applicable = applicable,
    .build = build,
};

/* shm_ring: the sender of a pair copies its message, chunk by chunk, into a ring of page-locked slots in host
 * memory that both processes share; the receiver copies the chunks out as they come. While one chunk leaves
 * the ring the next one enters it (Ji et al., "Efficient Intranode Communication in GPU-Accelerated Systems",
 * 2012, section IV-C). One chunk alone is the paper's eager cell.
 *
 * Flags take the place of the paper's lengths and pointers: "full" says that a chunk is in its slot, "empty"
 * that the slot may be filled again. The sender runs ahead by the slots of the ring and no further. Chunks
 * are whole elements, so none goes on in the next slot (the paper's surfeit). */
#include "staging.h"

enum { SLOTS = 4 };

typedef struct {
    pto_exchange_t pair;
    pto_user_t user;
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

static void take_credit(pto_builder_t *builder, const ring_t *ring) {
    pto_step_t wait = pto_build_sender(builder, PTO_STEP_WAIT, &ring->pair);
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
    pto_route_pair_copy(builder, "fill", pto_build_sender(builder, PTO_STEP_COPY, &ring->pair),
                        chunk(ring, ring->user.in, last), peers);
    pto_step_t signal = pto_build_sender(builder, PTO_STEP_SIGNAL, &ring->pair);
    pto_step_t wait = pto_build_receiver(builder, PTO_STEP_WAIT, &ring->pair);
    signal.flag = wait.flag = ring->full;
    pto_build_stage(builder, "full", PTO_ORDER_SEQUENCE);
    pto_build_step(builder, signal);
    pto_build_step(builder, wait);
    pto_route_pair_copy(builder, "drain", pto_build_receiver(builder, PTO_STEP_COPY, &ring->pair), own,
                        chunk(ring, ring->user.out, last));
    signal = pto_build_receiver(builder, PTO_STEP_SIGNAL, &ring->pair);
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
    slots.block_count = count;
    slots.block_bytes = bytes;
    return pto_build_buffer(builder, slots);
}

static void build(pto_builder_t *builder, const pto_request_t *request) {
    ring_t ring = {.user = pto_route_user(builder, request)};
    int64_t unit = pto_chunk_bytes(request->bytes, request->chunks);
    ring.chunks = pto_chunk_count(request->bytes, request->chunks);
    ring.pair = pto_route_pair(request, &ring.user);
    int64_t before_last = ring.chunks - 1, ahead = before_last < SLOTS ? before_last : SLOTS;
    if (ahead > 0)
        ring.slots = build_slots(builder, &ring, "ring", ahead, unit);
    ring.tail = build_slots(builder, &ring, "last chunk", 1, request->bytes - before_last * unit);
    ring.full = pto_build_flag(builder, "full");
    ring.empty = pto_build_flag(builder, "empty");
    pass_chunks(builder, &ring, 0, ahead);
    pass_chunks(builder, &ring, ahead, before_last);
    pass(builder, &ring, false, true);
    pto_build_loop(builder, 0, ahead + 1, false);
    take_credit(builder, &ring);
    pto_build_end(builder);
}

static pto_status_t applicable(const pto_request_t *request, pto_error_t *err) {
    if (request->layout.nodes > 1)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "host memory is shared on one node only");
    if (request->ends.both_ways)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "a ring goes one way");
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

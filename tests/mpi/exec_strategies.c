/* Strategies whose processes share host memory. */
#include "exec_strategies.h"

#include <stdio.h>
#include <stdlib.h>

#include "../../model/strategies/intranode.h"

/* --- a ring of host memory at each receiver ------------------------------------------------------------- */

ring_shape_t ring_shape;

/* The vector in grains: chunks of `chunk` grains, of which the last may be shorter. */
typedef struct {
    int64_t slots;
    int64_t chunk;
    int64_t whole; /* number of whole chunks */
    int64_t rest;  /* grains of the last chunk; 0: it is whole */
    int64_t all;
} cut_t;

static cut_t cut_of(const pto_request_t *request, int64_t grain) {
    static const int64_t chunks[] = {1, 3, 7, 16, 33, 1000};
    cut_t cut = {.slots = ring_shape.slots, .all = request->bytes / grain};
    int64_t wanted = ring_shape.chunks;
    if (cut.slots == 0)
        cut.slots = (int64_t)1 << request->bytes % 5;
    if (wanted == 0)
        wanted = chunks[request->bytes / 5 % (int64_t)(sizeof chunks / sizeof *chunks)];
    cut.chunk = cut.all > wanted ? (cut.all + wanted - 1) / wanted : 1;
    cut.whole = cut.all / cut.chunk;
    cut.rest = cut.all % cut.chunk;
    return cut;
}

typedef struct {
    pto_builder_t *builder;
    pto_exchange_t who;
    cut_t cut;
    int in;
    int out;
    int ring;
    int full;
    int empty;
} ring_t;

/* `grains` grains from the k-th chunk's place on. Places in the ring count modulo its slots. */
static pto_slice_t chunk_of(const ring_t *ring, int buffer, int64_t grains, pto_expr_t k) {
    int64_t units = buffer == ring->ring ? ring->cut.slots * ring->cut.chunk : ring->cut.all;
    pto_expr_t offset = {.constant = k.constant * ring->cut.chunk, .loop = k.loop * ring->cut.chunk};
    pto_slice_t slice = pto_slice_part(buffer, units > 0 ? units : 1, PTO_ANCHOR_ABSOLUTE, offset);
    slice.run = slice.stride = slice.until = pto_constant(grains);
    return slice;
}

static void add_flag(const ring_t *ring, pto_step_t step, int flag) {
    step.flag = flag;
    pto_build_step(ring->builder, step);
}

/* One chunk: from the root into everyone's ring, and on to everyone's output. */
static void build_chunk(const ring_t *ring, int64_t grains, pto_expr_t k, bool waits) {
    pto_build_stage(ring->builder, "fill", PTO_ORDER_SEQUENCE);
    if (waits)
        add_flag(ring, pto_intranode_root(PTO_STEP_WAIT, &ring->who), ring->empty);
    pto_step_t fill = pto_intranode_root(PTO_STEP_COPY, &ring->who);
    fill.source = chunk_of(ring, ring->in, grains, k);
    fill.target = chunk_of(ring, ring->ring, grains, k);
    fill.target.holder = PTO_HOLDER_PEER;
    pto_build_step(ring->builder, fill);
    add_flag(ring, pto_intranode_root(PTO_STEP_SIGNAL, &ring->who), ring->full);
    pto_build_stage(ring->builder, "drain", PTO_ORDER_SEQUENCE);
    add_flag(ring, pto_intranode_others(PTO_STEP_WAIT, &ring->who), ring->full);
    pto_step_t drain = pto_intranode_others(PTO_STEP_COPY, &ring->who);
    drain.peers.kind = PTO_PEERS_NONE;
    drain.source = chunk_of(ring, ring->ring, grains, k);
    drain.target = chunk_of(ring, ring->out, grains, k);
    pto_build_step(ring->builder, drain);
    add_flag(ring, pto_intranode_others(PTO_STEP_SIGNAL, &ring->who), ring->empty);
}

static void build_chunks(const ring_t *ring, int64_t from, int64_t to, bool waits) {
    pto_build_loop(ring->builder, from, to, false);
    build_chunk(ring, ring->cut.chunk, pto_loop_index(1, 0), waits);
    pto_build_end(ring->builder);
}

static int64_t smaller(int64_t one, int64_t other) { return one < other ? one : other; }

static void build_ring(pto_builder_t *builder, const pto_request_t *request) {
    pto_user_t user = pto_route_user(builder, request);
    int64_t grain = pto_builder_buffer(builder, user.in)->granularity_bytes;
    ring_t ring = {.builder = builder, .cut = cut_of(request, grain), .in = user.in, .out = user.out};
    ring.who = (pto_exchange_t){.group = user.owners,
                                .n = pto_layout_owner_count(&request->layout),
                                .core_count = request->layout.owners_per_gpu};
    pto_buffer_t slots = pto_intranode_shape(builder, &ring.who, user.out, "ring", 1, 1);
    slots.space = PTO_SPACE_CPU;
    slots.block_bytes = ring.cut.all > 0 ? ring.cut.slots * ring.cut.chunk * grain : 0;
    ring.ring = pto_build_buffer(builder, slots);
    ring.full = pto_build_flag(builder, "full");
    ring.empty = pto_build_flag(builder, "empty");
    pto_step_t own = pto_intranode_root(PTO_STEP_COPY, &ring.who);
    own.peers.kind = PTO_PEERS_NONE;
    own.source = pto_slice_all(builder, user.in);
    own.target = pto_slice_all(builder, user.out);
    pto_build_stage(builder, "own", PTO_ORDER_SEQUENCE);
    pto_build_step(builder, own);
    int64_t whole = ring.cut.whole, filled = smaller(whole, ring.cut.slots);
    build_chunks(&ring, 0, filled, false);
    build_chunks(&ring, filled, whole, true);
    if (ring.cut.rest > 0)
        build_chunk(&ring, ring.cut.rest, pto_constant(whole), whole >= ring.cut.slots);
    pto_build_loop(builder, 0, smaller(whole + (ring.cut.rest > 0), ring.cut.slots), false);
    pto_build_stage(builder, "empty", PTO_ORDER_SEQUENCE);
    add_flag(&ring, pto_intranode_root(PTO_STEP_WAIT, &ring.who), ring.empty);
    pto_build_end(builder);
}

/* --- one host buffer for all processes of a GPU --------------------------------------------------------- */

static void build_between(pto_builder_t *builder, const pto_shares_t *shares, const char *name,
                          bool to_owner) {
    pto_exchange_t gpu = {.group = shares->gpu, .n = shares->count, .core_count = shares->count};
    pto_step_t owner = pto_intranode_root(PTO_STEP_SIGNAL, &gpu);
    pto_step_t others = pto_intranode_others(PTO_STEP_SIGNAL, &gpu);
    pto_intranode_flag(builder, name, to_owner ? others : owner, to_owner ? owner : others);
}

/* dup_devptr through host memory: the owner stages its vector, every process works on its share of it. */
static void build_shared_staging(pto_builder_t *builder, const pto_request_t *request) {
    pto_user_t user = pto_route_user(builder, request);
    pto_shares_t shares = pto_route_shares(builder, request, &user);
    int whole = pto_build_mirror(builder, user.out, "staged", PTO_SPACE_CPU);
    pto_slice_t mine = pto_route_share_in_whole(builder, &shares, whole, shares.in, PTO_SHARE_MINE);
    mine.holder = PTO_HOLDER_OWNER;
    pto_slice_t share = pto_route_share(builder, &shares, shares.in);
    pto_route_copy(builder, "stage", user.owners, 0, 1, pto_slice_all(builder, user.in),
                   pto_slice_all(builder, whole));
    build_between(builder, &shares, "staged", false);
    pto_route_copy(builder, "take shares", shares.cores, 0, shares.count, mine, share);
    pto_route_share_exchange(builder, request, &shares);
    pto_route_copy(builder, "give shares", shares.cores, 0, shares.count, share, mine);
    build_between(builder, &shares, "reduced", true);
    pto_route_copy(builder, "copy to device", user.owners, 0, 1, pto_slice_all(builder, whole),
                   pto_slice_all(builder, user.out));
}

/* --- all of them ---------------------------------------------------------------------------------------- */

static const pto_strategy_t strategies[] = {
    {.name = "host_ring",
     .summary = "the root copies chunks into a ring of host memory at each process",
     .collectives = 1u << PTO_COLLECTIVE_BROADCAST,
     .direct = true,
     .collective_space = PTO_SPACE_CPU,
     .applicable = pto_intranode_applicable,
     .build = build_ring},
    {.name = "shared_staging",
     .summary = "all processes of a GPU share its owner's staging buffer",
     .collectives = 1u << PTO_COLLECTIVE_ALLREDUCE,
     .splits = true,
     .collective_space = PTO_SPACE_CPU,
     .build = build_shared_staging},
};

void strategies_register(void) {
    pto_error_t err = {0};
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++)
        if (pto_strategy_register(&strategies[i], &err) != PTO_OK) {
            fprintf(stderr, "%s\n", err.message);
            abort();
        }
}

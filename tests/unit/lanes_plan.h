/* Plans with lanes and rings, built as a user's strategies are. */
#ifndef PTO_TEST_LANES_PLAN_H
#define PTO_TEST_LANES_PLAN_H

#include "built.h"
#include "must.h"
#include "test.h"

/* What the strategies below build; the tests change it between plans. */
static struct {
    int64_t slots;  /* of a ring or a pipeline */
    int64_t chunks; /* of the message */
    int64_t gpus;   /* of a node; 0: two in all */
    bool no_credits;
    bool two_sockets;        /* one GPU each */
    bool one_gpu;            /* both processes of a node share a GPU */
    bool steals;             /* the second branch reads what the first one writes */
    bool same_flag;          /* both raise one flag */
    pto_copy_kind_t kind[2]; /* of a pair's steps; H2H: a message instead */
    bool one_slot_less;      /* in the pipeline's buffers than its depth */
} shape;

static inline int test_buffer(pto_builder_t *builder, const char *name, pto_role_t role, pto_space_t space,
                              int64_t blocks, int64_t bytes) {
    return pto_build_buffer(builder, (pto_buffer_t){.name = name,
                                                    .role = role,
                                                    .space = space,
                                                    .core_count = shape.one_gpu ? 2 : 1,
                                                    .group = PTO_GROUP_OWNERS,
                                                    .block_count = blocks,
                                                    .block_bytes = bytes,
                                                    .granularity_bytes = 1});
}

static inline pto_exchange_t test_owners(pto_builder_t *builder, const pto_request_t *request) {
    return (pto_exchange_t){.group = pto_build_group(builder, PTO_GROUP_OWNERS, 0),
                            .n = pto_layout_owner_count(&request->layout),
                            .core_count = shape.one_gpu ? 2 : 1};
}

/* Part k of a vector, and slot k of a ring. */
static inline pto_slice_t test_chunk(int buffer) {
    return pto_slice_part(buffer, shape.chunks, PTO_ANCHOR_ABSOLUTE, pto_loop_index(1, 0));
}

static inline pto_slice_t test_slot(int buffer) {
    pto_slice_t slot = pto_slice_block(buffer, PTO_ANCHOR_ABSOLUTE);
    slot.offset = pto_loop_index(1, 0);
    return slot;
}

/* --- a ring: a broadcast from one process to another through host memory of the receiver ---------------- */

typedef struct {
    pto_exchange_t owners;
    int in;
    int out;
    int ring;
    int full;
    int empty;
} test_ring_t;

/* One slot's way; `credit`: the sender first waits for one to be empty. */
static inline void ring_round(pto_builder_t *builder, const test_ring_t *ring, bool credit) {
    pto_step_t wait = step_of_member(PTO_STEP_WAIT, &ring->owners, 0, 1);
    pto_step_t copy = step_of_member(PTO_STEP_COPY, &ring->owners, 0, 1);
    pto_step_t signal = step_of_member(PTO_STEP_SIGNAL, &ring->owners, 0, 1);
    pto_slice_t slot = test_slot(ring->ring);
    wait.flag = ring->empty;
    signal.flag = ring->full;
    slot.holder = PTO_HOLDER_PEER;
    pto_build_stage(builder, "fill", PTO_ORDER_SEQUENCE);
    if (credit && !shape.no_credits)
        pto_build_step(builder, wait);
    add_copy(builder, copy, test_chunk(ring->in), slot);
    pto_build_step(builder, signal);
    wait = step_of_member(PTO_STEP_WAIT, &ring->owners, 1, 0);
    signal = step_of_member(PTO_STEP_SIGNAL, &ring->owners, 1, 0);
    wait.flag = ring->full;
    signal.flag = ring->empty;
    pto_build_stage(builder, "drain", PTO_ORDER_SEQUENCE);
    pto_build_step(builder, wait);
    add_copy(builder, step_of_member(PTO_STEP_COPY, &ring->owners, 1, -1), test_slot(ring->ring),
             test_chunk(ring->out));
    if (!shape.no_credits)
        pto_build_step(builder, signal);
}

static inline void build_ring(pto_builder_t *builder, const pto_request_t *request) {
    test_ring_t ring = {.owners = test_owners(builder, request)};
    int64_t first = shape.slots < shape.chunks ? shape.slots : shape.chunks;
    ring.in = test_buffer(builder, "in", PTO_ROLE_IN, PTO_SPACE_GPU, 1, request->bytes);
    ring.out = test_buffer(builder, "out", PTO_ROLE_OUT, PTO_SPACE_GPU, 1, request->bytes);
    ring.ring = test_buffer(builder, "ring", PTO_ROLE_TEMPORARY, PTO_SPACE_CPU, shape.slots,
                            request->bytes / shape.chunks);
    ring.full = pto_build_flag(builder, "full");
    ring.empty = pto_build_flag(builder, "empty");
    pto_build_stage(builder, "own", PTO_ORDER_SEQUENCE);
    add_copy(builder, step_of_member(PTO_STEP_COPY, &ring.owners, 0, -1), pto_slice_all(builder, ring.in),
             pto_slice_all(builder, ring.out));
    pto_build_loop(builder, 0, first, false);
    ring_round(builder, &ring, false);
    pto_build_end(builder);
    pto_build_loop(builder, first, shape.chunks, false);
    ring_round(builder, &ring, true);
    pto_build_end(builder);
    pto_step_t wait = step_of_member(PTO_STEP_WAIT, &ring.owners, 0, 1);
    wait.flag = ring.empty;
    pto_build_loop(builder, 0, shape.no_credits ? 0 : first, false);
    pto_build_stage(builder, "take credits", PTO_ORDER_SEQUENCE);
    pto_build_step(builder, wait);
    pto_build_end(builder);
}

/* --- a pipeline: messages to the next node through host memory ------------------------------------------ */

static inline void build_pipeline(pto_builder_t *builder, const pto_request_t *request) {
    pto_exchange_t owners = test_owners(builder, request);
    int64_t slots = shape.slots - shape.one_slot_less, bytes = request->bytes / shape.chunks;
    int in = test_buffer(builder, "in", PTO_ROLE_IN, PTO_SPACE_GPU, 1, request->bytes);
    int out = test_buffer(builder, "out", PTO_ROLE_OUT, PTO_SPACE_GPU, 1, request->bytes);
    int host_in = test_buffer(builder, "host in", PTO_ROLE_TEMPORARY, PTO_SPACE_CPU, slots, bytes);
    int host_out = test_buffer(builder, "host out", PTO_ROLE_TEMPORARY, PTO_SPACE_CPU, slots, bytes);
    pto_step_t send = pto_step_of(PTO_STEP_SEND, &owners), recv = pto_step_of(PTO_STEP_RECV, &owners);
    send.peers = pto_peers_at(pto_constant(1), 1);
    recv.peers = pto_peers_at(pto_constant(1), -1);
    send.source = test_slot(host_in);
    recv.target = test_slot(host_out);
    pto_build_pipeline(builder, 0, shape.chunks, shape.slots);
    pto_build_stage(builder, "copy to host", PTO_ORDER_SEQUENCE);
    add_copy(builder, pto_step_of(PTO_STEP_COPY, &owners), test_chunk(in), test_slot(host_in));
    pto_build_stage(builder, "exchange", PTO_ORDER_AT_ONCE);
    pto_build_step(builder, send);
    pto_build_step(builder, recv);
    pto_build_stage(builder, "copy to device", PTO_ORDER_SEQUENCE);
    add_copy(builder, pto_step_of(PTO_STEP_COPY, &owners), test_slot(host_out), test_chunk(out));
    pto_build_end(builder);
}

/* --- branches: a broadcast, one half through host memory and the other directly ------------------------- */

/* A stage in which member 0 copies and then raises a flag, and one in which member 1 waits for it. */
static inline void push(pto_builder_t *builder, const pto_exchange_t *owners, const char *name,
                        pto_slice_t from, pto_slice_t to) {
    pto_step_t signal = step_of_member(PTO_STEP_SIGNAL, owners, 0, 1),
               wait = step_of_member(PTO_STEP_WAIT, owners, 1, 0);
    signal.flag = wait.flag = pto_build_flag(builder, name);
    if (shape.same_flag)
        signal.flag = wait.flag = 0;
    to.holder = PTO_HOLDER_PEER;
    pto_build_stage(builder, name, PTO_ORDER_SEQUENCE);
    add_copy(builder, step_of_member(PTO_STEP_COPY, owners, 0, 1), from, to);
    pto_build_step(builder, signal);
    pto_build_stage(builder, "take", PTO_ORDER_SEQUENCE);
    pto_build_step(builder, wait);
}

static inline void build_branches(pto_builder_t *builder, const pto_request_t *request) {
    pto_exchange_t owners = test_owners(builder, request);
    int in = test_buffer(builder, "in", PTO_ROLE_IN, PTO_SPACE_GPU, 1, request->bytes);
    int out = test_buffer(builder, "out", PTO_ROLE_OUT, PTO_SPACE_GPU, 1, request->bytes);
    int host = test_buffer(builder, "host", PTO_ROLE_TEMPORARY, PTO_SPACE_CPU, 1, request->bytes / 2);
    pto_slice_t all = pto_slice_all(builder, host);
    pto_slice_t from = pto_slice_part(in, 2, PTO_ANCHOR_ABSOLUTE, pto_constant(0)), to = from;
    pto_step_t signal = step_of_member(PTO_STEP_SIGNAL, &owners, 1, 0);
    pto_step_t wait = step_of_member(PTO_STEP_WAIT, &owners, 0, 1);
    to.buffer = out;
    signal.flag = wait.flag = pto_build_flag(builder, "ready");
    pto_build_stage(builder, "ready", PTO_ORDER_SEQUENCE);
    pto_build_step(builder, signal);
    pto_build_step(builder, wait);
    add_copy(builder, step_of_member(PTO_STEP_COPY, &owners, 0, -1), pto_slice_all(builder, in),
             pto_slice_all(builder, out));
    pto_build_parallel(builder);
    pto_build_branch(builder);
    push(builder, &owners, "copy to host", from, all);
    add_copy(builder, step_of_member(PTO_STEP_COPY, &owners, 1, -1), all, to);
    pto_build_end(builder);
    if (shape.steals) {
        from = all;
        from.holder = PTO_HOLDER_PEER;
    } else {
        from.offset = pto_constant(1);
    }
    to.offset = pto_constant(1);
    pto_build_branch(builder);
    push(builder, &owners, "push", from, to);
    pto_build_end(builder);
    pto_build_end(builder);
}

/* Two branches, each with one step of every process; not a collective. */
static inline void build_pair(pto_builder_t *builder, const pto_request_t *request) {
    pto_exchange_t owners = test_owners(builder, request);
    int gpu = test_buffer(builder, "in", PTO_ROLE_IN, PTO_SPACE_GPU, 1, request->bytes);
    int host = test_buffer(builder, "host", PTO_ROLE_TEMPORARY, PTO_SPACE_CPU, 2, request->bytes);
    pto_slice_t block = pto_slice_block(host, PTO_ANCHOR_ABSOLUTE);
    pto_build_parallel(builder);
    for (int branch = 0; branch < 2; branch++) {
        pto_step_t send = pto_step_of(PTO_STEP_SEND, &owners), recv = pto_step_of(PTO_STEP_RECV, &owners);
        send.peers = pto_peers_at(pto_constant(1), 1);
        recv.peers = pto_peers_at(pto_constant(1), -1);
        send.source = recv.target = block;
        recv.target.offset = pto_constant(1);
        pto_build_branch(builder);
        pto_build_stage(builder, branch ? "second" : "first", PTO_ORDER_AT_ONCE);
        if (shape.kind[branch] == PTO_COPY_H2H) {
            pto_build_step(builder, send);
            pto_build_step(builder, recv);
        } else {
            bool out = shape.kind[branch] == PTO_COPY_D2H;
            add_copy(builder, pto_step_of(PTO_STEP_COPY, &owners), out ? pto_slice_all(builder, gpu) : block,
                     out ? block : pto_slice_all(builder, gpu));
        }
        pto_build_end(builder);
    }
    pto_build_end(builder);
}

/* --- asking --------------------------------------------------------------------------------------------- */

/* Until the next one is made. */
static inline pto_request_t request_of(void (*build)(pto_builder_t *, const pto_request_t *),
                                       pto_collective_t collective, int64_t nodes, int64_t bytes) {
    static pto_strategy_t strategy;
    static const pto_algorithm_t none = {.name = "none", .collectives = ~0u, .direct = true};
    strategy = (pto_strategy_t){.name = "test",
                                .summary = "of a test",
                                .collectives = 1u << collective,
                                .direct = true,
                                .build = build};
    int64_t gpus = shape.one_gpu ? 1 : shape.gpus > 0 ? shape.gpus : 2 / nodes, cores = shape.one_gpu ? 2 : 1;
    return (pto_request_t){.layout = {nodes, gpus, cores, cores, shape.two_sockets ? 1 : gpus, false},
                           .collective = collective,
                           .datatype = PTO_DATATYPE_BYTE,
                           .bytes = bytes,
                           .messages = 1,
                           .strategy = &strategy,
                           .algorithm = &none};
}

static inline pto_plan_t *plan_by(void (*build)(pto_builder_t *, const pto_request_t *),
                                  pto_collective_t collective, int64_t nodes, int64_t bytes) {
    pto_request_t request = request_of(build, collective, nodes, bytes);
    return must_plan(&request);
}

static inline pto_plan_t *ring_plan(int64_t slots, int64_t chunks, int64_t bytes) {
    shape.slots = slots;
    shape.chunks = chunks;
    return plan_by(build_ring, PTO_COLLECTIVE_BROADCAST, 1, bytes);
}

static inline pto_plan_t *pipeline_plan(int64_t slots, int64_t chunks, int64_t bytes) {
    shape.slots = slots;
    shape.chunks = chunks;
    return plan_by(build_pipeline, PTO_COLLECTIVE_MESSAGES, 2, bytes);
}

#endif

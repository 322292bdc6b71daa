/* Strategies whose processes share host memory, and strategies with lanes. */
#include "exec_strategies.h"

#include <stdio.h>
#include <stdlib.h>

#include "../../model/strategies/gas.h"
#include "../../model/strategies/intranode.h"
#include "portolan/check.h"

/* --- chunks ------------------------------------------------------------- */

chunks_shape_t chunks_shape;

/* The vector in grains: chunks of `chunk` grains, of which the last may be shorter. */
typedef struct {
    int64_t slots;
    int64_t chunk;
    int64_t whole; /* number of whole chunks */
    int64_t rest;  /* grains of the last chunk; 0: it is whole */
    int64_t all;
    int64_t grain_bytes;
} cut_t;

static cut_t cut_of(const pto_request_t *request, int64_t grain) {
    static const int64_t chunks[] = {1, 2, 3, 7, 16, 33};
    cut_t cut = {.slots = chunks_shape.slots, .all = request->bytes / grain, .grain_bytes = grain};
    int64_t wanted = chunks_shape.chunks;
    if (cut.slots == 0)
        cut.slots = (int64_t)1 << request->bytes % 5;
    if (wanted == 0)
        wanted = chunks[request->bytes / 5 % (int64_t)(sizeof chunks / sizeof *chunks)];
    cut.chunk = cut.all > wanted ? (cut.all + wanted - 1) / wanted : 1;
    cut.whole = cut.all / cut.chunk;
    cut.rest = cut.all % cut.chunk;
    return cut;
}

/* `grains` grains from the k-th chunk's place on, in a vector or in a ring of slots. */
static pto_slice_t chunk_of(const cut_t *cut, int buffer, bool ring, int64_t grains, pto_expr_t k) {
    int64_t units = ring ? cut->slots * cut->chunk : cut->all;
    pto_expr_t offset = {.constant = k.constant * cut->chunk, .loop = k.loop * cut->chunk};
    pto_slice_t slice = pto_slice_part(buffer, units > 0 ? units : 1, PTO_ANCHOR_ABSOLUTE, offset);
    slice.run = slice.stride = slice.until = pto_constant(grains);
    return slice;
}

/* A ring of host memory at every member. */
static int ring_of(pto_builder_t *builder, const pto_exchange_t *who, int like, const cut_t *cut,
                   const char *name) {
    pto_buffer_t ring = pto_intranode_shape(builder, who, like, name, 1, 1);
    ring.space = PTO_SPACE_CPU;
    ring.block_bytes = cut->all > 0 ? cut->slots * cut->chunk * cut->grain_bytes : 0;
    return pto_build_buffer(builder, ring);
}

/* The root of a broadcast has its own output. */
static void build_own(pto_builder_t *builder, const pto_exchange_t *who) {
    pto_step_t own = pto_step_of_root(PTO_STEP_COPY, who);
    own.peers.kind = PTO_PEERS_NONE;
    pto_build_local(builder, "own", own, pto_slice_all(builder, who->in), pto_slice_all(builder, who->out));
}

/* --- a ring of host memory at each receiver ------------------------------------------------------------- */

typedef struct {
    pto_builder_t *builder;
    pto_exchange_t who;
    cut_t cut;
    int ring;
    int full;
    int empty;
} ring_t;

static void add_flag(const ring_t *ring, pto_step_t step, int flag) {
    step.flag = flag;
    pto_build_step(ring->builder, step);
}

/* One chunk: from the root into everyone's ring, and on to everyone's output. */
static void build_chunk(const ring_t *ring, int64_t grains, pto_expr_t k, bool waits) {
    pto_build_stage(ring->builder, "fill", PTO_ORDER_SEQUENCE);
    if (waits)
        add_flag(ring, pto_step_of_root(PTO_STEP_WAIT, &ring->who), ring->empty);
    pto_step_t fill = pto_step_of_root(PTO_STEP_COPY, &ring->who);
    fill.source = chunk_of(&ring->cut, ring->who.in, false, grains, k);
    fill.target = chunk_of(&ring->cut, ring->ring, true, grains, k);
    fill.target.holder = PTO_HOLDER_PEER;
    pto_build_step(ring->builder, fill);
    pto_build_stage(ring->builder, "full", PTO_ORDER_SEQUENCE);
    add_flag(ring, pto_step_of_root(PTO_STEP_SIGNAL, &ring->who), ring->full);
    add_flag(ring, pto_step_of_others(PTO_STEP_WAIT, &ring->who), ring->full);
    pto_build_stage(ring->builder, "drain", PTO_ORDER_SEQUENCE);
    pto_step_t drain = pto_step_of_others(PTO_STEP_COPY, &ring->who);
    drain.peers.kind = PTO_PEERS_NONE;
    drain.source = chunk_of(&ring->cut, ring->ring, true, grains, k);
    drain.target = chunk_of(&ring->cut, ring->who.out, false, grains, k);
    pto_build_step(ring->builder, drain);
    pto_build_stage(ring->builder, "empty", PTO_ORDER_SEQUENCE);
    add_flag(ring, pto_step_of_others(PTO_STEP_SIGNAL, &ring->who), ring->empty);
}

static void build_chunks(const ring_t *ring, int64_t from, int64_t to, bool waits) {
    pto_build_loop(ring->builder, from, to, false);
    build_chunk(ring, ring->cut.chunk, pto_loop_index(1, 0), waits);
    pto_build_end(ring->builder);
}

static int64_t smaller(int64_t one, int64_t other) { return one < other ? one : other; }

static ring_t begin_ring(pto_builder_t *builder, const pto_request_t *request) {
    ring_t ring = {.builder = builder, .who = pto_route_user(builder, request)};
    ring.cut = cut_of(request, pto_builder_buffer(builder, ring.who.in)->granularity_bytes);
    ring.ring = ring_of(builder, &ring.who, ring.who.out, &ring.cut, "ring");
    ring.full = pto_build_flag(builder, "full");
    ring.empty = pto_build_flag(builder, "empty");
    build_own(builder, &ring.who);
    return ring;
}

/* `count` credits, raised by the receivers or taken by the root. */
static void build_credits(const ring_t *ring, int64_t count, pto_step_t step) {
    pto_build_loop(ring->builder, 0, count, false);
    pto_build_stage(ring->builder, "credits", PTO_ORDER_SEQUENCE);
    add_flag(ring, step, ring->empty);
    pto_build_end(ring->builder);
}

static void build_ring(pto_builder_t *builder, const pto_request_t *request) {
    ring_t ring = begin_ring(builder, request);
    int64_t whole = ring.cut.whole, filled = smaller(whole, ring.cut.slots);
    build_chunks(&ring, 0, filled, false);
    build_chunks(&ring, filled, whole, true);
    if (ring.cut.rest > 0)
        build_chunk(&ring, ring.cut.rest, pto_constant(whole), whole >= ring.cut.slots);
    build_credits(&ring, smaller(whole + (ring.cut.rest > 0), ring.cut.slots),
                  pto_step_of_root(PTO_STEP_WAIT, &ring.who));
}

/* The same in lanes: the next chunks are copied while one is signalled. */
static void build_ring_in_lanes(pto_builder_t *builder, const pto_request_t *request) {
    ring_t ring = begin_ring(builder, request);
    build_credits(&ring, ring.cut.slots, pto_step_of_others(PTO_STEP_SIGNAL, &ring.who));
    pto_build_pipeline(builder, 0, ring.cut.whole, ring.cut.slots);
    build_chunk(&ring, ring.cut.chunk, pto_loop_index(1, 0), true);
    pto_build_end(builder);
    if (ring.cut.rest > 0)
        build_chunk(&ring, ring.cut.rest, pto_constant(ring.cut.whole), true);
    build_credits(&ring, ring.cut.slots, pto_step_of_root(PTO_STEP_WAIT, &ring.who));
}

/* --- one host buffer for all processes of a GPU --------------------------------------------------------- */

static void build_between(pto_builder_t *builder, const pto_shares_t *shares, const char *name,
                          bool to_owner) {
    pto_exchange_t gpu = {.group = shares->gpu, .n = shares->count, .core_count = shares->count};
    pto_step_t owner = pto_step_of_root(PTO_STEP_SIGNAL, &gpu);
    pto_step_t others = pto_step_of_others(PTO_STEP_SIGNAL, &gpu);
    pto_intranode_flag(builder, name, to_owner ? others : owner, to_owner ? owner : others);
}

/* dup_devptr through host memory: the owner stages its vector, every process works on its share of it. */
static void build_shared_staging(pto_builder_t *builder, const pto_request_t *request) {
    pto_exchange_t user = pto_route_user(builder, request);
    pto_shares_t shares = pto_route_shares(builder, request, &user);
    int whole = pto_build_mirror(builder, user.out, "staged", PTO_SPACE_CPU);
    pto_slice_t mine = pto_route_share_in_whole(builder, &shares, whole, shares.members.in, PTO_SHARE_MINE);
    mine.holder = PTO_HOLDER_OWNER;
    pto_slice_t share = pto_route_share(builder, &shares, shares.members.in);
    pto_build_copy(builder, "stage", &user, pto_slice_all(builder, user.in), pto_slice_all(builder, whole));
    build_between(builder, &shares, "staged", false);
    pto_build_copy(builder, "take shares", &shares.members, mine, share);
    pto_build_exchange(builder, request, &shares.members);
    pto_build_copy(builder, "give shares", &shares.members, share, mine);
    build_between(builder, &shares, "reduced", true);
    pto_build_copy(builder, "copy to device", &user, pto_slice_all(builder, whole),
                   pto_slice_all(builder, user.out));
}

/* --- a pipeline of chunks ------------------------------------------------------------------------------- */

typedef struct {
    pto_builder_t *builder;
    pto_exchange_t who;
    cut_t cut;
    int host_in;
    int host_out;
} staged_t;

/* One chunk of a broadcast by messages from the root through host memory. */
static void build_staged_chunk(const staged_t *staged, int64_t grains, pto_expr_t k) {
    pto_builder_t *builder = staged->builder;
    pto_build_stage(builder, "copy to host", PTO_ORDER_SEQUENCE);
    pto_step_t out = pto_step_of_root(PTO_STEP_COPY, &staged->who);
    out.peers.kind = PTO_PEERS_NONE;
    out.source = chunk_of(&staged->cut, staged->who.in, false, grains, k);
    out.target = chunk_of(&staged->cut, staged->host_in, true, grains, k);
    pto_build_step(builder, out);
    pto_build_stage(builder, "messages", PTO_ORDER_AT_ONCE);
    pto_step_t send = pto_step_of_root(PTO_STEP_SEND, &staged->who);
    send.source = out.target;
    pto_build_step(builder, send);
    pto_step_t recv = pto_step_of_others(PTO_STEP_RECV, &staged->who);
    recv.target = chunk_of(&staged->cut, staged->host_out, true, grains, k);
    pto_build_step(builder, recv);
    pto_build_stage(builder, "copy to device", PTO_ORDER_SEQUENCE);
    pto_step_t in = pto_step_of_others(PTO_STEP_COPY, &staged->who);
    in.peers.kind = PTO_PEERS_NONE;
    in.source = recv.target;
    in.target = chunk_of(&staged->cut, staged->who.out, false, grains, k);
    pto_build_step(builder, in);
}

static void build_chunk_pipeline(pto_builder_t *builder, const pto_request_t *request) {
    staged_t staged = {.builder = builder, .who = pto_route_user(builder, request)};
    staged.cut = cut_of(request, pto_builder_buffer(builder, staged.who.in)->granularity_bytes);
    staged.host_in = ring_of(builder, &staged.who, staged.who.out, &staged.cut, "host in");
    staged.host_out = ring_of(builder, &staged.who, staged.who.out, &staged.cut, "host out");
    build_own(builder, &staged.who);
    pto_build_pipeline(builder, 0, staged.cut.whole, staged.cut.slots);
    build_staged_chunk(&staged, staged.cut.chunk, pto_loop_index(1, 0));
    pto_build_end(builder);
    if (staged.cut.rest > 0)
        build_staged_chunk(&staged, staged.cut.rest, pto_constant(staged.cut.whole));
}

/* --- a pipeline of the device alone --------------------------------------------------------------------- */

static void build_kernel_flag(pto_builder_t *builder, const pto_exchange_t *who, const char *name) {
    pto_build_kernel(builder, who);
    pto_gas_flag(builder, name, who, PTO_GAS_ALL_TO_ALL);
    pto_build_end(builder);
}

/* The root copies one chunk into its ring, and from there to all others. */
static void build_device_chunk(const staged_t *staged, int ring, int64_t grains, pto_expr_t k) {
    pto_step_t into = pto_step_of_root(PTO_STEP_COPY, &staged->who), on = into;
    into.peers.kind = PTO_PEERS_NONE;
    into.source = chunk_of(&staged->cut, staged->who.in, false, grains, k);
    into.target = on.source = chunk_of(&staged->cut, ring, true, grains, k);
    on.target = chunk_of(&staged->cut, staged->who.out, false, grains, k);
    on.target.holder = PTO_HOLDER_PEER;
    pto_build_stage(staged->builder, "into the ring", PTO_ORDER_SEQUENCE);
    pto_build_step(staged->builder, into);
    pto_build_stage(staged->builder, "to others", PTO_ORDER_SEQUENCE);
    pto_build_step(staged->builder, on);
}

static void build_device_pipeline(pto_builder_t *builder, const pto_request_t *request) {
    staged_t staged = {.builder = builder, .who = pto_route_user(builder, request)};
    staged.cut = cut_of(request, pto_builder_buffer(builder, staged.who.in)->granularity_bytes);
    pto_buffer_t shape = pto_intranode_shape(builder, &staged.who, staged.who.out, "ring", 1, 1);
    shape.block_bytes = staged.cut.slots * staged.cut.chunk * staged.cut.grain_bytes;
    const int ring = pto_build_buffer(builder, shape);
    build_kernel_flag(builder, &staged.who, "ready");
    build_own(builder, &staged.who);
    pto_build_pipeline(builder, 0, staged.cut.whole, staged.cut.slots);
    build_device_chunk(&staged, ring, staged.cut.chunk, pto_loop_index(1, 0));
    pto_build_end(builder);
    if (staged.cut.rest > 0)
        build_device_chunk(&staged, ring, staged.cut.rest, pto_constant(staged.cut.whole));
    build_kernel_flag(builder, &staged.who, "copied");
}

/* --- a pipeline across destinations --------------------------------------------------------------------- */

static pto_slice_t block_at(int buffer, pto_anchor_t anchor, int64_t sign) {
    pto_slice_t slice = pto_slice_block(buffer, anchor);
    slice.offset = pto_loop_index(sign, 0);
    return slice;
}

/* The block for one partner is copied out while that for another travels and a third one is copied in. */
static void build_partner_pipeline(pto_builder_t *builder, const pto_request_t *request) {
    pto_exchange_t who = pto_route_user(builder, request);
    int64_t depth = chunks_shape.slots > 0 ? chunks_shape.slots : 1 + request->bytes % 4;
    pto_buffer_t slots = pto_intranode_shape(builder, &who, who.in, "host in", depth, 1);
    slots.space = PTO_SPACE_CPU;
    int host_in = pto_build_buffer(builder, slots);
    slots.name = "host out";
    int host_out = pto_build_buffer(builder, slots);
    pto_step_t copy = pto_step_of(PTO_STEP_COPY, &who);
    pto_build_stage(builder, "own", PTO_ORDER_SEQUENCE);
    copy.source = pto_slice_block(who.in, PTO_ANCHOR_ME);
    copy.target = pto_slice_block(who.out, PTO_ANCHOR_ME);
    pto_build_step(builder, copy);
    pto_build_pipeline(builder, 1, who.n, depth);
    pto_build_stage(builder, "copy to host", PTO_ORDER_SEQUENCE);
    copy.source = block_at(who.in, PTO_ANCHOR_ME, 1);
    copy.target = block_at(host_in, PTO_ANCHOR_ABSOLUTE, 1);
    pto_build_step(builder, copy);
    pto_build_stage(builder, "messages", PTO_ORDER_AT_ONCE);
    pto_step_t send = pto_step_of(PTO_STEP_SEND, &who), recv = pto_step_of(PTO_STEP_RECV, &who);
    send.peers = pto_peers_at(pto_loop_index(1, 0), 1);
    send.source = block_at(host_in, PTO_ANCHOR_ABSOLUTE, 1);
    pto_build_step(builder, send);
    recv.peers = pto_peers_at(pto_loop_index(1, 0), -1);
    recv.target = block_at(host_out, PTO_ANCHOR_ABSOLUTE, 1);
    pto_build_step(builder, recv);
    pto_build_stage(builder, "copy to device", PTO_ORDER_SEQUENCE);
    copy.source = block_at(host_out, PTO_ANCHOR_ABSOLUTE, 1);
    copy.target = block_at(who.out, PTO_ANCHOR_ME, -1);
    pto_build_step(builder, copy);
    pto_build_end(builder);
}

/* --- branches: one half through host memory, the other directly ----------------------------------------- */

typedef struct {
    pto_builder_t *builder;
    pto_exchange_t who;
    int given[2];  /* by branch: what a process gives to the root */
    int result[2]; /* and what the root makes of it */
} halves_t;

static pto_slice_t half(int buffer, int branch) {
    return pto_slice_part(buffer, 2, PTO_ANCHOR_ABSOLUTE, pto_constant(branch));
}

static void build_half_copy(const halves_t *halves, pto_step_t step, pto_slice_t source, pto_slice_t target) {
    step.source = source;
    step.target = target;
    pto_build_step(halves->builder, step);
}

static void build_half(const halves_t *halves, int branch) {
    pto_builder_t *builder = halves->builder;
    const pto_exchange_t *who = &halves->who;
    pto_step_t root = pto_step_of_root(PTO_STEP_COPY, who), alone = root;
    pto_step_t others = pto_step_of_others(PTO_STEP_COPY, who);
    pto_slice_t result = half(halves->result[branch], branch), out = half(halves->who.out, branch);
    pto_slice_t given = half(halves->given[branch], branch), theirs = given;
    alone.peers.kind = PTO_PEERS_NONE;
    theirs.holder = PTO_HOLDER_PEER;
    pto_intranode_flag(builder, branch ? "given 1" : "given 0", others, root);
    pto_build_stage(builder, "reduce", PTO_ORDER_SEQUENCE);
    build_half_copy(halves, alone, given, result);
    root.kind = PTO_STEP_REDUCE;
    build_half_copy(halves, root, theirs, result);
    pto_intranode_flag(builder, branch ? "reduced 1" : "reduced 0", root, others);
    pto_build_stage(builder, "copy out", PTO_ORDER_SEQUENCE);
    build_half_copy(halves, alone, result, out);
    result.holder = PTO_HOLDER_PEER;
    build_half_copy(halves, others, result, out);
}

/* The root reduces one half of the vectors in shared host memory and the other half on its GPU. */
static void build_two_halves(pto_builder_t *builder, const pto_request_t *request) {
    halves_t halves = {.builder = builder, .who = pto_route_user(builder, request)};
    for (int branch = 0; branch < 2; branch++) {
        pto_buffer_t given =
            pto_intranode_shape(builder, &halves.who, halves.who.in, branch ? "given 1" : "given 0", 1, 1);
        given.space = branch ? PTO_SPACE_GPU : PTO_SPACE_CPU;
        halves.given[branch] = pto_build_buffer(builder, given);
        given.name = branch ? "result 1" : "result 0";
        given.held_stride = halves.who.n;
        halves.result[branch] = pto_build_buffer(builder, given);
    }
    pto_build_stage(builder, "give", PTO_ORDER_SEQUENCE);
    for (int branch = 0; branch < 2; branch++)
        build_half_copy(&halves, pto_step_of(PTO_STEP_COPY, &halves.who), half(halves.who.in, branch),
                        half(halves.given[branch], branch));
    pto_build_parallel(builder);
    for (int branch = 0; branch < 2; branch++) {
        pto_build_branch(builder);
        build_half(&halves, branch);
        pto_build_end(builder);
    }
    pto_build_end(builder);
}

/* --- all of them ---------------------------------------------------------------------------------------- */

static pto_status_t several_owners(const pto_request_t *request, pto_error_t *err) {
    return pto_layout_owner_count(&request->layout) > 1
               ? PTO_OK
               : pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "only one process holds data");
}

static const pto_strategy_t strategies[] = {
    {.name = "host_ring",
     .summary = "the root copies chunks into a ring of host memory at each process",
     .collectives = 1u << PTO_COLLECTIVE_BROADCAST,
     .direct = true,
     .collective_space = PTO_SPACE_CPU,
     .applicable = pto_intranode_applicable,
     .build = build_ring},
    {.name = "ring_in_lanes",
     .summary = "host_ring as a pipeline",
     .collectives = 1u << PTO_COLLECTIVE_BROADCAST,
     .direct = true,
     .collective_space = PTO_SPACE_CPU,
     .applicable = pto_intranode_applicable,
     .build = build_ring_in_lanes},
    {.name = "shared_staging",
     .summary = "all processes of a GPU share its owner's staging buffer",
     .collectives = 1u << PTO_COLLECTIVE_ALLREDUCE,
     .splits = true,
     .collective_space = PTO_SPACE_CPU,
     .build = build_shared_staging},
    {.name = "chunk_pipeline",
     .summary = "the root's chunks are copied, sent and copied in a pipeline",
     .collectives = 1u << PTO_COLLECTIVE_BROADCAST,
     .direct = true,
     .collective_space = PTO_SPACE_CPU,
     .applicable = several_owners,
     .build = build_chunk_pipeline},
    {.name = "device_pipeline",
     .summary = "the root's chunks are copied into a ring on its GPU and to others in a pipeline",
     .collectives = 1u << PTO_COLLECTIVE_BROADCAST,
     .direct = true,
     .collective_space = PTO_SPACE_GPU,
     .applicable = pto_gas_applicable,
     .build = build_device_pipeline},
    {.name = "partner_pipeline",
     .summary = "each partner's block is copied, sent and copied in a pipeline",
     .collectives = 1u << PTO_COLLECTIVE_ALLTOALL,
     .direct = true,
     .collective_space = PTO_SPACE_CPU,
     .build = build_partner_pipeline},
    {.name = "two_halves",
     .summary = "one half of the vectors is reduced in host memory, the other on a GPU",
     .collectives = 1u << PTO_COLLECTIVE_ALLREDUCE,
     .direct = true,
     .collective_space = PTO_SPACE_GPU,
     .applicable = pto_intranode_applicable,
     .build = build_two_halves},
};

void strategies_register(void) {
    pto_error_t err = {0};
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++)
        if (pto_strategy_register(&strategies[i], &err) != PTO_OK) {
            fprintf(stderr, "%s\n", err.message);
            abort();
        }
}

/* --- runs ----------------------------------------------------------------------------------------------- */

/* How a case in chunks is run. */
typedef struct {
    int64_t count;
    uint64_t seed;
    const pto_device_t *device;
    int rank;
    int size;
} runs_t;

static runs_t runs_of(int64_t count, uint64_t seed, const pto_device_t *device) {
    runs_t runs = {.count = count, .seed = seed, .device = device};
    MPI_Comm_rank(MPI_COMM_WORLD, &runs.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &runs.size);
    return runs;
}

/* Prove and run a plan in chunks; by nodes: each process is on a node of its own. */
static void run_chunks(const runs_t *runs, const char *strategy, pto_collective_t collective, bool by_nodes,
                       int64_t bytes) {
    pto_error_t err = {0};
    pto_check_report_t report;
    case_t test = {.asynchronous = runs->seed % 2,
                   .options = {.placement = PTO_PLACEMENT_IDENTITY,
                               .on_timeout = PTO_TIMEOUT_ABORT,
                               .delay_max_s = 20e-6,
                               .delay_seed = (uint64_t)runs->rank + runs->seed}};
    test.request = (pto_request_t){
        .layout = {by_nodes ? runs->size : 1, by_nodes ? 1 : runs->size, 1, 1, runs->size, false},
        .collective = collective,
        .datatype = PTO_DATATYPE_INT32,
        .bytes = bytes};
    pto_plan_t *plan = case_plan(&test, strategy, "direct");
    if (pto_check(plan, &report, &err) != PTO_OK)
        case_die(&test, &err);
    case_run(&test, plan, MPI_COMM_WORLD, runs->device, runs->count);
    pto_plan_destroy(plan);
}

void strategies_run_rings(int64_t count, uint64_t seed, const pto_device_t *device) {
    const runs_t runs = runs_of(count, seed, device);
    const int64_t bytes = 4 * 101;
    for (int64_t slots = 1; slots <= 16; slots *= 2) {
        const int64_t chunks[] = {1, slots > 1 ? slots - 1 : 1, slots, 2 * slots + 1, 30, 2 * bytes};
        for (size_t i = 0; i <= sizeof chunks / sizeof *chunks; i++) {
            bool none = i == sizeof chunks / sizeof *chunks;
            chunks_shape = (chunks_shape_t){slots, none ? 3 : chunks[i]};
            run_chunks(&runs, "host_ring", PTO_COLLECTIVE_BROADCAST, false, none ? 0 : bytes);
        }
    }
}

void strategies_run_lanes(int64_t count, uint64_t seed, const pto_device_t *device) {
    static const int64_t chunks[] = {1, 2, 3, 20, 1000}, bytes[] = {4 * 101, 4, 0};
    const runs_t runs = runs_of(count, seed, device);
    for (int64_t slots = 1; slots <= 4; slots++)
        for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++)
            for (size_t j = 0; j < sizeof bytes / sizeof *bytes; j++) {
                chunks_shape = (chunks_shape_t){slots, chunks[i]};
                run_chunks(&runs, "chunk_pipeline", PTO_COLLECTIVE_BROADCAST, true, bytes[j]);
                run_chunks(&runs, "ring_in_lanes", PTO_COLLECTIVE_BROADCAST, false, bytes[j]);
                run_chunks(&runs, "device_pipeline", PTO_COLLECTIVE_BROADCAST, false, bytes[j]);
                if (i == 0) {
                    run_chunks(&runs, "partner_pipeline", PTO_COLLECTIVE_ALLTOALL, true, bytes[j]);
                    run_chunks(&runs, "two_halves", PTO_COLLECTIVE_ALLREDUCE, false, bytes[j]);
                }
            }
}

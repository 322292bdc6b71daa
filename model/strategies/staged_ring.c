/* staged_ring: a ring (algorithms/ring.c) through host memory, in chunks whose messages overlap with their
 * copies. This is FGP, the fine grained pipeline (A. K. Singh, Optimizing All-to-All and Allgather
 * Communications on GPGPU Clusters, 2012; section 2.3.4 of Faraji's thesis), extended to allreduce. A chunk
 * is forwarded from the host while it is copied to the device. In an allreduce, chunks are also copied to the
 * host and reduced while others travel; a reduce-scatter is the first half of it. split_ring: every process
 * of a GPU does this with its own share of the data, through a shared device pointer, as in dup_devptr.
 *
 * The data has n parts of c chunks. A process first sends its own part, then the chunks that it has received:
 * it sends the k-th chunk that arrives as its chunk k + c. Chunks are numbered downwards in memory, so that
 * chunks sent one after another are adjacent across parts. The n - 1 rounds of c chunks are therefore one
 * pipeline over k, whose slices are linear in k. With n = 3 and c = 2, the data has chunks 0 to 5. This is
 * an allgather as process 1 sees it, whose own chunks are 2 and 3:
 *     k         0  1  2  3
 *     sends     3  2  1  0    its own part, then that of process 0
 *     receives  1  0  5  4    that of process 0, then that of process 2
 * The chunk that it receives in iteration k is the one that it would send in iteration k + c. */
#include "staging.h"

typedef struct {
    pto_exchange_t members;
    pto_slice_t in;   /* all of the user's input, or of a process's share of it */
    pto_slice_t out;  /* the same of the output */
    pto_slice_t host; /* all of a host buffer that has every part */
    int64_t chunks;   /* of a part: c */
    int64_t sent;     /* chunks that a process sends in n - 1 rounds: c (n - 1) */
    int64_t begin;    /* distance from a process's own part to the part that it sends first, in chunks */
} ring_t;

/* Chunks in progress: enough for each of up to four pipeline stages to work on one. */
enum { IN_PROGRESS = 4 };

/* Returns the chunk that a process sends in iteration k + ahead, if it begins with its own part. `all` names
 * the buffer, whose blocks together are divided into n c chunks. */
static pto_slice_t chunk(const pto_builder_t *builder, const ring_t *ring, pto_slice_t all, int64_t ahead) {
    int64_t blocks = pto_builder_buffer(builder, ring->host.buffer)->block_count;
    all.parts = ring->members.n * ring->chunks / blocks;
    all.anchor = PTO_ANCHOR_ME;
    all.anchor_step = ring->chunks;
    all.offset = pto_loop_index(-1, ring->chunks - 1 - ahead);
    all.run = all.until = pto_constant(1);
    all.stride = pto_constant(ring->sent + 2 * ring->chunks); /* more than any `until` */
    return all;
}

/* Returns the chunk `slice` in iterations k >= first, else an empty slice: `until` is positive only then. */
static pto_slice_t only_from(int64_t first, pto_slice_t slice) {
    slice.until = pto_loop_index(1, 1 - first);
    return slice;
}

/* Returns the chunk `slice` in iterations k < end, else an empty slice. */
static pto_slice_t only_below(int64_t end, pto_slice_t slice) {
    slice.until = pto_loop_index(-1, end);
    return slice;
}

static const pto_peers_t next = {.kind = PTO_PEERS_SHIFT,
                                 .first = {.constant = 1},
                                 .stride = {.constant = 1},
                                 .until = {.constant = 2},
                                 .sign = 1};

/* Builds the last stages of a pipeline and ends it: complete chunks are forwarded, chunk `ahead` first, and
 * copied to the device. */
static void build_passing(pto_builder_t *builder, const ring_t *ring, int64_t ahead) {
    pto_slice_t received = chunk(builder, ring, ring->host, ahead + ring->chunks);
    pto_build_sendrecv(builder, "round", &ring->members, next, chunk(builder, ring, ring->host, ahead),
                       received);
    pto_build_copy(builder, "copy to device", &ring->members, received,
                   chunk(builder, ring, ring->out, ahead + ring->chunks));
    pto_build_end(builder);
}

static void build_allgather(pto_builder_t *builder, const ring_t *ring) {
    pto_build_pipeline(builder, 0, ring->sent, IN_PROGRESS);
    pto_build_copy(builder, "copy to host", &ring->members,
                   only_below(ring->chunks, chunk(builder, ring, ring->in, 0)),
                   only_below(ring->chunks, chunk(builder, ring, ring->host, 0)));
    build_passing(builder, ring, 0);
}

/* Partial sums go around. A received chunk is reduced just before the sum is sent, c iterations after it has
 * arrived, so at most c chunks are in progress. The chunks of the last c iterations are complete: they are
 * not sent, but copied to `complete`. */
static void build_reducing(pto_builder_t *builder, const ring_t *ring, pto_slice_t complete) {
    pto_slice_t received = ring->host, mine = chunk(builder, ring, ring->host, ring->begin);
    received.buffer = pto_build_mirror(builder, ring->host.buffer, "received", PTO_SPACE_CPU);
    pto_build_pipeline(builder, 0, ring->sent + ring->chunks, ring->chunks);
    pto_build_copy(builder, "copy to host", &ring->members, chunk(builder, ring, ring->in, ring->begin),
                   mine);
    pto_build_local(builder, "reduce", pto_step_of(PTO_STEP_REDUCE, &ring->members),
                    only_from(ring->chunks, chunk(builder, ring, received, ring->begin)),
                    only_from(ring->chunks, mine));
    pto_build_copy(builder, "copy own part to device", &ring->members, only_from(ring->sent, mine),
                   only_from(ring->sent, complete));
    pto_build_sendrecv(builder, "round", &ring->members, next, only_below(ring->sent, mine),
                       only_below(ring->sent, chunk(builder, ring, received, ring->begin + ring->chunks)));
    pto_build_end(builder);
}

/* The reduction ends with the part after the process's own. The second pipeline sends this part first. */
static void build_allreduce(pto_builder_t *builder, const ring_t *ring) {
    build_reducing(builder, ring, chunk(builder, ring, ring->out, 0));
    pto_build_pipeline(builder, 0, ring->sent, IN_PROGRESS);
    build_passing(builder, ring, -ring->chunks);
}

/* The reduction ends with the process's own part, in iterations k >= sent. It is the whole output. */
static void build_reduce_scatter(pto_builder_t *builder, ring_t *ring) {
    pto_slice_t complete = chunk(builder, ring, ring->out, 0);
    complete.anchor = PTO_ANCHOR_ABSOLUTE;
    complete.anchor_step = 0;
    complete.offset = pto_loop_index(-1, ring->chunks - 1 + ring->sent);
    ring->begin = ring->chunks;
    build_reducing(builder, ring, complete);
}

/* Completes `ring` and builds it. In an allgather, an owner's own block stays on its device. */
static void build_ring(pto_builder_t *builder, const pto_request_t *request, const pto_exchange_t *user,
                       ring_t *ring) {
    bool in_blocks = request->collective != PTO_COLLECTIVE_ALLREDUCE;
    ring->chunks = pto_chunk_count(
        in_blocks ? pto_request_largest_bytes(request) : request->bytes / ring->members.n, request->chunks);
    ring->sent = (ring->members.n - 1) * ring->chunks;
    if (request->collective == PTO_COLLECTIVE_REDUCE_SCATTER) {
        build_reduce_scatter(builder, ring);
        return;
    }
    if (!in_blocks) {
        build_allreduce(builder, ring);
        return;
    }
    pto_build_copy(builder, "own block", user, pto_slice_all(builder, user->in),
                   pto_slice_block(user->out, PTO_ANCHOR_ME));
    build_allgather(builder, ring);
}

/* Returns the buffer that has every part. */
static int whole_of(const pto_request_t *request, const pto_exchange_t *user) {
    return request->collective == PTO_COLLECTIVE_REDUCE_SCATTER ? user->in : user->out;
}

static void build_staged(pto_builder_t *builder, const pto_request_t *request) {
    pto_exchange_t user = pto_route_user(builder, request);
    int host = pto_build_mirror(builder, whole_of(request, &user), "host", PTO_SPACE_CPU);
    ring_t ring = {.members = user,
                   .in = pto_slice_all(builder, user.in),
                   .out = pto_slice_all(builder, user.out),
                   .host = pto_slice_all(builder, host)};
    build_ring(builder, request, &user, &ring);
}

const pto_strategy_t pto_strategy_staged_ring = {
    .name = "staged_ring",
    .summary = "a ring through host memory, in chunks that overlap with their copies",
    .collectives = PTO_ALLGATHERS | 1u << PTO_COLLECTIVE_ALLREDUCE | 1u << PTO_COLLECTIVE_REDUCE_SCATTER,
    .direct = true,
    .chunked = true,
    .collective_space = PTO_SPACE_CPU,
    .build = build_staged,
};

static void build_split(pto_builder_t *builder, const pto_request_t *request) {
    pto_exchange_t user = pto_route_user(builder, request);
    int whole = whole_of(request, &user);
    const pto_exchange_t whole_both = {.in = whole, .out = whole};
    pto_shares_t shares = pto_route_shares(builder, request, &whole_both);
    ring_t ring = {.members = shares.members,
                   .in = pto_route_owners_share(builder, &shares, user.in, shares.members.in),
                   .out = pto_route_owners_share(builder, &shares, user.out, shares.members.out),
                   .host = pto_slice_all(builder, shares.members.out)};
    pto_route_signal(builder, shares.gpu, "input ready", false);
    build_ring(builder, request, &user, &ring);
    pto_route_signal(builder, shares.gpu, "output written", true);
}

static pto_status_t applicable(const pto_request_t *request, pto_error_t *err) {
    if (request->split == PTO_SPLIT_DESTINATIONS)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             "a ring forwards blocks of other processes, so destinations can't be split");
    return PTO_OK;
}

const pto_strategy_t pto_strategy_split_ring = {
    .name = "split_ring",
    .summary = "staged_ring by every process of a GPU, on its own share, through a shared device pointer",
    .collectives = PTO_ALLGATHERS | 1u << PTO_COLLECTIVE_ALLREDUCE | 1u << PTO_COLLECTIVE_REDUCE_SCATTER,
    .splits = true,
    .direct = true,
    .chunked = true,
    .collective_space = PTO_SPACE_CPU,
    .applicable = applicable,
    .build = build_split,
};

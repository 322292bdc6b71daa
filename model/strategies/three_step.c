/* three_step: copy to the host, collective among one process per GPU on host memory, copy back (Bienz et al.,
 * arXiv:2010.10378, section III and option 2 of section VI).
 *
 * Several chunks form a pipeline: one chunk is copied to the host while the previous one travels and the one
 * before it is copied to the device (docs/model.md, 'Staging in chunks'). The chunks of an alltoall are
 * groups of destinations, so messages keep their size. The blocks for the next group are copied to the host
 * while the blocks for this group travel. Blocks are divided only if there are more chunks than destinations.
 */
#include "staging.h"

/* Point to point (Ji et al. 2012, "by hand"): only an end in GPU memory is staged. */
static void build_pair(pto_builder_t *builder, const pto_request_t *request) {
    pto_exchange_t user = pto_route_user(builder, request), pair = user;
    int64_t chunks = pto_route_chunk_count(builder, request, user.out);
    if (!request->ends.from_host)
        pair.in = pto_route_staging(builder, user.in, "host in", chunks);
    if (!request->ends.to_host)
        pair.out = pto_route_staging(builder, user.out, "host out", chunks);
    pto_route_chunks(builder, chunks);
    if (!request->ends.from_host)
        pto_route_pair_copy(builder, "copy to host", pto_build_sender(builder, PTO_STEP_COPY, &pair),
                            pto_slice_all(builder, user.in), pto_slice_all(builder, pair.in));
    pto_build_exchange(builder, request, &pair);
    if (!request->ends.to_host)
        pto_route_pair_copy(builder, "copy to device", pto_build_receiver(builder, PTO_STEP_COPY, &pair),
                            pto_slice_all(builder, pair.out), pto_slice_all(builder, user.out));
    pto_route_end_chunks(builder, chunks);
}

/* Copies the borders to a host array like the field or, if not `to_host`, its halos back. The borders of
 * corners are not copied to the host, since those of faces contain them. */
static void build_halo_copies(pto_builder_t *builder, const pto_exchange_t *members, const char *name,
                              int field, bool to_host) {
    const pto_halo_t *grid = &pto_builder_request(builder)->halo;
    for (int phase = 0; phase < pto_halo_phases(grid); phase++) {
        int shift[PTO_SHIFTS_MAX][PTO_DIMS_MAX];
        int count = pto_halo_shifts(grid, phase, shift);
        for (int i = 0; i < count; i++) {
            int dims_moved = (shift[i][0] != 0) + (shift[i][1] != 0) + (shift[i][2] != 0);
            if (to_host && dims_moved > 1)
                continue;
            pto_step_t copy = pto_step_of(PTO_STEP_COPY, members);
            copy.peers = pto_peers_cart(builder, shift[i]);
            if (to_host)
                pto_build_local(builder, name, copy, pto_slice_border(builder, field, shift[i]),
                                pto_slice_border(builder, members->in, shift[i]));
            else
                pto_build_local(builder, name, copy, pto_slice_halo(builder, members->in, shift[i]),
                                pto_slice_halo(builder, field, shift[i]));
        }
    }
}

/* As in SHOC's Stencil2D: a host array like the field, of which only borders and halos are used. */
static void build_halo(pto_builder_t *builder, const pto_request_t *request) {
    pto_exchange_t user = pto_route_user(builder, request);
    pto_exchange_t exchange = user;
    exchange.in = exchange.out = pto_build_mirror(builder, user.out, "host field", PTO_SPACE_CPU);
    build_halo_copies(builder, &exchange, "copy to host", user.out, true);
    pto_build_exchange(builder, request, &exchange);
    build_halo_copies(builder, &exchange, "copy to device", user.out, false);
}

typedef struct {
    int64_t others;     /* number of all processes but this one */
    int64_t groups;     /* of destinations */
    int64_t group_size; /* destinations of a group; the last one may be smaller */
} partners_t;

/* Returns the blocks for (sign 1) or from (-1) group k of partners: those at the distances
 * k * group_size + 1 and following. */
static pto_slice_t blocks_of(const partners_t *partners, int buffer, int64_t sign) {
    int64_t step = partners->groups > 1 ? partners->group_size : 0;
    return (pto_slice_t){.buffer = buffer,
                         .anchor = PTO_ANCHOR_ME,
                         .offset = pto_loop_index(sign * step, sign),
                         .run = pto_constant(partners->group_size),
                         .stride = pto_constant(partners->others),
                         .until = pto_loop_index(-step, partners->others),
                         .reversed = sign < 0};
}

/* Returns the sends to group k, or the receives from it. */
static pto_step_t message_with(const partners_t *partners, const pto_exchange_t *exchange, bool sends) {
    int64_t step = partners->groups > 1 ? partners->group_size : 0;
    pto_step_t message = pto_step_of(sends ? PTO_STEP_SEND : PTO_STEP_RECV, exchange);
    message.peers = (pto_peers_t){.kind = PTO_PEERS_SHIFT,
                                  .first = pto_loop_index(step, 1),
                                  .stride = pto_constant(1),
                                  .until = pto_loop_index(step, 1 + partners->group_size),
                                  .sign = sends ? 1 : -1};
    if (sends)
        message.source = pto_slice_block(exchange->in, PTO_ANCHOR_PEER);
    else
        message.target = pto_slice_block(exchange->out, PTO_ANCHOR_PEER);
    return message;
}

/* A process's block for itself stays on the device. */
static void build_alltoall(pto_builder_t *builder, const pto_request_t *request, const pto_exchange_t *user) {
    pto_exchange_t exchange = *user;
    partners_t partners = {.others = exchange.n - 1, .groups = 1};
    int64_t chunks = 1;
    if (request->chunks > partners.others)
        chunks = pto_route_chunk_count(builder, request, user->in);
    else
        partners.groups = request->chunks;
    partners.group_size = (partners.others - 1) / partners.groups + 1;
    partners.groups = (partners.others - 1) / partners.group_size + 1;
    exchange.in = pto_route_staging(builder, user->in, "host in", chunks);
    exchange.out = pto_route_staging(builder, user->out, "host out", chunks);
    pto_build_copy(builder, "own block", &exchange, pto_slice_block(user->in, PTO_ANCHOR_ME),
                   pto_slice_block(user->out, PTO_ANCHOR_ME));
    if (partners.groups > 1)
        pto_build_pipeline(builder, 0, partners.groups, partners.groups);
    else
        pto_route_chunks(builder, chunks);
    pto_build_copy(builder, "copy to host", &exchange, blocks_of(&partners, user->in, 1),
                   blocks_of(&partners, exchange.in, 1));
    pto_build_stage(builder, "all messages", PTO_ORDER_AT_ONCE);
    pto_build_step(builder, message_with(&partners, &exchange, true));
    pto_build_step(builder, message_with(&partners, &exchange, false));
    pto_build_copy(builder, "copy to device", &exchange, blocks_of(&partners, exchange.out, -1),
                   blocks_of(&partners, user->out, -1));
    if (partners.groups > 1)
        pto_build_end(builder);
    else
        pto_route_end_chunks(builder, chunks);
}

static pto_status_t applicable(const pto_request_t *request, pto_error_t *err) {
    if (request->collective == PTO_COLLECTIVE_PAIR && request->ends.from_host && request->ends.to_host)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "neither end is in GPU memory: nothing is staged");
    return PTO_OK;
}

static void build(pto_builder_t *builder, const pto_request_t *request) {
    if (request->collective == PTO_COLLECTIVE_PAIR) {
        build_pair(builder, request);
        return;
    }
    if (request->collective == PTO_COLLECTIVE_HALO) {
        build_halo(builder, request);
        return;
    }
    bool vector = pto_collective_is_vector(request->collective);
    bool from_root = pto_collective_is_from_root(request->collective);
    pto_exchange_t user = pto_route_user(builder, request);
    if (request->chunks > 1 && pto_collective_is_addressed(request->collective) &&
        request->collective != PTO_COLLECTIVE_MESSAGES && pto_layout_owner_count(&request->layout) > 1) {
        build_alltoall(builder, request, &user);
        return;
    }
    int64_t chunks = pto_route_chunk_count(builder, request, user.in);
    pto_exchange_t exchange = user, with_input = user, with_output = user;
    exchange.in = pto_route_staging(builder, from_root && vector ? user.out : user.in, "host in", chunks);
    exchange.out = exchange.in;
    if (!vector)
        exchange.out = pto_route_staging(builder, user.out, "host out", chunks);
    if (from_root)
        with_input.n = 1;
    if (pto_collective_is_to_root(request->collective))
        with_output.n = 1;
    pto_route_chunks(builder, chunks);
    pto_build_copy(builder, "copy to host", &with_input, pto_slice_all(builder, user.in),
                   pto_slice_all(builder, exchange.in));
    pto_build_exchange(builder, request, &exchange);
    pto_build_copy(builder, "copy to device", &with_output, pto_slice_all(builder, exchange.out),
                   pto_slice_all(builder, user.out));
    pto_route_end_chunks(builder, chunks);
}

const pto_strategy_t pto_strategy_three_step = {
    .name = "three_step",
    .summary = "copy to the host, collective among one process per GPU, copy back",
    .collectives = PTO_VECTORS | PTO_ALLTOALLS | PTO_ALLGATHERS | PTO_ROOTED | 1u << PTO_COLLECTIVE_MESSAGES |
                   1u << PTO_COLLECTIVE_PAIR | 1u << PTO_COLLECTIVE_HALO |
                   1u << PTO_COLLECTIVE_REDUCE_SCATTER,
    .chunked = true,
    .joins = true,
    .collective_space = PTO_SPACE_CPU,
    .applicable = applicable,
    .build = build,
};

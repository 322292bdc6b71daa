/* unpinned: three_step through host memory that is not pinned, as a program does that never registered its
 * buffers. */
#include "staging.h"

static void build(pto_builder_t *builder, const pto_request_t *request) {
    pto_user_t user = pto_route_user(builder, request);
    pto_buffer_t room = *pto_builder_buffer(builder, user.out);
    room.name = "host";
    room.role = PTO_ROLE_TEMPORARY;
    room.space = PTO_SPACE_CPU;
    room.pageable = true;
    int host = pto_build_buffer(builder, room);
    pto_exchange_t takers = {.group = user.owners,
                             .n = pto_layout_owner_count(&request->layout),
                             .core_count = request->layout.owners_per_gpu,
                             .in = host,
                             .out = host};
    pto_exchange_t giver = takers;
    giver.n = 1;
    pto_route_copy_of(builder, "copy to host", &giver, pto_slice_all(builder, user.in),
                      pto_slice_all(builder, host));
    pto_build_exchange(builder, request, &takers);
    pto_route_copy_of(builder, "copy to device", &takers, pto_slice_all(builder, host),
                      pto_slice_all(builder, user.out));
}

const pto_strategy_t pto_strategy_unpinned = {
    .name = "unpinned",
    .summary = "three_step through host memory that is not pinned",
    .collectives = 1u << PTO_COLLECTIVE_BROADCAST,
    .collective_space = PTO_SPACE_CPU,
    .build = build,
};

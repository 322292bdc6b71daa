/* Buffers, groups and steps of strategies that tests build themselves. */
#ifndef PTO_TEST_BUILT_H
#define PTO_TEST_BUILT_H

#include "plan/plan_internal.h"
#include "portolan/strategy.h"

/* `count` blocks of each owner, in GPU memory. */
static inline pto_buffer_t owners_blocks(const char *name, pto_role_t role, int64_t count, int64_t bytes) {
    return (pto_buffer_t){.name = name,
                          .role = role,
                          .space = PTO_SPACE_GPU,
                          .core_count = 1,
                          .group = PTO_GROUP_OWNERS,
                          .block_count = count,
                          .block_bytes = bytes,
                          .granularity_bytes = 1};
}

/* The same of elements of four bytes. */
static inline pto_buffer_t owners_floats(const char *name, pto_role_t role, int64_t count, int64_t bytes) {
    pto_buffer_t buffer = owners_blocks(name, role, count, bytes);
    buffer.granularity_bytes = 4;
    return buffer;
}

static inline pto_exchange_t owners_exchange(pto_builder_t *builder, int64_t n) {
    return (pto_exchange_t){.group = pto_build_group(builder, PTO_GROUP_OWNERS, 0), .n = n, .core_count = 1};
}

/* An input in host memory. */
static inline int owners_host_input(pto_builder_t *builder, int64_t count, int64_t bytes) {
    pto_buffer_t buffer = owners_blocks("in", PTO_ROLE_IN, count, bytes);
    buffer.space = PTO_SPACE_CPU;
    return pto_build_buffer(builder, buffer);
}

/* One member's step with one peer; -1: with none. */
static inline pto_step_t step_of_member(pto_step_kind_t kind, const pto_exchange_t *who, int64_t member,
                                        int64_t peer) {
    pto_step_t step = pto_step_of(kind, who);
    step.who_first = pto_constant(member);
    step.who_until = pto_constant(member + 1);
    if (peer >= 0)
        step.peers = (pto_peers_t){.kind = PTO_PEERS_INDEX,
                                   .first = pto_constant(peer),
                                   .stride = pto_constant(1),
                                   .until = pto_constant(peer + 1)};
    return step;
}

static inline void add_copy(pto_builder_t *builder, pto_step_t copy, pto_slice_t source, pto_slice_t target) {
    copy.source = source;
    copy.target = target;
    pto_build_step(builder, copy);
}

/* A stage of one copy. */
static inline void add_copy_stage(pto_builder_t *builder, const char *name, pto_step_t copy,
                                  pto_slice_t source, pto_slice_t target) {
    pto_build_stage(builder, name, PTO_ORDER_SEQUENCE);
    add_copy(builder, copy, source, target);
}

/* The first buffer of this role. */
static inline int buffer_of_role(const pto_builder_t *builder, pto_role_t role) {
    int buffer = 0;
    while (pto_builder_buffer(builder, buffer)->role != role)
        buffer++;
    return buffer;
}

/* A strategy of the test's own, until the next one is made. */
static inline const pto_strategy_t *strategy_made_of(pto_collective_t collective,
                                                     void (*build)(pto_builder_t *, const pto_request_t *)) {
    static pto_strategy_t strategy;
    strategy = (pto_strategy_t){.name = "made here",
                                .summary = "",
                                .collectives = 1u << collective,
                                .collective_space = PTO_SPACE_GPU,
                                .build = build};
    return &strategy;
}

#endif

/* Buffers and groups of strategies that tests build themselves. */
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

#endif

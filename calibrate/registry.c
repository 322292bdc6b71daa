/* The registry of benchmarks, in the order in which they run: one line each. */
#include "benchmark.h"

#define BENCHMARKS(ROW)                                                                                      \
    ROW(ping_pong)                                                                                           \
    ROW(ping_pong_to)                                                                                        \
    ROW(ping_pong_strided)                                                                                   \
    ROW(exchange)                                                                                            \
    ROW(staged)                                                                                              \
    ROW(memcpy)                                                                                              \
    ROW(memcpy_shared)                                                                                       \
    ROW(memcpy_peer)                                                                                         \
    ROW(memcpy_mixed)                                                                                        \
    ROW(memcpy_queued)                                                                                       \
    ROW(memcpy_strided)                                                                                      \
    ROW(memcpy_method)                                                                                       \
    ROW(memcpy_h2h)                                                                                          \
    ROW(remote)                                                                                              \
    ROW(remote_all)                                                                                          \
    ROW(injection)                                                                                           \
    ROW(multi_message)                                                                                       \
    ROW(reduce)                                                                                              \
    ROW(reduce_many)                                                                                         \
    ROW(signal_flag)                                                                                         \
    ROW(signal_device)                                                                                       \
    ROW(kernel_launch)                                                                                       \
    ROW(kernel_queued)                                                                                       \
    ROW(graph_launch)                                                                                        \
    ROW(event)                                                                                               \
    ROW(setup)                                                                                               \
    ROW(run_launch)                                                                                          \
    ROW(run_lines)                                                                                           \
    ROW(nccl)                                                                                                \
    ROW(library)

#define DECLARE(name) extern const benchmark_t bench_##name;
BENCHMARKS(DECLARE)
#undef DECLARE

#define ENTRY(name) &bench_##name,
const benchmark_t *const benchmark_registry[] = {BENCHMARKS(ENTRY)};
#undef ENTRY

const int benchmark_count = (int)(sizeof benchmark_registry / sizeof benchmark_registry[0]);

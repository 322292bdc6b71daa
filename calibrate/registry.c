/* All benchmarks, in the order in which they run: a new one adds its line twice here and a file of its own.
 */
#include "benchmark.h"

extern const benchmark_t bench_ping_pong;
extern const benchmark_t bench_memcpy;
extern const benchmark_t bench_memcpy_shared;
extern const benchmark_t bench_memcpy_peer;
extern const benchmark_t bench_remote;
extern const benchmark_t bench_remote_all;
extern const benchmark_t bench_injection;
extern const benchmark_t bench_multi_message;
extern const benchmark_t bench_reduce;
extern const benchmark_t bench_reduce_many;
extern const benchmark_t bench_signal_flag;
extern const benchmark_t bench_signal_device;
extern const benchmark_t bench_kernel_launch;
extern const benchmark_t bench_kernel_queued;
extern const benchmark_t bench_graph_launch;
extern const benchmark_t bench_event;
extern const benchmark_t bench_setup;

const benchmark_t *const benchmark_registry[] = {
    &bench_ping_pong,   &bench_memcpy,        &bench_memcpy_shared, &bench_memcpy_peer,   &bench_remote,
    &bench_remote_all,  &bench_injection,     &bench_multi_message, &bench_reduce,        &bench_reduce_many,
    &bench_signal_flag, &bench_signal_device, &bench_kernel_launch, &bench_kernel_queued, &bench_graph_launch,
    &bench_event,       &bench_setup,
};

const int benchmark_count = (int)(sizeof benchmark_registry / sizeof benchmark_registry[0]);

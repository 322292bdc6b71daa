/* Events: the call that records one, the call that queries one that has happened, and both together until the
 * host sees it (signal_event), which is the cost of waiting for a GPU that has finished. */
#include "benchmark.h"
#include "fatal.h"

/* In the order of the rows. */
typedef enum { RECORD, QUERY, SIGNAL } kind_t;

static void open_case(const work_t *work) {
    void **event = work->state;
    GPU_DO(gpu.device->event_create(event, &gpu_error));
    GPU_DO(gpu.device->event_record(*event, gpu.stream, &gpu_error));
    GPU_DO(gpu.device->finish(gpu.stream, &gpu_error));
}

/* Records the event, unless the kind is QUERY; polls until it has happened, unless the kind is RECORD. */
static void once(kind_t kind, void *event) {
    if (kind != QUERY)
        GPU_DO(gpu.device->event_record(event, gpu.stream, &gpu_error));
    bool happened = kind == RECORD;
    while (!happened)
        GPU_DO(gpu.device->event_poll(event, &happened, &gpu_error));
}

static double trial(const work_t *work, int64_t bytes, int iterations) {
    (void)bytes;
    void *const *event = work->state;
    double start = now_s();
    for (int i = 0; i < iterations; i++)
        once((kind_t)work->bench_case->detail[0], *event);
    double elapsed = now_s() - start;
    GPU_DO(gpu.device->finish(gpu.stream, &gpu_error));
    return elapsed;
}

static void close_case(const work_t *work) {
    void *const *event = work->state;
    GPU_DO(gpu.device->event_destroy(*event, &gpu_error));
}

const benchmark_t bench_event = {
    .name = "event",
    .group = "signals",
    .rows = "event_record, event_query, signal_event",
    .summary = "recording an event, asking for it, and both until the host sees it",
    .gpu_only = "event",
    .state_bytes = sizeof(void *),
    .open = open_case,
    .trial = trial,
    .close = close_case,
};

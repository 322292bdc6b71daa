/* Three ways to tell a copy where its memory is (Ji et al. 2012, Figure 4): cudaMemcpyDefault, the explicit
 * kind, and the explicit kind after asking the driver about the GPU's address. Within host memory (Figure 5):
 * memcpy, non-temporal stores, and cudaMemcpyDefault. The calls are synchronous; host memory is pinned. */
#include <stdio.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "fatal.h"
#include "memcpy_common.h"

enum { DETAIL_METHOD = 1 }; /* detail[0] is the kind */

/* The first ones are those of bench.h. */
typedef enum {
    METHOD_DEFAULT = PTO_BENCH_COPY_DEFAULT,
    METHOD_EXPLICIT = PTO_BENCH_COPY_EXPLICIT,
    METHOD_QUERY = PTO_BENCH_COPY_QUERY,
    METHOD_MEMCPY = PTO_BENCH_COPY_COUNT,
    METHOD_STREAM,
    METHOD_COUNT
} method_t;

static const char *const method_names[METHOD_COUNT] = {[METHOD_DEFAULT] = "default",
                                                       [METHOD_EXPLICIT] = "explicit",
                                                       [METHOD_QUERY] = "query",
                                                       [METHOD_MEMCPY] = "memcpy",
                                                       [METHOD_STREAM] = "stream"};

static void add_case(const job_t *job, pto_copy_kind_t kind, method_t method, case_list_t *list) {
    char prefix[CASE_NAME_MAX];
    snprintf(prefix, sizeof prefix, "memcpy_method_%s", method_names[method]);
    case_t *added = copying_own_case(job, prefix, kind, list);
    added->detail[DETAIL_METHOD] = (int)method;
}

static void list_cases(const job_t *job, case_list_t *list) {
    for (pto_copy_kind_t kind = PTO_COPY_H2D; kind <= PTO_COPY_D2H; kind++)
        for (method_t method = METHOD_DEFAULT; method <= METHOD_QUERY; method++)
            add_case(job, kind, method, list);
    add_case(job, PTO_COPY_H2H, METHOD_DEFAULT, list);
    add_case(job, PTO_COPY_H2H, METHOD_MEMCPY, list);
#if defined(__SSE2__)
    add_case(job, PTO_COPY_H2H, METHOD_STREAM, list);
#else
    case_skip(list, "the processor has no SSE2", "memcpy_method_stream_h2h");
#endif
}

#if defined(__SSE2__)
/* Stores whole vectors non-temporally. The fence waits for them, so that the time includes them. */
static void copy_past_cache(void *target, const void *source, size_t bytes) {
    size_t count = bytes / sizeof(__m128i);
    for (size_t i = 0; i < count; i++)
        _mm_stream_si128((__m128i *)target + i, _mm_load_si128((const __m128i *)source + i));
    size_t done = count * sizeof(__m128i);
    memcpy((char *)target + done, (const char *)source + done, bytes - done);
    _mm_sfence();
}
#else
static void copy_past_cache(void *target, const void *source, size_t bytes) { memcpy(target, source, bytes); }
#endif

static void copy_once(const work_t *work, int64_t bytes) {
    const copying_t *copying = work->state;
    method_t method = (method_t)work->bench_case->detail[DETAIL_METHOD];
    size_t size = (size_t)bytes;
    if (method == METHOD_MEMCPY)
        memcpy(copying->target, copying->source, size);
    else if (method == METHOD_STREAM)
        copy_past_cache(copying->target, copying->source, size);
    else
        GPU_DO(gpu.bench->copy_by((pto_bench_copy_t)method, copying->kind, copying->target, copying->source,
                                  size, &gpu_error));
}

const benchmark_t bench_memcpy_method = {
    .name = "memcpy_method",
    .group = "copies",
    .rows = "memcpy_method_default_{h2d,d2h,h2h}, memcpy_method_explicit_{h2d,d2h}, "
            "memcpy_method_query_{h2d,d2h}, memcpy_method_{memcpy,stream}_h2h",
    .summary = "ways to tell a copy where its memory is, and to copy within host memory",
    .gpu_only = "memcpy_method",
    .state_bytes = sizeof(copying_t),
    .list = list_cases,
    .open = copying_open,
    .once = copy_once,
};

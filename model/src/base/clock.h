/* The monotonic clock for timings and time-outs. Header-only, for libraries that do not link libportolan. */
#ifndef PTO_BASE_CLOCK_H
#define PTO_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t pto_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline double pto_now_s(void) { return 1e-9 * (double)pto_now_ns(); }

#endif

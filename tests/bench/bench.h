/* What the benchmarks share. */
#ifndef PTO_BENCH_H
#define PTO_BENCH_H

#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

/* Whether the short form is asked for (`make bench BENCH_SHORT=1`): little work, whose results are checked
 * and whose times mean nothing. */
static inline bool bench_is_short(void) {
    const char *text = getenv("BENCH_SHORT");
    return text && *text && *text != '0';
}

static inline double bench_clock_s(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* CPU time of this process: other work on the machine does not count. */
static inline double bench_cpu_s(void) { return bench_clock_s(CLOCK_PROCESS_CPUTIME_ID); }

static inline int bench_rising(const void *one, const void *other) {
    const double *a = one, *b = other;
    return (*a > *b) - (*a < *b);
}

static inline void bench_sort(double *value, int count) {
    qsort(value, (size_t)count, sizeof *value, bench_rising);
}

#endif

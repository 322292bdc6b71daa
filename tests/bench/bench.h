/* What the benchmarks share. */
#ifndef PTO_BENCH_H
#define PTO_BENCH_H

#include <stdbool.h>
#include <stdlib.h>

/* Whether the short form is asked for (`make bench BENCH_SHORT=1`): little work, whose results are checked
 * and whose times mean nothing. */
static inline bool bench_is_short(void) {
    const char *text = getenv("BENCH_SHORT");
    return text && *text && *text != '0';
}

#endif

/* The value of a scenario's key `counts`, read. */
#ifndef TESTS_PARSED_COUNTS_H
#define TESTS_PARSED_COUNTS_H

#include "portolan/scenario.h"
#include "test.h"

static inline void end_counts(void *counts) { pto_counts_fini(counts); }

/* Until the test ends. */
static inline pto_counts_t parsed(const char *text) {
    pto_counts_t counts;
    pto_error_t err = {0};
    if (pto_counts_parse(text, "counts", &counts, &err) != PTO_OK)
        fail_msg("%s: %s", text, err.message);
    keep_owned(&counts, sizeof counts, end_counts);
    return counts;
}

#endif

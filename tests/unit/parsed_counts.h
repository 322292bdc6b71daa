/* The value of a scenario's key `counts`, read. */
#ifndef TESTS_PARSED_COUNTS_H
#define TESTS_PARSED_COUNTS_H

#include "portolan/scenario.h"
#include "test.h"

static inline pto_counts_t parsed(const char *text) {
    pto_counts_t counts;
    pto_error_t err = {0};
    if (pto_counts_parse(text, "counts", &counts, &err) != PTO_OK)
        fail_msg("%s: %s", text, err.message);
    return counts;
}

#endif

/* How much of an exhaustive test to run. */
#ifndef PTO_TEST_SAMPLE_H
#define PTO_TEST_SAMPLE_H

#include <stdlib.h>

/* TEST_SAMPLE=N: every Nth case instead of all. `make test` and the sanitizers run such a sample, and
 * `make test-all` all cases. */
static inline int test_sample(void) {
    const char *text = getenv("TEST_SAMPLE");
    int sample = text ? atoi(text) : 1;
    return sample > 1 ? sample : 1;
}

#endif

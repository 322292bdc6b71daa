/* Summit, for all tests of a file: run_all_tests(read_summit, NULL). */
#ifndef PTO_TEST_SUMMIT_H
#define PTO_TEST_SUMMIT_H

#include "must.h"
#include "test.h"

static pto_machine_t summit;

static inline int read_summit(void **state) {
    summit = must_read("scenarios/machines/summit-spectrum.yaml");
    return 0;
}

#endif

/* Summit, for all tests of a file: run_all_tests(read_summit, free_summit). */
#ifndef PTO_TEST_SUMMIT_H
#define PTO_TEST_SUMMIT_H

#include "machine/machine_internal.h"
#include "test.h"

static pto_machine_t summit;

static inline int read_summit(void **state) {
    return pto_machine_read("scenarios/machines/summit-spectrum.yaml", &summit, NULL);
}

static inline int free_summit(void **state) {
    pto_machine_fini(&summit);
    return 0;
}

#endif

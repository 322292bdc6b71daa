/* Machine files that are refused. */
#ifndef PTO_TEST_BAD_MACHINE_H
#define PTO_TEST_BAD_MACHINE_H

#include "bad_input.h"
#include "machine/machine_internal.h"
#include "test.h"

static inline void assert_machines_refused(const bad_input_t *bad, size_t count) {
    for (size_t i = 0; i < count; i++) {
        pto_machine_t machine = {.library_count = 99};
        pto_error_t err = {.status = PTO_OK};
        pto_status_t status = pto_machine_parse(bad[i].text, strlen(bad[i].text), "m.yaml", &machine, &err);
        assert_refused(&bad[i], status, &err);
        assert_string_equal(err.file, "m.yaml");
        assert_int_equal(machine.library_count, 99); /* outputs are set only on success */
        assert_int_equal(pto_machine_parse(bad[i].text, strlen(bad[i].text), "m.yaml", &machine, NULL),
                         status);
    }
}

#define ASSERT_MACHINES_REFUSED(bad) assert_machines_refused((bad), sizeof(bad) / sizeof *(bad))

#endif

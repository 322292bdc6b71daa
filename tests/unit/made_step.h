/* A step of a workload on a machine, predicted. */
#ifndef PTO_TEST_MADE_STEP_H
#define PTO_TEST_MADE_STEP_H

#include "machine/machine_internal.h"
#include "portolan/workload.h"
#include "test.h"

/* Six GPUs on two sockets; nothing but messages and copies. */
#define SUMMIT "scenarios/machines/summit-spectrum.yaml"

typedef struct {
    pto_machine_t machine;
    pto_workload_t workload;
    pto_step_prediction_t step;
} made_t;

static inline void end_made(void *object) {
    made_t *made = object;
    pto_step_fini(&made->step);
    pto_workload_fini(&made->workload);
    pto_machine_fini(&made->machine);
}

/* Until the test ends; the step is empty. */
static inline made_t *read_step(const char *machine, const char *text) {
    pto_error_t err = {0};
    made_t *made = keep_new(sizeof *made, end_made);
    assert_ok(pto_machine_read(machine, &made->machine, &err), &err);
    assert_ok(pto_workload_parse(text, strlen(text), "w.yaml", &made->workload, &err), &err);
    assert_ok(pto_workload_bind(&made->workload, &made->machine, &err), &err);
    return made;
}

static inline made_t *predict_step(const char *machine, const char *text) {
    pto_error_t err = {0};
    made_t *made = read_step(machine, text);
    assert_ok(pto_step_predict(&made->workload, &made->machine, &made->step, &err), &err);
    return made;
}

#endif

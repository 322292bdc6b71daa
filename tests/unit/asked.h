/* Predictions from machine and scenario texts. Include cmocka.h first. */
#ifndef PTO_TEST_ASKED_H
#define PTO_TEST_ASKED_H

#include <string.h>

#include "machine/machine_internal.h"
#include "portolan/pick.h"

typedef struct {
    pto_machine_t machine;
    pto_scenario_t scenario;
    pto_predictions_t predictions;
} asked_t;

static inline void ask(asked_t *asked, const char *machine, const char *scenario) {
    pto_error_t err = {0};
    memset(asked, 0, sizeof *asked);
    if (pto_machine_parse(machine, strlen(machine), "machine.yaml", &asked->machine, &err) != PTO_OK ||
        pto_scenario_parse(scenario, strlen(scenario), "scenario.yaml", &asked->scenario, &err) != PTO_OK ||
        pto_scenario_bind(&asked->scenario, &asked->machine, &err) != PTO_OK ||
        pto_predict(&asked->scenario, &asked->machine, true, &asked->predictions, &err) != PTO_OK)
        fail_msg("%s:%d: %s", err.file, err.line, err.message);
}

static inline void drop(asked_t *asked) {
    pto_predictions_fini(&asked->predictions);
    pto_scenario_fini(&asked->scenario);
    pto_machine_fini(&asked->machine);
}

#endif

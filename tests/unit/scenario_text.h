/* Texts of scenarios, and what they are read as. */
#ifndef PTO_TEST_SCENARIO_TEXT_H
#define PTO_TEST_SCENARIO_TEXT_H

#include "machine/machine_internal.h"
#include "portolan/scenario.h"
#include "test.h"

/* Lines 1 and 2; the collective is line 3. */
#define TOP "scenario: s\nmachine: m.yaml\n"
#define ALLTOALL TOP "collective: alltoall\n"
#define ALLTOALLV TOP "collective: alltoallv\n"
#define MESSAGES TOP "collective: messages\n"
/* Lines 4 and 5. */
#define REST "layout: {nodes: 2}\nbytes: 1024\n"

/* A node of 6 GPUs on 2 sockets and 40 cores. */
static const pto_machine_t six_gpus = {.name = "six", .node = {.sockets = 2, .gpus = 6, .cores = 40}};

static inline pto_status_t parse(const char *text, pto_scenario_t *scenario, pto_error_t *err) {
    return pto_scenario_parse(text, strlen(text), "tests/fixtures/s.yaml", scenario, err);
}

static inline void end_scenario(void *scenario) { pto_scenario_fini(scenario); }

/* Until the test ends. */
static inline pto_scenario_t *scenario_of(const char *text) {
    pto_error_t err = {0};
    pto_scenario_t *scenario = keep_new(sizeof *scenario, end_scenario);
    assert_ok(parse(text, scenario, &err), &err);
    return scenario;
}

static inline pto_scenario_t *scenario_at(const char *path) {
    pto_error_t err = {0};
    pto_scenario_t *scenario = keep_new(sizeof *scenario, end_scenario);
    assert_ok(pto_scenario_read(path, scenario, &err), &err);
    return scenario;
}

#endif

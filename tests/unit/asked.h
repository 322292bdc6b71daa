/* Predictions from machine and scenario texts. */
#ifndef PTO_TEST_ASKED_H
#define PTO_TEST_ASKED_H

#include "machine/machine_internal.h"
#include "portolan/pick.h"
#include "test.h"

/* Prices by hand: a GPU message starts in 2 us and moves 1 GB/s, a CPU message starts in 1 us and moves 10
 * GB/s, a copy starts in 5 us and moves 10 GB/s. One message of s bytes to another node: cuda_aware 2 +
 * s/1000 us, three_step 11 + 3 s/10000 us. `intervals` is of the GPU's messages to other nodes, "KEY: [LOW,
 * HIGH], " or ""; `more` are lines of the file, or "". */
#define SIMPLE_MACHINE(name, intervals, more)                                                                \
    "machine: " name "\n"                                                                                    \
    "source: made up\n"                                                                                      \
    "node: {sockets: 1, gpus: 2, cores: 8}\n"                                                                \
    "messages:\n"                                                                                            \
    "  cpu:\n"                                                                                               \
    "    on_socket: [{protocol: eager, alpha_s: 1.0e-6, beta_s_per_byte: 1.0e-10}]\n"                        \
    "    off_node: [{protocol: eager, alpha_s: 1.0e-6, beta_s_per_byte: 1.0e-10}]\n"                         \
    "  gpu:\n"                                                                                               \
    "    on_socket: [{protocol: eager, alpha_s: 2.0e-6, beta_s_per_byte: 1.0e-9}]\n"                         \
    "    off_node: [{protocol: eager, " intervals "alpha_s: 2.0e-6, beta_s_per_byte: 1.0e-9}]\n"             \
    "copies:\n"                                                                                              \
    "  h2d: {on_socket: {alpha_s: 5.0e-6, beta_s_per_byte: 1.0e-10}}\n"                                      \
    "  d2h: {on_socket: {alpha_s: 5.0e-6, beta_s_per_byte: 1.0e-10}}\n" more

/* One message between two nodes with a GPU each, by two strategies. */
#define ONE_MESSAGE(bytes)                                                                                   \
    "scenario: one message\nmachine: m.yaml\ncollective: messages\nmessages: 1\n"                            \
    "layout: {nodes: 2, gpus_per_node: 1, procs_per_gpu: 1}\n"                                               \
    "bytes: " bytes "\nstrategies: [cuda_aware, three_step]\n"

typedef struct {
    pto_machine_t machine;
    pto_scenario_t scenario;
    pto_predictions_t predictions;
    pto_range_t *range; /* the picks */
    int64_t range_count;
} asked_t;

static inline void end_asked(void *object) {
    asked_t *asked = object;
    pto_predictions_fini(&asked->predictions);
    pto_scenario_fini(&asked->scenario);
    pto_machine_fini(&asked->machine);
}

/* The picks once more, after a change of the predictions. */
static inline void pick_again(asked_t *asked) {
    pto_error_t err = {0};
    pto_range_t *range = NULL;
    assert_ok(pto_pick(&asked->predictions, &range, &asked->range_count, &err), &err);
    asked->range = keep(range, free);
}

/* The scenario on the machine, once both are read. */
static inline void predict_asked(asked_t *asked) {
    pto_error_t err = {0};
    assert_ok(pto_scenario_bind(&asked->scenario, &asked->machine, &err), &err);
    assert_ok(pto_predict(&asked->scenario, &asked->machine, true, &asked->predictions, &err), &err);
    pick_again(asked);
}

/* Not predicted yet; until the test ends. */
static inline asked_t *read_asked(const char *machine, const char *scenario) {
    pto_error_t err = {0};
    asked_t *asked = keep_new(sizeof *asked, end_asked);
    assert_ok(pto_machine_parse(machine, strlen(machine), "machine.yaml", &asked->machine, &err), &err);
    assert_ok(pto_scenario_parse(scenario, strlen(scenario), "scenario.yaml", &asked->scenario, &err), &err);
    return asked;
}

/* `change`: of the machine; NULL: none. */
static inline asked_t *ask_changed(asked_t *asked, const char *scenario, const char *change) {
    pto_error_t err = {0};
    assert_ok(pto_scenario_parse(scenario, strlen(scenario), "scenario.yaml", &asked->scenario, &err), &err);
    if (change)
        assert_ok(pto_what_if(change, &asked->scenario, &asked->machine, &err), &err);
    predict_asked(asked);
    return asked;
}

/* Until the test ends. */
static inline asked_t *ask_if(const char *machine, const char *scenario, const char *change) {
    pto_error_t err = {0};
    asked_t *asked = keep_new(sizeof *asked, end_asked);
    assert_ok(pto_machine_parse(machine, strlen(machine), "machine.yaml", &asked->machine, &err), &err);
    return ask_changed(asked, scenario, change);
}

static inline asked_t *ask(const char *machine, const char *scenario) {
    return ask_if(machine, scenario, NULL);
}

static inline asked_t *ask_file(const char *machine_path, const char *scenario, const char *change) {
    pto_error_t err = {0};
    asked_t *asked = keep_new(sizeof *asked, end_asked);
    assert_ok(pto_machine_read(machine_path, &asked->machine, &err), &err);
    return ask_changed(asked, scenario, change);
}

#endif

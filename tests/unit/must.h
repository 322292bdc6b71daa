/* Calls that must succeed; one that does not fails the test with the error. What is made here but for
 * must_ask's scenarios lives until the test ends (keep). */
#ifndef PTO_TEST_MUST_H
#define PTO_TEST_MUST_H

#include "machine/machine_internal.h"
#include "portolan/check.h"
#include "portolan/pick.h"
#include "portolan/plan.h"
#include "portolan/scenario.h"
#include "portolan/strategy.h"
#include "portolan/topology.h"
#include "test.h"

static inline void end_machine(void *machine) { pto_machine_fini(machine); }

static inline void end_opened(void *machine) { pto_machine_destroy(machine); }

static inline void end_predictions(void *predictions) { pto_predictions_fini(predictions); }

static inline void end_plan(void *plan) { pto_plan_destroy(plan); }

static inline pto_machine_t must_read(const char *path) {
    pto_machine_t read;
    pto_error_t err = {0};
    assert_ok(pto_machine_read(path, &read, &err), &err);
    keep_owned(&read, sizeof read, end_machine);
    return read;
}

static inline pto_machine_t must_parse(const char *text) {
    pto_machine_t read;
    pto_error_t err = {0};
    assert_ok(pto_machine_parse(text, strlen(text), "m.yaml", &read, &err), &err);
    keep_owned(&read, sizeof read, end_machine);
    return read;
}

static inline pto_machine_t *must_open(const char *path) {
    pto_machine_t *machine = NULL;
    pto_error_t err = {0};
    assert_ok(pto_machine_open(path, &machine, &err), &err);
    return keep(machine, end_opened);
}

static inline pto_machine_t *must_create(const char *text) {
    pto_machine_t *machine = NULL;
    pto_error_t err = {0};
    assert_ok(pto_machine_create(text, strlen(text), "m.yaml", &machine, &err), &err);
    return keep(machine, end_opened);
}

static inline pto_machine_t *must_duplicate(const pto_machine_t *machine) {
    pto_machine_t *copy = NULL;
    pto_error_t err = {0};
    assert_ok(pto_machine_duplicate(machine, &copy, &err), &err);
    return keep(copy, end_opened);
}

static inline char *must_format(const pto_machine_t *machine) {
    char *text = NULL;
    pto_error_t err = {0};
    assert_ok(pto_machine_format(machine, NULL, &text, &err), &err);
    return keep(text, free);
}

static inline pto_predictions_t must_predict(const pto_scenario_t *scenario, const pto_machine_t *machine,
                                             bool explain) {
    pto_predictions_t predictions;
    pto_error_t err = {0};
    assert_ok(pto_predict(scenario, machine, explain, &predictions, &err), &err);
    keep_owned(&predictions, sizeof predictions, end_predictions);
    return predictions;
}

static inline void end_topology(void *topology) { pto_topology_destroy(topology); }

static inline pto_topology_t *must_open_topology(const char *path) {
    pto_topology_t *topology = NULL;
    pto_error_t err = {0};
    assert_ok(pto_topology_open(path, &topology, &err), &err);
    return keep(topology, end_topology);
}

static inline pto_scenario_t must_ask(const char *text) {
    pto_scenario_t scenario;
    pto_error_t err = {0};
    assert_ok(pto_scenario_parse(text, strlen(text), "s.yaml", &scenario, &err), &err);
    return scenario;
}

static inline void end_bound(void *scenario) { pto_scenario_fini(scenario); }

/* With one number of nodes and one size, to be completed and bound; until the test ends. */
static inline pto_scenario_t *scenario_at(pto_collective_t collective, int64_t nodes, int64_t bytes) {
    pto_error_t err = {0};
    pto_scenario_t *scenario = keep_new(sizeof *scenario, end_bound);
    pto_scenario_init(scenario);
    scenario->collective = collective;
    assert_ok(pto_series_one(nodes, &scenario->nodes, &err), &err);
    assert_ok(pto_series_one(bytes, &scenario->bytes, &err), &err);
    return scenario;
}

static inline void must_bind(pto_scenario_t *scenario, const pto_machine_t *machine) {
    pto_error_t err = {0};
    assert_ok(pto_scenario_bind(scenario, machine, &err), &err);
}

static inline const pto_strategy_t *strategy_named(const char *name) {
    const pto_strategy_t *strategy = NULL;
    pto_error_t err = {0};
    assert_ok(pto_strategy_find(name, &strategy, &err), &err);
    return strategy;
}

static inline const pto_algorithm_t *algorithm_named(const char *name, pto_collective_t collective) {
    const pto_algorithm_t *algorithm = NULL;
    pto_error_t err = {0};
    assert_ok(pto_algorithm_find(name, collective, &algorithm, &err), &err);
    return algorithm;
}

/* Of the request's collective. */
static inline void carry_out_by(pto_request_t *request, const char *strategy, const char *algorithm) {
    request->strategy = strategy_named(strategy);
    request->algorithm = algorithm_named(algorithm, request->collective);
}

static inline pto_plan_t *must_plan(const pto_request_t *request) {
    pto_plan_t *plan = NULL;
    pto_error_t err = {0};
    assert_ok(pto_plan_create(request, &plan, &err), &err);
    return keep(plan, end_plan);
}

/* Why the request has no plan; until the next call. */
static inline const char *no_plan(const pto_request_t *request, pto_status_t status) {
    static pto_error_t err;
    pto_plan_t *plan = NULL;
    assert_int_equal(pto_plan_create(request, &plan, &err), status);
    assert_null(plan);
    return err.message;
}

/* Fails unless the message contains the words. */
static inline void assert_says(const char *message, const char *words) {
    if (!strstr(message, words))
        fail_msg("'%s' does not say '%s'", message, words);
}

/* The request has no plan, for this reason. */
static inline void does_not_apply(const pto_request_t *request, const char *reason) {
    assert_says(no_plan(request, PTO_ERR_NOT_APPLICABLE), reason);
}

static inline pto_check_report_t must_check(const pto_plan_t *plan) {
    pto_check_report_t report;
    pto_error_t err = {0};
    const pto_request_t *of = pto_plan_request(plan);
    if (pto_check(plan, &report, &err) != PTO_OK)
        fail_msg("%s by %s with %s: %s", pto_collective_name(of->collective), of->strategy->name,
                 of->algorithm->name, err.message);
    return report;
}

static inline void assert_right(const pto_plan_t *plan) { must_check(plan); }

/* Check that the plan is refused for `cause`. */
static inline void refused_for(const pto_plan_t *plan, const char *cause) {
    pto_error_t err = {0};
    pto_check_report_t report = {.ranks = -1};
    pto_status_t status = pto_check(plan, &report, &err);
    if (status != PTO_ERR_INVALID_PLAN || err.status != status || !strstr(err.message, cause))
        fail_msg("wanted '%s', got %d '%s'", cause, (int)status, err.message);
    assert_int_equal(report.ranks, -1);
}

/* The next of all collectives, strategies and algorithms together; false: no more. *at is 0 at first. */
static inline bool next_request(pto_request_t *request, int *at) {
    int algorithms = pto_algorithm_count(), strategies = pto_strategy_count(), i = (*at)++;
    request->algorithm = pto_algorithm_at(i % algorithms);
    request->strategy = pto_strategy_at(i / algorithms % strategies);
    request->collective = (pto_collective_t)(i / algorithms / strategies);
    return i < PTO_COLLECTIVE_COUNT * strategies * algorithms;
}

#endif

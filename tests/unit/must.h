/* Calls that must succeed; one that does not fails the test with the error. */
#ifndef PTO_TEST_MUST_H
#define PTO_TEST_MUST_H

#include "machine/machine_internal.h"
#include "portolan/plan.h"
#include "portolan/scenario.h"
#include "portolan/strategy.h"
#include "test.h"

static inline pto_machine_t must_read(const char *path) {
    pto_machine_t read;
    pto_error_t err = {0};
    assert_ok(pto_machine_read(path, &read, &err), &err);
    return read;
}

static inline pto_machine_t must_parse(const char *text) {
    pto_machine_t read;
    pto_error_t err = {0};
    assert_ok(pto_machine_parse(text, strlen(text), "m.yaml", &read, &err), &err);
    return read;
}

static inline pto_scenario_t must_ask(const char *text) {
    pto_scenario_t scenario;
    pto_error_t err = {0};
    assert_ok(pto_scenario_parse(text, strlen(text), "s.yaml", &scenario, &err), &err);
    return scenario;
}

static inline const pto_strategy_t *strategy_named(const char *name) {
    const pto_strategy_t *strategy = NULL;
    pto_error_t err = {0};
    assert_ok(pto_strategy_find(name, &strategy, &err), &err);
    return strategy;
}

/* Of the request's collective. */
static inline void carry_out_by(pto_request_t *request, const char *strategy, const char *algorithm) {
    pto_error_t err = {0};
    assert_ok(pto_strategy_find(strategy, &request->strategy, &err), &err);
    assert_ok(pto_algorithm_find(algorithm, request->collective, &request->algorithm, &err), &err);
}

static inline pto_plan_t *must_plan(const pto_request_t *request) {
    pto_plan_t *plan = NULL;
    pto_error_t err = {0};
    assert_ok(pto_plan_create(request, &plan, &err), &err);
    return plan;
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

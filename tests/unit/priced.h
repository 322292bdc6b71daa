/* What plans cost: by class, rank by rank, and simulated. */
#ifndef PTO_TEST_PRICED_H
#define PTO_TEST_PRICED_H

#include "portolan/price.h"
#include "portolan/simulate.h"
#include "test.h"

static inline pto_price_t must_price(const pto_plan_t *plan, const pto_machine_t *on) {
    pto_price_t price = {0};
    pto_error_t err = {0};
    assert_ok(pto_price(plan, on, &price, NULL, &err), &err);
    return price;
}

static inline pto_price_t must_walk(const pto_plan_t *plan, const pto_machine_t *on) {
    pto_price_t price = {0};
    pto_error_t err = {0};
    assert_ok(pto_price_walk(plan, on, &price, NULL, &err), &err);
    return price;
}

static inline pto_simulation_t must_simulate(const pto_plan_t *plan, const pto_machine_t *on) {
    pto_simulation_t simulation = {0};
    pto_error_t err = {0};
    assert_ok(pto_simulate(plan, on, NULL, &simulation, &err), &err);
    return simulation;
}

/* By class, which must be the price rank by rank. */
static inline double agreed_s(const pto_plan_t *plan, const pto_machine_t *on) {
    const double seconds = must_price(plan, on).seconds;
    assert_near_for(must_walk(plan, on).seconds, seconds, 1e-9, "rank by rank");
    return seconds;
}

/* The same, which must be the simulated time. */
static inline double confirmed_s(const pto_plan_t *plan, const pto_machine_t *on) {
    const double seconds = agreed_s(plan, on);
    assert_near_for(must_simulate(plan, on).seconds, seconds, 1e-9, "simulated");
    return seconds;
}

/* In all three ways. */
static inline void assert_costs(const pto_plan_t *plan, const pto_machine_t *on, double wanted_s) {
    assert_near_for(must_price(plan, on).seconds, wanted_s, 1e-9, "by class");
    assert_near_for(must_walk(plan, on).seconds, wanted_s, 1e-9, "rank by rank");
    assert_near_for(must_simulate(plan, on).seconds, wanted_s, 1e-9, "simulated");
}

#endif

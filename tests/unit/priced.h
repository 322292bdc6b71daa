/* What plans cost: by class, rank by rank, and simulated. */
#ifndef PTO_TEST_PRICED_H
#define PTO_TEST_PRICED_H

#include "must.h"
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

/* The same of a request's plan. */
static inline double priced_s(const pto_request_t *request, const pto_machine_t *on) {
    return must_price(must_plan(request), on).seconds;
}

static inline double walked_s(const pto_request_t *request, const pto_machine_t *on) {
    return must_walk(must_plan(request), on).seconds;
}

static inline double simulated_s(const pto_request_t *request, const pto_machine_t *on) {
    return must_simulate(must_plan(request), on).seconds;
}

static inline void end_explanation(void *explanation) { pto_explanation_fini(explanation); }

static inline pto_explanation_t must_explain(const pto_plan_t *plan, const pto_machine_t *on,
                                             pto_price_t *price) {
    pto_explanation_t explanation = {0};
    pto_error_t err = {0};
    assert_ok(pto_price(plan, on, price, &explanation, &err), &err);
    keep_owned(&explanation, sizeof explanation, end_explanation);
    return explanation;
}

/* NULL: there is none. */
static inline const pto_term_t *term_named(const pto_explanation_t *explanation, const char *key) {
    for (int i = 0; i < explanation->count; i++)
        if (strcmp(explanation->term[i].key, key) == 0)
            return &explanation->term[i];
    return NULL;
}

/* The terms of a price sum to it, by class and rank by rank. */
static inline void assert_explained(const pto_plan_t *plan, const pto_machine_t *on) {
    pto_explanation_t explanation = {0};
    pto_error_t err = {0};
    for (int walk = 0; walk < 2; walk++) {
        pto_price_t price = {0};
        double sum_s = 0;
        assert_ok((walk ? pto_price_walk : pto_price)(plan, on, &price, &explanation, &err), &err);
        for (int i = 0; i < explanation.count; i++)
            sum_s += explanation.term[i].seconds;
        assert_near_for(sum_s, price.seconds, 1e-9, pto_plan_request(plan)->strategy->name);
    }
    pto_explanation_fini(&explanation);
}

/* Why the plan has no price; until the next call. */
static inline const char *no_price(const pto_plan_t *plan, const pto_machine_t *on, pto_status_t status) {
    static pto_error_t err;
    pto_price_t price;
    assert_int_equal(pto_price(plan, on, &price, NULL, &err), status);
    return err.message;
}

static inline double postal_s(const pto_postal_t *postal, double bytes) {
    return postal->alpha_s.value + postal->beta_s_per_byte.value * bytes;
}

static inline double message_cost_s(const pto_machine_t *on, pto_space_t space, pto_level_t level,
                                    int64_t bytes) {
    return postal_s(&pto_machine_message(on, space, level, bytes)->postal, (double)bytes);
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

/* In all three ways, within a fraction. */
static inline void assert_costs_for(const pto_plan_t *plan, const pto_machine_t *on, double wanted_s,
                                    double fraction, const char *what) {
    assert_near_for(must_price(plan, on).seconds, wanted_s, fraction, what);
    assert_near_for(must_walk(plan, on).seconds, wanted_s, fraction, what);
    assert_near_for(must_simulate(plan, on).seconds, wanted_s, fraction, what);
}

static inline void assert_costs(const pto_plan_t *plan, const pto_machine_t *on, double wanted_s) {
    assert_near_for(must_price(plan, on).seconds, wanted_s, 1e-9, "by class");
    assert_near_for(must_walk(plan, on).seconds, wanted_s, 1e-9, "rank by rank");
    assert_near_for(must_simulate(plan, on).seconds, wanted_s, 1e-9, "simulated");
}

#endif

/* A small machine, and what plans cost on it in all ways. */
#ifndef PTO_TEST_LANES_COST_H
#define PTO_TEST_LANES_COST_H

#include "must.h"
#include "portolan/price.h"
#include "portolan/simulate.h"
#include "test.h"

static const char ring_machine[] =
    "machine: ring\n"
    "source: made up\n"
    "node: {sockets: 1, gpus: 2, cores: 2}\n"
    "messages:\n"
    "  cpu:\n"
    "    on_socket: [{protocol: eager, alpha_s: 5e-7, beta_s_per_byte: 1e-10}]\n"
    "    off_node: [{protocol: eager, alpha_s: 2e-6, beta_s_per_byte: 4e-11}]\n"
    "copies:\n"
    "  h2d: {on_socket: {alpha_s: 6e-6, beta_s_per_byte: 2e-11}}\n"
    "  d2h: {on_socket: {alpha_s: 6e-6, beta_s_per_byte: 2e-11}}\n"
    "signals: {flag_s: 1e-7}\n";

static pto_machine_t machine;

static inline int read_machine(void **state) {
    machine = must_parse(ring_machine);
    return 0;
}

enum { RING_BYTES = 16 << 20 };

/* The price by class, rank by rank and simulated; they agree within 1 percent. */
static inline double price_in_all_ways(const pto_plan_t *plan) {
    pto_price_t price = {0}, walked = {0};
    pto_simulation_t simulation = {0};
    pto_error_t err = {0};
    assert_ok(pto_price(plan, &machine, &price, NULL, &err), &err);
    assert_ok(pto_price_walk(plan, &machine, &walked, NULL, &err), &err);
    assert_ok(pto_simulate(plan, &machine, NULL, &simulation, &err), &err);
    assert_near(price.seconds, simulation.seconds, 0.01);
    assert_near(walked.seconds, simulation.seconds, 0.01);
    return simulation.seconds;
}

static inline void assert_explained(const pto_plan_t *plan) {
    pto_price_t price;
    pto_explanation_t explanation = {0};
    assert_int_equal(pto_price(plan, &machine, &price, &explanation, NULL), PTO_OK);
    double sum = 0;
    for (int i = 0; i < explanation.count; i++)
        sum += explanation.term[i].seconds;
    assert_near(sum, price.seconds, 1e-9);
    pto_explanation_fini(&explanation);
}

#endif

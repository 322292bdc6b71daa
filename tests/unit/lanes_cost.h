/* A small machine, and what plans cost on it in all ways. */
#ifndef PTO_TEST_LANES_COST_H
#define PTO_TEST_LANES_COST_H

#include "must.h"
#include "priced.h"
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

/* Its costs of a copy, and of a message between nodes. */
static inline double copy_s_of(double bytes) { return 6e-6 + 2e-11 * bytes; }

static inline double send_s_of(double bytes) { return 2e-6 + 4e-11 * bytes; }

/* RING_BYTES in chunks through a copy out, a message and a copy in: sum t_i + (c - 1) max t_i. */
static inline double pipelined_s(int64_t chunks) {
    const double bytes = (double)RING_BYTES / (double)chunks;
    return 2 * copy_s_of(bytes) + send_s_of(bytes) +
           (double)(chunks - 1) * fmax(copy_s_of(bytes), send_s_of(bytes));
}

/* The price by class, rank by rank and simulated; they agree within 1 percent. */
static inline double price_in_all_ways(const pto_plan_t *plan) {
    const double seconds = must_simulate(plan, &machine).seconds;
    assert_near_for(must_price(plan, &machine).seconds, seconds, 0.01, "by class");
    assert_near_for(must_walk(plan, &machine).seconds, seconds, 0.01, "rank by rank");
    return seconds;
}

#endif

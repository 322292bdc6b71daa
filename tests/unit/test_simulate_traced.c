/* A simulation with a trace shows all links and passes through the loop for any simulation, one without
 * leaves out what can delay nothing (simulate/run.c). Both take the same time, to the last bit. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sample.h"
#include "simulated.h"

static void count(void *context, const pto_span_t *span) {
    *(int64_t *)context += span->resource == PTO_RESOURCE_RECV;
}

static void assert_same_use(const pto_simulation_t *traced, const pto_simulation_t *plain, const char *what) {
    for (int i = 0; i < PTO_RESOURCE_COUNT; i++) {
        const pto_resource_use_t *a = &traced->use[i], *b = &plain->use[i];
        bool is_sum = i == PTO_RESOURCE_INJECTION || i == PTO_RESOURCE_EJECTION; /* in another order */
        bool same =
            a->busy_s == b->busy_s && a->waiting_s == b->waiting_s && a->most_busy_s == b->most_busy_s;
        if (is_sum) /* of differences of times */
            same = fabs(a->busy_s - b->busy_s) <= 1e-12 * traced->seconds;
        if (a->count != b->count || !same)
            fail_msg("%s: %s differs with a trace", what, pto_resource_name((pto_resource_t)i));
    }
}

static int compared;

static void compare(const pto_request_t *request, const pto_machine_t *machine) {
    pto_plan_t *plan;
    pto_simulation_t traced, plain;
    int64_t received = 0;
    pto_simulate_options_t options = {.visit = count, .context = &received};
    char what[160];
    snprintf(what, sizeof what, "%s by %s, %s, %lldx%lldx%lld, %lld bytes",
             pto_collective_name(request->collective), request->strategy->name, request->algorithm->name,
             (long long)request->layout.nodes, (long long)request->layout.gpus_per_node,
             (long long)request->layout.procs_per_gpu, (long long)request->bytes);
    if (pto_plan_create(request, &plan, NULL) != PTO_OK)
        return;
    pto_status_t status = pto_simulate(plan, machine, &options, &traced, NULL);
    assert_int_equal(pto_simulate(plan, machine, NULL, &plain, NULL), status);
    if (status == PTO_OK) {
        if (traced.seconds != plain.seconds || traced.slowest_rank != plain.slowest_rank)
            fail_msg("%s: %.17g with a trace, %.17g without", what, traced.seconds, plain.seconds);
        assert_int_equal(received, plain.messages);
        assert_int_equal(traced.messages, plain.messages);
        assert_int_equal(traced.most_in_flight, plain.most_in_flight);
        assert_same_use(&traced, &plain, what);
        compared++;
    }
    pto_plan_destroy(plan);
}

static void compare_all(const pto_machine_t *machine, pto_layout_t layout, int64_t bytes) {
    static int asked;
    const int every = test_sample() > 1 ? 7 : 1;
    for (int c = 0; c < PTO_COLLECTIVE_COUNT; c++)
        for (int s = 0; s < pto_strategy_count(); s++)
            for (int a = 0; a < pto_algorithm_count(); a++) {
                pto_request_t request = {
                    .layout = layout,
                    .collective = (pto_collective_t)c,
                    .datatype = PTO_DATATYPE_FLOAT,
                    .bytes = bytes,
                    .messages = 5,
                    .halo = {.dim_count = 2, .wrap = {true, true}, .extent = {10, 22}, .width = 1},
                    .strategy = pto_strategy_at(s),
                    .algorithm = pto_algorithm_at(a),
                    .by_library = true};
                if (asked++ % every == 0)
                    compare(&request, machine);
            }
}

static void a_trace_changes_no_time(void **state) {
    (void)state;
    const pto_layout_t layouts[] = {
        {5, 1, 1, 1, 2, false}, {8, 1, 1, 1, 2, false}, {3, 3, 1, 1, 2, false}, {4, 2, 1, 2, 2, false}};
    const int64_t sizes[] = {256, 65536}; /* eager and rendezvous */
    const pto_machine_t machines[] = {unlimited(&summit), summit, refit};
    compared = 0;
    for (size_t m = 0; m < sizeof machines / sizeof *machines; m++)
        for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++)
            for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
                compare_all(&machines[m], layouts[l], sizes[i]);
    print_message("%d simulations compared\n", compared);
    assert_true(compared > 2000 / test_sample());
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_trace_changes_no_time)};
    return cmocka_run_group_tests(tests, read_machines, free_machines);
}

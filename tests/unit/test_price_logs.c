/* Rounds that are alike are charged once (model/src/price/logs.c). Prices, their addends and what plans
 * occupy are the same, to the last bit, as with every round charged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "made_up.h"
#include "portolan/price.h"
#include "portolan/strategy.h"
#include "price/pricing.h"
#include "same_price.h"

/* Returns whether the plan applies and was charged with fewer visits. */
static bool compare(const pto_plan_t *plan, const pto_machine_t *machine) {
    const pto_request_t *request = pto_plan_request(plan);
    pto_price_t price[3];
    pto_explanation_t explanation[2] = {0};
    int64_t visits[3];
    for (int i = 0; i < 2; i++) {
        pto_price_each_round = i == 1;
        pto_price_visits = 0;
        if (pto_price(plan, machine, &price[i], &explanation[i], NULL) != PTO_OK)
            return false;
        visits[i] = pto_price_visits;
    }
    pto_price_each_round = false;
    assert_int_equal(pto_price(plan, machine, &price[2], NULL, NULL), PTO_OK);
    if (!same(price[0].seconds, price[1].seconds) || !same(price[2].seconds, price[1].seconds) ||
        !same_terms(&explanation[0], &explanation[1]))
        fail_msg("%s by %s with %s on %s: %.17g s and %.17g s, each round charged: %.17g s",
                 pto_collective_name(request->collective), request->strategy->name, request->algorithm->name,
                 machine->name, price[0].seconds, price[2].seconds, price[1].seconds);
    assert_true(visits[0] <= visits[1]);
    pto_explanation_fini(&explanation[0]);
    pto_explanation_fini(&explanation[1]);
    return visits[0] < visits[1];
}

/* How many plans of a machine were charged with fewer visits. */
static int64_t compare_all(const pto_machine_t *machine) {
    static const int64_t chunks[] = {0, 5, 40};
    int64_t fewer = 0;
    for (int c = 0; c < PTO_COLLECTIVE_COUNT; c++)
        for (int s = 0; s < pto_strategy_count(); s++)
            for (int a = 0; a < pto_algorithm_count(); a++)
                for (int i = 0; i < 36; i++) {
                    pto_request_t request = {.layout = {.nodes = i % 2 ? 9 : 1,
                                                        .gpus_per_node = 4,
                                                        .owners_per_gpu = 1,
                                                        .procs_per_gpu = i < 18 ? 3 : 1,
                                                        .gpus_per_socket = 2},
                                             .collective = (pto_collective_t)c,
                                             .datatype = PTO_DATATYPE_FLOAT,
                                             .bytes = i % 6 / 2 == 0   ? 1000000
                                                      : i % 6 / 2 == 1 ? 4096
                                                                       : 52,
                                             .messages = 4,
                                             .segment_bytes = i % 18 < 6 ? 0 : 4096,
                                             .chunks = chunks[i / 6 % 3],
                                             .strategy = pto_strategy_at(s),
                                             .algorithm = pto_algorithm_at(a),
                                             .by_library = i % 2};
                    pto_plan_t *plan = NULL;
                    if (c == PTO_COLLECTIVE_HALO || !(request.algorithm->collectives & 1u << c) ||
                        pto_plan_create(&request, &plan, NULL) != PTO_OK)
                        continue;
                    fewer += compare(plan, machine);
                    pto_plan_destroy(plan);
                }
    return fewer;
}

/* What a copy costs then depends on what its process did before. */
static pto_machine_t with_copies_one_behind_another(const pto_machine_t *known) {
    pto_machine_t machine = *known;
    for (int kind = 0; kind < PTO_COPY_COUNT; kind++)
        machine.queued_copy_s[kind] = (pto_param_t){.value = 3e-6, .line = 1};
    machine.event_s = (pto_param_t){.value = 5e-6, .line = 1};
    machine.both_ways[PTO_SPACE_CPU] = (pto_param_t){.value = 0.4, .line = 1};
    return machine;
}

/* And the copies of several processes of a GPU wait for each other. */
static pto_machine_t with_queues(const pto_machine_t *known, pto_cost_row_t *row) {
    pto_machine_t machine = *known;
    *row = (pto_cost_row_t){.procs = 2, .below_bytes = INT64_MAX};
    row->postal = machine.copies[PTO_COPY_H2D][PTO_REACH_ON_SOCKET];
    row->postal.alpha_s.value *= 2;
    machine.shared_copies[PTO_COPY_H2D] = (pto_cost_table_t){.count = 1, .row = row};
    machine.shared_copies[PTO_COPY_D2H] = machine.shared_copies[PTO_COPY_H2D];
    return machine;
}

static void rounds_charged_once_cost_what_each_would(void **state) {
    (void)state;
    pto_machine_t summit, dgx;
    pto_cost_row_t row;
    assert_int_equal(pto_machine_read("scenarios/machines/summit-spectrum.yaml", &summit, NULL), PTO_OK);
    assert_int_equal(pto_machine_read("scenarios/machines/dgx-h100.yaml", &dgx, NULL), PTO_OK);
    pto_machine_t whole = completed(&summit), behind = with_copies_one_behind_another(&whole);
    pto_machine_t queues = with_queues(&behind, &row);
    const pto_machine_t *const machines[] = {&summit, &dgx, &whole, &behind, &queues};
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        int64_t fewer = compare_all(machines[i]);
        print_message("machine %zu: %lld plans with fewer visits\n", i, (long long)fewer);
        assert_true(fewer > 100);
    }
    pto_machine_fini(&dgx);
    pto_machine_fini(&summit);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rounds_charged_once_cost_what_each_would)};
    return cmocka_run_group_tests_name("logs of stages", tests, NULL, NULL);
}

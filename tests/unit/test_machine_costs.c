/* Reductions in pieces and the cost of additional messages: read, rejected and priced. */
#include "bad_machine.h"
#include "machine/machine_internal.h"
#include "must.h"
#include "portolan/pick.h"
#include "priced.h"
#include "test.h"

/* Four lines, and what a test adds from the fifth on. */
#define BODY                                                                                                 \
    "machine: m\nsource: s\nnode: {sockets: 1, gpus: 2, cores: 2}\n"                                         \
    "messages: {cpu: {off_node: [{protocol: eager, alpha_s: 1e-6, beta_s_per_byte: 1e-10}]}}\n"
#define COST "alpha_s: 1e-6, beta_s_per_byte: 1e-10"
#define CACHES                                                                                               \
    "reduce:\n  cpu:\n"                                                                                      \
    "    - {below_bytes: 32KiB, alpha_s: 1e-8, beta_s_per_byte: 1e-11}\n"                                    \
    "    - {below_bytes: 2MiB, alpha_s: 0, beta_s_per_byte: 2e-11}\n"                                        \
    "    - {alpha_s: 2e-5, beta_s_per_byte: 6e-11}\n"                                                        \
    "copies: {h2d: {on_socket: {" COST "}}, d2h: {on_socket: {" COST "}}}\n"

TEST(a_reduction_takes_the_piece_of_its_bytes) {
    pto_machine_t m = must_parse(BODY CACHES);
    assert_int_equal(m.reduce[PTO_SPACE_CPU].count, 3);
    assert_true(pto_machine_reduce(&m, PTO_SPACE_CPU, 0)->beta_s_per_byte.value == 1e-11);
    assert_true(pto_machine_reduce(&m, PTO_SPACE_CPU, 32767)->beta_s_per_byte.value == 1e-11);
    assert_true(pto_machine_reduce(&m, PTO_SPACE_CPU, 32768)->beta_s_per_byte.value == 2e-11);
    assert_true(pto_machine_reduce(&m, PTO_SPACE_CPU, 2 << 20)->alpha_s.value == 2e-5);
    assert_true(pto_machine_reduce(&m, PTO_SPACE_CPU, INT64_MAX)->alpha_s.value == 2e-5);
    assert_null(pto_machine_reduce(&m, PTO_SPACE_GPU, 8));
}

TEST(one_cost_holds_for_every_size) {
    pto_machine_t m = must_parse(BODY "reduce: {gpu: {" COST "}}\n");
    assert_int_equal(m.reduce[PTO_SPACE_GPU].count, 1);
    assert_true(pto_machine_reduce(&m, PTO_SPACE_GPU, 0) == pto_machine_reduce(&m, PTO_SPACE_GPU, INT64_MAX));
}

/* An allreduce of two nodes by recursive doubling: the vector crosses once and is added once. */
static double price_s(const pto_machine_t *machine, int64_t bytes) {
    pto_request_t request = {.layout = {.nodes = 2,
                                        .gpus_per_node = 1,
                                        .owners_per_gpu = 1,
                                        .procs_per_gpu = 1,
                                        .gpus_per_socket = 2},
                             .collective = PTO_COLLECTIVE_ALLREDUCE,
                             .split = PTO_SPLIT_BYTES,
                             .datatype = PTO_DATATYPE_FLOAT,
                             .bytes = bytes,
                             .by_library = true};
    carry_out_by(&request, "three_step", "recursive_doubling");
    pto_plan_t *plan = must_plan(&request);
    return must_price(plan, machine).seconds;
}

TEST(a_price_takes_the_piece_of_one_inputs_bytes) {
    pto_machine_t with = must_parse(BODY CACHES);
    pto_machine_t without = must_parse(BODY CACHES);
    without.reduce[PTO_SPACE_CPU].count = 0;
    static const int64_t bytes[] = {8, 16384, 32764, 32768, 1 << 20, 2 << 20, 64 << 20};
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        const pto_postal_t *piece = pto_machine_reduce(&with, PTO_SPACE_CPU, bytes[i]);
        double expected = piece->alpha_s.value + piece->beta_s_per_byte.value * (double)bytes[i];
        double got = price_s(&with, bytes[i]) - price_s(&without, bytes[i]);
        assert_true(fabs(got - expected) <= 1e-9 * price_s(&with, bytes[i]));
    }
    without.reduce[PTO_SPACE_CPU].count = 3; /* whose texts it still owns */
}

TEST(costs_of_additional_messages_are_read) {
    pto_machine_t m =
        must_parse(BODY "gap:\n"
                        "  gpu:\n"
                        "    - {protocol: eager, below_bytes: 64, alpha_s: 1e-6, beta_s_per_byte: 0, "
                        "samples: 3, flagged: odd}\n"
                        "    - {protocol: rendezvous, alpha_s: 2e-6, beta_s_per_byte: 1e-9}\n");
    const pto_cost_table_t *gap = pto_machine_gap(&m, PTO_SPACE_GPU, PTO_LEVEL_OFF_NODE);
    const pto_postal_t *small = pto_cost_at(gap, 63);
    assert_true(small->alpha_s.value == 1e-6);
    assert_int_equal(small->sample_count, 3);
    assert_string_equal(small->flagged, "odd");
    assert_true(pto_cost_at(gap, 64)->beta_s_per_byte.value == 1e-9);
    assert_null(pto_machine_gap(&m, PTO_SPACE_CPU, PTO_LEVEL_OFF_NODE));
    assert_null(pto_machine_gap(&m, PTO_SPACE_GPU, PTO_LEVEL_ON_SOCKET));
}

TEST(limits_beyond_bytes_are_read) {
    pto_machine_t m = must_parse(
        BODY "injection: {gpu: {s_per_byte: 1e-11, s_per_message: 4e-8, s_per_message_95: [3e-8, 5e-8]}}\n"
             "network: {contention: 0}\n"
             "copies: {pageable: {h2d: {alpha_s: 2e-5, beta_s_per_byte: 1e-10}}}\n");
    assert_true(m.injection_s_per_message[PTO_SPACE_GPU].high == 5e-8);
    assert_true(pto_param_known(&m.contention) && m.contention.value == 0);
    assert_true(pto_machine_copy(&m, PTO_COPY_H2D, PTO_REACH_ON_SOCKET, true)->alpha_s.value == 2e-5);
    assert_ptr_equal(pto_machine_copy(&m, PTO_COPY_D2H, PTO_REACH_OFF_SOCKET, true),
                     &m.copies[PTO_COPY_D2H][PTO_REACH_ON_SOCKET]);
}

TEST(invalid_costs_are_rejected) {
    static const bad_input_t bad[] = {
        BAD(BODY "reduce: {}\n", PTO_ERR_KEY, 5, 9, "'reduce' is empty"),
        BAD(BODY "reduce: {cpu: 1}\n", PTO_ERR_TYPE, 5, 15, "cpu: expected a cost or a list of rows"),
        BAD(BODY "reduce: {cpu: []}\n", PTO_ERR_RANGE, 5, 15, "cpu: expected 1 to 4 rows, not 0"),
        BAD(BODY "reduce: {cpu: [1]}\n", PTO_ERR_TYPE, 5, 16, "a row of costs must be a mapping"),
        BAD(BODY "reduce: {cpu: [{below_bytes: 8, " COST "}]}\n", PTO_ERR_RANGE, 5, 30,
            "ranges leave a gap: no row holds from 8 bytes up"),
        BAD(BODY "reduce: {cpu: [{" COST "}, {" COST "}]}\n", PTO_ERR_RANGE, 5, 16,
            "ranges overlap: without below_bytes this row holds for every size"),
        BAD(BODY "reduce:\n  cpu:\n    - {below_bytes: 8, " COST "}\n    - {below_bytes: 8, " COST
                 "}\n    - {" COST "}\n",
            PTO_ERR_RANGE, 8, 21, "below_bytes must rise above the 8 of the row before"),
        BAD(BODY "reduce:\n  cpu:\n    - {below_bytes: 1, " COST "}\n    - {below_bytes: 2, " COST
                 "}\n    - {below_bytes: 3, " COST "}\n    - {below_bytes: 4, " COST "}\n    - {" COST "}\n",
            PTO_ERR_RANGE, 7, 5, "expected 1 to 4 rows, not 5"),
        BAD(BODY "reduce: {cpu: {below_bytes: 8, " COST "}}\n", PTO_ERR_KEY, 5, 16,
            "'below_bytes' in a cost"),
        BAD(BODY "reduce: {cpu: [{protocol: eager, " COST "}]}\n", PTO_ERR_KEY, 5, 17, "'protocol'"),
        BAD(BODY "reduce: {cpu: [{alpha_s: 0, beta_s_per_byte: 0}]}\n", PTO_ERR_RANGE, 5, 16,
            "nothing is free"),
        BAD(BODY "gap: 1\n", PTO_ERR_TYPE, 5, 6, "'gap' must be a mapping"),
        BAD(BODY "gap: {}\n", PTO_ERR_KEY, 5, 6, "'gap' is empty"),
        BAD(BODY "gap: {cpu: {alpha_s: 1e-7}}\n", PTO_ERR_TYPE, 5, 12, "list of rows"),
        BAD(BODY "gap: {cpu: [{protocol: eager, alpha_s: 1e-7}]}\n", PTO_ERR_KEY, 5, 13,
            "missing key 'beta_s_per_byte'"),
        BAD(BODY "network: {}\n", PTO_ERR_KEY, 5, 10, "missing key 'contention'"),
        BAD(BODY "network: {contention: -1}\n", PTO_ERR_RANGE, 5, 23, "0 or more"),
        BAD(BODY "injection: {cpu: {s_per_message: 1e-8}}\n", PTO_ERR_KEY, 5, 18, "missing key 's_per_byte'"),
    };
    ASSERT_MACHINES_REFUSED(bad);
}

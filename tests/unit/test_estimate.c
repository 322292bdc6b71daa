/* Estimates: what the prices are between which they are interpolated, how far off they are in between, and
 * what is outside. */
#include "chance.h"
#include "must.h"
#include "portolan/api.h"
#include "portolan/pick.h"
#include "test.h"

enum { CELLS = 4, SIZES = 60, LARGEST = 1 << 24 };

static const pto_ask_t cells[CELLS] = {
    {.collective = "allreduce", .nodes = 2, .procs_per_gpu = 6, .bytes = LARGEST},
    {.collective = "allreduce", .nodes = 1, .procs_per_gpu = 6, .bytes = LARGEST, .datatype = "double"},
    {.collective = "alltoall", .nodes = 8, .procs_per_gpu = 6, .bytes = LARGEST},
    {.collective = "allgather", .nodes = 2, .procs_per_gpu = 6, .bytes = LARGEST, .strategy = "three_step"},
};

static int open_machine(void **state) {
    *state = must_open("scenarios/machines/summit-spectrum.yaml");
    return 0;
}

static double predicted(const pto_machine_t *machine, const pto_ask_t *cell, int64_t bytes,
                        const char **strategy) {
    pto_ask_t one = *cell;
    pto_plan_t *plan;
    pto_price_t price;
    one.bytes = bytes;
    assert_int_equal(pto_predict_one(machine, &one, &plan, &price, NULL), PTO_OK);
    *strategy = pto_plan_request(plan)->strategy->name;
    pto_plan_destroy(plan);
    return price.seconds;
}

static void end_estimates(void *estimates) { pto_estimates_destroy(estimates); }

/* Until the test ends. */
static pto_estimates_t *must_estimate(const pto_machine_t *machine, const pto_ask_t *cell) {
    pto_estimates_t *estimates = NULL;
    pto_error_t err = {0};
    assert_ok(pto_estimates_create(machine, cell, &estimates, &err), &err);
    return keep(estimates, end_estimates);
}

static bool is_power_of_two(int64_t bytes) { return (bytes & (bytes - 1)) == 0; }

TEST(a_size_of_the_table_has_its_own_price) {
    for (int c = 0; c < CELLS; c++) {
        pto_estimates_t *estimates = must_estimate(*test_state, &cells[c]);
        assert_int_equal(pto_estimates_bytes(estimates, pto_estimates_count(estimates) - 1), LARGEST);
        for (int i = 0; i < pto_estimates_count(estimates); i++) {
            const char *name;
            const pto_strategy_t *strategy;
            int64_t bytes = pto_estimates_bytes(estimates, i);
            double seconds = predicted(*test_state, &cells[c], bytes, &name);
            double estimate = pto_estimate(estimates, bytes, &strategy);
            assert_true(i == 0 || bytes > pto_estimates_bytes(estimates, i - 1));
            if (is_power_of_two(bytes)) {
                assert_true(estimate == seconds);
                assert_string_equal(strategy->name, name);
            } else {
                assert_true(fabs(estimate - seconds) <= PTO_ESTIMATE_TOLERANCE * seconds);
            }
        }
    }
}

/* Twice the tolerance, since the middle is looked at alone; and what a 256th of the size costs. */
TEST(between_sizes_an_estimate_is_near_the_price) {
    const double most = 2 * PTO_ESTIMATE_TOLERANCE + 1.0 / 256;
    for (int c = 0; c < CELLS; c++) {
        pto_estimates_t *estimates = must_estimate(*test_state, &cells[c]);
        for (int i = 0; i < SIZES; i++) {
            const char *name;
            int64_t power = INT64_C(1) << (3 + below(21)), bytes = power + below(power / 8) * 8;
            double seconds = predicted(*test_state, &cells[c], bytes, &name);
            double estimate = pto_estimate(estimates, bytes, NULL);
            if (!(fabs(estimate - seconds) <= most * seconds))
                fail_msg("%s of %lld bytes: estimated %g, predicted %g by %s", cells[c].collective,
                         (long long)bytes, estimate, seconds, name);
        }
    }
}

/* Lines of three strategies, of which the second is the lowest at neither power of two. */
TEST(a_third_strategy_between_two_sizes_is_found) {
    static const char text[] =
        "machine: m\nsource: made up\nnode: {sockets: 1, gpus: 1, cores: 1}\nmessages:\n"
        "  cpu: {off_node: [{protocol: eager, alpha_s: 1.4e-6, beta_s_per_byte: 2e-9}]}\n"
        "  gpu: {off_node: [{protocol: eager, alpha_s: 1e-6, beta_s_per_byte: 1e-8}]}\n"
        "copies:\n  h2d: {on_socket: {alpha_s: 3e-6, beta_s_per_byte: 5e-10}}\n"
        "  d2h: {on_socket: {alpha_s: 3e-6, beta_s_per_byte: 5e-10}}\n"
        "nccl: {alltoall: [{gpus: 2, nodes: 2, alpha_s: 1.55e-5, beta_s_per_byte: 0}]}\n";
    static const struct {
        int64_t bytes;
        const char *strategy;
    } wanted[] = {{1024, "cuda_aware"}, {1536, "three_step"}, {2048, "nccl"}};
    const pto_ask_t cell = {.collective = "alltoall", .nodes = 2, .procs_per_gpu = 1, .bytes = 4096};
    pto_machine_t *machine = must_create(text);
    pto_estimates_t *estimates = must_estimate(machine, &cell);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const pto_strategy_t *strategy;
        const char *name;
        double seconds = predicted(machine, &cell, wanted[i].bytes, &name);
        assert_string_equal(name, wanted[i].strategy);
        assert_true(pto_estimate(estimates, wanted[i].bytes, &strategy) == seconds);
        assert_string_equal(strategy->name, name);
    }
}

TEST(outside_of_the_table_there_is_none) {
    const pto_strategy_t *strategy;
    pto_ask_t cell = cells[1];
    cell.bytes = 1000;
    pto_estimates_t *estimates = must_estimate(*test_state, &cell);
    assert_true(isnan(pto_estimate(estimates, 1001, &strategy)));
    assert_null(strategy);
    assert_true(isnan(pto_estimate(estimates, -1, NULL)));
    assert_true(pto_estimate(estimates, 1000, &strategy) > 0);
    assert_non_null(strategy);
    assert_true(pto_estimate(estimates, 0, NULL) == pto_estimate(estimates, 8, NULL)); /* one element */
    pto_estimates_destroy(NULL);
}

/* A GPU of 16 GB cannot hold the buffers of the largest sizes. */
TEST(the_table_ends_where_memory_does) {
    const pto_ask_t cell = {.collective = "alltoall", .nodes = 32, .bytes = INT64_C(1) << 40};
    pto_estimates_t *estimates = must_estimate(*test_state, &cell);
    int64_t last = pto_estimates_bytes(estimates, pto_estimates_count(estimates) - 1);
    assert_true(last > 1 << 20 && last < INT64_C(1) << 34);
    assert_true(isnan(pto_estimate(estimates, 2 * last, NULL)));
}

TEST(errors_are_those_of_one_prediction) {
    pto_estimates_t *estimates = NULL;
    pto_error_t err;
    pto_ask_t unknown = {.collective = "alltoal"}, negative = {.collective = "alltoall", .bytes = -1},
              missing = {.collective = "alltoall", .strategy = "nccl"};
    assert_int_equal(pto_estimates_create(*test_state, &unknown, &estimates, &err), PTO_ERR_NOT_FOUND);
    assert_non_null(strstr(err.message, "did you mean 'alltoall'?"));
    assert_int_equal(pto_estimates_create(*test_state, &negative, &estimates, &err), PTO_ERR_RANGE);
    assert_int_equal(pto_estimates_create(*test_state, &missing, &estimates, &err), PTO_ERR_NOT_APPLICABLE);
    assert_null(estimates);
}

TEST(sizes_of_structs_are_told) {
    size_t found = 0;
    for (const pto_struct_size_t *size = pto_struct_sizes(); size->name; size++)
        if (strcmp(size->name, "pto_price_t") == 0)
            found = size->bytes;
    assert_int_equal(found, sizeof(pto_price_t));
}

int main(void) { return run_all_tests(open_machine, NULL); }

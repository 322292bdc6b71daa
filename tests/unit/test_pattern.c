/* Stencils and groups as byte counts. */
#include "parsed_counts.h"
#include "plan_request.h"
#include "portolan/check.h"
#include "test.h"

static void locate(const pto_grid_t *grid, int64_t process, int64_t *at) {
    for (int d = grid->dim_count - 1; d >= 0; d--, process /= grid->dim[d + 1])
        at[d] = process % grid->dim[d];
}

static int64_t process_at(const pto_grid_t *grid, const int64_t *at) {
    int64_t process = 0;
    for (int d = 0; d < grid->dim_count; d++)
        process = process * grid->dim[d] + at[d];
    return process;
}

/* Send to each neighbor by its coordinates. */
static void add_stencil(const pto_grid_t *grid, int64_t n, int64_t *matrix) {
    for (int64_t process = 0; process < n; process++)
        for (int d = 0; d < grid->dim_count; d++)
            for (int sign = -1; sign <= 1; sign += 2) {
                int64_t at[PTO_GRID_DIMS_MAX];
                locate(grid, process, at);
                at[d] += sign;
                if (!grid->wrap[d] && (at[d] < 0 || at[d] >= grid->dim[d]))
                    continue;
                at[d] = (at[d] + grid->dim[d]) % grid->dim[d];
                if (process_at(grid, at) != process)
                    matrix[process * n + process_at(grid, at)] += grid->weight[d];
            }
}

static void add_groups(const pto_grid_t *grid, int64_t n, int64_t *matrix) {
    for (int64_t process = 0; process < n; process++)
        for (int64_t k = 0; k < grid->dim[grid->along]; k++) {
            int64_t at[PTO_GRID_DIMS_MAX];
            locate(grid, process, at);
            at[grid->along] = k;
            matrix[process * n + process_at(grid, at)]++;
        }
}

TEST(patterns_match_their_neighbors_by_coordinates) {
    srand(11);
    for (int trial = 0; trial < 300; trial++) {
        pto_counts_t counts = {.kind = trial % 2 ? PTO_COUNTS_STENCIL : PTO_COUNTS_GROUPS};
        counts.grid.dim_count = 1 + rand() % PTO_GRID_DIMS_MAX;
        counts.grid.along = rand() % counts.grid.dim_count;
        for (int d = 0; d < counts.grid.dim_count; d++) {
            counts.grid.dim[d] = 1 + rand() % 4;
            counts.grid.wrap[d] = rand() % 2;
            counts.grid.weight[d] = rand() % 4;
        }
        int64_t n = pto_counts_order(&counts), most = 0;
        int64_t *matrix = calloc((size_t)(n * n), sizeof *matrix);
        assert_non_null(matrix);
        if (counts.kind == PTO_COUNTS_STENCIL)
            add_stencil(&counts.grid, n, matrix);
        else
            add_groups(&counts.grid, n, matrix);
        for (int64_t i = 0; i < n * n; i++) {
            assert_int_equal(pto_counts_bytes(&counts, 10, i / n, i % n), 10 * matrix[i]);
            most = matrix[i] > most ? matrix[i] : most;
        }
        assert_true(pto_counts_largest(&counts, 10) >= 10 * most);
        free(matrix);
    }
}

TEST(wrapping_a_dimension_of_two_doubles_the_bytes) {
    pto_counts_t counts = parsed("{pattern: stencil, dims: [2, 3], wrap: [1, 1], weights: [3, 1]}");
    char text[160];
    assert_int_equal(pto_counts_bytes(&counts, 8, 0, 3), 48);
    assert_int_equal(pto_counts_bytes(&counts, 8, 0, 2), 8);
    assert_int_equal(pto_counts_largest(&counts, 8), 48);
    assert_non_null(strstr(pto_counts_describe(&counts, text, sizeof text), "size 2 exchange twice"));
    counts.grid.wrap[0] = false;
    assert_int_equal(pto_counts_bytes(&counts, 8, 0, 3), 24);
    assert_null(strstr(pto_counts_describe(&counts, text, sizeof text), "twice"));
    assert_string_equal(text, "stencil on 2 x 3, weights 3 1, wrap 0 1");
}

static pto_plan_t *planned(const pto_counts_t *counts, const char *strategy) {
    pto_request_t request = request_for(PTO_COLLECTIVE_ALLTOALLV, strategy, "linear", 2, 4, 2, 64);
    request.implementation = PTO_IMPLEMENTATION_ISEND_IRECV;
    request.counts = counts;
    return must_plan(&request);
}

static const char *const eight[] = {
    "{pattern: stencil, dims: [2, 4]}",
    "{pattern: stencil, dims: [4, 2]}",
    "{pattern: stencil, dims: [2, 4], wrap: [1, 0]}",
    "{pattern: stencil, dims: [2, 4], weights: [1, 3]}",
    "{pattern: groups, dims: [2, 4], along: 1}",
    "{pattern: groups, dims: [2, 4], along: 0}",
    "{pattern: groups, dims: [2, 2, 2], along: 0}",
};
enum { EIGHT_COUNT = sizeof eight / sizeof *eight };

TEST(plans_of_patterns_are_proved_right) {
    const char *const strategy[] = {"cuda_aware", "three_step", "extra_message", "dup_devptr"};
    for (int i = 0; i < EIGHT_COUNT; i++)
        for (int s = 0; s < 4; s++) {
            pto_counts_t counts = parsed(eight[i]);
            pto_plan_t *plan = planned(&counts, strategy[s]);
            pto_error_t err = {0};
            pto_check_report_t report;
            if (pto_check(plan, &report, &err) != PTO_OK)
                fail_msg("%s by %s: %s", eight[i], strategy[s], err.message);
        }
}

TEST(plans_of_different_patterns_have_different_digests) {
    uint64_t digest[EIGHT_COUNT];
    for (int i = 0; i < EIGHT_COUNT; i++) {
        pto_counts_t counts = parsed(eight[i]);
        digest[i] = pto_plan_digest(planned(&counts, "cuda_aware"));
        for (int j = 0; j < i; j++)
            assert_true(digest[i] != digest[j]);
    }
}

TEST(bad_patterns_are_refused) {
    const struct {
        const char *text, *message;
    } bad[] = {
        {"{pattern: stencil}", "missing key 'dims'"},
        {"{pattern: sten, dims: [4]}", "did you mean 'stencil'"},
        {"{pattern: stencil, dims: []}", "expected 1 to 4 numbers, not 0"},
        {"{pattern: stencil, dims: [0, 4]}", "must be 1 or more, not 0"},
        {"{pattern: stencil, dims: [4294967296, 4294967296]}", "dims: 4294967296 processes in dimension 1"},
        {"{pattern: stencil, dims: [2, 4], wrap: [1]}", "wrap: 1 numbers for 2 dims"},
        {"{pattern: stencil, dims: [2, 4], weights: [1, 2, 3]}", "weights: 3 numbers for 2 dims"},
        {"{pattern: stencil, dims: [2], weights: [1048577]}", "weights: 1048577 is not between"},
        {"{pattern: stencil, dims: [2, 4], along: 0}", "along cannot be given with stencil"},
        {"{pattern: groups, dims: [2, 4], wrap: [1, 1]}", "wrap cannot be given with groups"},
        {"{pattern: groups, dims: [2, 4], along: 2}", "there is no dimension 2, only 0 to 1"},
        {"{pattern: groups, dims: [2, 4], skew: 0.5}", "skew cannot be given with groups"},
        {"{dims: [2, 4]}", "missing key 'skew', 'matrix', 'list' or 'pattern'"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pto_counts_t counts;
        pto_error_t err = {0};
        assert_int_not_equal(pto_counts_parse(bad[i].text, "counts", &counts, &err), PTO_OK);
        if (err.line != 1 || !strstr(err.message, bad[i].message))
            fail_msg("%s: %d: %s", bad[i].text, err.line, err.message);
    }
    pto_counts_t counts = parsed("{pattern: stencil, dims: [3, 3]}");
    pto_request_t request = request_for(PTO_COLLECTIVE_ALLTOALLV, "cuda_aware", "linear", 2, 4, 2, 64);
    request.counts = &counts;
    assert_non_null(strstr(no_plan(&request, PTO_ERR_RANGE), "9 rows, but 8 processes hold data"));
}

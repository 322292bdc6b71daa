/* Plans stay as they are: the digests of every strategy's plans by every algorithm, with all that a request
 * may have, compared with tests/fixtures/plans.txt. Prices and proofs see only what matters to them: not a
 * buffer that is larger than needed, nor a stage without steps.
 *
 * A change that intends to change plans rewrites the file and says so in its commit:
 *     build/tests/test_plans_unchanged --print > tests/fixtures/plans.txt */
#include <inttypes.h>

#include "base/hash.h"
#include "portolan/strategy.h"
#include "test.h"

static const pto_layout_t layouts[] = {
    {.nodes = 1, .gpus_per_node = 2, .owners_per_gpu = 1, .procs_per_gpu = 1, .gpus_per_socket = 2},
    {.nodes = 1, .gpus_per_node = 4, .owners_per_gpu = 2, .procs_per_gpu = 4, .gpus_per_socket = 2},
    {.nodes = 2, .gpus_per_node = 4, .owners_per_gpu = 1, .procs_per_gpu = 6, .gpus_per_socket = 2},
    {.nodes = 5, .gpus_per_node = 3, .owners_per_gpu = 1, .procs_per_gpu = 2, .gpus_per_socket = 3},
    {.nodes = 8, .gpus_per_node = 1, .owners_per_gpu = 1, .procs_per_gpu = 1, .gpus_per_socket = 1},
};

static const int64_t sizes_bytes[] = {8, 1000, 5 << 20};

/* A plan of each kind that a request may ask for beside its size and layout. */
enum { CHUNKS = 1, SEGMENTS, IN_PLACE, STAGED, STAGED_MEMBERS, NOT_BY_LIBRARY, OTHER_SPLIT, COUNTS, WAYS };

static pto_request_t request_in(pto_request_t request, int way) {
    static const pto_counts_t skewed = {.kind = PTO_COUNTS_SKEW, .skew = 0.5, .seed = 3};
    request.by_library = way != NOT_BY_LIBRARY;
    request.chunks = way == CHUNKS ? 3 : 0;
    request.segment_bytes = way == SEGMENTS ? 4096 : 0;
    request.in_place = way == IN_PLACE;
    request.staged = way == STAGED;
    if (way == STAGED_MEMBERS)
        request.staged_members = (pto_staged_t){1, 1};
    if (way == OTHER_SPLIT)
        request.split = PTO_SPLIT_DESTINATIONS;
    if (way == COUNTS)
        request.counts = &skewed;
    return request;
}

/* What some collectives have alone: where a pair's buffers are, a halo's shape, and the data of messages. */
enum { SHAPES = 12 };

static bool in_shape(pto_request_t *request, int shape) {
    switch (request->collective) {
    case PTO_COLLECTIVE_PAIR:
        request->ends = (pto_pair_ends_t){shape & 1, shape >> 1 & 1, shape >> 2 & 1};
        return shape < 8;
    case PTO_COLLECTIVE_HALO:
        request->halo = (pto_halo_t){.dim_count = 2 + shape % 2,
                                     .wrap = {shape >= 6, shape >= 3},
                                     .extent = {5, 4, 3},
                                     .width = 1 + shape % 3 / 2,
                                     .corners = (pto_corners_t)(shape % PTO_CORNERS_COUNT)};
        return true;
    case PTO_COLLECTIVE_MESSAGES:
        request->messages = 1 + 4 * shape;
        request->unique_bytes = shape == 2 ? request->bytes / 2 : 0;
        return shape < 3;
    default:
        return shape == 0;
    }
}

/* --- one line for each strategy with each algorithm ----------------------------------------------------- */

typedef struct {
    uint64_t digest;
    int64_t plans;
} fold_t;

static void fold_plan(const pto_request_t *request, fold_t *fold) {
    pto_plan_t *plan = NULL;
    if (pto_plan_create(request, &plan, NULL) != PTO_OK)
        return;
    const uint64_t digest = pto_plan_digest(plan);
    fold->digest = pto_hash_bytes(fold->digest, &digest, sizeof digest);
    fold->plans++;
    pto_plan_destroy(plan);
}

static void fold_shapes(pto_request_t request, fold_t *fold) {
    for (size_t layout = 0; layout < sizeof layouts / sizeof *layouts; layout++)
        for (size_t size = 0; size < sizeof sizes_bytes / sizeof *sizes_bytes; size++)
            for (int shape = 0; shape < SHAPES; shape++) {
                request.layout = layouts[layout];
                request.bytes = sizes_bytes[size];
                if (in_shape(&request, shape))
                    fold_plan(&request, fold);
            }
}

static void write_line(pto_collective_t collective, const pto_strategy_t *strategy,
                       const pto_algorithm_t *algorithm, FILE *out) {
    fold_t fold = {.digest = PTO_HASH_START};
    const pto_request_t request = {.collective = collective,
                                   .datatype = PTO_DATATYPE_FLOAT,
                                   .strategy = strategy,
                                   .algorithm = algorithm};
    for (int way = 0; way < WAYS; way++)
        fold_shapes(request_in(request, way), &fold);
    if (fold.plans > 0)
        fprintf(out, "%s %s %s %" PRId64 " %016" PRIx64 "\n", pto_collective_name(collective), strategy->name,
                algorithm->name, fold.plans, fold.digest);
}

static void write_lines(FILE *out) {
    for (int c = 0; c < PTO_COLLECTIVE_COUNT; c++)
        for (int s = 0; s < pto_strategy_count(); s++)
            for (int a = 0; a < pto_algorithm_count(); a++) {
                const pto_algorithm_t *algorithm = NULL;
                if (pto_algorithm_find(pto_algorithm_at(a)->name, (pto_collective_t)c, &algorithm, NULL) ==
                    PTO_OK)
                    write_line((pto_collective_t)c, pto_strategy_at(s), algorithm, out);
            }
}

/* Whether one of the next lines is this one. */
static bool comes_next(FILE *lines, const char *expected) {
    char got[256];
    while (fgets(got, sizeof got, lines) != NULL)
        if (strcmp(got, expected) == 0)
            return true;
    return false;
}

/* Each line of the fixture is written as it was. There may be more. */
TEST(plans_are_what_they_were) {
    static const char fixture_path[] = "tests/fixtures/plans.txt";
    FILE *now = tmpfile();
    FILE *before = fopen(fixture_path, "r");
    char expected[256];
    int missing = 0;
    assert_non_null(now);
    assert_non_null(before);
    write_lines(now);
    rewind(now);
    while (fgets(expected, sizeof expected, before) != NULL) {
        if (comes_next(now, expected)) /* as nearly always: they are in order */
            continue;
        rewind(now);
        if (!comes_next(now, expected)) {
            rewind(now);
            print_error("%s: this has changed: %s", fixture_path, expected);
            missing++;
        }
    }
    fclose(before);
    fclose(now);
    assert_int_equal(missing, 0);
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "--print") == 0) {
        write_lines(stdout);
        return 0;
    }
    return run_all_tests(NULL, NULL);
}

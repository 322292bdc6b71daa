/* Prices stay bit-identical: every strategy and algorithm on every shipped machine, and every shipped
 * scenario, compared with tests/fixtures/prices.txt, which holds a digest of each group of prices.
 *
 * A change that intends to change prices rewrites the file and says so in its commit:
 *     build/tests/test_prices_unchanged --print > tests/fixtures/prices.txt
 * `--cells` prints each price instead, to compare two builds. */
#include <glob.h>
#include <inttypes.h>

#include "base/hash.h"
#include "portolan/pick.h"
#include "portolan/scenario.h"
#include "recorded_lines.h"
#include "test.h"

static const char fixture_path[] = "tests/fixtures/prices.txt";

static bool print_cells;

/* Of the bits of the values folded in. */
typedef struct {
    uint64_t digest;
    int64_t priced;
} fold_t;

static const fold_t empty_fold = {.digest = PTO_HASH_START};

static void fold_bytes(fold_t *fold, const void *data, size_t size) {
    fold->digest = pto_hash_bytes(fold->digest, data, size);
}

static void fold_price(fold_t *fold, pto_status_t status, const pto_price_t *price,
                       const pto_explanation_t *explanation) {
    int applicable = status == PTO_OK;
    fold_bytes(fold, &applicable, sizeof applicable);
    if (!applicable)
        return;
    fold->priced++;
    fold_bytes(fold, &price->seconds, sizeof price->seconds);
    fold_bytes(fold, &price->low_s, sizeof price->low_s);
    fold_bytes(fold, &price->high_s, sizeof price->high_s);
    for (int i = 0; i < explanation->count; i++) {
        const pto_term_t *term = &explanation->term[i];
        if (!term->param)
            continue; /* what is named as not priced is no part of the price */
        fold_bytes(fold, &term->count, sizeof term->count);
        fold_bytes(fold, &term->seconds, sizeof term->seconds);
    }
}

/* --- every strategy and algorithm on a machine ---------------------------------------------------------- */

static const pto_layout_t layouts[] = {
    {.nodes = 1, .gpus_per_node = 2, .owners_per_gpu = 1, .procs_per_gpu = 1, .gpus_per_socket = 2},
    {.nodes = 1, .gpus_per_node = 4, .owners_per_gpu = 2, .procs_per_gpu = 4, .gpus_per_socket = 2},
    {.nodes = 2, .gpus_per_node = 4, .owners_per_gpu = 1, .procs_per_gpu = 6, .gpus_per_socket = 2},
    {.nodes = 5, .gpus_per_node = 3, .owners_per_gpu = 1, .procs_per_gpu = 2, .gpus_per_socket = 3},
    {.nodes = 32, .gpus_per_node = 6, .owners_per_gpu = 1, .procs_per_gpu = 6, .gpus_per_socket = 3},
};

static const int64_t sizes_bytes[] = {8, 1000, 65536, 5 << 20};

/* By class, and rank by rank where the layout is small. */
static void price_both_ways(const pto_machine_t *machine, const pto_request_t *request, fold_t *fold) {
    pto_plan_t *plan = NULL;
    pto_price_t price = {0};
    pto_explanation_t explanation = {0};
    pto_status_t status = pto_plan_create(request, &plan, NULL);
    if (status == PTO_OK)
        status = pto_price(plan, machine, &price, &explanation, NULL);
    fold_price(fold, status, &price, &explanation);
    if (print_cells)
        printf("%s %s %s %s %" PRId64 "x%" PRId64 " %" PRId64 " %d%d %a\n", pto_machine_name(machine),
               pto_collective_name(request->collective), request->strategy->name, request->algorithm->name,
               request->layout.nodes, request->layout.gpus_per_node, request->bytes, request->by_library,
               request->staged, status == PTO_OK ? price.seconds : -1.0);
    if (status == PTO_OK && request->layout.nodes <= 5) {
        status = pto_price_walk(plan, machine, &price, &explanation, NULL);
        fold_price(fold, status, &price, &explanation);
    }
    pto_explanation_fini(&explanation);
    pto_plan_destroy(plan);
}

static void price_sizes(const pto_machine_t *machine, pto_request_t request, fold_t *fold) {
    for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++) {
        for (size_t s = 0; s < sizeof sizes_bytes / sizeof *sizes_bytes; s++) {
            request.layout = layouts[l];
            request.bytes = sizes_bytes[s];
            request.messages = request.collective == PTO_COLLECTIVE_MESSAGES ? 10 : 0;
            price_both_ways(machine, &request, fold);
        }
    }
}

static void price_algorithm(const pto_machine_t *machine, pto_collective_t collective,
                            const pto_strategy_t *strategy, const pto_algorithm_t *algorithm, FILE *out) {
    fold_t fold = empty_fold;
    pto_request_t request = {.collective = collective,
                             .split = collective == PTO_COLLECTIVE_ALLTOALLV ? PTO_SPLIT_DESTINATIONS
                                                                             : PTO_SPLIT_BYTES,
                             .datatype = PTO_DATATYPE_FLOAT,
                             .strategy = strategy,
                             .algorithm = algorithm};
    price_sizes(machine, request, &fold);
    request.by_library = true;
    price_sizes(machine, request, &fold);
    request.staged = true;
    price_sizes(machine, request, &fold);
    if (fold.priced > 0 && !print_cells)
        fprintf(out, "%s %s %s %s %" PRId64 " %016" PRIx64 "\n", pto_machine_name(machine),
                pto_collective_name(collective), strategy->name, algorithm->name, fold.priced, fold.digest);
}

static void price_machine(const char *path, FILE *out) {
    pto_machine_t *machine = NULL;
    assert_int_equal(pto_machine_open(path, &machine, NULL), PTO_OK);
    for (int c = 0; c < PTO_COLLECTIVE_COUNT; c++) {
        for (int s = 0; s < pto_strategy_count(); s++) {
            for (int a = 0; a < pto_algorithm_count(); a++) {
                pto_collective_t collective = (pto_collective_t)c;
                const pto_algorithm_t *algorithm = NULL;
                if (pto_algorithm_find(pto_algorithm_at(a)->name, collective, &algorithm, NULL) == PTO_OK)
                    price_algorithm(machine, collective, pto_strategy_at(s), algorithm, out);
            }
        }
    }
    pto_machine_destroy(machine);
}

/* --- a scenario as `predict` prices it ------------------------------------------------------------------ */

static void fold_prediction(fold_t *fold, const pto_prediction_t *prediction) {
    fold_price(fold, prediction->applicable ? PTO_OK : PTO_ERR_NOT_APPLICABLE, &prediction->price,
               &prediction->explanation);
    if (prediction->applicable && prediction->has_energy)
        fold_bytes(fold, &prediction->energy.joules, sizeof prediction->energy.joules);
}

static void price_scenario(const char *path, FILE *out) {
    pto_scenario_t scenario;
    pto_machine_t *machine = NULL;
    pto_predictions_t predictions = {0};
    pto_scenario_init(&scenario);
    assert_int_equal(pto_scenario_read(path, &scenario, NULL), PTO_OK);
    assert_int_equal(pto_scenario_read_machine(&scenario, &machine, NULL), PTO_OK);
    assert_int_equal(pto_scenario_bind(&scenario, machine, NULL), PTO_OK);
    assert_int_equal(pto_predict(&scenario, machine, true, &predictions, NULL), PTO_OK);
    for (int s = 0; s < predictions.strategy_count; s++) {
        fold_t fold = empty_fold;
        for (int64_t p = 0; p < predictions.point_count; p++)
            fold_prediction(&fold, pto_prediction_at(&predictions, p, s));
        fprintf(out, "%s %s %" PRId64 " %016" PRIx64 "\n", strrchr(path, '/') + 1,
                predictions.strategy[s]->name, fold.priced, fold.digest);
    }
    pto_predictions_fini(&predictions);
    pto_machine_destroy(machine);
    pto_scenario_fini(&scenario);
}

/* --- both, against the file ----------------------------------------------------------------------------- */

static void for_each_file(const char *pattern, void (*price)(const char *path, FILE *out), FILE *out) {
    glob_t found;
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++)
        price(found.gl_pathv[i], out);
    globfree(&found);
}

static void write_digests(FILE *out) {
    for_each_file("scenarios/machines/*.yaml", price_machine, out);
    for_each_file("scenarios/problems/*.yaml", price_scenario, out);
}

/* New strategies and algorithms add lines. */
TEST(prices_are_what_they_were) {
#ifdef __clang__
    print_message("skipped: the last bit depends on the compiler, and the fixture was made with gcc\n");
    skip();
#endif
    assert_all_written(fixture_path, write_digests);
}

int main(int argc, char **argv) {
    if (argc == 2 && (strcmp(argv[1], "--print") == 0 || strcmp(argv[1], "--cells") == 0)) {
        print_cells = strcmp(argv[1], "--cells") == 0;
        write_digests(stdout);
        return 0;
    }
    return run_all_tests(NULL, NULL);
}

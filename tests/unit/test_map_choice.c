/* Which mappings are tried, what they cost, and how swaps improve the best. */
#include "map/map_internal.h"
#include "map_question.h"
#include "must.h"
#include "portolan/pick.h"
#include "price/pricing.h"
#include "test.h"

/* --- which mappings are tried --------------------------------------------------------------------------- */

static void assert_names(const question_t *question, const pto_map_options_t *options,
                         const char *const *name) {
    int count = 0;
    pto_map_result_t result = must_map(&question->scenario, &question->machine, options);
    for (; name[count]; count++) {
        if (count >= result.count || strcmp(result.candidate[count].name, name[count]) != 0)
            fail_msg("candidate %d is '%s', not '%s'", count,
                     count < result.count ? result.candidate[count].name : "none", name[count]);
    }
    assert_int_equal(result.count, count);
}

TEST(each_mapper_is_tried_with_its_seeds_aims_and_phases) {
    static const char *const found[] = {"slot", "node", "random", "greedy", "exact"};
    static const char *const of_eight[] = {
        "default (slot)", "node",  "random, seed 7",          "random, seed 8",          "greedy, seed 7",
        "greedy, seed 8", "exact", "exact, messages in turn", "exact, messages at once", NULL};
    static const char *const of_eight_in_phases[] = {"default (slot)",          "node",
                                                     "random, seed 7",          "random, seed 8",
                                                     "greedy, seed 7",          "greedy, seed 8",
                                                     "greedy in phases",        "exact",
                                                     "exact, messages in turn", "exact, messages at once",
                                                     "exact in phases",         NULL};
    static const char *const of_nine[] = {"default (slot)", "node",  "random, seed 7",
                                          "greedy, seed 7", "exact", NULL};
    const pto_mapper_t *mapper[5];
    for (int i = 0; i < 5; i++)
        mapper[i] = mapper_named(found[i]);
    pto_map_options_t options = {.mapper = mapper, .mapper_count = 5, .seeds = 2, .seed = 7};
    question_t *question = ask(SUMMIT, "{nodes: 2, gpus_per_node: 4, procs_per_gpu: 1}",
                               "{pattern: groups, dims: [2, 4], along: 0}");
    assert_names(question, &options, of_eight);
    for (int phase = 0; phase < PTO_PHASE_COUNT; phase++) { /* one phase is enough */
        options.phase[phase] = true;
        assert_names(question, &options, of_eight_in_phases);
        options.phase[phase] = false;
    }
    options.seeds = 0; /* is one */
    question = ask(SUMMIT, "{nodes: 3, gpus_per_node: 3, procs_per_gpu: 1}",
                   "{pattern: groups, dims: [3, 3], along: 0}");
    assert_names(question, &options, of_nine);
}

/* The sizes of parts: a node's, a socket's and a GPU's processes. */
TEST(phases_divide_by_node_socket_and_gpu) {
    const int64_t size[PTO_PHASE_COUNT] = {6, 3, 1};
    const pto_mapper_t *greedy = mapper_named("greedy");
    question_t *question = ask(SUMMIT, "{nodes: 2, gpus_per_node: 6, procs_per_gpu: 1}",
                               "{pattern: stencil, dims: [3, 4], wrap: [1, 1], weights: [3, 1]}");
    for (int some = 1; some < 1 << PTO_PHASE_COUNT; some++) {
        pto_map_options_t options = {.mapper = &greedy, .mapper_count = 1};
        int64_t part_size[PTO_PHASE_COUNT], place[12];
        int part_count = 0;
        for (int phase = 0; phase < PTO_PHASE_COUNT; phase++) {
            options.phase[phase] = some >> phase & 1;
            if (options.phase[phase])
                part_size[part_count++] = size[phase];
        }
        pto_map_result_t result = must_map(&question->scenario, &question->machine, &options);
        const pto_map_problem_t problem = {
            .flows = &result.flows, .places = &result.places, .grid = &question->scenario.counts.grid};
        assert_int_equal(pto_map_in_phases(&problem, greedy, part_size, part_count, place, NULL), PTO_OK);
        assert_memory_equal(candidate_named(&result, "greedy in phases")->place, place, sizeof place);
    }
}

/* Whichever of two is named first. */
TEST(a_mapping_costs_what_its_cheapest_strategy_does) {
    static char cuda_aware[] = "cuda_aware", three_step[] = "three_step";
    char *strategy[2][2] = {{cuda_aware, three_step}, {three_step, cuda_aware}};
    question_t *question = ask(SUMMIT, FOUR_BY_FOUR, "{pattern: stencil, dims: [4, 4], weights: [3, 1]}");
    for (int64_t bytes = 8; bytes <= 1 << 20; bytes <<= 17) {
        double seconds[2];
        question->scenario.bytes.value[0] = bytes;
        for (int i = 0; i < 2; i++) {
            pto_map_options_t options = {.refine = 0};
            pto_scenario_t alone = question->scenario;
            alone.strategy = &strategy[0][i];
            alone.strategy_count = 1;
            pto_map_result_t result = must_map(&alone, &question->machine, &options);
            seconds[i] = result.candidate[0].seconds;
        }
        int least = seconds[1] < seconds[0];
        for (int turned = 0; turned < 2; turned++) {
            pto_map_options_t options = {.refine = 0};
            pto_scenario_t both = question->scenario;
            both.strategy = strategy[turned];
            both.strategy_count = 2;
            pto_map_result_t result = must_map(&both, &question->machine, &options);
            assert_true(result.candidate[0].seconds == seconds[least]);
            assert_string_equal(result.candidate[0].strategy->name, strategy[0][least]);
        }
    }
}

/* --- swaps ---------------------------------------------------------------------------------------------- */

/* Of random mappings, until no swap of two processes lowers the price, or the sum at the same price. */
TEST(swaps_end_where_none_helps) {
    const pto_mapper_t *random = mapper_named("random");
    int improved = 0;
    question_t *question = ask(SUMMIT, "{nodes: 2, gpus_per_node: 4, procs_per_gpu: 1}",
                               "{pattern: stencil, dims: [2, 2, 2], weights: [5, 1, 3]}");
    for (uint64_t seed = 1; seed <= 4; seed++) {
        const pto_map_options_t options = {
            .mapper = &random, .mapper_count = 1, .seed = seed, .metric = PTO_METRIC_PRICE, .refine = 100000};
        pto_map_result_t result = must_map(&question->scenario, &question->machine, &options);
        const pto_map_candidate_t *best = &result.candidate[result.best];
        assert_true(best->seconds == priced_at(question, best->place));
        assert_true(best->sum == pto_map_judge(&result.flows, &result.places, PTO_AIM_SUM, best->place));
        improved += strstr(best->name, ", refined") != NULL;
        for (int i = 0; i < 8; i++)
            for (int j = 0; j < i; j++) {
                int64_t kept[] = {best->place[i], best->place[j]};
                best->place[i] = kept[1];
                best->place[j] = kept[0];
                double seconds = priced_at(question, best->place);
                double sum = pto_map_judge(&result.flows, &result.places, PTO_AIM_SUM, best->place);
                assert_true(seconds > best->seconds * (1 - 1e-9));
                assert_true(!pto_cost_is_same(seconds, best->seconds) || sum >= best->sum * (1 - 1e-9));
                best->place[i] = kept[0];
                best->place[j] = kept[1];
            }
    }
    assert_true(improved > 0);
}

/* The 28 pairs of 8 processes are tried in turn, so the first few prices are never enough. */
TEST(swaps_take_as_many_prices_as_they_may) {
    question_t *question = ask(SUMMIT, "{nodes: 2, gpus_per_node: 4, procs_per_gpu: 1}",
                               "{pattern: stencil, dims: [2, 2, 2], weights: [5, 1, 3]}");
    for (int64_t refine = 0; refine <= 9; refine += 3) {
        const pto_map_options_t options = {.refine = refine};
        pto_map_result_t result = must_map(&question->scenario, &question->machine, &options);
        bool found = result.count > 1;
        assert_int_equal(result.priced, 1 + refine + found); /* the default, and what the swaps have found */
        if (found)
            assert_string_equal(result.candidate[1].name, "default, refined");
    }
}

/* From 64 processes on, the swaps of more processes are no more work in all. */
TEST(swaps_of_many_processes_are_few) {
    enum { SWAPS_MAX = 1000, WORK_MAX = PTO_WORK_LIMIT / 256 };
    static const char *const asked[][2] = {
        {"{nodes: 16, gpus_per_node: 4, procs_per_gpu: 1}", "{pattern: stencil, dims: [4, 4, 4]}"},
        {"{nodes: 256, gpus_per_node: 4, procs_per_gpu: 1}", "{pattern: stencil, dims: [16, 8, 8]}"}};
    for (int i = 0; i < 2; i++) {
        const pto_map_options_t options = {.refine = -1};
        question_t *question = ask(SUMMIT, asked[i][0], asked[i][1]);
        int64_t work = pto_cell_work(&question->scenario, &question->machine, 0, pto_strategy_at(0));
        pto_map_result_t result = must_map(&question->scenario, &question->machine, &options);
        int64_t swaps = result.priced - result.count;
        assert_in_range(swaps, 1, SWAPS_MAX);
        assert_in_range(work * swaps, work, WORK_MAX);
    }
}

/* Process 6 has messages for two others of node 0, and shares node 3 with one that has none. */
TEST(swaps_begin_on_the_last_node) {
    static const char rows[] = "source,destination,bytes\n6,0,1000000\n6,1,1000000\n# ranks=8\n";
    const pto_map_options_t options = {.refine = 2};
    pto_error_t err = {0};
    question_t *question =
        ask(SUMMIT, "{nodes: 4, gpus_per_node: 2, procs_per_gpu: 1}", "{pattern: groups, dims: [4, 2]}");
    pto_counts_fini(&question->scenario.counts);
    assert_ok(pto_counts_parse_matrix(rows, strlen(rows), "x", &question->scenario.counts, &err), &err);
    pto_map_result_t result = must_map(&question->scenario, &question->machine, &options);
    assert_string_equal(result.candidate[result.best].name, "default, refined");
}

/* The default is priced in many numbers of chunks, and what the swaps have found is; the swaps are not. */
TEST(swaps_are_priced_in_the_default_s_number_of_chunks) {
    enum { SWAPS = 16 };
    int64_t visits[2] = {0};
    question_t *question = ask_by("three_step", SUMMIT, FOUR_BY_FOUR, "{pattern: stencil, dims: [4, 4]}");
    for (int swapped = 0; swapped < 2; swapped++) {
        const pto_map_options_t options = {.refine = swapped ? SWAPS : 0};
        int64_t before = pto_price_visits;
        must_map(&question->scenario, &question->machine, &options);
        visits[swapped] = pto_price_visits - before;
    }
    assert_in_range(visits[1] - visits[0], 1, visits[0] * (1 + SWAPS / 2));
}

/* --- costs of places ------------------------------------------------------------------------------------ */

/* Of a message between GPUs that are this far apart, without a topology. */
static double message_of(const pto_machine_t *machine, pto_level_t level, int64_t bytes) {
    const pto_postal_t *postal = &pto_machine_message(machine, PTO_SPACE_GPU, level, bytes)->postal;
    return postal->alpha_s.value + (double)bytes * postal->beta_s_per_byte.value;
}

static double metric_of(const pto_machine_t *machine, pto_level_t level, pto_metric_t metric) {
    double sum = 0;
    switch (metric) {
    case PTO_METRIC_DISTANCE:
        return (double)level;
    case PTO_METRIC_BANDWIDTH:
        return message_of(machine, level, 16 << 20) / (16 << 20);
    case PTO_METRIC_LATENCY: /* twelve powers of two, 1 B to 2 KiB */
        for (int power = 0; power <= 11; power++)
            sum += message_of(machine, level, (int64_t)1 << power);
        return sum / 12;
    case PTO_METRIC_PRICE:
    case PTO_METRIC_COUNT:
        break;
    }
    return message_of(machine, level, 3000) / 3000;
}

TEST(metrics_are_costs_of_messages) {
    question_t *question =
        ask(SUMMIT, "{nodes: 2, gpus_per_node: 6, procs_per_gpu: 1}", "{pattern: stencil, dims: [12]}");
    for (int metric = 0; metric < PTO_METRIC_COUNT; metric++) {
        const pto_places_t places = must_place(question, (pto_metric_t)metric, 3000);
        for (int64_t a = 0; a < 12; a++)
            for (int64_t b = 0; b < 12; b++) {
                pto_level_t level = a / 6 != b / 6   ? PTO_LEVEL_OFF_NODE
                                    : a / 3 != b / 3 ? PTO_LEVEL_ON_NODE
                                                     : PTO_LEVEL_ON_SOCKET;
                double wanted = metric_of(&question->machine, level, (pto_metric_t)metric);
                if (a != b && fabs(pto_places_cost(&places, a, b) - wanted) > 1e-12 * wanted)
                    fail_msg("%s from %d to %d: %g, not %g", pto_metric_name((pto_metric_t)metric), (int)a,
                             (int)b, pto_places_cost(&places, a, b), wanted);
            }
        assert_int_equal(places.top, 0);
    }
}

/* On the K80 node, pairs of GPUs share a switch, pairs of switches a bridge, pairs of bridges a socket. */
TEST(distances_are_links_on_the_way) {
    static const struct {
        int a, b;
        double links;
    } pair[] = {{0, 1, 2}, {0, 2, 4}, {0, 4, 6}, {0, 8, 7}, {15, 14, 2}, {12, 3, 7}};
    question_t *question = ask("tests/fixtures/k80.yaml", "{nodes: 2}", "{pattern: stencil, dims: [32]}");
    const pto_places_t places = must_place(question, PTO_METRIC_DISTANCE, 1);
    for (size_t i = 0; i < sizeof pair / sizeof *pair; i++)
        assert_true(places.cost[16 * pair[i].a + pair[i].b] == pair[i].links);
    assert_true(places.off_node[0] == 8); /* one more than the longest way in a node */
}

TEST(messages_without_a_cost_cannot_be_mapped) {
    pto_places_t places;
    pto_error_t err = {0};
    question_t *question =
        ask(SUMMIT, "{nodes: 2, gpus_per_node: 6, procs_per_gpu: 1}", "{pattern: stencil, dims: [12]}");
    pto_machine_t without = question->machine;
    for (pto_level_t level = PTO_LEVEL_ON_SOCKET; level <= PTO_LEVEL_OFF_NODE; level++) {
        without = question->machine;
        memset(&without.messages[PTO_SPACE_GPU][level], 0, sizeof without.messages[PTO_SPACE_GPU][level]);
        for (int form = 0; form < 4; form++) {
            pto_layout_t layout = question->scenario.layout;
            layout.nodes = 1 + form % 2;
            layout.owners_per_gpu = 1 + form / 2;
            bool wanted = level != PTO_LEVEL_OFF_NODE || layout.nodes > 1;
            pto_status_t status = pto_places_make(&without, &layout, PTO_METRIC_PRICE, 8, &places, &err);
            assert_int_equal(status, wanted ? PTO_ERR_NOT_APPLICABLE : PTO_OK);
            if (wanted)
                assert_non_null(strstr(err.message, level == PTO_LEVEL_ON_SOCKET && layout.owners_per_gpu > 1
                                                        ? "on_gpu" /* which is as on_socket */
                                                        : pto_level_name(level)));
            else
                pto_places_fini(&places);
        }
    }
}

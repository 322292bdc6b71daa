/* Mappings of 200 random patterns take no longer than tests/fixtures/map-costs.txt has recorded: each line
 * has the seconds of the mapping that is chosen without SCOTCH. A change that finds faster ones records them
 * by build/tests/test_map_costs --print > tests/fixtures/map-costs.txt */
#include "../chance.h"
#include "map_question.h"
#include "portolan/map.h"
#include "test.h"

enum { PATTERNS = 200, PROCESSES_MAX = 24 };

/* A third of the pairs exchange data. */
static void draw_counts(int64_t count, pto_counts_t *counts) {
    char text[PROCESSES_MAX * PROCESSES_MAX * 8];
    size_t used = 0;
    for (int64_t i = 0; i < count * count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%lld%c",
                                 one_in(3) ? (long long)(1 + below(64)) << 10 : 0LL,
                                 i % count == count - 1 ? '\n' : ',');
    assert_int_equal(pto_counts_parse_matrix(text, used, "x", counts, NULL), PTO_OK);
}

static double map_pattern(int pattern) {
    const pto_mapper_t *mapper[PTO_MAPPERS_MAX];
    pto_map_options_t options = {.metric = PTO_METRIC_PRICE, .mapper = mapper, .seeds = 1, .refine = -1};
    pto_map_result_t result;
    pto_error_t err = {0};
    chance_state = (uint64_t)pattern;
    int nodes = 2 + draw(3), gpus = 2 + draw(5);
    char layout[80], counts[80];
    snprintf(layout, sizeof layout, "{nodes: %d, gpus_per_node: %d, procs_per_gpu: 1}", nodes, gpus);
    snprintf(counts, sizeof counts, "{pattern: stencil, dims: [%d, %d]}", nodes, gpus);
    question_t *question = ask(SUMMIT, layout, counts);
    pto_counts_fini(&question->scenario.counts);
    draw_counts((int64_t)nodes * gpus, &question->scenario.counts);
    for (int m = 0; m < pto_mapper_count(); m++)
        mapper[options.mapper_count++] = pto_mapper_at(m);
    if (pto_map(&question->scenario, &question->machine, &options, &result, &err) != PTO_OK)
        fail_msg("pattern %d: %s", pattern, err.message);
    double seconds = result.candidate[result.best].seconds;
    pto_map_result_fini(&result);
    return seconds;
}

TEST(mappings_take_no_longer_than_recorded) {
    FILE *recorded = fopen("tests/fixtures/map-costs.txt", "r");
    char line[64];
    int slower = 0;
    assert_non_null(recorded);
    for (int pattern = 0; pattern < PATTERNS; pattern++) {
        assert_non_null(fgets(line, sizeof line, recorded));
        double seconds = map_pattern(pattern), before_s = strtod(line, NULL);
        if (seconds > before_s * (1 + 1e-9)) {
            print_error("pattern %d: %.9g s, recorded are %.9g s\n", pattern, seconds, before_s);
            slower++;
        }
    }
    fclose(recorded);
    assert_int_equal(slower, 0);
}

int main(int argc, char **argv) {
    for (int pattern = 0; pattern < PATTERNS && argc > 1 && strcmp(argv[1], "--print") == 0; pattern++)
        printf("%.12g\n", map_pattern(pattern));
    return argc > 1 ? 0 : run_all_tests(NULL, NULL);
}

/* All plans, where each allocation ends at a page that may not be accessed, and holds no zeros at first: what
 * is read or written beyond an array is a fault, and what is not set changes a result. */
#define _GNU_SOURCE /* dladdr. NOLINT(bugprone-reserved-identifier) */
#include <glob.h>

#include "made_machine.h"
#include "must.h"
#include "plan_request.h"
#include "portolan/check.h"
#include "portolan/machine.h"
#include "portolan/pick.h"
#include "portolan/price.h"
#include "portolan/sensitivity.h"
#include "portolan/simulate.h"
#include "portolan/topology.h"
#include "portolan/traffic.h"
#include "refused_memory.h"
#include "sample.h"
#include "test.h"

/* --- results as text ------------------------------------------------------------------------------------ */

enum { TEXT_MAX = 1 << 16 };

static void say(char **text, const char *name, pto_status_t status, double number) {
    if (!*text)
        *text = calloc(TEXT_MAX, 1);
    size_t used = *text ? strlen(*text) : 0;
    if (*text && snprintf(*text + used, TEXT_MAX - used, "%s %d %.17g\n", name, status, number) >=
                     (int)(TEXT_MAX - used))
        abort(); /* the text has no room for all results */
}

/* Of a text; a number without a fraction. */
static double hash_of(const char *text) {
    uint32_t hash = 0;
    for (; text && *text; text++)
        hash = hash * 31 + (unsigned char)*text;
    return hash;
}

static void add_bytes(void *context, const pto_traffic_pair_t *pair) {
    *(double *)context += (double)(pair->bytes * (pair->source + 2 * pair->destination + 3 * pair->kind));
}

/* --- plans ---------------------------------------------------------------------------------------------- */

static const pto_request_t *asked;
static const pto_machine_t *machine;

static void price_plan(const pto_plan_t *plan, char **text) {
    pto_price_t price = {0};
    pto_explanation_t explanation = {0};
    pto_status_t status = pto_price(plan, machine, &price, &explanation, NULL);
    say(text, "price", status, price.seconds);
    for (int i = 0; i < explanation.count; i++)
        say(text, explanation.term[i].key, status, explanation.term[i].seconds);
    status = pto_price_walk(plan, machine, &price, &explanation, NULL);
    say(text, "rank by rank", status, price.seconds);
    say(text, "at most", status, price.high_s);
    pto_explanation_fini(&explanation);
}

static void print_ranks(const pto_plan_t *plan, char **text) {
    int64_t ranks = pto_layout_rank_count(&asked->layout);
    for (int64_t rank = 0; rank<ranks; rank += ranks> 1 ? ranks - 1 : 1) {
        pto_offsets_t *offsets = NULL;
        char *printed = NULL;
        say(text, "offsets", pto_offsets_create(plan, rank, &offsets, NULL), 0);
        pto_offsets_destroy(offsets);
        pto_status_t status = pto_print(plan, rank, true, &printed, NULL);
        say(text, "print", status, hash_of(printed));
        free(printed);
    }
}

static pto_status_t use_plan(char **text, pto_error_t *err) {
    pto_plan_t *plan = NULL;
    pto_check_report_t report;
    pto_simulation_t simulation = {0};
    pto_setup_t setup = {0};
    double bytes = 0;
    pto_status_t status = pto_plan_create(asked, &plan, err);
    if (status == PTO_OK)
        status = pto_check(plan, &report, err);
    if (status == PTO_OK) {
        price_plan(plan, text);
        pto_status_t other = pto_simulate(plan, machine, NULL, &simulation, NULL);
        say(text, "simulation", other, simulation.seconds);
        other = pto_setup(plan, machine, &setup, NULL);
        say(text, "setup", other, setup.seconds);
        other = pto_plan_traffic(plan, add_bytes, &bytes, NULL);
        say(text, "traffic", other, bytes);
        print_ranks(plan, text);
    }
    pto_plan_destroy(plan);
    return status;
}

static int64_t asked_for, used;

static void guard_request(const pto_request_t *request) {
    if (asked_for++ % test_sample() != 0)
        return;
    char *whole;
    pto_error_t err;
    asked = request;
    const pto_status_t status = try(use_plan, 0, &whole, &err);
    if (status == PTO_OK && whole) {
        guard_all(use_plan, whole);
        used++;
    } else if (status != PTO_ERR_NOT_APPLICABLE) {
        fail_msg("%s: %s", request->strategy->name, err.message);
    }
    free(whole);
}

/* By the library or by portolan's own messages, whole or in chunks; what does not apply is left out. */
static void guard_ways(pto_request_t request) {
    static const pto_layout_t layouts[] = {
        {1, 4, 1, 1, 2, false}, {3, 2, 1, 3, 1, false}, {2, 3, 2, 2, 3, false}};
    for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++)
        for (int way = 0; way < (l == 0 ? 3 : 1); way++) {
            request.layout = layouts[l];
            request.by_library = way == 1;
            request.chunks = way == 2 ? 3 : 0;
            guard_request(&request);
        }
}

TEST(plans_stay_within_their_memory) {
    skip_where_nothing_is_refused();
    const pto_counts_t skewed = {.kind = PTO_COUNTS_SKEW, .skew = 0.5, .seed = 7};
    pto_machine_t made = made_machine();
    machine = &made;
    pto_request_t request = {.datatype = PTO_DATATYPE_FLOAT,
                             .bytes = 1000,
                             .halo = {.dim_count = 2, .wrap = {true}, .extent = {3, 5}, .width = 1}};
    for (int at = 0; next_request(&request, &at);) {
        const bool is_table = request.collective == PTO_COLLECTIVE_ALLTOALLV;
        request.split = is_table ? PTO_SPLIT_DESTINATIONS : PTO_SPLIT_BYTES;
        request.messages = request.collective == PTO_COLLECTIVE_MESSAGES ? 5 : 0;
        request.counts = is_table ? &skewed : NULL;
        if (pto_strategy_with(request.strategy, request.algorithm) >> request.collective & 1u)
            guard_ways(request);
    }
    print_message("%lld plans\n", (long long)used);
    assert_true(used * test_sample() > 300);
    pto_machine_fini(&made);
}

/* --- files, and what is predicted from them ------------------------------------------------------------- */

static const char *path;

static pto_status_t read_machine(char **text, pto_error_t *err) {
    pto_machine_t *read = NULL, *copy = NULL;
    pto_machine_param_t *param = NULL;
    char *formatted = NULL;
    int count = 0;
    pto_status_t status = pto_machine_open(path, &read, err);
    if (status == PTO_OK)
        status = pto_machine_duplicate(read, &copy, err);
    if (status == PTO_OK)
        status = pto_machine_params(copy, &param, &count, err);
    if (status == PTO_OK)
        status = pto_machine_format(copy, "a comment", &formatted, err);
    say(text, formatted ? formatted : "none", status, count);
    free(formatted);
    free(param);
    pto_machine_destroy(read);
    pto_machine_destroy(copy);
    return status;
}

static pto_status_t read_topology(char **text, pto_error_t *err) {
    pto_topology_t *topology = NULL;
    char *formatted = NULL;
    pto_status_t status = pto_topology_open(path, &topology, err);
    if (status == PTO_OK) {
        status = pto_topology_format(topology, &formatted, err);
        say(text, formatted ? formatted : "none", status, 0);
        pto_topology_destroy(topology);
    }
    free(formatted);
    return status;
}

static void use_predictions(pto_predictions_t *predictions, const pto_machine_t *of, char **text) {
    pto_range_t *range = NULL;
    pto_crossing_t *crossing = NULL;
    pto_sensitivities_t sensitivities = {.count = 0};
    int64_t ranges = 0, crossings = 0;
    say(text, "setups", pto_predictions_find_setups(predictions, NULL), 0);
    pto_status_t status = pto_pick(predictions, &range, &ranges, NULL);
    say(text, "ranges", status, (double)ranges);
    status = pto_crossings(predictions, &crossing, &crossings, NULL);
    say(text, "crossings", status, (double)crossings);
    for (int s = 0; s < predictions->strategy_count; s++)
        say(text, predictions->strategy[s]->name, PTO_OK,
            pto_prediction_at(predictions, 0, s)->price.seconds);
    bool small =
        predictions->scenario->collective == PTO_COLLECTIVE_PAIR; /* the others take hundreds of prices */
    status = small ? pto_sensitivity(predictions, of, 0, &sensitivities, NULL) : PTO_ERR_NOT_APPLICABLE;
    for (int i = 0; status == PTO_OK && i < sensitivities.count; i++)
        say(text, sensitivities.item[i].param.key, status, sensitivities.item[i].elasticity);
    if (status == PTO_OK)
        pto_sensitivities_fini(&sensitivities);
    free(range);
    free(crossing);
}

static pto_status_t predict(char **text, pto_error_t *err) {
    pto_scenario_t scenario;
    pto_machine_t *of = NULL;
    pto_predictions_t predictions;
    pto_status_t status = pto_scenario_read(path, &scenario, err);
    if (status != PTO_OK)
        return status;
    status = pto_scenario_read_machine(&scenario, &of, err);
    if (status == PTO_OK)
        status = pto_scenario_bind(&scenario, of, err);
    if (status == PTO_OK)
        status = pto_predict(&scenario, of, true, &predictions, err);
    if (status == PTO_OK) {
        use_predictions(&predictions, of, text);
        pto_predictions_fini(&predictions);
    }
    pto_machine_destroy(of);
    pto_scenario_fini(&scenario);
    return status;
}

static void guard_files(const char *pattern, call_t call) {
    glob_t found;
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i += (size_t)test_sample()) {
        char *whole;
        pto_error_t err;
        path = found.gl_pathv[i];
        if (try(call, 0, &whole, &err) != PTO_OK || !whole) {
            fail_msg("%s:%d: %s", path, err.line, err.message);
            return;
        }
        guard_all(call, whole);
        free(whole);
    }
    globfree(&found);
}

TEST(files_are_read_and_predicted_within_their_memory) {
    skip_where_nothing_is_refused();
    guard_files("scenarios/machines/*.yaml", read_machine);
    guard_files("scenarios/topologies/*.yaml", read_topology);
    guard_files("scenarios/problems/*.yaml", predict);
}

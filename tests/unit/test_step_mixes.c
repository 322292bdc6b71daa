/* Mixes of strategies for calls at once: how much longer the simulation of the mix that is chosen takes than
 * that of the best of all mixes. An argument of 1 runs all cells and prints their means; without one, every
 * sixteenth cell is run. */
#include <float.h>

#include "machine/machine_internal.h"
#include "made_step.h"
#include "portolan/workload.h"
#include "test.h"

static int sample = 16;

#define STRATEGIES "strategies: [cuda_aware, split_ring, three_step, dup_devptr]"

typedef struct {
    const char *call[2];
} pair_t;

/* Either both calls are of all processes, or the first is within nodes and the second between them. */
typedef struct {
    const char *name;
    bool apart;
    int nodes[2]; /* 0: one number */
    const char *machine[8];
    pair_t pair[6];
} cells_t;

#define FIRST_MACHINES                                                                                       \
    {                                                                                                        \
        "dgx-h100", "dgx-b200", "abci-a", "lassen-spectrum-refit", "lassen-mvapich2-refit",                  \
            "summit-spectrum-refit", "h200-2x2-tcp"                                                          \
    }
#define OTHER_MACHINES                                                                                       \
    {                                                                                                        \
        "dgx-h100", "abci-a", "lassen-spectrum-2020-refit", "lassen-mvapich2", "summit-spectrum-refit",      \
            "h200-2x2-tcp-16gbit"                                                                            \
    }
#define FIRST_PAIRS                                                                                          \
    {                                                                                                        \
        {{"allgather, bytes: 1536KiB", "reduce_scatter, bytes: 1536KiB"}},                                   \
            {{"allgather, bytes: 8MiB", "reduce_scatter, bytes: 8MiB"}},                                     \
            {{"allgather, bytes: 1MiB", "alltoall, bytes: 1MiB"}},                                           \
            {{"allreduce, bytes: 64MiB", "alltoall, bytes: 1MiB"}},                                          \
            {{"allreduce, bytes: 32MiB", "allreduce, bytes: 32MiB"}},                                        \
            {{"broadcast, bytes: 32MiB", "reduce, bytes: 32MiB"}},                                           \
    }
#define OTHER_PAIRS                                                                                          \
    {                                                                                                        \
        {{"allreduce, bytes: 4MiB", "allgather, bytes: 256KiB"}},                                            \
            {{"alltoall, bytes: 64KiB", "allreduce, bytes: 16MiB"}},                                         \
            {{"reduce_scatter, bytes: 1MiB", "broadcast, bytes: 8MiB"}},                                     \
            {{"allgather, bytes: 4MiB", "allgather, bytes: 512KiB"}},                                        \
            {{"alltoall, bytes: 256KiB", "alltoall, bytes: 256KiB"}},                                        \
            {{"allreduce, bytes: 256KiB", "reduce, bytes: 1MiB"}},                                           \
    }

static const cells_t sets[] = {
    {"all processes", false, {2, 4}, FIRST_MACHINES, FIRST_PAIRS},
    {"all processes, others", false, {3}, OTHER_MACHINES, OTHER_PAIRS},
    {"within and between nodes", true, {2, 4}, FIRST_MACHINES, FIRST_PAIRS},
    {"within and between nodes, others", true, {3}, OTHER_MACHINES, OTHER_PAIRS},
};

static made_t *predict_cell(const cells_t *cells, const char *machine, const pair_t *pair, int nodes) {
    char text[800], path[120];
    snprintf(path, sizeof path, "scenarios/machines/%s.yaml", machine);
    snprintf(text, sizeof text,
             "workload: w\nlayout: {nodes: %d}\ngrid: {far: %d, near: 0}\nstep:\n  - at_once:\n"
             "    - {on: %s, collective: %s, " STRATEGIES "}\n    - {on: %s, collective: %s, " STRATEGIES
             "}\n",
             nodes, nodes, cells->apart ? "near" : "world", pair->call[0], cells->apart ? "far" : "world",
             pair->call[1]);
    return predict_step(path, text);
}

static double simulate_choice(const made_t *made) {
    pto_step_simulation_t simulation;
    pto_error_t err = {0};
    assert_ok(pto_step_simulate(&made->step, &made->machine, NULL, NULL, &simulation, &err), &err);
    double seconds = simulation.communication_s;
    pto_step_simulation_fini(&simulation);
    return seconds;
}

static double best_of_all(made_t *made) {
    pto_step_call_t *call = made->step.call;
    const int chosen[] = {call[0].best, call[1].best};
    double best_s = DBL_MAX, seconds;
    for (int a = 0; a < call[0].predictions.strategy_count; a++)
        for (int b = 0; b < call[1].predictions.strategy_count; b++) {
            call[0].best = a;
            call[1].best = b;
            if (pto_step_entry_seconds(&made->step, 0, NULL, &seconds))
                best_s = fmin(best_s, simulate_choice(made));
        }
    call[0].best = chosen[0];
    call[1].best = chosen[1];
    return best_s;
}

typedef struct {
    int cells;
    double by_price; /* sums of regrets */
    double settled;
} regret_t;

static void run_cell(made_t *made, regret_t *regret) {
    const double by_price_s = simulate_choice(made), best_s = best_of_all(made);
    const double price_s = made->step.mix.communication_s;
    const int before[] = {made->step.call[0].best, made->step.call[1].best};
    bool changed;
    assert_int_equal(pto_step_settle(&made->step, &made->machine, 0, &changed, NULL), PTO_OK);
    const double settled_s = simulate_choice(made);
    assert_true(settled_s <= by_price_s);
    assert_int_equal(changed, made->step.call[0].best != before[0] || made->step.call[1].best != before[1]);
    assert_true(made->step.mix.communication_s >= price_s * (1 - 1e-12));
    regret->by_price += by_price_s / best_s - 1;
    regret->settled += settled_s / best_s - 1;
    regret->cells++;
}

static void run_set(const cells_t *cells, regret_t *sum) {
    regret_t regret = {0};
    int cell = 0;
    for (int m = 0; cells->machine[m]; m++)
        for (size_t p = 0; p < sizeof cells->pair / sizeof *cells->pair; p++)
            for (int n = 0; n < 2 && cells->nodes[n]; n++) {
                if (cell++ % sample != 0)
                    continue;
                run_cell(predict_cell(cells, cells->machine[m], &cells->pair[p], cells->nodes[n]), &regret);
            }
    printf("%s: %d cells, regret %.2f%% by price, %.2f%% settled\n", cells->name, regret.cells,
           100 * regret.by_price / regret.cells, 100 * regret.settled / regret.cells);
    sum->cells += regret.cells;
    sum->by_price += regret.by_price;
    sum->settled += regret.settled;
}

TEST(settled_mixes_are_nearly_the_best_of_all) {
    regret_t sum = {0};
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++)
        run_set(&sets[s], &sum);
    assert_true(sum.settled < 0.01 * sum.cells);
    assert_true(sum.settled < sum.by_price / 3);
}

TEST(what_computation_hides_is_not_simulated) {
    static const char text[] = "workload: w\nlayout: {nodes: 4}\nstep:\n  - at_once:\n"
                               "    - {collective: allgather, bytes: 1536KiB, " STRATEGIES "}\n"
                               "    - {collective: reduce_scatter, bytes: 1536KiB, " STRATEGIES "}\n"
                               "    - {compute: 1 s}\n";
    made_t *made = predict_step("scenarios/machines/lassen-mvapich2-refit.yaml", text);
    bool changed = true;
    assert_int_equal(pto_step_settle(&made->step, &made->machine, 0, &changed, NULL), PTO_OK);
    assert_false(changed);
}

/* --- which mixes are simulated -------------------------------------------------------------------------- */

enum { CALLS_MAX = 7, CANDIDATES_MAX = 512 };

typedef struct {
    double seconds, alone_s;
    int choice[CALLS_MAX];
} candidate_t;

static void take_choice(made_t *made, const int *choice) {
    for (int i = 0; i < made->workload.call_count; i++)
        made->step.call[i].best = choice[i];
}

/* A mix's price, and what its calls take alone, as often as they are made; false: it has none. */
static bool price_mix(made_t *made, const int *choice, candidate_t *candidate) {
    take_choice(made, choice);
    memcpy(candidate->choice, choice, sizeof candidate->choice);
    candidate->alone_s = 0;
    for (int i = 0; i < made->workload.call_count; i++) {
        double seconds = 0;
        if (!pto_step_call_seconds(&made->step, i, NULL, &seconds))
            return false;
        candidate->alone_s += seconds * (double)made->workload.call[i].times;
    }
    return pto_step_entry_seconds(&made->step, 0, NULL, &candidate->seconds);
}

/* Of equal prices, the calls that take less alone. */
static bool is_before(const candidate_t *a, const candidate_t *b) {
    return pto_cost_is_same(a->seconds, b->seconds) ? a->alone_s < b->alone_s : a->seconds < b->seconds;
}

/* All mixes of few calls; of many, those that differ from the first in one call. The first is the step's. */
static int find_candidates(made_t *made, bool all, candidate_t *candidate) {
    int first[CALLS_MAX] = {0}, count = 1, calls = made->workload.call_count, mixes = 1;
    for (int i = 0; i < calls; i++) {
        first[i] = made->step.call[i].best;
        mixes *= all ? made->step.call[i].predictions.strategy_count : 1;
    }
    assert_true(price_mix(made, first, &candidate[0]));
    for (int n = 0; n < mixes && all; n++) {
        int choice[CALLS_MAX] = {0};
        for (int i = 0, rest = n; i < calls; rest /= made->step.call[i++].predictions.strategy_count)
            choice[i] = rest % made->step.call[i].predictions.strategy_count;
        if (memcmp(choice, first, sizeof first) != 0)
            count += price_mix(made, choice, &candidate[count]);
    }
    for (int i = 0; i < calls && !all; i++)
        for (int s = 0; s < made->step.call[i].predictions.strategy_count; s++) {
            int choice[CALLS_MAX];
            memcpy(choice, first, sizeof choice);
            choice[i] = s;
            if (s != first[i])
                count += price_mix(made, choice, &candidate[count]);
        }
    take_choice(made, first);
    return count;
}

/* The first, and the three cheapest of the others. */
static double fastest_of_the_cheapest(made_t *made, bool all) {
    static candidate_t candidate[CANDIDATES_MAX];
    int count = find_candidates(made, all, candidate);
    double fastest_s = DBL_MAX;
    for (int place = 0; place < PTO_STEP_SETTLED && place < count; place++) {
        for (int i = count - 1; i > place && place > 0; i--)
            if (is_before(&candidate[i], &candidate[i - 1])) {
                candidate_t kept = candidate[i];
                candidate[i] = candidate[i - 1];
                candidate[i - 1] = kept;
            }
        take_choice(made, candidate[place].choice);
        fastest_s = fmin(fastest_s, simulate_choice(made));
    }
    take_choice(made, candidate[0].choice);
    return fastest_s;
}

static int settle_workload(const char *machine, const char *calls, bool all) {
    char text[1600], path[120];
    bool changed = false;
    snprintf(path, sizeof path, "scenarios/machines/%s.yaml", machine);
    snprintf(text, sizeof text, "workload: w\nlayout: {nodes: 2}\nstep:\n  - at_once:\n%s", calls);
    made_t *made = predict_step(path, text);
    double fastest_s = fastest_of_the_cheapest(made, all);
    assert_int_equal(pto_step_settle(&made->step, &made->machine, 0, &changed, NULL), PTO_OK);
    double settled_s = simulate_choice(made);
    if (fabs(settled_s / fastest_s - 1) > 1e-9)
        fail_msg("%s: %g s, not %g s: %s", machine, settled_s, fastest_s, calls);
    return changed;
}

#define CALL(what) "    - {collective: " what ", " STRATEGIES "}\n"

TEST(the_fastest_of_the_four_cheapest_mixes_is_chosen) {
    static const char *const machine[] = {"lassen-mvapich2-refit", "summit-spectrum-refit", "dgx-h100",
                                          "abci-a"};
    static const char *const few[] = {
        CALL("allgather, bytes: 192KiB, times: 3") CALL("reduce_scatter, bytes: 1536KiB"),
        CALL("alltoall, bytes: 64KiB") CALL("allreduce, bytes: 1MiB, times: 7"),
        CALL("allreduce, bytes: 64KiB, times: 2") CALL("allgather, bytes: 16KiB")
            CALL("alltoall, bytes: 8KiB"),
    };
    static const char many[] =
        CALL("allgather, bytes: 16KiB") CALL("allreduce, bytes: 64KiB") CALL("alltoall, bytes: 8KiB")
            CALL("allgather, bytes: 64KiB, times: 2") CALL("allreduce, bytes: 256KiB")
                CALL("alltoall, bytes: 1KiB") CALL("reduce_scatter, bytes: 32KiB");
    int changed = 0;
    for (size_t m = 0; m < sizeof machine / sizeof *machine; m++) {
        for (size_t i = 0; i < sizeof few / sizeof *few; i++)
            changed += settle_workload(machine[m], few[i], true);
        changed += settle_workload(machine[m], many, false);
    }
    print_message("%d mixes changed\n", changed);
    assert_true(changed > 0);
}

int main(int argc, char **argv) {
    if (argc > 1)
        sample = atoi(argv[1]) > 0 ? atoi(argv[1]) : 1;
    return run_all_tests(NULL, NULL);
}

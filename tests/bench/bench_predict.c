/* How long predicting takes, and how that grows with the machine: 16 sizes x all strategies on 32 Summit
 * nodes and on 174,763 (a million GPUs), the whole process and the call alone, and one price: from its plan,
 * and again with other parameters. Ratios within one run count; the times depend on the machine that ran it.
 * The aims, which not all prices reach, are 5 and 1 us. */
#define _DEFAULT_SOURCE /* wait4 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "portolan/pick.h"
#include "tape/tape.h"

enum { RUNS = 15, REPEATS = 2000, SMALL_NODES = 32, LARGE_NODES = 174763 };

static int run_count(void) { return bench_is_short() ? 1 : RUNS; }

static int repeat_count(void) { return bench_is_short() ? 1 : REPEATS; }

static double now_s(void) { return bench_clock_s(CLOCK_MONOTONIC); }

static double median(double *value, int count) {
    bench_sort(value, count);
    return value[count / 2];
}

static void fail(const char *what) {
    fprintf(stderr, "bench_predict: %s\n", what);
    exit(1);
}

/* Sixteen sizes; for alltoall the largest still fits the GPUs of the large machine. */
static const char *sizes_of(pto_collective_t collective) {
    return collective == PTO_COLLECTIVE_ALLREDUCE ? "4:131072" : "1:4096";
}

/* --- the whole process ---------------------------------------------------------------------------------- */

static double process_s(const char *program, const char *collective, const char *sizes, const char *nodes,
                        double *peak_mib) {
    fflush(stdout);
    double start_s = now_s();
    pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stdout))
            _exit(127);
        execl(program, program, "predict", "--machine", "summit-spectrum", "--collective", collective,
              "--nodes", nodes, "--bytes", sizes, (char *)NULL);
        _exit(127);
    }
    int status;
    struct rusage usage;
    if (child < 0 || wait4(child, &status, 0, &usage) < 0 || status != 0)
        fail("portolan predict failed");
    *peak_mib = (double)usage.ru_maxrss / 1024;
    return now_s() - start_s;
}

/* --- the call alone ------------------------------------------------------------------------------------- */

static void fill_scenario(pto_scenario_t *scenario, pto_collective_t collective, int64_t nodes) {
    int64_t from = collective == PTO_COLLECTIVE_ALLREDUCE ? 4 : 1;
    int64_t to = collective == PTO_COLLECTIVE_ALLREDUCE ? 131072 : 4096;
    pto_scenario_init(scenario);
    scenario->collective = collective;
    scenario->library.best = true;
    if (pto_series_range(from, to, 2, &scenario->bytes, NULL) != PTO_OK ||
        pto_series_range(nodes, nodes, 2, &scenario->nodes, NULL) != PTO_OK)
        fail("no series");
}

static double call_s(const pto_machine_t *machine, pto_collective_t collective, int64_t nodes, int *priced) {
    pto_scenario_t scenario;
    fill_scenario(&scenario, collective, nodes);
    if (pto_scenario_bind(&scenario, machine, NULL) != PTO_OK)
        fail("scenario does not fit the machine");
    pto_predictions_t predictions;
    double start_s = now_s();
    if (pto_predict(&scenario, machine, false, &predictions, NULL) != PTO_OK)
        fail("pto_predict failed");
    double taken_s = now_s() - start_s;
    *priced = 0;
    for (int64_t cell = 0; cell < predictions.point_count * predictions.strategy_count; cell++)
        *priced += predictions.prediction[cell].applicable;
    pto_predictions_fini(&predictions);
    pto_scenario_fini(&scenario);
    return taken_s;
}

static void bench_collective(const char *program, const pto_machine_t *machine, pto_collective_t collective) {
    const char *name = pto_collective_name(collective);
    const int64_t nodes[] = {SMALL_NODES, LARGE_NODES};
    double process[2][RUNS], call[2][RUNS], peak_mib[2] = {0, 0};
    int priced[2] = {0, 0};
    for (int run = 0; run < run_count(); run++)
        for (int size = 0; size < 2; size++) {
            char text[32];
            double run_mib;
            snprintf(text, sizeof text, "%lld", (long long)nodes[size]);
            process[size][run] = process_s(program, name, sizes_of(collective), text, &run_mib);
            peak_mib[size] = run_mib > peak_mib[size] ? run_mib : peak_mib[size];
            call[size][run] = call_s(machine, collective, nodes[size], &priced[size]);
        }
    if (priced[0] == 0 || priced[1] == 0)
        fail("nothing was priced");
    double small_s = median(process[0], run_count());
    double large_s = median(process[1], run_count());
    double small_call_s = median(call[0], run_count());
    double large_call_s = median(call[1], run_count());
    printf("%-10s process  %6.2f ms -> %6.2f ms: %4.2f times   peak %5.1f MiB -> %5.1f MiB\n", name,
           1e3 * small_s, 1e3 * large_s, large_s / small_s, peak_mib[0], peak_mib[1]);
    printf("%-10s call     %6.2f ms -> %6.2f ms: %4.2f times   %d and %d cells priced\n", "",
           1e3 * small_call_s, 1e3 * large_call_s, large_call_s / small_call_s, priced[0], priced[1]);
}

/* --- one price ------------------------------------------------------------------------------------------ */

/* The price again where any parameter may have changed, and where only what limits a node's bytes may have.
 */
static void time_replay(const pto_plan_t *plan, const pto_machine_t *machine) {
    const pto_param_t *param[] = {&machine->injection_s_per_byte[PTO_SPACE_CPU],
                                  &machine->injection_s_per_byte[PTO_SPACE_GPU]};
    const double value[] = {param[0]->value, param[1]->value};
    double all_s[RUNS], two_s[RUNS], seconds = 0;
    pto_price_t price = {0};
    pto_tape_t *tape = pto_tape_begin();
    bool priced = pto_price(plan, machine, &price, NULL, NULL) == PTO_OK;
    tape = pto_tape_end(tape, price.seconds);
    if (!priced || !tape) {
        printf("  no tape\n");
        return;
    }
    pto_short_tape_t *two = pto_tape_shorten(tape, param, 2);
    double *place = two ? malloc(pto_short_tape_places(two) * sizeof *place) : NULL;
    if (!place)
        fail("out of memory");
    for (int run = 0; run < run_count(); run++) {
        double start_s = now_s();
        for (int i = 0; i < repeat_count(); i++)
            if (!pto_tape_replay(tape, &seconds) || seconds != price.seconds)
                fail("a tape has another price");
        all_s[run] = (now_s() - start_s) / repeat_count();
        start_s = now_s();
        for (int i = 0; i < repeat_count(); i++)
            if (!pto_short_tape_replay(two, value, place, &seconds) || seconds != price.seconds)
                fail("a short tape has another price");
        two_s[run] = (now_s() - start_s) / repeat_count();
    }
    printf("  %7.2f %7.3f us\n", 1e6 * median(all_s, run_count()), 1e6 * median(two_s, run_count()));
    free(place);
    pto_short_tape_destroy(two);
    pto_tape_destroy(tape);
}

/* A strategy that this machine has no cost for says so; whatever else goes wrong is a failure. */
static void time_price(const pto_plan_t *plan, const pto_machine_t *machine) {
    const pto_request_t *request = pto_plan_request(plan);
    double one_s[RUNS];
    pto_price_t price, again;
    pto_error_t err = {0};
    printf("  %-10s %-14s %-20s ", pto_collective_name(request->collective), request->strategy->name,
           request->algorithm->name);
    pto_status_t status = pto_price(plan, machine, &price, NULL, &err);
    if (status == PTO_ERR_NOT_APPLICABLE) {
        printf("not applicable: %s\n", err.message);
        return;
    }
    if (status != PTO_OK)
        fail(err.message);
    for (int run = 0; run < run_count(); run++) {
        double start_s = now_s();
        for (int i = 0; i < repeat_count(); i++)
            if (pto_price(plan, machine, &again, NULL, &err) != PTO_OK || again.seconds != price.seconds)
                fail("the same plan has another price");
        one_s[run] = (now_s() - start_s) / repeat_count();
    }
    printf("%7.2f us", 1e6 * median(one_s, run_count()));
    time_replay(plan, machine);
}

static void bench_price(const pto_machine_t *machine, pto_collective_t collective,
                        const pto_strategy_t *strategy, const pto_algorithm_t *algorithm) {
    pto_scenario_t scenario;
    fill_scenario(&scenario, collective, SMALL_NODES);
    if (pto_scenario_bind(&scenario, machine, NULL) != PTO_OK)
        fail("scenario does not fit the machine");
    pto_request_t request = pto_scenario_request(&scenario, 10, strategy, algorithm);
    pto_plan_t *plan;
    if (pto_plan_create(&request, &plan, NULL) == PTO_OK) {
        time_price(plan, machine);
        pto_plan_destroy(plan);
    }
    pto_scenario_fini(&scenario);
}

int main(void) {
    const char *program = getenv("PORTOLAN");
    pto_machine_t *machine;
    pto_error_t err;
    if (pto_machine_open("scenarios/machines/summit-spectrum.yaml", &machine, &err) != PTO_OK)
        fail(err.message);
    printf("# predicting 16 sizes x all strategies, %d and %d Summit nodes; medians of %d runs\n",
           SMALL_NODES, LARGE_NODES, run_count());
    const pto_collective_t collectives[] = {PTO_COLLECTIVE_ALLREDUCE, PTO_COLLECTIVE_ALLTOALL,
                                            PTO_COLLECTIVE_ALLTOALLV};
    for (size_t i = 0; i < sizeof collectives / sizeof *collectives; i++)
        bench_collective(program ? program : "build/portolan", machine, collectives[i]);
    printf("# one price of a ready plan, %d nodes; again, with all parameters changed, and with two\n",
           SMALL_NODES);
    for (size_t c = 0; c < sizeof collectives / sizeof *collectives; c++)
        for (int s = 0; s < pto_strategy_count(); s++)
            for (int a = 0; a < pto_algorithm_count(); a++)
                if (pto_algorithm_at(a)->collectives & 1u << collectives[c])
                    bench_price(machine, collectives[c], pto_strategy_at(s), pto_algorithm_at(a));
    pto_machine_destroy(machine);
    return 0;
}

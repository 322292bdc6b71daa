/* An estimate from C in at most 2 us and from Python in at most 10 us (CPU time), as a compiler or a
 * scheduler asks for it; beside it, one prediction, and the table. Exits 1 where an estimate takes longer. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "portolan/pick.h"

enum { SIZES = 4096, REPEATS = 50, PREDICTIONS = 20 };

static const double most_s = 2e-6;

static double estimate_s(const pto_estimates_t *estimates) {
    double sum_s = 0, start_s = bench_cpu_s();
    for (int repeat = 0; repeat < REPEATS; repeat++)
        for (int64_t i = 1; i <= SIZES; i++)
            sum_s += pto_estimate(estimates, i * 2503 % (1 << 24), NULL);
    double taken_s = bench_cpu_s() - start_s;
    return sum_s > 0 ? taken_s / REPEATS / SIZES : INFINITY;
}

static double prediction_s(const pto_machine_t *machine, pto_ask_t cell) {
    pto_price_t price;
    double start_s = bench_cpu_s();
    cell.bytes = 1 << 20;
    for (int i = 0; i < PREDICTIONS; i++)
        if (pto_predict_one(machine, &cell, NULL, &price, NULL) != PTO_OK)
            return 0;
    return (bench_cpu_s() - start_s) / PREDICTIONS;
}

int main(void) {
    const pto_ask_t cell = {.collective = "allreduce", .nodes = 8, .bytes = 1 << 24};
    pto_machine_t *machine = NULL;
    pto_estimates_t *estimates = NULL;
    pto_error_t err = {0};
    pto_status_t status = pto_machine_open("scenarios/machines/summit-spectrum.yaml", &machine, &err);
    double start_s = bench_cpu_s(), one_s = 0;
    if (status == PTO_OK)
        status = pto_estimates_create(machine, &cell, &estimates, &err);
    if (status == PTO_OK) {
        double table_s = bench_cpu_s() - start_s, whole_s = prediction_s(machine, cell);
        one_s = estimate_s(estimates);
        printf("estimate  %6.3f us, 1/%.0f of a prediction; table of %d sizes %.0f ms\n", 1e6 * one_s,
               whole_s / one_s, pto_estimates_count(estimates), 1e3 * table_s);
    } else {
        fprintf(stderr, "bench_estimate: %s\n", err.message);
    }
    fflush(stdout);
    pto_estimates_destroy(estimates);
    pto_machine_destroy(machine);
    if (status != PTO_OK ||
        system("command -v python3 >/dev/null || exit 0; python3 -B tests/bench/estimate.py"))
        return 1;
    return bench_is_short() || one_s <= most_s ? 0 : 1;
}

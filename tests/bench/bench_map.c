/* Mapping by the mapper greedy: 64 processes in at most 10 ms and 4,096 in at most 2 s, from the counts on.
 * Prints one line for each pattern; exits 1 where it takes longer. */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "portolan/map.h"

enum { GPUS = 16 };

static const struct {
    const char *counts;
    double most_s;
} size[] = {
    {"{pattern: stencil, dims: [4, 4, 4]}", 0.010},
    {"{pattern: stencil, dims: [64, 64], wrap: [1, 1]}", 2},
    {"{pattern: stencil, dims: [16, 16, 16], weights: [3, 1, 1]}", 2},
    {"{pattern: groups, dims: [16, 16, 16], along: 0}", 2},
};

/* Nodes of 16 GPUs in pairs, fours and eights. */
static double cost_between(int a, int b) {
    return a >> 1 == b >> 1 ? 0.22 : a >> 2 == b >> 2 ? 0.55 : a >> 3 == b >> 3 ? 0.94 : 1;
}

static pto_status_t map(const pto_counts_t *counts, pto_error_t *err) {
    double cost[GPUS * GPUS];
    const pto_mapper_t *greedy = NULL;
    pto_flows_t flows = {.count = 0};
    for (int i = 0; i < GPUS * GPUS; i++)
        cost[i] = i / GPUS == i % GPUS ? 0 : cost_between(i / GPUS, i % GPUS);
    int64_t count = pto_counts_order(counts);
    pto_places_t places = {.nodes = count / GPUS, .gpus = GPUS, .cores = 1, .cost = cost, .off_node = {4}};
    pto_map_problem_t problem = {.flows = &flows, .places = &places, .grid = &counts->grid};
    int64_t *place = calloc((size_t)count, sizeof *place);
    pto_status_t status = place ? PTO_OK : pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    if (status == PTO_OK)
        status = pto_mapper_find("greedy", &greedy, err);
    if (status == PTO_OK)
        status = pto_flows_make(counts, 1, count, &flows, err);
    if (status == PTO_OK)
        status = pto_mapper_run(greedy, &problem, place, err);
    pto_flows_fini(&flows);
    free(place);
    return status;
}

int main(void) {
    int code = 0;
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        pto_counts_t counts;
        pto_error_t err = {0};
        pto_status_t status = pto_counts_parse(size[i].counts, "bench_map", &counts, &err);
        double start_s = bench_cpu_s();
        if (status == PTO_OK)
            status = map(&counts, &err);
        double took_s = bench_cpu_s() - start_s;
        if (status != PTO_OK) {
            fprintf(stderr, "bench_map: %s\n", err.message);
            return 1;
        }
        printf("map %5lld processes: %8.4f s, at most %g s: %s\n", (long long)pto_counts_order(&counts),
               took_s, size[i].most_s, size[i].counts);
        if (took_s > size[i].most_s && !bench_is_short())
            code = 1;
    }
    return code;
}

/* Fits the setup costs: what is done once before a plan's first run (allocating memory, opening that of other
 * processes), by the size of an allocation. Processes do this together: their largest number is used. */
#include "parts.h"
#include "select.h"

void fit_setup(fit_work_t *work) {
    pto_machine_t *machine = work->fit->machine;
    const struct {
        pto_benchmark_t benchmark;
        pto_space_t space;
        pto_cost_table_t *cost;
    } sized[] = {
        {PTO_BENCHMARK_SETUP_OPEN, PTO_SPACE_GPU, &machine->setup_open},
        {PTO_BENCHMARK_SETUP_ALLOCATE, PTO_SPACE_GPU, &machine->setup_allocate[PTO_SPACE_GPU]},
        {PTO_BENCHMARK_SETUP_ALLOCATE, PTO_SPACE_CPU, &machine->setup_allocate[PTO_SPACE_CPU]},
    };
    for (size_t i = 0; i < sizeof sized / sizeof *sized; i++) {
        fit_points_t points = fit_select_in(work, sized[i].benchmark, sized[i].space);
        fit_points_t max_procs = fit_with_max_procs(&points);
        if (max_procs.count > 0)
            fit_cost(work, &max_procs, sized[i].cost);
    }
    fit_time(work, PTO_BENCHMARK_SETUP_SEGMENT, &machine->setup_segment_s);
}

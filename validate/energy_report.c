/* Energy in portolan-validate: opens the counters, and prints which are read and each cell's joules. */
#include <string.h>

#include "guard.h"
#include "validate.h"

bool energy_begin(settings_t *settings, const pto_options_t *options) {
    static const meter_source_t *const source[ENERGY_COUNT] = {&meter_nvml, &meter_rapl};
    int64_t rank = 0;
    pto_error_t err = {0};
    if (!settings->options.energy && !settings->options.powers)
        return true;
    guard_step(0, "opening energy counters");
    pto_status_t status =
        pto_exec_place(&options->scenario.layout, MPI_COMM_WORLD, &settings->exec, &rank, &err);
    bool has_gpu = strcmp(settings->device->name, "host") != 0;
    int64_t gpu = status == PTO_OK ? pto_layout_rank(&options->scenario.layout, rank).gpu : 0;
    meter_place_t place = {.gpu = has_gpu ? (int)gpu : -1, .powercap = settings->options.powercap};
    if (status == PTO_OK)
        status = energy_open(MPI_COMM_WORLD, source, &place, settings->options.energy_window_s,
                             &settings->job, &err);
    if (status == PTO_OK && energy_any(&settings->job))
        return true;
    if (status == PTO_OK)
        pto_error_set(&err, PTO_ERR_NOT_APPLICABLE,
                      "no energy can be measured here. GPUs: %.200s. CPUs: %.200s",
                      settings->job.source[ENERGY_GPUS].reason, settings->job.source[ENERGY_CPUS].reason);
    if (settings->world_rank == 0)
        pto_report_error(&err);
    return false;
}

void report_sources(FILE *file, const settings_t *settings) {
    for (int i = 0; settings->job.window_s > 0 && i < ENERGY_COUNT; i++) {
        const energy_source_t *source = &settings->job.source[i];
        if (source->counter_count > 0)
            fprintf(file, "# energy: %s by %s, %d counters with steps of %.3g ms, for at least %.3g s\n",
                    source->source->what, source->source->name, source->counter_count, source->step_s * 1e3,
                    settings->job.window_s);
        else
            fprintf(file, "# energy: %s not measured: %s\n", source->source->what, source->reason);
    }
}

void report_energy_heading(FILE *file, const settings_t *settings) {
    if (settings->options.energy)
        fprintf(file, " %12s %12s %10s %12s", "GPUs mJ", "CPUs mJ", "Watts", "Predicted mJ");
}

void report_energy(FILE *file, const settings_t *settings, const cell_t *cell) {
    for (int i = 0; settings->options.energy && i < ENERGY_COUNT; i++)
        if (settings->job.source[i].counter_count > 0)
            fprintf(file, " %12.3f", cell->joules[i] * 1e3);
        else
            fprintf(file, " %12s", "-");
    if (settings->options.energy)
        fprintf(file, " %10.1f", energy_total(settings, cell) / cell->energy_run_s);
    if (settings->options.energy && cell->has_predicted_joules)
        fprintf(file, " %12.3f", cell->predicted_joules * 1e3);
    else if (settings->options.energy)
        fprintf(file, " %12s", "-");
}

void csv_energy_header(FILE *file, const settings_t *settings) {
    const char *between = "";
    if (!settings->options.energy)
        return;
    fprintf(file, "# energy=");
    for (int i = 0; i < ENERGY_COUNT; i++)
        if (settings->job.source[i].counter_count > 0) {
            fprintf(file, "%s%s", between, settings->job.source[i].source->name);
            between = "+";
        }
    fprintf(file, "\n# energy_window_s=%.3g\n", settings->job.window_s);
}

double energy_total(const settings_t *settings, const cell_t *cell) {
    double joules = 0;
    for (int i = 0; i < ENERGY_COUNT; i++)
        if (settings->job.source[i].counter_count > 0)
            joules += cell->joules[i];
    return joules;
}

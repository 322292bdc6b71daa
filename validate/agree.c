/* Compares the settings of all processes of portolan-validate, which mpirun's `:` can start with different
 * options. These settings determine the number of collective calls, so a difference would deadlock. The
 * executor itself detects plans that differ. */
#include "agreement.h"
#include "validate.h"

pto_status_t compare_settings(const settings_t *settings, const pto_options_t *options, int strategies,
                              pto_error_t *err) {
    const struct {
        const char *name;
        double value;
    } numbers[] = {{"--repeats", settings->options.repeats},
                   {"--queued", settings->options.queued},
                   {"--enqueue", settings->options.enqueue},
                   {"--graph", settings->options.graph},
                   {"--nccl-windows", settings->options.nccl_windows},
                   {"--check-only", settings->options.check_only},
                   {"--own-algorithms", settings->exec.own_algorithms},
                   {"--each-algorithm", settings->options.each_algorithm},
                   {"--wait", settings->exec.wait},
                   {"--pattern", settings->options.pattern},
                   {"--local", (double)settings->options.local_bytes},
                   {"--energy", settings->options.energy},
                   {"--powers", settings->options.powers},
                   {"--energy-seconds", settings->options.energy_window_s},
                   {"a number of points of", (double)pto_scenario_points(&options->scenario)},
                   {"a number of strategies of", strategies}};
    enum { NUMBERS = sizeof numbers / sizeof *numbers };
    setting_t all[NUMBERS + 2] = {{.name = "--op"}, {.name = "--device"}};
    snprintf(all[0].value, SETTING_MAX, "%s", pto_op_name(settings->op));
    snprintf(all[1].value, SETTING_MAX, "%s", settings->device->name);
    for (int i = 0; i < NUMBERS; i++) {
        all[2 + i].name = numbers[i].name;
        snprintf(all[2 + i].value, SETTING_MAX, "%.15g", numbers[i].value);
    }
    return agree_on_settings(all, NUMBERS + 2, err);
}

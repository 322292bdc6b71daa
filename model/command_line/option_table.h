/* The options of commands on scenarios. All apply to a pto_options_t; option_table.c defines the tables. */
#ifndef PTO_OPTION_TABLE_H
#define PTO_OPTION_TABLE_H

#include "arguments.h"

extern const pto_option_t pto_machine_options[], pto_scenario_options[], pto_change_options[],
    pto_work_options[];
extern const pto_option_t pto_format_options[], pto_table_options[], pto_predict_options[],
    pto_pick_options[], pto_simulate_options[], pto_plan_options[], pto_traffic_options[], pto_tune_options[],
    pto_map_command_options[], pto_export_options[], pto_step_options[], pto_workload_options[];

/* The last option sets of every command on scenarios. */
#define PTO_SCENARIO_SETS                                                                                    \
    {"overriding the scenario, or instead of one", pto_machine_options}, {NULL, pto_scenario_options},       \
        {NULL, pto_change_options}, {                                                                        \
        NULL, NULL                                                                                           \
    }

/* The syntax of a command that reads a scenario or, if `names` has it, a workload; then its sets of options,
 * to which those of the scenario are added. */
#define PTO_SCENARIO_SYNTAX(program_, usage_, names, ...)                                                    \
    {                                                                                                        \
        .program = (program_), .usage = (usage_), .operand = "*.yaml", .by_name = (names),                   \
        .set = (const pto_option_set_t[]) {                                                                  \
            __VA_ARGS__, PTO_SCENARIO_SETS                                                                   \
        }                                                                                                    \
    }

#endif

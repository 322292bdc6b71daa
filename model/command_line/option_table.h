/* The tables of the options that commands on scenarios share. Their values are stored in a pto_options_t,
 * with which a command's own struct begins. */
#ifndef PTO_OPTION_TABLE_H
#define PTO_OPTION_TABLE_H

#include "options.h"
#include "scenario/words.h"

extern const pto_option_t pto_machine_options[], pto_scenario_options[], pto_change_options[],
    pto_work_options[], pto_format_options[], pto_table_options[];

/* The syntax of a command on a scenario, or on a workload if `names` contains PTO_NAMES_WORKLOADS. The
 * further arguments are the command's sets of options; those of the scenario follow them. */
#define PTO_SCENARIO_SYNTAX(program_, usage_, names, ...)                                                    \
    {                                                                                                        \
        .program = (program_), .usage = (usage_), .operand = "*.yaml", .by_name = (names),                   \
        .set = (const pto_option_set_t[]) {                                                                  \
            __VA_ARGS__, {"overriding the scenario, or instead of one", pto_machine_options},                \
                {NULL, pto_scenario_options}, {NULL, pto_change_options}, {                                  \
                NULL, NULL                                                                                   \
            }                                                                                                \
        }                                                                                                    \
    }

/* Rows that several commands have in their own tables. */
/* clang-format off */
#define PTO_MEMORY_OPTIONS                                                                                   \
    {"memory", "auto|gpu|host",                                                                              \
     "where the data are; auto (default): in GPU memory if the machine has GPUs, else in host memory",       \
     PTO_STORE(WORD, pto_options_t, scenario.memory), .word_at = pto_data_memory_at,                         \
     .overrides = 1 + PTO_FIELD_MEMORY},                                                                     \
    {"procs-per-node", "N", "host memory: processes per node (default: the machine's cores)",                \
     PTO_STORE(COUNT, pto_options_t, scenario.procs_per_node), .overrides = 1 + PTO_FIELD_LAYOUT}
#define PTO_BANDWIDTH_OPTION                                                                                 \
    {"bandwidth", "algorithm|bus|both",                                                                      \
     "a table of GB/s, as nccl-tests defines them; both: algbw and busbw of the cheapest, beside times",     \
     PTO_STORE(WORD, pto_options_t, bandwidth), .what = "bandwidth", .standard = "none",                     \
     .word_at = pto_bandwidth_name}
#define PTO_COLUMNS_OPTION                                                                                   \
    {"all", NULL, "a column for every strategy, however wide the table gets",                                \
     PTO_STORE(FLAG, pto_options_t, all)}
#define PTO_INTERVALS_OPTION                                                                                 \
    {"ci", NULL, "the 95 percent interval of every price, in a line below (csv and json always have it)",    \
     PTO_STORE(FLAG, pto_options_t, ci)}
#define PTO_COMPARE_OPTION                                                                                   \
    {"compare", NULL, "the machine as it is beside the one that --what-if changes",                          \
     PTO_STORE(FLAG, pto_options_t, compare)}
/* clang-format on */

/* For `apply` to a pto_series_t: numbers as --nodes takes them. */
pto_status_t pto_apply_count_series(void *target, const char *text, pto_error_t *err);

/* The names of the strategies; NULL after the last one. */
const char *pto_option_strategy_at(int i);

/* Apply an option's text to a pto_options_t. */
pto_status_t pto_option_apply_bytes(void *target, const char *text, pto_error_t *err);
pto_status_t pto_option_apply_collective(void *target, const char *text, pto_error_t *err);
pto_status_t pto_option_apply_counts(void *target, const char *text, pto_error_t *err);
pto_status_t pto_option_apply_nodes(void *target, const char *text, pto_error_t *err);
pto_status_t pto_option_apply_progress(void *target, const char *text, pto_error_t *err);
pto_status_t pto_option_apply_strategy(void *target, const char *text, pto_error_t *err);

#endif

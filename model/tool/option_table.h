/* The options that commands on scenarios take: option_table.c fills the table, options.c goes by it. */
#ifndef PTO_OPTION_TABLE_H
#define PTO_OPTION_TABLE_H

#include "options.h"

typedef struct {
    const char *name;
    const char *argument; /* NULL: none */
    const char *help;
    pto_status_t (*apply)(pto_options_t *options, const char *text, pto_error_t *err);
    unsigned own;               /* 0: shared by all commands */
    pto_scenario_field_t field; /* what it overrides; PTO_FIELD_COUNT: nothing of the scenario's */
} pto_option_t;

extern const pto_option_t pto_option_table[];
extern const int pto_option_count;

#endif

/* The options that all commands on scenarios share: which scenario, and what to override in it. */
#ifndef PTO_OPTIONS_H
#define PTO_OPTIONS_H

#include "option_table.h"
#include "portolan/pick.h"

typedef enum { PTO_FORMAT_TABLE, PTO_FORMAT_CSV, PTO_FORMAT_JSON, PTO_FORMAT_COUNT } pto_format_t;

typedef struct {
    pto_scenario_t scenario; /* checked, and bound to the machine */
    pto_machine_t machine;   /* as read, then changed as `model` and `what_if` ask */
    const char *model;       /* --model, borrowed from argv; NULL: full */
    const char **what_if;    /* --what-if, each borrowed from argv */
    int what_if_count;
    const char *plot; /* NULL: none asked for; both borrowed from argv */
    const char *measured;
    const char *trace; /* NULL: none; borrowed from argv */
    int64_t trace_events;
    int64_t limit;
    pto_format_t format;
    pto_by_t by;         /* --by; --energy sets it to energy */
    bool has_strategies; /* --strategy has replaced the scenario's */
    bool bytes_given;    /* --bytes */
    bool explain;
    bool progress;
    bool unroll;
    int64_t rank;
} pto_options_t;

/* Parse a command's arguments, read and bind what they name. Returns -1 to go on; otherwise the exit code,
 * with the help or the error printed. */
int pto_options_read(const pto_syntax_t *syntax, int argc, char **argv, pto_options_t *options);

/* The part behind parsing, for programs with options of their own: apply `arguments` to `options`, which are
 * zeroed, and read and bind what they name. */
int pto_options_finish(const pto_arguments_t *arguments, pto_options_t *options);
void pto_options_fini(pto_options_t *options);

/* Read the machine, change it as `model` and `what_if` ask, and bind the scenario to it. -1, or the exit code
 * with the error printed. */
int pto_options_bind(pto_options_t *options);

/* Flush standard output; an exit code, with the error said where it could not all be written. */
int pto_flush_output(void);

/* Print "file:line:column: message" (or "portolan: message") to standard error; returns PTO_EXIT_ERROR. */
int pto_report_error(const pto_error_t *err);

#endif

/* The options that all commands on scenarios share: which scenario, and what to override in it. */
#ifndef PTO_OPTIONS_H
#define PTO_OPTIONS_H

#include "portolan/pick.h"

typedef enum { PTO_FORMAT_TABLE, PTO_FORMAT_CSV, PTO_FORMAT_JSON, PTO_FORMAT_COUNT } pto_format_t;

/* A command's own options, beyond the shared ones. */
enum {
    PTO_OPTION_FORMAT = 1 << 0,  /* --format table|csv|json */
    PTO_OPTION_EXPLAIN = 1 << 1, /* --explain */
    PTO_OPTION_RANK = 1 << 2,    /* --rank R, --unroll */
    PTO_OPTION_PLOT = 1 << 3,    /* --plot FILE, --measured FILE */
    PTO_OPTION_TRACE = 1 << 4,   /* --trace FILE, --trace-events N, --limit N */
    PTO_OPTION_ENERGY = 1 << 5,  /* --energy */
    PTO_OPTION_BY = 1 << 6,      /* --by time|energy|product */
};

typedef struct {
    pto_scenario_t scenario; /* checked, and bound to the machine */
    pto_machine_t machine;   /* as read, then changed as `model` and `what_if` ask */
    const char *model;       /* --model, borrowed from argv; NULL: full */
    const char **what_if;    /* --what-if, each borrowed from argv */
    int what_if_count;
    const char *plot; /* NULL: none asked for; both borrowed from argv */
    const char *measured;
    const char *trace;    /* NULL: none; borrowed from argv */
    int64_t trace_events; /* 0: not said, and so for limit */
    int64_t limit;
    pto_format_t format;
    pto_by_t by; /* --by; --energy sets it to energy */
    bool explain;
    bool unroll;
    int64_t rank;
} pto_options_t;

/* Parse a command's arguments, read and bind what they name. `usage` is printed for --help, followed by the
 * shared options. Returns -1 to go on; otherwise the exit code, everything having been said. */
int pto_options_parse(int argc, char **argv, unsigned own_options, const char *usage, pto_options_t *options);
void pto_options_fini(pto_options_t *options);

/* Flush standard output; an exit code, with the error said where it could not all be written. */
int pto_flush_output(void);

/* Print "file:line:column: message" (or "portolan: message") to standard error; returns PTO_EXIT_ERROR. */
int pto_report_error(const pto_error_t *err);

#endif

/* The command line of portolan-calibrate. */
#ifndef PORTOLAN_CALIBRATE_OPTIONS_H
#define PORTOLAN_CALIBRATE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "benchmark.h"
#include "portolan/status.h"

enum { OPTIONS_ERROR_MAX = PTO_ERROR_MESSAGE_MAX + 256 };

typedef struct {
    bool help;
    bool version;
    bool list;
    bool force;
    bool progress;
    const char *only; /* names with commas between them; NULL: all */
    const char *out;  /* "-": standard output */
    const char *machine;
    int64_t from_bytes;
    int64_t to_bytes;
    double budget_s;
    double timeout_s;
    int repeats;
} options_t;

/* Returns false with a message in `error` where the command line is wrong. Borrows from argv. */
bool options_parse(int argc, char **argv, options_t *options, char error[OPTIONS_ERROR_MAX]);

/* Whether --only lets a benchmark run. */
bool options_want(const options_t *options, const benchmark_t *benchmark);

void options_print_help(void);
void options_print_list(void);

#endif

/* The file of PORTOLAN_REPORT: a row for each call, with the route that it has taken (docs/formats.md). */
#ifndef PRELOAD_CALL_ROWS_H
#define PRELOAD_CALL_ROWS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    double begin_s;
    double end_s;
    const char *routine;
    uint64_t communicator; /* 0: none */
    int procs;
    int root; /* -1: none */
    int64_t bytes;
    const char *space;
    const char *route;
    double predicted_s; /* by the route, and by the library; 0: unknown */
    double library_s;
} preload_call_row_t;

/* The file is process 0's; with %r in its name, every process has one, with its rank there. It is closed when
 * the process ends, however that is. */
void preload_call_rows_open(const char *name, int rank);
bool preload_call_rows_are_open(void);
/* Each of these may be called by several threads. */
void preload_call_row(const preload_call_row_t *row);
/* Write the rows that are kept, of a process that may end by _exit. */
void preload_call_rows_flush(void);
void preload_call_rows_close(void);

#endif

/* The file of PORTOLAN_REPORT, which both drop-ins (for MPI and for NCCL) write: a row for each call, with
 * its route (docs/formats.md). */
#ifndef PRELOAD_CALL_ROWS_H
#define PRELOAD_CALL_ROWS_H

#include <stdbool.h>
#include <stdint.h>

/* A row. Texts are borrowed. */
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
    double predicted_s; /* by the route; 0: unknown */
    double library_s;   /* by the library's own collective; 0: unknown */
} preload_call_row_t;

/* Opens the file: on process 0 or, if the name contains %r, which becomes the rank, one for each process. */
void preload_call_rows_open(const char *name, int rank);
bool preload_call_rows_are_open(void);
/* The following functions are thread-safe. */
void preload_call_row(const preload_call_row_t *row);
/* Write the buffered rows now: the process may end by _exit. */
void preload_call_rows_flush(void);
void preload_call_rows_close(void);

#endif

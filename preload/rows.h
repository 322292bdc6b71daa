/* Files of rows that a library in front of MPI writes. */
#ifndef PRELOAD_ROWS_H
#define PRELOAD_ROWS_H

#include <stddef.h>
#include <sys/types.h>

typedef struct {
    int file;  /* negative: none */
    off_t end; /* of its whole rows */
    int cause; /* errno of the write that failed: nothing is written after it */
} preload_rows_t;

/* Append whole rows; those that a full disk holds, as far as the file can be cut. Safe in signal handlers. */
void preload_rows_put(preload_rows_t *rows, const char *text, size_t size);
/* Close the file; 0, or the errno of the first failure. */
int preload_rows_close(preload_rows_t *rows);

#endif

/* Output files of the preloaded libraries, which contain only whole rows, even if the disk is full. */
#ifndef PRELOAD_ROWS_H
#define PRELOAD_ROWS_H

#include <stddef.h>
#include <sys/types.h>

typedef struct {
    int file;  /* descriptor; negative: none */
    off_t end; /* size of the file up to its last whole row */
    int cause; /* errno of the write that failed, after which nothing is written; 0: none has */
} preload_rows_t;

/* Appends whole rows. If the disk is full, a partial row is removed again. Safe in signal handlers. */
void preload_rows_put(preload_rows_t *rows, const char *text, size_t size);
/* Closes the file. Returns 0, or the errno of the first failure. */
int preload_rows_close(preload_rows_t *rows);

#endif

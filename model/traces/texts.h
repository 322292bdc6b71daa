/* Different texts, numbered in the order in which they were added. */
#ifndef PTO_TRACES_TEXTS_H
#define PTO_TRACES_TEXTS_H

#include <stddef.h>

/* Zeroed at first. */
typedef struct {
    int count;
    size_t slots; /* a power of two */
    char **text;
    int *slot; /* 1 + the number of its text; 0: free */
} pto_text_index_t;

/* Returns the number of a text, new or not; -1: out of memory. */
int pto_text_index_add(pto_text_index_t *index, const char *text);
/* -1: it is not there. */
int pto_text_index_find(const pto_text_index_t *index, const char *text);
void pto_text_index_fini(pto_text_index_t *index);

/* Takes out what colors or underlines text on a terminal. */
void pto_drop_escapes(char *text);

#endif

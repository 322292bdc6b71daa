/* An index of texts, which numbers different ones from 0 in the order in which they are added. */
#ifndef PTO_TRACES_TEXTS_H
#define PTO_TRACES_TEXTS_H

#include <stddef.h>

/* Zero it to begin. */
typedef struct {
    int count;
    size_t slots; /* of the hash table: 0 or a power of two */
    char **text;  /* by number */
    int *slot;    /* 1 + the number of its text; 0 if free */
} pto_text_index_t;

/* Returns the number of a text, after adding it if it is new; -1 if out of memory. */
int pto_text_index_add(pto_text_index_t *index, const char *text);
/* Returns the number of a text; -1 if it is not there. */
int pto_text_index_find(const pto_text_index_t *index, const char *text);
void pto_text_index_fini(pto_text_index_t *index);

/* Removes the escape sequences that color or underline text on a terminal. */
void pto_drop_escapes(char *text);

#endif

/* Growing arrays of any item type, in which the executor collects a schedule. */
#ifndef PTO_VECTOR_H
#define PTO_VECTOR_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    void *item;
    int count;
    size_t capacity;
} pto_vector_t;

/* Reserves memory for `more` items, so that adding them cannot fail. Returns false if out of memory. */
bool pto_vector_reserve(pto_vector_t *list, int more, size_t item_size);

/* Appends a zeroed item and returns it; NULL if out of memory. */
void *pto_vector_add(pto_vector_t *list, size_t item_size);

#endif

/* Lists that grow while a schedule is built. */
#ifndef PTO_GROWING_H
#define PTO_GROWING_H

#include <stddef.h>

typedef struct {
    void *item;
    int count;
    int capacity;
} pto_growing_t;

/* NULL where memory is out; else the new item, zeroed. */
void *pto_growing_add(pto_growing_t *list, size_t item_size);

#endif

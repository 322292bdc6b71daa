/* Growable arrays. Header-only, for libraries that do not link libportolan. */
#ifndef PTO_BASE_GROW_H
#define PTO_BASE_GROW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Ensure room for `wanted` items; capacity at least doubles. False if out of memory, with nothing changed. */
#define PTO_RESERVE(array, capacity, wanted)                                                                 \
    ((size_t)(wanted) <= (capacity) ||                                                                       \
     pto_array_reserve(&(array), &(capacity), (size_t)(wanted), sizeof *(array)))

/* Ensure room for item `count` of a short list, which has no variable for its capacity. */
#define PTO_EXTEND(array, count) pto_array_resize(&(array), (size_t)(count) + 1, sizeof *(array))

/* `array` is the address of a pointer to items. Its type is unknown here, so the pointer is copied by memcpy.
 * False, with nothing changed, if out of memory. */
static inline bool pto_array_resize(void *array, size_t count, size_t item_size) {
    void *items;
    memcpy(&items, array, sizeof items);
    if (count > SIZE_MAX / item_size)
        return false;
    void *grown = realloc(items, count * item_size);
    if (grown)
        memcpy(array, &grown, sizeof grown);
    /* cppcheck-suppress memleak; `array` holds it */
    return grown != NULL;
}

static inline bool pto_array_reserve(void *array, size_t *capacity, size_t wanted, size_t item_size) {
    size_t larger = *capacity > 0 ? 2 * *capacity : 8;
    if (larger < wanted)
        larger = wanted;
    if (!pto_array_resize(array, larger, item_size))
        return false;
    *capacity = larger;
    return true;
}

#endif

/* Arrays that grow. A header alone, so that libraries which do not link libportolan can include it. */
#ifndef PTO_BASE_GROW_H
#define PTO_BASE_GROW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Room for `wanted` items; capacity at least doubles. False if out of memory, which changes nothing. */
#define PTO_RESERVE(array, capacity, wanted)                                                                 \
    ((size_t)(wanted) <= (capacity) ||                                                                       \
     pto_array_reserve(&(array), &(capacity), (size_t)(wanted), sizeof *(array)))

/* Room for item `count` of a short list, which has no capacity of its own. */
#define PTO_EXTEND(array, count) pto_array_resize(&(array), (size_t)(count) + 1, sizeof *(array))

/* `array` is the address of a pointer to objects. */
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
    size_t room = *capacity > 0 ? 2 * *capacity : 8;
    if (room < wanted)
        room = wanted;
    if (!pto_array_resize(array, room, item_size))
        return false;
    *capacity = room;
    return true;
}

#endif

/* Lists that grow while a schedule is built. */
#include "vector.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

bool pto_vector_reserve(pto_vector_t *list, int more, size_t item_size) {
    int capacity = list->capacity ? list->capacity : 16;
    while (capacity < list->count + more)
        capacity *= 2;
    if (capacity == list->capacity)
        return true;
    void *grown = realloc(list->item, (size_t)capacity * item_size);
    if (!grown)
        return false;
    list->item = grown;
    list->capacity = capacity;
    return true;
}

void *pto_vector_add(pto_vector_t *list, size_t item_size) {
    if (!pto_vector_reserve(list, 1, item_size))
        return NULL;
    assert(list->item);
    void *item = (char *)list->item + (size_t)list->count++ * item_size;
    memset(item, 0, item_size);
    return item;
}

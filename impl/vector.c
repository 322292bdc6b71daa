/* Lists that grow while a schedule is built. */
#include "vector.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void *pto_vector_add(pto_vector_t *list, size_t item_size) {
    if (list->count == list->capacity) {
        int capacity = list->capacity ? 2 * list->capacity : 16;
        void *grown = realloc(list->item, (size_t)capacity * item_size);
        if (!grown)
            return NULL;
        list->item = grown;
        list->capacity = capacity;
    }
    assert(list->item);
    void *item = (char *)list->item + (size_t)list->count++ * item_size;
    memset(item, 0, item_size);
    return item;
}

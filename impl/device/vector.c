/* Growing arrays (vector.h). */
#include "vector.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

bool pto_vector_reserve(pto_vector_t *list, int more, size_t item_size) {
    const size_t wanted = (size_t)(list->count + more);
    return wanted <= list->capacity || pto_array_reserve(&list->item, &list->capacity, wanted, item_size);
}

void *pto_vector_add(pto_vector_t *list, size_t item_size) {
    if (!pto_vector_reserve(list, 1, item_size))
        return NULL;
    assert(list->item);
    void *item = (char *)list->item + (size_t)list->count++ * item_size;
    memset(item, 0, item_size);
    return item;
}

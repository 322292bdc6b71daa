/* Registries of named descriptors: the built-in ones and those that programs register. */
#ifndef PTO_BASE_REGISTRY_H
#define PTO_BASE_REGISTRY_H

#include "base/names.h"

/* After an array `built_in` of pointers to descriptors of `type`: define PREFIX_count and PREFIX_at, and the
 * static functions name_at (a pto_name_at_t), is_full (no more can be registered) and keep (registers one).
 */
#define PTO_REGISTRY(prefix, type, built_in, registered_max)                                                 \
    enum { BUILT_IN_COUNT = (int)(sizeof(built_in) / sizeof *(built_in)) };                                  \
    static const type *registered[registered_max];                                                           \
    static int registered_count;                                                                             \
    int prefix##_count(void) { return BUILT_IN_COUNT + registered_count; }                                   \
    const type *prefix##_at(int index) {                                                                     \
        return index < BUILT_IN_COUNT ? (built_in)[index] : registered[index - BUILT_IN_COUNT];              \
    }                                                                                                        \
    static const char *name_at(int index) {                                                                  \
        return index < prefix##_count() ? prefix##_at(index)->name : NULL;                                   \
    }                                                                                                        \
    static bool is_full(void) { return registered_count == (registered_max); }                               \
    static void keep(const type *added) { registered[registered_count++] = added; }                          \
    _Static_assert((registered_max) > 0, "there is room to register")

#endif

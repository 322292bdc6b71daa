/* FNV-1a (Fowler, Noll, Vo): hashes of texts and of numbers. Internal to libportolan. */
#ifndef PTO_BASE_HASH_H
#define PTO_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define PTO_HASH_START UINT64_C(0xcbf29ce484222325)

/* One step: `value` is a byte, or a wider number where all words of a table are hashed alike. */
static inline uint64_t pto_hash_add(uint64_t hash, uint64_t value) {
    return (hash ^ value) * UINT64_C(0x100000001b3);
}

static inline uint64_t pto_hash_bytes(uint64_t hash, const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        hash = pto_hash_add(hash, ((const unsigned char *)bytes)[i]);
    return hash;
}

#endif

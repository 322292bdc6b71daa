/* FNV-1a hashes (Fowler, Noll, Vo) of texts and numbers, and splitmix64 random numbers. Header-only, for
 * libraries that do not link libportolan. */
#ifndef PTO_BASE_HASH_H
#define PTO_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define PTO_HASH_START UINT64_C(0xcbf29ce484222325)

/* One step: `value` is a byte, or a word if all words of a table are hashed this way. */
static inline uint64_t pto_hash_add(uint64_t hash, uint64_t value) {
    return (hash ^ value) * UINT64_C(0x100000001b3);
}

static inline uint64_t pto_hash_bytes(uint64_t hash, const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        hash = pto_hash_add(hash, ((const unsigned char *)bytes)[i]);
    return hash;
}

#define PTO_GOLDEN_GAMMA UINT64_C(0x9e3779b97f4a7c15)

/* The output function of the generator. */
static inline uint64_t pto_mix(uint64_t z) {
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static inline uint64_t pto_random(uint64_t *state) { return pto_mix(*state += PTO_GOLDEN_GAMMA); }

#endif

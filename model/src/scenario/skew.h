/* Random byte counts: each is a hash of its pair of processes, so none is stored. With skew s, a count is
 * uniform in [(1 - s) bytes, (1 + s) bytes]. Internal to libportolan. */
#ifndef PTO_SCENARIO_SKEW_H
#define PTO_SCENARIO_SKEW_H

#include "base/hash.h"
#include "portolan/scenario.h"

/* The distribution of all pairs: uniform in [least_bytes, least_bytes + width). */
typedef struct {
    int64_t least_bytes;
    uint64_t width;
    uint64_t hash; /* of the seed */
} pto_skew_t;

/* Returns the skew of counts of the kind PTO_COUNTS_SKEW. */
static inline pto_skew_t pto_skew_of(const pto_counts_t *counts, int64_t bytes) {
    double product = (double)bytes * counts->skew;
    int64_t spread = product >= (double)bytes ? bytes : (int64_t)product;
    if (spread > INT64_MAX - bytes)
        spread = INT64_MAX - bytes;
    return (pto_skew_t){bytes - spread, 2 * (uint64_t)spread + 1, pto_mix(counts->seed + PTO_GOLDEN_GAMMA)};
}

/* Returns the hash that all pairs of a source share. */
static inline uint64_t pto_skew_source(const pto_skew_t *skew, int64_t source) {
    return pto_mix(skew->hash + (uint64_t)source + PTO_GOLDEN_GAMMA);
}

/* The hash modulo `width`. To make this exactly uniform, hashes below 2^64 modulo `width` are rejected. */
static inline int64_t pto_skew_bytes_from(const pto_skew_t *skew, uint64_t source_hash, int64_t destination) {
    uint64_t hash = pto_mix(source_hash + (uint64_t)destination + PTO_GOLDEN_GAMMA), width = skew->width;
    if (hash < width) { /* the limit is below `width`, so no other hash needs the division */
        uint64_t limit = (0 - width) % width;
        while (hash < limit)
            hash = pto_mix(hash + PTO_GOLDEN_GAMMA);
    }
    return skew->least_bytes + (int64_t)(hash % width);
}

static inline int64_t pto_skew_bytes(const pto_skew_t *skew, int64_t source, int64_t destination) {
    return pto_skew_bytes_from(skew, pto_skew_source(skew, source), destination);
}

#endif

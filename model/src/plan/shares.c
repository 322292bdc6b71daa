/* Divides bytes into near-equal shares of whole grains, and into chunks of whole cache lines. */
#include <assert.h>

#include "plan/plan_internal.h"

int64_t pto_share_offset(int64_t bytes, int64_t granularity_bytes, int64_t shares, int64_t k) {
    if (k >= shares || shares <= 0)
        return bytes;
    assert(granularity_bytes > 0);
    int64_t grains = bytes / granularity_bytes;
    int64_t larger = grains % shares;
    return (grains / shares * k + (k < larger ? k : larger)) * granularity_bytes;
}

int64_t pto_share_bytes(int64_t bytes, int64_t granularity_bytes, int64_t shares, int64_t k) {
    if (k >= shares || shares <= 0)
        return 0;
    if (k == shares - 1)
        return bytes - pto_share_offset(bytes, granularity_bytes, shares, k);
    assert(granularity_bytes > 0);
    int64_t grains = bytes / granularity_bytes;
    return (grains / shares + (k < grains % shares)) * granularity_bytes;
}

int64_t pto_chunk_bytes(int64_t bytes, int64_t chunks) {
    enum { ALIGNMENT_BYTES = 64 };
    int64_t least = chunks > 1 ? bytes / chunks + (bytes % chunks > 0) : bytes;
    return (least / ALIGNMENT_BYTES + (least % ALIGNMENT_BYTES > 0 || least == 0)) * ALIGNMENT_BYTES;
}

int64_t pto_chunk_count(int64_t bytes, int64_t chunks) {
    return bytes > 0 ? (bytes - 1) / pto_chunk_bytes(bytes, chunks) + 1 : 1;
}

int64_t pto_chunk_bytes_at(int64_t bytes, int64_t chunks, int64_t k) {
    int64_t unit = pto_chunk_bytes(bytes, chunks), left = bytes - k * unit;
    if (left > unit)
        return unit;
    return left > 0 ? left : 0;
}

/* The arithmetic of reductions, for units of 16 bytes, or for single elements that are not so aligned. */
#ifndef PTO_LANES_CUH
#define PTO_LANES_CUH

#include "device/operations.cuh"

/* The values in WORDS words of 4 bytes, which are loaded at once. */
template <typename T, int WORDS> struct lanes {
    enum { COUNT = WORDS * sizeof(uint32_t) / sizeof(T) };
    T lane[COUNT];
};

/* The same, widened for arithmetic. */
template <typename T, int WORDS> struct wide_lanes { typename wide<T>::type lane[lanes<T, WORDS>::COUNT]; };

template <typename T, int WORDS> static __device__ wide_lanes<T, WORDS> widened(const lanes<T, WORDS> &from) {
    wide_lanes<T, WORDS> value;
#pragma unroll
    for (int j = 0; j < lanes<T, WORDS>::COUNT; j++)
        value.lane[j] = widen(from.lane[j]);
    return value;
}

template <typename T, int WORDS>
static __device__ lanes<T, WORDS> narrowed(const wide_lanes<T, WORDS> &from) {
    lanes<T, WORDS> value;
#pragma unroll
    for (int j = 0; j < lanes<T, WORDS>::COUNT; j++)
        narrow(from.lane[j], value.lane[j]);
    return value;
}

template <typename T, typename Op, int WORDS>
static __device__ void combine_into(wide_lanes<T, WORDS> &value, const lanes<T, WORDS> &other, Op combine) {
#pragma unroll
    for (int j = 0; j < lanes<T, WORDS>::COUNT; j++)
        value.lane[j] = combine(value.lane[j], widen(other.lane[j]));
}

template <int WORDS>
static __device__ void combine_into(wide_lanes<word, WORDS> &value, const lanes<word, WORDS> &other,
                                    chosen by) {
    uint4 one = {}, two = {};
    memcpy(&one, &value, sizeof value);
    memcpy(&two, &other, sizeof other);
    one = combine_unit(one, two, by);
    memcpy(&value, &one, sizeof value);
}

/* The compiler emits a single 16-byte load only for a type of that size. */
template <typename T> static __device__ lanes<T, 4> load_unit(const char *at, size_t i) {
    const uint4 bits = reinterpret_cast<const uint4 *>(at)[i];
    lanes<T, 4> value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

template <typename T> static __device__ void store_unit(char *at, size_t i, const lanes<T, 4> &value) {
    uint4 bits;
    memcpy(&bits, &value, sizeof bits);
    reinterpret_cast<uint4 *>(at)[i] = bits;
}

/* --- single elements: number i of sources that `source(k)` gives ---------------------------------------- */

template <typename T, typename Op> static __device__ size_t element_size(Op) { return sizeof(T); }
template <> __device__ size_t element_size<word, chosen>(chosen by) { return element_bytes(by); }

template <typename T, typename Op, typename Source>
static __device__ void reduce_element(char *target, const Source &source, unsigned count, size_t i,
                                      Op combine) {
    auto value = widen(reinterpret_cast<const T *>(source(0))[i]);
#pragma unroll 1
    for (unsigned k = 1; k < count; k++)
        value = combine(value, widen(reinterpret_cast<const T *>(source(k))[i]));
    narrow(value, reinterpret_cast<T *>(target)[i]);
}

static __device__ uint4 load_bytes(const char *from, unsigned bytes) {
    uint4 value = {};
    for (unsigned j = 0; j < bytes; j++)
        reinterpret_cast<char *>(&value)[j] = from[j];
    return value;
}

template <typename T, typename Source>
static __device__ void reduce_element(char *target, const Source &source, unsigned count, size_t i,
                                      chosen by) {
    const unsigned bytes = element_bytes(by);
    uint4 value = load_bytes(source(0) + i * bytes, bytes);
#pragma unroll 1
    for (unsigned k = 1; k < count; k++)
        value = combine_unit(value, load_bytes(source(k) + i * bytes, bytes), by);
    for (unsigned j = 0; j < bytes; j++)
        target[i * bytes + j] = reinterpret_cast<const char *>(&value)[j];
}

#endif

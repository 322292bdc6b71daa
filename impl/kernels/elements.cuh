/* The arithmetic of reductions in kernels, on the elements in a unit of 16 bytes, or on single elements where
 * addresses are not aligned to units. The kernels of plans and the reductions of device_cuda.cu use it.
 * `Op` is a function object of operations.cuh; `untyped` with `op_choice` stands for any other operation. */
#ifndef PTO_ELEMENTS_CUH
#define PTO_ELEMENTS_CUH

#include "device/operations.cuh"

/* The elements of type T in a unit. */
template <typename T> struct elements {
    enum { COUNT = sizeof(uint4) / sizeof(T) };
    T element[COUNT];
};

/* The same, widened for arithmetic: 16-bit floating point becomes float. */
template <typename T> struct wide_elements { typename wide<T>::type element[elements<T>::COUNT]; };

template <typename T> static __device__ wide_elements<T> widened(const elements<T> &from) {
    wide_elements<T> value;
#pragma unroll
    for (int j = 0; j < elements<T>::COUNT; j++)
        value.element[j] = widen(from.element[j]);
    return value;
}

template <typename T> static __device__ elements<T> narrowed(const wide_elements<T> &from) {
    elements<T> value;
#pragma unroll
    for (int j = 0; j < elements<T>::COUNT; j++)
        narrow(from.element[j], value.element[j]);
    return value;
}

/* Combines each element of `value` with that of `other`. */
template <typename T, typename Op>
static __device__ void combine_into(wide_elements<T> &value, const elements<T> &other, Op combine) {
#pragma unroll
    for (int j = 0; j < elements<T>::COUNT; j++)
        value.element[j] = combine(value.element[j], widen(other.element[j]));
}

static __device__ void combine_into(wide_elements<untyped> &value, const elements<untyped> &other,
                                    op_choice choice) {
    uint4 one = {}, two = {};
    memcpy(&one, &value, sizeof value);
    memcpy(&two, &other, sizeof other);
    one = combine_unit(one, two, choice);
    memcpy(&value, &one, sizeof value);
}

/* Unit `i` of a vector. The compiler emits a single 16-byte load only for a type of that size. */
template <typename T> static __device__ elements<T> load_unit(const char *vector, size_t i) {
    const uint4 bits = reinterpret_cast<const uint4 *>(vector)[i];
    elements<T> value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

template <typename T> static __device__ void store_unit(char *vector, size_t i, const elements<T> &value) {
    uint4 bits;
    memcpy(&bits, &value, sizeof bits);
    reinterpret_cast<uint4 *>(vector)[i] = bits;
}

/* Returns the bytes of an element. */
template <typename T, typename Op> static __device__ size_t element_size(Op) { return sizeof(T); }
template <> __device__ size_t element_size<untyped, op_choice>(op_choice choice) {
    return element_bytes(choice);
}

/* Stores in element `i` of the target the combination of element `i` of `count` sources, in their order.
 * `source(k)` returns the address of source k. */
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
                                      op_choice choice) {
    const unsigned bytes = element_bytes(choice);
    uint4 value = load_bytes(source(0) + i * bytes, bytes);
#pragma unroll 1
    for (unsigned k = 1; k < count; k++)
        value = combine_unit(value, load_bytes(source(k) + i * bytes, bytes), choice);
    for (unsigned j = 0; j < bytes; j++)
        target[i * bytes + j] = reinterpret_cast<const char *>(&value)[j];
}

#endif

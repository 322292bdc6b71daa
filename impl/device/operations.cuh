/* The operations of reductions on a GPU, as function objects that combine two values. Kernels are templates
 * on the element type and the operation. They are compiled for the usual pairs; all other pairs share one
 * instance, for the type `untyped` and the operation `op_choice`. */
#ifndef PTO_OPERATIONS_CUH
#define PTO_OPERATIONS_CUH

#include "combine.h"
#include "portolan/exec.h"

/* The type in which elements of type T are combined. */
template <typename T> struct wide { using type = T; };
template <> struct wide<pto_half_t> { using type = float; };
template <> struct wide<pto_bfloat16_t> { using type = float; };

template <typename T> static __device__ T widen(T value) { return value; }
template <typename T> static __device__ void narrow(T value, T &into) { into = value; }

static __device__ float widen(pto_half_t value) {
#ifdef __CUDA_ARCH__
    float all;
    asm("cvt.f32.f16 %0, %1;" : "=f"(all) : "h"(value.bits));
    return all;
#else
    return pto_half_widen(value);
#endif
}

/* The instruction generates a NaN with other bits than the CPU's code. */
static __device__ void narrow(float value, pto_half_t &into) {
#ifdef __CUDA_ARCH__
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(into.bits) : "f"(value));
    if (value != value)
        into.bits = PTO_HALF_NAN;
#else
    into = pto_half_narrow(value);
#endif
}

static __device__ float widen(pto_bfloat16_t value) { return pto_bfloat16_widen(value); }

static __device__ void narrow(float value, pto_bfloat16_t &into) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(into.bits) : "f"(value));
    if (value != value)
        into.bits = PTO_BFLOAT16_NAN;
#else
    into = pto_bfloat16_narrow(value);
#endif
}

/* Integer sums and products are instantiated for the unsigned type, so that they wrap around. */
struct sum {
    template <typename T> __device__ T operator()(T a, T b) const { return a + b; }
};
struct product {
    template <typename T> __device__ T operator()(T a, T b) const { return a * b; }
};
struct minimum {
    template <typename T> __device__ T operator()(T a, T b) const { return b < a ? b : a; }
    __device__ float operator()(float a, float b) const { return pto_min_float(a, b); }
    __device__ double operator()(double a, double b) const { return pto_min_double(a, b); }
};
struct maximum {
    template <typename T> __device__ T operator()(T a, T b) const { return a < b ? b : a; }
    __device__ float operator()(float a, float b) const { return pto_max_float(a, b); }
    __device__ double operator()(double a, double b) const { return pto_max_double(a, b); }
};

/* --- operations that are chosen at run time --------------------------------------------------------------
 *
 * A kernel for every type and operation would take long to compile. The rare ones share a kernel, which looks
 * up the operation for every 16 bytes. */

/* The element type of that kernel: 4 bytes of data of any type. */
struct untyped {
    uint32_t bits;
};

/* The operation of that kernel: its parameter names the datatype and the operation. */
struct op_choice {
    uint8_t datatype; /* pto_datatype_t */
    uint8_t op;       /* pto_op_t */
};

/* Combines each element of type T in 16 bytes. */
template <typename T, typename F> static __device__ uint4 each_element(uint4 one, uint4 other, F combine) {
    enum { COUNT = sizeof(uint4) / sizeof(T) };
    T a[COUNT], b[COUNT];
    memcpy(a, &one, sizeof one);
    memcpy(b, &other, sizeof other);
    for (int i = 0; i < COUNT; i++)
        a[i] = static_cast<T>(combine(a[i], b[i]));
    memcpy(&one, a, sizeof one);
    return one;
}

template <typename T> static __device__ uint4 extreme(uint4 one, uint4 other, unsigned op) {
    return op == PTO_OP_MIN ? each_element<T>(one, other, [](T a, T b) { return b < a ? b : a; })
                            : each_element<T>(one, other, [](T a, T b) { return a < b ? b : a; });
}

/* `1U *` and `1U` make the arithmetic unsigned: C++ promotes 8- and 16-bit operands to int. Bitwise
 * operations never get here (combine_unit). */
template <typename T> static __device__ uint4 combine_integers(uint4 one, uint4 other, unsigned op) {
    switch (op) {
    case PTO_OP_PROD:
        return each_element<T>(one, other, [](T a, T b) { return 1U * a * b; });
    case PTO_OP_MIN:
    case PTO_OP_MAX:
        return extreme<T>(one, other, op);
    case PTO_OP_LAND:
        return each_element<T>(one, other, [](T a, T b) { return a != 0 && b != 0; });
    case PTO_OP_LOR:
        return each_element<T>(one, other, [](T a, T b) { return a != 0 || b != 0; });
    case PTO_OP_LXOR:
        return each_element<T>(one, other, [](T a, T b) { return (a != 0) != (b != 0); });
    default:
        return each_element<T>(one, other, [](T a, T b) { return a + 1U * b; });
    }
}

template <typename Real> static __device__ uint4 multiply_complex(uint4 one, uint4 other) {
    enum { COUNT = sizeof(uint4) / sizeof(Real) };
    Real a[COUNT], b[COUNT];
    memcpy(a, &one, sizeof one);
    memcpy(b, &other, sizeof other);
    for (int i = 0; i < COUNT; i += 2) {
        const Real real = a[i] * b[i] - a[i + 1] * b[i + 1];
        a[i + 1] = a[i] * b[i + 1] + a[i + 1] * b[i];
        a[i] = real;
    }
    memcpy(&one, a, sizeof one);
    return one;
}

/* Signed integers are combined as unsigned ones, except for minimum and maximum. Real floating-point types
 * have kernels of their own, and complex ones come here only for products. */
static __device__ uint4 combine_typed(uint4 one, uint4 other, op_choice choice) {
    const bool orders = choice.op == PTO_OP_MIN || choice.op == PTO_OP_MAX;
    switch (choice.datatype) {
    case PTO_DATATYPE_INT8:
        if (orders)
            return extreme<int8_t>(one, other, choice.op);
        return combine_integers<uint8_t>(one, other, choice.op);
    case PTO_DATATYPE_INT16:
        if (orders)
            return extreme<int16_t>(one, other, choice.op);
        return combine_integers<uint16_t>(one, other, choice.op);
    case PTO_DATATYPE_UINT16:
        return combine_integers<uint16_t>(one, other, choice.op);
    case PTO_DATATYPE_INT32:
    case PTO_DATATYPE_UINT32:
        return combine_integers<uint32_t>(one, other, choice.op);
    case PTO_DATATYPE_INT64:
    case PTO_DATATYPE_UINT64:
        return combine_integers<uint64_t>(one, other, choice.op);
    case PTO_DATATYPE_FLOAT_COMPLEX:
        return multiply_complex<float>(one, other);
    case PTO_DATATYPE_DOUBLE_COMPLEX:
        return multiply_complex<double>(one, other);
    default:
        return combine_integers<uint8_t>(one, other, choice.op);
    }
}

/* Combines the elements in 16 bytes. Where there are fewer, the other bytes of the result are undefined. */
static __device__ __noinline__ uint4 combine_unit(uint4 one, uint4 other, op_choice choice) {
    switch (choice.op) {
    case PTO_OP_BAND:
        return {one.x & other.x, one.y & other.y, one.z & other.z, one.w & other.w};
    case PTO_OP_BOR:
        return {one.x | other.x, one.y | other.y, one.z | other.z, one.w | other.w};
    case PTO_OP_BXOR:
        return {one.x ^ other.x, one.y ^ other.y, one.z ^ other.z, one.w ^ other.w};
    default:
        return combine_typed(one, other, choice);
    }
}

static __device__ unsigned element_bytes(op_choice choice) {
    switch (choice.datatype) {
    case PTO_DATATYPE_INT16:
    case PTO_DATATYPE_UINT16:
        return 2;
    case PTO_DATATYPE_INT32:
    case PTO_DATATYPE_UINT32:
        return 4;
    case PTO_DATATYPE_INT64:
    case PTO_DATATYPE_UINT64:
    case PTO_DATATYPE_FLOAT_COMPLEX:
        return 8;
    case PTO_DATATYPE_DOUBLE_COMPLEX:
        return 16;
    default:
        return 1;
    }
}

/* `T` is the type for minimum and maximum, `Wraps` the type for sum and product. */
template <typename T, typename Wraps, typename Visitor>
static auto with_usual_operation(pto_op_t op, const Visitor &visit) {
    switch (op) {
    case PTO_OP_PROD:
        return visit.template of<Wraps, product>();
    case PTO_OP_MIN:
        return visit.template of<T, minimum>();
    case PTO_OP_MAX:
        return visit.template of<T, maximum>();
    default:
        return visit.template of<Wraps, sum>();
    }
}

/* Returns `visit.template of<T, Op>()` with the element type and the function object for a datatype and an
 * operation. Programs on bytes usually only copy them. A sum of complex numbers sums their parts. */
template <typename Visitor>
static auto with_operation(pto_datatype_t datatype, pto_op_t op, const Visitor &visit) {
    const bool sums = op == PTO_OP_SUM, wraps = sums || op == PTO_OP_PROD;
    const bool usual = wraps || op == PTO_OP_MIN || op == PTO_OP_MAX;
    if (datatype == PTO_DATATYPE_FLOAT || (datatype == PTO_DATATYPE_FLOAT_COMPLEX && sums))
        return with_usual_operation<float, float>(op, visit);
    if (datatype == PTO_DATATYPE_DOUBLE || (datatype == PTO_DATATYPE_DOUBLE_COMPLEX && sums))
        return with_usual_operation<double, double>(op, visit);
    if (datatype == PTO_DATATYPE_HALF)
        return with_usual_operation<pto_half_t, pto_half_t>(op, visit);
    if (datatype == PTO_DATATYPE_BFLOAT16)
        return with_usual_operation<pto_bfloat16_t, pto_bfloat16_t>(op, visit);
    if ((datatype == PTO_DATATYPE_INT32 && usual) || (datatype == PTO_DATATYPE_UINT32 && wraps) ||
        (datatype == PTO_DATATYPE_BYTE && usual))
        return with_usual_operation<int32_t, uint32_t>(op, visit);
    if ((datatype == PTO_DATATYPE_INT64 && usual) || (datatype == PTO_DATATYPE_UINT64 && wraps))
        return with_usual_operation<int64_t, uint64_t>(op, visit);
    return visit.template of<untyped, op_choice>();
}

/* Makes the function object in a kernel. Only `op_choice` needs the kernel's parameter. */
template <typename Op> static __device__ Op operation(op_choice) { return Op(); }
template <> __device__ op_choice operation<op_choice>(op_choice choice) { return choice; }

#endif

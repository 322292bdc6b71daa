/* The operations of reductions on two values. Integer sums and products must be called with the unsigned
 * type, so that they wrap around. */
#ifndef PTO_OPERATIONS_CUH
#define PTO_OPERATIONS_CUH

#include "combine.h"

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

#endif

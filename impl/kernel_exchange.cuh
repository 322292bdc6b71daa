/* An exchange of two GPUs: each stores a vector into the other's lines (kernel.h), and combines what arrives
 * with a vector of its own or copies both. That is an allreduce, reduce_scatter, allgather or alltoall of two
 * GPUs. A short vector takes no longer than a few loads and stores one after another, so there is a kernel
 * for it whose code and parameter are short.
 *
 * A thread sends some units and waits for those in the same places, so it needs no barrier, and of a large
 * vector some arrive while others are sent. Only addresses are computed before the previous run has ended. A
 * run's number, which is loaded, is loaded together with the data. */
#ifndef PTO_KERNEL_EXCHANGE_CUH
#define PTO_KERNEL_EXCHANGE_CUH

#include "kernel_lines.cuh"
#include "kernel_run.cuh"

template <typename T, typename Op>
static __device__ uint4 combine_two(const uint4 &first, const uint4 &second, Op combine) {
    lanes<T, 4> one, other;
    memcpy(&one, &first, sizeof one);
    memcpy(&other, &second, sizeof other);
    wide_lanes<T, 4> value = widened(one);
    combine_into(value, other, combine);
    const lanes<T, 4> reduced = narrowed<T, 4>(value);
    uint4 both;
    memcpy(&both, &reduced, sizeof both);
    return both;
}

static __device__ void store_unit_of(char *vector, unsigned i, const uint4 &data) {
    reinterpret_cast<uint4 *>(vector)[i] = data;
}

/* What becomes of a unit that has arrived. */
template <typename T, typename Op> struct sum_of_both {
    static __device__ void finish(const exchange &all, unsigned i, const uint4 &own, const uint4 &arrived) {
        const Op combine = operation<Op>(all.by);
        store_unit_of(all.target, i,
                      all.own_first ? combine_two<T>(own, arrived, combine)
                                    : combine_two<T>(arrived, own, combine));
    }
};
struct copies_of_both {
    static __device__ void finish(const exchange &all, unsigned i, const uint4 &own, const uint4 &arrived) {
        if (all.kept != nullptr)
            store_unit_of(all.kept, i, own);
        store_unit_of(all.target, i, arrived);
    }
};

struct both_units {
    uint4 sent, own;
};
static __device__ both_units load_both(const exchange &all, unsigned i) {
    const size_t offset_bytes = static_cast<size_t>(i) * UNIT_BYTES;
    return {load_now(all.sent + offset_bytes), load_now(all.own + offset_bytes)};
}

/* The line of unit 0 and its tag; `i` counts from there. */
static __device__ line_part lines_from(char *at, unsigned units) {
    return {at, at + static_cast<size_t>(units) * PTO_LINE_BYTES, units, 0};
}

static __device__ void use_odd_copy(line_part &lines, int64_t apart_bytes) {
    lines.at += apart_bytes;
    lines.tags += apart_bytes;
}

template <typename Result> static __device__ void run_exchange(const exchange &all) {
    const unsigned stride = gridDim.x * blockDim.x;
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    line_part to = lines_from(all.to, all.units), from = lines_from(all.from, all.units);
    both_units now = {};
    bool idle = false;
    wait_for_run_before();
    if (i < all.units)
        now = load_both(all, i);
    const uint64_t run = all.run != 0 ? all.run : find_run(all, idle);
    if (run % 2 != 0) {
        use_odd_copy(to, all.to_apart_bytes);
        use_odd_copy(from, all.from_apart_bytes);
    }
#pragma unroll 1
    while (i < all.units && !idle) {
        send(to, i, now.sent, run);
        Result::finish(all, i, now.own, await(peek(from, i), from, i, run, all));
        i += stride;
        if (i < all.units)
            now = load_both(all, i);
    }
    __syncthreads();
    end(all, run);
}

#endif

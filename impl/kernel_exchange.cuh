/* An exchange of two GPUs: each stores a vector into the other's lines (kernel.h) and combines what the other
 * stored with a vector of its own. That is an allreduce, or a reduce_scatter, of two GPUs, which a kernel of
 * its own runs because a short vector takes no longer than a few loads and stores after each other.
 *
 * A thread does all of it for its units: those that it sends and those that it waits for lie equally far from
 * where the vectors begin, so it needs no barrier, and large vectors arrive while others are on their way.
 * What does not depend on the run before is computed before that has ended, and a run's number, which is
 * loaded, is loaded together with the data. */
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

/* The line of unit 0 and its tag; `i` counts from there. */
static __device__ line_part lines_from(char *at, unsigned units) {
    return {at, at + static_cast<size_t>(units) * PTO_LINE_BYTES, units, 0};
}

static __device__ void use_odd_copy(line_part &lines, int64_t apart_bytes) {
    lines.at += apart_bytes;
    lines.tags += apart_bytes;
}

template <typename T, typename Op> static __device__ void run_exchange(const exchange &all) {
    const Op combine = operation<Op>(all.by);
    const unsigned stride = gridDim.x * blockDim.x;
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    line_part to = lines_from(all.to, all.units), from = lines_from(all.from, all.units);
    uint4 sent = {}, own = {};
    bool idle = false;
    wait_for_run_before();
    if (i < all.units) {
        sent = load_now(all.sent + static_cast<size_t>(i) * UNIT_BYTES);
        own = load_now(all.own + static_cast<size_t>(i) * UNIT_BYTES);
    }
    const uint64_t run = all.run != 0 ? all.run : find_run(all, idle);
    if (run % 2 != 0) {
        use_odd_copy(to, all.to_apart_bytes);
        use_odd_copy(from, all.from_apart_bytes);
    }
#pragma unroll 1
    while (i < all.units && !idle) {
        send(to, i, sent, run);
        const uint4 arrived = await(peek(from, i), from, i, run, all);
        const uint4 both =
            all.own_first ? combine_two<T>(own, arrived, combine) : combine_two<T>(arrived, own, combine);
        reinterpret_cast<uint4 *>(all.target)[i] = both;
        i += stride;
        if (i < all.units) {
            sent = load_now(all.sent + static_cast<size_t>(i) * UNIT_BYTES);
            own = load_now(all.own + static_cast<size_t>(i) * UNIT_BYTES);
        }
    }
    __syncthreads();
    end(all, run);
}

#endif

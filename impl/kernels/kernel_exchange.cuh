/* The fast path for programs that are an exchange between a few GPUs: each stores a vector into the lines of
 * each other one (kernel.h), and sums or copies what arrives from them. That is an allreduce, reduce_scatter,
 * allgather or alltoall in which what a GPU sends does not depend on what arrives. With a short vector, an
 * exchange takes no longer than a few dependent loads and stores, so it has a kernel of its own, whose code
 * and parameter are short.
 *
 * A thread sends some units and waits for those at the same offsets, so it needs no barrier, and of a large
 * vector some units arrive while others are sent. Only addresses are computed before the previous run has
 * ended. If the run's number must be loaded, that overlaps the loads of data. Sums are in the program's
 * order, so that all GPUs get bitwise equal results. */
#ifndef PTO_KERNEL_EXCHANGE_CUH
#define PTO_KERNEL_EXCHANGE_CUH

#include "kernel_lines.cuh"
#include "kernel_run.cuh"

/* A thread has a line of each peer in flight. More threads would leave it too few registers. */
static constexpr unsigned exchange_threads_max(int peers) {
    return peers == 1 ? 1024 : peers <= 3 ? 512 : 256;
}

template <int PEERS> struct some_units { uint4 of[PEERS]; };

template <int PEERS> static __device__ bool has(const exchange<PEERS> &all, int peer) {
    return PEERS == 1 || peer < all.peers;
}

static __device__ void store_unit_of(char *vector, unsigned i, const uint4 &data) {
    reinterpret_cast<uint4 *>(vector)[i] = data;
}

template <typename T> static __device__ lanes<T, 4> lanes_of(const uint4 &unit) {
    lanes<T, 4> values;
    memcpy(&values, &unit, sizeof values);
    return values;
}

/* Returns vector `j` of the sum: this GPU's own, or that of a peer, of which those after `own` have the
 * number j - 1. The remainder and the condition on j only keep the indices in bounds where the compiler
 * unrolls. */
template <int PEERS>
static __device__ uint4 summand(const exchange<PEERS> &all, int j, const uint4 &own,
                                const some_units<PEERS> &arrived) {
    if (j == all.own_at)
        return own;
    return j < PEERS && j < all.own_at ? arrived.of[j % PEERS] : arrived.of[j > 0 ? j - 1 : 0];
}

/* What happens to the units that arrived from all peers: they are summed, or (below) copied. */
template <typename T, typename Op> struct sum_of_all {
    template <int PEERS>
    static __device__ void finish(const exchange<PEERS> &all, unsigned i, const uint4 &own,
                                  const some_units<PEERS> &arrived) {
        const Op combine = operation<Op>(all.by);
        wide_lanes<T, 4> value = widened(lanes_of<T>(summand(all, 0, own, arrived)));
#pragma unroll
        for (int j = 1; j <= PEERS; j++)
            if (has(all, j - 1))
                combine_into(value, lanes_of<T>(summand(all, j, own, arrived)), combine);
        const lanes<T, 4> reduced = narrowed<T, 4>(value);
        uint4 unit;
        memcpy(&unit, &reduced, sizeof unit);
        store_unit_of(all.peer[0].target, i, unit);
    }
};
struct copies_of_all {
    template <int PEERS>
    static __device__ void finish(const exchange<PEERS> &all, unsigned i, const uint4 &own,
                                  const some_units<PEERS> &arrived) {
        if (all.own_target != nullptr)
            store_unit_of(all.own_target, i, own);
#pragma unroll
        for (int peer = 0; peer < PEERS; peer++)
            if (has(all, peer))
                store_unit_of(all.peer[peer].target, i, arrived.of[peer]);
    }
};

/* A unit that is sent to all peers is loaded only once. */
template <int PEERS>
static __device__ void load_units(const exchange<PEERS> &all, unsigned i, some_units<PEERS> &sent,
                                  uint4 &own) {
    const size_t offset_bytes = static_cast<size_t>(i) * UNIT_BYTES;
    sent.of[0] = load_now(all.peer[0].sent + offset_bytes);
#pragma unroll
    for (int peer = 1; peer < PEERS; peer++)
        if (has(all, peer))
            sent.of[peer] = all.peer[peer].sent == all.peer[0].sent
                                ? sent.of[0]
                                : load_now(all.peer[peer].sent + offset_bytes);
    own = load_now(all.own + offset_bytes);
}

/* Returns a vector's lines and tags in this run's copy. */
static __device__ line_part lines_from(char *at, unsigned units, int64_t copy_bytes) {
    return {at + copy_bytes, at + copy_bytes + static_cast<size_t>(units) * PTO_LINE_BYTES, units, 0};
}

/* Sends the units for all peers before it waits for theirs, so that no GPU waits for one that waits. */
template <int PEERS>
static __device__ void exchange_units(const exchange<PEERS> &all, unsigned i, uint64_t run,
                                      const some_units<PEERS> &sent, some_units<PEERS> &arrived) {
    const int64_t to_bytes = run % 2 != 0 ? all.to_copy_stride_bytes : 0;
    const int64_t from_bytes = run % 2 != 0 ? all.from_copy_stride_bytes : 0;
    tagged read[PEERS];
#pragma unroll
    for (int peer = 0; peer < PEERS; peer++)
        if (has(all, peer))
            send(lines_from(all.peer[peer].to, all.units, to_bytes), i, sent.of[peer], run);
#pragma unroll
    for (int peer = 0; peer < PEERS; peer++)
        if (has(all, peer))
            read[peer] = load_tagged(lines_from(all.peer[peer].from, all.units, from_bytes), i);
#pragma unroll
    for (int peer = 0; peer < PEERS; peer++)
        if (has(all, peer))
            arrived.of[peer] =
                await_line(read[peer], lines_from(all.peer[peer].from, all.units, from_bytes), i, run, all);
}

template <typename Result, int PEERS> static __device__ void run_exchange(const exchange<PEERS> &all) {
    const unsigned stride = gridDim.x * blockDim.x;
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    some_units<PEERS> sent = {}, arrived = {};
    uint4 own = {};
    bool idle = false;
    wait_for_run_before();
    if (i < all.units)
        load_units(all, i, sent, own);
    const uint64_t run = all.run != 0 ? all.run : find_run(all, idle);
#pragma unroll 1
    while (i < all.units && !idle) {
        exchange_units(all, i, run, sent, arrived);
        Result::finish(all, i, own, arrived);
        i += stride;
        if (i < all.units)
            load_units(all, i, sent, own);
    }
    __syncthreads();
    end(all, run);
}

#endif

/* An exchange of a few GPUs: each stores a vector into the lines of each other one (kernel.h), and combines
 * what arrives from them with a vector of its own or copies it. That is an allreduce, reduce_scatter,
 * allgather or alltoall, if what is sent does not depend on what arrives. A short vector takes no longer than
 * a few loads and stores one after another, so there is a kernel for it whose code and parameter are short.
 *
 * A thread sends some units and waits for those in the same places, so it needs no barrier, and of a large
 * vector some arrive while others are sent. Only addresses are computed before the previous run has ended. A
 * run's number, which is loaded, is loaded together with the data. Sums are in the program's order, so that
 * all GPUs get the same bits, whoever is the first. */
#ifndef PTO_KERNEL_EXCHANGE_CUH
#define PTO_KERNEL_EXCHANGE_CUH

#include "kernel_lines.cuh"
#include "kernel_run.cuh"

/* More threads leave fewer registers to each, which has a line of each peer under way. */
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

/* Number `j` of the sum's vectors. */
template <int PEERS>
static __device__ uint4 summand(const exchange<PEERS> &all, int j, const uint4 &own,
                                const some_units<PEERS> &arrived) {
    if (j == all.own_at)
        return own;
    return j < PEERS && j < all.own_at ? arrived.of[j % PEERS] : arrived.of[j > 0 ? j - 1 : 0];
}

/* The end of an exchange for one unit: the units that arrived from all peers are summed, or (below)
 * copied. */
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
        if (all.kept != nullptr)
            store_unit_of(all.kept, i, own);
#pragma unroll
        for (int peer = 0; peer < PEERS; peer++)
            if (has(all, peer))
                store_unit_of(all.peer[peer].target, i, arrived.of[peer]);
    }
};

/* Load once a unit that is sent to all. */
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

/* The line of unit 0 and its tag, of the copy of this run; the unit's number counts from there. */
static __device__ line_part lines_from(char *at, unsigned units, int64_t copy_bytes) {
    return {at + copy_bytes, at + copy_bytes + static_cast<size_t>(units) * PTO_LINE_BYTES, units, 0};
}

/* Send the units of all peers, then wait for theirs: what another GPU waits for never waits here. */
template <int PEERS>
static __device__ void exchange_units(const exchange<PEERS> &all, unsigned i, uint64_t run,
                                      const some_units<PEERS> &sent, some_units<PEERS> &arrived) {
    const int64_t to_bytes = run % 2 != 0 ? all.to_apart_bytes : 0;
    const int64_t from_bytes = run % 2 != 0 ? all.from_apart_bytes : 0;
    tagged read[PEERS];
#pragma unroll
    for (int peer = 0; peer < PEERS; peer++)
        if (has(all, peer))
            send(lines_from(all.peer[peer].to, all.units, to_bytes), i, sent.of[peer], run);
#pragma unroll
    for (int peer = 0; peer < PEERS; peer++)
        if (has(all, peer))
            read[peer] = peek(lines_from(all.peer[peer].from, all.units, from_bytes), i);
#pragma unroll
    for (int peer = 0; peer < PEERS; peer++)
        if (has(all, peer))
            arrived.of[peer] =
                await(read[peer], lines_from(all.peer[peer].from, all.units, from_bytes), i, run, all);
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

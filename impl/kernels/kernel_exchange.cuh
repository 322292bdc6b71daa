/* The fast path for programs that are an exchange between a few GPUs (kernel_translate.cuh recognises them).
 * Each GPU stores a vector into memory in line format (kernel.h) of each peer. Then it sums or copies the
 * vectors that arrive from its peers. This is an allreduce, reduce_scatter, allgather or alltoall in which
 * the data that a GPU sends do not depend on the data that arrive. With a short vector, an exchange takes no
 * longer than a few dependent loads and stores. So it has a kernel of its own, with short code and a short
 * parameter.
 *
 * A thread sends units and waits for those that arrive at the same offsets, so no barrier is needed. In a
 * large vector, some units arrive while others are sent. Before the previous run has ended, only addresses
 * are computed. If the run's number must be loaded, that load overlaps the loads of data. Vectors are summed
 * in the program's order, so that all GPUs get bitwise equal results. */
#ifndef PTO_KERNEL_EXCHANGE_CUH
#define PTO_KERNEL_EXCHANGE_CUH

#include "kernel_lines.cuh"
#include "kernel_run.cuh"

/* A thread has a line of each peer in flight. More threads would leave it too few registers. */
static constexpr unsigned exchange_threads_max(int peers) {
    return peers == 1 ? 1024 : peers <= 3 ? 512 : 256;
}

/* One unit for, or from, each peer. */
template <int PEERS> struct peer_units { uint4 of[PEERS]; };

/* Returns whether a peer exists. A kernel for one peer always has it. */
template <int PEERS> static __device__ bool has(const exchange<PEERS> &parameter, int peer) {
    return PEERS == 1 || peer < parameter.peers;
}

static __device__ void store_unit_of(char *vector, unsigned i, const uint4 &data) {
    reinterpret_cast<uint4 *>(vector)[i] = data;
}

template <typename T> static __device__ elements<T> elements_of(const uint4 &unit) {
    elements<T> values;
    memcpy(&values, &unit, sizeof values);
    return values;
}

/* Returns summand `j` of a unit. This GPU's own is at position `own_at`; after it, summand j is peer j - 1's.
 * `j % PEERS` and `j > 0` only keep the indices in bounds where the compiler unrolls. */
template <int PEERS>
static __device__ uint4 summand(const exchange<PEERS> &parameter, int j, const uint4 &own,
                                const peer_units<PEERS> &arrived) {
    if (j == parameter.own_at)
        return own;
    return j < PEERS && j < parameter.own_at ? arrived.of[j % PEERS] : arrived.of[j > 0 ? j - 1 : 0];
}

/* What a thread does with unit `i` once it has arrived from all peers: sum_of_all stores the sum,
 * copies_of_all stores each peer's unit. `own` is this GPU's unit. */
template <typename T, typename Op> struct sum_of_all {
    template <int PEERS>
    static __device__ void finish(const exchange<PEERS> &parameter, unsigned i, const uint4 &own,
                                  const peer_units<PEERS> &arrived) {
        const Op combine = operation<Op>(parameter.choice);
        wide_elements<T> value = widened(elements_of<T>(summand(parameter, 0, own, arrived)));
#pragma unroll
        for (int j = 1; j <= PEERS; j++)
            if (has(parameter, j - 1))
                combine_into(value, elements_of<T>(summand(parameter, j, own, arrived)), combine);
        const elements<T> reduced = narrowed<T>(value);
        uint4 unit;
        memcpy(&unit, &reduced, sizeof unit);
        store_unit_of(parameter.peer[0].target, i, unit);
    }
};
struct copies_of_all {
    template <int PEERS>
    static __device__ void finish(const exchange<PEERS> &parameter, unsigned i, const uint4 &own,
                                  const peer_units<PEERS> &arrived) {
        if (parameter.own_target != nullptr)
            store_unit_of(parameter.own_target, i, own);
#pragma unroll
        for (int peer = 0; peer < PEERS; peer++)
            if (has(parameter, peer))
                store_unit_of(parameter.peer[peer].target, i, arrived.of[peer]);
    }
};

/* Loads unit `i` of the vectors to send and of `own`. One that all peers get is loaded only once. */
template <int PEERS>
static __device__ void load_units(const exchange<PEERS> &parameter, unsigned i, peer_units<PEERS> &sent,
                                  uint4 &own) {
    const size_t offset_bytes = static_cast<size_t>(i) * UNIT_BYTES;
    sent.of[0] = load_now(parameter.peer[0].sent + offset_bytes);
#pragma unroll
    for (int peer = 1; peer < PEERS; peer++)
        if (has(parameter, peer))
            sent.of[peer] = parameter.peer[peer].sent == parameter.peer[0].sent
                                ? sent.of[0]
                                : load_now(parameter.peer[peer].sent + offset_bytes);
    own = load_now(parameter.own + offset_bytes);
}

/* Returns the lines and tags of a vector, in the copy at `copy_offset` bytes. */
static __device__ line_part lines_from(char *at, unsigned units, int64_t copy_offset) {
    return {at + copy_offset, at + copy_offset + static_cast<size_t>(units) * PTO_LINE_BYTES, units, 0};
}

/* Sends unit `i` to all peers, and then waits for theirs, so that no two GPUs wait for each other. */
template <int PEERS>
static __device__ void exchange_units(const exchange<PEERS> &parameter, unsigned i, uint64_t run,
                                      const peer_units<PEERS> &sent, peer_units<PEERS> &arrived) {
    const int64_t to_offset = run % 2 != 0 ? parameter.to_copy_stride_bytes : 0;
    const int64_t from_offset = run % 2 != 0 ? parameter.from_copy_stride_bytes : 0;
    tagged read[PEERS];
#pragma unroll
    for (int peer = 0; peer < PEERS; peer++)
        if (has(parameter, peer))
            send(lines_from(parameter.peer[peer].to, parameter.units, to_offset), i, sent.of[peer], run);
#pragma unroll
    for (int peer = 0; peer < PEERS; peer++)
        if (has(parameter, peer))
            read[peer] = load_tagged(lines_from(parameter.peer[peer].from, parameter.units, from_offset), i);
#pragma unroll
    for (int peer = 0; peer < PEERS; peer++)
        if (has(parameter, peer))
            arrived.of[peer] =
                await_line(read[peer], lines_from(parameter.peer[peer].from, parameter.units, from_offset), i,
                           run, parameter);
}

/* `Result` is sum_of_all or copies_of_all. Each thread handles every `stride`-th unit. */
template <typename Result, int PEERS> static __device__ void run_exchange(const exchange<PEERS> &parameter) {
    const unsigned stride = gridDim.x * blockDim.x;
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    peer_units<PEERS> sent = {}, arrived = {};
    uint4 own = {};
    bool idle = false;
    wait_for_run_before();
    if (i < parameter.units)
        load_units(parameter, i, sent, own);
    const uint64_t run = parameter.run != 0 ? parameter.run : find_run(parameter, idle);
#pragma unroll 1
    while (i < parameter.units && !idle) {
        exchange_units(parameter, i, run, sent, arrived);
        Result::finish(parameter, i, own, arrived);
        i += stride;
        if (i < parameter.units)
            load_units(parameter, i, sent, own);
    }
    __syncthreads();
    end(parameter, run);
}

#endif

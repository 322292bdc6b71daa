/* The line format (kernel.h): data that carry their flags.
 *
 * There is no barrier or release between a line and the thread that waits for it. Each half is stored by one
 * store and loaded by one load, so a half that has this run's number also has this run's data. (The memory
 * model treats a vector of two 64-bit elements as two accesses.) */
#ifndef PTO_KERNEL_LINES_CUH
#define PTO_KERNEL_LINES_CUH

#include "kernel_bytes.cuh"
#include "kernel_memory.cuh"

static __device__ bool of_run(const line &read, uint32_t run) {
    return read.half[0] >> 32 == run && read.half[1] >> 32 == run;
}

static __device__ line line_of(uint2 data, uint32_t run) {
    const uint64_t number = static_cast<uint64_t>(run) << 32;
    return {{number | data.x, number | data.y}};
}

static __device__ uint2 data_of(const line &read) {
    return {static_cast<uint32_t>(read.half[0]), static_cast<uint32_t>(read.half[1])};
}

/* Data that are not lines, at any address. */
static __device__ __noinline__ uint2 load_narrow(const char *at) {
    uint2 data;
    char *bytes = reinterpret_cast<char *>(&data);
    for (unsigned i = 0; i < sizeof data; i++)
        bytes[i] = at[i];
    return data;
}

static __device__ __noinline__ void store_narrow(char *at, uint2 data) {
    const char *bytes = reinterpret_cast<const char *>(&data);
    for (unsigned i = 0; i < sizeof data; i++)
        at[i] = bytes[i];
}

static __device__ uint2 load_data(const char *at, bool wide) {
    return wide ? *reinterpret_cast<const uint2 *>(at) : load_narrow(at);
}

static __device__ void store_data(char *at, bool wide, uint2 data) {
    if (wide)
        *reinterpret_cast<uint2 *>(at) = data;
    else
        store_narrow(at, data);
}

/* Word i of an operand as a line of this run; of an operand in line format, whatever has arrived. */
static __device__ line peek(const part &source, size_t i, bool wide, uint32_t run) {
    return source.lines ? load_line(source.at + i * PTO_LINE_BYTES)
                        : line_of(load_data(source.at + i * PTO_LINE_DATA_BYTES, wide), run);
}

/* Only data in line format can be missing. */
static __device__ void await(line &read, const part &source, size_t i, uint32_t run, const patience &own) {
    uint64_t began_ns = 0;
    for (unsigned polls = 1; !of_run(read, run); polls++) {
        if (polls % POLLS_PER_LOOK == 0 && (began_ns = look(own, began_ns)) == GAVE_UP)
            return;
        read = load_line(source.at + i * PTO_LINE_BYTES);
    }
}

/* Operands of an op for which a thread has a load in flight. */
enum { PEEKED = 4 };

static __device__ size_t words_of(const part &own) { return bytes_of(own) / PTO_LINE_DATA_BYTES; }

/* The pairs of a move, or of a spread's source and each target; sizes may differ. */
static __device__ void copy_lines(const part *operands, const op &now, uint32_t run, const patience &own) {
    const bool moves = now.kind == PTO_KERNEL_MOVE, wide = now.width >= PTO_LINE_DATA_BYTES;
    const unsigned pairs = moves ? now.count / 2 : now.count - 1;
    size_t most = 0;
#pragma unroll 1
    for (unsigned pair = 0; pair < pairs; pair++)
        most = max(most, words_of(operands[moves ? 2 * pair : 0]));
#pragma unroll 1
    for (unsigned first = 0; first < pairs; first += PEEKED)
#pragma unroll 1
        for (size_t i = threadIdx.x; i < most; i += THREADS) {
            line read[PEEKED] = {};
#pragma unroll
            for (unsigned j = 0; j < PEEKED; j++) {
                const part &source = operands[moves ? 2 * (first + j) : 0];
                if (first + j < pairs && i < words_of(source))
                    read[j] = peek(source, i, wide, run);
            }
#pragma unroll
            for (unsigned j = 0; j < PEEKED; j++) {
                const part &source = operands[moves ? 2 * (first + j) : 0];
                const part &target = operands[(moves ? 2 * (first + j) : first + j) + 1];
                if (first + j >= pairs || i >= words_of(source))
                    continue;
                await(read[j], source, i, run, own);
                if (target.lines)
                    store_line(target.at + i * PTO_LINE_BYTES, read[j]);
                else
                    store_data(target.at + i * PTO_LINE_DATA_BYTES, wide, data_of(read[j]));
            }
        }
}

/* The sources in their order, as without lines. */
template <typename T, typename Op>
static __device__ void reduce_lines(const part *operands, const op &now, uint32_t run, Op combine,
                                    const patience &own) {
    const bool wide = now.width >= PTO_LINE_DATA_BYTES;
#pragma unroll 1
    for (size_t i = threadIdx.x; i < words_of(operands[0]); i += THREADS) {
        wide_lanes<T, 2> value = {};
#pragma unroll 1
        for (unsigned first = 1; first < now.count; first += PEEKED) {
            line read[PEEKED] = {};
#pragma unroll
            for (unsigned j = 0; j < PEEKED; j++)
                if (first + j < now.count)
                    read[j] = peek(operands[first + j], i, wide, run);
#pragma unroll
            for (unsigned j = 0; j < PEEKED; j++) {
                if (first + j >= now.count)
                    continue;
                await(read[j], operands[first + j], i, run, own);
                const uint2 data = data_of(read[j]);
                lanes<T, 2> other;
                memcpy(&other, &data, sizeof other);
                if (first + j == 1)
                    value = widened(other);
                else
                    combine_into(value, other, combine);
            }
        }
        uint2 data;
        const lanes<T, 2> all = narrowed<T, 2>(value);
        memcpy(&data, &all, sizeof data);
        store_data(operands[0].at + i * PTO_LINE_DATA_BYTES, wide, data);
    }
}

#endif

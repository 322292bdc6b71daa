/* Copies and reductions of one part (kernel_program.cuh) by a block, in programs with flags. kernel_flags.cuh
 * calls move, move_rows, spread and reduce.
 *
 * Loads have a high latency, so each thread issues several before it stores what the first one returned. For
 * example, copying 64 KiB is one iteration of move_pairs<1>: its 512 threads load 8 units of 16 bytes each,
 * thread t the units t, t + 512, t + 1024, ..., and then store them. The op's `width` is the widest access
 * that its addresses allow. If it is narrower than a unit, finish_copy copies all. */
#ifndef PTO_KERNEL_BYTES_CUH
#define PTO_KERNEL_BYTES_CUH

#include "elements.cuh"
#include "kernel_program.cuh"

/* Copies the bytes of a part from byte `first` on, one at a time. */
static __device__ void copy_rest(const part &source, const part &target, size_t first) {
#pragma unroll 1
    for (size_t i = first + threadIdx.x; i < bytes_of(source); i += THREADS)
        target.at[i] = source.at[i];
}

/* Loads that one thread keeps in flight: over all pairs (source, target) of a move; in move_row_words. */
enum { IN_FLIGHT = 8, ROW_WORDS_IN_FLIGHT = 4 };

/* Copies the whole words of a part, where the alignment allows only words narrower than a unit. */
template <typename W> static __device__ void copy_words(const part &source, const part &target) {
    const W *from = reinterpret_cast<const W *>(source.at);
    W *to = reinterpret_cast<W *>(target.at);
    const size_t words = bytes_of(source) / sizeof(W);
#pragma unroll 1
    for (size_t i = threadIdx.x; i < words; i += IN_FLIGHT * THREADS) {
        W value[IN_FLIGHT] = {};
#pragma unroll
        for (int j = 0; j < IN_FLIGHT; j++)
            if (i + j * THREADS < words)
                value[j] = from[i + j * THREADS];
#pragma unroll
        for (int j = 0; j < IN_FLIGHT; j++)
            if (i + j * THREADS < words)
                to[i + j * THREADS] = value[j];
    }
}

/* Copies the bytes after the whole units, or all of the part if the width is not UNIT_BYTES. */
static __device__ void finish_copy(const part &source, const part &target, unsigned width) {
    if (width == UNIT_BYTES) {
        copy_rest(source, target, static_cast<size_t>(source.units) * UNIT_BYTES);
    } else if (width == sizeof(uint32_t)) {
        copy_words<uint32_t>(source, target);
        copy_rest(source, target, bytes_of(source) / sizeof(uint32_t) * sizeof(uint32_t));
    } else {
        copy_words<char>(source, target);
    }
}

/* Copies the whole units of PAIRS pairs (source, target) concurrently. The pairs' sizes may differ. */
template <int PAIRS> static __device__ void move_pairs(const part *pairs) {
    constexpr int UNITS_IN_FLIGHT = IN_FLIGHT / PAIRS; /* of each pair */
    part source[PAIRS], target[PAIRS];
    unsigned max_units = 0;
#pragma unroll
    for (int pair = 0; pair < PAIRS; pair++) {
        source[pair] = pairs[2 * pair];
        target[pair] = pairs[2 * pair + 1];
        max_units = max(max_units, source[pair].units);
    }
    for (unsigned i = threadIdx.x; i < max_units; i += UNITS_IN_FLIGHT * THREADS) {
        uint4 value[UNITS_IN_FLIGHT][PAIRS] = {}; /* or skipped elements stay live across ops */
#pragma unroll
        for (int j = 0; j < UNITS_IN_FLIGHT; j++)
#pragma unroll
            for (int pair = 0; pair < PAIRS; pair++)
                if (i + j * THREADS < source[pair].units)
                    value[j][pair] = reinterpret_cast<const uint4 *>(source[pair].at)[i + j * THREADS];
#pragma unroll
        for (int j = 0; j < UNITS_IN_FLIGHT; j++)
#pragma unroll
            for (int pair = 0; pair < PAIRS; pair++)
                if (i + j * THREADS < source[pair].units)
                    reinterpret_cast<uint4 *>(target[pair].at)[i + j * THREADS] = value[j][pair];
    }
}

/* Executes a MOVE, whose operands are pairs (source, target): four pairs at a time, then two, then one. */
static __device__ void move(const part *operands, const op &now) {
    const unsigned pairs = now.count / 2;
    unsigned done = 0;
    if (now.width == UNIT_BYTES) {
#pragma unroll 1
        for (; done + 4 <= pairs; done += 4)
            move_pairs<4>(operands + 2 * done);
        if (done + 2 <= pairs) {
            move_pairs<2>(operands + 2 * done);
            done += 2;
        }
        if (done < pairs)
            move_pairs<1>(operands + 2 * done);
    }
#pragma unroll 1
    for (unsigned pair = 0; pair < pairs; pair++)
        finish_copy(operands[2 * pair], operands[2 * pair + 1], now.width);
}

/* Returns the address of byte `offset` of a part, without gaps: in rows of 100 bytes, 250 is in row 2. */
static __device__ char *in_rows(const part &own, uint32_t offset) {
    const uint32_t at = own.offset_bytes + offset, row = at / own.rows.bytes;
    return own.at + static_cast<size_t>(row) * own.rows.pitch_bytes + (at - row * own.rows.bytes);
}

template <typename W> static __device__ uint32_t words_in(const part &own) {
    return static_cast<uint32_t>(bytes_of(own) / sizeof(W));
}

/* Copies pairs in words of type W. The words of all pairs form one list, so that enough loads are in flight
 * even if each pair is small. A thread copies every THREADS-th word of the list. Its words come in ascending
 * order, so its search for the pair of a word continues where the previous one ended. */
template <typename W> static __device__ void move_row_words(const part *pairs, unsigned count) {
    uint32_t all_words = 0;
#pragma unroll 1
    for (unsigned i = 0; i < count; i++)
        all_words += words_in<W>(pairs[2 * i]);
    unsigned pair = 0;
    uint32_t first = 0; /* index in the list of the pair's first word */
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < all_words; i += ROW_WORDS_IN_FLIGHT * THREADS) {
        W value[ROW_WORDS_IN_FLIGHT] = {};
        char *target[ROW_WORDS_IN_FLIGHT] = {};
#pragma unroll
        for (int j = 0; j < ROW_WORDS_IN_FLIGHT; j++) {
            const uint32_t word = i + j * THREADS;
            if (word >= all_words)
                break;
            uint32_t words; /* number of words of `pair`; skip the pairs that end before `word` */
            while (word - first >= (words = words_in<W>(pairs[2 * pair]))) {
                pair++;
                first += words;
            }
            const uint32_t offset = (word - first) * static_cast<uint32_t>(sizeof(W));
            value[j] = *reinterpret_cast<const W *>(in_rows(pairs[2 * pair], offset));
            target[j] = in_rows(pairs[2 * pair + 1], offset);
        }
#pragma unroll
        for (int j = 0; j < ROW_WORDS_IN_FLIGHT; j++)
            if (i + j * THREADS < all_words)
                *reinterpret_cast<W *>(target[j]) = value[j];
    }
}

static __device__ void move_rows(const part *operands, const op &now) {
    const unsigned pairs = now.count / 2;
    if (now.width == UNIT_BYTES)
        move_row_words<uint4>(operands, pairs);
    else if (now.width == sizeof(uint64_t))
        move_row_words<uint64_t>(operands, pairs);
    else if (now.width == sizeof(uint32_t))
        move_row_words<uint32_t>(operands, pairs);
    else
        move_row_words<char>(operands, pairs);
}

/* Units of each source that a thread keeps in flight, in spread and reduce_units. */
enum { SOURCE_UNITS_IN_FLIGHT = 4 };

/* Executes a SPREAD: each unit of the source is loaded once and stored to all targets. */
static __device__ void spread(const part *operands, const op &now) {
    const part source = operands[0];
    const unsigned units = now.width == UNIT_BYTES ? source.units : 0;
    for (unsigned i = threadIdx.x; i < units; i += SOURCE_UNITS_IN_FLIGHT * THREADS) {
        uint4 value[SOURCE_UNITS_IN_FLIGHT] = {};
#pragma unroll
        for (int j = 0; j < SOURCE_UNITS_IN_FLIGHT; j++)
            if (i + j * THREADS < units)
                value[j] = reinterpret_cast<const uint4 *>(source.at)[i + j * THREADS];
#pragma unroll 1
        for (unsigned k = 1; k < now.count; k++) {
            uint4 *target = reinterpret_cast<uint4 *>(operands[k].at);
#pragma unroll
            for (int j = 0; j < SOURCE_UNITS_IN_FLIGHT; j++)
                if (i + j * THREADS < units)
                    target[i + j * THREADS] = value[j];
        }
    }
#pragma unroll 1
    for (unsigned k = 1; k < now.count; k++)
        finish_copy(source, operands[k], now.width);
}

template <typename T, typename Op>
static __device__ void copy_element(const char *from, char *to, size_t i, Op) {
    reinterpret_cast<T *>(to)[i] = reinterpret_cast<const T *>(from)[i];
}

/* For rare types and operations (operations.cuh): the element's size is known only at run time. */
template <>
__device__ void copy_element<untyped, op_choice>(const char *from, char *to, size_t i, op_choice choice) {
    const unsigned bytes = element_bytes(choice);
#pragma unroll 1
    for (size_t j = i * bytes; j < (i + 1) * bytes; j++)
        to[j] = from[j];
}

/* Reduces the first `units` units. The operands are a target, the sources, and `now.copies` more targets:
 * with 3 sources and 2 copies, operand 0, operands 1 to 3, and operands 4 and 5. All GPUs combine the
 * sources in this order, so their results are bitwise equal. */
template <typename T, typename Op>
static __device__ void reduce_units(const part *operands, const op &now, unsigned units, Op combine) {
    const unsigned sources_end = now.count - now.copies;
    for (unsigned i = threadIdx.x; i < units; i += SOURCE_UNITS_IN_FLIGHT * THREADS) {
        wide_elements<T> value[SOURCE_UNITS_IN_FLIGHT] = {};
        const char *first = operands[1].at;
#pragma unroll
        for (int j = 0; j < SOURCE_UNITS_IN_FLIGHT; j++)
            if (i + j * THREADS < units)
                value[j] = widened(load_unit<T>(first, i + j * THREADS));
#pragma unroll 2
        for (unsigned k = 2; k < sources_end; k++) {
            const char *source = operands[k].at;
            elements<T> other[SOURCE_UNITS_IN_FLIGHT] = {};
#pragma unroll
            for (int j = 0; j < SOURCE_UNITS_IN_FLIGHT; j++)
                if (i + j * THREADS < units)
                    other[j] = load_unit<T>(source, i + j * THREADS);
#pragma unroll
            for (int j = 0; j < SOURCE_UNITS_IN_FLIGHT; j++)
                if (i + j * THREADS < units)
                    combine_into(value[j], other[j], combine);
        }
#pragma unroll 1
        for (unsigned k = 0, all = now.count; k < all; k = max(k + 1, sources_end)) { /* 0, 4, 5 */
            char *target = operands[k].at;
#pragma unroll
            for (int j = 0; j < SOURCE_UNITS_IN_FLIGHT; j++)
                if (i + j * THREADS < units)
                    store_unit<T>(target, i + j * THREADS, narrowed<T>(value[j]));
        }
    }
}

/* Executes a REDUCE: by units if the alignment allows it, and the rest element by element. */
template <typename T, typename Op>
static __device__ void reduce(const part *operands, const op &now, Op combine) {
    const part target = operands[0];
    const unsigned units = now.width == UNIT_BYTES ? target.units : 0;
    const unsigned sources_end = now.count - now.copies;
    const size_t bytes_each = element_size<T>(combine);
    reduce_units<T>(operands, now, units, combine);
#pragma unroll 1
    for (size_t i = static_cast<size_t>(units) * UNIT_BYTES / bytes_each + threadIdx.x;
         i < bytes_of(target) / bytes_each; i += THREADS) {
        reduce_element<T>(
            target.at, [&](unsigned k) { return operands[k + 1].at; }, sources_end - 1, i, combine);
        for (unsigned k = sources_end; k < now.count; k++)
            copy_element<T>(target.at, operands[k].at, i, combine);
    }
}

#endif

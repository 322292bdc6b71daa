/* The ops of programs with lines, whose data carry their flags (kernel.h). kernel_run.cuh calls copy_lines
 * and reduce_lines for each op and part. kernel_exchange.cuh uses the accesses to lines, too.
 *
 * 40 bytes in line format are 3 lines of 16 bytes, and after them 3 tags of one byte: line i has tag i.
 * Data outside of lines (`plain`) are handled in units of the same size, so unit i of one operand and line
 * i of another hold the same bytes of a copy. A thread does: load line or unit i, wait until it is of this
 * run, store it as line or unit i.
 *
 * Between a store and the thread that waits for it, no barrier or release is needed. Each half of a line,
 * and each tag, is stored by one store and loaded by one load. So a half with this run's mark, and a tag
 * with this run's number, also have this run's data. (The memory model treats a vector of two 64-bit
 * elements as two accesses.) Neighbouring threads access neighbouring lines and tags: a warp accesses 512
 * contiguous bytes of lines and 32 of tags.
 *
 * Such a program is so short that the load of its first word dominates. So each thread computes the parts
 * that it needs, which is faster than a table of parts in shared memory and the barrier for it. */
#ifndef PTO_KERNEL_LINES_CUH
#define PTO_KERNEL_LINES_CUH

#include "kernel_bytes.cuh"
#include "kernel_patience.cuh"
#include "line_format.h"

/* An operand (kernel_program.cuh), with the address of its tags. A block's operands are in shared memory, and
 * are computed while the previous run may still be active. */
struct line_operand {
    char *at;
    char *tags; /* nullptr: the operand is not in line format */
    int64_t copy_stride_bytes;
    unsigned pieces_each; /* this and the next two as in `operand` */
    uint16_t larger_parts;
    uint16_t lacking_bytes;
};

static __device__ line_operand line_operand_of(const operand &whole, unsigned parts) {
    const size_t bytes = (static_cast<size_t>(whole.pieces_each) * parts + whole.larger_parts) * PIECE_BYTES -
                         whole.lacking_bytes;
    const size_t lines = (bytes + PTO_LINE_BYTES - 1) / PTO_LINE_BYTES;
    char *tags = whole.form == FORM_LINES ? whole.at + lines * PTO_LINE_BYTES : nullptr;
    return {whole.at,           tags, whole.copy_stride_bytes, whole.pieces_each, whole.larger_parts,
            whole.lacking_bytes};
}

/* The operands and the run's number, which all functions below need. Equal in all threads of a block. */
struct lines_run {
    const line_operand *operands;
    uint64_t run;
    unsigned parts; /* of each operand: blocks times slices */
    const device_program &program;
};

/* A part of an operand: lines, or plain data that are loaded or stored in units of 16 bytes. */
struct line_part {
    char *at;
    char *tags;          /* nullptr: plain data */
    unsigned count;      /* of lines or units; the last one may be partly used */
    unsigned rest_bytes; /* used in the last one; 0: all */
};

/* Plain data have one copy (can_run_lines), so their address does not depend on the run's number. */
static __device__ line_part line_part_of(const line_operand &whole, unsigned part_number,
                                         const lines_run &current) {
    const unsigned first =
        static_cast<unsigned>(pieces_before(whole.pieces_each, whole.larger_parts, part_number)) *
        (PIECE_BYTES / PTO_LINE_BYTES);
    const unsigned bytes = static_cast<unsigned>(bytes_in_part(
        whole.pieces_each, whole.larger_parts, whole.lacking_bytes, part_number, current.parts));
    line_part own = {whole.at + static_cast<size_t>(first) * PTO_LINE_BYTES, nullptr,
                     (bytes + PTO_LINE_BYTES - 1) / PTO_LINE_BYTES, bytes % PTO_LINE_BYTES};
    if (whole.tags != nullptr) {
        const int64_t copy = current.run % 2 == 0 ? 0 : whole.copy_stride_bytes;
        own.at += copy;
        own.tags = whole.tags + copy + first;
    }
    return own;
}

/* Returns the used bytes of unit or line `i`. */
static __device__ unsigned bytes_in(const line_part &own, unsigned i) {
    return own.rest_bytes > 0 && i == own.count - 1 ? own.rest_bytes : unsigned(PTO_LINE_BYTES);
}

/* Copies `bytes` of a unit in words of type W. */
template <typename W> static __device__ void copy_in_unit(const char *from, char *to, unsigned bytes) {
#pragma unroll 1
    for (unsigned i = 0; i < bytes / sizeof(W); i++)
        reinterpret_cast<W *>(to)[i] = reinterpret_cast<const W *>(from)[i];
}

/* Returns whether words of 4 bytes can access these bytes. If not, single bytes do. */
static __device__ bool in_words(const char *at, unsigned bytes) {
    return (reinterpret_cast<uintptr_t>(at) | bytes) % sizeof(uint32_t) == 0;
}

static __device__ __noinline__ uint4 load_narrow(const char *at, unsigned bytes) {
    uint4 data = {};
    char *to = reinterpret_cast<char *>(&data);
    in_words(at, bytes) ? copy_in_unit<uint32_t>(at, to, bytes) : copy_in_unit<char>(at, to, bytes);
    return data;
}

static __device__ __noinline__ void store_narrow(char *at, uint4 data, unsigned bytes) {
    const char *from = reinterpret_cast<const char *>(&data);
    in_words(at, bytes) ? copy_in_unit<uint32_t>(from, at, bytes) : copy_in_unit<char>(from, at, bytes);
}

/* Loads unit `i`. `wide`: the part's address is a multiple of 16, so whole units need one access. */
static __device__ uint4 load_data(const line_part &own, unsigned i, bool wide) {
    const char *at = own.at + static_cast<size_t>(i) * PTO_LINE_BYTES;
    const unsigned bytes = bytes_in(own, i);
    return wide && bytes == PTO_LINE_BYTES ? *reinterpret_cast<const uint4 *>(at) : load_narrow(at, bytes);
}

static __device__ void store_data(const line_part &own, unsigned i, bool wide, uint4 data) {
    char *at = own.at + static_cast<size_t>(i) * PTO_LINE_BYTES;
    const unsigned bytes = bytes_in(own, i);
    if (wide && bytes == PTO_LINE_BYTES)
        *reinterpret_cast<uint4 *>(at) = data;
    else
        store_narrow(at, data, bytes);
}

/* A line as loaded, with its tag; maybe not of this run yet. */
struct tagged {
    line read;
    uint8_t tag;
};

/* Stores data in line `i`, with this run's mark in each half, and the tag with this run's number. */
static __device__ void send(const line_part &target, unsigned i, uint4 data, uint64_t run) {
    uint64_t half[2];
    memcpy(half, &data, sizeof half);
    store_line(target.at + static_cast<size_t>(i) * PTO_LINE_BYTES,
               {{pto_line_half(half[0], run), pto_line_half(half[1], run)}});
    store_tag(target.tags + i, pto_line_tag(half[0], half[1], run));
}

static __device__ tagged load_tagged(const line_part &source, unsigned i) {
    return {load_line(source.at + static_cast<size_t>(i) * PTO_LINE_BYTES), load_tag(source.tags + i)};
}

static __device__ bool is_of_run(const tagged &now, uint64_t run) {
    return pto_line_of_run(now.read.half[0], now.read.half[1], now.tag, run);
}

/* Loads a line and its tag until both are this run's, or time is up. Not inlined, for a short kernel. */
static __device__ __noinline__ tagged poll(const char *at, const char *tag, uint64_t run,
                                           const run_state &parameter) {
    uint64_t began_ns = 0;
    for (unsigned polls = 1;; polls++) {
        const tagged now = {load_line(at), load_tag(tag)};
        if (is_of_run(now, run))
            return now;
        if (polls % POLLS_PER_CHECK != 0)
            continue;
        began_ns = check_patience(parameter, run, began_ns);
        if (began_ns == GAVE_UP)
            return now;
    }
}

/* Returns the data of line `i`, once they are this run's. `now` is the line as loaded a moment ago: only
 * if it is not of this run yet, the line is polled. */
static __device__ uint4 await_line(tagged now, const line_part &source, unsigned i, uint64_t run,
                                   const run_state &parameter) {
    if (!is_of_run(now, run))
        now = poll(source.at + static_cast<size_t>(i) * PTO_LINE_BYTES, source.tags + i, run, parameter);
    const uint64_t half[2] = {pto_line_data(now.read.half[0], now.tag, 0),
                              pto_line_data(now.read.half[1], now.tag, 1)};
    uint4 data;
    memcpy(&data, half, sizeof data);
    return data;
}

/* Loads of lines or units that a thread keeps in flight. */
enum { LINES_IN_FLIGHT = 4 };

/* Copies up to LINES_IN_FLIGHT pairs (source, target), from pair `first` of `pairs` on. The operands of a
 * MOVE are such pairs; a SPREAD has one source, which is paired with each target. All loads are issued before
 * the first of them is waited for. The pairs' sizes may differ. */
static __device__ void copy_pairs(const op &now, unsigned first, unsigned pairs, unsigned part_number,
                                  const lines_run &current) {
    const bool moves = now.kind == PTO_KERNEL_MOVE, wide = now.width == PTO_LINE_BYTES;
    line_part source[LINES_IN_FLIGHT] = {}, target[LINES_IN_FLIGHT] = {};
    unsigned max_count = 0;
#pragma unroll
    for (int j = 0; j < LINES_IN_FLIGHT; j++)
        if (first + j < pairs) {
            const line_operand *operands = current.operands + now.first;
            source[j] = line_part_of(operands[moves ? 2 * (first + j) : 0], part_number, current);
            target[j] =
                line_part_of(operands[(moves ? 2 * (first + j) : first + j) + 1], part_number, current);
            max_count = max(max_count, source[j].count);
        }
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < max_count; i += blockDim.x) {
        uint4 data[LINES_IN_FLIGHT] = {};
        tagged read[LINES_IN_FLIGHT] = {};
#pragma unroll
        for (int j = 0; j < LINES_IN_FLIGHT; j++)
            if (i < source[j].count && source[j].tags != nullptr)
                read[j] = load_tagged(source[j], i);
            else if (i < source[j].count)
                data[j] = load_data(source[j], i, wide);
#pragma unroll
        for (int j = 0; j < LINES_IN_FLIGHT; j++) {
            if (i >= source[j].count)
                continue;
            if (source[j].tags != nullptr)
                data[j] = await_line(read[j], source[j], i, current.run, current.program);
            if (target[j].tags != nullptr)
                send(target[j], i, data[j], current.run);
            else
                store_data(target[j], i, wide, data[j]);
        }
    }
}

static __device__ void copy_lines(const op &now, unsigned part_number, const lines_run &current) {
    const unsigned pairs = now.kind == PTO_KERNEL_MOVE ? now.count / 2 : now.count - 1;
#pragma unroll 1
    for (unsigned first = 0; first < pairs; first += LINES_IN_FLIGHT)
        copy_pairs(now, first, pairs, part_number, current);
}

/* Combines the sources in their order, as programs with flags do. */
template <typename T, typename Op>
static __device__ void reduce_lines(const op &now, unsigned part_number, const lines_run &current,
                                    Op combine) {
    const bool wide = now.width == PTO_LINE_BYTES;
    const line_operand *operands = current.operands + now.first;
    const line_part target = line_part_of(operands[0], part_number, current);
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < target.count; i += blockDim.x) {
        wide_elements<T> value = {};
#pragma unroll 1
        for (unsigned first = 1; first < now.count; first += LINES_IN_FLIGHT) {
            line_part source[LINES_IN_FLIGHT] = {};
            uint4 data[LINES_IN_FLIGHT] = {};
            tagged read[LINES_IN_FLIGHT] = {};
#pragma unroll
            for (int j = 0; j < LINES_IN_FLIGHT; j++) {
                if (first + j >= now.count)
                    continue;
                source[j] = line_part_of(operands[first + j], part_number, current);
                if (source[j].tags != nullptr)
                    read[j] = load_tagged(source[j], i);
                else
                    data[j] = load_data(source[j], i, wide);
            }
#pragma unroll
            for (int j = 0; j < LINES_IN_FLIGHT; j++) {
                if (first + j >= now.count)
                    continue;
                if (source[j].tags != nullptr)
                    data[j] = await_line(read[j], source[j], i, current.run, current.program);
                elements<T> other;
                memcpy(&other, &data[j], sizeof other);
                if (first + j == 1)
                    value = widened(other);
                else
                    combine_into(value, other, combine);
            }
        }
        uint4 data;
        const elements<T> reduced = narrowed<T>(value);
        memcpy(&data, &reduced, sizeof data);
        store_data(target, i, wide, data);
    }
}

#endif

/* Host code that translates the ops and operands of a program (kernel.h) into the parameter of a kernel
 * (kernel_program.cuh), and recognises programs that are an exchange (kernel_exchange.cuh). kernel_cuda.cu
 * calls it when a kernel is created or rebound. The unit tests compile it, too.
 *
 * Two examples of an exchange: an allreduce is SPREAD own -> lines at each peer, then REDUCE result <- own
 * and the lines from each peer. An alltoall is MOVEs of blocks to lines at each peer and of its own block
 * to `out`, then MOVEs of lines to `out`. */
#ifndef PTO_KERNEL_TRANSLATE_CUH
#define PTO_KERNEL_TRANSLATE_CUH

#include <cmath>
#include <initializer_list>

#include "kernel_program.cuh"

/* Translates an operand that is cut into `parts`. For example, 1,300 bytes in 2 parts are 3 pieces:
 * pieces_each is 1, larger_parts 1 (part 0 has 2 pieces), and lacking_bytes 3 * 512 - 1,300 = 236. */
static operand translate(const pto_operand_t *from, unsigned parts) {
    const uint64_t bytes = static_cast<uint64_t>(from->bytes);
    const uint64_t pieces = (bytes + PIECE_BYTES - 1) / PIECE_BYTES;
    operand to = {static_cast<char *>(from->spot.at),
                  {from->spot.copy_stride_bytes},
                  static_cast<uint32_t>(pieces / parts),
                  static_cast<uint16_t>(pieces % parts),
                  static_cast<uint16_t>(pieces * PIECE_BYTES - bytes),
                  from->spot.lines ? FORM_LINES : FORM_PLAIN};
    if (from->rows.rows > 1) {
        to.rows = {static_cast<uint32_t>(from->rows.bytes), static_cast<uint32_t>(from->rows.pitch_bytes)};
        to.form = FORM_ROWS;
    }
    return to;
}

static bool has_rows(const pto_kernel_program_t *program, const pto_kernel_op_t *op) {
    for (int i = op->first; i < op->first + op->count; i++)
        if (program->operands[i].rows.rows > 1)
            return true;
    return false;
}

/* Returns whether move_rows can execute this op, a MOVE with rows. Offsets have 32 bits, as 64-bit
 * divisions are slow. An `operand` has room for a row shape or a copy stride, not for both. */
static bool can_run_rows(const pto_kernel_program_t *program, const pto_kernel_op_t *op) {
    bool can = true;
    for (int i = op->first; i < op->first + op->count; i++) {
        const pto_operand_t *one = &program->operands[i];
        can = can && !one->spot.lines && one->bytes <= INT32_MAX &&
              (one->rows.rows == 1 ||
               (one->spot.copy_stride_bytes == 0 && one->rows.pitch_bytes <= UINT32_MAX));
    }
    return can;
}

static bool has_lines(const pto_kernel_program_t *program) {
    for (int i = 0; i < program->operand_count; i++)
        if (program->operands[i].spot.lines)
            return true;
    return false;
}

/* Returns whether the kernel for lines can run this: no flags, rows or other double-buffered memory. */
static bool can_run_lines(const pto_kernel_program_t *program) {
    bool can = true;
    for (int i = 0; i < program->op_count; i++)
        can = can && program->ops[i].kind != PTO_KERNEL_SIGNAL && program->ops[i].kind != PTO_KERNEL_WAIT;
    for (int i = 0; i < program->operand_count; i++)
        can = can && program->operands[i].rows.rows == 1 &&
              (program->operands[i].spot.lines || program->operands[i].spot.copy_stride_bytes == 0);
    return can;
}

/* Returns whether an op waits for data in line format. A SPREAD never does: its source is not in lines. */
static bool reads_lines(const pto_kernel_program_t *program, const pto_kernel_op_t *op) {
    bool reads = false;
    for (int i = 0; i < op->count; i++) {
        const bool is_source = op->kind == PTO_KERNEL_MOVE ? i % 2 == 0 : op->kind == PTO_KERNEL_REDUCE;
        reads |= is_source && program->operands[op->first + i].spot.lines;
    }
    return reads;
}

/* Returns the number of ops up to, and including, the first that reads lines. */
static int first_lines_end(const pto_kernel_program_t *program) {
    for (int i = 0; i < program->op_count; i++)
        if (reads_lines(program, &program->ops[i]))
            return i + 1;
    return program->op_count;
}

/* Sets the ends of the program's phases (turns.h). With lines there are no turns: from op send_end on, an op
 * may depend on data that an earlier op has not received (run_with_lines). */
static void find_phases(const pto_kernel_program_t *program, device_program *translated) {
    const pto_phases_t phases = pto_phases_of(program);
    translated->send_end =
        static_cast<uint8_t>(has_lines(program) ? first_lines_end(program) : phases.send_end);
    translated->work_end = static_cast<uint8_t>(phases.work_end);
}

/* Rounded up, because 0 ms would be no limit. */
static uint32_t patience_ms_of(const pto_kernel_program_t *program) {
    return static_cast<uint32_t>(std::ceil(program->patience_s * 1e3));
}

/* Returns the width of the op's accesses in bytes: the largest that all its addresses, and with rows their
 * sizes and pitches, are multiples of. Memory in line format is always aligned. */
static unsigned width_of(const pto_kernel_program_t *program, const pto_kernel_op_t *op) {
    const bool rows = has_rows(program, op);
    uintptr_t bits = 0; /* the OR of them all: a multiple of a power of two if each of them is */
    for (int i = 0; i < op->count; i++) {
        const pto_operand_t *one = &program->operands[op->first + i];
        if (!one->spot.lines)
            bits |= reinterpret_cast<uintptr_t>(one->spot.at) |
                    static_cast<uintptr_t>(one->spot.copy_stride_bytes);
        if (rows)
            bits |= static_cast<uintptr_t>(one->rows.bytes) | static_cast<uintptr_t>(one->rows.pitch_bytes);
    }
    if (bits % UNIT_BYTES == 0)
        return UNIT_BYTES;
    if (rows && bits % sizeof(uint64_t) == 0)
        return sizeof(uint64_t);
    return bits % sizeof(uint32_t) == 0 ? sizeof(uint32_t) : 1;
}

/* A vector that is copied into lines, or out of lines, or summed out of lines. */
struct lines_vector {
    const pto_operand_t *lines;
    const pto_operand_t *data; /* the other operand of the copy; nullptr: the lines are a source of the sum */
};

/* A vector, not in lines, that an exchange reads or writes. */
struct vector_use {
    const pto_operand_t *vector;
    int op;      /* index of the op */
    bool by_sum; /* written by the sum, which reads each element before it writes it */
};

/* The copies and the sum of a program, as an exchange has them: copies into lines (`to`) and out of lines
 * (`from`), at most one copy within this GPU (`own`), and at most one sum. With a sum, the only other ops are
 * copies into lines. to[i] and from[i] are paired only by their order: they may belong to different peers. */
struct exchange_pattern {
    lines_vector to[EXCHANGE_PEERS_MAX], from[EXCHANGE_PEERS_MAX];
    int to_count, from_count;
    const pto_operand_t *own, *own_target; /* of the copy within this GPU; `own` also of the sum */
    const pto_operand_t *result;           /* of the sum; nullptr: there is none */
    int own_at;                            /* position of `own` among the sources of the sum, from 0 */
    vector_use read[EXCHANGE_PEERS_MAX + 1], written[EXCHANGE_PEERS_MAX + 1];
    int read_count, written_count;
    bool is_other; /* the program does not fit this pattern, so it is not an exchange */
};

/* Adds a copy of op number `op`. The program is not an exchange if this is one copy too many of its kind,
 * if it copies from lines to lines, or if it reads lines after the sum. */
static void add_copy(int op, const pto_operand_t *source, const pto_operand_t *target,
                     exchange_pattern &pattern) {
    const bool from_lines = source->spot.lines, to_lines = target->spot.lines;
    const bool sends = to_lines && !from_lines && pattern.to_count < EXCHANGE_PEERS_MAX;
    const bool receives =
        from_lines && !to_lines && pattern.result == nullptr && pattern.from_count < EXCHANGE_PEERS_MAX;
    const bool is_within = !from_lines && !to_lines && pattern.own == nullptr;
    if (sends)
        pattern.to[pattern.to_count++] = {target, source};
    if (receives)
        pattern.from[pattern.from_count++] = {source, target};
    if (is_within)
        pattern.own = source, pattern.own_target = target;
    if (sends || is_within)
        pattern.read[pattern.read_count++] = {source, op, false};
    if (receives || is_within)
        pattern.written[pattern.written_count++] = {target, op, false};
    pattern.is_other |= !sends && !receives && !is_within;
}

/* Adds a sum of this GPU's own vector and others in lines. Only copies into lines may come before it. */
static void add_sum(int op_index, const pto_kernel_op_t *op, const pto_operand_t *operand,
                    exchange_pattern &pattern) {
    pattern.is_other |=
        pattern.from_count > 0 || pattern.own != nullptr || pattern.result != nullptr || op->copies > 0;
    for (int i = 1; i < op->count && !pattern.is_other; i++)
        if (operand[i].spot.lines && pattern.from_count < EXCHANGE_PEERS_MAX)
            pattern.from[pattern.from_count++] = {&operand[i], nullptr};
        else if (!operand[i].spot.lines && pattern.own == nullptr)
            pattern.own = &operand[i], pattern.own_at = i - 1;
        else
            pattern.is_other = true;
    pattern.is_other |= pattern.own == nullptr || operand->spot.lines;
    pattern.result = operand;
    if (pattern.is_other)
        return;
    pattern.read[pattern.read_count++] = {pattern.own, op_index, false};
    pattern.written[pattern.written_count++] = {pattern.result, op_index, true};
}

static exchange_pattern pattern_of(const pto_kernel_program_t *program) {
    exchange_pattern pattern = {};
    for (int i = 0; i < program->op_count && !pattern.is_other; i++) {
        const pto_kernel_op_t *op = &program->ops[i];
        const pto_operand_t *operand = program->operands + op->first;
        for (int j = 1; j < op->count && op->kind == PTO_KERNEL_SPREAD; j++)
            add_copy(i, operand, operand + j, pattern);
        for (int j = 0; j < op->count && op->kind == PTO_KERNEL_MOVE; j += 2)
            add_copy(i, operand + j, operand + j + 1, pattern);
        if (op->kind == PTO_KERNEL_REDUCE)
            add_sum(i, op, operand, pattern);
        pattern.is_other |= width_of(program, op) != UNIT_BYTES;
    }
    return pattern;
}

static bool is_disjoint(const pto_operand_t *one, const pto_operand_t *other) {
    const auto from = reinterpret_cast<uintptr_t>(one->spot.at),
               to = reinterpret_cast<uintptr_t>(other->spot.at);
    return from + static_cast<uintptr_t>(one->bytes) <= to ||
           to + static_cast<uintptr_t>(other->bytes) <= from;
}

/* Returns whether an exchange, which goes through units instead of ops, may write one vector and read
 * another. They may be disjoint. They may also be the same vector (in place) if an earlier op, or the sum
 * that writes it, reads it: in an exchange, a thread reads its units before it writes them. */
static bool may_write(const vector_use &written, const vector_use &read) {
    const bool read_first = written.op > read.op || (written.op == read.op && written.by_sum);
    const bool is_same = read.vector->spot.at == written.vector->spot.at;
    return is_disjoint(read.vector, written.vector) || (is_same && read_first);
}

static bool may_write_all(const exchange_pattern &pattern) {
    bool may = true;
    for (int i = 0; i < pattern.written_count; i++) {
        for (int j = 0; j < pattern.read_count; j++)
            may = may && may_write(pattern.written[i], pattern.read[j]);
        for (int j = 0; j < i; j++)
            may = may && is_disjoint(pattern.written[i].vector, pattern.written[j].vector);
    }
    return may;
}

/* Returns whether all vectors have one size, in whole units, and lines of each side one copy stride. */
static bool has_one_size(const exchange_pattern &pattern) {
    const pto_operand_t *to = pattern.to[0].lines, *from = pattern.from[0].lines;
    bool has_one = to->bytes > 0 && to->bytes % UNIT_BYTES == 0 && to->bytes <= INT32_MAX;
    for (int i = 0; i < pattern.to_count; i++)
        has_one = has_one && pattern.to[i].lines->bytes == to->bytes &&
                  pattern.from[i].lines->bytes == to->bytes &&
                  pattern.to[i].lines->spot.copy_stride_bytes == to->spot.copy_stride_bytes &&
                  pattern.from[i].lines->spot.copy_stride_bytes == from->spot.copy_stride_bytes;
    for (int i = 0; i < pattern.read_count; i++)
        has_one = has_one && pattern.read[i].vector->bytes == to->bytes;
    for (int i = 0; i < pattern.written_count; i++)
        has_one = has_one && pattern.written[i].vector->bytes == to->bytes;
    return has_one;
}

static char *address_of(const pto_operand_t *operand) {
    return operand != nullptr ? static_cast<char *>(operand->spot.at) : nullptr;
}

static any_exchange exchange_with(const exchange_pattern &pattern) {
    any_exchange exchange = {};
    exchange.own = address_of(pattern.own != nullptr ? pattern.own : pattern.to[0].data);
    exchange.own_target = address_of(pattern.own_target);
    exchange.to_copy_stride_bytes = pattern.to[0].lines->spot.copy_stride_bytes;
    exchange.from_copy_stride_bytes = pattern.from[0].lines->spot.copy_stride_bytes;
    exchange.units = static_cast<uint32_t>(pattern.to[0].lines->bytes / UNIT_BYTES);
    exchange.peers = static_cast<uint8_t>(pattern.to_count);
    exchange.own_at = static_cast<uint8_t>(pattern.own_at);
    for (int i = 0; i < pattern.to_count; i++)
        exchange.peer[i] = {
            address_of(pattern.to[i].data), address_of(pattern.to[i].lines),
            address_of(pattern.from[i].lines),
            address_of(pattern.from[i].data != nullptr ? pattern.from[i].data : pattern.result)};
    return exchange;
}

enum exchange_kind { NO_EXCHANGE, EXCHANGE_OF_SUMS, EXCHANGE_OF_COPIES };

/* Returns what kind of exchange a program is, if can_run_lines holds for it: as many vectors are copied into
 * lines as are read out of lines, all of one size in whole units. Only then, sets `exchange`. */
static exchange_kind find_exchange(const pto_kernel_program_t *program, any_exchange &exchange) {
    const exchange_pattern pattern = pattern_of(program);
    if (pattern.is_other || pattern.to_count == 0 || pattern.to_count != pattern.from_count ||
        !has_one_size(pattern) || !may_write_all(pattern))
        return NO_EXCHANGE;
    exchange = exchange_with(pattern);
    exchange.choice = {static_cast<uint8_t>(program->datatype), static_cast<uint8_t>(program->op)};
    return pattern.result != nullptr ? EXCHANGE_OF_SUMS : EXCHANGE_OF_COPIES;
}

#endif

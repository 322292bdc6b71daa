/* Translates a program (kernel.h) into the parameters of a kernel (kernel_program.cuh), and recognises
 * programs that are an exchange (kernel_exchange.cuh). Host code, which the unit tests compile, too. */
#ifndef PTO_KERNEL_TRANSLATE_CUH
#define PTO_KERNEL_TRANSLATE_CUH

#include <cmath>
#include <initializer_list>

#include "kernel_program.cuh"

static operand translate(const pto_operand_t *from, unsigned parts) {
    const uint64_t bytes = static_cast<uint64_t>(from->bytes);
    const uint64_t pieces = (bytes + PART_BYTES - 1) / PART_BYTES;
    operand to = {static_cast<char *>(from->spot.at),
                  {from->spot.copy_stride_bytes},
                  static_cast<uint32_t>(pieces / parts),
                  static_cast<uint16_t>(pieces % parts),
                  static_cast<uint16_t>(pieces * PART_BYTES - bytes),
                  from->spot.lines ? FORM_LINES : FORM_PLAIN};
    if (from->rows.rows > 1) {
        to.rows = {static_cast<uint32_t>(from->rows.bytes), static_cast<uint32_t>(from->rows.pitch_bytes)};
        to.is = FORM_ROWS;
    }
    return to;
}

static bool some_rows(const pto_kernel_program_t *program, const pto_kernel_op_t *op) {
    bool some = false;
    for (int i = op->first; i < op->first + op->count; i++)
        some |= program->operands[i].rows.rows > 1;
    return some;
}

/* Offsets in rows have 32 bits, since they are divided. */
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
    bool has = false;
    for (int i = 0; i < program->operand_count; i++)
        has |= program->operands[i].spot.lines;
    return has;
}

/* Returns whether the kernel for programs with lines can run this one. It knows no flags and no rows. */
static bool can_run_lines(const pto_kernel_program_t *program) {
    bool can = true;
    for (int i = 0; i < program->op_count; i++)
        can = can && program->ops[i].kind != PTO_KERNEL_SIGNAL && program->ops[i].kind != PTO_KERNEL_WAIT;
    for (int i = 0; i < program->operand_count; i++)
        can = can && program->operands[i].rows.rows == 1 &&
              (program->operands[i].spot.lines || program->operands[i].spot.copy_stride_bytes == 0);
    return can;
}

static bool reads_lines(const pto_kernel_program_t *program, const pto_kernel_op_t *op) {
    bool reads = false;
    for (int i = 0; i < op->count; i++) {
        const bool is_source = op->kind == PTO_KERNEL_MOVE ? i % 2 == 0 : op->kind == PTO_KERNEL_REDUCE;
        reads |= is_source && program->operands[op->first + i].spot.lines;
    }
    return reads;
}

/* Returns the number of ops up to the first that reads lines. */
static int until_lines(const pto_kernel_program_t *program) {
    int until = 0;
    while (until < program->op_count && (until == 0 || !reads_lines(program, &program->ops[until - 1])))
        until++;
    return until;
}

/* Finds the program's phases (turns.h). */
static void find_phases(const pto_kernel_program_t *program, struct program *all) {
    const pto_phases_t phases = pto_phases_of(program);
    all->send_end = static_cast<uint8_t>(has_lines(program) ? until_lines(program) : phases.send_end);
    all->work_end = static_cast<uint8_t>(phases.work_end);
}

/* Rounded up: 0 ms would be no limit. */
static uint32_t patience_ms_of(const pto_kernel_program_t *program) {
    return static_cast<uint32_t>(std::ceil(program->patience_s * 1e3));
}

static unsigned width_of(const pto_kernel_program_t *program, const pto_kernel_op_t *op) {
    const bool rows = some_rows(program, op);
    uintptr_t all = 0;
    for (int i = 0; i < op->count; i++) {
        const pto_operand_t *one = &program->operands[op->first + i];
        if (!one->spot.lines) /* which are aligned */
            all |= reinterpret_cast<uintptr_t>(one->spot.at) |
                   static_cast<uintptr_t>(one->spot.copy_stride_bytes);
        if (rows)
            all |= static_cast<uintptr_t>(one->rows.bytes) | static_cast<uintptr_t>(one->rows.pitch_bytes);
    }
    if (all % UNIT_BYTES == 0)
        return UNIT_BYTES;
    if (rows && all % sizeof(uint64_t) == 0)
        return sizeof(uint64_t);
    return all % sizeof(uint32_t) == 0 ? sizeof(uint32_t) : 1;
}

/* --- exchanges ------------------------------------------------------------------------------------------ */

/* A vector that op `op` copies into or out of lines. `data` is NULL if the lines are a source of a sum. */
struct lines_vector {
    const pto_operand_t *lines, *data;
    int op;
};

/* What a program consists of, if it is an exchange. */
struct exchange_parts {
    lines_vector to[EXCHANGE_PEERS_MAX], from[EXCHANGE_PEERS_MAX];
    int to_count, from_count;
    const pto_operand_t *own, *own_target; /* of a copy within this GPU, or of a sum */
    const pto_operand_t *result;           /* of the sum; NULL: there is none */
    int copy_op, sum_op;                   /* the ops of that copy and of the sum */
    int own_at;                            /* position of `own` among the sources of the sum */
    bool is_other;                         /* it is something else than an exchange */
};

static void add_vector(lines_vector *uses, int &count, const lines_vector &use, exchange_parts &parts) {
    if (count < EXCHANGE_PEERS_MAX)
        uses[count++] = use;
    else
        parts.is_other = true;
}

/* Adds a copy. If it is one too many of its kind, or from lines to lines, the program is no exchange. */
static void add_copy(int op, const pto_operand_t *source, const pto_operand_t *target,
                     exchange_parts &parts) {
    if (target->spot.lines && !source->spot.lines)
        add_vector(parts.to, parts.to_count, {target, source, op}, parts);
    else if (source->spot.lines && !target->spot.lines && parts.result == nullptr)
        add_vector(parts.from, parts.from_count, {source, target, op}, parts);
    else if (!source->spot.lines && !target->spot.lines && parts.own == nullptr)
        parts.own = source, parts.own_target = target, parts.copy_op = op;
    else
        parts.is_other = true;
}

static void add_sum(int number, const pto_kernel_op_t *op, const pto_operand_t *operand,
                    exchange_parts &parts) {
    parts.is_other |=
        parts.from_count > 0 || parts.own != nullptr || parts.result != nullptr || op->copies > 0;
    for (int i = 1; i < op->count && !parts.is_other; i++)
        if (operand[i].spot.lines)
            add_vector(parts.from, parts.from_count, {&operand[i], nullptr, number}, parts);
        else if (parts.own == nullptr)
            parts.own = &operand[i], parts.own_at = i - 1;
        else
            parts.is_other = true;
    parts.is_other |= parts.own == nullptr || operand->spot.lines;
    parts.result = operand;
    parts.sum_op = number;
}

static exchange_parts parts_of(const pto_kernel_program_t *program) {
    exchange_parts parts = {};
    for (int i = 0; i < program->op_count; i++) {
        const pto_kernel_op_t *op = &program->ops[i];
        const pto_operand_t *operand = program->operands + op->first;
        for (int j = 1; j < op->count && op->kind == PTO_KERNEL_SPREAD; j++)
            add_copy(i, operand, operand + j, parts);
        for (int j = 0; j < op->count && op->kind == PTO_KERNEL_MOVE; j += 2)
            add_copy(i, operand + j, operand + j + 1, parts);
        if (op->kind == PTO_KERNEL_REDUCE)
            add_sum(i, op, operand, parts);
        parts.is_other |= width_of(program, op) != UNIT_BYTES;
    }
    return parts;
}

/* A vector that op `op` of an exchange reads or writes. */
struct vector_use {
    const pto_operand_t *vector;
    int op;
    bool by_sum; /* written by the sum, which reads each element before it writes it */
};

static bool is_disjoint(const pto_operand_t *one, const pto_operand_t *other) {
    const auto from = reinterpret_cast<uintptr_t>(one->spot.at),
               to = reinterpret_cast<uintptr_t>(other->spot.at);
    return from + static_cast<uintptr_t>(one->bytes) <= to ||
           to + static_cast<uintptr_t>(other->bytes) <= from;
}

/* Returns whether the kernel may write a vector that it also reads. A thread reads its units before it writes
 * them, so it may be the same vector, if an earlier op or the same sum reads it. Others may not overlap. */
static bool may_write(const vector_use &written, const vector_use &read) {
    const bool after = written.op > read.op || (written.op == read.op && written.by_sum);
    return is_disjoint(read.vector, written.vector) ||
           (after && read.vector->spot.at == written.vector->spot.at);
}

enum { EXCHANGE_READS_MAX = EXCHANGE_PEERS_MAX + 1, EXCHANGE_WRITES_MAX = EXCHANGE_PEERS_MAX + 1 };
struct exchange_uses {
    vector_use read[EXCHANGE_READS_MAX], written[EXCHANGE_WRITES_MAX];
    int read_count, written_count;
};

static exchange_uses uses_of(const exchange_parts &parts) {
    exchange_uses uses = {};
    const bool sums = parts.result != nullptr;
    for (int i = 0; i < parts.to_count; i++)
        uses.read[uses.read_count++] = {parts.to[i].data, parts.to[i].op, false};
    if (parts.own != nullptr)
        uses.read[uses.read_count++] = {parts.own, sums ? parts.sum_op : parts.copy_op, false};
    if (sums)
        uses.written[uses.written_count++] = {parts.result, parts.sum_op, true};
    for (int i = 0; i < parts.from_count && !sums; i++)
        uses.written[uses.written_count++] = {parts.from[i].data, parts.from[i].op, false};
    if (parts.own_target != nullptr)
        uses.written[uses.written_count++] = {parts.own_target, parts.copy_op, false};
    return uses;
}

static bool may_write_all(const exchange_parts &parts) {
    const exchange_uses uses = uses_of(parts);
    bool may = true;
    for (int i = 0; i < uses.written_count; i++) {
        for (int j = 0; j < uses.read_count; j++)
            may = may && may_write(uses.written[i], uses.read[j]);
        for (int j = 0; j < i; j++)
            may = may && is_disjoint(uses.written[i].vector, uses.written[j].vector);
    }
    return may;
}

static bool has_one_size(const exchange_parts &parts) {
    const exchange_uses uses = uses_of(parts);
    const int64_t bytes = parts.to[0].lines->bytes;
    bool has = bytes > 0 && bytes % UNIT_BYTES == 0 && bytes <= INT32_MAX;
    for (int i = 0; i < parts.to_count; i++)
        has = has && parts.to[i].lines->bytes == bytes && parts.from[i].lines->bytes == bytes &&
              parts.to[i].lines->spot.copy_stride_bytes == parts.to[0].lines->spot.copy_stride_bytes &&
              parts.from[i].lines->spot.copy_stride_bytes == parts.from[0].lines->spot.copy_stride_bytes;
    for (int i = 0; i < uses.read_count; i++)
        has = has && uses.read[i].vector->bytes == bytes;
    for (int i = 0; i < uses.written_count; i++)
        has = has && uses.written[i].vector->bytes == bytes;
    return has;
}

static char *place_of(const pto_operand_t *operand) {
    return operand != nullptr ? static_cast<char *>(operand->spot.at) : nullptr;
}

static any_exchange exchange_with(const exchange_parts &parts) {
    any_exchange all = {};
    all.own = place_of(parts.own != nullptr ? parts.own : parts.to[0].data);
    all.own_target = place_of(parts.own_target);
    all.to_copy_stride_bytes = parts.to[0].lines->spot.copy_stride_bytes;
    all.from_copy_stride_bytes = parts.from[0].lines->spot.copy_stride_bytes;
    all.units = static_cast<uint32_t>(parts.to[0].lines->bytes / UNIT_BYTES);
    all.peers = static_cast<uint8_t>(parts.to_count);
    all.own_at = static_cast<uint8_t>(parts.own_at);
    for (int i = 0; i < parts.to_count; i++)
        all.peer[i] = {place_of(parts.to[i].data), place_of(parts.to[i].lines), place_of(parts.from[i].lines),
                       place_of(parts.from[i].data != nullptr ? parts.from[i].data : parts.result)};
    return all;
}

enum exchange_kind { NO_EXCHANGE, EXCHANGE_OF_SUMS, EXCHANGE_OF_COPIES };

/* Returns whether a program that can_run_lines is an exchange of whole units: as many vectors into lines as
 * out of lines, all of one size. Only then, `all` is set. */
static exchange_kind find_exchange(const pto_kernel_program_t *program, any_exchange &all) {
    const exchange_parts parts = parts_of(program);
    if (parts.is_other || parts.to_count == 0 || parts.to_count != parts.from_count || !has_one_size(parts) ||
        !may_write_all(parts))
        return NO_EXCHANGE;
    all = exchange_with(parts);
    all.by = {static_cast<uint8_t>(program->datatype), static_cast<uint8_t>(program->op)};
    return parts.result != nullptr ? EXCHANGE_OF_SUMS : EXCHANGE_OF_COPIES;
}

#endif

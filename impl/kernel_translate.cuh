/* From a program (kernel.h) to the kernel's parameters: host code, which the unit tests compile too. */
#ifndef PTO_KERNEL_TRANSLATE_CUH
#define PTO_KERNEL_TRANSLATE_CUH

#include <cmath>
#include <initializer_list>

#include "kernel_program.cuh"

static operand translate(const pto_operand_t *from, unsigned parts) {
    const uint64_t bytes = static_cast<uint64_t>(from->bytes);
    const uint64_t pieces = (bytes + PART_BYTES - 1) / PART_BYTES;
    operand to = {static_cast<char *>(from->spot.at),
                  {from->spot.apart_bytes},
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

/* Offsets in rows have 32 bits, to be divided quickly. */
static bool can_run_rows(const pto_kernel_program_t *program, const pto_kernel_op_t *op) {
    bool can = true;
    for (int i = op->first; i < op->first + op->count; i++) {
        const pto_operand_t *one = &program->operands[i];
        can = can && !one->spot.lines && one->bytes <= INT32_MAX &&
              (one->rows.rows == 1 || (one->spot.apart_bytes == 0 && one->rows.pitch_bytes <= UINT32_MAX));
    }
    return can;
}

static bool has_lines(const pto_kernel_program_t *program) {
    bool has = false;
    for (int i = 0; i < program->operand_count; i++)
        has |= program->operands[i].spot.lines;
    return has;
}

/* Of a program with lines, run by a kernel that knows nothing else. */
static bool can_run_lines(const pto_kernel_program_t *program) {
    bool can = true;
    for (int i = 0; i < program->op_count; i++)
        can = can && program->ops[i].kind != PTO_KERNEL_SIGNAL && program->ops[i].kind != PTO_KERNEL_WAIT;
    for (int i = 0; i < program->operand_count; i++)
        can = can && program->operands[i].rows.rows == 1 &&
              (program->operands[i].spot.lines || program->operands[i].spot.apart_bytes == 0);
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

/* The ops up to the first that waits for lines. */
static int until_lines(const pto_kernel_program_t *program) {
    int until = 0;
    while (until < program->op_count && (until == 0 || !reads_lines(program, &program->ops[until - 1])))
        until++;
    return until;
}

/* The ops before the first wait, and those before the waits that nothing follows. */
static void find_waits(const pto_kernel_program_t *program, struct program *all) {
    const auto waits = [&](int i) { return program->ops[i].kind == PTO_KERNEL_WAIT; };
    int first = 0, last = program->op_count;
    while (first < program->op_count && !waits(first))
        first++;
    while (last > first && waits(last - 1))
        last--;
    all->sends = static_cast<uint8_t>(has_lines(program) ? until_lines(program) : first);
    all->works = static_cast<uint8_t>(last);
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
            all |= reinterpret_cast<uintptr_t>(one->spot.at) | static_cast<uintptr_t>(one->spot.apart_bytes);
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

/* What a program does, if it is an exchange. What would be set a second time is something else. */
struct exchange_parts {
    const pto_operand_t *sent, *to, *own, *kept, *from, *target;
    const pto_kernel_op_t *sum;
    int sends_in, keeps_in, takes_in; /* op */
    bool own_first;
    bool others; /* something else, too */
};

static void add_copy(int op, const pto_operand_t *source, const pto_operand_t *target,
                     exchange_parts &parts) {
    if (target->spot.lines && parts.to == nullptr)
        parts.sent = source, parts.to = target, parts.sends_in = op;
    else if (source->spot.lines && parts.target == nullptr)
        parts.from = source, parts.target = target, parts.takes_in = op;
    else if (!source->spot.lines && !target->spot.lines && parts.own == nullptr)
        parts.own = source, parts.kept = target, parts.keeps_in = op;
    else
        parts.others = true;
}

static void add_sum(int number, const pto_kernel_op_t *op, const pto_operand_t *operand,
                    exchange_parts &parts) {
    parts.others |= parts.target != nullptr || parts.own != nullptr || op->count != 3 ||
                    operand[1].spot.lines == operand[2].spot.lines;
    if (parts.others)
        return;
    parts.own_first = operand[2].spot.lines;
    parts.sum = op;
    parts.takes_in = number;
    parts.target = operand;
    parts.own = operand + (parts.own_first ? 1 : 2);
    parts.from = operand + (parts.own_first ? 2 : 1);
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
        parts.others |= width_of(program, op) != UNIT_BYTES;
    }
    return parts;
}

static bool apart(const pto_operand_t *one, const pto_operand_t *other) {
    const auto from = reinterpret_cast<uintptr_t>(one->spot.at),
               to = reinterpret_cast<uintptr_t>(other->spot.at);
    return from + static_cast<uintptr_t>(one->bytes) <= to ||
           to + static_cast<uintptr_t>(other->bytes) <= from;
}

/* A thread reads its units before it writes them, so a result may take the place of a vector that an op
 * before has read, or of one that its own op adds; but not lie across one. */
static bool may_write(const pto_operand_t *written, bool after, const pto_operand_t *read) {
    return read == nullptr || written == nullptr || apart(read, written) ||
           (after && read->spot.at == written->spot.at);
}

/* Whether a program that can run with lines is an exchange of whole units: one vector into lines, one out of
 * lines, all of one size. */
static bool is_exchange(const pto_kernel_program_t *program) {
    const exchange_parts parts = parts_of(program);
    if (parts.others || parts.sent == nullptr || parts.target == nullptr)
        return false;
    bool is = parts.sent->bytes > 0 && parts.sent->bytes % UNIT_BYTES == 0 && parts.sent->bytes <= INT32_MAX;
    for (const pto_operand_t *one : {parts.to, parts.own, parts.kept, parts.from, parts.target})
        is = is && (one == nullptr || one->bytes == parts.sent->bytes);
    return is && may_write(parts.target, parts.takes_in > parts.sends_in, parts.sent) &&
           may_write(parts.target, parts.sum != nullptr || parts.takes_in > parts.keeps_in, parts.own) &&
           may_write(parts.kept, parts.keeps_in > parts.sends_in, parts.sent) &&
           may_write(parts.kept, false, parts.own) && may_write(parts.kept, false, parts.target);
}

/* Of a program that is one. */
static exchange exchange_of(const pto_kernel_program_t *program) {
    const exchange_parts parts = parts_of(program);
    const auto at = [](const pto_operand_t *one) {
        return one != nullptr ? static_cast<char *>(one->spot.at) : nullptr;
    };
    exchange all = {};
    all.sent = at(parts.sent);
    all.own = at(parts.own != nullptr ? parts.own : parts.sent);
    all.kept = at(parts.kept);
    all.target = at(parts.target);
    all.to = at(parts.to);
    all.from = at(parts.from);
    all.to_apart_bytes = parts.to->spot.apart_bytes;
    all.from_apart_bytes = parts.from->spot.apart_bytes;
    all.units = static_cast<uint32_t>(parts.sent->bytes / UNIT_BYTES);
    all.sums = parts.sum != nullptr;
    all.own_first = parts.own_first;
    all.by = {static_cast<uint8_t>(program->datatype), static_cast<uint8_t>(program->op)};
    return all;
}

#endif

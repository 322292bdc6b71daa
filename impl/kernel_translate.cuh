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

static bool apart(const pto_operand_t *one, const pto_operand_t *other) {
    const auto from = reinterpret_cast<uintptr_t>(one->spot.at),
               to = reinterpret_cast<uintptr_t>(other->spot.at);
    return from + static_cast<uintptr_t>(one->bytes) <= to ||
           to + static_cast<uintptr_t>(other->bytes) <= from;
}

/* Whether a program that can run with lines stores one vector into lines, and combines one with other lines,
 * all in units. Each thread reads its units before it writes them, so the result may take the place of either
 * vector, but not lie across one. */
static bool is_exchange(const pto_kernel_program_t *program) {
    const pto_kernel_op_t *sends = program->ops, *sums = program->ops + 1;
    if (program->op_count != 2 || sends->kind == PTO_KERNEL_REDUCE || sends->count != 2 ||
        sums->kind != PTO_KERNEL_REDUCE || sums->count != 3 || sums->copies > 0)
        return false;
    const pto_operand_t *sent = program->operands + sends->first, *target = program->operands + sums->first;
    const bool own_first = !target[1].spot.lines;
    const pto_operand_t *own = target + (own_first ? 1 : 2), *from = target + (own_first ? 2 : 1);
    bool is = sent[1].spot.lines && !sent->spot.lines && from->spot.lines && !own->spot.lines &&
              sent->bytes > 0 && sent->bytes % UNIT_BYTES == 0 && width_of(program, sends) == UNIT_BYTES &&
              width_of(program, sums) == UNIT_BYTES;
    for (const pto_operand_t *one : {sent + 1, target, own, from})
        is = is && one->bytes == sent->bytes;
    for (const pto_operand_t *one : {sent, own})
        is = is && (target->spot.at == one->spot.at || apart(target, one));
    return is;
}

static exchange exchange_of(const pto_kernel_program_t *program, chosen by) {
    const pto_operand_t *sent = program->operands + program->ops[0].first,
                        *target = program->operands + program->ops[1].first;
    const bool own_first = !target[1].spot.lines;
    const pto_operand_t *own = target + (own_first ? 1 : 2), *from = target + (own_first ? 2 : 1);
    const auto at = [](const pto_operand_t *one) { return static_cast<char *>(one->spot.at); };
    return {ledger(),
            at(sent),
            at(own),
            at(target),
            at(sent + 1),
            at(from),
            sent[1].spot.apart_bytes,
            from->spot.apart_bytes,
            static_cast<uint32_t>(sent->bytes / UNIT_BYTES),
            own_first,
            by};
}

#endif

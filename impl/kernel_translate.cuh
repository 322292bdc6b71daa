/* From a program (kernel.h) to the kernel's parameters: host code, which the unit tests compile too. */
#ifndef PTO_KERNEL_TRANSLATE_CUH
#define PTO_KERNEL_TRANSLATE_CUH

#include "kernel_program.cuh"

static operand translate(const pto_operand_t *from, unsigned parts) {
    const uint64_t units = static_cast<uint64_t>(from->bytes) / PTO_PART_UNIT_BYTES;
    operand to = {static_cast<char *>(from->spot.at),
                  {from->spot.apart_bytes},
                  static_cast<uint32_t>(units / parts),
                  static_cast<uint16_t>(units % parts),
                  static_cast<uint8_t>(from->bytes % PTO_PART_UNIT_BYTES),
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

static bool some_lines(const pto_kernel_program_t *program, int first, int count) {
    bool some = false;
    for (int i = first; i < first + count; i++)
        some |= program->operands[i].spot.lines;
    return some;
}

/* Lines' own addresses allow what is needed. */
static unsigned width_of(const pto_kernel_program_t *program, const pto_kernel_op_t *op) {
    const unsigned most = some_lines(program, op->first, op->count) ? unsigned(PTO_LINE_DATA_BYTES)
                                                                    : unsigned(PTO_PART_UNIT_BYTES);
    const bool rows = some_rows(program, op);
    uintptr_t all = 0;
    for (int i = 0; i < op->count; i++) {
        const pto_operand_t *one = &program->operands[op->first + i];
        if (!one->spot.lines)
            all |= reinterpret_cast<uintptr_t>(one->spot.at) | static_cast<uintptr_t>(one->spot.apart_bytes);
        if (rows)
            all |= static_cast<uintptr_t>(one->rows.bytes) | static_cast<uintptr_t>(one->rows.pitch_bytes);
    }
    if (all % most == 0)
        return most;
    if (rows && all % sizeof(uint64_t) == 0)
        return sizeof(uint64_t);
    return all % sizeof(uint32_t) == 0 ? sizeof(uint32_t) : 1;
}

#endif

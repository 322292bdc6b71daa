/* Builds a kernel's program.
 *
 * The threads of a block synchronise between two ops, and a load from another GPU has a high latency. So
 * consecutive copies become one op, whose loads and stores overlap, unless one depends on another. */
#include "program.h"

#include <stdlib.h>

static pto_kernel_op_t *last_op(const pto_program_t *program) {
    return program->ops.count ? (pto_kernel_op_t *)program->ops.item + program->ops.count - 1 : NULL;
}

static pto_operand_t *operand_at(const pto_program_t *program, int index) {
    return (pto_operand_t *)program->operands.item + index;
}

static bool add_op(pto_program_t *program, pto_kernel_kind_t kind) {
    pto_kernel_op_t *op = pto_vector_add(&program->ops, sizeof *op);
    if (op)
        *op = (pto_kernel_op_t){.kind = kind, .first = program->operands.count};
    return op != NULL;
}

/* Appends to the last op. */
static bool add_operand(pto_program_t *program, pto_spot_t spot, int64_t bytes) {
    pto_operand_t *operand = pto_vector_add(&program->operands, sizeof *operand);
    if (!operand)
        return false;
    *operand = (pto_operand_t){spot, bytes};
    last_op(program)->count++;
    return true;
}

/* All double-buffered operands have equally distant copies, so comparing the first copies is enough. */
static bool overlap(const pto_operand_t *one, const pto_operand_t *other) {
    uintptr_t begin = (uintptr_t)one->spot.at, other_begin = (uintptr_t)other->spot.at;
    uintptr_t bytes = (uintptr_t)pto_spot_bytes(one->spot.lines, one->bytes);
    uintptr_t other_bytes = (uintptr_t)pto_spot_bytes(other->spot.lines, other->bytes);
    return begin < other_begin + other_bytes && other_begin < begin + bytes;
}

static bool same(const pto_operand_t *one, const pto_operand_t *other) {
    return one->spot.at == other->spot.at && one->spot.apart_bytes == other->spot.apart_bytes &&
           one->spot.lines == other->spot.lines && one->bytes == other->bytes;
}

/* Whether operand i of a MOVE or SPREAD op is a target. */
static bool is_target(const pto_kernel_op_t *op, int i) {
    return op->kind == PTO_KERNEL_MOVE ? i % 2 == 1 : i > 0;
}

/* Whether a copy is independent of all copies of the op. */
static bool independent(const pto_program_t *program, const pto_kernel_op_t *op, const pto_operand_t *source,
                        const pto_operand_t *target) {
    for (int i = 0; i < op->count; i++) {
        const pto_operand_t *operand = operand_at(program, op->first + i);
        if (overlap(operand, target) || (is_target(op, i) && overlap(operand, source)))
            return false;
    }
    return true;
}

/* Turn the op into `kind` if it is not already. An op with one source and one target is valid as either
 * kind. */
static bool becomes(const pto_program_t *program, pto_kernel_op_t *op, pto_kernel_kind_t kind,
                    const pto_operand_t *source) {
    if (op->kind != kind && op->count > 2)
        return false;
    if (kind == PTO_KERNEL_SPREAD && (source->spot.lines || !same(operand_at(program, op->first), source)))
        return false;
    op->kind = kind;
    return true;
}

bool pto_program_move(pto_program_t *program, pto_spot_t target, pto_spot_t source, int64_t bytes) {
    pto_kernel_op_t *op = last_op(program);
    pto_operand_t from = {source, bytes}, to = {target, bytes};
    bool copies = op && (op->kind == PTO_KERNEL_MOVE || op->kind == PTO_KERNEL_SPREAD);
    if (copies && independent(program, op, &from, &to)) {
        if (becomes(program, op, PTO_KERNEL_SPREAD, &from))
            return add_operand(program, target, bytes);
        if (becomes(program, op, PTO_KERNEL_MOVE, &from))
            return add_operand(program, source, bytes) && add_operand(program, target, bytes);
    }
    return add_op(program, PTO_KERNEL_MOVE) && add_operand(program, source, bytes) &&
           add_operand(program, target, bytes);
}

bool pto_program_flag(pto_program_t *program, pto_kernel_kind_t kind, pto_spot_t flag) {
    const pto_kernel_op_t *op = last_op(program);
    if ((!op || op->kind != kind) && !add_op(program, kind))
        return false;
    return add_operand(program, flag, 0);
}

bool pto_program_reduce(pto_program_t *program, pto_spot_t target, int64_t bytes) {
    return add_op(program, PTO_KERNEL_REDUCE) && add_operand(program, target, bytes);
}

bool pto_program_source(pto_program_t *program, pto_spot_t source, int64_t bytes) {
    return add_operand(program, source, bytes);
}

void pto_program_fini(pto_program_t *program) {
    free(program->ops.item);
    free(program->operands.item);
}

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
static bool add_operand(pto_program_t *program, pto_operand_t made) {
    pto_operand_t *operand = pto_vector_add(&program->operands, sizeof *operand);
    if (!operand)
        return false;
    *operand = made;
    last_op(program)->count++;
    return true;
}

static pto_operand_t contiguous(pto_spot_t spot, int64_t bytes) {
    return (pto_operand_t){spot, bytes, pto_rows_of(bytes)};
}

/* Adjacent rows count as contiguous. */
static pto_operand_t in_rows(pto_spot_t spot, const pto_rows_t *rows) {
    return (pto_operand_t){spot, rows->bytes * rows->rows, pto_rows_joined(*rows)};
}

/* All double-buffered operands have equally distant copies, so comparing the first copies is enough. */
static bool overlap(const pto_operand_t *one, const pto_operand_t *other) {
    pto_rows_t rows = one->rows, other_rows = other->rows;
    if (one->spot.lines)
        rows = pto_rows_of(pto_spot_bytes(true, one->bytes));
    if (other->spot.lines)
        other_rows = pto_rows_of(pto_spot_bytes(true, other->bytes));
    return pto_rows_overlap(&rows, &other_rows, (char *)other->spot.at - (char *)one->spot.at);
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

static bool has_rows(const pto_program_t *program, const pto_kernel_op_t *op) {
    bool has = false;
    for (int i = 0; i < op->count; i++)
        has = has || operand_at(program, op->first + i)->rows.rows > 1;
    return has;
}

/* Turn the op into `kind` if it is not already. An op with one source and one target is valid as either
 * kind. */
static bool becomes(const pto_program_t *program, pto_kernel_op_t *op, pto_kernel_kind_t kind,
                    const pto_operand_t *source) {
    if (op->kind != kind && op->count > 2)
        return false;
    const pto_operand_t *first = operand_at(program, op->first);
    if (kind == PTO_KERNEL_SPREAD && (source->spot.lines || !same(first, source) || has_rows(program, op)))
        return false;
    op->kind = kind;
    return true;
}

static bool add_move(pto_program_t *program, pto_operand_t from, pto_operand_t to) {
    pto_kernel_op_t *op = last_op(program);
    bool copies = op && (op->kind == PTO_KERNEL_MOVE || op->kind == PTO_KERNEL_SPREAD);
    if (copies && independent(program, op, &from, &to)) {
        bool rows = from.rows.rows > 1 || to.rows.rows > 1;
        if (!rows && becomes(program, op, PTO_KERNEL_SPREAD, &from))
            return add_operand(program, to);
        if (becomes(program, op, PTO_KERNEL_MOVE, &from))
            return add_operand(program, from) && add_operand(program, to);
    }
    return add_op(program, PTO_KERNEL_MOVE) && add_operand(program, from) && add_operand(program, to);
}

bool pto_program_move(pto_program_t *program, pto_spot_t target, pto_spot_t source, int64_t bytes) {
    return add_move(program, contiguous(source, bytes), contiguous(target, bytes));
}

bool pto_program_move_rows(pto_program_t *program, pto_spot_t target, const pto_rows_t *to, pto_spot_t source,
                           const pto_rows_t *from) {
    return add_move(program, in_rows(source, from), in_rows(target, to));
}

bool pto_program_flag(pto_program_t *program, pto_kernel_kind_t kind, pto_spot_t flag) {
    const pto_kernel_op_t *op = last_op(program);
    if ((!op || op->kind != kind) && !add_op(program, kind))
        return false;
    return add_operand(program, contiguous(flag, 0));
}

bool pto_program_reduce(pto_program_t *program, pto_spot_t target, int64_t bytes) {
    return add_op(program, PTO_KERNEL_REDUCE) && add_operand(program, contiguous(target, bytes));
}

bool pto_program_source(pto_program_t *program, pto_spot_t source, int64_t bytes) {
    return add_operand(program, contiguous(source, bytes));
}

void pto_program_fini(pto_program_t *program) {
    free(program->ops.item);
    free(program->operands.item);
}

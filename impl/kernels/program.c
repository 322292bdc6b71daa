/* Builds a kernel's program (program.h), with as few ops as possible. Between two ops, the threads of a block
 * synchronise, and a load from another GPU has a high latency. So consecutive copies become one op, whose
 * loads and stores overlap, unless one depends on another. */
#include "program.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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
static bool add_operand(pto_program_t *program, pto_operand_t value) {
    pto_operand_t *operand = pto_vector_add(&program->operands, sizeof *operand);
    if (!operand)
        return false;
    *operand = value;
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

/* Compares only the first copies of double-buffered memory: the second ones are at the same distance. */
static bool overlap(const pto_operand_t *one, const pto_operand_t *other) {
    pto_rows_t rows = one->rows, other_rows = other->rows;
    if (one->spot.lines)
        rows = pto_rows_of(pto_spot_bytes(true, one->bytes));
    if (other->spot.lines)
        other_rows = pto_rows_of(pto_spot_bytes(true, other->bytes));
    return pto_rows_overlap(&rows, &other_rows, (char *)other->spot.at - (char *)one->spot.at);
}

static bool same_memory(const pto_operand_t *one, const pto_operand_t *other) {
    return one->spot.at == other->spot.at && one->spot.copy_stride_bytes == other->spot.copy_stride_bytes &&
           one->spot.lines == other->spot.lines && one->bytes == other->bytes;
}

/* Returns whether operand i of a MOVE or SPREAD op is a target. */
static bool is_target(const pto_kernel_op_t *op, int i) {
    return op->kind == PTO_KERNEL_MOVE ? i % 2 == 1 : i > 0;
}

/* Returns whether a copy is independent of all copies of the op. */
static bool is_independent(const pto_program_t *program, const pto_kernel_op_t *op,
                           const pto_operand_t *source, const pto_operand_t *target) {
    for (int i = 0; i < op->count; i++) {
        const pto_operand_t *operand = operand_at(program, op->first + i);
        if (overlap(operand, target) || (is_target(op, i) && overlap(operand, source)))
            return false;
    }
    return true;
}

static bool has_rows(const pto_program_t *program, const pto_kernel_op_t *op) {
    for (int i = 0; i < op->count; i++)
        if (operand_at(program, op->first + i)->rows.rows > 1)
            return true;
    return false;
}

/* Returns whether a copy of `source` can be appended to an op of copies as one of `kind`, and gives the op
 * that kind. An op of one source and one target is valid as a MOVE and as a SPREAD. A SPREAD takes only
 * copies of its own source, without lines and rows. */
static bool make_kind(const pto_program_t *program, pto_kernel_op_t *op, pto_kernel_kind_t kind,
                      const pto_operand_t *source) {
    if (op->kind != kind && op->count > 2)
        return false;
    const pto_operand_t *first = operand_at(program, op->first);
    if (kind == PTO_KERNEL_SPREAD &&
        (source->spot.lines || !same_memory(first, source) || has_rows(program, op)))
        return false;
    op->kind = kind;
    return true;
}

bool pto_program_move(pto_program_t *program, pto_spot_t target, const pto_rows_t *target_rows,
                      pto_spot_t source, const pto_rows_t *source_rows) {
    const pto_operand_t from = in_rows(source, source_rows), to = in_rows(target, target_rows);
    pto_kernel_op_t *op = last_op(program);
    bool copies = op && (op->kind == PTO_KERNEL_MOVE || op->kind == PTO_KERNEL_SPREAD);
    if (copies && is_independent(program, op, &from, &to)) {
        bool rows = from.rows.rows > 1 || to.rows.rows > 1;
        if (!rows && make_kind(program, op, PTO_KERNEL_SPREAD, &from))
            return add_operand(program, to);
        if (make_kind(program, op, PTO_KERNEL_MOVE, &from))
            return add_operand(program, from) && add_operand(program, to);
    }
    return add_op(program, PTO_KERNEL_MOVE) && add_operand(program, from) && add_operand(program, to);
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

static pto_kernel_op_t *op_at(const pto_program_t *program, int index) {
    return (pto_kernel_op_t *)program->ops.item + index;
}

static bool reads_and_writes(const pto_kernel_op_t *op) {
    return op->kind == PTO_KERNEL_MOVE || op->kind == PTO_KERNEL_SPREAD || op->kind == PTO_KERNEL_REDUCE;
}

/* Returns whether operand i of an op that reads and writes is written. */
static bool writes(const pto_kernel_op_t *op, int i) {
    return op->kind == PTO_KERNEL_REDUCE ? i == 0 || i >= op->count - op->copies : is_target(op, i);
}

/* Returns the operand that reads `lines` after op `op`, and sets the index of its op. Returns NULL unless
 * this operand is the only one that overlaps with the lines, and reads exactly these. */
static pto_operand_t *only_reader(const pto_program_t *program, int op, const pto_operand_t *lines,
                                  int *reader) {
    pto_operand_t *found = NULL;
    int readers = 0;
    for (int i = op + 1; i < program->ops.count; i++)
        for (int j = 0; reads_and_writes(op_at(program, i)) && j < op_at(program, i)->count; j++) {
            pto_operand_t *operand = operand_at(program, op_at(program, i)->first + j);
            if (!overlap(operand, lines))
                continue;
            readers++;
            *reader = i;
            found = same_memory(operand, lines) && !writes(op_at(program, i), j) ? operand : NULL;
        }
    return readers == 1 ? found : NULL;
}

/* Returns whether no op from `op` to `reader` overwrites `data` before `reader` reads them. A reduction that
 * writes them in place reads each element first. */
static bool is_unchanged(const pto_program_t *program, const pto_operand_t *data, int op, int reader) {
    for (int i = op; i <= reader; i++)
        for (int j = 0; reads_and_writes(op_at(program, i)) && j < op_at(program, i)->count; j++) {
            const pto_operand_t *operand = operand_at(program, op_at(program, i)->first + j);
            bool in_place = i == reader && op_at(program, i)->kind == PTO_KERNEL_REDUCE &&
                            operand->spot.at == data->spot.at && operand->bytes == data->bytes;
            if (writes(op_at(program, i), j) && !in_place && overlap(operand, data))
                return false;
        }
    return true;
}

/* Removes `count` operands of op `op`, from index `first` in the program on. */
static void remove_operands(pto_program_t *program, int op, int first, int count) {
    pto_operand_t *operand = program->operands.item;
    int after = program->operands.count - first - count;
    memmove(operand + first, operand + first + count, (size_t)after * sizeof *operand);
    program->operands.count -= count;
    op_at(program, op)->count -= count;
    for (int i = op + 1; i < program->ops.count; i++)
        op_at(program, i)->first -= count;
}

/* Removes ops without targets, which do nothing. */
static void remove_empty_ops(pto_program_t *program) {
    int kept = 0;
    for (int i = 0; i < program->ops.count; i++) {
        const pto_kernel_op_t *op = op_at(program, i);
        bool empty = op->count == 0 || (op->kind == PTO_KERNEL_SPREAD && op->count == 1);
        if (empty && op->count > 0)
            remove_operands(program, i, op->first, op->count);
        if (!empty)
            *op_at(program, kept++) = *op_at(program, i);
    }
    program->ops.count = kept;
}

/* Removes the copy to operand `target` of op `op`, if it can be forwarded. Returns whether it was. */
static bool forward(pto_program_t *program, int op, int target) {
    const pto_kernel_op_t *copies = op_at(program, op);
    bool moves = copies->kind == PTO_KERNEL_MOVE;
    const pto_operand_t *lines = operand_at(program, copies->first + target);
    const pto_operand_t *data = operand_at(program, copies->first + (moves ? target - 1 : 0));
    if (!lines->spot.lines || data->spot.lines || data->rows.rows != 1)
        return false;
    int reader = 0;
    pto_operand_t *read = only_reader(program, op, lines, &reader);
    if (!read || !is_unchanged(program, data, op, reader))
        return false;
    *read = *data;
    /* Each target of a MOVE has its own source before it. */
    remove_operands(program, op, copies->first + target - moves, 1 + moves);
    return true;
}

void pto_program_forward(pto_program_t *program) {
    for (int op = 0; op < program->ops.count; op++)
        for (int i = 1; i < op_at(program, op)->count; i++) {
            bool copy = op_at(program, op)->kind != PTO_KERNEL_REDUCE &&
                        reads_and_writes(op_at(program, op)) && is_target(op_at(program, op), i);
            if (copy && forward(program, op, i))
                i--;
        }
    remove_empty_ops(program);
}

/* Returns whether two operands have the same alignment: one op on both needs no narrower accesses. */
static bool equally_aligned(const pto_operand_t *one, const pto_operand_t *other) {
    return ((uintptr_t)one->spot.at - (uintptr_t)other->spot.at) % PTO_LINE_BYTES == 0 &&
           (one->spot.copy_stride_bytes - other->spot.copy_stride_bytes) % PTO_LINE_BYTES == 0;
}

/* Returns whether the op only copies the result of the reduction before it, to memory not used there. */
static bool copies_result(const pto_program_t *program, const pto_kernel_op_t *reduction,
                          const pto_kernel_op_t *op) {
    const pto_operand_t *result = operand_at(program, reduction->first);
    bool copies = op->kind == PTO_KERNEL_SPREAD || (op->kind == PTO_KERNEL_MOVE && op->count == 2);
    copies = copies && same_memory(operand_at(program, op->first), result);
    copies = copies && operand_at(program, op->first)->rows.rows == 1;
    for (int i = 1; i < op->count && copies; i++) {
        const pto_operand_t *target = operand_at(program, op->first + i);
        copies = target->rows.rows == 1 && equally_aligned(target, result);
        for (int j = 0; j < reduction->count && copies; j++)
            copies = !overlap(operand_at(program, reduction->first + j), target);
    }
    return copies;
}

static bool has_lines(const pto_program_t *program) {
    for (int i = 0; i < program->operands.count; i++)
        if (operand_at(program, i)->spot.lines)
            return true;
    return false;
}

void pto_program_fuse(pto_program_t *program) {
    for (int i = 0; i + 1 < program->ops.count && !has_lines(program); i++) {
        pto_kernel_op_t *op = op_at(program, i), *next = op_at(program, i + 1);
        if (op->kind != PTO_KERNEL_REDUCE || op->copies > 0 || !copies_result(program, op, next))
            continue;
        remove_operands(program, i + 1, next->first, 1);
        op->copies = next->count;
        op->count += next->count;
        next->count = 0;
    }
    remove_empty_ops(program);
}

void pto_program_fini(pto_program_t *program) {
    free(program->ops.item);
    free(program->operands.item);
}

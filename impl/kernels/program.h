/* Builds a kernel's program (kernel.h) when an executor is created: schedule_items.c appends the ops in the
 * plan's order, and kernel_nodes.c optimises the program. */
#ifndef PTO_PROGRAM_H
#define PTO_PROGRAM_H

#include <stdbool.h>

#include "device/vector.h"
#include "portolan/kernel.h"

typedef struct {
    pto_vector_t ops;      /* pto_kernel_op_t */
    pto_vector_t operands; /* pto_operand_t */
} pto_program_t;

/* These functions append to the program, and return false if they are out of memory. pto_program_move appends
 * a copy: to the last op, if that consists of copies that are independent of it, otherwise as a new op.
 * Source and target have as many bytes in all rows together. */
bool pto_program_move(pto_program_t *program, pto_spot_t target, const pto_rows_t *target_rows,
                      pto_spot_t source, const pto_rows_t *source_rows);
/* `kind` is PTO_KERNEL_SIGNAL or PTO_KERNEL_WAIT. `flag` is the flag of part 0. */
bool pto_program_flag(pto_program_t *program, pto_kernel_kind_t kind, pto_spot_t flag);
/* pto_program_reduce begins a reduction, and each pto_program_source appends its next source. To accumulate
 * into the target, make the target the first source. */
bool pto_program_reduce(pto_program_t *program, pto_spot_t target, int64_t bytes);
bool pto_program_source(pto_program_t *program, pto_spot_t source, int64_t bytes);

/* Optimises a complete program: data that are copied into this process's own lines, and are read there only
 * once, are read at their source instead. The copy is removed. */
void pto_program_forward(pto_program_t *program);

/* Optimises a complete program without lines: if an op only copies the result of the reduction before it, the
 * reduction stores to these targets, too, and the op is removed. */
void pto_program_fuse(pto_program_t *program);

void pto_program_fini(pto_program_t *program);

#endif

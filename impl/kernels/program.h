/* Builds a kernel's program. Consecutive independent copies are merged into one op. */
#ifndef PTO_PROGRAM_H
#define PTO_PROGRAM_H

#include <stdbool.h>

#include "device/vector.h"
#include "portolan/kernel.h"

typedef struct {
    pto_vector_t ops;      /* pto_kernel_op_t */
    pto_vector_t operands; /* pto_operand_t */
} pto_program_t;

/* These append to the program and return false if out of memory. */
bool pto_program_move(pto_program_t *program, pto_spot_t target, pto_spot_t source, int64_t bytes);
/* Rows of one size on both sides. */
bool pto_program_move_rows(pto_program_t *program, pto_spot_t target, const pto_rows_t *to, pto_spot_t source,
                           const pto_rows_t *from);
/* `kind` is PTO_KERNEL_SIGNAL or PTO_KERNEL_WAIT. */
bool pto_program_flag(pto_program_t *program, pto_kernel_kind_t kind, pto_spot_t flag);
/* A reduction without sources, which are then appended in order. To accumulate into the target, append the
 * target as its first source. */
bool pto_program_reduce(pto_program_t *program, pto_spot_t target, int64_t bytes);
bool pto_program_source(pto_program_t *program, pto_spot_t source, int64_t bytes);

/* Omits copies in a complete program: data that is copied into this process's own lines and read from there
 * once is read at its source instead. */
void pto_program_forward(pto_program_t *program);

/* Omits copies in a complete program without lines: a reduction stores its result to wherever the next op
 * would copy it. */
void pto_program_fuse(pto_program_t *program);

void pto_program_fini(pto_program_t *program);

#endif

/* Builds a kernel's program (kernel.h) operand by operand, and optimises it. */
#ifndef PTO_PROGRAM_H
#define PTO_PROGRAM_H

#include <stdbool.h>

#include "device/vector.h"
#include "portolan/kernel.h"

typedef struct {
    pto_vector_t ops;      /* pto_kernel_op_t */
    pto_vector_t operands; /* pto_operand_t */
} pto_program_t;

/* These append to the program; false: out of memory. Independent copies are merged into one op; source and
 * target of a copy have equal bytes in total. */
bool pto_program_move(pto_program_t *program, pto_spot_t target, const pto_rows_t *target_rows,
                      pto_spot_t source, const pto_rows_t *source_rows);
/* `kind` is PTO_KERNEL_SIGNAL or PTO_KERNEL_WAIT. */
bool pto_program_flag(pto_program_t *program, pto_kernel_kind_t kind, pto_spot_t flag);
/* Appends a reduction without sources; pto_program_source then appends these, in order. To accumulate into
 * the target, make the target the first source. */
bool pto_program_reduce(pto_program_t *program, pto_spot_t target, int64_t bytes);
bool pto_program_source(pto_program_t *program, pto_spot_t source, int64_t bytes);

/* Removes copies from a complete program: data that are copied into this process's own lines and read from
 * there once are read at their source instead. */
void pto_program_forward(pto_program_t *program);

/* Lets the reductions of a complete program without lines store where the next op would copy their result. */
void pto_program_fuse(pto_program_t *program);

void pto_program_fini(pto_program_t *program);

#endif

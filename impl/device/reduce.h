/* Copies and reductions on the CPU: target[i] = target[i] op source[i], for one source or several. The
 * operation takes the datatype (pto_op_takes) and is not an average. */
#ifndef PTO_REDUCE_H
#define PTO_REDUCE_H

#include "portolan/exec.h"

void pto_copy_host(const pto_move_t *move);

void pto_reduce_host(void *target, const void *source, size_t count, pto_datatype_t datatype, pto_op_t op);

/* `fresh`: overwrite the target with the reduction of the sources instead of accumulating. */
void pto_reduce_many_host(void *target, bool fresh, const void *const *source, int source_count, size_t count,
                          pto_datatype_t datatype, pto_op_t op);

/* target[i] = source[i] / divisor. */
void pto_divide_host(void *target, const void *source, size_t count, pto_datatype_t datatype,
                     int64_t divisor);

#endif

/* Reductions by the processor: target[i] = target[i] op source[i]. */
#ifndef PTO_REDUCE_H
#define PTO_REDUCE_H

#include "portolan/device.h"

void pto_reduce_host(void *target, const void *source, size_t count, pto_datatype_t datatype, pto_op_t op);

#endif

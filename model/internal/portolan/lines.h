/* The line format of kernels (docs/executing.md, 'Lines'): each line of data carries its own flag, as in
 * NCCL's LL protocol, so a run needs no other flags. Used by the executor, which stores one buffer in this
 * format, and by price, which charges such runs as a whole. */
#ifndef PORTOLAN_LINES_H
#define PORTOLAN_LINES_H

#include <limits.h>

#include "portolan/api.h"
#include "portolan/plan.h"

PTO_API_BEGIN

enum { PTO_LINES_NONE = -1, PTO_LINES_ANY = INT_MAX };

/* The most bytes, of a vector or per peer, for which the line format pays off on GPUs. */
enum { PTO_LINES_BYTES_MAX = 1 << 22 };

/* The buffer of a plan that this rank can store in line format, if that pays off up to `bytes_max` bytes per
 * vector or per peer. Returns its index, PTO_LINES_ANY if this rank has no constraint, or PTO_LINES_NONE if
 * no buffer qualifies. The plan uses line format if every rank returns the same index or PTO_LINES_ANY, and
 * at least one returns an index. */
int pto_lines(const pto_plan_t *plan, int64_t rank, int64_t bytes_max);

/* The buffer on which all ranks agree: its index, or PTO_LINES_NONE. */
int pto_plan_lines(const pto_plan_t *plan, int64_t bytes_max);

PTO_API_END

#endif

/* The line format of kernels (docs/executing.md, 'Lines'): data that carry their own flags, so that a run
 * needs no others. For the executor, which keeps a buffer so, and for prices, which charge such runs as a
 * whole. */
#ifndef PORTOLAN_LINES_H
#define PORTOLAN_LINES_H

#include <limits.h>

#include "portolan/api.h"
#include "portolan/plan.h"

PTO_API_BEGIN

enum { PTO_LINES_NONE = -1, PTO_LINES_ANY = INT_MAX };

/* The most bytes, of a vector or per peer, for which the line format pays off on GPUs. */
enum { PTO_LINES_BYTES_MAX = 1 << 22 };

/* Which buffer of a plan this rank could keep in line format, if that pays off for at most `bytes_max` bytes
 * per vector or per peer. Returns the buffer's index, PTO_LINES_ANY if this rank does not mind, or
 * PTO_LINES_NONE if no buffer qualifies. The plan uses the buffer if every rank returns the same index or
 * PTO_LINES_ANY, and at least one an index; its kernels then need no flags. */
int pto_lines(const pto_plan_t *plan, int64_t rank, int64_t bytes_max);

/* The buffer for lines of all ranks together: its index, or PTO_LINES_NONE. */
int pto_plan_lines(const pto_plan_t *plan, int64_t bytes_max);

PTO_API_END

#endif

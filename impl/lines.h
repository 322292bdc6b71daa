/* Which buffers can use the line format (kernel.h). */
#ifndef PTO_LINES_H
#define PTO_LINES_H

#include <limits.h>

#include "portolan/plan.h"

enum { PTO_LINES_NONE = -1, PTO_LINES_ANY = INT_MAX };

/* Which buffer of a plan this rank could keep in line format, if that pays off for at most `bytes_max` bytes
 * per vector or per peer. Returns the buffer's index, PTO_LINES_ANY if this rank does not mind, or
 * PTO_LINES_NONE if no buffer qualifies. The plan uses the buffer if every rank returns the same index or
 * PTO_LINES_ANY, and at least one an index; its kernels then need no flags. */
int pto_lines(const pto_plan_t *plan, int64_t rank, int64_t bytes_max);

#endif

/* Where data can carry their flags. */
#ifndef PTO_LINES_H
#define PTO_LINES_H

#include <limits.h>

#include "portolan/plan.h"

enum { PTO_LINES_NONE = -1, PTO_LINES_ANY = INT_MAX };

/* Which buffer of a plan can be lines (kernel.h), as far as this rank goes, if they are worth it for at most
 * so many bytes of a vector or to each: its number, PTO_LINES_ANY where nothing that the rank does speaks
 * against any, PTO_LINES_NONE where something does. It is the plan's where all ranks say the same number or
 * PTO_LINES_ANY; its kernels then need no flags. */
int pto_lines(const pto_plan_t *plan, int64_t rank, int64_t bytes_max);

#endif

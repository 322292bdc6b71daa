/* Proving a plan right, for all its ranks, without running it.
 *
 * Every rank is walked through every stage. Each byte range of each buffer is symbolic: never written, or the
 * set of owners whose input has been reduced into it and the place in their inputs that it comes from. Work
 * is done on ranges, so large blocks cost what small ones cost.
 *
 * What is proved:
 * - Sends match receives: in the same stage, in order between two ranks, of equal size. Messages stand only
 * in stages whose steps run at once (in a sequence they could block each other).
 * - Steps that run at once don't touch what another of them writes; no copy or reduction overlaps itself.
 * - No step reads bytes that nobody has written, leaves its buffer, uses a buffer that the rank does not
 * hold, or writes the user's input. Reductions combine equal places of their inputs, and no contribution
 * twice.
 * - Every wait ends: its signals were sent in the same stage or an earlier one. No signal is left over.
 * - Every output holds what the collective promises; but for allreduce, each of its bytes is written once.
 * - Where ranks use another's buffer (slices of the owner or a peer), any two accesses to the same bytes of
 * which one is a write are ordered, by vector clocks joined along messages and signals. The user counts: an
 * owner's input is written before its first stage, and after its last one its output is read and its input
 * overwritten. Runs follow each other without a barrier, so such a plan is walked twice, and accesses of the
 * two runs must be ordered as well. What a stage reads and writes counts as unordered with all that its own
 * messages cause. */
#ifndef PORTOLAN_CHECK_H
#define PORTOLAN_CHECK_H

#include "portolan/api.h"
#include "portolan/plan.h"

PTO_API_BEGIN

/* Clocks and contents grow with the square of the ranks. */
enum { PTO_CHECK_RANKS_MAX = 4096 };

/* How much was looked at. */
typedef struct {
    int64_t ranks;
    int64_t stages; /* each iteration of a loop counts */
    int64_t messages;
    int64_t moved_bytes; /* by messages, copies and reductions */
    int64_t accesses;    /* to buffers that several processes use */
} pto_check_report_t;

/* Errors: PTO_ERR_INVALID_PLAN with the rank, stage, iteration and cause; PTO_ERR_TOO_LARGE above
 * PTO_CHECK_RANKS_MAX ranks; PTO_ERR_MEMORY. */
pto_status_t pto_check(const pto_plan_t *plan, pto_check_report_t *report, pto_error_t *err);

PTO_API_END

#endif

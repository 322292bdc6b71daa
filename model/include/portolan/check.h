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
 * - Every output holds what the collective promises; but for reductions, each of its bytes is written once.
 *   In an allreduce all owners' contributions are combined in the same order, up to a op b = b op a, so that
 *   all get the same bits.
 * - Reductions take whole elements of the request's datatype. (A vector that is not whole elements counts as
 *   bytes; the executor refuses it.)
 * - Every collective node is one: its stages do what the node says, between the slices that it names, for all
 *   members of its group, and touch nothing else that the rest of the plan uses. The rest of the plan is
 *   proved with the collective's meaning in MPI alone: a member is ordered after those whose data it gets,
 * and a reduction in place leaves all vectors but the root's undefined.
 * - No rank waits for a flag that another raises in the same stage, if that one waits in this stage too:
 * price goes through a stage rank by rank.
 * - An executor can run it (pto_plan_runnable).
 * - Where ranks use another's buffer (slices of the owner or a peer), any two accesses to the same bytes of
 * which one is a write are ordered, by vector clocks joined along messages and signals. The user counts: an
 * owner's input is written before its first stage, and after its last one its output is read, and output and
 * input are overwritten. Runs follow each other without a barrier, so such a plan is walked twice, and
 * accesses of the two runs must be ordered as well. What a stage reads and writes counts as unordered with
 * all that its own messages cause. */
#ifndef PORTOLAN_CHECK_H
#define PORTOLAN_CHECK_H

#include "portolan/api.h"
#include "portolan/plan.h"

PTO_API_BEGIN

/* Clocks and contents grow with the square of the ranks. */
enum { PTO_CHECK_RANKS_MAX = 4096, PTO_CHECK_LIMIT = 100000000 };

/* How much was looked at. */
typedef struct {
    int64_t ranks;
    int64_t stages; /* each iteration of a loop counts */
    int64_t messages;
    int64_t moved_bytes; /* by messages, copies and reductions */
    int64_t accesses;    /* to buffers that several processes use */
} pto_check_report_t;

/* Whether checking the plan takes no more than about a minute and a gigabyte, counted before it is begun:
 * `limit` touches of blocks, messages and clocks, and a fifth of that kept (0: PTO_CHECK_LIMIT). pto_check
 * itself only looks at the number of ranks. Errors: PTO_ERR_TOO_LARGE with the counts and the limits. */
pto_status_t pto_check_size(const pto_plan_t *plan, int64_t limit, pto_error_t *err);

/* Errors: PTO_ERR_INVALID_PLAN with the rank, stage, iteration and cause; PTO_ERR_TOO_LARGE above
 * PTO_CHECK_RANKS_MAX ranks; PTO_ERR_MEMORY. */
pto_status_t pto_check(const pto_plan_t *plan, pto_check_report_t *report, pto_error_t *err);

PTO_API_END

#endif

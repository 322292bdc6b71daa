/* check: prove a plan correct for all its ranks, without running it.
 *
 * Every rank, or every rank of one node if all nodes do the same, is walked through every stage. Each byte
 * range of each buffer has a symbolic content: never written, or the set of owners whose input has been
 * reduced into it and the position in their inputs. The work is done on ranges, so large blocks cost as
 * little as small ones.
 *
 * What is proved:
 * - Sends match receives: in the same stage, in order between two ranks, of equal size. Messages are only in
 *   stages whose steps run at once (in a sequence they could block each other).
 * - A step does not touch what another step running at once writes; no copy or reduction overlaps itself.
 * - No step reads bytes that were never written, leaves its buffer, uses a buffer that the rank does not
 *   hold, or writes the user's input. Reductions combine equal positions of their inputs, and no contribution
 *   twice.
 * - Every wait ends: its signals were sent in the same stage or an earlier one. No signal is left over.
 * - Every output holds what the collective promises. Except in reductions, each of its bytes is written once.
 *   In an allreduce the contributions of all owners are combined in the same order, up to a op b = b op a, so
 *   all owners get the same bits.
 * - Reductions take whole elements of the request's datatype. (A vector that is not a whole number of
 *   elements is treated as bytes; the executor refuses it.)
 * - The stages of every collective node perform its collective, between the slices that it names, for all
 *   members of its group, and touch nothing else that the rest of the plan uses. The rest of the plan is
 *   proved from the collective's meaning in MPI alone: a member is ordered after those whose data it gets,
 *   and a reduction in place leaves all vectors but the root's undefined.
 * - No rank waits for a flag that another rank raises in the same stage if that one also waits in this stage,
 *   because price processes a stage rank by rank.
 * - An executor can run the plan (pto_plan_runnable).
 * - If ranks use buffers of others (slices of the owner or a peer), any two accesses to the same bytes, at
 *   least one of them a write, are ordered. This is checked with vector clocks joined along messages and
 *   signals: first with clocks over the ranks of one node, which share its memory; if that leaves accesses
 *   unordered, with clocks over all ranks. The user's accesses count: an owner's input is written before its
 *   first stage; after its last stage its output is read, and output and input are overwritten. Runs follow
 *   each other without a barrier, so such a plan is walked twice, and accesses of the two runs must be
 *   ordered as well. A stage's reads and writes count as unordered with everything caused by the stage's own
 *   messages. */
#ifndef PORTOLAN_CHECK_H
#define PORTOLAN_CHECK_H

#include <stdio.h>

#include "portolan/api.h"
#include "portolan/plan.h"

PTO_API_BEGIN

/* Limits: ranks of a plan; lanes of all ranks if vector clocks over all of them are needed, whose memory
 * grows with the square of that number; and the default work (pto_check_size). */
enum { PTO_CHECK_RANKS_MAX = 65536, PTO_CHECK_CLOCKS_MAX = 8192, PTO_CHECK_LIMIT = 100000000 };

/* Amount of work that was checked. */
typedef struct {
    int64_t ranks;
    int64_t stages; /* each iteration of a loop counts */
    int64_t messages;
    int64_t moved_bytes; /* by messages, copies and reductions */
    int64_t accesses;    /* to buffers that several processes use */
    int assignments; /* choices of branches in either nodes for which the plan was walked; 1 without any */
} pto_check_report_t;

/* Estimate in advance whether checking the plan stays within about a minute and a gigabyte: at most `limit`
 * accesses to blocks, messages and clocks (0: PTO_CHECK_LIMIT), and a fifth as many kept in memory.
 * `*touched` sums the accesses over several plans and may be NULL. pto_check itself only limits the number of
 * ranks. Errors: PTO_ERR_TOO_LARGE with the counts and the limits. */
pto_status_t pto_check_size(const pto_plan_t *plan, int64_t limit, int64_t *touched, pto_error_t *err);

/* Errors: PTO_ERR_INVALID_PLAN with the rank, stage, iteration and cause; PTO_ERR_TOO_LARGE above
 * PTO_CHECK_RANKS_MAX ranks, or if the order has to be proved among all for more than PTO_CHECK_CLOCKS_MAX
 * lanes; PTO_ERR_MEMORY. */
pto_status_t pto_check(const pto_plan_t *plan, pto_check_report_t *report, pto_error_t *err);

/* Longer lists are truncated, and the text says how much was omitted. */
enum {
    PTO_PRINT_PEERS_MAX = 6,       /* peers of one step */
    PTO_PRINT_RANGES_MAX = 3,      /* byte ranges of one slice */
    PTO_PRINT_ITERATIONS_MAX = 64, /* of an unrolled loop */
    PTO_PRINT_SIZES_MAX = 4096,    /* messages of one step whose sizes are examined */
};

/* Print what `rank` does. A loop is printed once, with peers and blocks as expressions in k. With `unroll`
 * every iteration is printed, with the peers' ranks and places and the byte ranges. The caller frees `*text`
 * with free(). Errors: PTO_ERR_RANGE for a rank that the layout does not have, PTO_ERR_MEMORY. */
pto_status_t pto_print(const pto_plan_t *plan, int64_t rank, bool unroll, char **text, pto_error_t *err);

/* Write the messages of all ranks as a GOAL schedule in LogGOPSim's text form (T. Hoefler, T. Schneider, A.
 * Lumsdaine, "LogGOPSim", LSAP 2010), with the stage's instance as tag. A rank's messages of one stage
 * require those of its previous stage; copies and reductions are left out. Errors: PTO_ERR_NOT_APPLICABLE if
 * the plan has no messages, if NCCL sends them, or if stages overlap. The caller checks the stream. */
pto_status_t pto_print_goal(const pto_plan_t *plan, FILE *stream, pto_error_t *err);

PTO_API_END

#endif

/* Phrases that describe a plan's arithmetic, for print.c. */
#ifndef PTO_PRINT_TEXT_H
#define PTO_PRINT_TEXT_H

#include "base/text.h"
#include "portolan/plan.h"

/* "48 KiB" or "97 B". */
void pto_text_bytes(pto_text_t *text, int64_t bytes);

/* Returns the name of a group's members: "owner", "GPU", "core", or the name for members that remain after
 * folding. */
const char *pto_text_member(const pto_group_t *group);

/* "GPU (me + k) mod 12": the peers of the acting rank, whose core is known. */
void pto_text_peers(pto_text_t *text, const pto_plan_t *plan, const pto_action_t *action);

/* "in[block of peer]". */
void pto_text_slice(pto_text_t *text, const pto_plan_t *plan, const pto_slice_t *slice,
                    const pto_action_t *action);

/* "rank 14 (node 1, GPU 0, core 2)" */
void pto_text_rank(pto_text_t *text, const pto_plan_t *plan, int64_t rank);

#endif

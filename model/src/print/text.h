/* Appends phrases that describe the arithmetic of a plan (peers, slices) to a text, for print.c. `me` is the
 * index of the acting rank in the step's group, k the iteration of the loop. */
#ifndef PTO_PRINT_TEXT_H
#define PTO_PRINT_TEXT_H

#include "base/text.h"
#include "portolan/plan.h"

/* "48 KiB" or "97 B". */
void pto_text_bytes(pto_text_t *text, int64_t bytes);

/* Returns the name of a group's members: "owner", "GPU", "core", or one for members left after folding. */
const char *pto_text_member(const pto_group_t *group);

/* "GPU (me + k) mod 12": the peers of the acting rank, whose core is known. */
void pto_text_peers(pto_text_t *text, const pto_plan_t *plan, const pto_action_t *action);

/* "in[block of peer]". */
void pto_text_slice(pto_text_t *text, const pto_plan_t *plan, const pto_slice_t *slice,
                    const pto_action_t *action);

/* "rank 14 (1 0 2)": its node, GPU and core. */
void pto_text_rank(pto_text_t *text, const pto_plan_t *plan, int64_t rank);

#endif

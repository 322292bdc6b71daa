/* Which buffers can use the line format (kernel.h).
 *
 * A flag orders all stores before it. So the memory system must have confirmed every store to another GPU
 * before the flag may follow: a round trip. Data that carry their own flags need only one way. But they
 * order nothing else. So lines can replace a plan's flags only if they imply the same order: in a kernel
 * whose processes access each other's memory only to store into one buffer, and store to exactly the peers
 * that they signal and wait for.
 *
 * The buffer must be double-buffered. Before a process stores in a run, it has received the previous run's
 * lines from the owners of that memory, just as it would have received their flags. What the owners still
 * read is the other copy. */
#include "lines.h"

#include <stdlib.h>

#include "portolan/kernel.h"

/* What is known about a rank as a peer. */
enum { STORED_TO = 1, SIGNALLED = 2, WAITED_FOR = 4, ALL = 7 };

typedef struct {
    const pto_plan_t *plan;
    int64_t rank;
    int64_t bytes_max;
    int buffer;           /* the remote buffer that is stored into; PTO_LINES_ANY: none so far */
    unsigned char *peers; /* by rank */
    bool refused;
} look_t;

/* Whether the buffer is double-buffered, its equal blocks fill whole lines, and no element takes two. */
static bool can_be_lines(const look_t *look, int buffer) {
    const pto_request_t *request = pto_plan_request(look->plan);
    const pto_buffer_t *what = pto_plan_buffer(look->plan, buffer);
    return what->role == PTO_ROLE_TEMPORARY && what->double_buffered && what->blocks == PTO_BLOCKS_EQUAL &&
           what->cyclic == PTO_CYCLIC_NONE && what->block_bytes == request->bytes &&
           request->bytes % PTO_LINE_DATA_BYTES == 0 && request->bytes <= look->bytes_max &&
           pto_datatype_bytes(request->datatype) <= PTO_LINE_DATA_BYTES;
}

static bool elsewhere(const look_t *look, const pto_slice_t *slice, const pto_action_t *action) {
    return pto_slice_holder(look->plan, slice, action) != look->rank;
}

static void look_at_copy(look_t *look, const pto_action_t *action) {
    const pto_step_t *step = action->step;
    if (!elsewhere(look, &step->target, action))
        return;
    if (look->buffer == PTO_LINES_ANY && can_be_lines(look, step->target.buffer))
        look->buffer = step->target.buffer;
    look->refused |= look->buffer != step->target.buffer;
    look->peers[pto_slice_holder(look->plan, &step->target, action)] |= STORED_TO;
}

static void look_at(look_t *look, const pto_action_t *action) {
    const pto_step_t *step = action->step;
    const pto_slice_t *source = pto_step_source(step), *target = pto_step_target(step);
    bool copies = step->kind == PTO_STEP_COPY;
    if (step->kind == PTO_STEP_LAUNCH)
        return;
    look->refused |= !step->in_kernel || (source && elsewhere(look, source, action)) ||
                     (target && !copies && elsewhere(look, target, action));
    if (copies)
        look_at_copy(look, action);
    else if (step->kind == PTO_STEP_SIGNAL)
        look->peers[action->peer_rank] |= SIGNALLED;
    else if (step->kind == PTO_STEP_WAIT)
        look->peers[action->peer_rank] |= WAITED_FOR;
}

static void look_at_step(look_t *look, const pto_step_t *step, int64_t k) {
    const pto_plan_t *plan = look->plan;
    pto_action_t action;
    if (!pto_step_acts(plan, step, look->rank, k, &action))
        return;
    for (int64_t next = 0; pto_step_next(plan, &next, &action);)
        look_at(look, &action);
}

/* Only copies from other buffers may write a buffer in line format. */
static bool used_as_lines_are(const pto_plan_t *plan, int buffer) {
    pto_walk_t walk;
    pto_walk_begin(&walk, plan);
    while (pto_walk_next(&walk))
        for (int i = 0; i < walk.stage->step_count; i++) {
            const pto_step_t *step = pto_plan_step(plan, walk.stage->step_first + i);
            if (pto_step_writes(step, buffer) &&
                (step->kind != PTO_STEP_COPY || pto_step_reads(step, buffer)))
                return false;
        }
    return true;
}

int pto_lines(const pto_plan_t *plan, int64_t rank, int64_t bytes_max) {
    look_t look = {.plan = plan, .rank = rank, .bytes_max = bytes_max, .buffer = PTO_LINES_ANY};
    int64_t ranks = pto_layout_rank_count(&pto_plan_request(plan)->layout);
    look.peers = calloc((size_t)ranks, 1);
    if (!look.peers)
        return PTO_LINES_NONE; /* flags do as well */
    pto_walk_t walk;
    pto_walk_begin(&walk, plan);
    while (pto_walk_next(&walk))
        for (int i = 0; i < walk.stage->step_count; i++)
            look_at_step(&look, pto_plan_step(plan, walk.stage->step_first + i), walk.k);
    for (int64_t peer = 0; peer < ranks; peer++)
        look.refused |= look.peers[peer] != 0 && look.peers[peer] != ALL;
    free(look.peers);
    bool refused = look.refused || (look.buffer != PTO_LINES_ANY && !used_as_lines_are(plan, look.buffer));
    return refused ? PTO_LINES_NONE : look.buffer;
}

/* Which buffers can use the line format.
 *
 * A flag orders all stores before it. So the memory system must have confirmed every store to another GPU
 * before the flag may follow: a round trip. Data that carry their own flags need only one way. But they
 * order nothing else. So lines can replace a plan's flags only if they imply the same order: in a kernel
 * whose processes access each other's memory only to store into one buffer, and store to exactly the peers
 * that they signal and wait for.
 *
 * A process stores all that it stores before it waits: part by part, or unit by unit, as a kernel likes. One
 * that waited for another process's part before it stored its own could wait for ever for one that does the
 * same.
 *
 * The buffer must be double-buffered. Before a process stores in a run, it has received the previous run's
 * lines from the owners of that memory, just as it would have received their flags. What the owners still
 * read is the other copy. A process has received lines only if it reads them, so all that others store must
 * be read. And it must be written once: a line tells a reader of which run it is, not whether something else
 * will be stored in its place.
 *
 * In an alltoallv, every block has a size of its own, and a pair may exchange nothing: then neither process
 * accesses the other's memory, and they need no order. If only one of them sends, flags remain, because the
 * sender would not know that the receiver has read what it stored two runs before. */
#include "portolan/lines.h"

#include <stdlib.h>

#include "base/grow.h"
#include "plan/plan_internal.h"

/* Properties of a rank as a peer. EMPTY: a store to it has no bytes. */
enum { STORED_TO = 1, SIGNALLED = 2, WAITED_FOR = 4, EMPTY = 8 };
enum { ALL = STORED_TO | SIGNALLED | WAITED_FOR, NO_BYTES = EMPTY | SIGNALLED | WAITED_FOR };

typedef struct {
    const pto_plan_t *plan;
    int64_t rank;
    int64_t bytes_max;
    int buffer;           /* the remote buffer that is stored into; PTO_LINES_ANY: none so far */
    unsigned char *peers; /* by rank */
    bool waited;
    bool refused;
} look_t;

/* Returns whether the buffer has what an alltoallv's processes send to its holder, in different sizes. */
static bool is_by_pair(const pto_plan_t *plan, int buffer) {
    return pto_plan_buffer(plan, buffer)->blocks == PTO_BLOCKS_COLUMN &&
           pto_collective_is_by_pair(pto_plan_request(plan)->collective);
}

static bool can_be_lines(const look_t *look, int buffer) {
    const pto_request_t *request = pto_plan_request(look->plan);
    const pto_buffer_t *what = pto_plan_buffer(look->plan, buffer);
    bool by_pair = is_by_pair(look->plan, buffer);
    bool equal = what->blocks == PTO_BLOCKS_EQUAL && what->block_bytes == request->bytes;
    int64_t most_bytes = by_pair ? pto_request_largest_bytes(request) : request->bytes;
    return what->role == PTO_ROLE_TEMPORARY && what->double_buffered && (equal || by_pair) &&
           what->cyclic == PTO_CYCLIC_NONE && what->split <= 1 && what->chunks == 0 && most_bytes > 0 &&
           most_bytes <= look->bytes_max;
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
    look->refused |= look->buffer != step->target.buffer || look->waited;
    look->peers[pto_slice_holder(look->plan, &step->target, action)] |=
        pto_slice_bytes(look->plan, &step->target, action) > 0 ? STORED_TO : EMPTY;
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
    else if (step->kind == PTO_STEP_WAIT) {
        look->peers[action->peer_rank] |= WAITED_FOR;
        look->waited = true;
    }
}

static void look_at_step(look_t *look, const pto_step_t *step, int64_t k) {
    const pto_plan_t *plan = look->plan;
    pto_action_t action;
    if (!pto_step_acts(plan, step, look->rank, k, &action))
        return;
    for (int64_t next = 0; pto_step_next(plan, &next, &action);)
        look_at(look, &action);
}

/* Returns whether a step of a rank stores anything into the memory of another. */
static bool step_stores_to(const pto_plan_t *plan, const pto_step_t *step, int64_t k, int64_t rank,
                           int64_t other) {
    pto_action_t action;
    bool stores = false;
    if (step->kind != PTO_STEP_COPY || !pto_step_acts(plan, step, rank, k, &action))
        return false;
    for (int64_t next = 0; !stores && pto_step_next(plan, &next, &action);)
        stores = pto_slice_holder(plan, &step->target, &action) == other &&
                 pto_slice_bytes(plan, &step->target, &action) > 0;
    return stores;
}

static bool stores_to(const pto_plan_t *plan, int64_t rank, int64_t other) {
    bool stores = false;
    pto_walk_t walk;
    pto_walk_begin(&walk, plan);
    while (!stores && pto_walk_next(&walk))
        for (int i = 0; i < walk.stage->step_count && !stores; i++)
            stores =
                step_stores_to(plan, pto_plan_step(plan, walk.stage->step_first + i), walk.k, rank, other);
    return stores;
}

/* Returns whether lines order this rank and a peer as the plan's flags do. */
static bool needs_no_flags(const look_t *look, int64_t peer) {
    unsigned known = look->peers[peer];
    return known == 0 || known == ALL || (known == NO_BYTES && !stores_to(look->plan, peer, look->rank));
}

/* Only copies from other buffers may write a buffer in line format. Other buffers of a kernel have one copy:
 * where it loads from must not wait for the run's number, which has to be loaded. */
static bool used_as_lines_are(const pto_plan_t *plan, const pto_step_t *step, int buffer) {
    const pto_slice_t *slice[] = {pto_step_source(step), pto_step_target(step)};
    for (int i = 0; i < 2; i++)
        if (slice[i] && slice[i]->buffer != buffer &&
            pto_plan_buffer(plan, slice[i]->buffer)->double_buffered)
            return false;
    return !pto_step_writes(step, buffer) || (step->kind == PTO_STEP_COPY && !pto_step_reads(step, buffer));
}

typedef struct {
    int64_t block_bytes;
    bool in_lines;
    bool whole;
} blocks_t;

/* Ranges in line format begin with a block, too; others only are as long. */
static bool visit_blocks(void *context, int64_t offset_bytes, int64_t bytes) {
    blocks_t *blocks = context;
    blocks->whole =
        bytes % blocks->block_bytes == 0 && (!blocks->in_lines || offset_bytes % blocks->block_bytes == 0);
    return blocks->whole;
}

static bool count_ranges(void *context, int64_t offset_bytes, int64_t bytes) {
    int *ranges = context;
    (void)offset_bytes;
    (void)bytes;
    return ++*ranges <= 1;
}

static bool is_one_block(const pto_slice_t *slice, const pto_action_t *action) {
    return slice->parts == 0 && slice->share == PTO_SHARE_ALL && slice->chunks <= 1 && slice->bundle <= 1 &&
           slice->fold == 0 && slice->cells == PTO_CELLS_NONE &&
           pto_slice_block_count(slice, action->k, action->core, action->peer) == 1;
}

/* Returns whether an action uses one block of the buffer, out of or into one range. Blocks of different sizes
 * are not told apart in a longer one. */
static bool by_single_blocks(const pto_plan_t *plan, const pto_action_t *action, int buffer) {
    const pto_slice_t *slice[] = {pto_step_source(action->step), pto_step_target(action->step)};
    bool single = true;
    for (int i = 0; i < 2 && single; i++) {
        int ranges = 0;
        pto_slice_visit(plan, slice[i], action, count_ranges, &ranges);
        single = ranges <= 1 && (slice[i]->buffer != buffer || is_one_block(slice[i], action));
    }
    return single;
}

/* Returns whether an action copies or reduces whole blocks of the buffer, out of or into pieces that are as
 * long. */
static bool by_whole_blocks(const pto_plan_t *plan, const pto_action_t *action, int buffer) {
    if (is_by_pair(plan, buffer))
        return by_single_blocks(plan, action, buffer);
    const pto_slice_t *slice[] = {pto_step_source(action->step), pto_step_target(action->step)};
    blocks_t blocks = {.block_bytes = pto_plan_buffer(plan, buffer)->block_bytes, .whole = true};
    for (int i = 0; i < 2 && blocks.whole; i++) {
        blocks.in_lines = slice[i]->buffer == buffer;
        pto_slice_visit(plan, slice[i], action, visit_blocks, &blocks);
    }
    return blocks.whole;
}

static bool step_allows_lines(const pto_plan_t *plan, const pto_step_t *step, int64_t rank, int64_t k,
                              int buffer) {
    pto_action_t action;
    bool allows = used_as_lines_are(plan, step, buffer);
    bool uses = pto_step_writes(step, buffer) || pto_step_reads(step, buffer);
    if (!allows || !uses || !pto_step_acts(plan, step, rank, k, &action))
        return allows;
    for (int64_t next = 0; allows && pto_step_next(plan, &next, &action);)
        allows = by_whole_blocks(plan, &action, buffer);
    return allows;
}

static bool plan_allows_lines(const pto_plan_t *plan, int64_t rank, int buffer) {
    bool allows = true;
    pto_walk_t walk;
    pto_walk_begin(&walk, plan);
    while (allows && pto_walk_next(&walk))
        for (int i = 0; i < walk.stage->step_count && allows; i++)
            allows = step_allows_lines(plan, pto_plan_step(plan, walk.stage->step_first + i), rank, walk.k,
                                       buffer);
    return allows;
}

/* --- written once, and read ----------------------------------------------------------------------------- */

/* Bytes of the rank's own buffer. */
typedef struct {
    int64_t begin;
    int64_t end;
    bool by_other; /* stored by another rank */
} range_t;

typedef struct {
    range_t *item;
    int count;
    size_t capacity;
    bool by_other; /* the next ones */
    bool out_of_memory;
} ranges_t;

static bool add_range(void *context, int64_t offset_bytes, int64_t bytes) {
    ranges_t *ranges = context;
    if (!PTO_RESERVE(ranges->item, ranges->capacity, ranges->count + 1)) {
        ranges->out_of_memory = true;
        return false;
    }
    ranges->item[ranges->count++] = (range_t){offset_bytes, offset_bytes + bytes, ranges->by_other};
    return true;
}

static int by_begin(const void *left, const void *right) {
    const range_t *a = left, *b = right;
    return (a->begin > b->begin) - (a->begin < b->begin);
}

static void sort(ranges_t *ranges) {
    if (ranges->count > 1)
        qsort(ranges->item, (size_t)ranges->count, sizeof *ranges->item, by_begin);
}

/* Writes to and reads from one rank's buffer in a run. */
typedef struct {
    const pto_plan_t *plan;
    int64_t rank;
    int buffer;
    ranges_t written;
    ranges_t read;
} traffic_t;

static void add_action(traffic_t *traffic, const pto_action_t *action) {
    const pto_step_t *step = action->step;
    traffic->written.by_other = action->rank != traffic->rank;
    if (pto_step_writes(step, traffic->buffer) &&
        pto_slice_holder(traffic->plan, &step->target, action) == traffic->rank)
        pto_slice_visit(traffic->plan, &step->target, action, add_range, &traffic->written);
    if (pto_step_reads(step, traffic->buffer) &&
        pto_slice_holder(traffic->plan, &step->source, action) == traffic->rank)
        pto_slice_visit(traffic->plan, &step->source, action, add_range, &traffic->read);
}

/* Others use the buffer only as its holder is their peer, whom only a torus meets several times. */
static void add_step(traffic_t *traffic, const pto_step_t *step, int64_t rank, int64_t k) {
    pto_action_t action;
    if (!(pto_step_writes(step, traffic->buffer) || pto_step_reads(step, traffic->buffer)) ||
        !pto_step_acts(traffic->plan, step, rank, k, &action))
        return;
    bool meets_once = rank != traffic->rank && step->target.holder == PTO_HOLDER_PEER &&
                      step->peers.kind != PTO_PEERS_TORUS;
    if (meets_once) {
        if (pto_step_reaches(traffic->plan, &action, traffic->rank))
            add_action(traffic, &action);
        return;
    }
    for (int64_t next = 0; pto_step_next(traffic->plan, &next, &action);)
        add_action(traffic, &action);
}

static void find_traffic(traffic_t *traffic) {
    int64_t ranks = pto_layout_rank_count(&pto_plan_request(traffic->plan)->layout);
    pto_walk_t walk;
    pto_walk_begin(&walk, traffic->plan);
    while (pto_walk_next(&walk))
        for (int i = 0; i < walk.stage->step_count; i++)
            for (int64_t rank = 0; rank < ranks; rank++)
                add_step(traffic, pto_plan_step(traffic->plan, walk.stage->step_first + i), rank, walk.k);
}

static bool are_apart(const ranges_t *sorted) {
    bool apart = true;
    for (int i = 1; i < sorted->count; i++)
        apart = apart && sorted->item[i - 1].end <= sorted->item[i].begin;
    return apart;
}

/* Returns whether all that others store is read. Both are sorted. */
static bool are_read(const ranges_t *written, const ranges_t *read) {
    int64_t first = 0, until = 0; /* read without a gap */
    for (int i = 0, j = 0; i < written->count; i++) {
        const range_t *range = &written->item[i];
        for (; j < read->count; j++) {
            const range_t *next = &read->item[j];
            if (next->begin > range->begin && next->begin > until)
                break;
            first = next->begin <= until ? first : next->begin;
            until = next->end > until ? next->end : until;
        }
        if (range->by_other && (range->begin < first || range->end > until))
            return false;
    }
    return true;
}

static bool is_written_once_and_read(const pto_plan_t *plan, int64_t rank, int buffer) {
    traffic_t traffic = {.plan = plan, .rank = rank, .buffer = buffer};
    find_traffic(&traffic);
    sort(&traffic.written);
    sort(&traffic.read);
    bool right = !traffic.written.out_of_memory && !traffic.read.out_of_memory &&
                 are_apart(&traffic.written) && are_read(&traffic.written, &traffic.read);
    free(traffic.written.item);
    free(traffic.read.item);
    return right;
}

/* Returns whether a rank that stores to no other uses each buffer that others may choose for lines in the way
 * of lines. */
static bool allows_any_lines(const look_t *look) {
    bool allows = true;
    for (int buffer = 0; buffer < pto_plan_buffer_count(look->plan) && allows; buffer++)
        allows = !can_be_lines(look, buffer) || plan_allows_lines(look->plan, look->rank, buffer);
    return allows;
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
        look.refused |= !needs_no_flags(&look, peer);
    free(look.peers);
    bool allows = !look.refused &&
                  (look.buffer == PTO_LINES_ANY ? allows_any_lines(&look)
                                                : plan_allows_lines(plan, rank, look.buffer) &&
                                                      is_written_once_and_read(plan, rank, look.buffer));
    return allows ? look.buffer : PTO_LINES_NONE;
}

int pto_plan_lines(const pto_plan_t *plan, int64_t bytes_max) {
    int64_t ranks = pto_layout_rank_count(&pto_plan_request(plan)->layout);
    int lines = PTO_LINES_ANY;
    for (int64_t rank = 0; rank < ranks && lines != PTO_LINES_NONE; rank++) {
        int own = pto_lines(plan, rank, bytes_max);
        bool differs = own != PTO_LINES_ANY && lines != PTO_LINES_ANY && own != lines;
        lines = differs ? PTO_LINES_NONE : own < lines ? own : lines;
    }
    return lines == PTO_LINES_ANY ? PTO_LINES_NONE : lines;
}

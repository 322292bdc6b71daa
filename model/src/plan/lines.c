/* Decides which buffer of a plan's kernel can be stored in line format (portolan/lines.h). In this format,
 * every line of data carries its own flag: the number of the run that stored it. A reader polls each line
 * until it has the number of the current run. For example, in an allgather each kernel stores its block into
 * the buffer of every peer, and then copies the blocks of the peers out of its own buffer:
 *     with flags   store the block; wait until it is stored; store the flag       peer: wait for the flag
 *     with lines   store (data, run), (data, run), ...                            peer: poll every line
 *
 * A separate flag may be stored only after the memory system has confirmed all earlier stores, which takes a
 * round trip. Lines save this round trip, but a line orders nothing but itself. Lines can therefore replace a
 * plan's flags only under these conditions:
 * - Processes access each other's memory only to store into one buffer.
 * - Each process stores to exactly the peers that it signals and waits for.
 * - Each process stores all of its data before it waits for data of others. Otherwise kernels could deadlock.
 * - The buffer is double-buffered. Before a process stores in run r, it has received the lines of run r - 1
 *   from the owner of that memory. The owner has then finished reading the copy of run r - 2, which run r
 *   overwrites.
 * - All bytes that others store are read, since a process has received only the lines that it has read.
 * - All bytes are written once per run. A line does not tell whether it will be overwritten in the same run.
 *
 * In an alltoallv, every block has its own size. Two processes that exchange nothing do not access each
 * other's memory, and need no order. If only one of the two sends, flags remain: the sender could not know
 * whether the receiver has read the data of two runs before. */
#include "portolan/lines.h"

#include <stdlib.h>

#include "base/grow.h"
#include "plan/plan_internal.h"

/* What a rank does with a peer, as bits. STORED_NOTHING: it has a copy of 0 bytes to the peer, as in an
 * alltoallv. */
enum { STORED_TO = 1, SIGNALLED = 2, WAITED_FOR = 4, STORED_NOTHING = 8 };
enum { BOTH_FLAGS = SIGNALLED | WAITED_FOR };

/* What one rank does in the plan, collected action by action in the order of the plan. */
typedef struct {
    const pto_plan_t *plan;
    int64_t rank;
    int64_t bytes_max;    /* per vector or per peer (pto_lines) */
    int buffer;           /* the remote buffer that is stored into; PTO_LINES_ANY: none so far */
    unsigned char *peers; /* by rank: the bits above */
    bool waited;          /* an earlier action was a wait */
    bool refused;         /* an action violates a condition */
} analysis_t;

/* Returns whether the buffer's blocks are what the processes of an alltoallv send to its holder. */
static bool is_by_pair(const pto_plan_t *plan, int buffer) {
    return pto_plan_buffer(plan, buffer)->blocks == PTO_BLOCKS_COLUMN &&
           pto_collective_is_by_pair(pto_plan_request(plan)->collective);
}

/* Returns whether a buffer can be in line format, whatever the plan does with it. */
static bool suits_lines(const analysis_t *analysis, int buffer) {
    const pto_request_t *request = pto_plan_request(analysis->plan);
    const pto_buffer_t *buf = pto_plan_buffer(analysis->plan, buffer);
    bool by_pair = is_by_pair(analysis->plan, buffer);
    bool equal = buf->blocks == PTO_BLOCKS_EQUAL && buf->block_bytes == request->bytes;
    int64_t max_bytes = by_pair ? pto_request_largest_bytes(request) : request->bytes;
    return buf->role == PTO_ROLE_TEMPORARY && buf->double_buffered && (equal || by_pair) &&
           buf->cyclic == PTO_CYCLIC_NONE && buf->split <= 1 && buf->chunks == 0 && max_bytes > 0 &&
           max_bytes <= analysis->bytes_max;
}

static bool is_remote(const analysis_t *analysis, const pto_slice_t *slice, const pto_action_t *action) {
    return pto_slice_holder(analysis->plan, slice, action) != analysis->rank;
}

/* Notes a copy. A copy to a peer must be to the one buffer, and before any wait. */
static void note_copy(analysis_t *analysis, const pto_action_t *action) {
    const pto_step_t *step = action->step;
    if (!is_remote(analysis, &step->target, action))
        return;
    if (analysis->buffer == PTO_LINES_ANY && suits_lines(analysis, step->target.buffer))
        analysis->buffer = step->target.buffer;
    analysis->refused |= analysis->buffer != step->target.buffer || analysis->waited;
    analysis->peers[pto_slice_holder(analysis->plan, &step->target, action)] |=
        pto_slice_bytes(analysis->plan, &step->target, action) > 0 ? STORED_TO : STORED_NOTHING;
}

/* Notes an action. Only copies may access the memory of a peer, and only to store into it. */
static void note_action(analysis_t *analysis, const pto_action_t *action) {
    const pto_step_t *step = action->step;
    const pto_slice_t *source = pto_step_source(step), *target = pto_step_target(step);
    bool copies = step->kind == PTO_STEP_COPY;
    analysis->refused |= !step->in_kernel || (source && is_remote(analysis, source, action)) ||
                         (target && !copies && is_remote(analysis, target, action));
    if (copies)
        note_copy(analysis, action);
    else if (step->kind == PTO_STEP_SIGNAL)
        analysis->peers[action->peer_rank] |= SIGNALLED;
    else if (step->kind == PTO_STEP_WAIT) {
        analysis->peers[action->peer_rank] |= WAITED_FOR;
        analysis->waited = true;
    }
}

/* Returns whether a rank stores anything into the memory of another. */
static bool stores_to(const pto_plan_t *plan, int64_t rank, int64_t other) {
    bool stores = false;
    pto_actions_t copies;
    pto_actions_begin(&copies, plan, rank, 1u << PTO_STEP_COPY);
    while (!stores && pto_actions_next(&copies)) {
        const pto_slice_t *target = &copies.action.step->target;
        stores = pto_slice_holder(plan, target, &copies.action) == other &&
                 pto_slice_bytes(plan, target, &copies.action) > 0;
    }
    return stores;
}

/* Returns whether lines order this rank and a peer as the plan's flags do. They do if both do nothing with
 * each other, if the rank stores to the peer and both wait for each other, or if neither has data for the
 * other. */
static bool needs_no_flags(const analysis_t *analysis, int64_t peer) {
    unsigned done = analysis->peers[peer];
    return done == 0 || done == (STORED_TO | BOTH_FLAGS) ||
           (done == (STORED_NOTHING | BOTH_FLAGS) && !stores_to(analysis->plan, peer, analysis->rank));
}

/* Returns whether the plan may contain this step if `buffer` is in line format. Only copies from other
 * buffers may write it. No other buffer may be double-buffered, since the addresses of its loads would depend
 * on the run. */
static bool allows_lines(const pto_plan_t *plan, const pto_step_t *step, int buffer) {
    const pto_slice_t *slice[] = {pto_step_source(step), pto_step_target(step)};
    for (int i = 0; i < 2; i++)
        if (slice[i] && slice[i]->buffer != buffer &&
            pto_plan_buffer(plan, slice[i]->buffer)->double_buffered)
            return false;
    return !pto_step_writes(step, buffer) || (step->kind == PTO_STEP_COPY && !pto_step_reads(step, buffer));
}

/* The state of visit_blocks, which finds whether ranges have the length of whole blocks. */
typedef struct {
    int64_t block_bytes;
    bool in_lines; /* the ranges are of the buffer in line format, so they also have to begin at a block */
    bool whole;
} blocks_t;

static bool visit_blocks(void *context, int64_t offset_bytes, int64_t bytes) {
    blocks_t *blocks = context;
    blocks->whole =
        bytes % blocks->block_bytes == 0 && (!blocks->in_lines || offset_bytes % blocks->block_bytes == 0);
    return blocks->whole;
}

/* Counts ranges; stops at the second one. */
static bool count_ranges(void *context, int64_t offset_bytes, int64_t bytes) {
    int *ranges = context;
    (void)offset_bytes;
    (void)bytes;
    ++*ranges;
    return *ranges <= 1;
}

static bool is_one_block(const pto_slice_t *slice, const pto_action_t *action) {
    return slice->parts == 0 && slice->share == PTO_SHARE_ALL && slice->chunks <= 1 && slice->bundle <= 1 &&
           slice->fold == 0 && slice->cells == PTO_CELLS_NONE &&
           pto_slice_block_count(slice, action->k, action->core, action->peer) == 1;
}

/* Returns whether an action copies or reduces one block of the buffer, from or to one contiguous range.
 * Blocks of different sizes need that. */
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

/* Returns whether an action copies or reduces whole blocks of the buffer, from or to ranges of the same
 * lengths. */
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

static bool plan_allows_lines(const pto_plan_t *plan, int64_t rank, int buffer) {
    bool allows = true;
    for (int i = 0; i < plan->steps.count && allows; i++)
        allows = allows_lines(plan, pto_step_at(plan, i), buffer);
    pto_actions_t actions;
    pto_actions_begin(&actions, plan, rank, 1u << PTO_STEP_COPY | 1u << PTO_STEP_REDUCE);
    while (allows && pto_actions_next(&actions)) {
        const pto_step_t *step = actions.action.step;
        bool uses = pto_step_writes(step, buffer) || pto_step_reads(step, buffer);
        allows = !uses || by_whole_blocks(plan, &actions.action, buffer);
    }
    return allows;
}

/* A range of the rank's own buffer, in bytes. */
typedef struct {
    int64_t begin;
    int64_t end;
    bool by_other; /* stored by another rank */
} range_t;

typedef struct {
    range_t *item;
    int count;
    size_t capacity;
    bool by_other; /* for the next ranges that add_range adds */
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

static void sort_ranges(ranges_t *ranges) {
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

/* Adds the accesses of `rank` to the buffer of traffic->rank. Another rank accesses it as the memory of a
 * peer. Except in a torus, it has this peer at most once, so a search replaces the loop over peers. */
static void add_step(traffic_t *traffic, const pto_step_t *step, int64_t rank, int64_t k) {
    pto_action_t action;
    if (!(pto_step_writes(step, traffic->buffer) || pto_step_reads(step, traffic->buffer)) ||
        !pto_step_acts(traffic->plan, step, rank, k, &action))
        return;
    bool is_peer_once = rank != traffic->rank && step->target.holder == PTO_HOLDER_PEER &&
                        step->peers.kind != PTO_PEERS_TORUS;
    if (is_peer_once) {
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

static bool are_disjoint(const ranges_t *sorted) {
    for (int i = 1; i < sorted->count; i++)
        if (sorted->item[i - 1].end > sorted->item[i].begin)
            return false;
    return true;
}

/* Returns whether all bytes that other ranks store are read. Both lists are sorted. */
static bool are_read(const ranges_t *written, const ranges_t *read) {
    int64_t first = 0, until = 0; /* reads cover [first, until) without a gap */
    int j = 0;                    /* number of reads merged into it so far */
    for (int i = 0; i < written->count; i++) {
        const range_t *range = &written->item[i];
        for (; j < read->count; j++) { /* merge the reads that begin at or before `range`, or extend them */
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
    sort_ranges(&traffic.written);
    sort_ranges(&traffic.read);
    bool right = !traffic.written.out_of_memory && !traffic.read.out_of_memory &&
                 are_disjoint(&traffic.written) && are_read(&traffic.written, &traffic.read);
    free(traffic.written.item);
    free(traffic.read.item);
    return right;
}

/* For a rank that stores to no other one: returns whether it allows lines in each suitable buffer. */
static bool allows_any_lines(const analysis_t *analysis) {
    bool allows = true;
    for (int buffer = 0; buffer < pto_plan_buffer_count(analysis->plan) && allows; buffer++)
        allows = !suits_lines(analysis, buffer) || plan_allows_lines(analysis->plan, analysis->rank, buffer);
    return allows;
}

int pto_lines(const pto_plan_t *plan, int64_t rank, int64_t bytes_max) {
    analysis_t analysis = {.plan = plan, .rank = rank, .bytes_max = bytes_max, .buffer = PTO_LINES_ANY};
    int64_t ranks = pto_layout_rank_count(&pto_plan_request(plan)->layout);
    analysis.peers = calloc((size_t)ranks, 1);
    if (!analysis.peers)
        return PTO_LINES_NONE; /* out of memory: the plan's flags always work */
    pto_actions_t actions;
    pto_actions_begin(&actions, plan, rank, ~(1u << PTO_STEP_LAUNCH));
    while (pto_actions_next(&actions))
        note_action(&analysis, &actions.action);
    for (int64_t peer = 0; peer < ranks; peer++)
        analysis.refused |= !needs_no_flags(&analysis, peer);
    free(analysis.peers);
    bool allows = !analysis.refused;
    if (analysis.buffer == PTO_LINES_ANY)
        allows = allows && allows_any_lines(&analysis);
    else
        allows = allows && plan_allows_lines(plan, rank, analysis.buffer) &&
                 is_written_once_and_read(plan, rank, analysis.buffer);
    return allows ? analysis.buffer : PTO_LINES_NONE;
}

int pto_plan_lines(const pto_plan_t *plan, int64_t bytes_max) {
    int64_t ranks = pto_layout_rank_count(&pto_plan_request(plan)->layout);
    int lines = PTO_LINES_ANY;
    for (int64_t rank = 0; rank < ranks && lines != PTO_LINES_NONE; rank++) {
        int choice = pto_lines(plan, rank, bytes_max);
        bool agrees = lines == PTO_LINES_ANY || lines == choice;
        if (choice != PTO_LINES_ANY)
            lines = agrees ? choice : PTO_LINES_NONE;
    }
    return lines == PTO_LINES_ANY ? PTO_LINES_NONE : lines;
}

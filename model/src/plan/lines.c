/* Finds the buffer of a plan that kernels can keep in the line format (portolan/lines.h), in which every line
 * of data carries a flag of its own: the number of the run in which it was stored. A reader waits for each
 * line.
 *
 * A separate flag may be stored only after the memory system has confirmed all stores before it: a round
 * trip. Lines take one way, but they order nothing else. So they can replace a plan's flags only if they
 * imply the same order: in a kernel whose processes access each other's memory only to store into one buffer,
 * and store to exactly the peers that they signal and wait for. To avoid deadlock, a process must store all
 * of its data before it waits for data of others.
 *
 * The buffer must be double-buffered. Before a process stores in a run, it has received the previous run's
 * lines from the owners of that memory, just as it would have received their flags; what these may still read
 * is the other copy. A process has received only lines that it reads, so all that others store must be read.
 * And it must be written once: a line does not tell whether it will be overwritten in the same run.
 *
 * In an alltoallv, every block has its own size, and a pair may exchange nothing: then neither process
 * accesses the other's memory, and they need no order. If only one of them sends, flags remain, because the
 * sender would not know whether the receiver has read what it stored two runs before. */
#include "portolan/lines.h"

#include <stdlib.h>

#include "base/grow.h"
#include "plan/plan_internal.h"

/* What a rank does with a peer, as bits. EMPTY: it has a store to the peer, of no bytes. */
enum { STORED_TO = 1, SIGNALLED = 2, WAITED_FOR = 4, EMPTY = 8 };
enum { ALL = STORED_TO | SIGNALLED | WAITED_FOR, NO_BYTES = EMPTY | SIGNALLED | WAITED_FOR };

/* What one rank does in the plan. */
typedef struct {
    const pto_plan_t *plan;
    int64_t rank;
    int64_t bytes_max;
    int buffer;           /* the remote buffer that is stored into; PTO_LINES_ANY: none so far */
    unsigned char *peers; /* by rank */
    bool waited;
    bool refused;
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

static void note_copy(analysis_t *analysis, const pto_action_t *action) {
    const pto_step_t *step = action->step;
    if (!is_remote(analysis, &step->target, action))
        return;
    if (analysis->buffer == PTO_LINES_ANY && suits_lines(analysis, step->target.buffer))
        analysis->buffer = step->target.buffer;
    analysis->refused |= analysis->buffer != step->target.buffer || analysis->waited;
    analysis->peers[pto_slice_holder(analysis->plan, &step->target, action)] |=
        pto_slice_bytes(analysis->plan, &step->target, action) > 0 ? STORED_TO : EMPTY;
}

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

/* Returns whether lines order this rank and a peer as the plan's flags do. */
static bool needs_no_flags(const analysis_t *analysis, int64_t peer) {
    unsigned known = analysis->peers[peer];
    return known == 0 || known == ALL ||
           (known == NO_BYTES && !stores_to(analysis->plan, peer, analysis->rank));
}

/* Returns whether a step may be beside a buffer in line format: only copies from other buffers write it, and
 * no other buffer is double-buffered, since the addresses of its loads would depend on the run. */
static bool keeps_line_rules(const pto_plan_t *plan, const pto_step_t *step, int buffer) {
    const pto_slice_t *slice[] = {pto_step_source(step), pto_step_target(step)};
    for (int i = 0; i < 2; i++)
        if (slice[i] && slice[i]->buffer != buffer &&
            pto_plan_buffer(plan, slice[i]->buffer)->double_buffered)
            return false;
    return !pto_step_writes(step, buffer) || (step->kind == PTO_STEP_COPY && !pto_step_reads(step, buffer));
}

/* Whether ranges consist of whole blocks. */
typedef struct {
    int64_t block_bytes;
    bool in_lines;
    bool whole;
} blocks_t;

/* Ranges in line format begin at a block, too; others only have the length of whole blocks. */
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

/* Returns whether an action copies or reduces one block of the buffer, from or to one range, as blocks of
 * different sizes need. */
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

/* Returns whether an action copies or reduces whole blocks, from or to pieces of their length. */
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
        allows = keeps_line_rules(plan, pto_step_at(plan, i), buffer);
    pto_actions_t moves;
    pto_actions_begin(&moves, plan, rank, 1u << PTO_STEP_COPY | 1u << PTO_STEP_REDUCE);
    while (allows && pto_actions_next(&moves)) {
        const pto_step_t *step = moves.action.step;
        bool uses = pto_step_writes(step, buffer) || pto_step_reads(step, buffer);
        allows = !uses || by_whole_blocks(plan, &moves.action, buffer);
    }
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
    bool by_other; /* of the ranges that are added now */
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

/* Adds what a rank does to the buffer, which is a peer's to others. Only a torus may have a peer twice. */
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

static bool are_disjoint(const ranges_t *sorted) {
    for (int i = 1; i < sorted->count; i++)
        if (sorted->item[i - 1].end > sorted->item[i].begin)
            return false;
    return true;
}

/* Returns whether all that others store is read. Both are sorted. */
static bool are_read(const ranges_t *written, const ranges_t *read) {
    int64_t first = 0, until = 0; /* the bytes that are read without a gap */
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
    sort_ranges(&traffic.written);
    sort_ranges(&traffic.read);
    bool right = !traffic.written.out_of_memory && !traffic.read.out_of_memory &&
                 are_disjoint(&traffic.written) && are_read(&traffic.written, &traffic.read);
    free(traffic.written.item);
    free(traffic.read.item);
    return right;
}

/* Returns whether a rank that stores to no other one allows lines in any buffer that others may choose. */
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
    bool allows = !analysis.refused && (analysis.buffer == PTO_LINES_ANY
                                            ? allows_any_lines(&analysis)
                                            : plan_allows_lines(plan, rank, analysis.buffer) &&
                                                  is_written_once_and_read(plan, rank, analysis.buffer));
    return allows ? analysis.buffer : PTO_LINES_NONE;
}

int pto_plan_lines(const pto_plan_t *plan, int64_t bytes_max) {
    int64_t ranks = pto_layout_rank_count(&pto_plan_request(plan)->layout);
    int lines = PTO_LINES_ANY;
    for (int64_t rank = 0; rank < ranks && lines != PTO_LINES_NONE; rank++) {
        int own = pto_lines(plan, rank, bytes_max);
        if (own != PTO_LINES_ANY)
            lines = lines == PTO_LINES_ANY || lines == own ? own : PTO_LINES_NONE;
    }
    return lines == PTO_LINES_ANY ? PTO_LINES_NONE : lines;
}

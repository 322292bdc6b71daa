/* Checks kernels. Their steps must be ones that threads can execute. Thread block i of a kernel does the i-th
 * part of each copy and reduction, and synchronises only with thread block i of the other GPUs. So all steps
 * that use the same bytes must divide them into the same pieces: the ranges, or rows of ranges at equal
 * distances, that are divided among the thread blocks.
 *
 * Let 4 thread blocks write bytes 0..1023 in one piece, 256 each, and read bytes 0..511 in another one, 128
 * each. Then thread block 2 reads bytes 256..383, which thread block 1 writes, without synchronisation. */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "check/check_internal.h"
#include "plan/plan_internal.h"
#include "portolan/rows.h"

static bool on_gpu(const pto_checker_t *checker, const pto_slice_t *slice) {
    return slice->buffer >= 0 && slice->buffer < checker->buffers &&
           pto_plan_buffer(checker->plan, slice->buffer)->space == PTO_SPACE_GPU;
}

static bool check_step(pto_checker_t *checker, const pto_step_t *step) {
    bool moves = pto_step_is_local(step);
    if (!moves && !pto_step_is_signal(step))
        return pto_check_fail(checker, 0,
                              "a kernel has a step that is not a copy, reduction, signal or wait");
    if (moves && (!on_gpu(checker, &step->source) || !on_gpu(checker, &step->target)))
        return pto_check_fail(checker, 0, "a kernel step accesses host memory");
    return true;
}

typedef struct {
    int first, last; /* the nodes that a kernel contains */
} body_t;

/* Returns the fault of two steps that use the same flag; NULL: none. `inside`: both are in one kernel. */
static const char *flag_fault(const pto_step_t *step, const pto_step_t *other, bool inside) {
    bool raises = step->kind == PTO_STEP_SIGNAL;
    if (other->kind == step->kind || !other->in_kernel)
        return raises ? "has two steps that raise it" : "has two steps that wait for it";
    if (!inside) /* thread blocks of another kernel may have other parts */
        return raises ? "is awaited outside of the kernel" : "is raised outside of the kernel";
    return NULL;
}

/* Checks that one other step uses the flag: the signal or wait of this one, in the same kernel. */
static bool check_flag(pto_checker_t *checker, const pto_step_t *step, body_t kernel) {
    const pto_plan_t *plan = checker->plan;
    for (int node = 0; node < pto_plan_node_count(plan); node++) {
        const pto_stage_t *stage = pto_node_stage(plan, node);
        for (int i = 0; stage && i < stage->step_count; i++) {
            const pto_step_t *other = pto_plan_step(plan, stage->step_first + i);
            if (other == step || !pto_step_is_signal(other) || other->flag != step->flag)
                continue;
            bool inside = node >= kernel.first && node <= kernel.last;
            const char *fault = flag_fault(step, other, inside);
            if (fault)
                return pto_check_fail(checker, 0, "a kernel's flag '%s' %s",
                                      pto_plan_flag_name(plan, step->flag), fault);
        }
    }
    return true;
}

/* Checks a stage of a kernel. `is_launch`: the first stage, which only launches the kernel. */
static bool check_stage(pto_checker_t *checker, const pto_stage_t *stage, body_t kernel, bool is_launch) {
    if (stage->order != PTO_ORDER_SEQUENCE)
        return pto_check_fail(checker, 0, "a kernel's steps are in a stage whose steps run at once");
    for (int i = 0; i < stage->step_count; i++) {
        const pto_step_t *step = pto_plan_step(checker->plan, stage->step_first + i);
        if ((step->kind == PTO_STEP_LAUNCH) != is_launch)
            return pto_check_fail(checker, 0, "a kernel's launch is not at its beginning");
        if (!is_launch &&
            (!check_step(checker, step) || (pto_step_is_signal(step) && !check_flag(checker, step, kernel))))
            return false;
    }
    return true;
}

/* Checks a kernel that a loop contains. A kernel's flag is raised by storing the number of the run in it, so
 * it can be raised only once in a run. */
static bool check_loop(pto_checker_t *checker, body_t kernel) {
    for (int node = kernel.first; node <= kernel.last; node++) {
        const pto_stage_t *stage = pto_node_stage(checker->plan, node);
        for (int i = 0; stage && i < stage->step_count; i++)
            if (pto_step_is_signal(pto_plan_step(checker->plan, stage->step_first + i)))
                return pto_check_fail(checker, 0, "a kernel with flags is inside a loop");
    }
    return true;
}

static bool check_kernel(pto_checker_t *checker, body_t kernel) {
    for (int node = kernel.first; node <= kernel.last; node++) {
        const pto_stage_t *stage = pto_node_stage(checker->plan, node);
        if (!stage)
            return pto_check_fail(checker, 0, "a kernel contains a node that is not a stage");
        if (!check_stage(checker, stage, kernel, node == kernel.first))
            return false;
    }
    return true;
}

bool pto_check_kernels(pto_checker_t *checker) {
    int loop_end = 0; /* the node after the last loop so far */
    for (int at = 0; at < pto_plan_node_count(checker->plan); at++) {
        const pto_node_t *node = pto_plan_node(checker->plan, at);
        const body_t body = {at + 1, at + node->span};
        if (node->kind == PTO_NODE_LOOP)
            loop_end = body.last + 1;
        if (node->kind == PTO_NODE_KERNEL &&
            !(check_kernel(checker, body) && (at >= loop_end || check_loop(checker, body))))
            return false;
    }
    return true;
}

/* A piece into which a kernel's steps divide a rank's buffer. */
struct pto_piece_use {
    int64_t begin;
    pto_rows_t rows;
    bool written;
};

void pto_check_forget_pieces(pto_checker_t *checker) {
    for (int64_t place = 0; checker->piece && place < checker->walked * checker->buffers; place++) {
        free(checker->piece[place].item);
        checker->piece[place] = (pto_piece_uses_t){0};
    }
}

/* Returns the index of the first piece that begins at `begin` or later. */
static int lower_bound(const pto_piece_uses_t *uses, int64_t begin) {
    int low = 0;
    for (int high = uses->count; low < high;) {
        int middle = low + (high - low) / 2;
        if (uses->item[middle].begin < begin)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool add_use(pto_checker_t *checker, pto_piece_uses_t *uses, pto_piece_use_t use) {
    if (!PTO_RESERVE(uses->item, uses->capacity, uses->count + 1))
        return pto_check_out_of_memory(checker);
    pto_piece_use_t *at = uses->item + lower_bound(uses, use.begin);
    memmove(at + 1, at, (size_t)(uses->item + uses->count - at) * sizeof *at);
    *at = use;
    uses->count++;
    if (pto_rows_span(&use.rows) > uses->longest)
        uses->longest = pto_rows_span(&use.rows);
    return true;
}

_Thread_local int64_t pto_pieces_visits;

/* Records that a step uses a piece, and checks it against the other pieces of the buffer. Pieces that are
 * only read may overlap. So a piece is compared with all others when it is first used and when it is first
 * written. None of those that begin before begin - longest reaches it. */
static bool use_piece(pto_checker_t *checker, int64_t rank, const pto_touch_t *touch, int64_t begin,
                      pto_rows_t rows) {
    pto_piece_uses_t *uses =
        &checker->piece[touch->holder * checker->buffers + pto_check_memory(checker, touch)];
    pto_piece_use_t *same = NULL;
    rows = pto_rows_joined(rows);
    int64_t end = begin + pto_rows_span(&rows);
    for (int i = lower_bound(uses, begin - uses->longest); i < uses->count; i++) {
        pto_piece_use_t *use = &uses->item[i];
        pto_pieces_visits++;
        if (use->begin >= end)
            break;
        if (use->begin == begin && memcmp(&use->rows, &rows, sizeof rows) == 0) {
            same = use;
            if (use->written || !touch->write)
                return true;
            continue;
        }
        bool is_only_read = !use->written && !touch->write;
        if (is_only_read || !pto_rows_overlap(&use->rows, &rows, begin - use->begin))
            continue;
        return pto_check_fail(checker, rank,
                              "a kernel uses bytes %lld..%lld of '%s' of rank %lld in one piece and "
                              "%lld..%lld in another",
                              (long long)begin, (long long)end - 1,
                              pto_check_buffer_name(checker, touch->buffer), (long long)touch->holder,
                              (long long)use->begin, (long long)(use->begin + pto_rows_span(&use->rows)) - 1);
    }
    if (same)
        same->written = true;
    return same || add_use(checker, uses, (pto_piece_use_t){begin, rows, touch->write});
}

/* A cursor over the ranges of one side (source or target) of a copy or reduction, and the current piece. */
typedef struct {
    const pto_touches_t *touches;
    int index;      /* the current range */
    int64_t done;   /* bytes of it that are behind the cursor */
    int rows_index; /* the range of the first row */
    int64_t rows_begin;
    pto_rows_t rows; /* behind the cursor, of one piece so far */
} side_t;

static const pto_touch_t *range_at(const side_t *side) { return &side->touches->item[side->index]; }

static int64_t bytes_left(const side_t *side) {
    return range_at(side)->end - range_at(side)->begin - side->done;
}

/* Returns the pitch of the rows if the next `bytes` continue them; 0: they do not. */
static int64_t pitch_of(const side_t *side, int64_t bytes) {
    return range_at(side)->holder == side->touches->item[side->rows_index].holder
               ? pto_rows_next(&side->rows, range_at(side)->begin + side->done - side->rows_begin, bytes)
               : 0;
}

static bool use_rows(pto_checker_t *checker, int64_t rank, const side_t *side) {
    return side->rows.rows == 0 ||
           use_piece(checker, rank, &side->touches->item[side->rows_index], side->rows_begin, side->rows);
}

static void begin_rows(side_t *side, int64_t bytes) {
    side->rows_index = side->index;
    side->rows_begin = range_at(side)->begin + side->done;
    side->rows = pto_rows_of(bytes);
}

/* Advances the cursor; behind the last range it starts again, for the next piece of a reduction. */
static void advance(side_t *side, int64_t bytes) {
    side->done += bytes;
    if (bytes_left(side) > 0)
        return;
    side->done = 0;
    side->index = (side->index + 1) % side->touches->count;
}

/* Finds the same pieces as the executor: ranges of a copy form rows of equal pitch where both sides allow it
 * (rows.h). A row ends where a range of either side ends. */
bool pto_check_pieces(pto_checker_t *checker, const pto_action_t *action) {
    side_t source = {.touches = &checker->source}, target = {.touches = &checker->target};
    bool copies = action->step->kind == PTO_STEP_COPY;
    int64_t total_bytes = pto_check_touched_bytes(source.touches);
    if (target.touches->count == 0)
        return true;
    for (int64_t done = 0, bytes = 0; done < total_bytes; done += bytes) {
        bytes = bytes_left(&source) < bytes_left(&target) ? bytes_left(&source) : bytes_left(&target);
        int64_t from = copies && source.rows.rows > 0 ? pitch_of(&source, bytes) : 0;
        int64_t to = from > 0 ? pitch_of(&target, bytes) : 0;
        if (to > 0) {
            pto_rows_add(&source.rows, from);
            pto_rows_add(&target.rows, to);
        } else {
            if (!use_rows(checker, action->rank, &source) || !use_rows(checker, action->rank, &target))
                return false;
            begin_rows(&source, bytes);
            begin_rows(&target, bytes);
        }
        advance(&source, bytes);
        advance(&target, bytes);
    }
    return use_rows(checker, action->rank, &source) && use_rows(checker, action->rank, &target);
}

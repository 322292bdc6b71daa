/* Checking kernels: their steps must be ones that threads can do, and all users of the same bytes must cut
 * them into the same pieces, so that each thread block finds what the same block elsewhere has signalled. */
#include <stdlib.h>

#include "check/check_internal.h"

/* --- once for a plan ------------------------------------------------------------------------------------ */

static bool on_gpu(const pto_checker_t *checker, const pto_slice_t *slice) {
    return slice->buffer >= 0 && slice->buffer < checker->buffers &&
           pto_plan_buffer(checker->plan, slice->buffer)->space == PTO_SPACE_GPU;
}

static bool step_right(pto_checker_t *checker, const pto_step_t *step) {
    bool moves = pto_step_is_local(step);
    if (!moves && !pto_step_is_signal(step))
        return pto_check_fail(checker, 0,
                              "a kernel has a step that is not a copy, reduction, signal or wait");
    if (moves && (!on_gpu(checker, &step->source) || !on_gpu(checker, &step->target)))
        return pto_check_fail(checker, 0, "a kernel step accesses host memory");
    return true;
}

/* Whether another step uses the flag in the same way, or outside of kernels. */
static bool flag_right(pto_checker_t *checker, const pto_step_t *step) {
    const pto_plan_t *plan = checker->plan;
    for (int node = 0; node < pto_plan_node_count(plan); node++) {
        if (pto_plan_node(plan, node)->kind != PTO_NODE_STAGE)
            continue;
        const pto_stage_t *stage = pto_plan_stage(plan, pto_plan_node(plan, node)->stage);
        for (int i = 0; i < stage->step_count; i++) {
            const pto_step_t *other = pto_plan_step(plan, stage->step_first + i);
            if (other != step && pto_step_is_signal(other) && other->flag == step->flag &&
                (other->kind == step->kind || !other->in_kernel))
                return pto_check_fail(checker, 0, "a kernel's flag '%s' has two steps that %s it",
                                      pto_plan_flag_name(plan, step->flag),
                                      step->kind == PTO_STEP_SIGNAL ? "raise" : "wait for");
        }
    }
    return true;
}

static bool stage_right(pto_checker_t *checker, const pto_stage_t *stage, bool first) {
    if (stage->order != PTO_ORDER_SEQUENCE)
        return pto_check_fail(checker, 0, "a kernel's steps are in a stage whose steps run at once");
    for (int i = 0; i < stage->step_count; i++) {
        const pto_step_t *step = pto_plan_step(checker->plan, stage->step_first + i);
        if ((step->kind == PTO_STEP_LAUNCH) != first)
            return pto_check_fail(checker, 0, "a kernel's launch is not at its beginning");
        if (!first &&
            (!step_right(checker, step) || (pto_step_is_signal(step) && !flag_right(checker, step))))
            return false;
    }
    return true;
}

bool pto_check_kernels(pto_checker_t *checker) {
    for (int node = 0; node < pto_plan_node_count(checker->plan); node++) {
        const pto_node_t *kernel = pto_plan_node(checker->plan, node);
        for (int i = 1; i <= kernel->span && kernel->kind == PTO_NODE_KERNEL; i++) {
            const pto_node_t *inside = pto_plan_node(checker->plan, node + i);
            if (inside->kind != PTO_NODE_STAGE)
                return pto_check_fail(checker, 0, "a kernel contains a node that is not a stage");
            if (!stage_right(checker, pto_plan_stage(checker->plan, inside->stage), i == 1))
                return false;
        }
    }
    return true;
}

/* --- pieces --------------------------------------------------------------------------------------------- */

/* The pieces into which one kernel's steps cut one rank's buffer. */
struct pto_piece_use {
    struct pto_piece_use *next;
    int64_t begin;
    int64_t end;
    bool written;
};

static void free_uses(pto_piece_use_t *use) {
    while (use) {
        pto_piece_use_t *next = use->next;
        free(use);
        use = next;
    }
}

void pto_check_forget_pieces(pto_checker_t *checker) {
    for (int64_t place = 0; checker->piece && place < checker->ranks * checker->buffers; place++) {
        free_uses(checker->piece[place]);
        checker->piece[place] = NULL;
    }
}

static bool use_piece(pto_checker_t *checker, int64_t rank, const pto_touch_t *touch, int64_t begin,
                      int64_t end) {
    pto_piece_use_t **first = &checker->piece[touch->holder * checker->buffers + touch->buffer];
    for (pto_piece_use_t *use = *first; use; use = use->next) {
        if (use->begin == begin && use->end == end) {
            use->written = use->written || touch->write;
            return true;
        }
        if (use->end <= begin || end <= use->begin || !(use->written || touch->write))
            continue;
        return pto_check_fail(checker, rank,
                              "a kernel uses bytes %lld..%lld of '%s' of rank %lld in one piece and "
                              "%lld..%lld in another",
                              (long long)begin, (long long)end - 1,
                              pto_plan_buffer(checker->plan, touch->buffer)->name, (long long)touch->holder,
                              (long long)use->begin, (long long)use->end - 1);
    }
    pto_piece_use_t *made = malloc(sizeof *made);
    if (!made)
        return pto_check_out_of_memory(checker);
    *made = (pto_piece_use_t){*first, begin, end, touch->write};
    *first = made;
    return true;
}

bool pto_check_pieces(pto_checker_t *checker, const pto_action_t *action) {
    const pto_touches_t *source = &checker->source, *target = &checker->target;
    int s = 0, t = 0;
    int64_t read = 0, written = 0;
    while (s < source->count && target->count > 0) {
        const pto_touch_t *from = &source->item[s], *to = &target->item[t];
        int64_t left = from->end - from->begin - read, room = to->end - to->begin - written;
        int64_t bytes = left < room ? left : room;
        if (!use_piece(checker, action->rank, from, from->begin + read, from->begin + read + bytes) ||
            !use_piece(checker, action->rank, to, to->begin + written, to->begin + written + bytes))
            return false;
        read = bytes == left ? 0 : read + bytes;
        s += bytes == left;
        written = bytes == room ? 0 : written + bytes;
        t = bytes == room ? (t + 1) % target->count : t;
    }
    return true;
}

/* The symbolic effect of copies, messages and reductions on the contents of buffers (memory.h), the recording
 * of their accesses to shared memory, and the comparison of contents with what is expected. */
#include <stdio.h>

#include "base/checked.h"
#include "base/hash.h"
#include "check/check_internal.h"
#include "plan/plan_internal.h"

/* Records an access to a shared buffer, and reports a race. */
static bool access_shared(pto_checker_t *checker, int64_t rank, const pto_touch_t *touch) {
    pto_conflict_t conflict;
    int64_t place = touch->holder * checker->buffers + touch->buffer;
    if (pto_plan_buffer(checker->plan, touch->buffer)->double_buffered && checker->run % 2 > 0)
        place += checker->walked * checker->buffers;
    pto_trace_t *trace = &checker->trace[place];
    if (pto_trace_access(trace, &checker->clocks, pto_check_clock(checker, rank), touch->begin, touch->end,
                         touch->write, &conflict))
        return true;
    checker->unordered = true;
    const char *does = touch->write ? "writes" : "reads", *did = conflict.wrote ? "write" : "read";
    const char *name = pto_check_buffer_name(checker, touch->buffer);
    if (conflict.rank % checker->walked == rank)
        return pto_check_fail(
            checker, rank,
            "lane %d %s bytes %lld..%lld of '%s' of rank %lld, unordered with the %s of stage "
            "'%s' in lane %lld of the same rank",
            checker->walk.lane, does, (long long)conflict.begin, (long long)conflict.end - 1, name,
            (long long)touch->holder, did, conflict.stage ? conflict.stage->name : "",
            (long long)(conflict.rank / checker->walked));
    return pto_check_fail(checker, rank,
                          "%s bytes %lld..%lld of '%s' of rank %lld, unordered with rank %lld's %s", does,
                          (long long)conflict.begin, (long long)conflict.end - 1, name,
                          (long long)touch->holder, (long long)(conflict.rank % checker->walked), did);
}

bool pto_check_access(pto_checker_t *checker, int64_t rank, const pto_touch_t *touch) {
    if (!checker->shared[touch->buffer])
        return true;
    checker->report.accesses += touch->buffer != checker->not_counted;
    if (!pto_check_is_ordered(checker))
        return true;
    pto_touch_t alias = *touch;
    alias.buffer = pto_check_alias(checker, touch);
    return access_shared(checker, rank, touch) && (alias.buffer < 0 || access_shared(checker, rank, &alias));
}

/* Returns whether `before` ends at the end of the buffer, or of a pipeline slot of it, and `touch` begins at
 * the start of the same. */
static bool wraps_around(const pto_checker_t *checker, const pto_touch_t *before, const pto_touch_t *touch) {
    const pto_buffer_t *buffer = pto_plan_buffer(checker->plan, touch->buffer);
    int64_t held = checker->bytes[touch->holder * checker->buffers + touch->buffer];
    int64_t bytes = buffer->slots > 0 ? held / buffer->slots : held;
    return before->end % bytes == 0 && touch->begin == before->end - bytes;
}

/* Records accesses to all ranges. Two that are one range, wrapped around, are counted once, so that the count
 * does not depend on the rank. */
static bool access_all(pto_checker_t *checker, int64_t rank, const pto_touches_t *touches) {
    for (int i = 0; i < touches->count; i++) {
        const pto_touch_t *touch = &touches->item[i];
        if (!pto_check_access(checker, rank, touch))
            return false;
        bool is_counted = checker->shared[touch->buffer] && touch->buffer != checker->not_counted;
        if (i > 0 && is_counted && wraps_around(checker, touch - 1, touch))
            checker->report.accesses--;
    }
    return true;
}

/* Sets the order and base of `present` to those of the result of combining it with `arrived`: the same for
 * a op b and b op a. So the operands are first sorted: by `order`; if that is equal, so that the second base
 * follows the first by at most half of the owners (cyclically). */
static void combine_orders(const pto_checker_t *checker, pto_content_t *present,
                           const pto_content_t *arrived) {
    int64_t owners =
        checker->collective >= 0
            ? pto_plan_group(checker->plan, pto_plan_node(checker->plan, checker->collective)->group)->size
            : pto_layout_owner_count(&checker->request->layout);
    const pto_content_t *first = present, *second = arrived;
    int64_t distance = pto_floor_mod(second->base - first->base, owners);
    bool swaps = first->order == second->order ? 2 * distance > owners : first->order > second->order;
    if (2 * distance == owners && first->order == second->order)
        swaps = first->base > second->base;
    if (swaps) {
        first = arrived;
        second = present;
        distance = pto_floor_mod(-distance, owners);
    }
    uint64_t order = pto_mix(pto_mix(first->order + PTO_GOLDEN_GAMMA) + second->order);
    int32_t base = first->base;
    present->order = pto_mix(order + (uint64_t)distance * PTO_GOLDEN_GAMMA);
    present->base = base;
}

/* A reduction's operand, which is in checker->moved, must consist of whole elements. */
static bool are_elements(pto_checker_t *checker, int64_t rank, const pto_touch_t *operand) {
    int64_t element = pto_datatype_bytes(checker->request->datatype), bytes = operand->end - operand->begin;
    bool is_vector = checker->request->bytes % element == 0; /* otherwise the executor refuses it */
    int64_t origin = checker->moved.count > 0 ? operand->begin + checker->moved.span[0].delta : 0;
    if (checker->moved.count == 0 || !is_vector || (origin % element == 0 && bytes % element == 0))
        return true;
    return pto_check_fail(checker, rank,
                          "reduces inputs' bytes %lld..%lld, which cuts a %s (%lld bytes) in two",
                          (long long)origin, (long long)(origin + bytes - 1),
                          pto_datatype_name(checker->request->datatype), (long long)element);
}

/* Returns whether each byte of a buffer may be written only once. */
static bool is_written_once(const pto_checker_t *checker, int buffer) {
    if (checker->collective >= 0) {
        const pto_node_t *node = pto_plan_node(checker->plan, checker->collective);
        return buffer == pto_plan_call(checker->plan, node->call)->out.buffer &&
               !pto_collective_reduces(node->collective);
    }
    return pto_role_is_output(pto_plan_buffer(checker->plan, buffer)->role) &&
           checker->request->collective != PTO_COLLECTIVE_HALO &&
           !pto_collective_reduces(checker->request->collective);
}

/* Returns whether the plan has written these bytes: a broadcast's output may be preset (check.c). */
static bool was_written(pto_checker_t *checker, int32_t set) {
    const bool may_be_preset =
        checker->collective < 0 && checker->request->collective == PTO_COLLECTIVE_BROADCAST;
    return set != PTO_SET_NONE && (!may_be_preset || set == pto_sets_run(&checker->sets, 0, 1));
}

/* Writes a span, which is at its position in the target. */
static bool write_span(pto_checker_t *checker, int64_t rank, const pto_touch_t *target, pto_content_t span) {
    pto_contents_t *contents = pto_check_contents(checker, target->holder, target->buffer);
    if (is_written_once(checker, target->buffer)) {
        pto_contents_read(contents, span.begin, span.end, &checker->present, &checker->sets);
        for (int i = 0; i < checker->present.count; i++)
            if (was_written(checker, checker->present.span[i].set))
                return pto_check_fail(checker, rank, "writes bytes %lld..%lld of '%s' a second time",
                                      (long long)checker->present.span[i].begin,
                                      (long long)checker->present.span[i].end - 1,
                                      pto_check_buffer_name(checker, target->buffer));
    }
    pto_contents_write(contents, span, &checker->sets);
    return true;
}

/* Reduces incoming data into one existing span. */
static bool combine(pto_checker_t *checker, int64_t rank, pto_contents_t *contents, const char *name,
                    pto_content_t arrived, pto_content_t present) {
    if (present.set == PTO_SET_NONE)
        return pto_check_fail(checker, rank,
                              "reduces into bytes %lld..%lld of '%s', which were never written",
                              (long long)present.begin, (long long)present.end - 1, name);
    if (present.delta != arrived.delta)
        return pto_check_fail(checker, rank, "reduces inputs' bytes from %lld on into those from %lld on",
                              (long long)(present.begin + arrived.delta),
                              (long long)(present.begin + present.delta));
    int32_t common = pto_sets_common(&checker->sets, present.set, arrived.set);
    if (common >= 0)
        return pto_check_fail(checker, rank, "reduces %s %d's contribution to bytes %lld..%lld of '%s' twice",
                              checker->collective >= 0 ? "member" : "owner", (int)common,
                              (long long)present.begin, (long long)present.end - 1, name);
    present.set = pto_sets_unite(&checker->sets, present.set, arrived.set);
    combine_orders(checker, &present, &arrived);
    pto_contents_write(contents, present, &checker->sets);
    return true;
}

static bool combine_all(pto_checker_t *checker, int64_t rank, pto_contents_t *contents, const char *name,
                        pto_content_t span) {
    pto_contents_read(contents, span.begin, span.end, &checker->present, &checker->sets);
    for (int i = 0; i < checker->present.count; i++)
        if (!combine(checker, rank, contents, name, span, checker->present.span[i]))
            return false;
    return true;
}

/* A library may copy its output before it writes it, to keep what the user has in the gaps between blocks. */
static bool may_hold_other_data(const pto_checker_t *checker, int buffer) {
    if (checker->collective < 0)
        return false;
    const pto_node_t *node = pto_plan_node(checker->plan, checker->collective);
    return node->by == PTO_DONE_BY_LIBRARY && buffer == pto_plan_call(checker->plan, node->call)->out.buffer;
}

/* Fills checker->moved with the contents of a range; false if some of it was never written. */
static bool read_range(pto_checker_t *checker, int64_t rank, const pto_touch_t *range, bool copies) {
    bool may_be_unwritten = copies && may_hold_other_data(checker, range->buffer);
    pto_contents_read(pto_check_contents(checker, range->holder, range->buffer), range->begin, range->end,
                      &checker->moved, &checker->sets);
    for (int i = 0; i < checker->moved.count; i++) {
        const pto_content_t *span = &checker->moved.span[i];
        if (span->set == PTO_SET_NONE && !may_be_unwritten)
            return pto_check_fail(
                checker, rank, "reads bytes %lld..%lld of '%s', which were %s", (long long)span->begin,
                (long long)span->end - 1, pto_check_buffer_name(checker, range->buffer),
                range->buffer == checker->in && pto_check_alias(checker, range) >= 0 ? "overwritten in place"
                                                                                     : "never written");
    }
    return checker->source_node == 0 || pto_check_rotate_moved(checker, range->holder);
}

/* Returns the span shifted by `by` bytes in its buffer, with the same origin. */
static pto_content_t shifted(pto_content_t span, int64_t by) {
    span.begin += by;
    span.end += by;
    span.delta -= by;
    return span;
}

/* MOVE_FIRST: the first piece of a reduction that overwrites its target. */
typedef enum { MOVE_COPY, MOVE_FIRST, MOVE_REDUCE } move_t;

/* Moves a range to one of equal length. */
static bool move_piece(pto_checker_t *checker, int64_t reader, int64_t writer, const pto_touch_t *source,
                       const pto_touch_t *target, move_t how) {
    if (!read_range(checker, reader, source, how == MOVE_COPY))
        return false;
    if (how != MOVE_COPY && !are_elements(checker, writer, source))
        return false;
    pto_contents_t *contents = pto_check_contents(checker, target->holder, target->buffer);
    const char *name = pto_check_buffer_name(checker, target->buffer);
    for (int i = 0; i < checker->moved.count; i++) {
        pto_content_t span = shifted(checker->moved.span[i], target->begin - source->begin);
        if (span.set == PTO_SET_NONE)
            continue; /* bytes that the plan has not written */
        if (checker->unit_plan && !pto_check_keeps_place(checker, target, &span))
            return pto_check_fail(checker, writer, "moves a part of a vector to the place of another");
        if (how == MOVE_REDUCE ? !combine_all(checker, writer, contents, name, span)
                               : !write_span(checker, writer, target, span))
            return false;
    }
    return true;
}

/* Returns the subrange of `bytes` that starts at `done`. */
static pto_touch_t piece_of(const pto_touch_t *range, int64_t done, int64_t bytes) {
    pto_touch_t piece = *range;
    piece.begin += done;
    piece.end = piece.begin + bytes;
    return piece;
}

int64_t pto_check_touched_bytes(const pto_touches_t *touches) {
    int64_t total = 0;
    for (int i = 0; i < touches->count; i++)
        total += touches->item[i].end - touches->item[i].begin;
    return total;
}

bool pto_check_move_touched(pto_checker_t *checker, const pto_action_t *reader, const pto_action_t *writer) {
    const pto_touches_t *source = &checker->source, *target = &checker->target;
    checker->report.moved_bytes =
        pto_saturating_sum(checker->report.moved_bytes, pto_check_touched_bytes(source));
    /* The current ranges, and the bytes of them that are done. The first run has moved the same. */
    int s = checker->repeats ? source->count : 0, t = 0;
    int64_t read = 0, written = 0;
    move_t how = MOVE_COPY;
    if (writer->step->kind == PTO_STEP_REDUCE)
        how = writer->step->fresh ? MOVE_FIRST : MOVE_REDUCE;
    while (s < source->count && target->count > 0) {
        int64_t left = source->item[s].end - source->item[s].begin - read;
        int64_t room = target->item[t].end - target->item[t].begin - written;
        int64_t bytes = left < room ? left : room;
        pto_touch_t from = piece_of(&source->item[s], read, bytes);
        pto_touch_t to = piece_of(&target->item[t], written, bytes);
        if (!move_piece(checker, reader->rank, writer->rank, &from, &to, how))
            return false;
        read = bytes == left ? 0 : read + bytes;
        s += bytes == left;
        written = bytes == room ? 0 : written + bytes;
        t += bytes == room;
        if (t == target->count) { /* the next piece of a reduction */
            t = 0;
            how = how == MOVE_FIRST ? MOVE_REDUCE : how;
        }
    }
    for (int i = 0; i < target->count && !checker->repeats; i++)
        pto_check_overwrite(checker, &target->item[i]);
    return access_all(checker, reader->rank, source) && access_all(checker, writer->rank, target);
}

bool pto_check_move(pto_checker_t *checker, const pto_touch_t *source, const pto_touch_t *target) {
    if (!move_piece(checker, source->holder, target->holder, source, target, MOVE_COPY))
        return false;
    pto_check_overwrite(checker, target);
    return true;
}

bool pto_check_read_vector(pto_checker_t *checker, const pto_touch_t *vector, pto_contents_t *result,
                           bool reduce) {
    if (!read_range(checker, vector->holder, vector, false))
        return false;
    if (reduce && !are_elements(checker, vector->holder, vector))
        return false;
    const char *name = pto_check_buffer_name(checker, vector->buffer);
    for (int i = 0; i < checker->moved.count; i++) {
        pto_content_t span = shifted(checker->moved.span[i], -vector->begin);
        if (!reduce)
            pto_contents_write(result, span, &checker->sets);
        else if (!combine_all(checker, vector->holder, result, name, span))
            return false;
    }
    return true;
}

bool pto_check_write_vector(pto_checker_t *checker, const pto_contents_t *result, const pto_touch_t *vector) {
    for (int i = 0; i < result->count; i++)
        if (!write_span(checker, vector->holder, vector, shifted(*pto_contents_at(result, i), vector->begin)))
            return false;
    pto_check_overwrite(checker, vector);
    return true;
}

/* "owner 3's bytes from 16 on", "the sum of 4 owners' bytes from 0 on" or "nothing". */
static void describe(const pto_checker_t *checker, const char *contributor, const pto_content_t *span,
                     char *text) {
    long long origin = (long long)(span->begin + span->delta);
    int owners = span->set == PTO_SET_NONE ? 0 : (int)pto_sets_size(&checker->sets, span->set);
    if (owners == 0)
        snprintf(text, PTO_CONTENTS_TEXT_MAX, "nothing");
    else if (owners == 1)
        snprintf(text, PTO_CONTENTS_TEXT_MAX, "%s %d's bytes from %lld on", contributor,
                 (int)pto_sets_first(&checker->sets, span->set), origin);
    else
        snprintf(text, PTO_CONTENTS_TEXT_MAX, "the sum of %d %ss' bytes from %lld on", owners, contributor,
                 origin);
}

bool pto_check_expect(pto_checker_t *checker, pto_contents_t *contents, int64_t rank, int buffer,
                      pto_content_t wanted) {
    const char *contributor = contents == checker->inside ? "member" : "owner";
    pto_contents_read(&contents[rank * checker->buffers + buffer], wanted.begin, wanted.end,
                      &checker->present, &checker->sets);
    for (int i = 0; i < checker->present.count; i++) {
        const pto_content_t *span = &checker->present.span[i];
        if (span->set == wanted.set && span->delta == wanted.delta)
            continue;
        char found[PTO_CONTENTS_TEXT_MAX], expected[PTO_CONTENTS_TEXT_MAX];
        describe(checker, contributor, span, found);
        wanted.begin = span->begin;
        describe(checker, contributor, &wanted, expected);
        return pto_check_fail(checker, rank, "bytes %lld..%lld of '%s' hold %s, not %s",
                              (long long)span->begin, (long long)span->end - 1,
                              pto_check_buffer_name(checker, buffer), found, expected);
    }
    return true;
}

bool pto_check_same_order(pto_checker_t *checker, pto_contents_t *contents, const pto_touch_t *one,
                          const pto_touch_t *other) {
    const pto_spans_t *a = &checker->present, *b = &checker->moved;
    pto_contents_read(&contents[one->holder * checker->buffers + one->buffer], one->begin, one->end,
                      &checker->present, &checker->sets);
    pto_contents_read(&contents[other->holder * checker->buffers + other->buffer], other->begin, other->end,
                      &checker->moved, &checker->sets);
    for (int i = 0, j = 0; i < a->count && j < b->count;) {
        int64_t end = a->span[i].end - one->begin, other_end = b->span[j].end - other->begin;
        if (!pto_contents_same_order(&a->span[i], &b->span[j]))
            return pto_check_fail(checker, other->holder,
                                  "byte %lld of '%s' is combined in another order than rank %lld's, so "
                                  "their last bits may differ",
                                  (long long)b->span[j].begin, pto_check_buffer_name(checker, other->buffer),
                                  (long long)one->holder);
        i += end <= other_end;
        j += other_end <= end;
    }
    return true;
}

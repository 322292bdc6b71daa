/* Executes one stage symbolically for all ranks: finds the bytes that its steps use, matches its sends with
 * its receives, and applies its copies, reductions and signals. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "check/check_internal.h"

/* --- what a step touches -------------------------------------------------------------------------------- */

static bool add_touch(pto_checker_t *checker, pto_touches_t *touches, pto_touch_t touch) {
    if (!PTO_RESERVE(touches->item, touches->capacity, touches->count + 1))
        return pto_check_out_of_memory(checker);
    touches->item[touches->count++] = touch;
    return true;
}

/* The context of collect_range. */
typedef struct {
    pto_checker_t *checker;
    pto_touches_t *touches;
    pto_touch_t touch;  /* all fields but the range */
    int64_t held_bytes; /* the size of the buffer */
    int64_t rank;       /* that uses the range */
    bool ok;            /* no range is out of bounds */
} collector_t;

/* Adds a range of a slice (a visitor of pto_slice_visit). Returns false to end the visit. */
static bool collect_range(void *context, int64_t offset_bytes, int64_t bytes) {
    collector_t *collector = context;
    if (offset_bytes < 0 || bytes < 0 || offset_bytes > collector->held_bytes - bytes) {
        const pto_buffer_t *buffer = pto_plan_buffer(collector->checker->plan, collector->touch.buffer);
        collector->ok = pto_check_fail(collector->checker, collector->rank,
                                       "names bytes %lld..%lld of '%s', which has %lld",
                                       (long long)offset_bytes, (long long)(offset_bytes + bytes - 1),
                                       buffer->name, (long long)collector->held_bytes);
        return false;
    }
    collector->touch.begin = offset_bytes;
    collector->touch.end = offset_bytes + bytes;
    collector->ok = add_touch(collector->checker, collector->touches, collector->touch);
    return collector->ok;
}

static bool on_one_node(const pto_checker_t *checker, int64_t a, int64_t b) {
    const pto_layout_t *layout = &checker->request->layout;
    return pto_layout_rank(layout, a).node == pto_layout_rank(layout, b).node;
}

bool pto_check_collect(pto_checker_t *checker, const pto_slice_t *slice, const pto_action_t *action,
                       bool write, pto_touches_t *touches) {
    const pto_buffer_t *buffer = pto_plan_buffer(checker->plan, slice->buffer);
    int64_t holder = pto_slice_holder(checker->plan, slice, action);
    collector_t collector = {.checker = checker,
                             .touches = touches,
                             .touch = {.holder = holder, .buffer = slice->buffer, .write = write},
                             .rank = action->rank,
                             .ok = true};
    if (!pto_check_slice(checker, slice, action))
        return false;
    if (holder != action->rank && !on_one_node(checker, holder, action->rank))
        return pto_check_fail(checker, action->rank, "uses '%s' of rank %lld, which is on another node",
                              buffer->name, (long long)holder);
    collector.held_bytes = checker->bytes[holder * checker->buffers + slice->buffer];
    if (collector.held_bytes < 0)
        return pto_check_fail(checker, action->rank, "uses buffer '%s', which rank %lld does not hold",
                              buffer->name, (long long)holder);
    if (write && pto_role_is_input(buffer->role) && pto_buffer_is_users(checker->plan, slice->buffer, holder))
        return pto_check_fail(checker, action->rank, "writes the user's input");
    pto_slice_visit(checker->plan, slice, action, collect_range, &collector);
    return collector.ok;
}

static int by_place(const void *left, const void *right) {
    const pto_touch_t *a = left, *b = right;
    if (a->holder != b->holder)
        return a->holder < b->holder ? -1 : 1;
    if (a->buffer != b->buffer)
        return a->buffer < b->buffer ? -1 : 1;
    return (a->begin > b->begin) - (a->begin < b->begin);
}

/* The ranges are usually sorted already. */
static void sort_by_place(pto_touches_t *touches) {
    int sorted = 1;
    while (sorted < touches->count && by_place(&touches->item[sorted - 1], &touches->item[sorted]) <= 0)
        sorted++;
    if (sorted < touches->count)
        qsort(touches->item, (size_t)touches->count, sizeof *touches->item, by_place);
}

/* Checks that no range in checker->touched that is written overlaps another one. */
static bool check_overlap(pto_checker_t *checker, int64_t rank) {
    pto_touches_t *touches = &checker->touched;
    if (touches->count < 2)
        return true;
    sort_by_place(touches);
    int64_t used_until = 0, written_until = 0;
    for (int i = 0; i < touches->count; i++) {
        const pto_touch_t *touch = &touches->item[i], *previous = touch - (i > 0);
        if (i == 0 || previous->holder != touch->holder || previous->buffer != touch->buffer)
            used_until = written_until = 0;
        int64_t clear_from = touch->write ? used_until : written_until;
        if (touch->begin < clear_from)
            return pto_check_fail(
                checker, rank, "uses bytes %lld..%lld of '%s' twice at once and writes them",
                (long long)touch->begin, (long long)(touch->end < clear_from ? touch->end : clear_from) - 1,
                pto_check_buffer_name(checker, touch->buffer));
        if (touch->end > used_until)
            used_until = touch->end;
        if (touch->write && touch->end > written_until)
            written_until = touch->end;
    }
    return true;
}

/* --- one rank's actions --------------------------------------------------------------------------------- */

typedef bool (*act_t)(pto_checker_t *checker, const pto_action_t *action);

/* Calls `act` for every peer of a rank's step, or once if the step has none. */
static bool each_action(pto_checker_t *checker, const pto_step_t *step, int64_t rank, act_t act) {
    pto_action_t action;
    if (!pto_check_actor(checker, step, rank))
        return false;
    if (!pto_step_acts(checker->plan, step, rank, checker->walk.k, &action))
        return true;
    bool has_peers = step->peers.kind != PTO_PEERS_NONE;
    for (int64_t next = 0; pto_step_next(checker->plan, &next, &action);)
        if ((has_peers && !pto_check_peer(checker, &action)) || !act(checker, &action))
            return false;
    return true;
}

static const pto_step_t *stage_step(const pto_checker_t *checker, int index) {
    return pto_plan_step(checker->plan, checker->walk.stage->step_first + index);
}

/* Fills checker->source and checker->target with the ranges of a copy or reduction. */
static bool collect_both(pto_checker_t *checker, const pto_action_t *action) {
    checker->source.count = checker->target.count = 0;
    if (!pto_check_collect(checker, &action->step->source, action, false, &checker->source) ||
        !pto_check_collect(checker, &action->step->target, action, true, &checker->target))
        return false;
    int64_t source_bytes = pto_check_touched_bytes(&checker->source),
            target_bytes = pto_check_touched_bytes(&checker->target);
    bool reduces = action->step->kind == PTO_STEP_REDUCE;
    bool several = reduces && target_bytes > 0 && source_bytes > 0 && source_bytes % target_bytes == 0;
    if (source_bytes != target_bytes && !several)
        return pto_check_fail(
            checker, action->rank, "%s %lld bytes of '%s' into %lld of '%s'", reduces ? "reduces" : "copies",
            (long long)source_bytes, pto_check_buffer_name(checker, action->step->source.buffer),
            (long long)target_bytes, pto_check_buffer_name(checker, action->step->target.buffer));
    return true;
}

static bool do_local(pto_checker_t *checker, const pto_action_t *action) {
    return collect_both(checker, action) && pto_check_move_touched(checker, action, action);
}

/* Adds ranges to checker->touched. `from`: the ranges that are moved to them, or NULL. */
static bool add_touches(pto_checker_t *checker, const pto_touches_t *touches, const pto_touches_t *from) {
    for (int i = 0; i < touches->count; i++) {
        pto_touch_t touch = touches->item[i];
        touch.buffer = pto_check_memory(checker, &touch);
        touch.write = touch.write && !(from && pto_check_is_onto_itself(checker, from, touches, i));
        if (!add_touch(checker, &checker->touched, touch))
            return false;
    }
    return true;
}

/* Adds the ranges of a copy or reduction to checker->touched, the lower ones first: they are usually sorted.
 */
static bool record_local(pto_checker_t *checker, const pto_action_t *action) {
    if (!collect_both(checker, action))
        return false;
    const pto_touches_t *source = &checker->source, *target = &checker->target;
    if (source->count > 0 && target->count > 0 && by_place(&target->item[0], &source->item[0]) < 0)
        return add_touches(checker, target, source) && add_touches(checker, source, NULL);
    return add_touches(checker, source, NULL) && add_touches(checker, target, source);
}

/* Executes a copy or reduction of a sequence, which must not overlap itself. */
static bool do_local_in_turn(pto_checker_t *checker, const pto_action_t *action) {
    checker->touched.count = 0;
    if (checker->repeats)
        return do_local(checker, action);
    return record_local(checker, action) && check_overlap(checker, action->rank) &&
           (!action->step->in_kernel || pto_check_pieces(checker, action)) &&
           pto_check_move_touched(checker, action, action);
}

/* --- signals -------------------------------------------------------------------------------------------- */

static bool do_signal(pto_checker_t *checker, const pto_action_t *action) {
    if (!on_one_node(checker, action->rank, action->peer_rank))
        return pto_check_fail(checker, action->rank, "signals rank %lld, which is on another node",
                              (long long)action->peer_rank);
    pto_signal_t *signal = calloc(1, sizeof *signal);
    if (!signal)
        return pto_check_out_of_memory(checker);
    signal->from = action->rank;
    signal->instance = checker->walk.instance;
    signal->flag = action->step->flag;
    signal->clock = pto_clocks_snapshot(&checker->clocks, pto_check_clock(checker, action->rank));
    pto_signals_t *signals = &checker->signal[action->peer_rank];
    *(signals->first ? &signals->last->next : &signals->first) = signal;
    signals->last = signal;
    return true;
}

static bool waits_here(const pto_checker_t *checker, int64_t rank) {
    pto_action_t action;
    for (int i = 0; i < checker->walk.stage->step_count; i++) {
        const pto_step_t *step = stage_step(checker, i);
        if (step->kind == PTO_STEP_WAIT && pto_step_acts(checker->plan, step, rank, checker->walk.k, &action))
            return true;
    }
    return false;
}

/* `price` processes the ranks of a stage that do not wait first, then the others. */
static bool check_price_order(pto_checker_t *checker, const pto_action_t *action,
                              const pto_signal_t *signal) {
    if (signal->instance != checker->walk.instance || !waits_here(checker, signal->from))
        return true;
    return pto_check_fail(checker, action->rank,
                          "waits for '%s' of rank %lld, which raises it in the same stage and waits there "
                          "itself: this has no price; raise and wait in two stages",
                          pto_plan_flag_name(checker->plan, signal->flag), (long long)signal->from);
}

/* Takes the oldest signal that the action waits for; false if there is none yet. */
static bool take_signal(pto_checker_t *checker, const pto_action_t *action) {
    pto_signals_t *signals = &checker->signal[action->rank];
    pto_signal_t *previous = NULL, *signal = signals->first;
    while (signal && (signal->from != action->peer_rank || signal->flag != action->step->flag)) {
        previous = signal;
        signal = signal->next;
    }
    if (!signal || !check_price_order(checker, action, signal))
        return false;
    *(previous ? &previous->next : &signals->first) = signal->next;
    signals->last = signal->next ? signals->last : previous;
    pto_clocks_join(&checker->clocks, pto_check_clock(checker, signal->from), signal->clock,
                    pto_check_clock(checker, action->rank));
    free(signal->clock);
    free(signal);
    return true;
}

static bool fail_deadlock(pto_checker_t *checker, const pto_action_t *action) {
    assert(action->step); /* only waits block */
    return pto_check_fail(checker, action->rank, "deadlock: waits for '%s' of rank %lld, which never comes",
                          pto_plan_flag_name(checker->plan, action->step->flag),
                          (long long)action->peer_rank);
}

/* Waits for the step's peers from progress->peer on. Returns false, with the action that it is blocked at, if
 * a signal is missing or the plan is invalid. */
static bool do_wait(pto_checker_t *checker, const pto_step_t *step, int64_t rank, pto_progress_t *progress,
                    pto_action_t *stuck) {
    if (!pto_check_actor(checker, step, rank))
        return false;
    if (!pto_step_acts(checker->plan, step, rank, checker->walk.k, stuck))
        return true;
    int64_t count = pto_step_peer_count(checker->plan, stuck);
    for (; progress->peer < count; progress->peer++) {
        if (!pto_step_peer(checker->plan, progress->peer, stuck))
            continue;
        if (!pto_check_peer(checker, stuck) || !take_signal(checker, stuck))
            return false;
    }
    progress->peer = 0;
    return true;
}

/* --- stages in sequence --------------------------------------------------------------------------------- */

/* Executes one step of a sequence; false if the rank is blocked. */
static bool do_in_turn(pto_checker_t *checker, const pto_step_t *step, int64_t rank, pto_progress_t *progress,
                       pto_action_t *stuck) {
    switch (step->kind) {
    case PTO_STEP_WAIT:
        return do_wait(checker, step, rank, progress, stuck);
    case PTO_STEP_SIGNAL:
        pto_clocks_release(&checker->clocks, pto_check_clock(checker, rank));
        return each_action(checker, step, rank, do_signal);
    case PTO_STEP_COPY:
    case PTO_STEP_REDUCE:
        return each_action(checker, step, rank, do_local_in_turn);
    case PTO_STEP_LAUNCH:
        return pto_check_actor(checker, step, rank);
    case PTO_STEP_SEND: /* refused earlier in a sequence */
    case PTO_STEP_RECV:
    case PTO_STEP_COUNT:
        break;
    }
    return true;
}

/* Continues a rank until its stage has ended or it is blocked. */
static void advance(pto_checker_t *checker, int64_t rank, pto_action_t *stuck) {
    pto_progress_t *progress = &checker->progress[rank];
    while (progress->step < checker->walk.stage->step_count && checker->status == PTO_OK) {
        if (!do_in_turn(checker, stage_step(checker, progress->step), rank, progress, stuck))
            return;
        progress->step++;
    }
}

/* Advances the ranks in turn until all have ended, or none can advance: a deadlock. */
static bool check_sequence(pto_checker_t *checker) {
    memset(checker->progress, 0, (size_t)checker->walked * sizeof *checker->progress);
    int64_t unfinished = checker->walked;
    bool moved = true;
    pto_action_t stuck = {0};
    while (unfinished > 0 && moved) {
        unfinished = 0;
        moved = false;
        for (int64_t rank = 0; rank < checker->walked; rank++) {
            pto_progress_t before = checker->progress[rank];
            if (before.step == checker->walk.stage->step_count)
                continue;
            advance(checker, rank, &stuck);
            if (checker->status != PTO_OK)
                return false;
            const pto_progress_t *after = &checker->progress[rank];
            moved = moved || after->step != before.step || after->peer != before.peer;
            unfinished += after->step < checker->walk.stage->step_count;
        }
    }
    return unfinished == 0 || fail_deadlock(checker, &stuck);
}

/* --- stages whose steps run at the same time: messages -------------------------------------------------- */

static bool add_end(pto_checker_t *checker, pto_ends_t *ends, pto_end_t end) {
    if (!PTO_RESERVE(ends->item, ends->capacity, ends->count + 1))
        return pto_check_out_of_memory(checker);
    ends->item[ends->count++] = end;
    return true;
}

/* Records a send from node 0 to another node, in a proof by node 0. The corresponding rank of each node sends
 * the same to the node at the same distance, so one of these messages goes to node 0. The send is recorded as
 * that one. */
static void record_as_sent_to_node_0(const pto_checker_t *checker, pto_end_t *end) {
    int64_t nodes = end->to / checker->walked, ranks = nodes * checker->walked;
    end->to_node = (int32_t)nodes;
    end->from = (int32_t)(end->from + checker->ranks - ranks);
    end->to = (int32_t)(end->to - ranks);
}

/* Undoes record_as_sent_to_node_0 for one of the two ranks. */
static int64_t acting_rank(const pto_checker_t *checker, const pto_end_t *end, int32_t rank) {
    return (rank + end->to_node * checker->walked) % checker->ranks;
}

static bool record_message(pto_checker_t *checker, const pto_action_t *action) {
    const pto_step_t *step = action->step;
    bool send = step->kind == PTO_STEP_SEND;
    checker->source.count = 0;
    if (!pto_check_collect(checker, send ? &step->source : &step->target, action, !send, &checker->source) ||
        !add_touches(checker, &checker->source, NULL))
        return false;
    pto_end_t end = {.from = (int32_t)(send ? action->rank : action->peer_rank),
                     .to = (int32_t)(send ? action->peer_rank : action->rank),
                     .step = (int32_t)(step - stage_step(checker, 0)),
                     .ordinal = action->ordinal,
                     .bytes = pto_check_touched_bytes(&checker->source)};
    if (end.bytes == 0 && !step->send_empty)
        return true;
    if (send && !pto_check_is_walked(checker, end.to))
        record_as_sent_to_node_0(checker, &end);
    end.is_range = checker->source.count == 1 && checker->source.item[0].holder == action->rank;
    end.begin = end.is_range ? checker->source.item[0].begin : 0;
    return add_end(checker, send ? &checker->sends : &checker->receives, end);
}

static bool is_before(const pto_end_t *one, const pto_end_t *other) {
    return one->to < other->to || (one->to == other->to && one->from < other->from);
}

/* By receiver, then sender, then in the order in which they are posted. */
static int by_receiver(const void *left, const void *right) {
    const pto_end_t *a = left, *b = right;
    if (is_before(a, b) || is_before(b, a))
        return is_before(a, b) ? -1 : 1;
    if (a->step != b->step)
        return a->step < b->step ? -1 : 1;
    return (a->ordinal > b->ordinal) - (a->ordinal < b->ordinal);
}

static void sort_ends(pto_ends_t *ends) {
    if (ends->count > 1)
        qsort(ends->item, (size_t)ends->count, sizeof *ends->item, by_receiver);
}

/* Returns the action for which an end of a message was recorded. */
static pto_action_t action_of(const pto_checker_t *checker, const pto_end_t *end, bool send) {
    pto_action_t action;
    const pto_step_t *step = stage_step(checker, end->step);
    pto_step_acts(checker->plan, step, acting_rank(checker, end, send ? end->from : end->to), checker->walk.k,
                  &action);
    action.ordinal = end->ordinal;
    action.peer_rank = acting_rank(checker, end, send ? end->to : end->from);
    action.peer =
        pto_group_index(checker->plan, pto_plan_group(checker->plan, step->group), action.peer_rank);
    return action;
}

/* Fills `touches` with the ranges of one end. record_message has checked them. */
static bool collect_end(pto_checker_t *checker, const pto_end_t *end, bool send, pto_action_t *action,
                        pto_touches_t *touches) {
    const pto_step_t *step = stage_step(checker, end->step);
    const pto_slice_t *slice = send ? &step->source : &step->target;
    touches->count = 0;
    if (!end->is_range) {
        *action = action_of(checker, end, send);
        return pto_check_collect(checker, slice, action, !send, touches);
    }
    *action = (pto_action_t){.step = step, .rank = acting_rank(checker, end, send ? end->from : end->to)};
    return add_touch(checker, touches,
                     (pto_touch_t){.holder = action->rank,
                                   .buffer = slice->buffer,
                                   .begin = end->begin,
                                   .end = end->begin + end->bytes,
                                   .write = !send});
}

static bool deliver(pto_checker_t *checker, const pto_end_t *send, const pto_end_t *receive) {
    if (send->bytes != receive->bytes)
        return pto_check_fail(checker, send->from, "sends %lld bytes to rank %d, which receives %lld",
                              (long long)send->bytes, (int)send->to, (long long)receive->bytes);
    pto_action_t sender, receiver;
    checker->report.messages++;
    checker->source_node = send->to_node == 0 ? 0 : checker->request->layout.nodes - send->to_node;
    if (pto_check_is_ordered(checker) && checker->source_node == 0)
        pto_clocks_deliver(&checker->clocks, pto_check_clock(checker, send->from),
                           pto_check_clock(checker, send->to));
    bool ok = collect_end(checker, send, true, &sender, &checker->source) &&
              collect_end(checker, receive, false, &receiver, &checker->target) &&
              pto_check_move_touched(checker, &sender, &receiver);
    checker->source_node = 0;
    return ok;
}

static bool fail_not_received(pto_checker_t *checker, const pto_end_t *send) {
    return pto_check_fail(checker, send->from, "sends %lld bytes to rank %d, which does not receive them",
                          (long long)send->bytes, (int)send->to);
}

static bool fail_not_sent(pto_checker_t *checker, const pto_end_t *receive) {
    return pto_check_fail(checker, receive->to, "receives %lld bytes from rank %d, which does not send them",
                          (long long)receive->bytes, (int)receive->from);
}

/* Matches the first entries of two lists that are sorted by receiver, then sender: if they differ, the
 * smaller one has no counterpart. */
static bool match(pto_checker_t *checker, const pto_end_t *send, const pto_end_t *receive) {
    if (is_before(send, receive))
        return fail_not_received(checker, send);
    if (is_before(receive, send))
        return fail_not_sent(checker, receive);
    return deliver(checker, send, receive);
}

static bool match_messages(pto_checker_t *checker) {
    pto_ends_t *sends = &checker->sends, *receives = &checker->receives;
    sort_ends(sends);
    sort_ends(receives);
    int64_t both = sends->count < receives->count ? sends->count : receives->count;
    for (int64_t i = 0; i < both; i++)
        if (!match(checker, sends->item + i, receives->item + i))
            return false;
    if (both < sends->count)
        return fail_not_received(checker, sends->item + both);
    return both == receives->count || fail_not_sent(checker, receives->item + both);
}

/* --- stages whose steps run at the same time ------------------------------------------------------------ */

/* Returns the function that records a step before the rank's local work is done; NULL: none. */
static act_t recorder_of(const pto_checker_t *checker, pto_step_kind_t kind) {
    switch (kind) {
    case PTO_STEP_COPY:
    case PTO_STEP_REDUCE:
        return checker->repeats ? NULL : record_local;
    case PTO_STEP_SIGNAL:
        return do_signal;
    case PTO_STEP_SEND:
    case PTO_STEP_RECV:
        return record_message;
    case PTO_STEP_WAIT:
    case PTO_STEP_LAUNCH:
    case PTO_STEP_COUNT:
        break;
    }
    return NULL;
}

/* Records one rank's messages and all ranges that its steps use, and does its signals and local work. The
 * sends still find their data unchanged later: nothing that the rank writes in this stage overlaps it. */
static bool start_rank(pto_checker_t *checker, int64_t rank) {
    checker->touched.count = 0;
    if (pto_check_is_ordered(checker))
        pto_clocks_release(&checker->clocks, pto_check_clock(checker, rank));
    for (int i = 0; i < checker->walk.stage->step_count; i++) {
        act_t record = recorder_of(checker, stage_step(checker, i)->kind);
        if (record && !each_action(checker, stage_step(checker, i), rank, record))
            return false;
    }
    if (!checker->repeats && !check_overlap(checker, rank))
        return false;
    for (int i = 0; i < checker->walk.stage->step_count; i++)
        if (pto_step_is_local(stage_step(checker, i)) &&
            !each_action(checker, stage_step(checker, i), rank, do_local))
            return false;
    return true;
}

static bool end_rank(pto_checker_t *checker, int64_t rank) {
    for (int i = 0; i < checker->walk.stage->step_count; i++) {
        const pto_step_t *step = stage_step(checker, i);
        pto_progress_t progress = {0};
        pto_action_t stuck = {0};
        if (step->kind != PTO_STEP_WAIT || do_wait(checker, step, rank, &progress, &stuck))
            continue;
        return checker->status == PTO_OK && fail_deadlock(checker, &stuck);
    }
    return true;
}

static bool check_at_once(pto_checker_t *checker) {
    checker->sends.count = checker->receives.count = 0;
    for (int64_t rank = 0; rank < checker->walked; rank++)
        if (!start_rank(checker, rank))
            return false;
    if (!match_messages(checker))
        return false;
    pto_clocks_settle(&checker->clocks);
    for (int64_t rank = 0; rank < checker->walked; rank++)
        if (!end_rank(checker, rank))
            return false;
    return true;
}

bool pto_check_stage(pto_checker_t *checker) {
    if (checker->walk.kernel != checker->kernel)
        pto_check_forget_pieces(checker);
    checker->kernel = checker->walk.kernel;
    return checker->walk.stage->order == PTO_ORDER_AT_ONCE ? check_at_once(checker) : check_sequence(checker);
}

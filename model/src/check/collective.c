/* Checks collective nodes. Our own stages, the MPI library or NCCL may run such a node, so two things are
 * proved: that its stages perform the collective that the node names, between the slices that it names and
 * nothing else; and that the rest of the plan is correct if the call has only the effect and the order that
 * MPI defines.
 *
 * While the stages of a node are walked, checker->inside replaces the plan's contents: each member's input is
 * a distinct symbol, and all else is unwritten. At the end, the outputs are compared with what the collective
 * defines, and its effect is applied to the plan's contents in one step. In an allgather of 3 members, the
 * stages must leave the symbols 0, 1 and 2 in all outputs; whatever the plan has in the inputs, data of other
 * ranks or partial sums, then moves to these outputs.
 *
 * Stages that share memory or have lanes have clocks of their own. A process that enters or leaves the call
 * counts as accessing all of its buffers, so that no other process may use them before or after. */
#include <stdlib.h>

#include "check/check_internal.h"
#include "plan/plan_internal.h"

/* --- calls, members and blocks -------------------------------------------------------------------------- */

/* One call of the node, by one of its groups. */
typedef struct {
    const pto_node_t *node;
    const pto_call_slices_t *slices;
    const pto_group_t *group;
    bool in_place;
    int64_t root_rank;
    int64_t *written_bytes; /* [rank]: what the calls of the node write to its output */
} call_t;

static int64_t rank_of(const pto_checker_t *checker, const call_t *call, int64_t member) {
    return pto_group_rank(checker->plan, call->group, call->root_rank, member);
}

/* A process in a call. */
typedef struct {
    int64_t index;
    int64_t rank;
} member_t;

static member_t member_at(const pto_checker_t *checker, const call_t *call, int64_t index) {
    return (member_t){index, rank_of(checker, call, index)};
}

/* Finds the bytes of a member's input that are for `peer` or, if `write`, those of its output that are from
 * `peer`: of message `ordinal`, if there are several. Empty if there are none. */
static bool find_block(pto_checker_t *checker, const call_t *call, member_t member, member_t peer,
                       int64_t ordinal, bool write, pto_touch_t *block) {
    const pto_slice_t *slice = write ? &call->slices->out : &call->slices->in;
    pto_action_t action = {.rank = member.rank,
                           .core = member.rank % checker->request->layout.procs_per_gpu,
                           .me = member.index,
                           .ordinal = ordinal,
                           .peer = peer.index,
                           .peer_rank = peer.rank};
    checker->source.count = 0;
    if (!pto_check_collect(checker, slice, &action, write, &checker->source))
        return false;
    *block = (pto_touch_t){.holder = member.rank, .buffer = slice->buffer, .write = write};
    if (checker->source.count > 1)
        return pto_check_fail(checker, member.rank, "a collective's block of '%s' is not contiguous",
                              pto_check_buffer_name(checker, slice->buffer));
    if (checker->source.count == 1)
        *block = checker->source.item[0];
    return true;
}

static int64_t bytes_of(const pto_touch_t *block) { return block->end - block->begin; }

static bool contributes(const pto_node_t *node, int64_t member) {
    return member == 0 || !pto_collective_is_from_root(node->collective);
}

/* Returns whether the call writes a member's output. The root of a broadcast in place keeps its data. */
static bool receives_output(const call_t *call, int64_t member) {
    if (pto_collective_is_to_root(call->node->collective))
        return member == 0;
    return member > 0 || !pto_collective_is_from_root(call->node->collective) || !call->in_place;
}

/* --- before the stages ---------------------------------------------------------------------------------- */

static bool is_remote(const pto_slice_t *slice) { return slice && slice->holder != PTO_HOLDER_SELF; }

static bool shares(const pto_step_t *step) {
    return pto_step_is_signal(step) || is_remote(pto_step_source(step)) || is_remote(pto_step_target(step));
}

static bool shares_or_has_lanes(const pto_plan_t *plan, int node_number) {
    for (int n = node_number + 1; n <= node_number + pto_plan_node(plan, node_number)->span; n++) {
        const pto_node_t *node = pto_plan_node(plan, n);
        if (node->kind == PTO_NODE_PIPELINE)
            return true;
        const pto_stage_t *stage = pto_node_stage(plan, n);
        for (int i = 0; stage && i < stage->step_count; i++)
            if (shares(pto_plan_step(plan, stage->step_first + i)))
                return true;
    }
    return false;
}

/* Records a write of each process to all of its buffers: it enters or leaves the call. */
static bool use_all_buffers(pto_checker_t *checker) {
    for (int64_t rank = 0; rank < checker->walked; rank++)
        for (int buffer = 0; buffer < checker->buffers; buffer++) {
            int64_t bytes = checker->bytes[rank * checker->buffers + buffer];
            const pto_touch_t all = {.holder = rank, .buffer = buffer, .end = bytes, .write = true};
            if (bytes > 0 && !pto_check_access(checker, rank, &all))
                return false;
        }
    return true;
}

/* Gives the stages of the node clocks and traces of their own, until pto_check_end_order. */
static bool begin_order(pto_checker_t *checker) {
    int64_t places = checker->walked * checker->buffers;
    checker->outer_clocks = checker->clocks;
    checker->outer_trace = checker->trace;
    checker->inside_ordered = true;
    pto_clocks_init(&checker->clocks, checker->walked, checker->lanes, checker->outer_clocks.group_ranks,
                    true);
    checker->trace = calloc(2 * (size_t)places, sizeof *checker->trace);
    if (!checker->trace)
        return pto_check_out_of_memory(checker);
    for (int64_t place = 0; place < places; place++)
        if (checker->shared[place % checker->buffers])
            pto_trace_init(&checker->trace[place], checker->bytes[place], &checker->clocks);
    return use_all_buffers(checker);
}

void pto_check_end_order(pto_checker_t *checker) {
    int64_t places = checker->walked * checker->buffers;
    if (!checker->inside_ordered)
        return;
    for (int64_t place = 0; place < places && checker->trace; place++)
        pto_trace_fini(&checker->trace[place]);
    free(checker->trace);
    checker->outer_clocks.out_of_memory |= checker->clocks.out_of_memory;
    pto_clocks_fini(&checker->clocks);
    checker->clocks = checker->outer_clocks;
    checker->trace = checker->outer_trace;
    checker->inside_ordered = false;
}

bool pto_check_enter_collective(pto_checker_t *checker, int node_number) {
    pto_check_leave_lanes(checker);
    checker->collective = node_number;
    if (checker->repeats) /* its stages are skipped */
        return true;
    const pto_node_t *node = pto_plan_node(checker->plan, node_number);
    int input = pto_plan_call(checker->plan, node->call)->in.buffer;
    size_t places = (size_t)checker->walked * (size_t)checker->buffers;
    if (!checker->inside)
        checker->inside = calloc(places, sizeof *checker->inside);
    if (!checker->inside)
        return pto_check_out_of_memory(checker);
    for (size_t place = 0; place < places; place++) {
        pto_contents_fini(&checker->inside[place]);
        pto_contents_init(&checker->inside[place], checker->bytes[place], &checker->sets);
    }
    for (int64_t rank = 0; rank < checker->walked; rank++) {
        int64_t member = pto_collective_member(checker->plan, node, rank);
        int64_t place = rank * checker->buffers + input;
        if (member < 0 || !contributes(node, member) || checker->bytes[place] <= 0)
            continue;
        pto_content_t symbol = {.end = checker->bytes[place],
                                .set = pto_sets_run(&checker->sets, (int32_t)member, (int32_t)member + 1),
                                .base = (int32_t)member};
        pto_contents_write(&checker->inside[place], symbol, &checker->sets);
    }
    return !shares_or_has_lanes(checker->plan, node_number) || begin_order(checker);
}

/* --- after the stages: their result, and its effect on the plan ----------------------------------------- */

/* Checks that the stages left in `target` what members in `set` have at the offset of `source`. */
static bool check_result(pto_checker_t *checker, const pto_touch_t *source, const pto_touch_t *target,
                         int32_t set) {
    pto_content_t wanted = {
        .begin = target->begin, .end = target->end, .delta = source->begin - target->begin, .set = set};
    return pto_check_expect(checker, checker->inside, target->holder, target->buffer, wanted);
}

static bool access_block(pto_checker_t *checker, const pto_touch_t *block) {
    return bytes_of(block) == 0 || pto_check_access(checker, block->holder, block);
}

/* Returns the member that corresponds to `member` on the node `nodes` before its own, cyclically. */
static member_t member_before(const pto_checker_t *checker, const call_t *call, member_t member,
                              int64_t nodes) {
    if (nodes == 0)
        return member;
    int64_t members = nodes * call->group->members_per_node, ranks = nodes * checker->walked;
    return (member_t){(member.index + call->group->size - members) % call->group->size,
                      (member.rank + checker->ranks - ranks) % checker->ranks};
}

/* Transfers one block between members, or within one. Sets `*sent` if bytes leave the member. In a proof by
 * node 0, `source` is the block of the member of node 0 that corresponds to `from`; `origin` is the range of
 * that block on the node of `from`, to which it is rotated. Otherwise both are the block of `from`. */
static bool do_block(pto_checker_t *checker, const call_t *call, member_t from, member_t to, int64_t ordinal,
                     bool *sent) {
    pto_touch_t source, target;
    int64_t from_node = checker->rotation ? from.rank / checker->walked : 0;
    if (!find_block(checker, call, member_before(checker, call, from, from_node),
                    member_before(checker, call, to, from_node), ordinal, false, &source) ||
        !find_block(checker, call, to, from, ordinal, true, &target))
        return false;
    if (bytes_of(&source) != bytes_of(&target))
        return pto_check_fail(
            checker, source.holder, "a collective's block of %lld bytes is for rank %lld, which expects %lld",
            (long long)bytes_of(&source), (long long)target.holder, (long long)bytes_of(&target));
    *sent = bytes_of(&source) > 0 && from.index != to.index;
    if (bytes_of(&source) == 0)
        return true;
    if (!checker->repeats) {
        int32_t set = pto_sets_run(&checker->sets, (int32_t)from.index, (int32_t)from.index + 1);
        pto_touch_t origin = source;
        origin.begin = pto_check_rotated_begin(checker, &source, from_node);
        origin.end = origin.begin + bytes_of(&source);
        checker->source_node = from_node;
        bool ok = origin.begin >= 0 && check_result(checker, &origin, &target, set) &&
                  pto_check_move(checker, &source, &target);
        checker->source_node = 0;
        if (!ok)
            return false;
    }
    call->written_bytes[to.rank] += bytes_of(&target);
    return access_block(checker, &source) && access_block(checker, &target);
}

/* Joins the clocks of all members that contribute data, for pto_clocks_deliver_gathered. */
static void gather_contributors(pto_checker_t *checker, const call_t *call) {
    for (int64_t member = 0; member < call->group->size; member++)
        if (contributes(call->node, member) && pto_check_is_walked(checker, rank_of(checker, call, member)))
            pto_clocks_gather(&checker->clocks, rank_of(checker, call, member), member == 0);
}

/* Orders a member after those that sent it a block, whose ranks are in checker->tally. If all others did,
 * their gathered clocks are joined at once. A clock has an entry for each rank, so joining the clocks of all
 * pairs of n members would take n * n * n operations. */
static void order_receiver(pto_checker_t *checker, const call_t *call, member_t to, int64_t sender_count) {
    if (sender_count == call->group->size - 1) {
        pto_clocks_deliver_gathered(&checker->clocks, to.rank);
        return;
    }
    for (int64_t i = 0; i < sender_count; i++)
        if (pto_check_is_walked(checker, checker->tally[i]))
            pto_clocks_deliver(&checker->clocks, checker->tally[i], to.rank);
}

/* Checks that a slice's buffer has as many blocks (or bundles) as MPI and NCCL access. */
static bool check_block_count(pto_checker_t *checker, const call_t *call, const pto_slice_t *slice,
                              int64_t wanted) {
    const pto_buffer_t *buffer = pto_plan_buffer(checker->plan, slice->buffer);
    int64_t blocks = buffer->block_count / (slice->bundle > 1 ? slice->bundle : 1);
    return blocks == wanted ||
           pto_check_fail(checker, call->root_rank, "%s takes %lld blocks of '%s', which has %lld",
                          pto_collective_name(call->node->collective), (long long)wanted, buffer->name,
                          (long long)blocks);
}

static bool do_blocks(pto_checker_t *checker, const call_t *call) {
    gather_contributors(checker, call);
    for (int64_t receiver = 0; receiver < call->group->size; receiver++) {
        member_t to = member_at(checker, call, receiver);
        int64_t sender_count = 0;
        if (!receives_output(call, receiver) || !pto_check_is_walked(checker, to.rank))
            continue;
        for (int64_t sender = 0; sender < call->group->size; sender++) {
            if (!contributes(call->node, sender))
                continue;
            member_t from = member_at(checker, call, sender);
            bool sent = false;
            if (!do_block(checker, call, from, to, 0, &sent))
                return false;
            if (sent)
                checker->tally[sender_count++] = from.rank;
        }
        order_receiver(checker, call, to, sender_count);
    }
    return true;
}

/* Transfers one block, and orders the receiver after the sender. */
static bool do_message(pto_checker_t *checker, const call_t *call, int64_t from, int64_t to,
                       int64_t ordinal) {
    member_t sender = member_at(checker, call, from), receiver = member_at(checker, call, to);
    bool sent = false;
    if (!do_block(checker, call, sender, receiver, ordinal, &sent))
        return false;
    if (sent)
        pto_clocks_deliver(&checker->clocks, sender.rank, receiver.rank);
    return true;
}

/* Message m goes to the next node, to the member whose place on its node is m higher, cyclically. */
static bool do_messages(pto_checker_t *checker, const call_t *call) {
    int64_t nodes = checker->request->layout.nodes, per_node = call->group->members_per_node;
    if (call->group->size != nodes * per_node)
        return pto_check_fail(checker, call->root_rank,
                              "messages go to the next node, which is outside of the group");
    for (int64_t from = 0; from < call->group->size; from++)
        for (int64_t m = 0; m < checker->request->messages; m++) {
            int64_t node = (from / per_node + 1) % nodes, place = (from % per_node + m) % per_node;
            if (!do_message(checker, call, from, node * per_node + place, m))
                return false;
        }
    return true;
}

static bool do_pair(pto_checker_t *checker, const call_t *call) {
    if (call->group->size != 2)
        return pto_check_fail(checker, call->root_rank, "a pair has two members, not %lld",
                              (long long)call->group->size);
    return do_message(checker, call, 0, 1, 0) &&
           (!checker->request->ends.both_ways || do_message(checker, call, 1, 0, 0));
}

/* The resulting vector of a collective, whose operands are at the same offset in all inputs. */
typedef struct {
    pto_contents_t contents; /* from offset 0 */
    int64_t begin;           /* of the operands */
    int64_t bytes;
    int32_t members;   /* members combined so far */
    pto_touch_t first; /* the first output it was written to */
} result_t;

/* Combines a member's contribution to the result for `to` with those of the members before it. Member 0 comes
 * first and determines where the operands are. */
static bool combine_input(pto_checker_t *checker, const call_t *call, int64_t member, member_t to,
                          result_t *result) {
    pto_touch_t vector;
    if (!contributes(call->node, member))
        return true;
    if (!find_block(checker, call, member_at(checker, call, member), to, 0, false, &vector))
        return false;
    if (member == 0) {
        result->begin = vector.begin;
        result->bytes = bytes_of(&vector);
        pto_contents_init(&result->contents, result->bytes, &checker->sets);
    }
    if (bytes_of(&vector) != result->bytes || vector.begin != result->begin)
        return pto_check_fail(checker, vector.holder,
                              "a collective's vector has %lld bytes, and that of member 0 has %lld",
                              (long long)bytes_of(&vector), (long long)result->bytes);
    result->members = (int32_t)member + 1;
    return result->bytes == 0 ||
           ((checker->repeats || pto_check_read_vector(checker, &vector, &result->contents, member > 0)) &&
            access_block(checker, &vector));
}

/* A reduction in place leaves the vectors of all members but the root undefined: it may write them. */
static bool invalidate_vector(pto_checker_t *checker, const call_t *call, const pto_touch_t *vector) {
    pto_content_t nothing = {.begin = vector->begin, .end = vector->end};
    pto_contents_write(pto_check_contents(checker, vector->holder, vector->buffer), nothing, &checker->sets);
    pto_check_overwrite(checker, vector);
    call->written_bytes[vector->holder] += bytes_of(vector);
    return access_block(checker, vector);
}

/* Checks that the stages have left the result in `vector`, with the same bits at all members, and writes it
 * there in the plan's contents. */
static bool write_vector(pto_checker_t *checker, const call_t *call, const pto_touch_t *vector,
                         result_t *result) {
    pto_touch_t source = {.begin = result->begin, .end = result->begin + result->bytes};
    call->written_bytes[vector->holder] += result->bytes;
    if (checker->repeats)
        return access_block(checker, vector);
    int32_t set = pto_sets_run(&checker->sets, 0, result->members);
    if (!check_result(checker, &source, vector, set))
        return false;
    if (bytes_of(&result->first) == 0)
        result->first = *vector;
    return pto_check_same_order(checker, checker->inside, &result->first, vector) &&
           pto_check_write_vector(checker, &result->contents, vector) && access_block(checker, vector);
}

/* Writes the result to a member's output, if it receives it. In place, a member that does not receive it has
 * an operand there, which a reduce may overwrite. */
static bool write_result(pto_checker_t *checker, const call_t *call, int64_t member, result_t *result) {
    pto_touch_t vector;
    member_t self = member_at(checker, call, member);
    if (!receives_output(call, member) && !call->in_place)
        return true;
    if (!find_block(checker, call, self, self, 0, true, &vector))
        return false;
    if (bytes_of(&vector) != result->bytes || (call->in_place && vector.begin != result->begin))
        return pto_check_fail(checker, vector.holder,
                              "a collective's result of %lld bytes goes where there are %lld",
                              (long long)result->bytes, (long long)bytes_of(&vector));
    if (result->bytes == 0)
        return true;
    if (receives_output(call, member))
        return write_vector(checker, call, &vector, result);
    return call->node->collective != PTO_COLLECTIVE_REDUCE || invalidate_vector(checker, call, &vector);
}

/* Orders each member that receives the vector after all that contributed, as MPI guarantees. */
static void order_vector(pto_checker_t *checker, const call_t *call) {
    gather_contributors(checker, call);
    for (int64_t member = 0; member < call->group->size; member++)
        if (receives_output(call, member))
            pto_clocks_deliver_gathered(&checker->clocks, rank_of(checker, call, member));
}

static bool do_vector(pto_checker_t *checker, const call_t *call) {
    result_t result = {0};
    bool ok = true;
    for (int64_t member = 0; member < call->group->size && ok; member++)
        ok = combine_input(checker, call, member, member_at(checker, call, member), &result);
    for (int64_t member = 0; member < call->group->size && ok; member++)
        ok = write_result(checker, call, member, &result);
    pto_contents_fini(&result.contents);
    if (ok && result.bytes > 0)
        order_vector(checker, call);
    return ok;
}

/* Every member receives the reduction of all members' blocks for it, and is ordered after all of them. */
static bool do_reduced_blocks(pto_checker_t *checker, const call_t *call) {
    gather_contributors(checker, call);
    for (int64_t receiver = 0; receiver < call->group->size; receiver++) {
        result_t result = {0};
        bool ok = true;
        for (int64_t member = 0; member < call->group->size && ok; member++)
            ok = combine_input(checker, call, member, member_at(checker, call, receiver), &result);
        ok = ok && write_result(checker, call, receiver, &result);
        pto_contents_fini(&result.contents);
        if (!ok)
            return false;
        if (result.bytes > 0)
            pto_clocks_deliver_gathered(&checker->clocks, rank_of(checker, call, receiver));
    }
    return true;
}

static bool do_call(pto_checker_t *checker, const call_t *call) {
    for (int64_t member = 0; member < call->group->size; member++) {
        int64_t rank = rank_of(checker, call, member);
        if (pto_collective_member(checker->plan, call->node, rank) != member)
            return pto_check_fail(checker, rank, "is of a collective's group, but not on its cores");
        if (pto_check_is_walked(checker, rank))
            pto_clocks_release(&checker->clocks, rank);
    }
    if (pto_collective_is_vector(call->node->collective))
        return do_vector(checker, call);
    if (call->node->collective == PTO_COLLECTIVE_PAIR)
        return do_pair(checker, call);
    if (call->node->collective == PTO_COLLECTIVE_MESSAGES)
        return do_messages(checker, call);
    int64_t in = pto_collective_blocks_in(call->node->collective, call->group->size);
    int64_t out = pto_collective_blocks_out(call->node->collective, call->group->size);
    return check_block_count(checker, call, &call->slices->in, in) &&
           check_block_count(checker, call, &call->slices->out, out) &&
           (pto_collective_reduces(call->node->collective) ? do_reduced_blocks(checker, call)
                                                           : do_blocks(checker, call));
}

/* --- after the stages: the rest of the outputs ---------------------------------------------------------- */

/* Returns whether a span of a member's output is as it was before the stages. */
static bool is_untouched(const pto_checker_t *checker, const call_t *call, int64_t member,
                         const pto_content_t *span) {
    if (span->set == PTO_SET_NONE)
        return true;
    return call->in_place && span->delta == 0 && pto_sets_size(&checker->sets, span->set) == 1 &&
           pto_sets_first(&checker->sets, span->set) == member;
}

/* Checks that the stages have written no more of the output than the call does: another implementation of the
 * call leaves the rest unchanged. Usually there is no rest. */
static bool check_rest(pto_checker_t *checker, const call_t *call, int64_t rank) {
    int64_t member = pto_collective_member(checker->plan, call->node, rank), written = 0;
    int64_t place = rank * checker->buffers + call->slices->out.buffer, held = checker->bytes[place];
    if (member < 0 || held <= call->written_bytes[rank])
        return true;
    pto_contents_read(&checker->inside[place], 0, held, &checker->present, &checker->sets);
    for (int i = 0; i < checker->present.count; i++) {
        const pto_content_t *span = &checker->present.span[i];
        written += is_untouched(checker, call, member, span) ? 0 : span->end - span->begin;
    }
    return written <= call->written_bytes[rank] ||
           pto_check_fail(checker, rank,
                          "a collective's stages write %lld bytes of '%s', of which the call writes %lld",
                          (long long)written, pto_check_buffer_name(checker, call->slices->out.buffer),
                          (long long)call->written_bytes[rank]);
}

/* Performs all calls of the node, one for each of its groups. */
static bool do_calls(pto_checker_t *checker, call_t *call) {
    bool ok = true;
    for (int64_t rank = 0; rank < checker->walked && ok; rank++) {
        if (pto_collective_member(checker->plan, call->node, rank) != 0)
            continue;
        call->root_rank = rank;
        ok = do_call(checker, call);
    }
    for (int64_t rank = 0; rank < checker->walked && ok && !checker->repeats; rank++)
        ok = check_rest(checker, call, rank);
    return ok;
}

bool pto_check_leave_collective(pto_checker_t *checker) {
    int lane = checker->walk.lane;
    pto_check_leave_lanes(checker);
    checker->walk.lane = 0;
    if (checker->inside_ordered && !use_all_buffers(checker))
        return false;
    pto_check_end_order(checker);
    const pto_node_t *node = pto_plan_node(checker->plan, checker->collective);
    call_t call = {.node = node,
                   .slices = pto_plan_call(checker->plan, node->call),
                   .group = pto_plan_group(checker->plan, node->group),
                   .in_place = pto_call_in_place(checker->plan, node),
                   .written_bytes = calloc((size_t)checker->walked, sizeof *call.written_bytes)};
    pto_check_report_t report = checker->report; /* counts the work of the stages, not of the call */
    checker->collective = -1;
    checker->leaving = true;
    bool ok = call.written_bytes ? do_calls(checker, &call) : pto_check_out_of_memory(checker);
    free(call.written_bytes);
    checker->walk.lane = lane;
    pto_clocks_settle(&checker->clocks);
    checker->report = report;
    checker->leaving = !ok;
    return ok;
}

/* Whether check finds faults: each field of each step is changed slightly, in plans of every strategy and
 * algorithm. The change must be reported, or must not change what the plan does. */
#include "check/check_internal.h"
#include "plan/plan_internal.h"
#include "plan_deeds.h"
#include "portolan/check.h"
#include "portolan/strategy.h"
#include "sample.h"
#include "test.h"

/* --- changing one thing --------------------------------------------------------------------------------- */

typedef struct {
    const char *field;
    size_t offset;
    size_t size;
    int64_t delta;
} mutation_t;

/* NOLINTBEGIN(bugprone-macro-parentheses): the names of fields can't stand in parentheses. */
#define CHANGE(field, delta)                                                                                 \
    { #field, offsetof(pto_step_t, field), sizeof(((pto_step_t *)NULL)->field), (delta) }
#define BOTH_WAYS(field) CHANGE(field, 1), CHANGE(field, -1)
#define EXPR(field)                                                                                          \
    BOTH_WAYS(field.constant), CHANGE(field.loop, 1), CHANGE(field.power, 1), CHANGE(field.core, 1)
#define SLICE(field)                                                                                         \
    BOTH_WAYS(field.buffer), CHANGE(field.buffer, 2), CHANGE(field.holder, 1), CHANGE(field.holder, 2),      \
        BOTH_WAYS(field.anchor), CHANGE(field.anchor, 2), CHANGE(field.reversed, 1), BOTH_WAYS(field.parts), \
        CHANGE(field.reverse_bits, 1), BOTH_WAYS(field.bundle), CHANGE(field.bundle, 2),                     \
        BOTH_WAYS(field.fold), BOTH_WAYS(field.share), BOTH_WAYS(field.share_count),                         \
        CHANGE(field.chunks, 2), EXPR(field.offset), EXPR(field.align), EXPR(field.first), EXPR(field.run),  \
        EXPR(field.stride), EXPR(field.until), BOTH_WAYS(field.repeat), CHANGE(field.repeat, 2),             \
        BOTH_WAYS(field.repeat_stride), BOTH_WAYS(field.anchor_step)

/* NOLINTEND(bugprone-macro-parentheses) */

static const mutation_t mutations[] = {
    BOTH_WAYS(kind),
    BOTH_WAYS(core_first),
    BOTH_WAYS(core_count),
    BOTH_WAYS(group),
    EXPR(who_first),
    EXPR(who_stride),
    EXPR(who_until),
    BOTH_WAYS(peers.kind),
    CHANGE(peers.kind, 2),
    EXPR(peers.first),
    EXPR(peers.stride),
    EXPR(peers.until),
    BOTH_WAYS(peers.sign),
    CHANGE(peers.sign, -2),
    BOTH_WAYS(peers.node_shift),
    CHANGE(send_empty, 1),
    CHANGE(fresh, 1),
    BOTH_WAYS(flag),
    SLICE(source),
    SLICE(target),
    BOTH_WAYS(peers.shift[0]),
    BOTH_WAYS(peers.shift[1]),
    CHANGE(peers.kind, 5),
    CHANGE(peers.kind, -5),
};

#define CALL(field, delta)                                                                                   \
    { #field, offsetof(pto_node_t, field), sizeof(((pto_node_t *)NULL)->field), (delta) }
/* NOLINTBEGIN(bugprone-macro-parentheses): the names of fields can't stand in parentheses. */
#define CALLED(field, delta)                                                                                 \
    { #field, offsetof(pto_call_slices_t, field), sizeof(((pto_call_slices_t *)NULL)->field), (delta) }
#define CALL_SLICE(slice)                                                                                    \
    CALLED(slice.buffer, 1), CALLED(slice.buffer, -1), CALLED(slice.holder, 1), CALLED(slice.anchor, 1),     \
        CALLED(slice.anchor, -1), CALLED(slice.offset.constant, 1), CALLED(slice.offset.core, 1),            \
        CALLED(slice.first.constant, 1), CALLED(slice.run.constant, 1), CALLED(slice.until.constant, 1),     \
        CALLED(slice.until.constant, -1), CALLED(slice.reversed, 1), CALLED(slice.parts, 2),                 \
        CALLED(slice.bundle, 2), CALLED(slice.bundle, -2), CALLED(slice.share, 1)
/* NOLINTEND(bugprone-macro-parentheses) */

/* What a collective node says of its call. */
static const mutation_t call_mutations[] = {
    CALL(group, 1),       CALL(group, -1),      CALL(group, -2),     CALL(by, 3),
    CALL(collective, 1),  CALL(collective, 2),  CALL(collective, 3), CALL(collective, -1),
    CALL(collective, -2), CALL(collective, -3), CALL(core_first, 1), CALL(core_first, -1),
    CALL(collective, 5),  CALL(collective, -5), CALL(core_count, 1), CALL(core_count, -1),
    CALL(span, 1),        CALL(span, -1),
};
static const mutation_t slice_mutations[] = {CALL_SLICE(in), CALL_SLICE(out)};
enum {
    CALL_MUTATIONS = sizeof call_mutations / sizeof *call_mutations,
    SLICE_MUTATIONS = sizeof slice_mutations / sizeof *slice_mutations
};

static bool is_of_call(const mutation_t *mutation) {
    bool found = false;
    for (int i = 0; i < CALL_MUTATIONS; i++)
        found = found || mutation == &call_mutations[i];
    for (int i = 0; i < SLICE_MUTATIONS; i++)
        found = found || mutation == &slice_mutations[i];
    return found;
}

/* Change one field; a bool is toggled. */
static void mutate(void *item, const mutation_t *mutation) {
    char *place = (char *)item + mutation->offset;
    if (mutation->size == sizeof(int64_t)) {
        int64_t value;
        memcpy(&value, place, sizeof value);
        value += mutation->delta;
        memcpy(place, &value, sizeof value);
    } else if (mutation->size == sizeof(int)) {
        int value;
        memcpy(&value, place, sizeof value);
        value += (int)mutation->delta;
        memcpy(place, &value, sizeof value);
    } else {
        bool value;
        memcpy(&value, place, sizeof value);
        value = !value;
        memcpy(place, &value, sizeof value);
    }
}

/* --- what becomes of the changes ------------------------------------------------------------------------ */

static struct {
    int64_t seen;
    int64_t sample; /* every how many of them are made */
    int64_t made;
    int64_t caught;
    int64_t by_one_node; /* proved by one node */
    int64_t same;        /* every rank does the same as before */
    int64_t twins;       /* what they do is as right, as is_known_twin argues */
    int64_t survived;
} campaign;

static bool is_in(const char *text, const char *const *list, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(text, list[i]) == 0)
            return true;
    return false;
}

/* Whether this is the algorithm inside; what stands for NCCL's own is a ring or linear. */
static bool is_inside(const pto_plan_t *plan, const char *algorithm) {
    const pto_request_t *request = &plan->request;
    const char *inside = request->algorithm->name;
    if (request->algorithm->nccl)
        inside = request->collective == PTO_COLLECTIVE_ALLREDUCE ? "ring" : "linear";
    return strcmp(inside, algorithm) == 0;
}

/* The vectors that one process reduces in one step may come in any order: in the reduction, and where linear
 * receives them. */
static bool is_other_order(const pto_plan_t *plan, int index, const mutation_t *mutation) {
    static const char *const field[] = {"offset.constant", "offset.loop", "offset.power",
                                        "anchor",          "anchor_step", "reversed"};
    const char *part = strchr(mutation->field, '.');
    if (!part || !is_in(part + 1, field, sizeof field / sizeof *field))
        return false;
    if (strncmp(mutation->field, "source", 6) == 0)
        return pto_plan_step(plan, index)->kind == PTO_STEP_REDUCE;
    return is_inside(plan, "linear") && pto_plan_step(plan, index)->kind == PTO_STEP_RECV;
}

/* Strategies whose collective inside is among one process a node, or those at the same place of every node.
 */
static bool has_leaders(const pto_plan_t *plan) {
    static const char *const name[] = {"gsb_gsb", "gsb_btb",      "btb_gsb",       "mix_gsb",
                                       "btb_btb", "node_leaders", "staged_leaders"};
    return is_in(plan->request.strategy->name, name, sizeof name / sizeof *name);
}

static bool has_counterparts(const pto_plan_t *plan) {
    static const char *const name[] = {"node_aware", "staged_aware"};
    return is_in(plan->request.strategy->name, name, sizeof name / sizeof *name);
}

/* Which buffers hold the same: what is to be sent, once more on the host or set aside by the algorithm, and
 * what has arrived. On one node what arrives is what was to be sent. */
static int content_of(const pto_plan_t *plan, int buffer) {
    static const char *const name[] = {"gathered", "handed over", "host in",   "set aside",
                                       "arrived",  "host out",    "travelling"};
    if (buffer < 0 || buffer >= pto_plan_buffer_count(plan))
        return -1;
    for (int i = 0; i < 7; i++)
        if (strcmp(pto_plan_buffer(plan, buffer)->name, name[i]) == 0)
            return plan->request.layout.nodes == 1 || i < 4 ? 0 : i < 6 ? 1 : 2;
    return -1;
}

static bool is_from_its_copy(const pto_plan_t *plan, int index, const mutation_t *mutation) {
    if (strcmp(mutation->field, "source.buffer") != 0 || !(has_leaders(plan) || has_counterparts(plan)))
        return false;
    int now = pto_plan_step(plan, index)->source.buffer, before = now - (int)mutation->delta;
    return content_of(plan, now) >= 0 && content_of(plan, now) == content_of(plan, before);
}

/* Processes hand over in rounds: with other peers the same copies, in another order or some of them twice.
 */
static bool is_handed_over_otherwise(const pto_plan_t *plan, int index, const mutation_t *mutation) {
    const pto_step_t *step = pto_plan_step(plan, index);
    bool of_peers = step->source.holder == PTO_HOLDER_PEER || step->target.holder == PTO_HOLDER_PEER;
    return has_counterparts(plan) && step->kind == PTO_STEP_COPY && of_peers &&
           strncmp(mutation->field, "peers.", 6) == 0;
}

/* A ring through the host has what it sends in its result on the device, too. */
static bool is_ring(const pto_plan_t *plan) {
    static const char *const name[] = {"staged_ring", "split_ring"};
    return is_in(plan->request.strategy->name, name, 2);
}

static bool is_sent_from_device(const pto_plan_t *plan, int index, const mutation_t *mutation) {
    return is_ring(plan) && strcmp(mutation->field, "source.buffer") == 0 &&
           pto_plan_buffer(plan, pto_plan_step(plan, index)->source.buffer)->role == PTO_ROLE_OUT;
}

/* The processes of a GPU pack units of borders. A corner's cell is in several units, a cell that a later
 * phase overwrites may be any, and a process may pack more than it sends or unpack the last unit twice. */
static bool is_packed_otherwise(const pto_plan_t *plan, int index, const mutation_t *mutation) {
    const pto_step_t *step = pto_plan_step(plan, index);
    bool other_cell = strcmp(mutation->field, "source.reversed") == 0 ||
                      strcmp(mutation->field, "source.fold") == 0 ||
                      strncmp(mutation->field, "source.offset.", 14) == 0;
    return plan->request.strategy->splits &&
           ((step->kind == PTO_STEP_COPY && strcmp(mutation->field, "core_count") == 0) ||
            (other_cell && (step->kind == PTO_STEP_SEND || step->target.holder == PTO_HOLDER_SELF)));
}

/* Blocks of different sizes have a place each in host memory, so that a member may copy its own there in
 * vain. */
static bool stages_in_vain(const pto_plan_t *plan, int index, const mutation_t *mutation) {
    const pto_step_t *step = pto_plan_step(plan, index);
    return plan->request.collective == PTO_COLLECTIVE_ALLGATHERV && plan->request.strategy->stages &&
           step->kind == PTO_STEP_COPY && pto_plan_buffer(plan, step->source.buffer)->role == PTO_ROLE_IN &&
           strcmp(mutation->field, "who_first.constant") == 0 && mutation->delta == -1;
}

/* Process 0 does not read the parts that a ring brings back to it, wherever it puts them. */
static bool is_got_back(const pto_plan_t *plan, int index, const mutation_t *mutation) {
    const pto_step_t *step = pto_plan_step(plan, index);
    return is_inside(plan, "scatter_allgather") && step->kind == PTO_STEP_RECV &&
           step->who_until.constant == 1 && strncmp(mutation->field, "target.align.", 13) == 0;
}

/* In a broadcast by gas_allgather the others answer the root with what nothing uses: they may answer one more
 * member, and where the root puts the answers does not matter. */
static bool is_of_answers(const pto_plan_t *plan, const pto_step_t *step, bool one_more) {
    const pto_buffer_t *from = pto_plan_buffer(plan, step->source.buffer);
    const pto_buffer_t *to = pto_plan_buffer(plan, step->target.buffer);
    if (strcmp(plan->request.strategy->name, "gas_allgather") != 0 ||
        plan->request.collective != PTO_COLLECTIVE_BROADCAST)
        return false;
    return step->target.holder == PTO_HOLDER_PEER ? from->role == PTO_ROLE_OUT && one_more
                                                  : to->role == PTO_ROLE_TEMPORARY && !to->double_buffered;
}

/* Copies in kernels that nobody reads, or in whose place the same or the result follows: in a reduce by
 * gas_split, the other members' outputs are only room for their own share. In gas_tree, a leaf does not read
 * its output, and a result that arrives early arrives again; of three members, the last one has room for a
 * child that does not exist. */
static bool is_stored_in_vain(const pto_plan_t *plan, int index, const mutation_t *mutation) {
    static const char *const more_peers[] = {"peers.until.constant", "peers.until.power"};
    const pto_request_t *request = &plan->request;
    const pto_step_t *step = pto_plan_step(plan, index);
    if (!step->in_kernel || step->kind != PTO_STEP_COPY)
        return false;
    bool to_peers = step->target.holder == PTO_HOLDER_PEER;
    bool to_output = pto_plan_buffer(plan, step->target.buffer)->role == PTO_ROLE_OUT;
    bool one_more = is_in(mutation->field, more_peers, 2) && mutation->delta == 1;
    bool one_before = strcmp(mutation->field, "peers.first.constant") == 0 && mutation->delta == -1;
    if (is_of_answers(plan, step, one_more))
        return true;
    if (strcmp(request->strategy->name, "gas_split") == 0)
        return request->collective == PTO_COLLECTIVE_REDUCE && to_peers && to_output && one_more;
    if (strcmp(request->strategy->name, "gas_tree") != 0)
        return false;
    if (!to_peers)
        return strcmp(mutation->field, "who_stride.constant") == 0 && mutation->delta == -1;
    if (!to_output)
        return request->layout.gpus_per_node == 3 && step->target.offset.constant == 0 && one_more;
    return request->collective == PTO_COLLECTIVE_ALLREDUCE && (one_before || one_more);
}

/* In gas_tree and gas_allgather, the root of a broadcast has in its output what is in its input, and so has,
 * in gas_tree, the last of three members in a reduction, as it has no children. They may send from either. */
static bool is_from_its_input(const pto_plan_t *plan, int index, const mutation_t *mutation) {
    const pto_request_t *request = &plan->request;
    const pto_step_t *step = pto_plan_step(plan, index);
    const pto_role_t from = pto_plan_buffer(plan, step->source.buffer)->role;
    const bool broadcasts = request->collective == PTO_COLLECTIVE_BROADCAST;
    if (step->kind != PTO_STEP_COPY || step->target.holder != PTO_HOLDER_PEER ||
        strcmp(mutation->field, "source.buffer") != 0)
        return false;
    if (strcmp(request->strategy->name, "gas_allgather") == 0)
        return broadcasts && from == PTO_ROLE_OUT;
    return strcmp(request->strategy->name, "gas_tree") == 0 && from == PTO_ROLE_IN &&
           (broadcasts || request->layout.gpus_per_node == 3);
}

/* In a reduce by gas_allgather all reduce, for the sake of hearing from the others, and the root's result
 * counts. */
static bool is_reduced_in_vain(const pto_plan_t *plan, int index, const mutation_t *mutation) {
    return strcmp(plan->request.strategy->name, "gas_allgather") == 0 &&
           plan->request.collective == PTO_COLLECTIVE_REDUCE &&
           pto_plan_step(plan, index)->kind == PTO_STEP_REDUCE && strncmp(mutation->field, "who_", 4) == 0;
}

/* Each block of a reduce-scatter is combined by one process, which may do so in any order. */
static bool is_alone_in_its_order(const pto_plan_t *plan, int index, const mutation_t *mutation) {
    return plan->request.collective == PTO_COLLECTIVE_REDUCE_SCATTER &&
           pto_plan_step(plan, index)->in_kernel && is_other_order(plan, index, mutation);
}

/* Plans that differ and are as right. cuda_aware copies `in` to `out` before anything else, so what its first
 * stage sends it may send from either; what the leader of a node shares, or the root of NCCL's broadcast
 * sends, it has beside that. A staged result is also on the root's GPU. A ring that goes round once more
 * brings everybody what he has already; what one brings a chunk too early is overwritten. A gather may send
 * the longest edge's blocks twice. */
static bool is_known_twin(const pto_plan_t *plan, int index, const mutation_t *mutation) {
    const pto_request_t *request = &plan->request;
    if (is_of_call(mutation))
        return false;
    if (request->strategy->stages && strcmp(mutation->field, "source.buffer") == 0 && mutation->delta == -1)
        return true;
    if (request->collective == PTO_COLLECTIVE_HALO) /* a border is in the field and in its copy */
        return strcmp(mutation->field, "source.buffer") == 0 || is_packed_otherwise(plan, index, mutation);
    if (is_sent_from_device(plan, index, mutation) || is_got_back(plan, index, mutation) ||
        is_stored_in_vain(plan, index, mutation) || is_from_its_input(plan, index, mutation) ||
        is_reduced_in_vain(plan, index, mutation) || is_alone_in_its_order(plan, index, mutation))
        return true;
    bool begins_too_early = is_ring(plan) && strcmp(mutation->field, "from") == 0 && mutation->delta == -1;
    bool sends_subtree_again = request->collective == PTO_COLLECTIVE_GATHER && is_inside(plan, "binomial") &&
                               strcmp(mutation->field, "to") == 0 && mutation->delta == 1;
    if (!pto_collective_is_vector(request->collective))
        return is_from_its_copy(plan, index, mutation) || is_handed_over_otherwise(plan, index, mutation) ||
               begins_too_early || sends_subtree_again || stages_in_vain(plan, index, mutation);
    bool has_both =
        strcmp(request->strategy->name, "cuda_aware") == 0 ||
        ((has_leaders(plan) || request->strategy->nccl) && request->collective == PTO_COLLECTIVE_BROADCAST);
    bool other_source = has_both && strcmp(mutation->field, "source.buffer") == 0 && mutation->delta == -1;
    bool rings = is_inside(plan, "ring") || is_ring(plan);
    bool once_more = rings && strcmp(mutation->field, "to") == 0 && mutation->delta == 1;
    return other_source || once_more || begins_too_early || is_other_order(plan, index, mutation);
}

/* Proofs by one node, and by clocks of those that share memory only, prove nothing that a walk of all ranks
 * with full clocks does not; a fault has the same description. Of every WAYS_SAMPLEth mutant: it takes twice
 * the time of all else, and test_symmetry compares the ways on random plans. */
enum { WAYS_SAMPLE = 5 };
static void assert_every_way_agrees(const pto_plan_t *plan, pto_status_t status,
                                    const pto_check_report_t *report, const char *message) {
    if (pto_plan_either_count(plan, pto_plan_node_count(plan)) > 0)
        return; /* proved for several choices */
    pto_check_report_t full;
    pto_error_t err = {0};
    bool unordered;
    assert_int_equal(pto_check_by_method(plan, PTO_PROOF_IN_FULL, NULL, &full, &unordered, &err), status);
    assert_string_equal(err.message, message);
    if (status != PTO_OK)
        return;
    full.assignments = 1;
    assert_memory_equal(&full, report, sizeof full);
    campaign.by_one_node +=
        pto_check_by_method(plan, PTO_PROOF_OF_ONE_NODE, NULL, &full, &unordered, NULL) == PTO_OK;
}

/* Check a plan that was changed in one place. */
static void judge(const pto_plan_t *plan, int index, const mutation_t *mutation, uint64_t deeds) {
    if (campaign.seen++ % campaign.sample != 0)
        return;
    pto_check_report_t report;
    pto_error_t err = {0};
    pto_status_t status = pto_check(plan, &report, &err);
    campaign.made++;
    if (campaign.made % WAYS_SAMPLE == 0)
        assert_every_way_agrees(plan, status, &report, err.message);
    if (status == PTO_ERR_INVALID_PLAN) {
        campaign.caught++;
        assert_true(err.message[0] != '\0');
        return;
    }
    assert_int_equal(status, PTO_OK);
    bool same = deeds_of(plan) == deeds, twin = !same && is_known_twin(plan, index, mutation);
    campaign.same += same;
    campaign.twins += twin;
    if (same || twin)
        return;
    campaign.survived++;
    print_message("survived: %s by %s with %s, %d, %s %+lld\n", pto_collective_name(plan->request.collective),
                  plan->request.strategy->name, plan->request.algorithm->name, index, mutation->field,
                  (long long)mutation->delta);
}

static void mutate_steps(pto_plan_t *plan, uint64_t deeds) {
    static const mutation_t dropping = {"dropped", 0, 0, 0};
    for (int index = 0; index < plan->steps.count; index++) {
        pto_step_t *step = (pto_step_t *)plan->steps.item + index;
        pto_step_t kept = *step;
        for (size_t i = 0; i < sizeof mutations / sizeof *mutations; i++) {
            mutate(step, &mutations[i]);
            judge(plan, index, &mutations[i], deeds);
            *step = kept;
        }
        step->core_count = 0;
        judge(plan, index, &dropping, deeds);
        *step = kept;
    }
}

/* Loops that begin or end one too early or too late. */
static void mutate_loops(pto_plan_t *plan, uint64_t deeds) {
    static const mutation_t bound[] = {
        {"from", 0, 0, 1}, {"from", 0, 0, -1}, {"to", 0, 0, 1}, {"to", 0, 0, -1}};
    for (int index = 0; index < plan->nodes.count; index++) {
        pto_node_t *node = (pto_node_t *)plan->nodes.item + index;
        pto_node_t kept = *node;
        bool repeats = node->kind == PTO_NODE_LOOP || node->kind == PTO_NODE_PIPELINE;
        for (size_t i = 0; i < sizeof bound / sizeof *bound && repeats; i++) {
            *(i < 2 ? &node->from : &node->to) += bound[i].delta;
            judge(plan, index, &bound[i], deeds);
            *node = kept;
        }
    }
}

static void mutate_calls(pto_plan_t *plan, uint64_t deeds) {
    for (int index = 0; index < plan->nodes.count; index++) {
        pto_node_t *node = (pto_node_t *)plan->nodes.item + index;
        if (node->kind != PTO_NODE_COLLECTIVE || index + node->span >= plan->nodes.count)
            continue;
        const pto_node_t kept = *node;
        for (int i = 0; i < CALL_MUTATIONS; i++) {
            mutate(node, &call_mutations[i]);
            if (index + node->span < plan->nodes.count)
                judge(plan, index, &call_mutations[i], deeds);
            *node = kept;
        }
        pto_call_slices_t *slices = (pto_call_slices_t *)plan->calls.item + node->call;
        const pto_call_slices_t kept_slices = *slices;
        for (int i = 0; i < SLICE_MUTATIONS; i++) {
            mutate(slices, &slice_mutations[i]);
            judge(plan, index, &slice_mutations[i], deeds);
            *slices = kept_slices;
        }
    }
}

static void mutate_plan(pto_request_t request) {
    pto_plan_t *plan = NULL;
    if (pto_plan_create(&request, &plan, NULL) != PTO_OK)
        return;
    uint64_t deeds = deeds_of(plan);
    mutate_steps(plan, deeds);
    mutate_loops(plan, deeds);
    mutate_calls(plan, deeds);
    pto_plan_destroy(plan);
}

static void assert_none_survived(long long caught) {
    print_message(
        "%lld mutants: %lld caught, %lld the same, %lld twins, %lld survived; %lld proved by one node\n",
        (long long)campaign.made, (long long)campaign.caught, (long long)campaign.same,
        (long long)campaign.twins, (long long)campaign.survived, (long long)campaign.by_one_node);
    assert_int_equal(campaign.survived, 0);
    assert_true(campaign.caught > caught / campaign.sample);
}
static const pto_halo_t torus = {.dim_count = 2, .wrap = {true, true}, .extent = {3, 4}, .width = 1};
static void mutate_chunks(pto_request_t request) {
    static const int64_t chunks[] = {2,
                                     9}; /* an alltoall's groups of destinations, and pieces of its blocks */
    for (size_t i = 0; i < 2 && pto_request_may_be_cut(&request); i++) {
        request.chunks = chunks[i];
        mutate_plan(request);
    }
}

static bool has_kernels(const pto_plan_t *plan) {
    bool has = false;
    for (int n = 0; n < pto_plan_node_count(plan); n++)
        has = has || pto_plan_node(plan, n)->kind == PTO_NODE_KERNEL;
    return has;
}

/* A GPU has one kernel, on one node: these plans apply to no other layout. */
static void mutate_kernels(pto_request_t request, const pto_counts_t *counts) {
    static const int64_t gpus[] = {2, 3, 4, 8};
    request.counts = request.collective == PTO_COLLECTIVE_ALLTOALLV ? counts : NULL;
    for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++) {
        pto_plan_t *plan = NULL;
        request.layout = (pto_layout_t){1, gpus[i], 1, 1, gpus[i], false};
        if (pto_plan_create(&request, &plan, NULL) != PTO_OK)
            continue;
        if (has_kernels(plan))
            mutate_plan(request);
        pto_plan_destroy(plan);
    }
}

TEST(every_mutation_is_caught_or_changes_nothing) {
    const pto_counts_t skewed = {.kind = PTO_COUNTS_SKEW, .skew = 0.5, .seed = 7};
    campaign.sample = test_sample();
    for (int s = 0; s < pto_strategy_count(); s++)
        for (int a = 0; a < pto_algorithm_count(); a++)
            for (int collective = 0; collective < PTO_COLLECTIVE_COUNT; collective++) {
                if (strcmp(pto_strategy_at(s)->name, "mix_learning") == 0)
                    continue; /* its plans are mix_doubling's */
                pto_request_t request = {.layout = {3, 2, 1, 3, 2, false},
                                         .collective = (pto_collective_t)collective,
                                         .datatype = PTO_DATATYPE_FLOAT,
                                         .bytes = 4 * 29,
                                         .messages = 5,
                                         .halo = torus,
                                         .strategy = pto_strategy_at(s),
                                         .algorithm = pto_algorithm_at(a)};
                mutate_plan(request);
                request.halo.corners = PTO_CORNERS_DIAGONAL;
                if (collective == PTO_COLLECTIVE_HALO)
                    mutate_plan(request);
                mutate_chunks(request);
                request.split = PTO_SPLIT_DESTINATIONS;
                if (request.strategy->splits)
                    mutate_plan(request);
                request.split = PTO_SPLIT_BYTES;
                if (collective == PTO_COLLECTIVE_ALLGATHERV ||
                    (collective == PTO_COLLECTIVE_ALLTOALLV && request.strategy->applicable)) {
                    request.counts = &skewed;
                    mutate_plan(request);
                    request.counts = collective == PTO_COLLECTIVE_ALLGATHERV ? &skewed : NULL;
                }
                mutate_kernels(request, &skewed);
                request.layout = (pto_layout_t){1, 4, 2, 3, 2, false};
                if (request.strategy->applicable || pto_collective_is_allgather(request.collective) ||
                    collective == PTO_COLLECTIVE_REDUCE_SCATTER)
                    mutate_plan(request); /* among 2^k processes an algorithm may take another way */
                static const pto_staged_t staged[] = {{1, 1}, {4, 0}, {0, 3}, {7, 5}};
                bool fixed = request.strategy->stages && !request.strategy->fixed;
                for (size_t i = 0; fixed && i < sizeof staged / sizeof *staged; i++) {
                    request.staged_members = staged[i]; /* of 8 on the node, or of 2 on each GPU */
                    mutate_plan(request);
                }
            }
    assert_none_survived(70000);
}

/* Six chunks, so that a ring of four slots goes round. */
TEST(every_mutation_of_a_pair_is_caught_or_changes_nothing) {
    memset(&campaign, 0, sizeof campaign);
    campaign.sample = test_sample();
    for (int s = 0; s < pto_strategy_count(); s++)
        for (int a = 0; a < 8 * pto_algorithm_count(); a++) {
            int ends = a % 8;
            pto_request_t request = {.layout = {1, 2, 1, 1, 1, false},
                                     .collective = PTO_COLLECTIVE_PAIR,
                                     .ends = {ends & 1, ends & 2, ends & 4},
                                     .chunks = 6,
                                     .bytes = 6 * 64 - 4,
                                     .strategy = pto_strategy_at(s),
                                     .algorithm = pto_algorithm_at(a / 8)};
            mutate_plan(request);
        }
    assert_none_survived(10000);
}

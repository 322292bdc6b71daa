/* Checks the parts of a plan before it is walked: every buffer, group and flag that it names exists, and none
 * of its arithmetic divides by zero, loops forever or leaves its group. */
#include "check/check_internal.h"
#include "plan/plan_internal.h"

static bool check_buffer(pto_checker_t *checker, const pto_buffer_t *buffer) {
    const pto_layout_t *layout = &checker->request->layout;
    if (buffer->core_first < 0 || buffer->core_count < 0 ||
        buffer->core_first + buffer->core_count > layout->procs_per_gpu)
        return pto_check_fail(checker, 0, "buffer '%s' is on cores that don't exist", buffer->name);
    if (buffer->block_count < 0 || buffer->block_bytes < 0 || buffer->granularity_bytes < 1 ||
        (buffer->cyclic != PTO_CYCLIC_NONE && buffer->cyclic_count < 1) || buffer->chunks < 0 ||
        (buffer->chunks > 0 &&
         (buffer->slots < 1 || buffer->blocks != PTO_BLOCKS_EQUAL || buffer->cyclic != PTO_CYCLIC_NONE)))
        return pto_check_fail(checker, 0, "buffer '%s' has an invalid shape", buffer->name);
    if (pto_blocks_are_table(buffer) && !checker->request->counts)
        return pto_check_fail(checker, 0, "buffer '%s' needs byte counts", buffer->name);
    if (buffer->group >= PTO_GROUP_COUNT)
        return pto_check_fail(checker, 0, "buffer '%s' numbers its blocks by an unknown group", buffer->name);
    return true;
}

/* Checks the bundles, the folded blocks and the repetition of a slice, with which little can be combined. */
static bool check_combination(pto_checker_t *checker, const pto_slice_t *slice, const pto_buffer_t *named) {
    if (slice->bundle > 1 && (slice->parts > 0 || slice->share != PTO_SHARE_ALL ||
                              named->cyclic != PTO_CYCLIC_NONE || named->block_count % slice->bundle != 0))
        return pto_check_fail(checker, 0, "a slice of '%s' has bundles of %lld blocks that don't fit",
                              named->name, (long long)slice->bundle);
    if (slice->fold != 0 &&
        (slice->fold < 0 || slice->fold > named->block_count / 2 || slice->bundle > 1 || slice->parts > 0 ||
         slice->share != PTO_SHARE_ALL || slice->repeat > 1 || named->cyclic != PTO_CYCLIC_NONE))
        return pto_check_fail(checker, 0, "a slice of '%s' folds %lld of its %lld blocks", named->name,
                              (long long)slice->fold, (long long)named->block_count);
    if (slice->repeat > 1 &&
        (slice->parts > 0 || slice->share != PTO_SHARE_ALL || slice->bundle > 1 || slice->reversed ||
         named->cyclic != PTO_CYCLIC_NONE || named->blocks != PTO_BLOCKS_EQUAL))
        return pto_check_fail(checker, 0, "a slice of '%s' repeats what are not whole blocks of equal size",
                              named->name);
    return true;
}

bool pto_check_slice_named(pto_checker_t *checker, const pto_slice_t *slice) {
    if (slice->buffer < 0 || slice->buffer >= checker->buffers)
        return pto_check_fail(checker, 0, "a step names buffer %d, which does not exist", slice->buffer);
    const pto_buffer_t *named = pto_plan_buffer(checker->plan, slice->buffer);
    if (slice->chunks < 0 || (named->chunks > 0 && slice->chunks != named->chunks))
        return pto_check_fail(checker, 0, "a slice of '%s' is not of its chunks", named->name);
    if (slice->parts < 0 || slice->anchor_step < 0 ||
        (slice->share != PTO_SHARE_ALL && slice->share_count < 1))
        return pto_check_fail(checker, 0, "a slice of '%s' has invalid parts or shares", named->name);
    if (!check_combination(checker, slice, named))
        return false;
    if (slice->bundle < 0)
        return pto_check_fail(checker, 0, "a slice of '%s' has bundles of %lld blocks", named->name,
                              (long long)slice->bundle);
    if (slice->reverse_bits < 0 || slice->reverse_bits > 62)
        return pto_check_fail(checker, 0, "a slice of '%s' reverses %lld bits", named->name,
                              (long long)slice->reverse_bits);
    if (slice->holder != PTO_HOLDER_SELF)
        checker->shared[slice->buffer] = true;
    return true;
}

/* Checks the holder of a slice: a peer's buffer needs a step with peers, and messages use only the rank's own
 * buffers. */
static bool check_holder(pto_checker_t *checker, const pto_step_t *step, const pto_slice_t *slice) {
    if (slice->holder < PTO_HOLDER_SELF || slice->holder >= PTO_HOLDER_COUNT)
        return pto_check_fail(checker, 0, "a slice names an unknown holder");
    if (slice->holder == PTO_HOLDER_PEER && (step->peers.kind == PTO_PEERS_NONE || pto_step_is_message(step)))
        return pto_check_fail(checker, 0,
                              "a slice of '%s' names a peer's, but the step has none that it uses",
                              pto_check_buffer_name(checker, slice->buffer));
    return true;
}

static bool check_slice(pto_checker_t *checker, const pto_step_t *step, const pto_slice_t *slice) {
    return !slice || (pto_check_slice_named(checker, slice) && check_holder(checker, step, slice));
}

/* Returns whether a group's members are the processes of a halo exchange's grid: the owners. */
static bool is_grid(const pto_checker_t *checker, const pto_group_t *group) {
    return checker->request->collective == PTO_COLLECTIVE_HALO && group->fold == 0 &&
           (group->kind == PTO_GROUP_OWNERS ||
            (group->kind == PTO_GROUP_CORES && checker->request->layout.owners_per_gpu == 1));
}

static bool check_step(pto_checker_t *checker, const pto_step_t *step) {
    if (step->kind >= PTO_STEP_COUNT)
        return pto_check_fail(checker, 0, "a step is of an unknown kind");
    bool signals = pto_step_is_signal(step);
    if (step->group < 0 || step->group >= checker->plan->groups.count)
        return pto_check_fail(checker, 0, "a step names group %d, which does not exist", step->group);
    if (step->core_first < 0 || step->core_first + step->core_count > checker->request->layout.procs_per_gpu)
        return pto_check_fail(checker, 0, "a step is for cores that don't exist");
    if ((signals || pto_step_is_message(step)) && step->peers.kind == PTO_PEERS_NONE)
        return pto_check_fail(checker, 0, "a message or signal names no peers");
    bool has_cells = (pto_step_source(step) && step->source.cells != PTO_CELLS_NONE) ||
                     (pto_step_target(step) && step->target.cells != PTO_CELLS_NONE);
    if ((has_cells || step->peers.kind == PTO_PEERS_CART || step->peers.kind == PTO_PEERS_GRID) &&
        !is_grid(checker, pto_plan_group(checker->plan, step->group)))
        return pto_check_fail(checker, 0, "a step has peers in a grid, which its group is not");
    if (signals && (step->flag < 0 || step->flag >= pto_plan_flag_count(checker->plan)))
        return pto_check_fail(checker, 0, "a step names flag %d, which does not exist", step->flag);
    return check_slice(checker, step, pto_step_source(step)) &&
           check_slice(checker, step, pto_step_target(step));
}

bool pto_check_parts(pto_checker_t *checker) {
    for (int buffer = 0; buffer < checker->buffers; buffer++)
        if (!check_buffer(checker, pto_plan_buffer(checker->plan, buffer)))
            return false;
    bool ok = true;
    for (int node = 0; node < pto_plan_node_count(checker->plan) && ok; node++) {
        const pto_stage_t *stage = pto_node_stage(checker->plan, node);
        checker->walk.stage = stage;
        for (int step = 0; stage && step < stage->step_count && ok; step++)
            ok = check_step(checker, pto_plan_step(checker->plan, stage->step_first + step));
    }
    if (ok)
        checker->walk.stage = NULL;
    return ok;
}

/* Returns the number of ranks among which the memory of a slice must be shared, so that a step may use it: 1,
 * those of a GPU, or those of a node. */
static int64_t sharing_by(const pto_plan_t *plan, const pto_step_t *step, const pto_slice_t *slice) {
    const pto_layout_t *layout = &plan->request.layout;
    if (!slice || slice->holder == PTO_HOLDER_SELF)
        return 1;
    bool on_gpu =
        slice->holder == PTO_HOLDER_OWNER || pto_group_is_on_gpu(pto_plan_group(plan, step->group)->kind);
    return layout->procs_per_gpu * (on_gpu ? 1 : layout->gpus_per_node);
}

int64_t pto_check_sharing_ranks(const pto_plan_t *plan) {
    int64_t ranks = 1;
    for (int i = 0; i < plan->steps.count; i++) {
        const pto_step_t *step = pto_plan_step(plan, i);
        int64_t source = sharing_by(plan, step, pto_step_source(step));
        int64_t target = sharing_by(plan, step, pto_step_target(step));
        ranks = source > ranks ? source : ranks;
        ranks = target > ranks ? target : ranks;
    }
    return ranks;
}

/* Returns whether all of these expressions have a value: 2^k is a 64-bit number for k from 0 to 62. */
static bool are_defined(const pto_expr_t *const *used, size_t count, int64_t k) {
    if (k >= 0 && k <= 62)
        return true;
    for (size_t i = 0; i < count; i++)
        if (used[i]->power || used[i]->inverse)
            return false;
    return true;
}

/* More members than this can only be an arithmetic mistake. */
enum { PEERS_MAX = 1 << 24 };

bool pto_check_actor(pto_checker_t *checker, const pto_step_t *step, int64_t rank) {
    int64_t k = checker->walk.k, core = rank % checker->request->layout.procs_per_gpu;
    const pto_peers_t *peers = &step->peers;
    const pto_expr_t *used[] = {&step->who_first, &step->who_stride, &step->who_until,
                                &peers->first,    &peers->stride,    &peers->until};
    if (!are_defined(used, sizeof used / sizeof *used, k))
        return pto_check_fail(checker, rank, "2^%lld is out of range", (long long)k);
    int64_t member_stride = pto_expr_at(&step->who_stride, k, core, 0);
    if (member_stride < 1)
        return pto_check_fail(checker, rank, "a step's members are %lld apart", (long long)member_stride);
    if (peers->kind == PTO_PEERS_NONE || peers->kind == PTO_PEERS_XOR || peers->kind == PTO_PEERS_CART)
        return true;
    int64_t stride = pto_expr_at(&peers->stride, k, core, 0);
    int64_t extent = pto_expr_at(&peers->until, k, core, 0) - pto_expr_at(&peers->first, k, core, 0);
    if (stride < 1)
        return pto_check_fail(checker, rank, "a step's peers are %lld apart", (long long)stride);
    if (extent / stride > PEERS_MAX)
        return pto_check_fail(checker, rank, "a step has %lld peers", (long long)(extent / stride));
    return true;
}

bool pto_check_peer(pto_checker_t *checker, const pto_action_t *action) {
    const pto_group_t *group = pto_plan_group(checker->plan, action->step->group);
    if (action->peer >= 0 && action->peer < group->size && action->peer_rank >= 0 &&
        action->peer_rank < checker->ranks)
        return true;
    return pto_check_fail(checker, action->rank, "a step names member %lld of a group of %lld",
                          (long long)action->peer, (long long)group->size);
}

bool pto_check_slice(pto_checker_t *checker, const pto_slice_t *slice, const pto_action_t *action) {
    const pto_expr_t *used[] = {&slice->offset, &slice->align,  &slice->first,
                                &slice->run,    &slice->stride, &slice->until};
    if (!are_defined(used, sizeof used / sizeof *used, action->k))
        return pto_check_fail(checker, action->rank, "2^%lld is out of range", (long long)action->k);
    const pto_buffer_t *buffer = pto_plan_buffer(checker->plan, slice->buffer);
    int64_t first = pto_expr_at(&slice->first, action->k, action->core, action->peer);
    int64_t until = pto_expr_at(&slice->until, action->k, action->core, action->peer);
    if (first >= until)
        return true;
    int64_t run = pto_expr_at(&slice->run, action->k, action->core, action->peer);
    int64_t stride = pto_expr_at(&slice->stride, action->k, action->core, action->peer);
    if (run < 0 || stride < 1)
        return pto_check_fail(checker, action->rank, "a slice of '%s' takes runs of %lld blocks, %lld apart",
                              buffer->name, (long long)run, (long long)stride);
    int64_t blocks = pto_slice_block_count(slice, action->k, action->core, action->peer);
    int64_t available = buffer->block_count * (slice->parts > 0 ? slice->parts : 1);
    if (slice->bundle > 1)
        available /= slice->bundle;
    available -= slice->fold;
    if (blocks > available)
        return pto_check_fail(checker, action->rank, "a slice of '%s' names %lld blocks of %lld",
                              buffer->name, (long long)blocks, (long long)available);
    return true;
}

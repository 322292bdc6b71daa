/* Counts the work in a plan and the memory of its buffers by arithmetic, without walking its ranks. Callers
 * compare the counts with limits, and refuse work that is too large before they start it. Counts that
 * overflow saturate at INT64_MAX, so they exceed every limit. */
#include "base/checked.h"
#include "plan/plan_internal.h"

static void add_product(int64_t *total, int64_t a, int64_t b) {
    *total = pto_saturating_sum(*total, pto_saturating_product(a, b));
}

/* Returns the number of members of one group that act in a step, for one core. */
static int64_t acting_members(const pto_step_t *step, int64_t k, int64_t core) {
    int64_t first = pto_expr_at(&step->who_first, k, core, 0);
    int64_t stride = pto_expr_at(&step->who_stride, k, core, 0);
    int64_t until = pto_expr_at(&step->who_until, k, core, 0);
    return first < until ? (until - first - 1) / stride + 1 : 0;
}

/* Returns the number of groups that have processes of one given core: the values that the color can take. */
static int64_t groups_of_core(const pto_layout_t *layout, pto_group_kind_t kind) {
    unsigned color = pto_group_traits[kind].color;
    return (color & PTO_BY_NODE ? layout->nodes : 1) * (color & PTO_BY_GPU ? layout->gpus_per_node : 1);
}

bool pto_step_depends_on_core(const pto_step_t *step) {
    const pto_peers_t *peers = &step->peers;
    bool peers_do = peers->kind != PTO_PEERS_NONE &&
                    (peers->first.core != 0 || peers->stride.core != 0 || peers->until.core != 0);
    return peers_do || step->who_first.core != 0 || step->who_stride.core != 0 || step->who_until.core != 0;
}

int64_t pto_step_actions(const pto_plan_t *plan, const pto_step_t *step, int64_t k) {
    const pto_layout_t *layout = &plan->request.layout;
    pto_group_kind_t kind = pto_group_at(plan, step->group)->kind;
    unsigned index = pto_group_traits[kind].index;
    bool spans_cores = index & PTO_BY_CORE && !pto_group_is_on_gpu(kind); /* acting_members has all cores */
    int64_t cores = spans_cores ? 1 : step->core_count;
    int64_t cores_alike = pto_step_depends_on_core(step) ? 1 : cores; /* counted once for all of them */
    int64_t total = 0;
    for (int64_t core = step->core_first; core < step->core_first + cores; core += cores_alike) {
        pto_action_t action = {.step = step, .core = core, .k = k};
        int64_t peers = step->peers.kind == PTO_PEERS_NONE ? 1 : pto_step_peer_count(plan, &action);
        int64_t acting = 0, actions = 0;
        add_product(&acting, groups_of_core(layout, kind),
                    pto_group_is_on_gpu(kind) ? 1 : acting_members(step, k, core));
        add_product(&actions, acting, peers);
        add_product(&total, actions, cores_alike);
    }
    return total;
}

bool pto_core_acts(const pto_plan_t *plan, int64_t core) {
    for (int i = 0; i < plan->steps.count; i++) {
        const pto_step_t *step = pto_step_at(plan, i);
        if (core >= step->core_first && core < step->core_first + step->core_count)
            return true;
    }
    return false;
}

int64_t pto_acting_cores(const pto_plan_t *plan) {
    int64_t count = 0;
    for (int64_t core = 0; core < plan->request.layout.procs_per_gpu; core++)
        count += pto_core_acts(plan, core);
    return count;
}

static bool varies(const pto_expr_t *expr) { return expr->loop || expr->power || expr->inverse; }

/* Returns whether two expressions differ by the same amount in all iterations. */
static bool varies_equally(const pto_expr_t *a, const pto_expr_t *b) {
    return a->loop == b->loop && a->power == b->power && a->inverse == b->inverse;
}

/* Returns whether shifts up to `until` stay inside the group in all iterations of a loop; they are largest in
 * the last one. */
static bool stays_inside(const pto_plan_t *plan, const pto_step_t *step, const pto_node_t *loop) {
    const pto_expr_t *until = &step->peers.until;
    if (until->loop < 0 || until->power != 0 || until->inverse != 0 || until->core < 0)
        return false;
    return pto_expr_at(until, loop->to - 1, step->core_first + step->core_count - 1, 0) <=
           pto_plan_group(plan, step->group)->size;
}

/* Returns whether the number of a step's peers may depend on the loop's iteration. */
static bool peers_vary(const pto_plan_t *plan, const pto_step_t *step, const pto_node_t *loop) {
    const pto_peers_t *peers = &step->peers;
    if (peers->kind == PTO_PEERS_NONE || peers->kind == PTO_PEERS_XOR || peers->kind == PTO_PEERS_CART)
        return false;
    if (varies(&peers->stride) || !varies_equally(&peers->first, &peers->until))
        return true;
    return varies(&peers->until) && peers->kind == PTO_PEERS_SHIFT && !stays_inside(plan, step, loop);
}

/* Returns whether the number of a step's actions may depend on the loop's iteration. */
static bool step_varies(const pto_plan_t *plan, const pto_step_t *step, const pto_node_t *loop) {
    return varies(&step->who_first) || varies(&step->who_stride) || varies(&step->who_until) ||
           peers_vary(plan, step, loop);
}

/* Returns whether the actions of a loop may depend on the iteration. */
static bool loop_varies(const pto_plan_t *plan, int loop) {
    for (int i = loop + 1; i <= loop + pto_node_at(plan, loop)->span; i++) {
        const pto_node_t *node = pto_node_at(plan, i);
        if (node->kind != PTO_NODE_STAGE) /* iterations with inner nodes are counted one by one */
            return true;
        const pto_stage_t *stage = pto_stage_at(plan, node->stage);
        for (int s = stage->step_first; s < stage->step_first + stage->step_count; s++)
            if (step_varies(plan, pto_step_at(plan, s), pto_node_at(plan, loop)))
                return true;
    }
    return false;
}

/* Goes to the next stage; false after the last. Sets `*times` to the number of iterations that it represents.
 * If all iterations of a loop have the same actions, only the first one is visited, and represents all. */
static bool next_stage(pto_walk_t *walk, int64_t *times) {
    while (pto_walk_next(walk)) {
        const pto_node_t *loop = walk->loop >= 0 ? pto_node_at(walk->plan, walk->loop) : NULL;
        const bool is_uniform = loop && loop->kind == PTO_NODE_LOOP && !pto_walk_in_nccl(walk) &&
                                !loop_varies(walk->plan, walk->loop);
        *times = is_uniform ? loop->to - loop->from : 1;
        if (!is_uniform || walk->k == loop->from)
            return true;
        pto_walk_leave_loop(walk);
    }
    return false;
}

pto_plan_size_t pto_plan_size(const pto_plan_t *plan) {
    const pto_layout_t *layout = &plan->request.layout;
    int64_t actors = 0, times;
    add_product(&actors, layout->nodes * layout->gpus_per_node, pto_acting_cores(plan));
    pto_plan_size_t size = {0};
    pto_walk_t walk;
    pto_walk_begin(&walk, plan);
    while (next_stage(&walk, &times)) {
        add_product(&size.stages, times, actors);
        if (pto_walk_in_nccl(&walk)) {
            pto_walk_leave_collective(&walk);
            continue;
        }
        for (int i = 0; i < walk.stage->step_count; i++) {
            const pto_step_t *step = pto_step_at(plan, walk.stage->step_first + i);
            if (step->kind == PTO_STEP_RECV) /* a message is counted at its send */
                continue;
            int64_t actions = pto_step_actions(plan, step, walk.k);
            add_product(step->kind == PTO_STEP_SEND ? &size.messages : &size.local_actions, times, actions);
            if (step->kind != PTO_STEP_SEND && step->peers.kind != PTO_PEERS_NONE)
                add_product(&size.peer_actions, times, actions);
        }
    }
    return size;
}

static void add_needs(const pto_plan_t *plan, pto_bytes_of_buffer_t bytes_of, void *context, int64_t rank,
                      int64_t *device, int64_t *host) {
    for (int b = 0; b < pto_plan_buffer_count(plan); b++) {
        const pto_buffer_t *buffer = pto_buffer_at(plan, b);
        if (!pto_buffer_stands_in(plan, b))
            *(buffer->space == PTO_SPACE_GPU ? device : host) +=
                bytes_of(context, plan, b, rank) * (buffer->double_buffered ? 2 : 1);
    }
}

/* Returns the maximum number of whole buffers that the processes of a GPU have together. Each process has
 * one, or one of several parts of it. Parts in chunks count as whole buffers, since chunks are rounded up. */
static int64_t buffers_per_gpu(const pto_layout_t *layout, const pto_buffer_t *buffer) {
    int64_t parts = buffer->cyclic != PTO_CYCLIC_NONE ? buffer->cyclic_count : 1;
    if (buffer->split > 1)
        parts = buffer->split;
    int64_t held = pto_group_ranks_per_gpu(layout, buffer->group);
    held = buffer->core_count < held ? buffer->core_count : held;
    return parts > 1 && buffer->chunks == 0 ? (held - 1) / parts + 1 : held;
}

void pto_plan_memory_bound(const pto_plan_t *plan, double *gpu_bytes, double *host_bytes) {
    const pto_layout_t *layout = &plan->request.layout;
    int64_t largest = pto_request_largest_bytes(&plan->request); /* block of a table */
    double gpu = 0, host = 0;
    for (int b = 0; b < plan->buffers.count; b++) {
        const pto_buffer_t *buffer = pto_buffer_at(plan, b);
        int64_t block_bytes = pto_blocks_are_table(buffer) ? largest : buffer->block_bytes;
        if (buffer->chunks > 0)
            block_bytes = buffer->slots * pto_chunk_bytes(block_bytes, buffer->chunks);
        *(buffer->space == PTO_SPACE_GPU ? &gpu : &host) +=
            (double)(buffers_per_gpu(layout, buffer) * (buffer->double_buffered ? 2 : 1)) *
            (double)buffer->block_count * (double)block_bytes;
    }
    *gpu_bytes = gpu;
    *host_bytes = host * (double)layout->gpus_per_node;
}

/* With tables, every GPU may differ; otherwise the first one represents all. */
void pto_plan_memory_by(const pto_plan_t *plan, pto_bytes_of_buffer_t bytes_of, void *context,
                        int64_t *gpu_bytes, int64_t *host_bytes) {
    const pto_layout_t *layout = &plan->request.layout;
    bool is_uniform = !pto_plan_has_tables(plan);
    int64_t nodes = is_uniform ? 1 : layout->nodes;
    int64_t gpus = is_uniform ? 1 : layout->gpus_per_node;
    *gpu_bytes = 0;
    *host_bytes = 0;
    for (int64_t node = 0; node < nodes; node++) {
        int64_t host = 0;
        for (int64_t gpu = 0; gpu < gpus; gpu++) {
            int64_t device = 0;
            for (int64_t core = 0; core < layout->procs_per_gpu; core++) {
                int64_t rank = pto_layout_number(layout, (pto_rank_t){node, gpu, core});
                add_needs(plan, bytes_of, context, rank, &device, &host);
            }
            if (device > *gpu_bytes)
                *gpu_bytes = device;
        }
        if (is_uniform)
            host *= layout->gpus_per_node;
        if (host > *host_bytes)
            *host_bytes = host;
    }
}

/* The pto_bytes_of_buffer_t of pto_plan_memory. */
static int64_t block_by_block(void *context, const pto_plan_t *plan, int buffer, int64_t rank) {
    (void)context;
    return pto_buffer_bytes(plan, buffer, rank);
}

void pto_plan_memory(const pto_plan_t *plan, int64_t *gpu_bytes, int64_t *host_bytes) {
    pto_plan_memory_by(plan, block_by_block, NULL, gpu_bytes, host_bytes);
}

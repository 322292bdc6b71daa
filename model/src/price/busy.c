/* Pipelines whose chunk k is each process's exchange with its k-th group of partners: if the table is sparse,
 * few processes have bytes in a chunk (busy.h). */
#include "price/busy.h"

#include <stdlib.h>

#include "base/grow.h"
#include "price/messages.h"

/* The partners of chunk k: those at the distances from first + size * k on, `size` of them. */
typedef struct {
    int64_t first;
    int64_t size;
} groups_t;

/* Returns whether the expression is constant + loop * k. */
static bool is_linear(const pto_expr_t *expr, int64_t constant, int64_t loop) {
    pto_expr_t rest = *expr;
    rest.loop = 0;
    return expr->constant == constant && expr->loop == loop && pto_expr_is_constant(&rest);
}

/* Returns whether the step sends or receives, in chunk k, one block for each partner of group k. */
static bool are_messages(const groups_t *groups, const pto_step_t *step) {
    const pto_peers_t *peers = &step->peers;
    return pto_step_is_message(step) && !step->send_empty && peers->kind == PTO_PEERS_SHIFT &&
           pto_range_is_constant(&step->who_first, &step->who_stride, &step->who_until) &&
           pto_slice_is_peers_block(pto_message_slice(step)) && is_linear(&peers->stride, 1, 0) &&
           is_linear(&peers->first, groups->first, groups->size) &&
           is_linear(&peers->until, groups->first + groups->size, groups->size);
}

/* Returns whether the step copies the blocks of each chunk's group. */
static bool is_copy(const pto_pricing_t *pricing, const groups_t *groups, const pto_step_t *step) {
    const pto_slice_t *slice = &step->source;
    pto_blocks_t blocks = pto_plan_buffer(pricing->plan, slice->buffer)->blocks;
    int64_t sign = blocks == PTO_BLOCKS_ROW ? 1 : -1;
    return step->kind == PTO_STEP_COPY && step->peers.kind == PTO_PEERS_NONE &&
           slice->holder == PTO_HOLDER_SELF && step->target.holder == PTO_HOLDER_SELF &&
           (blocks == PTO_BLOCKS_ROW || blocks == PTO_BLOCKS_COLUMN) && slice->reversed == (sign < 0) &&
           slice->anchor == PTO_ANCHOR_ME && slice->chunks <= 1 && slice->share == PTO_SHARE_ALL &&
           slice->parts == 0 && is_linear(&slice->align, 0, 0) && is_linear(&slice->first, 0, 0) &&
           is_linear(&slice->run, groups->size, 0) &&
           is_linear(&slice->offset, sign * groups->first, sign * groups->size);
}

/* Returns whether the steps are the exchange of one group in each chunk. Nothing else may cost a process. */
static bool find_groups(const pto_pricing_t *pricing, int first, int until, groups_t *groups) {
    const pto_plan_t *plan = pricing->plan;
    *groups = (groups_t){0};
    if (pricing->actors.kind != PTO_ACTORS_RANKS || !pricing->tables ||
        !pto_messages_are_apart(pricing->machine, &plan->request.layout))
        return false;
    for (int s = first; s < until; s++) {
        const pto_step_t *step = pto_step_at(plan, s);
        if (pto_step_is_message(step))
            *groups = (groups_t){step->peers.first.constant, step->peers.first.loop};
    }
    for (int s = first; s < until && groups->size > 0; s++)
        if (!are_messages(groups, pto_step_at(plan, s)) && !is_copy(pricing, groups, pto_step_at(plan, s)))
            return false;
    return groups->size > 0;
}

/* Adds the chunks of a process's messages. False: the table is not sparse, or out of memory. */
static bool add_chunks(const pto_pricing_t *pricing, const groups_t *groups, const pto_step_t *step,
                       int64_t actor, pto_busy_t *busy) {
    pto_action_t action;
    const int64_t *partner;
    int64_t partners = 0;
    if (!pto_step_is_message(step) || !pto_step_acts(pricing->plan, step, actor, 0, &action))
        return true;
    pto_held_t held = pto_held_by(pricing->plan, pto_message_slice(step)->buffer, actor);
    if (!pto_tables_partners(pricing->tables, &held, &partner, &partners) ||
        !PTO_RESERVE(busy->gpu, busy->capacity, busy->count + partners))
        return false;
    for (int64_t i = 0; i < partners; i++) {
        int64_t shift = pto_floor_mod(step->peers.sign * (partner[i] - action.me), held.buffer->block_count);
        if (shift >= groups->first)
            busy->gpu[busy->count++] = (pto_busy_gpu_t){.chunk = (shift - groups->first) / groups->size,
                                                        .gpu = actor / pricing->actors.per_gpu};
    }
    return true;
}

static int compare(const void *a, const void *b) {
    const pto_busy_gpu_t *one = a, *other = b;
    bool chunk = one->chunk != other->chunk;
    int64_t left = chunk ? one->chunk : one->gpu, right = chunk ? other->chunk : other->gpu;
    return (left > right) - (left < right);
}

bool pto_busy_find(const pto_pricing_t *pricing, int first, int until, pto_busy_t *busy) {
    groups_t groups;
    bool sparse = find_groups(pricing, first, until, &groups);
    for (int64_t actor = 0; actor < pricing->actors.count && sparse; actor++)
        for (int s = first; s < until && sparse; s++)
            sparse = add_chunks(pricing, &groups, pto_step_at(pricing->plan, s), actor, busy);
    busy->actor = sparse ? malloc((size_t)pricing->actors.count * sizeof *busy->actor) : NULL;
    if (busy->actor && busy->count > 0)
        qsort(busy->gpu, (size_t)busy->count, sizeof *busy->gpu, compare);
    return busy->actor != NULL;
}

int64_t pto_busy_list(const pto_pricing_t *pricing, int64_t chunk, pto_busy_t *busy) {
    int64_t count = 0, latest = -1;
    for (; busy->next < busy->count && busy->gpu[busy->next].chunk <= chunk; busy->next++) {
        const pto_busy_gpu_t *busy_gpu = &busy->gpu[busy->next];
        if (busy_gpu->chunk < chunk || busy_gpu->gpu == latest)
            continue;
        latest = busy_gpu->gpu;
        for (int64_t core = 0; core < pricing->actors.per_gpu; core++)
            busy->actor[count++] = latest * pricing->actors.per_gpu + core;
    }
    return count;
}

void pto_busy_fini(pto_busy_t *busy) {
    free(busy->gpu);
    free(busy->actor);
    *busy = (pto_busy_t){.gpu = NULL};
}

/* Chunks that are groups of partners: of a sparse table, few processes have bytes in one. */
#include "price/busy.h"

#include <stdlib.h>

#include "base/grow.h"
#include "price/messages.h"

/* The partners of chunk k: those `first + most * k` processes further, and the next ones, `most` in all. */
typedef struct {
    int64_t first;
    int64_t most;
} groups_t;

static bool is_linear(const pto_expr_t *expr, int64_t constant, int64_t loop) {
    pto_expr_t rest = *expr;
    rest.loop = 0;
    return expr->constant == constant && expr->loop == loop && pto_expr_is_constant(&rest);
}

static bool are_messages(const groups_t *groups, const pto_step_t *step) {
    const pto_peers_t *peers = &step->peers;
    return pto_step_is_message(step) && !step->send_empty && peers->kind == PTO_PEERS_SHIFT &&
           pto_range_is_constant(&step->who_first, &step->who_stride, &step->who_until) &&
           pto_slice_is_peers_block(pto_message_slice(step)) && is_linear(&peers->stride, 1, 0) &&
           is_linear(&peers->first, groups->first, groups->most) &&
           is_linear(&peers->until, groups->first + groups->most, groups->most);
}

static bool is_copy(const pto_pricing_t *pricing, const groups_t *groups, const pto_step_t *step) {
    const pto_slice_t *slice = &step->source;
    pto_blocks_t blocks = pto_plan_buffer(pricing->plan, slice->buffer)->blocks;
    int64_t sign = blocks == PTO_BLOCKS_ROW ? 1 : -1;
    return step->kind == PTO_STEP_COPY && step->peers.kind == PTO_PEERS_NONE &&
           slice->holder == PTO_HOLDER_SELF && step->target.holder == PTO_HOLDER_SELF &&
           (blocks == PTO_BLOCKS_ROW || blocks == PTO_BLOCKS_COLUMN) && slice->reversed == (sign < 0) &&
           slice->anchor == PTO_ANCHOR_ME && slice->chunks <= 1 && slice->share == PTO_SHARE_ALL &&
           slice->parts == 0 && is_linear(&slice->align, 0, 0) && is_linear(&slice->first, 0, 0) &&
           is_linear(&slice->run, groups->most, 0) &&
           is_linear(&slice->offset, sign * groups->first, sign * groups->most);
}

/* Nothing may cost a process that moves no bytes. */
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
    for (int s = first; s < until && groups->most > 0; s++)
        if (!are_messages(groups, pto_step_at(plan, s)) && !is_copy(pricing, groups, pto_step_at(plan, s)))
            return false;
    return groups->most > 0;
}

/* Enter the chunks of a process's messages. False: its table is not sparse, or out of memory. */
static bool enter(const pto_pricing_t *pricing, const groups_t *groups, const pto_step_t *step, int64_t actor,
                  pto_busy_t *busy) {
    pto_action_t action;
    const int64_t *partner;
    int64_t partners = 0;
    if (!pto_step_is_message(step) || !pto_step_acts(pricing->plan, step, actor, 0, &action))
        return true;
    pto_held_t held = pto_held_by(pricing->plan, pto_message_slice(step)->buffer, actor);
    if (!pto_tables_partners(pricing->tables, &held, &partner, &partners) ||
        !PTO_RESERVE(busy->part, busy->capacity, busy->count + partners))
        return false;
    for (int64_t i = 0; i < partners; i++) {
        int64_t shift = pto_floor_mod(step->peers.sign * (partner[i] - action.me), held.buffer->block_count);
        if (shift >= groups->first)
            busy->part[busy->count++] = (pto_part_t){.chunk = (shift - groups->first) / groups->most,
                                                     .gpu = actor / pricing->actors.per_gpu};
    }
    return true;
}

static int compare(const void *a, const void *b) {
    const pto_part_t *one = a, *other = b;
    bool chunk = one->chunk != other->chunk;
    int64_t left = chunk ? one->chunk : one->gpu, right = chunk ? other->chunk : other->gpu;
    return (left > right) - (left < right);
}

bool pto_busy_find(const pto_pricing_t *pricing, int first, int until, pto_busy_t *busy) {
    groups_t groups;
    bool sparse = find_groups(pricing, first, until, &groups);
    for (int64_t actor = 0; actor < pricing->actors.count && sparse; actor++)
        for (int s = first; s < until && sparse; s++)
            sparse = enter(pricing, &groups, pto_step_at(pricing->plan, s), actor, busy);
    busy->actor = sparse ? malloc((size_t)pricing->actors.count * sizeof *busy->actor) : NULL;
    if (busy->actor && busy->count > 0)
        qsort(busy->part, (size_t)busy->count, sizeof *busy->part, compare);
    return busy->actor != NULL;
}

int64_t pto_busy_list(const pto_pricing_t *pricing, int64_t chunk, pto_busy_t *busy) {
    int64_t count = 0, latest = -1;
    for (; busy->at < busy->count && busy->part[busy->at].chunk <= chunk; busy->at++) {
        const pto_part_t *part = &busy->part[busy->at];
        for (int64_t core = 0; core < pricing->actors.per_gpu && part->chunk == chunk && part->gpu != latest;
             core++)
            busy->actor[count++] = part->gpu * pricing->actors.per_gpu + core;
        latest = part->chunk == chunk ? part->gpu : -1;
    }
    return count;
}

void pto_busy_fini(pto_busy_t *busy) {
    free(busy->part);
    free(busy->actor);
    *busy = (pto_busy_t){.part = NULL};
}

/* Finds GPUs of a node that do the same, so that one of them is priced for all (docs/decisions/0058). whole.c
 * calls it before it prices a plan.
 *
 * The GPUs of a node are split into ranges. The GPUs of a range do the same: in each step, they move the same
 * bytes, with the same number of peers in each range. This is derived from the members, peers and slices of
 * the steps, not by looking at ranks. The first GPU of each range is priced, with all of its peers.
 *
 * Example: eight GPUs on two sockets, of which GPU 0 gathers from all. GPU 0 does something else, and copies
 * between sockets may cost more, so the ranges are {0}, {1..3} and {4..7}, and GPUs 0, 1 and 4 are priced.
 *
 * The functions survey_... split the ranges where one aspect of a step requires it. They return false if that
 * aspect may differ between any two GPUs; then all GPUs are priced. */
#include <stdlib.h>

#include "price/pricing.h"

_Thread_local bool pto_price_each_gpu;

/* Where the ranges are split. */
typedef struct {
    const pto_pricing_t *pricing;
    const pto_plan_t *plan;
    bool *begins;         /* [GPU]: a range begins here */
    bool needs_one_range; /* some step is the same only if all GPUs are in one range */
} survey_t;

static bool is_numbered_by_gpu(pto_group_kind_t kind) { return pto_group_traits[kind].index & PTO_BY_GPU; }

static void split_before_gpu(survey_t *survey, int64_t gpu) {
    if (gpu > 0 && gpu < survey->plan->request.layout.gpus_per_node)
        survey->begins[gpu] = true;
}

/* Splits the ranges before a member. If it is not the first process of its GPU, the split falls inside this
 * GPU: some of its processes are on each side. The GPU becomes a range of its own. */
static void split_at_member(survey_t *survey, pto_group_kind_t kind, int64_t index) {
    int64_t per_gpu = pto_group_members_per_gpu(&survey->plan->request.layout, kind);
    split_before_gpu(survey, index / per_gpu);
    split_before_gpu(survey, (index + per_gpu - 1) / per_gpu);
}

/* Splits the ranges before the first and after the last of the members first, first + stride, ... below
 * `until`, unless these are all members. False: the expressions are not constants, or there are gaps. */
static bool split_around_members(survey_t *survey, const pto_group_t *group, const pto_expr_t *first,
                                 const pto_expr_t *stride, const pto_expr_t *until) {
    if (pto_range_is_all(first, stride, until, group->size))
        return true;
    /* A stride does not matter for a single member. */
    if (!pto_range_is_constant(first, stride, until) ||
        (stride->constant != 1 && until->constant > first->constant + 1))
        return false;
    split_at_member(survey, group->kind, first->constant);
    split_at_member(survey, group->kind, until->constant);
    return true;
}

/* Returns whether shifts lead to all other members, so that every member has the same peers. */
static bool reaches_all(const pto_peers_t *peers, const pto_group_t *group) {
    return pto_range_is_constant(&peers->first, &peers->stride, &peers->until) &&
           peers->stride.constant == 1 && (peers->first.constant == 0 || peers->first.constant == 1) &&
           peers->until.constant >= group->size;
}

/* Returns whether the costs of a step's peers are added up in the order of the peers. */
static bool adds_up_peers(const pto_step_t *step) {
    return step->kind == PTO_STEP_REDUCE || (step->kind == PTO_STEP_COPY && !step->in_kernel);
}

/* Returns whether a step is a wait of a single member. It costs its peers nothing. */
static bool waits_alone(const pto_step_t *step) {
    return step->kind == PTO_STEP_WAIT && step->peers.kind == PTO_PEERS_INDEX &&
           pto_expr_is_constant(&step->who_first) && pto_expr_is_constant(&step->who_until) &&
           step->who_until.constant == step->who_first.constant + 1;
}

static bool survey_peers(survey_t *survey, const pto_step_t *step, const pto_group_t *group) {
    const pto_peers_t *peers = &step->peers;
    if (peers->kind == PTO_PEERS_SHIFT) {
        /* The GPUs of a range have peers in different ranges, or meet the ranges in a different order: */
        if (!reaches_all(peers, group) || adds_up_peers(step))
            survey->needs_one_range = true;
        return true;
    }
    if (peers->kind == PTO_PEERS_INDEX) {
        /* The order of the peers is the same for all members. But it depends on the member when its turn
         * comes to the peers on its own GPU. */
        bool several = peers->until.constant > peers->first.constant + 1;
        int64_t per_gpu = pto_group_members_per_gpu(&survey->plan->request.layout, group->kind);
        if (several && per_gpu > 1 && adds_up_peers(step))
            return false;
        return waits_alone(step) ||
               split_around_members(survey, group, &peers->first, &peers->stride, &peers->until);
    }
    return peers->kind == PTO_PEERS_NONE;
}

/* Returns whether some of the step's copies may cost more between sockets. */
static bool sockets_matter(const survey_t *survey, const pto_step_t *step) {
    const pto_machine_t *machine = survey->pricing->machine;
    if (step->source.holder != PTO_HOLDER_PEER && step->target.holder != PTO_HOLDER_PEER)
        return false;
    if (step->in_kernel)
        return pto_postal_known(&machine->remote[PTO_REMOTE_LOAD][PTO_REACH_OFF_SOCKET]) ||
               pto_postal_known(&machine->remote[PTO_REMOTE_STORE][PTO_REACH_OFF_SOCKET]);
    return pto_step_copy_kind(survey->plan, step) != PTO_COPY_D2D ||
           pto_postal_known(&machine->peer[PTO_REACH_OFF_SOCKET]);
}

static void split_at_sockets(survey_t *survey) {
    const pto_layout_t *layout = &survey->plan->request.layout;
    for (int64_t gpu = 0; gpu < layout->gpus_per_node; gpu += layout->gpus_per_socket)
        split_before_gpu(survey, gpu);
}

/* Splits the ranges where shares change size. Ten grains in four shares are 3, 3, 2 and 2, so that the split
 * is at member 2. The last share may also have bytes that do not fill a grain. Shares of a GPU's own
 * processes are the same on all GPUs. False: there are fewer shares than members. */
static bool split_at_shares(survey_t *survey, pto_group_kind_t kind, const pto_buffer_t *buffer,
                            int64_t shares) {
    int64_t larger = buffer->block_bytes / buffer->granularity_bytes % shares; /* number of larger shares */
    bool last_differs = buffer->block_bytes % buffer->granularity_bytes != 0;
    if (!is_numbered_by_gpu(kind) || (larger == 0 && !last_differs))
        return true;
    if (pto_group_shape(&survey->plan->request.layout, kind).size > shares)
        return false;
    split_at_member(survey, kind, larger);
    if (last_differs)
        split_at_member(survey, kind, shares - 1);
    return true;
}

/* Returns whether a slice is the part of one member: the acting one, or its peer. */
static bool is_members_part(const pto_slice_t *slice) {
    const pto_expr_t *zero[] = {&slice->offset, &slice->align, &slice->first};
    for (size_t i = 0; i < sizeof zero / sizeof *zero; i++)
        if (!pto_expr_is(zero[i], 0))
            return false;
    return (slice->anchor == PTO_ANCHOR_ME || slice->anchor == PTO_ANCHOR_PEER) && slice->anchor_step <= 1 &&
           slice->reverse_bits == 0 && pto_expr_is_constant(&slice->until) && slice->until.constant == 1;
}

/* The bytes of a slice must not depend on the peer or the holder, except for shares. */
static bool survey_slice(survey_t *survey, const pto_group_t *group, const pto_slice_t *slice) {
    const pto_layout_t *layout = &survey->plan->request.layout;
    const pto_buffer_t *buffer = pto_buffer_at(survey->plan, slice->buffer);
    const pto_expr_t *counts[] = {&slice->first, &slice->run, &slice->stride, &slice->until};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i]->peer != 0)
            return false;
    if (slice->cells != PTO_CELLS_NONE || slice->fold > 0 || buffer->cyclic != PTO_CYCLIC_NONE)
        return false;
    if (buffer->blocks == PTO_BLOCKS_SHARE)
        return slice->parts == 0 && (layout->nodes == 1 || pto_group_is_on_node(buffer->group)) &&
               split_at_shares(survey, buffer->group, buffer, pto_group_shape(layout, buffer->group).size);
    if (buffer->blocks != PTO_BLOCKS_EQUAL || slice->parts == 0)
        return buffer->blocks == PTO_BLOCKS_EQUAL;
    if (buffer->split > 1 || slice->share != PTO_SHARE_ALL)
        return false;
    bool equal_parts = buffer->block_bytes / buffer->granularity_bytes % slice->parts == 0 &&
                       buffer->block_bytes % buffer->granularity_bytes == 0;
    return equal_parts ||
           (is_members_part(slice) && split_at_shares(survey, group->kind, buffer, slice->parts));
}

static bool is_on_all_gpus(const pto_buffer_t *buffer) {
    const pto_group_traits_t *traits = &pto_group_traits[buffer->group];
    return buffer->held_stride <= 1 && (traits->index | traits->color) & PTO_BY_GPU;
}

/* Returns whether a copy is one of a buffer onto itself, and thus skipped, on some GPUs and not on others. */
static bool is_skipped_on_some(const pto_plan_t *plan, const pto_step_t *step) {
    const pto_buffer_t *source = pto_buffer_at(plan, step->source.buffer);
    const pto_buffer_t *target = pto_buffer_at(plan, step->target.buffer);
    return pto_copy_joins_user_buffers(plan, step) &&
           (target->user_stride > 1 || !is_on_all_gpus(source) || !is_on_all_gpus(target));
}

static bool survey_slices(survey_t *survey, const pto_group_t *group, const pto_step_t *step) {
    const pto_plan_t *plan = survey->plan;
    bool in_host = pto_buffer_at(plan, step->source.buffer)->space == PTO_SPACE_CPU ||
                   pto_buffer_at(plan, step->target.buffer)->space == PTO_SPACE_CPU;
    if (in_host && survey->pricing->shared.loads.links.memory_s_per_byte)
        return false; /* the memory of a node is shared by all of its GPUs */
    if (sockets_matter(survey, step))
        split_at_sockets(survey);
    return !is_skipped_on_some(plan, step) && survey_slice(survey, group, &step->source) &&
           survey_slice(survey, group, &step->target);
}

/* If actors are not exact, only their participation depends on the GPU. */
static void split_by_participation(survey_t *survey, int step) {
    const pto_pricing_t *pricing = survey->pricing;
    const bool *takes_part = pricing->actors.takes_part + step * pricing->actors.count;
    for (int64_t actor = pricing->actors.per_gpu; actor < pricing->actors.count; actor++)
        if (takes_part[actor] != takes_part[actor - pricing->actors.per_gpu])
            split_before_gpu(survey, actor / pricing->actors.per_gpu);
}

static bool survey_members(survey_t *survey, const pto_step_t *step, const pto_group_t *group) {
    const pto_group_traits_t *traits = &pto_group_traits[group->kind];
    if (!is_numbered_by_gpu(group->kind)) {
        if (!(traits->color & PTO_BY_GPU)) /* all members are on the first GPU */
            split_before_gpu(survey, 1);
        return true;
    }
    return group->fold == 0 &&
           split_around_members(survey, group, &step->who_first, &step->who_stride, &step->who_until) &&
           (pto_step_is_message(step) || survey_peers(survey, step, group));
}

static bool survey_step(survey_t *survey, int index) {
    const pto_step_t *step = pto_step_at(survey->plan, index);
    const pto_group_t *group = pto_group_at(survey->plan, step->group);
    if (!pto_actors_are_exact(survey->pricing, step)) {
        split_by_participation(survey, index);
        return true;
    }
    return survey_members(survey, step, group) &&
           (!pto_step_is_local(step) || survey_slices(survey, group, step));
}

/* Returns whether the GPUs can be priced by ranges, and with less work: each range looks for its peers among
 * all members. Routes in a topology are not compared. */
static bool find_ranges(survey_t *survey) {
    const pto_plan_t *plan = survey->plan;
    if (survey->pricing->shared.loads.links.topology)
        return false;
    for (int i = 0; i < plan->steps.count; i++)
        if (!survey_step(survey, i))
            return false;
    int64_t ranges = 1;
    for (int64_t gpu = 1; gpu < plan->request.layout.gpus_per_node; gpu++)
        ranges += survey->begins[gpu];
    return ranges == 1 || (!survey->needs_one_range && ranges * ranges <= plan->request.layout.gpus_per_node);
}

static bool price_all(pto_pricing_t *pricing) {
    pricing->actors.priced = malloc((size_t)pricing->actors.count * sizeof *pricing->actors.priced);
    for (int64_t actor = 0; pricing->actors.priced && actor < pricing->actors.count; actor++)
        pricing->actors.priced[actor] = actor;
    pricing->actors.priced_count = pricing->actors.priced ? pricing->actors.count : 0;
    return pricing->actors.priced != NULL;
}

static bool price_first_of_ranges(pto_pricing_t *pricing, const bool *range_begins) {
    int64_t cores = pricing->actors.per_gpu, first = 0;
    pricing->actors.represented_by =
        malloc((size_t)pricing->actors.gpu_count * sizeof *pricing->actors.represented_by);
    if (!pricing->actors.represented_by)
        return false;
    pricing->actors.priced_count = 0;
    for (int64_t gpu = 0; gpu < pricing->actors.gpu_count; gpu++) {
        bool begins = gpu == 0 || range_begins[gpu];
        first = begins ? gpu : first;
        pricing->actors.represented_by[gpu] = first;
        for (int64_t core = 0; core < cores && begins; core++)
            pricing->actors.priced[pricing->actors.priced_count++] = gpu * cores + core;
        for (int64_t core = 0; core < cores && !begins; core++)
            pricing->actors.actor[first * cores + core].gpus++;
    }
    return true;
}

bool pto_gpus_find(pto_pricing_t *pricing) {
    if (!price_all(pricing))
        return false;
    if (pricing->actors.kind != PTO_ACTORS_PLACES || pricing->actors.gpu_count == 1 || pto_price_each_gpu)
        return true;
    survey_t survey = {.pricing = pricing,
                       .plan = pricing->plan,
                       .begins = calloc((size_t)pricing->actors.gpu_count, sizeof *survey.begins)};
    bool found = survey.begins && (!find_ranges(&survey) || price_first_of_ranges(pricing, survey.begins));
    free(survey.begins);
    return found;
}

void pto_gpus_count_copies_with_peers(pto_pricing_t *pricing, const pto_step_t *step, int64_t k) {
    const pto_plan_t *plan = pricing->plan;
    int64_t per_gpu = pricing->actors.per_gpu;
    if (!pto_actors_are_exact(pricing, step) || pto_step_copy_kind(plan, step) == PTO_COPY_H2H)
        return;
    for (int64_t i = 0; i < pricing->actors.priced_count; i++) {
        pto_action_t other;
        int64_t actor = pricing->actors.priced[i], next = 0;
        while (pto_step_next_reaching(plan, step, actor, k, &next, &other))
            if (other.rank / per_gpu != actor / per_gpu)
                pto_copy_count(plan, NULL, NULL, &other, actor / per_gpu, pricing->shared.engine);
        pto_price_visits += next;
    }
}

/* GPUs of a node that do the same, so that one of them is priced for all (docs/decisions/0058).
 *
 * The GPUs of a node are cut into ranges such that, within a range, each step moves the same bytes with as
 * many peers of each range. Which steps do so is read from their members, peers and slices, without a look at
 * ranks. The first GPU of each range is priced, with all of its peers. */
#include <stdlib.h>

#include "price/pricing.h"

_Thread_local bool pto_price_each_gpu;

/* Where the GPUs of a node differ. */
typedef struct {
    const pto_pricing_t *pricing;
    const pto_plan_t *plan;
    bool *cut;           /* per GPU: it differs from the one before it */
    bool needs_one_kind; /* some step is alike only if all GPUs are */
} survey_t;

/* --- members -------------------------------------------------------------------------------------------- */

static bool is_numbered_by_gpu(pto_group_kind_t kind) { return pto_group_traits[kind].index & PTO_BY_GPU; }

static void cut_before_gpu(survey_t *survey, int64_t gpu) {
    if (gpu > 0 && gpu < survey->plan->request.layout.gpus_per_node)
        survey->cut[gpu] = true;
}

/* A member may be one of several processes of its GPU, which then differs from both of its neighbors. */
static void cut_before_member(survey_t *survey, pto_group_kind_t kind, int64_t index) {
    int64_t per_gpu = pto_group_members_per_gpu(&survey->plan->request.layout, kind);
    cut_before_gpu(survey, index / per_gpu);
    cut_before_gpu(survey, (index + per_gpu - 1) / per_gpu);
}

static bool cut_around_range(survey_t *survey, const pto_group_t *group, const pto_expr_t *first,
                             const pto_expr_t *stride, const pto_expr_t *until) {
    if (pto_range_is_all(first, stride, until, group->size))
        return true;
    if (!pto_range_is_constant(first, stride, until) ||
        (stride->constant != 1 && until->constant > first->constant + 1))
        return false;
    cut_before_member(survey, group->kind, first->constant);
    cut_before_member(survey, group->kind, until->constant);
    return true;
}

/* --- peers ---------------------------------------------------------------------------------------------- */

static bool reaches_all(const pto_peers_t *peers, const pto_group_t *group) {
    return pto_range_is_constant(&peers->first, &peers->stride, &peers->until) &&
           peers->stride.constant == 1 && (peers->first.constant == 0 || peers->first.constant == 1) &&
           peers->until.constant >= group->size;
}

/* The costs of a step's peers are added up in their order, unless they are those of one copy by a kernel. */
static bool adds_up_peers(const pto_step_t *step) {
    return step->kind == PTO_STEP_REDUCE || (step->kind == PTO_STEP_COPY && !step->in_kernel);
}

/* Returns whether a step is the wait of a single member for peers that are found by number, which do nothing
 * for it. So these may change from round to round if no other member waits for them, which could be one of
 * them. */
static bool waits_alone(const pto_step_t *step) {
    return step->kind == PTO_STEP_WAIT && step->peers.kind == PTO_PEERS_INDEX &&
           pto_expr_is_constant(&step->who_first) && pto_expr_is_constant(&step->who_until) &&
           step->who_until.constant == step->who_first.constant + 1;
}

static bool survey_peers(survey_t *survey, const pto_step_t *step, const pto_group_t *group) {
    const pto_peers_t *peers = &step->peers;
    if (peers->kind == PTO_PEERS_SHIFT) {
        if (!reaches_all(peers, group) || adds_up_peers(step))
            survey->needs_one_kind = true;
        return true;
    }
    if (peers->kind == PTO_PEERS_INDEX) {
        /* In one order for all, but that of a member's own GPU comes earlier or later. */
        bool several = peers->until.constant > peers->first.constant + 1;
        int64_t per_gpu = pto_group_members_per_gpu(&survey->plan->request.layout, group->kind);
        if (several && per_gpu > 1 && adds_up_peers(step))
            return false;
        return waits_alone(step) ||
               cut_around_range(survey, group, &peers->first, &peers->stride, &peers->until);
    }
    return peers->kind == PTO_PEERS_NONE;
}

/* Returns whether the machine has other costs for some of the step's copies between sockets. */
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

static void cut_sockets(survey_t *survey) {
    const pto_layout_t *layout = &survey->plan->request.layout;
    for (int64_t gpu = 0; gpu < layout->gpus_per_node; gpu += layout->gpus_per_socket)
        cut_before_gpu(survey, gpu);
}

/* --- slices --------------------------------------------------------------------------------------------- */

/* Larger shares, smaller ones, and the last one, which may take what makes no grain. Shares of a GPU's own
 * processes are alike on all GPUs. False: there are too few for all members. */
static bool cut_shares(survey_t *survey, pto_group_kind_t kind, const pto_buffer_t *buffer, int64_t shares) {
    int64_t larger = buffer->block_bytes / buffer->granularity_bytes % shares;
    bool last_differs = buffer->block_bytes % buffer->granularity_bytes != 0;
    if (!is_numbered_by_gpu(kind) || (larger == 0 && !last_differs))
        return true;
    if (pto_group_shape(&survey->plan->request.layout, kind).size > shares)
        return false;
    cut_before_member(survey, kind, larger);
    if (last_differs)
        cut_before_member(survey, kind, shares - 1);
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

/* How many bytes a slice has depends neither on the peer nor on the holder, but for shares. */
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
               cut_shares(survey, buffer->group, buffer, pto_group_shape(layout, buffer->group).size);
    if (buffer->blocks != PTO_BLOCKS_EQUAL || slice->parts == 0)
        return buffer->blocks == PTO_BLOCKS_EQUAL;
    if (buffer->split > 1 || slice->share != PTO_SHARE_ALL)
        return false;
    bool alike = buffer->block_bytes / buffer->granularity_bytes % slice->parts == 0 &&
                 buffer->block_bytes % buffer->granularity_bytes == 0;
    return alike || (is_members_part(slice) && cut_shares(survey, group->kind, buffer, slice->parts));
}

static bool is_on_all_gpus(const pto_buffer_t *buffer) {
    const pto_group_traits_t *traits = &pto_group_traits[buffer->group];
    return buffer->held_stride <= 1 && (traits->index | traits->color) & PTO_BY_GPU;
}

/* Returns whether a copy is one of a buffer onto itself, and thus none, on some GPUs and not on others. */
static bool is_none_on_some(const pto_plan_t *plan, const pto_step_t *step) {
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
        cut_sockets(survey);
    return !is_none_on_some(plan, step) && survey_slice(survey, group, &step->source) &&
           survey_slice(survey, group, &step->target);
}

/* --- steps ---------------------------------------------------------------------------------------------- */

/* Where actors are not exact, only which of them take part depends on the GPU. */
static void cut_parts(survey_t *survey, int step) {
    const pto_pricing_t *pricing = survey->pricing;
    const bool *takes_part = pricing->actors.takes_part + step * pricing->actors.count;
    for (int64_t actor = pricing->actors.per_gpu; actor < pricing->actors.count; actor++)
        if (takes_part[actor] != takes_part[actor - pricing->actors.per_gpu])
            cut_before_gpu(survey, actor / pricing->actors.per_gpu);
}

static bool survey_members(survey_t *survey, const pto_step_t *step, const pto_group_t *group) {
    const pto_group_traits_t *traits = &pto_group_traits[group->kind];
    if (!is_numbered_by_gpu(group->kind)) {
        if (!(traits->color & PTO_BY_GPU)) /* its members are on the first GPU alone */
            cut_before_gpu(survey, 1);
        return true;
    }
    return group->fold == 0 &&
           cut_around_range(survey, group, &step->who_first, &step->who_stride, &step->who_until) &&
           (pto_step_is_message(step) || survey_peers(survey, step, group));
}

static bool survey_step(survey_t *survey, int index) {
    const pto_step_t *step = pto_step_at(survey->plan, index);
    const pto_group_t *group = pto_group_at(survey->plan, step->group);
    if (!pto_actors_are_exact(survey->pricing, step)) {
        cut_parts(survey, index);
        return true;
    }
    return survey_members(survey, step, group) &&
           (!pto_step_is_local(step) || survey_slices(survey, group, step));
}

/* Returns whether so many GPUs are alike that pricing one of each kind is less work: each kind looks for its
 * peers among all members, once for each kind. Routes in a topology are not looked at. */
static bool find_cuts(survey_t *survey) {
    const pto_plan_t *plan = survey->plan;
    if (survey->pricing->shared.loads.links.topology)
        return false;
    for (int i = 0; i < plan->steps.count; i++)
        if (!survey_step(survey, i))
            return false;
    int64_t kinds = 1;
    for (int64_t gpu = 1; gpu < plan->request.layout.gpus_per_node; gpu++)
        kinds += survey->cut[gpu];
    return kinds == 1 || (!survey->needs_one_kind && kinds * kinds <= plan->request.layout.gpus_per_node);
}

/* --- the actors that are priced ------------------------------------------------------------------------- */

static bool walk_all(pto_pricing_t *pricing) {
    pricing->actors.walked = malloc((size_t)pricing->actors.count * sizeof *pricing->actors.walked);
    for (int64_t actor = 0; pricing->actors.walked && actor < pricing->actors.count; actor++)
        pricing->actors.walked[actor] = actor;
    pricing->actors.walked_count = pricing->actors.walked ? pricing->actors.count : 0;
    return pricing->actors.walked != NULL;
}

/* Lets only the actors of the first GPU of each range be walked. Returns false when out of memory. */
static bool walk_first_ones(pto_pricing_t *pricing, const bool *cut) {
    int64_t cores = pricing->actors.per_gpu, first = 0;
    pricing->actors.like = malloc((size_t)pricing->actors.gpu_count * sizeof *pricing->actors.like);
    if (!pricing->actors.like)
        return false;
    pricing->actors.walked_count = 0;
    for (int64_t gpu = 0; gpu < pricing->actors.gpu_count; gpu++) {
        bool begins = gpu == 0 || cut[gpu];
        first = begins ? gpu : first;
        pricing->actors.like[gpu] = first;
        for (int64_t core = 0; core < cores && begins; core++)
            pricing->actors.walked[pricing->actors.walked_count++] = gpu * cores + core;
        for (int64_t core = 0; core < cores && !begins; core++)
            pricing->actors.actor[first * cores + core].gpus++;
    }
    return true;
}

bool pto_gpus_find(pto_pricing_t *pricing) {
    if (!walk_all(pricing))
        return false;
    if (pricing->actors.kind != PTO_ACTORS_PLACES || pricing->actors.gpu_count == 1 || pto_price_each_gpu)
        return true;
    survey_t survey = {.pricing = pricing,
                       .plan = pricing->plan,
                       .cut = calloc((size_t)pricing->actors.gpu_count, sizeof *survey.cut)};
    bool found = survey.cut && (!find_cuts(&survey) || walk_first_ones(pricing, survey.cut));
    free(survey.cut);
    return found;
}

/* --- their copies --------------------------------------------------------------------------------------- */

void pto_gpus_count_copies_with_peers(pto_pricing_t *pricing, const pto_step_t *step, int64_t k) {
    const pto_plan_t *plan = pricing->plan;
    int64_t per_gpu = pricing->actors.per_gpu;
    if (!pto_actors_are_exact(pricing, step) || pto_step_copy_kind(plan, step) == PTO_COPY_H2H)
        return;
    for (int64_t i = 0; i < pricing->actors.walked_count; i++) {
        pto_action_t other;
        int64_t actor = pricing->actors.walked[i], next = 0;
        while (pto_step_next_reaching(plan, step, actor, k, &next, &other))
            if (other.rank / per_gpu != actor / per_gpu)
                pto_copy_count(plan, NULL, NULL, &other, actor / per_gpu, pricing->shared.engine);
        pto_price_visits += next;
    }
}

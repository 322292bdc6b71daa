/* The actors of a plan (pricing.h): which kind of actors it requires, which processes each represents, and in
 * which steps it takes part. whole.c calls this before it prices the plan. */
#include <stdlib.h>

#include "price/pricing.h"

/* Returns whether the step has a single member, selected by its index, of a group of several. */
static bool is_of_one_member(const pto_plan_t *plan, const pto_step_t *step) {
    return pto_expr_is_constant(&step->who_first) && pto_expr_is_constant(&step->who_until) &&
           step->who_until.constant == step->who_first.constant + 1 &&
           pto_group_at(plan, step->group)->size > 1;
}

/* Returns the core of a step's single member; -1: it has several, or one on each core. */
static int64_t core_of_single_member(const pto_plan_t *plan, const pto_step_t *step) {
    const pto_group_t *group = pto_group_at(plan, step->group);
    if (!is_of_one_member(plan, step) || !(pto_group_traits[group->kind].index & PTO_BY_CORE))
        return -1;
    int64_t rank = pto_group_rank(plan, group, 0, step->who_first.constant);
    return pto_layout_rank(&plan->request.layout, rank).core;
}

/* Returns whether every step has a single member, such as the sender or the receiver of one message. A class
 * would cost too much then, since it takes part in every step of its cores. */
static bool has_only_single_members(const pto_plan_t *plan) {
    int i = 0;
    while (i < plan->steps.count && is_of_one_member(plan, pto_step_at(plan, i)))
        i++;
    return i > 0 && i == plan->steps.count;
}

pto_actor_kind_t pto_actors_of(const pto_plan_t *plan) {
    if (pto_plan_has_tables(plan) ||
        (has_only_single_members(plan) && pto_price_walk_check_size(plan, NULL, NULL) == PTO_OK))
        return PTO_ACTORS_RANKS;
    return pto_plan_uses_peers_memory(plan) ? PTO_ACTORS_PLACES : PTO_ACTORS_CLASSES;
}

/* Returns whether the step is a message between nodes that not all members of its group take part in. */
static bool is_one_sided(const pto_plan_t *plan, const pto_step_t *step) {
    const pto_group_t *group = pto_group_at(plan, step->group);
    bool all = pto_range_is_all(&step->who_first, &step->who_stride, &step->who_until, group->size);
    return pto_step_is_message(step) && !pto_group_is_on_node(group->kind) && (group->fold != 0 || !all);
}

/* If a latency is known, and some processes only send or only receive, they reach the next stage at different
 * times, which a class cannot represent. If all do both, they wait for each other. */
bool pto_latency_matters(const pto_plan_t *plan, const pto_machine_t *machine) {
    if (!pto_latency_known(machine) || plan->request.layout.nodes == 1 ||
        pto_layout_rank_count(&plan->request.layout) > PTO_PRICE_LATENCY_RANKS_MAX)
        return false;
    bool one_sided = false;
    for (int i = 0; i < plan->steps.count && !one_sided; i++)
        one_sided = is_one_sided(plan, pto_step_at(plan, i));
    return one_sided && pto_plan_size(plan).messages <= PTO_PRICE_LATENCY_MESSAGES_MAX;
}

static bool depends_on_core(const pto_step_t *step) {
    const pto_expr_t expr[] = {step->peers.first,  step->peers.until,   step->source.first,
                               step->target.first, step->source.offset, step->target.offset};
    for (size_t i = 0; i < sizeof expr / sizeof *expr; i++)
        if (expr[i].core)
            return true;
    return false;
}

/* Marks the cores at which shares of `bytes` change size. Shares are whole multiples of the granularity. The
 * first ones may be larger by one grain, and the last one may have the bytes that do not fill a grain. */
static void mark_shares(bool *begins, int64_t cores, int64_t bytes, int64_t granularity_bytes,
                        int64_t shares) {
    if (shares != cores)
        return;
    begins[bytes / granularity_bytes % shares] = true;
    if (bytes % granularity_bytes)
        begins[shares - 1] = true;
}

/* Sets begins[core] if a class begins at the core, since its processes act unlike those before it. */
static void find_boundaries(const pto_plan_t *plan, const pto_machine_t *machine, bool *begins) {
    int64_t cores = plan->request.layout.procs_per_gpu;
    begins[0] = true;
    for (int i = 0; i < plan->steps.count; i++) {
        const pto_step_t *step = pto_step_at(plan, i);
        begins[step->core_first] = true;
        if (step->core_first + step->core_count < cores)
            begins[step->core_first + step->core_count] = true;
        int64_t member_core = core_of_single_member(plan, step);
        if (member_core >= 0)
            begins[member_core] = begins[member_core + 1] = true;
        /* Queued copies end one after another, so each process of a GPU differs. */
        bool queued = step->core_count > 1 && pto_step_queues(plan, machine, step);
        for (int64_t core = 0; core < cores && (queued || depends_on_core(step)); core++)
            begins[core] = true;
    }
    for (int i = 0; i < plan->buffers.count; i++) {
        const pto_buffer_t *buffer = pto_buffer_at(plan, i);
        if (buffer->split > 1)
            mark_shares(begins, cores, buffer->block_bytes, buffer->granularity_bytes, buffer->split);
    }
}

static bool find_classes(pto_pricing_t *pricing) {
    pto_actors_t *actors = &pricing->actors;
    int64_t cores = pricing->plan->request.layout.procs_per_gpu, count = 0;
    bool *begins = calloc((size_t)cores + 1, sizeof *begins);
    actors->actor = calloc((size_t)cores, sizeof *actors->actor);
    if (begins && actors->actor) {
        find_boundaries(pricing->plan, pricing->machine, begins);
        for (int64_t core = 0; core < cores; core++) {
            if (begins[core])
                actors->actor[count++].place.core = core;
            actors->actor[count - 1].cores++;
            actors->actor[count - 1].gpus = pricing->plan->request.layout.gpus_per_node;
        }
    }
    free(begins);
    actors->node_count = 1;
    actors->gpu_count = 1;
    actors->per_gpu = count;
    return count > 0;
}

static bool find_processes(pto_pricing_t *pricing) {
    pto_actors_t *actors = &pricing->actors;
    const pto_layout_t *layout = &pricing->plan->request.layout;
    actors->node_count = actors->kind == PTO_ACTORS_RANKS ? layout->nodes : 1;
    actors->gpu_count = actors->node_count * layout->gpus_per_node;
    actors->per_gpu = layout->procs_per_gpu;
    int64_t count = actors->gpu_count * layout->procs_per_gpu;
    actors->actor = malloc((size_t)count * sizeof *actors->actor);
    for (int64_t rank = 0; actors->actor && rank < count; rank++)
        actors->actor[rank] = (pto_actor_t){.place = pto_layout_rank(layout, rank), .cores = 1, .gpus = 1};
    return actors->actor != NULL;
}

/* Returns whether an actor that is not exact takes part in a step, in any iteration. */
static bool takes_part(const pto_pricing_t *pricing, const pto_step_t *step, int64_t actor) {
    const pto_rank_t *place = &pricing->actors.actor[actor].place;
    if (place->core < step->core_first || place->core >= step->core_first + step->core_count)
        return false;
    int64_t member_core = core_of_single_member(pricing->plan, step);
    if (member_core >= 0 && place->core != member_core)
        return false;
    pto_group_t group = *pto_group_at(pricing->plan, step->group);
    group.fold = 0;
    return pto_group_index_at(&pricing->plan->request.layout, &group, *place) >= 0;
}

bool pto_actors_find_participation(pto_pricing_t *pricing) {
    if (pricing->actors.kind == PTO_ACTORS_RANKS)
        return true;
    int steps = pricing->plan->steps.count;
    pricing->actors.takes_part = malloc((size_t)steps * (size_t)pricing->actors.count + 1);
    for (int i = 0; i < steps && pricing->actors.takes_part; i++) {
        const pto_step_t *step = pto_step_at(pricing->plan, i);
        if (!pto_actors_are_exact(pricing, step))
            for (int64_t actor = 0; actor < pricing->actors.count; actor++)
                pricing->actors.takes_part[i * pricing->actors.count + actor] =
                    takes_part(pricing, step, actor);
    }
    return pricing->actors.takes_part != NULL;
}

bool pto_actors_find(pto_pricing_t *pricing) {
    pto_actors_t *actors = &pricing->actors;
    bool found = actors->kind == PTO_ACTORS_CLASSES ? find_classes(pricing) : find_processes(pricing);
    actors->count = found ? actors->gpu_count * actors->per_gpu : 0;
    return found;
}

bool pto_latency_known(const pto_machine_t *machine) {
    return pto_param_known(&machine->latency_s[PTO_SPACE_CPU]) ||
           pto_param_known(&machine->latency_s[PTO_SPACE_GPU]);
}

static void subtract_latency(pto_pricing_t *pricing, int64_t actor, pto_space_t space) {
    const pto_param_t *latency = &pricing->machine->latency_s[space];
    pto_charge_t early;
    if (!pto_param_known(latency))
        return;
    pto_charge_begin(&early, pricing->at.stage->name, pto_pricing_terms(pricing, PTO_TERMS_EXTRA));
    pto_charge_param(&early, latency, space, -1);
    pto_pricing_add(pricing, actor, &early, early.other);
}

/* In lanes, messages occupy their ends during their latency, too: a lane's idle times are not recorded. */
bool pto_pricing_begin_early(pto_pricing_t *pricing, const pto_stage_t *stage, int64_t actor, int64_t k) {
    int64_t sends = 0, messages = 0;
    pto_space_t space = PTO_SPACE_CPU;
    if (pricing->lanes.active || !pricing->messages->off_node || !pto_latency_known(pricing->machine))
        return false;
    for (int i = 0; i < stage->step_count && sends < 2; i++) {
        const pto_step_t *step = pto_step_at(pricing->plan, stage->step_first + i);
        pto_action_t action;
        if (!pto_step_is_message(step) || !pto_actor_acts(pricing, step, actor, k, &action))
            continue;
        int64_t count = pricing->messages->off_node(pricing, action);
        if (messages == 0 && count > 0)
            space = pto_plan_buffer(pricing->plan, pto_message_slice(step)->buffer)->space;
        messages += count;
        sends += step->kind == PTO_STEP_SEND ? count : 0;
    }
    bool early = messages > 0 && sends < 2;
    if (early)
        subtract_latency(pricing, actor, space);
    return early;
}

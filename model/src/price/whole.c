/* Prices a whole plan: allocates the state of pricing.h, calls price.c to price all nodes, and reports the
 * ledger of the slowest actor. The public functions are at the end. */
#include <math.h>
#include <stdlib.h>

#include "price/bounded.h"
#include "price/pricing.h"

pto_tables_t *pto_price_cache_tables(pto_price_cache_t *cache) {
    if (!cache->tables)
        cache->tables = pto_tables_create();
    return cache->tables;
}

void pto_price_cache_fini(pto_price_cache_t *cache) {
    free(cache->traffic);
    pto_tables_destroy(cache->tables);
    *cache = (pto_price_cache_t){0};
}

static bool has_branches(const pto_plan_t *plan) {
    bool any = false;
    for (int n = 0; n < pto_plan_node_count(plan); n++)
        any = any || pto_node_at(plan, n)->kind == PTO_NODE_PARALLEL;
    return any;
}

/* Returns the number of an actor's ledgers, without those of flags and queues, as `allocate` divides them. */
static int64_t ledgers_each(const pto_plan_t *plan) {
    int64_t lanes = pto_plan_lane_count(plan), count = lanes + 2; /* before, snapshot */
    if (lanes > 1)
        count += 1 + 2 * PTO_LANE_RESOURCE_COUNT; /* base; demand, demand_before */
    if (lanes > 1 && has_branches(plan))
        count += (1 + lanes) * PTO_LANE_RESOURCE_COUNT; /* first_use; last_use */
    return count;
}

static bool allocate(pto_pricing_t *pricing) {
    pto_clocks_t *clocks = &pricing->clocks;
    pto_lanes_t *lanes = &pricing->lanes;
    pto_shared_t *shared = &pricing->shared;
    if (!pto_actors_find_participation(pricing) || !pto_links_allocate(pricing) || !pto_gpus_find(pricing) ||
        !pto_occupied_allocate(pricing))
        return false;
    if (pricing->actors.kind != PTO_ACTORS_RANKS && !pricing->cache->traffic &&
        !(pricing->cache->traffic = pto_traffic_cache_create()))
        return false;
    if (pto_plan_has_tables(pricing->plan) && !(pricing->tables = pto_price_cache_tables(pricing->cache)))
        return false;
    int lane_count = pto_plan_lane_count(pricing->plan);
    int64_t actors = pricing->actors.count, uses = PTO_LANE_RESOURCE_COUNT * actors;
    pricing->flags.count = pricing->plan->flags.count * actors;
    pricing->flags.raised = calloc((size_t)pricing->flags.count + 1, sizeof *pricing->flags.raised);
    clocks->order = malloc((size_t)actors * sizeof *clocks->order);
    clocks->lane = calloc((size_t)(ledgers_each(pricing->plan) * actors), sizeof *clocks->lane);
    clocks->behind = calloc((size_t)actors, sizeof *clocks->behind);
    shared->engine = calloc((size_t)pricing->actors.gpu_count, sizeof *shared->engine);
    shared->outflow = malloc((size_t)pricing->actors.node_count * sizeof *shared->outflow);
    if (!pricing->flags.raised || !clocks->order || !clocks->lane || !clocks->behind || !shared->engine ||
        !shared->outflow)
        return false;
    clocks->ledger = clocks->lane;
    clocks->before = clocks->lane + lane_count * actors;
    clocks->snapshot = clocks->before + actors;
    if (lane_count < 2)
        return true;
    lanes->base = clocks->snapshot + actors;
    lanes->demand = lanes->base + actors;
    lanes->demand_before = lanes->demand + uses;
    lanes->first_use = lanes->demand_before + uses;
    lanes->last_use = lanes->first_use + uses;
    lanes->users = calloc((size_t)uses, sizeof *lanes->users);
    lanes->uses = calloc((size_t)uses, sizeof *lanes->uses);
    return lanes->users && lanes->uses;
}

static void release(pto_pricing_t *pricing) {
    pto_clocks_t *clocks = &pricing->clocks;
    pto_shared_t *shared = &pricing->shared;
    int64_t ledgers = ledgers_each(pricing->plan) * pricing->actors.count;
    for (int64_t i = 0; clocks->lane && i < ledgers; i++)
        pto_ledger_fini(&clocks->lane[i]);
    pto_raises_fini(pricing);
    for (int64_t gpu = 0; shared->engine && gpu < pricing->actors.gpu_count; gpu++)
        pto_copies_fini(&shared->engine[gpu]);
    for (size_t i = 0; i < sizeof clocks->terms / sizeof *clocks->terms; i++)
        pto_ledger_fini(&clocks->terms[i]);
    pto_links_release(shared);
    free(pricing->actors.actor);
    free(pricing->actors.takes_part);
    free(pricing->actors.priced);
    free(pricing->actors.represented_by);
    free(clocks->order);
    free(clocks->lane);
    free(clocks->behind);
    free(pricing->lanes.users);
    free(pricing->lanes.uses);
    free(shared->engine);
    free(shared->outflow);
    free(pricing->outcome.occupied_s);
}

/* Records the largest end of all actors on the tape: with other parameters, another may be the slowest. */
static pto_status_t record_end(const pto_pricing_t *pricing) {
    size_t count = (size_t)pricing->actors.priced_count;
    pto_time_t *end = malloc(count * sizeof *end);
    if (!end)
        return pto_error_set(pricing->err, PTO_ERR_MEMORY, "out of memory while pricing");
    for (size_t i = 0; i < count; i++)
        end[i] = pricing->clocks.ledger[pricing->actors.priced[i]].time;
    pto_tape_result(pto_tape_largest(end, count));
    free(end);
    return PTO_OK;
}

static pto_status_t report_slowest(const pto_pricing_t *pricing, pto_price_t *price,
                                   pto_explanation_t *explanation) {
    const pto_ledger_t *slowest = pricing->clocks.ledger;
    for (int64_t i = 1; i < pricing->actors.priced_count; i++)
        if (pricing->clocks.ledger[pricing->actors.priced[i]].time.s > slowest->time.s)
            slowest = &pricing->clocks.ledger[pricing->actors.priced[i]];
    pto_status_t status = pto_tape_recording ? record_end(pricing) : PTO_OK;
    if (status != PTO_OK)
        return status;
    if (pricing->tables)
        pto_tables_note_latest(pricing->tables, pto_actor_node(pricing, slowest - pricing->clocks.ledger));
    if (explanation)
        pto_occupied_report(pricing, slowest->time.s, explanation);
    return pto_ledger_report(slowest, pricing->machine, price, explanation, pricing->err);
}

/* Ends the pricing of a plan whose price is above its bound. */
static pto_status_t give_up(pto_pricing_t *pricing, pto_price_t *price) {
    pto_tape_result((pto_time_t){0});
    *price = (pto_price_t){.seconds = INFINITY};
    release(pricing);
    return PTO_OK;
}

static pto_status_t price_plan(pto_pricing_t *pricing, pto_price_t *price, pto_explanation_t *explanation) {
    const pto_plan_t *plan = pricing->plan;
    pto_shared_links_t links = pto_links_of(pricing->machine, &plan->request.layout);
    pto_status_t status = pto_links_check(&links, pricing->err);
    if (status == PTO_OK)
        status = pto_runs_check(plan, pricing->machine, pricing->err);
    if (status == PTO_OK)
        status = pto_price_check_copies(plan, pricing->machine, pricing->err);
    if (status != PTO_OK)
        return status;
    pricing->clocks.out_of_memory = !pto_actors_find(pricing) || !allocate(pricing);
    if (!pricing->clocks.out_of_memory)
        status = pto_price_nodes(pricing, 0, pto_plan_node_count(plan), 0);
    if (pricing->clocks.out_of_memory)
        status = pto_error_set(pricing->err, PTO_ERR_MEMORY, "out of memory while pricing");
    if (status == PTO_OK)
        status = report_slowest(pricing, price, explanation);
    if (pricing->outcome.exceeded)
        return give_up(pricing, price);
    if (status == PTO_OK)
        price->extrapolated = pricing->outcome.extrapolated;
    if (status == PTO_OK && explanation)
        pto_price_widen(&plan->request, pricing->machine, price);
    release(pricing);
    return status;
}

static pto_status_t price_with_cache(pto_pricing_t pricing, pto_price_t *price,
                                     pto_explanation_t *explanation) {
    pto_price_cache_t own = {0};
    if (!pricing.cache)
        pricing.cache = &own;
    pricing.run_cost = pto_runs_by_lines(pricing.plan, pricing.machine);
    pricing.messages =
        pricing.actors.kind == PTO_ACTORS_RANKS ? &pto_messages_by_rank : &pto_messages_by_class;
    pricing.clocks.explain = explanation != NULL;
    pricing.at.library_end = -1;
    pto_status_t status = price_plan(&pricing, price, explanation);
    pto_price_cache_fini(&own);
    return status;
}

/* Sets the kind of actors that the plan requires on the machine, and checks that it is not too large for
 * that. `sized`: the plan has passed pto_price_check_size. */
static pto_status_t find_kind(pto_pricing_t *pricing, bool sized) {
    const pto_plan_t *plan = pricing->plan;
    const pto_machine_t *machine = pricing->machine;
    pto_actor_kind_t *kind = &pricing->actors.kind;
    *kind = pto_actors_of(plan);
    if (machine->fabric.levels > 0) {
        *kind = PTO_ACTORS_RANKS;
        return pto_walk_check_size(plan, "machines with a fabric are priced", pricing->err);
    }
    if (*kind == PTO_ACTORS_RANKS || (*kind == PTO_ACTORS_CLASSES && pto_latency_matters(plan, machine))) {
        *kind = PTO_ACTORS_RANKS;
        return pto_price_walk_check_size(plan, machine, pricing->err);
    }
    return sized ? PTO_OK : pto_price_check_size(plan, pricing->err);
}

pto_status_t pto_price_walk(const pto_plan_t *plan, const pto_machine_t *machine, pto_price_t *price,
                            pto_explanation_t *explanation, pto_error_t *err) {
    pto_pricing_t pricing = {.plan = pto_plan_fixed(plan),
                             .machine = machine,
                             .bound_s = INFINITY,
                             .actors.kind = PTO_ACTORS_RANKS,
                             .err = err};
    pto_status_t status = pto_price_walk_check_size(pricing.plan, machine, err);
    return status == PTO_OK ? price_with_cache(pricing, price, explanation) : status;
}

pto_status_t pto_price_bounded(const pto_plan_t *plan, const pto_machine_t *machine, pto_price_cache_t *cache,
                               double bound_s, pto_price_t *price, pto_explanation_t *explanation,
                               pto_error_t *err) {
    pto_pricing_t pricing = {
        .plan = pto_plan_fixed(plan), .machine = machine, .cache = cache, .bound_s = bound_s, .err = err};
    pto_status_t status = find_kind(&pricing, pricing.plan == plan);
    return status == PTO_OK ? price_with_cache(pricing, price, explanation) : status;
}

pto_status_t pto_price(const pto_plan_t *plan, const pto_machine_t *machine, pto_price_t *price,
                       pto_explanation_t *explanation, pto_error_t *err) {
    pto_pricing_t pricing = {
        .plan = pto_plan_fixed(plan), .machine = machine, .bound_s = INFINITY, .err = err};
    pto_status_t status = find_kind(&pricing, false);
    return status == PTO_OK ? price_with_cache(pricing, price, explanation) : status;
}

/* How much of a plan is simulated: all nodes, or one that represents all; and whether that is within the
 * limits of work and memory. */
#include "simulate/size.h"

#include <stdio.h>

#include "portolan/strategy.h"
#include "simulate/simulate_internal.h"

/* The limit on work allows one rank for each 64 units. A rank takes about 1 KiB of memory, so the default
 * limit allows about 1.5 GiB. */
enum { WORK_PER_RANK = 64 };

/* How much of a plan is simulated. */
typedef struct {
    int64_t represented_nodes; /* by one simulated node; 1: all are simulated */
    int64_t ranks;
    int64_t messages;
    int64_t stages; /* summed over ranks */
} extent_t;

static extent_t whole_extent(const pto_plan_t *plan) {
    pto_plan_size_t size = pto_plan_size(plan);
    return (extent_t){1, pto_layout_rank_count(&plan->request.layout), size.messages, size.stages};
}

static int64_t work_of(const extent_t *extent) {
    return extent->messages > extent->stages ? extent->messages : extent->stages;
}

static int64_t limit_of(const pto_simulate_options_t *options) {
    return options->limit > 0 ? options->limit : PTO_SIMULATE_LIMIT;
}

/* The maximum number of ranks. Their memory may grow with the limit on work. The event queue's slots have
 * 32-bit numbers (allocate_shared in memory.c): a rank has its own, and at most those of a GPU and of a node;
 * one is spare. */
static int64_t max_ranks(int64_t limit) {
    int64_t by_memory = (limit > PTO_SIMULATE_LIMIT ? limit : PTO_SIMULATE_LIMIT) / WORK_PER_RANK;
    int64_t by_slots = UINT32_MAX / (PTO_SLOTS_PER_RANK + 1 + PTO_LINKS_PER_NODE + 1);
    return by_memory < by_slots ? by_memory : by_slots;
}

static bool ranks_fit(const pto_plan_t *plan, const extent_t *extent, int64_t limit) {
    return extent->ranks <= max_ranks(limit) / pto_plan_lane_count(plan);
}

/* A plan within the limits is simulated as a whole, even if its nodes do the same: of messages that arrive at
 * the same time, the one of the lowest rank is received first, so the nodes' times may differ. */
static extent_t extent_of(const pto_plan_t *plan, const pto_machine_t *machine,
                          const pto_simulate_options_t *options) {
    extent_t whole = whole_extent(plan);
    bool fits = work_of(&whole) <= limit_of(options) && ranks_fit(plan, &whole, limit_of(options));
    if (fits || !machine || options->visit || !pto_sim_nodes_act_alike(plan, machine))
        return whole;
    int64_t nodes = plan->request.layout.nodes;
    return (extent_t){nodes, whole.ranks / nodes, whole.messages / nodes, whole.stages / nodes};
}

static pto_status_t too_many_ranks(const pto_plan_t *plan, const extent_t *extent, int64_t limit,
                                   pto_error_t *err) {
    return pto_error_set(err, PTO_ERR_TOO_LARGE,
                         "%lld ranks are too many to simulate %s by %s one by one; the limit allows %lld "
                         "(--limit raises it, `portolan predict` prices any number)",
                         (long long)extent->ranks, plan->request.strategy->name,
                         plan->request.algorithm->name,
                         (long long)(max_ranks(limit) / pto_plan_lane_count(plan)));
}

pto_status_t pto_simulate_check_size(const pto_plan_t *plan, const pto_machine_t *machine,
                                     const pto_simulate_options_t *options, int64_t *used, pto_error_t *err) {
    int64_t before = used ? *used : 0, limit = limit_of(options);
    extent_t extent = extent_of(plan, machine, options);
    if (!ranks_fit(plan, &extent, limit))
        return too_many_ranks(plan, &extent, limit, err);
    if (work_of(&extent) <= limit - before) {
        if (used)
            *used += work_of(&extent);
        return PTO_OK;
    }
    char earlier[64] = "";
    if (before > 0)
        snprintf(earlier, sizeof earlier, ", of which other plans take %lld", (long long)before);
    return pto_error_set(
        err, PTO_ERR_TOO_LARGE,
        "%s by %s sends %lld messages%s and its %lld ranks pass %lld stages in all; the limit "
        "is %lld of either%s (--limit raises it, `portolan predict` needs none)",
        plan->request.strategy->name, plan->request.algorithm->name, (long long)extent.messages,
        extent.represented_nodes > 1 ? " a node" : "", (long long)extent.ranks, (long long)extent.stages,
        (long long)limit, earlier);
}

int64_t pto_simulate_nodes_of_one(const pto_plan_t *plan, const pto_machine_t *machine,
                                  const pto_simulate_options_t *options) {
    return extent_of(plan, machine, options).represented_nodes;
}

int64_t pto_simulate_max_procs(const pto_simulate_options_t *options) { return max_ranks(limit_of(options)); }

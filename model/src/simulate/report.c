/* Reports the results of a simulation: spans of time as they end (for traces), sums for each kind of
 * resource, and faults. */
#include "simulate/simulate_internal.h"

#define ROW(id, name, short_name, owner) {name, short_name, owner},
static const struct { const char *name, *short_name, *owner; } resources[] = {PTO_RESOURCE_TABLE(ROW)};
#undef ROW

const char *pto_resource_name(pto_resource_t resource) { return resources[resource].name; }
const char *pto_resource_short_name(pto_resource_t resource) { return resources[resource].short_name; }
const char *pto_resource_owner(pto_resource_t resource) { return resources[resource].owner; }

void pto_sim_span(pto_sim_t *sim, pto_resource_t resource, uint32_t rank, int64_t peer_rank, int64_t bytes,
                  double start_s) {
    const pto_proc_t *proc = &sim->proc[rank];
    pto_span_t span = {.resource = resource,
                       .node = proc->node,
                       .index = pto_sim_place(sim, proc->rank),
                       .lane = (int)proc->lane,
                       .name = proc->at->walk.stage->name,
                       .peer_rank = peer_rank,
                       .bytes = bytes,
                       .start_s = start_s,
                       .end_s = sim->now_s};
    sim->options->visit(sim->options->context, &span);
}

void pto_sim_shared_span(pto_sim_t *sim, pto_resource_t resource, int64_t index, int64_t bytes,
                         double start_s, double end_s) {
    if (!sim->options->visit || end_s <= start_s)
        return;
    bool of_node = resource < PTO_RESOURCE_COPY_H2D;
    pto_span_t span = {.resource = resource,
                       .node = of_node ? index : index / sim->layout->gpus_per_node,
                       .index = index,
                       .peer_rank = -1,
                       .bytes = bytes,
                       .start_s = start_s,
                       .end_s = end_s};
    sim->options->visit(sim->options->context, &span);
}

static void add_use(pto_resource_use_t *use, double busy_s, double waiting_s) {
    use->busy_s += busy_s;
    use->waiting_s += waiting_s;
    if (busy_s > use->most_busy_s) {
        use->most_busy_s = busy_s;
        use->busiest = use->count;
    }
    if (waiting_s > use->most_waiting_s) {
        use->most_waiting_s = waiting_s;
        use->most_waiting = use->count;
    }
    use->count++;
}

/* Adds a rank of the job, with all its lanes. */
static void report_rank(const pto_sims_t *all, int64_t rank, pto_simulation_t *simulation) {
    double busy_s[3] = {0}, waiting_s[3] = {0};
    for (uint32_t lane = 0; lane < all->lanes; lane++) {
        const pto_sim_lane_t at = pto_sim_lane_at(all->sim, rank, lane);
        const pto_proc_t *proc = &at.sim->proc[at.rank];
        const pto_local_t *local = &at.sim->local[at.rank];
        const double busy[] = {proc->sending.busy_s, proc->receiving.busy_s, at.sim->hot[at.rank].busy_s};
        const double waiting[] = {proc->sending.waiting_s, proc->receiving.waiting_s, local->waiting_s};
        for (int i = 0; i < 3; i++) {
            busy_s[i] += busy[i];
            waiting_s[i] += waiting[i];
        }
        if (proc->stage_s > simulation->seconds) {
            simulation->seconds = proc->stage_s;
            simulation->slowest_rank = rank;
        }
        if (all->end_s && proc->stage_s > all->end_s[at.sim->call])
            all->end_s[at.sim->call] = proc->stage_s;
    }
    add_use(&simulation->use[PTO_RESOURCE_SEND], busy_s[0], waiting_s[0]);
    add_use(&simulation->use[PTO_RESOURCE_RECV], busy_s[1], waiting_s[1]);
    add_use(&simulation->use[PTO_RESOURCE_LOCAL], busy_s[2], waiting_s[2]);
}

/* Scales sums and counts to all nodes, which one node represents. */
static void multiply(pto_simulation_t *simulation, int64_t nodes) {
    simulation->ranks *= nodes;
    simulation->messages *= nodes;
    simulation->events *= nodes;
    simulation->most_in_flight *= nodes;
    for (int i = 0; i < PTO_RESOURCE_COUNT; i++) {
        pto_resource_use_t *use = &simulation->use[i];
        use->count *= i == PTO_RESOURCE_FABRIC ? 1 : nodes;
        use->busy_s *= (double)nodes;
        use->waiting_s *= (double)nodes;
    }
}

/* Returns how long a link of a node was busy. A link that delays no message has no jobs: its time is the sum
 * over its messages. */
static double link_busy_s(const pto_sim_t *sim, pto_link_kind_t kind, int64_t node) {
    double busy_s = sim->all->has_links ? pto_link_of(sim, kind, (int32_t)node)->busy_s : 0;
    if (sim->limited[kind])
        return busy_s;
    for (uint32_t lane = 0; lane < sim->lanes; lane++)
        for (uint32_t i = 0; i < sim->ranks_per_node; i++) {
            const pto_proc_t *proc = &sim->proc[lane * sim->ranks + (uint32_t)node * sim->ranks_per_node + i];
            busy_s += kind == PTO_LINK_INJECTION ? proc->sending.link_s : proc->receiving.link_s;
        }
    return busy_s;
}

static void report_links(const pto_sims_t *all, pto_simulation_t *simulation) {
    const pto_sim_t *sim = all->sim;
    for (int64_t node = 0; node < sim->nodes; node++)
        for (uint32_t kind = 0; kind < (node == 0 ? PTO_LINKS_PER_NODE : PTO_LINK_FABRIC); kind++) {
            int64_t users = kind == PTO_LINK_FABRIC ? all->ranks : all->ranks / sim->nodes;
            double waiting_s =
                all->has_links ? pto_link_of(sim, (pto_link_kind_t)kind, (int32_t)node)->waiting_s : 0;
            add_use(&simulation->use[(uint32_t)PTO_RESOURCE_INJECTION + kind],
                    link_busy_s(sim, (pto_link_kind_t)kind, node), waiting_s / (double)users);
        }
}

static void report_engines(const pto_sim_t *sim, pto_simulation_t *simulation) {
    for (int kind = 0; kind < PTO_ENGINES_PER_GPU; kind++) {
        pto_resource_use_t *use = &simulation->use[(int)PTO_RESOURCE_COPY_H2D + kind];
        bool used = sim->all->engines >> kind & 1;
        for (int64_t gpu = 0; gpu < sim->gpus && used; gpu++) {
            const pto_engine_t *engine = pto_engine_at(sim, gpu, kind);
            add_use(use, engine->busy_s, engine->waiting_s / (double)sim->layout->procs_per_gpu);
        }
        use->count = sim->gpus;
    }
}

void pto_sim_report(const pto_sims_t *all, pto_simulation_t *simulation) {
    const pto_sim_t *sim = all->sim;
    *simulation = (pto_simulation_t){.ranks = all->ranks, .events = sim->events};
    for (uint32_t i = 0; i < all->count; i++) {
        simulation->messages += all->sim[i].messages;
        simulation->most_in_flight += all->sim[i].pool.used;
    }
    for (int64_t rank = 0; rank < all->ranks; rank++)
        report_rank(all, rank, simulation);
    report_links(all, simulation);
    report_engines(sim, simulation);
    multiply(simulation, sim->layout->nodes / sim->nodes);
}

void pto_sim_fail(pto_sim_t *sim, pto_status_t status, uint32_t rank, const char *what) {
    const pto_walk_t *walk = &sim->proc[rank].at->walk;
    rank = sim->proc[rank].rank;
    if (sim->status == PTO_OK)
        sim->status = pto_error_set(sim->err, status, "rank %lu %s (stage '%s', number %lld of the plan)",
                                    (unsigned long)rank, what, walk->stage ? walk->stage->name : "start",
                                    (long long)walk->instance);
}

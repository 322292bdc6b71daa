/* Allocates and releases the state of a simulation: that of each plan, and what all plans share. Sets the
 * place of each rank. */
#include <stdlib.h>

#include "simulate/simulate_internal.h"

static void place_ranks(pto_sim_t *sim) {
    for (uint32_t i = 0; i < sim->ranks * sim->lanes; i++) {
        pto_proc_t *proc = &sim->proc[i];
        uint32_t rank = i % sim->ranks;
        proc->rank = rank;
        proc->lane = (uint16_t)(i / sim->ranks);
        proc->node = (int32_t)pto_sim_node(sim, rank);
        proc->out.waits = PTO_LINKS_PER_NODE;
        proc->in.waits = PTO_LINKS_PER_NODE;
        proc->waits_sender = PTO_LINKS_PER_NODE;
        if (!pto_core_acts(sim->plan, rank % sim->layout->procs_per_gpu)) {
            proc->state = PTO_PROC_ENDED;
            sim->reached[rank * sim->lanes + proc->lane] = UINT32_MAX;
        }
    }
}

/* Sets the rates of the links that the processes of a node share, and of the fabric's links. */
static bool find_capacities(pto_sim_t *sim) {
    const pto_fabric_t *fabric = &sim->machine->fabric;
    int64_t nodes = sim->layout->nodes, between = pto_fabric_link_count(fabric, nodes);
    sim->job.first_fabric_link = sim->shared_links.count;
    sim->job.capacity = calloc((size_t)(sim->job.first_fabric_link + between) + 1, sizeof *sim->job.capacity);
    if (!sim->job.capacity)
        return false;
    for (int i = 0; i < sim->job.first_fabric_link; i++)
        sim->job.capacity[i].bytes_per_s = 1 / pto_link_s_per_byte(&sim->shared_links, i)->value;
    for (int64_t i = 0; i < between; i++)
        sim->job.capacity[sim->job.first_fabric_link + i].bytes_per_s =
            1 / pto_fabric_s_per_byte(fabric, nodes, i)->value;
    return true;
}

/* Allocates the state that each plan has for itself. */
static bool allocate(pto_sim_t *sim) {
    size_t flags = (size_t)pto_plan_flag_count(sim->plan) * sim->ranks * sim->ranks_per_node;
    sim->view = calloc((size_t)sim->plan->steps.count + 1, sizeof *sim->view);
    sim->stage = calloc((size_t)sim->plan->stages.count + 1, sizeof *sim->stage);
    sim->raised = calloc(flags + 1, sizeof *sim->raised);
    sim->either =
        calloc((size_t)pto_plan_either_count(sim->plan, sim->plan->nodes.count) + 1, sizeof *sim->either);
    bool flows = sim->machine->fabric.levels > 0;
    sim->fabric_path = calloc(flows ? 2 * (size_t)sim->ranks * sim->lanes : 1, sizeof *sim->fabric_path);
    sim->reached = calloc((size_t)sim->ranks * sim->lanes + 1, sizeof *sim->reached);
    return sim->view && sim->stage && sim->raised && sim->either && sim->fabric_path && sim->reached;
}

/* Returns `count` zeroed records from the beginning of a cache line on; free `*whole`. The memory is not
 * touched before the records are. NULL: out of memory. */
static void *zeroed_lines(size_t count, size_t size, void **whole) {
    enum { CACHE_LINE = 64 };
    *whole = calloc(count + 1, size);
    size_t beyond = (size_t)((uintptr_t)*whole % CACHE_LINE);
    return *whole ? (char *)*whole + (beyond > 0 ? CACHE_LINE - beyond : 0) : NULL;
}

/* Numbers the engines in use. */
static void place_engines(pto_sims_t *all) {
    for (int engine = 0; engine < PTO_ENGINES_PER_GPU; engine++)
        if (all->engines >> engine & 1)
            all->engine_place[engine] = all->engines_per_gpu++;
}

/* Allocates the state that all plans share, and sets it in `sim`, the first of them. */
static bool allocate_shared(pto_sims_t *all, pto_sim_t *sim, pto_agenda_t *agenda) {
    size_t nodes = (size_t)sim->nodes;
    size_t links = all->has_links ? nodes * PTO_LINKS_PER_NODE : 0;
    size_t gpus = all->engines ? (size_t)sim->gpus : 0;
    int64_t ranks_per_node = pto_layout_rank_count(sim->layout) / sim->layout->nodes;
    sim->job.agenda = agenda;
    sim->job.first_link_slot = all->procs * PTO_SLOTS_PER_RANK;
    sim->job.first_gpu_slot = sim->job.first_link_slot + (uint32_t)links;
    all->proc = zeroed_lines(all->procs, sizeof *all->proc, &all->memory[0]);
    all->local = zeroed_lines(all->procs, sizeof *all->local, &all->memory[1]);
    all->hot = calloc(all->procs + (size_t)1, sizeof *all->hot);
    all->set = calloc(all->lanes > 1 ? (size_t)all->ranks : 1, sizeof *all->set);
    sim->job.link_size = sizeof(pto_link_t) + (size_t)ranks_per_node * all->lanes * sizeof(pto_link_job_t);
    sim->job.links = calloc(links + 1, sim->job.link_size);
    place_engines(all);
    sim->job.engine =
        zeroed_lines(gpus * (size_t)all->engines_per_gpu, sizeof *sim->job.engine, &all->memory[2]);
    sim->job.in_use = calloc(gpus + 1, sizeof *sim->job.in_use);
    sim->job.queue_end_s = calloc(gpus * PTO_COPY_RESOURCE_COUNT + 1, sizeof *sim->job.queue_end_s);
    sim->job.routes = calloc(nodes + 1, sizeof *sim->job.routes);
    size_t processes = all->engines ? (size_t)(ranks_per_node * sim->nodes) : 0;
    all->copy_held_s = calloc(processes * PTO_COPY_RESOURCE_COUNT + 1, sizeof *all->copy_held_s);
    return pto_agenda_init(agenda, sim->job.first_gpu_slot + (uint32_t)sim->gpus) && all->proc &&
           all->local && all->hot && all->set && sim->job.links && sim->job.engine && sim->job.in_use &&
           sim->job.queue_end_s && sim->job.routes && all->copy_held_s && find_capacities(sim);
}

/* The views of all plans come first: they tell which links and engines are needed. */
bool pto_sims_allocate(pto_sims_t *all, pto_agenda_t *agenda) {
    bool complete = true;
    uint32_t procs = 0;
    for (uint32_t i = 0; i < all->count && complete; i++) {
        complete = allocate(&all->sim[i]);
        if (complete)
            pto_sim_view_plan(&all->sim[i]);
        all->has_links = all->has_links || !all->sim[i].is_free;
    }
    complete = complete && allocate_shared(all, all->sim, agenda);
    for (uint32_t i = 0; i < all->count && complete; i++) {
        pto_sim_t *sim = &all->sim[i];
        sim->job = all->sim->job;
        sim->first_proc = procs;
        sim->proc = all->proc + procs;
        sim->local = all->local + procs;
        sim->hot = all->hot + procs;
        procs += sim->ranks * sim->lanes;
        place_ranks(sim);
        pto_passages_begin(sim, sim->ranks * sim->lanes);
    }
    return complete;
}

void pto_sims_release(pto_sims_t *all, pto_agenda_t *agenda) {
    pto_sim_t *first = all->sim;
    for (uint32_t i = 0; i < all->count; i++) {
        pto_pool_fini(&all->sim[i].pool);
        for (int j = 0; all->sim[i].view && j < all->sim[i].plan->steps.count; j++)
            for (int end = 0; end < 2; end++)
                free(all->sim[i].view[j].slice[end].bytes);
        free(all->sim[i].view);
        free(all->sim[i].stage);
        free(all->sim[i].raised);
        free(all->sim[i].reached);
        free(all->sim[i].either);
        free(all->sim[i].fabric_path);
        pto_passages_fini(&all->sim[i].passages);
    }
    pto_agenda_fini(agenda);
    for (size_t i = 0; i < sizeof all->memory / sizeof *all->memory; i++)
        free(all->memory[i]);
    free(all->copy_held_s);
    free(all->set);
    free(all->hot);
    free(first->job.links);
    free(first->job.in_use);
    free(first->job.queue_end_s);
    for (int64_t node = 0; first->job.routes && node <= first->nodes; node++)
        free(first->job.routes[node].flow);
    free(first->job.routes);
    free(first->job.capacity);
}

/* Allocates and releases the state of a simulation: that of each plan, and what all plans share. Sets the
 * place of each rank. */
#include <stdlib.h>

#include "base/grow.h"
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

/* Returns `count` zeroed records, from the beginning of a cache line on, which pto_sims_release frees. The
 * memory is not touched before the records are. NULL: out of memory. */
static void *zeroed(pto_sims_t *all, size_t count, size_t size) {
    enum { CACHE_LINE = 64 };
    void *memory = NULL;
    if (PTO_RESERVE(all->memory, all->memory_room, all->memory_count + 1))
        memory = calloc(count + CACHE_LINE / size + 1, size);
    if (!memory) {
        all->out_of_memory = true;
        return NULL;
    }
    all->memory[all->memory_count++] = memory;
    size_t beyond = (size_t)((uintptr_t)memory % CACHE_LINE);
    return (char *)memory + (beyond > 0 ? CACHE_LINE - beyond : 0);
}

/* Sets the rates of the links that the processes of a node share, and of the fabric's links. */
static void find_capacities(pto_sim_t *sim) {
    const pto_fabric_t *fabric = &sim->machine->fabric;
    int64_t nodes = sim->layout->nodes, between = pto_fabric_link_count(fabric, nodes);
    sim->job.first_fabric_link = sim->shared_links.count;
    sim->job.capacity =
        zeroed(sim->all, (size_t)(sim->job.first_fabric_link + between), sizeof *sim->job.capacity);
    for (int i = 0; i < sim->job.first_fabric_link && sim->job.capacity; i++)
        sim->job.capacity[i].bytes_per_s = 1 / pto_link_s_per_byte(&sim->shared_links, i)->value;
    for (int64_t i = 0; i < between && sim->job.capacity; i++)
        sim->job.capacity[sim->job.first_fabric_link + i].bytes_per_s =
            1 / pto_fabric_s_per_byte(fabric, nodes, i)->value;
}

/* Allocates the state of one plan. */
static void allocate(pto_sim_t *sim) {
    const pto_plan_t *plan = sim->plan;
    size_t procs = (size_t)sim->ranks * sim->lanes;
    size_t flags = (size_t)pto_plan_flag_count(plan) * sim->ranks * sim->ranks_per_node;
    size_t paths = sim->machine->fabric.levels > 0 ? 2 * procs : 0;
    sim->view = zeroed(sim->all, (size_t)plan->steps.count, sizeof *sim->view);
    sim->stage = zeroed(sim->all, (size_t)plan->stages.count, sizeof *sim->stage);
    sim->raised = zeroed(sim->all, flags, sizeof *sim->raised);
    sim->either =
        zeroed(sim->all, (size_t)pto_plan_either_count(plan, plan->nodes.count), sizeof *sim->either);
    sim->fabric_path = zeroed(sim->all, paths, sizeof *sim->fabric_path);
    sim->reached = zeroed(sim->all, procs, sizeof *sim->reached);
}

/* Numbers the engines in use. */
static void place_engines(pto_sims_t *all) {
    for (int engine = 0; engine < PTO_ENGINES_PER_GPU; engine++)
        if (all->engines >> engine & 1)
            all->engine_place[engine] = all->engines_per_gpu++;
}

/* Allocates the state that all plans share, and sets it in `sim`, the first of them. */
static void allocate_shared(pto_sims_t *all, pto_sim_t *sim, pto_agenda_t *agenda) {
    size_t nodes = (size_t)sim->nodes;
    size_t links = all->has_links ? nodes * PTO_LINKS_PER_NODE : 0;
    size_t gpus = all->engines ? (size_t)sim->gpus : 0;
    int64_t ranks_per_node = pto_layout_rank_count(sim->layout) / sim->layout->nodes;
    sim->job.agenda = agenda;
    sim->job.first_link_slot = all->procs * PTO_SLOTS_PER_RANK;
    sim->job.first_gpu_slot = sim->job.first_link_slot + (uint32_t)links;
    all->proc = zeroed(all, all->procs, sizeof *all->proc);
    all->local = zeroed(all, all->procs, sizeof *all->local);
    all->hot = zeroed(all, all->procs, sizeof *all->hot);
    all->set = zeroed(all, all->lanes > 1 ? (size_t)all->ranks : 0, sizeof *all->set);
    sim->job.link_size = sizeof(pto_link_t) + (size_t)ranks_per_node * all->lanes * sizeof(pto_link_job_t);
    sim->job.links = zeroed(all, links, sim->job.link_size);
    place_engines(all);
    sim->job.engine = zeroed(all, gpus * (size_t)all->engines_per_gpu, sizeof *sim->job.engine);
    sim->job.in_use = zeroed(all, gpus, sizeof *sim->job.in_use);
    sim->job.queue_end_s = zeroed(all, gpus * PTO_COPY_RESOURCE_COUNT, sizeof *sim->job.queue_end_s);
    sim->job.routes = zeroed(all, nodes + 1, sizeof *sim->job.routes);
    size_t processes = all->engines ? (size_t)(ranks_per_node * sim->nodes) : 0;
    all->copy_held_s = zeroed(all, processes * PTO_COPY_RESOURCE_COUNT, sizeof *all->copy_held_s);
    find_capacities(sim);
    if (!pto_agenda_init(agenda, sim->job.first_gpu_slot + (uint32_t)sim->gpus))
        all->out_of_memory = true;
}

/* The views of all plans come first: they tell which links and engines are needed. */
bool pto_sims_allocate(pto_sims_t *all, pto_agenda_t *agenda) {
    uint32_t procs = 0;
    for (uint32_t i = 0; i < all->count && !all->out_of_memory; i++) {
        allocate(&all->sim[i]);
        if (!all->out_of_memory)
            pto_sim_view_plan(&all->sim[i]);
        all->has_links = all->has_links || !all->sim[i].is_free;
    }
    if (!all->out_of_memory)
        allocate_shared(all, all->sim, agenda);
    for (uint32_t i = 0; i < all->count && !all->out_of_memory; i++) {
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
    return !all->out_of_memory;
}

void pto_sims_release(pto_sims_t *all, pto_agenda_t *agenda) {
    const pto_sim_t *first = all->sim;
    for (uint32_t i = 0; i < all->count; i++) {
        pto_pool_fini(&all->sim[i].pool);
        for (int j = 0; all->sim[i].view && j < all->sim[i].plan->steps.count; j++)
            for (int end = 0; end < 2; end++)
                free(all->sim[i].view[j].slice[end].bytes);
        pto_passages_fini(&all->sim[i].passages);
    }
    pto_agenda_fini(agenda);
    for (int64_t node = 0; first->job.routes && node <= first->nodes; node++)
        free(first->job.routes[node].flow);
    for (size_t i = 0; i < all->memory_count; i++)
        free(all->memory[i]);
    free(all->memory);
}

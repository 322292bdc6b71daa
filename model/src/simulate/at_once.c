/* Simulates several plans at the same time on the processes of one MPI job: one or more calls, each on one or
 * more communicators. decide/step_simulate.c calls it for the calls of an application. Each communicator has
 * a pto_sim_t with its own plan, ranks and messages. The event queue, the links, the copy engines, and the
 * sending and receiving sides of the job's processes are shared. */
#include <stdlib.h>
#include <string.h>

#include "portolan/strategy.h"
#include "simulate/simulate_internal.h"
#include "simulate/size.h"

static const pto_simulate_options_t no_options;

pto_sim_t pto_sim_of(const pto_plan_t *plan, const pto_machine_t *machine, const pto_layout_t *job,
                     const pto_simulate_options_t *options, pto_error_t *err) {
    const pto_layout_t *own = &plan->request.layout;
    uint32_t ranks = (uint32_t)pto_layout_rank_count(own);
    return (pto_sim_t){.plan = plan,
                       .machine = machine,
                       .layout = job,
                       .lines = pto_runs_by_lines(plan, machine),
                       .options = options ? options : &no_options,
                       .shared_links = pto_links_of(machine, job),
                       .nodes = job->nodes,
                       .gpus = job->nodes * job->gpus_per_node,
                       .ranks = ranks,
                       .ranks_per_node = ranks / (uint32_t)own->nodes,
                       .lanes = (uint32_t)pto_plan_lane_count(plan),
                       .err = err};
}

typedef struct {
    pto_sims_t all;
    int64_t *gpu; /* the number in the job of each GPU of each plan, one plan after another */
} setup_t;

static void setup_fini(setup_t *setup) {
    free(setup->all.sim);
    free(setup->all.owner);
    free(setup->all.first_lane);
    free(setup->all.member);
    free(setup->gpu);
}

/* Returns whether two calls have communicators of the same ranks, in the same order. */
static bool have_same_ranks(const pto_simulate_call_t *a, const pto_simulate_call_t *b) {
    int64_t size = pto_layout_rank_count(&a->plan->request.layout);
    return a->communicators == b->communicators && size == pto_layout_rank_count(&b->plan->request.layout) &&
           memcmp(a->rank, b->rank, (size_t)(a->communicators * size) * sizeof *a->rank) == 0;
}

static pto_status_t check_calls(const pto_simulate_call_t *call, int calls,
                                const pto_simulate_options_t *options, pto_error_t *err) {
    int64_t plans = 0, used = 0;
    bool nccl = false;
    for (int c = 0; c < calls; c++) {
        plans += call[c].communicators;
        nccl = nccl || pto_plan_uses_nccl(call[c].plan);
        for (int64_t i = 0; i < call[c].communicators; i++) {
            pto_status_t status = pto_simulate_check_size(call[c].plan, NULL, options, &used, err);
            if (status != PTO_OK)
                return status;
        }
        if (call[c].repeats && (c == 0 || !have_same_ranks(&call[c - 1], &call[c])))
            return pto_error_set(err, PTO_ERR_RANGE, "call %d does not repeat the call before it", c);
    }
    if (nccl && plans > 1)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             "collectives of NCCL are simulated one at a time, not several at once");
    return PTO_OK;
}

/* Sets the sizes in setup->all, and allocates its arrays. */
static pto_status_t prepare(setup_t *setup, const pto_layout_t *job, const pto_simulate_call_t *call,
                            int calls, const pto_simulate_options_t *options, pto_error_t *err) {
    pto_sims_t *all = &setup->all;
    size_t gpus = 0, procs = 0;
    all->calls = calls;
    all->ranks = pto_layout_rank_count(job);
    all->first_lane = calloc((size_t)calls + 1, sizeof *all->first_lane);
    for (int c = 0; c < calls && all->first_lane; c++) {
        const pto_layout_t *layout = &call[c].plan->request.layout;
        size_t plans = (size_t)call[c].communicators;
        all->first_lane[c] = all->lanes;
        all->lanes += (uint32_t)pto_plan_lane_count(call[c].plan);
        all->count += (uint32_t)plans;
        procs += plans * (size_t)pto_layout_rank_count(layout) * (size_t)pto_plan_lane_count(call[c].plan);
        gpus += plans * (size_t)(layout->nodes * layout->gpus_per_node);
    }
    int64_t max_procs = pto_simulate_max_procs(options);
    if (procs > (size_t)max_procs)
        return pto_error_set(err, PTO_ERR_TOO_LARGE,
                             "%lu processes of calls are too many to simulate; at most %lld",
                             (unsigned long)procs, (long long)max_procs);
    all->procs = (uint32_t)procs;
    all->sim = calloc(all->count + 1, sizeof *all->sim);
    all->owner = calloc(procs + 1, sizeof *all->owner);
    all->member = calloc((size_t)calls * (size_t)all->ranks + 1, sizeof *all->member);
    setup->gpu = calloc(gpus + 1, sizeof *setup->gpu);
    if (!all->first_lane || !all->sim || !all->owner || !all->member || !setup->gpu)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for calls at once");
    memset(all->member, 0xff,
           (size_t)calls * (size_t)all->ranks * sizeof *all->member); /* UINT32_MAX: none */
    return PTO_OK;
}

/* Enters the ranks and GPUs of communicator `number` in the tables of the job. Its processes are numbered
 * from `first_proc`; `gpu` is its part of setup->gpu. */
static pto_status_t place_communicator(setup_t *setup, const pto_sim_t *sim, uint32_t number,
                                       uint32_t first_proc, int64_t *gpu, pto_error_t *err) {
    pto_sims_t *all = &setup->all;
    uint32_t *member = all->member + (int64_t)sim->call * all->ranks;
    int64_t cores = sim->layout->procs_per_gpu;
    for (uint32_t rank = 0; rank < sim->ranks; rank++) {
        int64_t place = sim->place[rank];
        if (place < 0 || place >= all->ranks || member[place] != UINT32_MAX)
            return pto_error_set(err, PTO_ERR_RANGE,
                                 "rank %lld of the job is not in one communicator of call %d",
                                 (long long)place, sim->call);
        member[place] = first_proc + rank;
        gpu[rank / cores] = place / cores;
    }
    for (uint32_t i = 0; i < sim->ranks * sim->lanes; i++)
        all->owner[first_proc + i] = number;
    return PTO_OK;
}

pto_status_t pto_simulate_at_once(const pto_layout_t *job, const pto_simulate_call_t *call, int calls,
                                  const pto_machine_t *machine, const pto_simulate_options_t *options,
                                  pto_simulation_t *simulation, double *end_s, pto_error_t *err) {
    setup_t setup = {.all = {.simulation = simulation, .end_s = end_s}};
    pto_sims_t *all = &setup.all;
    options = options ? options : &no_options;
    pto_status_t status = check_calls(call, calls, options, err);
    uint32_t number = 0, procs = 0;
    int64_t gpus = 0;
    if (status == PTO_OK)
        status = prepare(&setup, job, call, calls, options, err);
    for (int c = 0; c < calls && all->sim && status == PTO_OK; c++) {
        if (end_s)
            end_s[c] = 0;
        for (int64_t i = 0; i < call[c].communicators && status == PTO_OK; i++) {
            pto_sim_t *sim = &all->sim[number];
            *sim = pto_sim_of(call[c].plan, machine, job, options, err);
            sim->all = all;
            sim->call = c;
            sim->first_lane = all->first_lane[c];
            sim->place = call[c].rank + i * (int64_t)sim->ranks;
            sim->shared_links.gpu = setup.gpu + gpus;
            sim->follows = call[c].repeats;
            if (sim->follows) /* the same communicator in the call before */
                (sim - call[c].communicators)->next = sim;
            status = pto_runs_check(sim->plan, machine, err);
            if (status == PTO_OK)
                status = place_communicator(&setup, sim, number++, procs, setup.gpu + gpus, err);
            procs += sim->ranks * sim->lanes;
            gpus += sim->ranks / job->procs_per_gpu;
        }
    }
    for (int64_t i = 0; i < calls * all->ranks && all->member && status == PTO_OK; i++)
        if (all->member[i] == UINT32_MAX)
            status =
                pto_error_set(err, PTO_ERR_RANGE, "rank %lld of the job is in no communicator of call %lld",
                              (long long)(i % all->ranks), (long long)(i / all->ranks));
    if (status == PTO_OK)
        status = pto_links_check(&all->sim->shared_links, err);
    if (status == PTO_OK)
        status = pto_sims_run(all, err);
    setup_fini(&setup);
    return status;
}

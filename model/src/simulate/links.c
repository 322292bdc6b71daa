/* Injection and ejection of nodes: links that the messages in flight share fluidly, each with an equal part
 * of the link's time (processor sharing).
 *
 * In this file, a job is a message on a link. A job of b bytes needs b / R of the link's time. With n jobs
 * each gets 1/n of it. So one number, the time that every job has received since the link was idle,
 * determines when each is through: jobs are ordered by the value at which that happens. ppn equal messages
 * that start together are through after ppn b / R, as in the max-rate model.
 *
 * Links are updated only on demand: a message limited by its own rate never causes an event of its link. */
#include <math.h>

#include "simulate/simulate_internal.h"

static bool sooner(const pto_link_job_t *a, const pto_link_job_t *b) {
    return a->until_s < b->until_s || (a->until_s == b->until_s && a->proc < b->proc);
}

/* Inserts a job into the `count` others, which are sorted with the soonest last. */
static void insert(pto_link_job_t *job, int32_t count, pto_link_job_t added) {
    for (; count > 0 && sooner(&job[count - 1], &added); count--)
        job[count] = job[count - 1];
    job[count] = added;
}

static const pto_link_job_t *first_job(const pto_link_t *link) { return &link->job[link->jobs - 1]; }

/* Returns the time when the first job will be done, if no other joins. */
static double next_end_s(const pto_link_t *link) {
    return link->at_s + (first_job(link)->until_s - link->progress_s) * (double)link->jobs;
}

/* Schedules the next end as an event, but only if a side waits for it. */
void pto_link_schedule(pto_sim_t *sim, pto_link_kind_t kind, int32_t node) {
    const pto_link_t *link = pto_link_of(sim, kind, node);
    double next_s = INFINITY;
    if (link->waiting > 0 && link->jobs > 0)
        next_s = pto_link_has_flows(kind) ? pto_routes_next_s(sim, kind, node) : next_end_s(link);
    pto_agenda_set(sim->job.agenda, sim->job.first_link_slot + pto_link_number(kind, node), next_s, false);
}

void pto_link_idle(pto_sim_t *sim, pto_link_kind_t kind, int32_t node) {
    pto_link_t *link = pto_link_of(sim, kind, node);
    link->busy_s += link->at_s - link->busy_since_s;
    pto_sim_shared_span(sim, (pto_resource_t)((int)PTO_RESOURCE_INJECTION + (int)kind), node, link->bytes,
                        link->busy_since_s, link->at_s);
}

static void end_first(pto_sim_t *sim, pto_link_kind_t kind, int32_t node, double end_s) {
    pto_link_t *link = pto_link_of(sim, kind, node);
    uint32_t rank = first_job(link)->proc;
    pto_sim_t *owner = pto_sim_owner(sim, &rank); /* makes `rank` a number of the owner's plan */
    link->at_s = end_s > link->at_s ? end_s : link->at_s;
    link->progress_s = first_job(link)->until_s;
    link->jobs--;
    if (link->jobs == 0)
        pto_link_idle(sim, kind, node);
    pto_sim_through(owner, kind, kind != PTO_LINK_EJECTION, rank, link->at_s);
}

void pto_link_advance(pto_sim_t *sim, pto_link_kind_t kind, int32_t node) {
    pto_link_t *link = pto_link_of(sim, kind, node);
    if (pto_link_has_flows(kind)) {
        pto_routes_advance(sim, kind, node);
        return;
    }
    while (link->jobs > 0) {
        double end_s = next_end_s(link);
        if (pto_sim_before(sim->now_s, end_s))
            break;
        end_first(sim, kind, node, end_s < sim->now_s ? end_s : sim->now_s);
    }
    if (link->jobs > 0 && sim->now_s > link->at_s)
        link->progress_s += (sim->now_s - link->at_s) / (double)link->jobs;
    if (sim->now_s > link->at_s)
        link->at_s = sim->now_s;
}

pto_link_t *pto_link_begin(pto_sim_t *sim, pto_link_kind_t kind, int32_t node, int64_t bytes) {
    pto_link_t *link = pto_link_of(sim, kind, node);
    pto_link_advance(sim, kind, node);
    if (link->jobs == 0) {
        link->progress_s = 0;
        link->busy_since_s = sim->now_s;
        link->bytes = 0;
    }
    link->bytes += bytes;
    return link;
}

void pto_link_join(pto_sim_t *sim, pto_link_kind_t kind, uint32_t rank, double work_s, int64_t bytes) {
    int32_t node = sim->proc[rank].node;
    pto_link_t *link = pto_link_begin(sim, kind, node, bytes);
    insert(link->job, link->jobs, (pto_link_job_t){link->progress_s + work_s, sim->first_proc + rank});
    link->jobs++;
    if (link->waiting > 0)
        pto_link_schedule(sim, kind, node);
}

void pto_link_wait(pto_sim_t *sim, pto_link_kind_t kind, int32_t node) {
    pto_link_t *link = pto_link_of(sim, kind, node);
    link->waiting++;
    pto_link_schedule(sim, kind, node);
}

void pto_link_event(pto_sim_t *sim, uint32_t index) {
    pto_link_kind_t kind = (pto_link_kind_t)(index % PTO_LINKS_PER_NODE);
    int32_t node = (int32_t)(index / PTO_LINKS_PER_NODE);
    pto_link_advance(sim, kind, node);
    pto_link_schedule(sim, kind, node);
}

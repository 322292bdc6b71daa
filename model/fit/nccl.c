/* Fits NCCL's collectives: alpha and beta for each measured number of GPUs and nodes, in as many pieces by
 * size as the samples justify, since NCCL changes protocol and algorithm with size (segments.c). */
#include <stdlib.h>

#include "parts.h"
#include "select.h"

/* In these samples `procs` is the number of GPUs on all nodes, and `messages` is the number of nodes. */
static int64_t gpus_of(const fit_point_t *point) { return point->procs; }
static int64_t nodes_of(const fit_point_t *point) { return point->messages; }

static int by_job(const void *a, const void *b) {
    int order = fit_compare(nodes_of(a), nodes_of(b));
    return order != 0 ? order : fit_compare(gpus_of(a), gpus_of(b));
}

/* The order of rows in a machine file: by nodes, then GPUs, then bytes. */
static int by_row(const void *a, const void *b) {
    int order = by_job(a, b);
    return order != 0 ? order : fit_compare_bytes(a, b);
}

/* Fits all pieces of one number of GPUs and nodes, or none. */
static void fit_job(fit_work_t *work, const fit_points_t *points, pto_cost_table_t *cost) {
    const pto_cost_row_t like = {.gpus = gpus_of(points->point), .nodes = nodes_of(points->point)};
    if (like.gpus < 2 || like.gpus % like.nodes != 0) {
        fit_give_up(work, fit_key(work, cost),
                    "a row must have two GPUs or more (procs), equally many on each node (messages)");
        return;
    }
    const fit_breaks_t breaks = fit_breaks_of(work, points, FIT_PIECE_MAX);
    fit_rows(work, points, &breaks, &like, fit_name_row, cost);
}

void fit_by_gpus(fit_work_t *work, pto_benchmark_t benchmark, pto_cost_table_t *cost) {
    fit_points_t points = fit_select_all(work, benchmark);
    if (points.count > 0)
        qsort(points.point, points.count, sizeof *points.point, by_row);
    for (size_t first = 0; first < points.count;) {
        const fit_points_t same_job = fit_equal_from(&points, first, by_job);
        fit_job(work, &same_job, cost);
        first += same_job.count;
    }
}

void fit_nccl(fit_work_t *work) {
    for (int kind = 0; kind < PTO_NCCL_COUNT; kind++)
        fit_by_gpus(work, (pto_benchmark_t)(PTO_BENCHMARK_NCCL_ALLREDUCE + kind),
                    &work->fit->machine->nccl[kind]);
}

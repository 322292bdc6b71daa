/* NCCL's collectives: alpha and beta for each measured number of GPUs and nodes, in as many pieces as the
 * data show, since NCCL changes protocol and pattern with size. Pieces are found as for messages. */
#include <stdio.h>
#include <stdlib.h>

#include "parts.h"
#include "segments.h"
#include "select.h"

/* In these samples `procs` is the number of GPUs on all nodes, and `messages` is the number of nodes. */
static int64_t gpus_of(const fit_point_t *point) { return point->procs; }
static int64_t nodes_of(const fit_point_t *point) { return point->messages; }

/* The order of rows in a machine file: by nodes, then GPUs, then bytes. */
static int by_row(const void *a, const void *b) {
    const fit_point_t *left = a;
    const fit_point_t *right = b;
    int order = (nodes_of(left) > nodes_of(right)) - (nodes_of(left) < nodes_of(right));
    order = order != 0 ? order : (gpus_of(left) > gpus_of(right)) - (gpus_of(left) < gpus_of(right));
    return order != 0 ? order : (left->bytes > right->bytes) - (left->bytes < right->bytes);
}

static size_t run_of_job(const fit_points_t *points, size_t first) {
    size_t past = first;
    while (past < points->count && gpus_of(&points->point[past]) == gpus_of(&points->point[first]) &&
           nodes_of(&points->point[past]) == nodes_of(&points->point[first])) {
        past++;
    }
    return past - first;
}

/* Append the row of one range, with the cost fitted to its points. */
static pto_status_t fit_row(fit_work_t *work, pto_nccl_kind_t kind, const fit_points_t *points,
                            const pto_cost_row_t *like) {
    char row_name[PTO_COST_ROW_MAX], what[PTO_FIT_NAME_MAX];
    pto_cost_row_name(like, row_name);
    snprintf(what, sizeof what, "nccl.%s.%.40s", pto_nccl_name(kind), row_name);
    return fit_cost_row(work, what, points, like, &work->fit->machine->nccl[kind]);
}

/* Fits all pieces of one number of GPUs and nodes, or none. */
static pto_status_t fit_job(fit_work_t *work, pto_nccl_kind_t kind, const fit_points_t *points) {
    pto_cost_row_t row = {.gpus = gpus_of(points->point), .nodes = nodes_of(points->point)};
    if (row.gpus < 2 || row.gpus % row.nodes != 0) {
        char name[PTO_FIT_NAME_MAX];
        snprintf(name, sizeof name, "nccl.%s", pto_nccl_name(kind));
        return fit_give_up(work, name,
                           "a row must have two GPUs or more (procs), equally many on each node (messages)");
    }
    int breaks = 0;
    pto_cost_table_t *cost = &work->fit->machine->nccl[kind];
    int before = cost->count;
    int64_t below_bytes[FIT_PIECE_MAX] = {0};
    pto_status_t status = fit_find_breaks(points, PTO_COST_RANGE_MAX, &breaks, below_bytes, work->err);
    for (int k = 0; status == PTO_OK && k <= breaks; k++) {
        row.from_bytes = k > 0 ? below_bytes[k - 1] : 0;
        row.below_bytes = k < breaks ? below_bytes[k] : INT64_MAX;
        status = fit_row(work, kind, points, &row);
        if (status != PTO_OK || !pto_postal_known(&cost->row[cost->count - 1].postal)) {
            pto_cost_truncate(cost, before);
            return status;
        }
    }
    return status;
}

static pto_status_t fit_collective(fit_work_t *work, pto_benchmark_t benchmark, pto_nccl_kind_t kind) {
    fit_points_t points;
    pto_status_t status =
        fit_select(work, &(fit_filter_t){benchmark, PTO_IN_COUNT, PTO_AT_COUNT, 0, 0}, &points);
    if (status != PTO_OK) {
        return status;
    }
    if (points.count > 0) {
        qsort(points.point, points.count, sizeof *points.point, by_row);
    }
    for (size_t first = 0; status == PTO_OK && first < points.count; first += run_of_job(&points, first)) {
        fit_points_t own = {run_of_job(&points, first), points.point + first};
        status = fit_job(work, kind, &own);
    }
    free(points.point);
    return status;
}

pto_status_t fit_nccl(fit_work_t *work) {
    pto_status_t status = PTO_OK;
    for (int kind = 0; status == PTO_OK && kind < PTO_NCCL_COUNT; kind++) {
        status = fit_collective(work, (pto_benchmark_t)(PTO_BENCHMARK_NCCL_ALLREDUCE + kind),
                                (pto_nccl_kind_t)kind);
    }
    return status;
}

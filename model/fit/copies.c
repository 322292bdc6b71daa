/* Copies, alone and shared, and the costs that are a single time. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "fit_internal.h"
#include "text_file.h"

/* A line that misses the middle of the large copies by more than this does not describe them. */
static const double bent_residual = 0.25;

/* Fit what a filter lets through, if anything. */
static pto_status_t fit_filtered(fit_work_t *work, const char *name, const fit_filter_t *filter,
                                 pto_postal_t *postal) {
    fit_points_t points;
    pto_status_t status = fit_select(work, filter, &points);
    if (status != PTO_OK) {
        return status;
    }
    if (points.count > 0) {
        status = fit_postal_entry(work, name, &points, postal);
    }
    free(points.point);
    return status;
}

static const pto_sample_level_t place_of_reach[PTO_REACH_COUNT] = {
    [PTO_REACH_ON_SOCKET] = PTO_AT_ON_SOCKET,
    [PTO_REACH_OFF_SOCKET] = PTO_AT_OFF_SOCKET,
};

pto_status_t fit_copies(fit_work_t *work) {
    static const struct {
        pto_benchmark_t benchmark;
        pto_copy_kind_t kind;
    } kinds[] = {{PTO_BENCHMARK_MEMCPY_H2D, PTO_COPY_H2D},
                 {PTO_BENCHMARK_MEMCPY_D2H, PTO_COPY_D2H},
                 {PTO_BENCHMARK_MEMCPY_D2D, PTO_COPY_D2D}};
    pto_machine_t *machine = &work->fit->machine;
    char name[PTO_FIT_NAME_MAX];
    pto_status_t status = PTO_OK;
    for (int reach = 0; status == PTO_OK && reach < PTO_REACH_COUNT; reach++) {
        const char *reach_name = pto_reach_name((pto_reach_t)reach);
        for (size_t k = 0; status == PTO_OK && k < sizeof kinds / sizeof *kinds; k++) {
            fit_filter_t filter = {kinds[k].benchmark, PTO_IN_COUNT, place_of_reach[reach], 1, 0};
            snprintf(name, sizeof name, "copies.%s.%s", pto_copy_kind_name(kinds[k].kind), reach_name);
            status = fit_filtered(work, name, &filter, &machine->copies[kinds[k].kind][reach]);
        }
        if (status == PTO_OK) {
            fit_filter_t filter = {PTO_BENCHMARK_MEMCPY_PEER, PTO_IN_COUNT, place_of_reach[reach], 1, 0};
            snprintf(name, sizeof name, "peer.%s", reach_name);
            status = fit_filtered(work, name, &filter, &machine->peer[reach]);
        }
    }
    return status;
}

/* Median of |line - measured| / fit_error_scale(measured) of points under another regression's line. */
static double residual_under(const fit_points_t *points, const fit_regression_t *line, double *scratch) {
    for (size_t i = 0; i < points->count; i++) {
        double fitted = line->value[0] + line->value[1] * (double)points->point[i].bytes;
        scratch[i] = fabs(fitted - points->point[i].seconds) / fit_error_scale(points->point[i].seconds);
    }
    return fit_median(scratch, points->count);
}

/* Without MPS processes take turns on a GPU, and small copies wait for a turn of tens of microseconds that
 * large ones never see. One line cannot be both; the large ones are kept, since they are why copies are
 * shared. `large` is the part of `points` that one line describes, from `from_bytes` on (0: all of it). */
static pto_status_t find_large(const fit_work_t *work, const fit_points_t *points, fit_points_t *large,
                               int64_t *from_bytes) {
    int count = 0;
    int64_t below_bytes[PTO_PIECE_MAX] = {0};
    *large = *points;
    *from_bytes = 0;
    pto_status_t status = fit_find_breaks(points, 2, &count, below_bytes, work->err);
    fit_regression_t whole;
    if (status != PTO_OK || count == 0 || fit_postal(points, work->options->minima, &whole, NULL) != PTO_OK) {
        return status;
    }
    double *scratch = malloc(points->count * sizeof *scratch);
    if (scratch == NULL) {
        return pto_error_set(work->err, PTO_ERR_MEMORY, "out of memory for shared copies");
    }
    size_t first = 0;
    while (points->point[first].bytes < below_bytes[0]) {
        first++;
    }
    fit_points_t upper = {points->count - first, points->point + first};
    if (residual_under(&upper, &whole, scratch) > bent_residual) {
        *large = upper;
        *from_bytes = below_bytes[0];
    }
    free(scratch);
    return PTO_OK;
}

static pto_status_t fit_shared(fit_work_t *work, const char *name, const fit_points_t *points,
                               pto_postal_t *postal) {
    fit_points_t large;
    int64_t from_bytes;
    pto_status_t status = find_large(work, points, &large, &from_bytes);
    if (status == PTO_OK) {
        status = fit_postal_entry(work, name, &large, postal);
    }
    if (status != PTO_OK || from_bytes == 0 || !pto_postal_known(postal)) {
        return status;
    }
    pto_fit_entry_t *entry = &work->fit->entry[work->fit->entry_count - 1];
    snprintf(entry->note, sizeof entry->note, "of %lld bytes and more; smaller copies take another line",
             (long long)from_bytes);
    free(postal->flagged);
    postal->flagged = pto_text_copy(entry->note);
    return postal->flagged != NULL ? PTO_OK : pto_error_set(work->err, PTO_ERR_MEMORY, "out of memory");
}

static size_t run_of_procs(const fit_points_t *points, size_t first) {
    size_t past = first;
    while (past < points->count && points->point[past].procs == points->point[first].procs) {
        past++;
    }
    return past - first;
}

pto_status_t fit_shared_copies(fit_work_t *work, pto_copy_kind_t kind, pto_benchmark_t benchmark) {
    fit_points_t points;
    pto_status_t status =
        fit_select(work, &(fit_filter_t){benchmark, PTO_IN_COUNT, PTO_AT_COUNT, 0, 0}, &points);
    if (status != PTO_OK) {
        return status;
    }
    pto_machine_t *machine = &work->fit->machine;
    pto_shared_copy_t *rows = calloc(points.count + 1, sizeof *rows);
    if (rows == NULL) {
        free(points.point);
        return pto_error_set(work->err, PTO_ERR_MEMORY, "out of memory for shared copies");
    }
    machine->shared_copies[kind] = rows;
    for (size_t first = 0; status == PTO_OK && first < points.count; first += run_of_procs(&points, first)) {
        fit_points_t own = {run_of_procs(&points, first), points.point + first};
        pto_shared_copy_t *shared = &rows[machine->shared_copy_count[kind]];
        if (own.point[0].procs < 2) {
            continue; /* a process alone shares nothing */
        }
        char name[PTO_FIT_NAME_MAX];
        shared->procs = (int)own.point[0].procs;
        snprintf(name, sizeof name, "copies.shared.%s.%d", pto_copy_kind_name(kind), shared->procs);
        status = fit_shared(work, name, &own, &shared->postal);
        machine->shared_copy_count[kind] += status == PTO_OK && pto_postal_known(&shared->postal);
    }
    free(points.point);
    return status;
}

/* A cost that has no size: its robust centre. */
static pto_status_t fit_time(fit_work_t *work, pto_benchmark_t benchmark, const char *name,
                             pto_param_t *param) {
    fit_points_t points;
    fit_design_t design;
    pto_status_t status =
        fit_select(work, &(fit_filter_t){benchmark, PTO_IN_COUNT, PTO_AT_COUNT, 0, 0}, &points);
    if (status != PTO_OK || points.count == 0) {
        free(status == PTO_OK ? points.point : NULL);
        return status;
    }
    status = fit_design_init(points.count, 1, &design, work->err);
    if (status != PTO_OK) {
        free(points.point);
        return status;
    }
    for (size_t i = 0; i < points.count; i++) {
        design.column[i] = 1;
        design.seconds[i] = points.point[i].seconds;
    }
    free(points.point);
    fit_regression_t result;
    status = fit_regress(&design, work->options->minima, &result, work->err);
    fit_design_fini(&design);
    pto_fit_entry_t *entry = status == PTO_OK ? fit_entry_add(work, PTO_FIT_TIME, "%s", name) : NULL;
    if (entry == NULL) {
        return status == PTO_OK ? PTO_ERR_MEMORY : status;
    }
    entry->alpha_s = *param = fit_param(&result, 0);
    entry->sample_count = (int64_t)points.count;
    entry->below_bytes = INT64_MAX;
    entry->residual = result.residual;
    return PTO_OK;
}

pto_status_t fit_times(fit_work_t *work) {
    pto_machine_t *machine = &work->fit->machine;
    pto_status_t status = fit_time(work, PTO_BENCHMARK_SIGNAL_FLAG, "signals.flag_s", &machine->signal_s);
    if (status == PTO_OK) {
        status = fit_time(work, PTO_BENCHMARK_SIGNAL_EVENT, "signals.event_s", &machine->event_s);
    }
    if (status == PTO_OK) {
        status = fit_time(work, PTO_BENCHMARK_KERNEL_LAUNCH, "launch.kernel_s", &machine->kernel_launch_s);
    }
    return status;
}

/* Fits copies, alone and shared, and the costs that are a single time. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text_file.h"
#include "parts.h"
#include "segments.h"
#include "select.h"

/* A line whose median residual over the large copies exceeds this does not describe them. */
static const double bent_residual = 0.25;

/* Fit the samples that a filter selects, if any. */
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

pto_status_t fit_copies(fit_work_t *work) {
    static const struct {
        pto_benchmark_t benchmark;
        pto_copy_kind_t kind;
    } kinds[] = {{PTO_BENCHMARK_MEMCPY_H2D, PTO_COPY_H2D},
                 {PTO_BENCHMARK_MEMCPY_D2H, PTO_COPY_D2H},
                 {PTO_BENCHMARK_MEMCPY_D2D, PTO_COPY_D2D},
                 {PTO_BENCHMARK_MEMCPY_H2H, PTO_COPY_H2H}};
    pto_machine_t *machine = work->fit->machine;
    char name[PTO_FIT_NAME_MAX];
    pto_status_t status = PTO_OK;
    for (int reach = 0; status == PTO_OK && reach < PTO_REACH_COUNT; reach++) {
        const char *reach_name = pto_reach_name((pto_reach_t)reach);
        for (size_t k = 0; status == PTO_OK && k < sizeof kinds / sizeof *kinds; k++) {
            fit_filter_t filter = {kinds[k].benchmark, PTO_IN_COUNT, fit_place_of_reach[reach], 1, 0};
            snprintf(name, sizeof name, "copies.%s.%s", pto_copy_kind_name(kinds[k].kind), reach_name);
            status = fit_filtered(work, name, &filter, &machine->copies[kinds[k].kind][reach]);
        }
        if (status == PTO_OK) {
            fit_filter_t filter = {PTO_BENCHMARK_MEMCPY_PEER, PTO_IN_COUNT, fit_place_of_reach[reach], 1, 0};
            snprintf(name, sizeof name, "peer.%s", reach_name);
            status = fit_filtered(work, name, &filter, &machine->peer[reach]);
        }
    }
    static const struct {
        pto_benchmark_t benchmark;
        pto_copy_kind_t kind;
    } pageable[] = {{PTO_BENCHMARK_MEMCPY_PAGEABLE_H2D, PTO_COPY_H2D},
                    {PTO_BENCHMARK_MEMCPY_PAGEABLE_D2H, PTO_COPY_D2H}};
    for (size_t k = 0; status == PTO_OK && k < sizeof pageable / sizeof *pageable; k++) {
        fit_filter_t filter = {pageable[k].benchmark, PTO_IN_COUNT, PTO_AT_ON_SOCKET, 1, 0};
        snprintf(name, sizeof name, "copies.pageable.%s", pto_copy_kind_name(pageable[k].kind));
        status = fit_filtered(work, name, &filter, &machine->pageable[pageable[k].kind]);
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

/* Without MPS, processes take turns on a GPU: small copies wait for a turn of tens of microseconds, which
 * large ones hide. No single line describes both. `*from_bytes` is the size from which copies count as
 * large; 0 if one line describes all. */
static pto_status_t find_large(const fit_work_t *work, const fit_points_t *points, int64_t *from_bytes) {
    int count = 0;
    int64_t below_bytes[PTO_PROTOCOL_COUNT] = {0};
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
    fit_points_t small = fit_slice(points, 0, below_bytes[0]);
    fit_points_t large = fit_slice(points, below_bytes[0], INT64_MAX);
    if (residual_under(&small, &whole, scratch) > bent_residual ||
        residual_under(&large, &whole, scratch) > bent_residual) {
        *from_bytes = below_bytes[0];
    }
    free(scratch);
    return PTO_OK;
}

/* Adds one row if it could be fitted. */
static pto_status_t fit_row(fit_work_t *work, const fit_points_t *points, const pto_cost_row_t *row,
                            pto_copy_kind_t kind) {
    pto_cost_table_t *cost = &work->fit->machine->shared_copies[kind];
    char row_name[PTO_COST_ROW_MAX], name[PTO_FIT_NAME_MAX];
    int before = cost->count;
    pto_cost_row_name(row, row_name);
    snprintf(name, sizeof name, "copies.shared.%s.%.40s", pto_copy_kind_name(kind), row_name);
    pto_status_t status = fit_cost_row(work, name, points, row, cost);
    if (cost->count > before && (status != PTO_OK || !pto_postal_known(&cost->row[before].postal))) {
        pto_cost_truncate(cost, before);
    }
    return status;
}

/* Adds one row or two; only the row of the large copies if the small ones cannot be fitted. */
static pto_status_t fit_shared(fit_work_t *work, const fit_points_t *points, pto_copy_kind_t kind,
                               bool strided) {
    int64_t from_bytes;
    pto_cost_row_t row = {.procs = points->point[0].procs, .strided = strided, .below_bytes = INT64_MAX};
    pto_cost_table_t *cost = &work->fit->machine->shared_copies[kind];
    int before = cost->count;
    pto_status_t status = find_large(work, points, &from_bytes);
    if (status == PTO_OK && from_bytes > 0) {
        fit_points_t small = fit_slice(points, 0, from_bytes);
        row.below_bytes = from_bytes;
        status = fit_row(work, &small, &row, kind);
        row.from_bytes = cost->count > before ? from_bytes : 0;
        row.below_bytes = INT64_MAX;
    }
    if (status != PTO_OK) {
        return status;
    }
    fit_points_t large = fit_slice(points, from_bytes, INT64_MAX);
    status = fit_row(work, &large, &row, kind);
    if (status == PTO_OK && row.from_bytes > 0 && cost->count == before + 1) {
        pto_cost_truncate(cost, before); /* a row for small copies alone would also price large ones */
    }
    return status;
}

static size_t run_of_procs(const fit_points_t *points, size_t first) {
    size_t past = first;
    while (past < points->count && points->point[past].procs == points->point[first].procs) {
        past++;
    }
    return past - first;
}

/* Append the rows of one benchmark. */
static pto_status_t fit_sharing(fit_work_t *work, pto_copy_kind_t kind, pto_benchmark_t benchmark,
                                bool strided) {
    fit_points_t points;
    pto_status_t status =
        fit_select(work, &(fit_filter_t){benchmark, PTO_IN_COUNT, PTO_AT_COUNT, 0, 0}, &points);
    if (status != PTO_OK) {
        return status;
    }
    for (size_t first = 0; status == PTO_OK && first < points.count; first += run_of_procs(&points, first)) {
        fit_points_t own = {run_of_procs(&points, first), points.point + first};
        status = fit_shared(work, &own, kind, strided);
    }
    free(points.point);
    return status;
}

pto_status_t fit_shared_copies(fit_work_t *work) {
    static const struct {
        pto_copy_kind_t kind;
        pto_benchmark_t benchmark;
        bool strided; /* after the contiguous rows of the same kind */
    } sharing[] = {
        {PTO_COPY_H2D, PTO_BENCHMARK_MEMCPY_SHARED_H2D, false},
        {PTO_COPY_H2D, PTO_BENCHMARK_MEMCPY_SHARED_STRIDED_H2D, true},
        {PTO_COPY_D2H, PTO_BENCHMARK_MEMCPY_SHARED_D2H, false},
        {PTO_COPY_D2H, PTO_BENCHMARK_MEMCPY_SHARED_STRIDED_D2H, true},
        {PTO_COPY_D2D, PTO_BENCHMARK_MEMCPY_SHARED_D2D, false},
    };
    pto_status_t status = PTO_OK;
    for (size_t i = 0; status == PTO_OK && i < sizeof sharing / sizeof *sharing; i++) {
        status = fit_sharing(work, sharing[i].kind, sharing[i].benchmark, sharing[i].strided);
    }
    return status;
}

static pto_status_t add_time(fit_work_t *work, const char *name, const pto_param_t *param, size_t count,
                             double residual) {
    pto_fit_entry_t *entry = fit_entry_add(work, PTO_FIT_TIME, "%s", name);
    if (entry == NULL) {
        return PTO_ERR_MEMORY;
    }
    entry->alpha_s = *param;
    entry->sample_count = (int64_t)count;
    entry->below_bytes = INT64_MAX;
    entry->residual = residual;
    return PTO_OK;
}

/* A cost that does not depend on size: the robust centre of its samples. */
pto_status_t fit_time(fit_work_t *work, pto_benchmark_t benchmark, const char *name, pto_param_t *param) {
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
    if (status != PTO_OK) {
        return status;
    }
    *param = fit_param(&result, 0);
    return add_time(work, name, param, points.count, result.residual);
}

/* n copies of s bytes in one stream, waited for once, take a + (n - 1) q + n b s: q is what each additional
 * copy costs besides its bytes. */
static pto_status_t fit_queued(fit_work_t *work, pto_benchmark_t benchmark, pto_copy_kind_t kind) {
    enum { COLUMN_ONE, COLUMN_ADDITIONAL, COLUMN_BYTES, COLUMN_COUNT };
    char name[PTO_FIT_NAME_MAX];
    fit_points_t points;
    fit_design_t design;
    fit_regression_t result;
    snprintf(name, sizeof name, "copies.queued.%s", pto_copy_kind_name(kind));
    pto_status_t status =
        fit_select(work, &(fit_filter_t){benchmark, PTO_IN_COUNT, PTO_AT_COUNT, 0, 0}, &points);
    if (status != PTO_OK || points.count == 0) {
        free(status == PTO_OK ? points.point : NULL);
        return status;
    }
    status = fit_design_init(points.count, COLUMN_COUNT, &design, work->err);
    for (size_t i = 0; status == PTO_OK && i < points.count; i++) {
        double *row = &design.column[i * COLUMN_COUNT], copies = (double)points.point[i].messages;
        row[COLUMN_ONE] = 1;
        row[COLUMN_ADDITIONAL] = copies - 1;
        row[COLUMN_BYTES] = copies * (double)points.point[i].bytes;
        design.seconds[i] = points.point[i].seconds;
    }
    if (status == PTO_OK) {
        status = fit_regress(&design, work->options->minima, &result, work->err);
        fit_design_fini(&design);
    }
    if (status == PTO_ERR_NOT_FOUND) {
        status = fit_give_up(work, name, "its samples allow no regression");
    } else if (status == PTO_OK) {
        work->fit->machine->queued_copy_s[kind] = fit_param(&result, COLUMN_ADDITIONAL);
        status = add_time(work, name, &work->fit->machine->queued_copy_s[kind], points.count, result.residual);
    }
    free(points.point);
    return status;
}

pto_status_t fit_times(fit_work_t *work) {
    pto_machine_t *machine = work->fit->machine;
    const struct {
        pto_benchmark_t benchmark;
        const char *name;
        pto_param_t *param;
    } times[] = {
        {PTO_BENCHMARK_SIGNAL_FLAG, "signals.flag_s", &machine->signal_s},
        {PTO_BENCHMARK_SIGNAL_EVENT, "signals.event_s", &machine->event_s},
        {PTO_BENCHMARK_SIGNAL_DEVICE, "signals.device_s", &machine->device_signal_s},
        {PTO_BENCHMARK_KERNEL_LAUNCH, "launch.kernel_s", &machine->kernel_launch_s},
        {PTO_BENCHMARK_GRAPH_LAUNCH, "launch.graph_s", &machine->graph_launch_s},
        {PTO_BENCHMARK_KERNEL_QUEUED, "launch.queued_s", &machine->queued_launch_s},
    };
    pto_status_t status = PTO_OK;
    for (size_t i = 0; status == PTO_OK && i < sizeof times / sizeof *times; i++) {
        status = fit_time(work, times[i].benchmark, times[i].name, times[i].param);
    }
    for (int kind = 0; status == PTO_OK && kind <= PTO_COPY_D2D; kind++) {
        status = fit_queued(work, (pto_benchmark_t)((int)PTO_BENCHMARK_MEMCPY_QUEUED_H2D + kind),
                            (pto_copy_kind_t)kind);
    }
    return status;
}

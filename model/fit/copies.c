/* Fits the costs of copies, by one process and by several that share a GPU, and the parameters that are a
 * single time (signals, launches, and what each additional copy, row or kernel costs). */
#include <math.h>
#include <stdlib.h>

#include "parts.h"
#include "select.h"

/* A line with a larger median residual over the small or the large copies does not describe these. */
static const double bent_residual = 0.25;

void fit_copies(fit_work_t *work) {
    pto_machine_t *machine = work->fit->machine;
    const struct {
        pto_benchmark_t benchmark;
        pto_sample_level_t place;
        pto_postal_t *postal;
    } copies[] = {
        {PTO_BENCHMARK_MEMCPY_H2D, PTO_AT_ON_SOCKET, &machine->copies[PTO_COPY_H2D][PTO_REACH_ON_SOCKET]},
        {PTO_BENCHMARK_MEMCPY_D2H, PTO_AT_ON_SOCKET, &machine->copies[PTO_COPY_D2H][PTO_REACH_ON_SOCKET]},
        {PTO_BENCHMARK_MEMCPY_D2D, PTO_AT_ON_SOCKET, &machine->copies[PTO_COPY_D2D][PTO_REACH_ON_SOCKET]},
        {PTO_BENCHMARK_MEMCPY_H2H, PTO_AT_ON_SOCKET, &machine->copies[PTO_COPY_H2H][PTO_REACH_ON_SOCKET]},
        {PTO_BENCHMARK_MEMCPY_PEER, PTO_AT_ON_SOCKET, &machine->peer[PTO_REACH_ON_SOCKET]},
        {PTO_BENCHMARK_MEMCPY_H2D, PTO_AT_OFF_SOCKET, &machine->copies[PTO_COPY_H2D][PTO_REACH_OFF_SOCKET]},
        {PTO_BENCHMARK_MEMCPY_D2H, PTO_AT_OFF_SOCKET, &machine->copies[PTO_COPY_D2H][PTO_REACH_OFF_SOCKET]},
        {PTO_BENCHMARK_MEMCPY_D2D, PTO_AT_OFF_SOCKET, &machine->copies[PTO_COPY_D2D][PTO_REACH_OFF_SOCKET]},
        {PTO_BENCHMARK_MEMCPY_H2H, PTO_AT_OFF_SOCKET, &machine->copies[PTO_COPY_H2H][PTO_REACH_OFF_SOCKET]},
        {PTO_BENCHMARK_MEMCPY_PEER, PTO_AT_OFF_SOCKET, &machine->peer[PTO_REACH_OFF_SOCKET]},
        {PTO_BENCHMARK_MEMCPY_PAGEABLE_H2D, PTO_AT_ON_SOCKET, &machine->pageable[PTO_COPY_H2D]},
        {PTO_BENCHMARK_MEMCPY_PAGEABLE_D2H, PTO_AT_ON_SOCKET, &machine->pageable[PTO_COPY_D2H]},
    };
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++) {
        fit_points_t points =
            fit_select(work, (fit_filter_t){copies[i].benchmark, PTO_IN_COUNT, copies[i].place, 1, 0});
        if (points.count > 0)
            fit_postal_entry(work, fit_key(work, copies[i].postal), &points, copies[i].postal);
    }
}

/* Median of |line - measured| / pto_error_scale(measured) of points under another regression's line. */
static double residual_under(const fit_points_t *points, const fit_regression_t *line, double *scratch) {
    for (size_t i = 0; i < points->count; i++) {
        double fitted = line->value[0] + line->value[1] * (double)points->point[i].bytes;
        scratch[i] = fabs(fitted - points->point[i].seconds) / pto_error_scale(points->point[i].seconds);
    }
    return fit_median(scratch, points->count);
}

/* Returns the geometric mean of the last size of the small copies and the first of the large ones. */
static int64_t between_sizes(const fit_points_t *small, int64_t first_large) {
    double last_small = (double)small->point[small->count - 1].bytes;
    return last_small > 0 ? (int64_t)ceil(sqrt(last_small * (double)first_large)) : first_large;
}

/* Without MPS, processes use a GPU in time slices: small copies wait for a slice for tens of microseconds,
 * which large copies hide, so no single line describes both. Returns the size from which copies count as
 * large; 0 if one line describes all. */
static int64_t find_large(fit_work_t *work, const fit_points_t *points) {
    fit_regression_t whole;
    const fit_breaks_t breaks = fit_breaks_of(work, points, 2);
    if (breaks.count == 0 || fit_postal(points, work->options->minima, &whole, NULL) != PTO_OK)
        return 0;
    fit_points_t small = fit_slice(points, 0, breaks.below_bytes[0]);
    fit_points_t large = fit_slice(points, breaks.below_bytes[0], INT64_MAX);
    bool bent = residual_under(&small, &whole, work->scratch) > bent_residual ||
                residual_under(&large, &whole, work->scratch) > bent_residual;
    return bent ? between_sizes(&small, breaks.below_bytes[0]) : 0;
}

/* Adds one row if it could be fitted. Returns whether it could. */
static bool fit_row(fit_work_t *work, const fit_points_t *points, pto_cost_row_t *row,
                    pto_cost_table_t *cost) {
    char name[PTO_FIT_NAME_MAX];
    fit_name_row(fit_key(work, cost), 0, row, name);
    return fit_cost_row(work, name, points, row, cost);
}

/* Adds one row or two; only the row of the large copies if the small ones cannot be fitted. */
static void fit_shared(fit_work_t *work, const fit_points_t *points, pto_copy_kind_t kind, bool strided) {
    pto_cost_row_t row = {.procs = points->point[0].procs, .strided = strided, .below_bytes = INT64_MAX};
    pto_cost_table_t *cost = &work->fit->machine->shared_copies[kind];
    int before = cost->count;
    int64_t from_bytes = find_large(work, points);
    if (from_bytes > 0) {
        fit_points_t small = fit_slice(points, 0, from_bytes);
        row.below_bytes = from_bytes;
        row.from_bytes = fit_row(work, &small, &row, cost) ? from_bytes : 0;
        row.below_bytes = INT64_MAX;
    }
    fit_points_t large = fit_slice(points, from_bytes, INT64_MAX);
    if (!fit_row(work, &large, &row, cost))
        pto_cost_truncate(cost, before); /* a row for small copies alone would also price large ones */
}

static int compare_procs(const void *a, const void *b) {
    const fit_point_t *left = a, *right = b;
    return fit_compare(left->procs, right->procs);
}

/* Append the rows of one benchmark. */
static void fit_sharing(fit_work_t *work, pto_copy_kind_t kind, pto_benchmark_t benchmark, bool strided) {
    fit_points_t points = fit_select_all(work, benchmark);
    for (size_t first = 0; first < points.count;) {
        const fit_points_t same_procs = fit_equal_from(&points, first, compare_procs);
        fit_shared(work, &same_procs, kind, strided);
        first += same_procs.count;
    }
}

static pto_mps_t mps_of_file(const pto_samples_t *samples, int file) {
    const char *said = fit_provenance(samples, file, "mps");
    return said ? pto_mps_find(said) : PTO_MPS_UNKNOWN;
}

static bool is_of_sharing(const pto_sample_t *sample) {
    return sample->benchmark >= PTO_BENCHMARK_MEMCPY_SHARED_H2D &&
           sample->benchmark <= PTO_BENCHMARK_MEMCPY_SHARED_STRIDED_D2H;
}

/* Returns whether processes shared a GPU through MPS; unknown if files differ or do not say. */
static pto_mps_t mps_of_samples(const pto_samples_t *samples) {
    pto_mps_t state = PTO_MPS_COUNT;
    int file = -1;
    for (size_t i = 0; i < samples->count; i++) {
        if (!is_of_sharing(&samples->sample[i]) || samples->sample[i].file == file)
            continue;
        file = samples->sample[i].file;
        pto_mps_t own = mps_of_file(samples, file);
        state = state == PTO_MPS_COUNT || state == own ? own : PTO_MPS_UNKNOWN;
    }
    return state == PTO_MPS_COUNT ? PTO_MPS_UNKNOWN : state;
}

void fit_shared_copies(fit_work_t *work) {
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
    work->fit->machine->mps = mps_of_samples(work->samples);
    for (size_t i = 0; i < sizeof sharing / sizeof *sharing; i++)
        fit_sharing(work, sharing[i].kind, sharing[i].benchmark, sharing[i].strided);
}

/* Fits one coefficient of a model to the samples that a filter selects, if any. */
static void fit_coefficient(fit_work_t *work, fit_filter_t filter, const fit_model_t *model, int column,
                            pto_param_t *param) {
    fit_regression_t result;
    fit_points_t points = fit_select(work, filter);
    if (points.count == 0)
        return;
    pto_status_t status = fit_regress(&points, model, work->options->minima, &result, work->err);
    const char *key = fit_key(work, param);
    if (fit_succeeded(work, status, key))
        fit_keep_param(work, PTO_FIT_TIME, key, fit_param(&result, column), &result, param, "%s", "");
}

static bool fill_constant(const fit_point_t *point, const void *context, fit_row_t *row) {
    (void)point;
    (void)context;
    row->column[0] = 1;
    return true;
}

/* A cost that does not depend on size: the robust centre of its samples. */
void fit_time(fit_work_t *work, pto_benchmark_t benchmark, pto_param_t *param) {
    fit_coefficient(work, (fit_filter_t){benchmark, PTO_IN_COUNT, PTO_AT_COUNT, 0, 0},
                    &(fit_model_t){1, fill_constant, NULL}, 0, param);
}

/* n copies of s bytes in one stream, waited for once, take a + (n - 1) q + n b s, where q is the cost of each
 * additional copy besides its bytes. The same holds for kernels, without bytes. One copy or message of n
 * rows, s bytes in all, takes a + (n - 1) q + b s. */
enum { COLUMN_START, COLUMN_ADDITIONAL, COLUMN_BYTES, COLUMN_COUNT };

static bool fill_queued(const fit_point_t *point, const void *context, fit_row_t *row) {
    (void)context;
    row->column[COLUMN_START] = 1;
    row->column[COLUMN_ADDITIONAL] = point->messages - 1;
    row->column[COLUMN_BYTES] = (double)point->messages * (double)point->bytes;
    return true;
}

static bool fill_strided(const fit_point_t *point, const void *context, fit_row_t *row) {
    (void)context;
    int64_t rows = point->bytes / point->messages;
    row->column[COLUMN_START] = 1;
    row->column[COLUMN_ADDITIONAL] = (double)(rows - 1);
    row->column[COLUMN_BYTES] = (double)point->bytes;
    return point->bytes >= point->messages;
}

void fit_times(fit_work_t *work) {
    static const fit_model_t queued = {COLUMN_COUNT, fill_queued, NULL};
    static const fit_model_t kernels = {COLUMN_BYTES, fill_queued, NULL}; /* without the column of bytes */
    static const fit_model_t strided = {COLUMN_COUNT, fill_strided, NULL};
    pto_machine_t *machine = work->fit->machine;
    const struct {
        pto_benchmark_t benchmark;
        pto_param_t *param;
    } times[] = {
        {PTO_BENCHMARK_SIGNAL_FLAG, &machine->signal_s},
        {PTO_BENCHMARK_SIGNAL_EVENT, &machine->event_s},
        {PTO_BENCHMARK_SIGNAL_DEVICE, &machine->device_signal_s},
        {PTO_BENCHMARK_KERNEL_LAUNCH, &machine->kernel_launch_s},
        {PTO_BENCHMARK_GRAPH_LAUNCH, &machine->graph_launch_s},
        {PTO_BENCHMARK_KERNEL_QUEUED, &machine->queued_launch_s},
    };
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        fit_time(work, times[i].benchmark, times[i].param);
    for (int kind = 0; kind <= PTO_COPY_D2D; kind++) {
        fit_filter_t filter = {(pto_benchmark_t)(PTO_BENCHMARK_MEMCPY_QUEUED_H2D + kind), PTO_IN_COUNT,
                               PTO_AT_COUNT, 0, 0};
        fit_coefficient(work, filter, &queued, COLUMN_ADDITIONAL, &machine->queued_copy_s[kind]);
        filter.benchmark = (pto_benchmark_t)(PTO_BENCHMARK_MEMCPY_STRIDED_H2D + kind);
        fit_coefficient(work, filter, &strided, COLUMN_ADDITIONAL, &machine->strided_row_s[kind]);
    }
    for (int space = 0; space < PTO_SPACE_COUNT; space++)
        fit_coefficient(
            work,
            (fit_filter_t){PTO_BENCHMARK_PING_PONG_STRIDED, fit_where_of_space[space], PTO_AT_COUNT, 0, 0},
            &strided, COLUMN_ADDITIONAL, &machine->message_row_s[space]);
    fit_coefficient(work, (fit_filter_t){PTO_BENCHMARK_RUN_LAUNCH, PTO_IN_COUNT, PTO_AT_COUNT, 0, 0},
                    &kernels, COLUMN_ADDITIONAL, &machine->run_launch_s);
}

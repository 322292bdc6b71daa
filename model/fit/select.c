/* Selects the samples of a fit, without those of slow jobs. A whole job can be slow (another job on the same
 * switch, a low clock), and no robust regression copes with a job that has a third of all samples. So jobs
 * are first compared with each other, in the cells (benchmark, processes, messages, size) that they share. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

#include "select.h"

/* A job is slow if it takes this much longer than the median job in at least three quarters of its cells. */
static const double slow_ratio = 1.15;
static const double slow_quantile = 0.25;

/* Minimum numbers of cells to judge a job, and of samples of a cell to judge the host's load. */
enum { SLOW_CELLS_MIN = 8, LOADED_SAMPLES_MIN = 5 };

/* The ratio of a cell's median to its minimum above which the host counts as loaded. On an idle host it is up
 * to 1.7; on a loaded one it is 16 to 77, and the minimum is far from that of an idle host. */
static const double loaded_ratio = 5;

/* The time of one job in one cell. */
typedef struct {
    const pto_sample_t *sample; /* any sample of the cell */
    double seconds;             /* median */
    double ratio;               /* to the median job; 0: no other job has this cell */
} cell_t;

static int compare_job(const pto_sample_t *a, const pto_sample_t *b) {
    int order = fit_compare(a->benchmark, b->benchmark);
    order = order != 0 ? order : fit_compare(a->where, b->where);
    order = order != 0 ? order : fit_compare(a->file, b->file);
    return order != 0 ? order : fit_compare(a->run, b->run);
}

static int compare_cell(const pto_sample_t *a, const pto_sample_t *b) {
    int order = fit_compare(a->benchmark, b->benchmark);
    order = order != 0 ? order : fit_compare(a->where, b->where);
    order = order != 0 ? order : fit_compare(a->place, b->place);
    order = order != 0 ? order : (a->pair_hash > b->pair_hash) - (a->pair_hash < b->pair_hash);
    order = order != 0 ? order : fit_compare(a->procs, b->procs);
    order = order != 0 ? order : fit_compare(a->messages, b->messages);
    return order != 0 ? order : fit_compare(a->bytes, b->bytes);
}

static int by_cell_then_job(const void *a, const void *b) {
    const pto_sample_t *left = *(const pto_sample_t *const *)a;
    const pto_sample_t *right = *(const pto_sample_t *const *)b;
    int order = compare_cell(left, right);
    return order != 0 ? order : compare_job(left, right);
}

static int by_job(const void *a, const void *b) {
    const cell_t *left = a, *right = b;
    return compare_job(left->sample, right->sample);
}

/* One cell_t for each run of samples of the same cell and job; returns their number. */
static size_t make_cells(const pto_sample_t **sorted, size_t count, double *scratch, cell_t *cells) {
    size_t made = 0;
    for (size_t first = 0, past; first < count; first = past) {
        for (past = first; past < count && by_cell_then_job(&sorted[first], &sorted[past]) == 0; past++)
            scratch[past - first] = sorted[past]->seconds;
        cells[made++] = (cell_t){sorted[first], fit_median(scratch, past - first), 0};
    }
    return made;
}

/* Uses the lower median, so that of two jobs the faster is the reference. */
static void set_ratios(cell_t *cells, size_t count, double *scratch) {
    for (size_t first = 0, past; first < count; first = past) {
        for (past = first; past < count && compare_cell(cells[first].sample, cells[past].sample) == 0; past++)
            scratch[past - first] = cells[past].seconds;
        if (past - first < 2)
            continue;
        gsl_sort(scratch, 1, past - first);
        double middle = scratch[(past - first - 1) / 2];
        for (size_t i = first; i < past; i++)
            cells[i].ratio = cells[i].seconds / middle;
    }
}

static void skip_job(fit_work_t *work, const pto_sample_t *job, double ratio) {
    for (size_t i = 0; i < work->samples->count; i++)
        if (compare_job(&work->samples->sample[i], job) == 0)
            work->skip[i] = true;
    char name[PTO_FIT_NAME_MAX];
    snprintf(name, sizeof name, "job %s.%s.%d", pto_benchmark_name((pto_benchmark_t)job->benchmark),
             pto_sample_space_name((pto_sample_space_t)job->where), (int)job->run);
    fit_note(work, name, 0, "left out: a slow job, %.2f times the middle one of its cells", ratio);
}

/* Judge each job by the quantiles of its ratios; cells are sorted by job. */
static void judge_jobs(fit_work_t *work, const cell_t *cells, size_t count) {
    double *ratio = work->scratch;
    for (size_t first = 0, past; first < count; first = past) {
        size_t shared = 0;
        for (past = first; past < count && by_job(&cells[first], &cells[past]) == 0; past++)
            if (cells[past].ratio > 0)
                ratio[shared++] = cells[past].ratio;
        if (shared < SLOW_CELLS_MIN)
            continue;
        gsl_sort(ratio, 1, shared);
        if (gsl_stats_quantile_from_sorted_data(ratio, 1, shared, slow_quantile) > slow_ratio)
            skip_job(work, cells[first].sample, fit_median(ratio, shared));
    }
}

static int by_cell(const void *a, const void *b) {
    return compare_cell(*(const pto_sample_t *const *)a, *(const pto_sample_t *const *)b);
}

static bool same_benchmark(const pto_sample_t *a, const pto_sample_t *b) {
    return a->benchmark == b->benchmark && a->where == b->where;
}

static void skip_benchmark(fit_work_t *work, const pto_sample_t *like, double ratio) {
    char name[PTO_FIT_NAME_MAX], why[PTO_FIT_NOTE_MAX];
    for (size_t i = 0; i < work->samples->count; i++)
        work->skip[i] = work->skip[i] || same_benchmark(&work->samples->sample[i], like);
    snprintf(name, sizeof name, "%s.%s", pto_benchmark_name((pto_benchmark_t)like->benchmark),
             pto_sample_space_name((pto_sample_space_t)like->where));
    snprintf(why, sizeof why,
             "useless minima: half of the samples take %.3g times their size's least or more, as on a loaded "
             "host (fit without --minima)",
             ratio);
    fit_give_up(work, name, why);
}

/* Returns all samples in an order; NULL if out of memory. */
static const pto_sample_t **sorted_samples(fit_work_t *work, int (*order)(const void *, const void *)) {
    size_t count = work->samples->count;
    const pto_sample_t **sorted = fit_alloc(work, count, sizeof *sorted);
    if (!sorted)
        return NULL;
    for (size_t i = 0; i < count; i++)
        sorted[i] = &work->samples->sample[i];
    qsort(sorted, count, sizeof *sorted, order);
    return sorted;
}

/* Judge each benchmark by the median over its cells of median / minimum. */
static void skip_loaded(fit_work_t *work) {
    size_t count = work->samples->count;
    const pto_sample_t **sorted = sorted_samples(work, by_cell);
    double *scratch = work->scratch, *ratio = fit_alloc(work, count, sizeof *ratio);
    if (!sorted || !ratio)
        return;
    for (size_t first = 0, cells = 0, past; first < count; first = past) {
        for (past = first; past < count && compare_cell(sorted[first], sorted[past]) == 0; past++)
            scratch[past - first] = sorted[past]->seconds;
        if (past - first >= LOADED_SAMPLES_MIN) {
            double middle = fit_median(scratch, past - first); /* sorts */
            ratio[cells++] = middle / scratch[0];
        }
        if (past < count && same_benchmark(sorted[first], sorted[past]))
            continue;
        double usual = fit_median(ratio, cells);
        cells = 0;
        if (usual > loaded_ratio)
            skip_benchmark(work, sorted[first], usual);
    }
}

void fit_skip_slow_jobs(fit_work_t *work) {
    if (work->options->minima) {
        skip_loaded(work);
        return;
    }
    size_t count = work->samples->count;
    const pto_sample_t **sorted = sorted_samples(work, by_cell_then_job);
    cell_t *cells = fit_alloc(work, count, sizeof *cells);
    if (!sorted || !cells)
        return;
    size_t cell_count = make_cells(sorted, count, work->scratch, cells);
    set_ratios(cells, cell_count, work->scratch);
    qsort(cells, cell_count, sizeof *cells, by_job);
    judge_jobs(work, cells, cell_count);
}

static bool passes(const pto_sample_t *sample, const fit_filter_t *filter) {
    return sample->benchmark == filter->benchmark &&
           (filter->where == PTO_IN_COUNT || sample->where == filter->where) &&
           (filter->place == PTO_AT_COUNT || sample->place == filter->place) &&
           (filter->procs == 0 || sample->procs == filter->procs) &&
           (filter->pair_hash == 0 || sample->pair_hash == filter->pair_hash);
}

/* Keeps the minimum of each run of equal points. */
static void keep_minima(fit_points_t *points) {
    size_t kept = 0;
    for (size_t i = 0; i < points->count; i++) {
        fit_point_t *last = kept > 0 ? &points->point[kept - 1] : NULL;
        if (last == NULL || fit_compare_points(last, &points->point[i]) != 0)
            points->point[kept++] = points->point[i];
        else if (points->point[i].seconds < last->seconds)
            last->seconds = points->point[i].seconds;
    }
    points->count = kept;
}

static size_t collect(const fit_work_t *work, const fit_filter_t *filter, fit_point_t *point) {
    size_t count = 0;
    for (size_t i = 0; i < work->samples->count; i++) {
        const pto_sample_t *sample = &work->samples->sample[i];
        if (!work->skip[i] && passes(sample, filter)) {
            if (point != NULL)
                point[count] = (fit_point_t){sample->seconds, sample->bytes, sample->procs, sample->messages};
            count++;
        }
    }
    return count;
}

fit_points_t fit_select(fit_work_t *work, fit_filter_t filter) {
    size_t count = work->status == PTO_OK ? collect(work, &filter, NULL) : 0;
    fit_points_t points = {.point = count > 0 ? fit_alloc(work, count, sizeof *points.point) : NULL};
    if (points.point == NULL)
        return points;
    points.count = collect(work, &filter, points.point);
    qsort(points.point, count, sizeof *points.point, fit_compare_points);
    if (work->options->minima)
        keep_minima(&points);
    return points;
}

fit_points_t fit_select_all(fit_work_t *work, pto_benchmark_t benchmark) {
    return fit_select(work, (fit_filter_t){benchmark, PTO_IN_COUNT, PTO_AT_COUNT, 0, 0});
}

fit_points_t fit_select_in(fit_work_t *work, pto_benchmark_t benchmark, pto_space_t space) {
    return fit_select(work, (fit_filter_t){benchmark, fit_where_of_space[space], PTO_AT_COUNT, 0, 0});
}

size_t pto_fit_medians(const pto_samples_t *samples, pto_benchmark_t benchmark, pto_sample_space_t where,
                       pto_sample_level_t place, int32_t procs, size_t capacity, int64_t *bytes,
                       double *seconds) {
    const pto_fit_options_t options = {0};
    fit_work_t work;
    fit_points_t points = {0};
    size_t sizes = 0;
    if (fit_work_init(samples, &options, NULL, &work, NULL) == PTO_OK)
        points = fit_select(&work, (fit_filter_t){benchmark, where, place, procs, 0});
    for (size_t first = 0; first < points.count; sizes++) {
        const fit_points_t size = fit_equal_from(&points, first, fit_compare_points);
        if (sizes < capacity) {
            bytes[sizes] = size.point->bytes;
            seconds[sizes] = fit_median_of(&size, work.scratch);
        }
        first += size.count;
    }
    fit_work_fini(&work);
    return sizes;
}

const char *fit_provenance(const pto_samples_t *samples, int file, const char *key) {
    const pto_provenance_t *line = samples->provenance;
    for (int i = 0; i < samples->provenance_count; i++)
        if (line[i].file == file && strcmp(line[i].key, key) == 0)
            return line[i].value;
    return NULL;
}

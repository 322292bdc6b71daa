/* What the files of libportolan-fit share. */
#ifndef PORTOLAN_FIT_INTERNAL_H
#define PORTOLAN_FIT_INTERNAL_H

#include <math.h>

#include "portolan/fit.h"

/* FIT_PIECE_MAX: of anything that has pieces. */
enum { FIT_COLUMN_MAX = 4, FIT_PIECE_MAX = PTO_COST_RANGE_MAX };

/* The column `level` of copies and kernels by reach. */
static const pto_sample_level_t fit_place_of_reach[PTO_REACH_COUNT] = {
    [PTO_REACH_ON_SOCKET] = PTO_AT_ON_SOCKET,
    [PTO_REACH_OFF_SOCKET] = PTO_AT_OFF_SOCKET,
};

/* A line that misses the middle of its samples by more than this says nothing. */
static const double fit_useless_residual = 0.5;

/* A residual above this is worth a remark in the machine file. */
static const double fit_doubtful_residual = 0.15;

/* Two readings of a clock take about this long, and so do the call and the loop around what is timed. */
static const double fit_grain_s = 5e-8;

/* What an error in a time is relative to: the time itself, but never less than the grain, below which a mean
 * over a loop says more about the loop than about its body. */
static inline double fit_error_scale(double seconds) { return fmax(seconds, fit_grain_s); }

/* One timing, or in minima mode one minimum. */
typedef struct {
    double seconds;
    int64_t bytes;
    int32_t procs;
    int32_t messages;
} fit_point_t;

/* Points rising in procs, then messages, then bytes; owned. */
typedef struct {
    size_t count;
    fit_point_t *point;
} fit_points_t;

/* Which samples: PTO_IN_COUNT, PTO_AT_COUNT, procs 0 and pair_hash 0 stand for any. */
typedef struct {
    pto_benchmark_t benchmark;
    pto_sample_space_t where;
    pto_sample_level_t place;
    int32_t procs;
    uint64_t pair_hash;
} fit_filter_t;

/* A fit under way. */
typedef struct {
    const pto_samples_t *samples;
    const pto_fit_options_t *options;
    uint8_t *skip; /* by sample: of a slow job */
    pto_fit_t *fit;
    pto_error_t *err;
} fit_work_t;

/* Mark the samples of slow jobs and tell of them. Errors: PTO_ERR_MEMORY. */
pto_status_t fit_skip_slow_jobs(fit_work_t *work);

/* The samples that a filter lets through, without slow jobs; in minima mode the least of each (procs,
 * messages, bytes). The caller frees points->point. Errors: PTO_ERR_MEMORY. */
pto_status_t fit_select(const fit_work_t *work, const fit_filter_t *filter, fit_points_t *points);

/* Sizes that differ, of points that rise in bytes. */
size_t fit_size_count(const fit_points_t *points);

/* The part of points that rise in bytes with from_bytes <= bytes < below_bytes; not owned. */
fit_points_t fit_slice(const fit_points_t *points, int64_t from_bytes, int64_t below_bytes);

/* times[i] = sum over j of coefficient[j] * column[i * columns + j], all coefficients 0 or more. */
typedef struct {
    size_t count;
    int columns;
    double *column;
    double *seconds;
} fit_design_t;

typedef struct {
    double value[FIT_COLUMN_MAX];
    double low[FIT_COLUMN_MAX];
    double high[FIT_COLUMN_MAX];
    bool has_interval;         /* else there were no more points than coefficients */
    bool held[FIT_COLUMN_MAX]; /* at 0: the data wanted it negative */
    double residual;           /* median of |fitted - measured| / fit_error_scale(measured) */
} fit_regression_t;

/* Room for `count` rows; both arrays in one allocation. Errors: PTO_ERR_MEMORY. */
pto_status_t fit_design_init(size_t count, int columns, fit_design_t *design, pto_error_t *err);
void fit_design_fini(fit_design_t *design);

/* `plain`: least squares as they are; else robust regression on relative errors, which leaves hiccups out of
 * the design. Equal rows must stand together.
 * Errors: PTO_ERR_MEMORY; PTO_ERR_NOT_FOUND where the columns cannot be told apart. */
pto_status_t fit_regress(fit_design_t *design, bool plain, fit_regression_t *result, pto_error_t *err);

/* alpha and beta of points. The same errors. */
pto_status_t fit_postal(const fit_points_t *points, bool plain, fit_regression_t *result, pto_error_t *err);

/* Median; reorders. 0 of nothing. */
double fit_median(double *value, size_t count);

/* Where protocols change, of points that rise in bytes: how many breaks, at the first sizes of the next
 * pieces. `most` pieces at the most, no more than FIT_PIECE_MAX. Errors: PTO_ERR_MEMORY. */
pto_status_t fit_find_breaks(const fit_points_t *points, int most, int *count, int64_t *below_bytes,
                             pto_error_t *err);

/* The parts of a machine. Each adds its entries; too little data is an error or, with --partial, an entry. */
pto_status_t fit_messages(fit_work_t *work, pto_space_t space, pto_level_t level);
pto_status_t fit_injection(fit_work_t *work, pto_space_t space);
pto_status_t fit_message_rate(fit_work_t *work, pto_space_t space);
pto_status_t fit_copies(fit_work_t *work);
pto_status_t fit_shared_copies(fit_work_t *work);
pto_status_t fit_per_message(fit_work_t *work, pto_space_t space);
pto_status_t fit_reduce(fit_work_t *work, pto_space_t space);
pto_status_t fit_further(fit_work_t *work, pto_space_t space);
pto_status_t fit_remote(fit_work_t *work);
pto_status_t fit_times(fit_work_t *work);
pto_status_t fit_setup(fit_work_t *work);

/* Append to `cost` a row like this one, with the cost of the points in its range. A row that could not be
 * fitted stays unknown. */
pto_status_t fit_cost_row(fit_work_t *work, const char *name, const fit_points_t *points,
                          const pto_cost_row_t *like, pto_cost_table_t *cost);

/* A cost by size in up to PTO_COST_RANGE_MAX rows, from points that rise in bytes; `name` is its key. */
pto_status_t fit_cost(fit_work_t *work, const char *name, const fit_points_t *points, pto_cost_table_t *cost);

/* The robust centre of a benchmark's times, which have no size, under an entry's name; nothing without
 * samples. */
pto_status_t fit_time(fit_work_t *work, pto_benchmark_t benchmark, const char *name, pto_param_t *param);
pto_status_t fit_nccl(fit_work_t *work);

/* A new entry, zeroed but for its name, at the end; NULL where memory is out (the error is set). */
pto_fit_entry_t *fit_entry_add(fit_work_t *work, pto_fit_kind_t kind, const char *format, ...)
    PTO_PRINTF_LIKE(3, 4);

/* Fit alpha and beta of `points` under an entry's name and keep both in `postal`. Too little or useless data
 * is PTO_ERR_NOT_FOUND, or with --partial an absent entry and a postal that stays unknown. */
pto_status_t fit_postal_entry(fit_work_t *work, const char *name, const fit_points_t *points,
                              pto_postal_t *postal);

/* PTO_ERR_NOT_FOUND with the parameter's name, or with --partial an absent entry. */
pto_status_t fit_give_up(fit_work_t *work, const char *name, const char *why);

/* As many digits as a file carries. */
double fit_round(double value);

/* A parameter from column `j` of a regression, rounded to as many digits as a file carries. */
pto_param_t fit_param(const fit_regression_t *regression, int j);

#endif

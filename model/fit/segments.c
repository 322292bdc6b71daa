/* Finds the breaks of a piecewise linear cost, such as the switch points between message protocols: splits
 * the sizes into pieces whose lines leave the smallest residual. Schwarz's Bayesian information criterion
 * limits the number of pieces. The search is exact over the sizes in the data: dynamic programming over all
 * (first, last) sizes of a piece (Bellman 1961, "On the approximation of curves by line segments"). If the
 * data have very many sizes, it runs on some of them, and each break is then moved to its best place among
 * all sizes.
 *
 * Residuals are relative and capped, so that neither large messages nor outliers determine the breaks. Sizes
 * faster than the timing grain are ignored: their times measure the loop as much as the operation. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_fit.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

#include "regress.h"
#include "segments.h"

enum {
    GRID_MAX = 96,        /* sizes per search */
    REPRESENTATIVES = 16, /* quantiles that represent the samples of a size */
    PIECE_SIZES_MIN = 2,  /* a line has two coefficients */
    MOVES = 3,            /* passes over the breaks; the second hardly moves any */
    REWEIGHTS = 5,        /* rounds per line; enough to reject an outlying size */
};

/* A larger deviation counts as this one. */
static const double residual_cap = 0.3;

/* Smaller residuals count as this one, which also keeps the logarithm finite for exact data. */
static const double residual_floor = 1e-4;

/* The samples of one size. */
typedef struct {
    int64_t bytes;
    double count;
    double median;
    double time[REPRESENTATIVES];
    int times;
} size_group_t;

/* The groups that a search uses, and the cost of each piece between them. */
typedef struct {
    int count;
    const size_group_t *group[GRID_MAX];
    double cost[GRID_MAX][GRID_MAX]; /* of the piece first..last */
} grid_t;

static void make_group(const fit_points_t *points, double *scratch, size_group_t *group) {
    const size_t count = points->count;
    group->bytes = points->point->bytes;
    group->count = (double)count;
    group->median = fit_median_of(points, scratch); /* sorts */
    group->times = count < REPRESENTATIVES ? (int)count : REPRESENTATIVES;
    for (int i = 0; i < group->times; i++)
        group->time[i] = gsl_stats_quantile_from_sorted_data(scratch, 1, count, (i + 0.5) / group->times);
}

/* Makes a group of each size whose median is above the timing grain. Returns the number of groups. */
static size_t make_groups(const fit_points_t *points, double *scratch, size_group_t *groups) {
    size_t made = 0;
    for (size_t first = 0; first < points->count;) {
        const fit_points_t size = fit_equal_from(points, first, fit_compare_bytes);
        make_group(&size, scratch, &groups[made]);
        if (groups[made].median > pto_timing_grain_s)
            made++; /* otherwise the next group takes its place */
        first += size.count;
    }
    return made;
}

typedef struct {
    double alpha_s;
    double beta_s_per_byte;
} line_t;

/* Returns a line with neither coefficient negative. */
static line_t weighted_line(const double *x, const double *w, const double *y, size_t count) {
    line_t line;
    double unused;
    gsl_fit_wlinear(x, 1, w, 1, y, 1, count, &line.alpha_s, &line.beta_s_per_byte, &unused, &unused, &unused,
                    &unused);
    if (line.alpha_s < 0) {
        line.alpha_s = 0;
        gsl_fit_wmul(x, 1, w, 1, y, 1, count, &line.beta_s_per_byte, &unused, &unused);
    } else if (!(line.beta_s_per_byte >= 0)) {
        line.alpha_s = gsl_stats_wmean(w, 1, y, 1, count);
        line.beta_s_per_byte = 0;
    }
    return line;
}

/* Bisquare weights of relative errors, over the squared times that make the errors relative. */
static void reweigh(const size_group_t *const *group, size_t count, line_t line, double *w) {
    for (size_t i = 0; i < count; i++) {
        double fitted =
            fmax(line.alpha_s + line.beta_s_per_byte * (double)group[i]->bytes, group[i]->median * 1e-3);
        double error = fabs(group[i]->median / fitted - 1) / (2 * residual_cap);
        double bisquare = error < 1 ? (1 - error * error) * (1 - error * error) : 0;
        w[i] = group[i]->count * fmax(bisquare, 1e-6) / (fitted * fitted);
    }
}

/* Returns the best line through at most GRID_MAX groups. */
static line_t fit_line(const size_group_t *const *group, size_t count) {
    double x[GRID_MAX] = {0}, y[GRID_MAX] = {0}, w[GRID_MAX] = {0};
    for (size_t i = 0; i < count; i++) {
        x[i] = (double)group[i]->bytes;
        y[i] = group[i]->median;
        w[i] = group[i]->count / (y[i] * y[i]);
    }
    line_t line = weighted_line(x, w, y, count);
    for (int round = 0; round < REWEIGHTS && count > 2; round++) {
        reweigh(group, count, line, w);
        line = weighted_line(x, w, y, count);
    }
    return line;
}

/* Sum of capped squared relative errors of a group's samples. */
static double group_cost(const size_group_t *group, line_t line) {
    double fitted = fmax(line.alpha_s + line.beta_s_per_byte * (double)group->bytes, DBL_MIN);
    double sum = 0;
    for (int k = 0; k < group->times; k++) {
        double error = fmin(fabs(group->time[k] / fitted - 1), residual_cap);
        sum += error * error;
    }
    return group->count * (sum / group->times + residual_floor * residual_floor);
}

static double piece_cost(const size_group_t *const *group, size_t count) {
    line_t line = fit_line(group, count);
    double cost = 0;
    for (size_t i = 0; i < count; i++)
        cost += group_cost(group[i], line);
    return cost;
}

static void fill_costs(grid_t *grid) {
    for (int first = 0; first < grid->count; first++)
        for (int last = first + PIECE_SIZES_MIN - 1; last < grid->count; last++)
            grid->cost[first][last] = piece_cost(grid->group + first, (size_t)(last - first + 1));
}

/* Bellman's recursion: best[k][j] is the minimal cost of groups 0..j in k + 1 pieces, and from[k][j] is the
 * first group of the last of these pieces. */
typedef struct {
    double best[FIT_PIECE_MAX][GRID_MAX];
    int from[FIT_PIECE_MAX][GRID_MAX];
} table_t;

static void fill_table(const grid_t *grid, int max_pieces, table_t *table) {
    for (int j = 0; j < grid->count; j++)
        table->best[0][j] = j + 1 >= PIECE_SIZES_MIN ? grid->cost[0][j] : HUGE_VAL;
    for (int k = 1; k < max_pieces; k++) {
        for (int j = 0; j < grid->count; j++) {
            table->best[k][j] = HUGE_VAL;
            for (int first = k * PIECE_SIZES_MIN; first + PIECE_SIZES_MIN - 1 <= j; first++) {
                double cost = table->best[k - 1][first - 1] + grid->cost[first][j];
                if (cost < table->best[k][j]) {
                    table->best[k][j] = cost;
                    table->from[k][j] = first;
                }
            }
        }
    }
}

/* Schwarz: N ln(residual / N) + (parameters) ln N. Each additional piece has two coefficients and a limit;
 * the two of the first piece are in all sums. */
static double criterion(double samples, double cost, int additional) {
    return samples * log(cost / samples) + 3 * additional * log(samples);
}

static int choose_pieces(const grid_t *grid, const table_t *table, int max_pieces) {
    double samples = 0;
    int additional = 0, last = grid->count - 1;
    for (int i = 0; i < grid->count; i++)
        samples += grid->group[i]->count;
    for (int k = 1; k < max_pieces; k++)
        if (criterion(samples, table->best[k][last], k) <
            criterion(samples, table->best[additional][last], additional))
            additional = k;
    return additional + 1;
}

/* Writes the first groups of the pieces after the first; returns the number of pieces. */
static int search(grid_t *grid, int max_pieces, int *first) {
    table_t table = {0};
    fill_costs(grid);
    fill_table(grid, max_pieces, &table);
    int pieces = choose_pieces(grid, &table, max_pieces);
    int last = grid->count - 1;
    for (int k = pieces - 1; k > 0; k--) {
        first[k - 1] = table.from[k][last];
        last = table.from[k][last] - 1;
    }
    return pieces;
}

/* Up to GRID_MAX groups, evenly spaced from `from` to before `past`. Returns their number. */
static size_t pick_evenly(const size_group_t *groups, size_t from, size_t past, const size_group_t **chosen) {
    size_t count = past - from < GRID_MAX ? past - from : GRID_MAX;
    for (size_t i = 0; i < count; i++)
        chosen[i] = &groups[from + (count > 1 ? i * (past - from - 1) / (count - 1) : 0)];
    return count;
}

/* Moves the break between the pieces from..middle and middle..past to where their lines have the lowest total
 * cost over all groups, which is where the accumulated difference (left cost - right cost) is lowest. */
static size_t move_break(const size_group_t *groups, size_t from, size_t middle, size_t past) {
    const size_group_t *some[GRID_MAX] = {NULL};
    size_t count = pick_evenly(groups, from, middle, some);
    line_t left = fit_line(some, count);
    count = pick_evenly(groups, middle, past, some);
    line_t right = fit_line(some, count);
    double sum = 0, least = HUGE_VAL;
    size_t best = middle;
    for (size_t i = from; i + PIECE_SIZES_MIN < past; i++) {
        sum += group_cost(&groups[i], left) - group_cost(&groups[i], right);
        if (i + 1 >= from + PIECE_SIZES_MIN && sum < least) {
            least = sum;
            best = i + 1;
        }
    }
    return best;
}

/* Searches on a grid and, if that skips sizes, moves each break to its best place. Returns their number. */
static int search_all(grid_t *grid, const size_group_t *groups, size_t count, int max_pieces,
                      int64_t *below_bytes) {
    int first[FIT_PIECE_MAX] = {0};
    size_t edge[FIT_PIECE_MAX + 1] = {0};
    grid->count = (int)pick_evenly(groups, 0, count, grid->group);
    int pieces = search(grid, max_pieces, first);
    for (int b = 1; b < pieces; b++)
        edge[b] = (size_t)(grid->group[first[b - 1]] - groups);
    edge[pieces] = count;
    for (int pass = 0; pass < MOVES && count > GRID_MAX; pass++)
        for (int b = 1; b < pieces; b++)
            edge[b] = move_break(groups, edge[b - 1], edge[b], edge[b + 1]);
    for (int b = 1; b < pieces; b++)
        below_bytes[b - 1] = groups[edge[b]].bytes;
    return pieces - 1;
}

pto_status_t fit_find_breaks(const fit_points_t *points, int max_pieces, fit_breaks_t *breaks,
                             pto_error_t *err) {
    *breaks = (fit_breaks_t){0};
    size_group_t *groups = calloc(fit_size_count(points) + 1, sizeof *groups);
    double *scratch = calloc(points->count + 1, sizeof *scratch);
    grid_t *grid = calloc(1, sizeof *grid);
    pto_status_t status = PTO_OK;
    if (groups == NULL || scratch == NULL || grid == NULL) {
        status = pto_error_set(err, PTO_ERR_MEMORY, "out of memory for the search for protocol limits");
    } else {
        size_t group_count = make_groups(points, scratch, groups);
        if (group_count >= 2 * PIECE_SIZES_MIN)
            breaks->count = search_all(grid, groups, group_count, max_pieces, breaks->below_bytes);
    }
    free(groups);
    free(scratch);
    free(grid);
    return status;
}

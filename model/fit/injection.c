/* Fits the injection limit of a node: T = alpha + max(beta s, ppn s / R_N), stored as 1/R_N in seconds per
 * byte (Gropp, Olson, Samfass 2016).
 *
 * alpha and beta are those of one process (messages.*.off_node). A row is limited if ppn / R_N is clearly
 * above beta. On limited rows T is a line in ppn s with the slope 1/R_N. Its intercept is fitted too but not
 * used: many processes that start at once pay more than alpha, and this must not distort the rate. Which
 * rows are limited depends on R_N, so the two are determined alternately.
 *
 * In minima mode the fit follows the paper's Table III: least squares through alpha, over rows whose
 * processes share one message's bytes, with at least one process per GPU. */
#include <math.h>
#include <stdio.h>

#include "parts.h"
#include "select.h"

/* "Clearly above": by more than noise and the error of beta. */
static const double limited_ratio = 1.2;

enum { ITERATIONS_MAX = 10, LIMITED_ROWS_MIN = 4 };

/* The cost of one process, and the rows of several processes that may show a limit. */
typedef struct {
    fit_work_t *work;
    pto_space_t space;
    const char *name;
    double alpha_s;
    double beta_s_per_byte;
    fit_points_t rows; /* of the last protocol */
} injection_t;

static double total_of(const fit_point_t *point) { return (double)point->procs * (double)point->bytes; }

/* Returns whether a row's processes share a message of one of the measured sizes, each with an equal part in
 * whole floats, as in the samples behind the paper's Figure 4 and Table III. */
static bool shares_one_message(const fit_point_t *point, const fit_points_t *alone) {
    int64_t least = point->procs * point->bytes;
    int64_t past = point->procs * (point->bytes + (int64_t)sizeof(float));
    for (size_t i = 0; i < alone->count; i++)
        if (alone->point[i].bytes >= least && alone->point[i].bytes < past)
            return true;
    return false;
}

static bool keep_row(const injection_t *injection, const fit_point_t *point, const pto_cost_row_t *piece,
                     const fit_points_t *alone) {
    return point->bytes >= piece->from_bytes && point->bytes < piece->below_bytes &&
           (!injection->work->options->minima || (point->procs >= injection->work->fit->machine->node.gpus &&
                                                  (alone->count == 0 || shares_one_message(point, alone))));
}

static void select_rows(injection_t *injection, const pto_cost_row_t *piece) {
    pto_sample_space_t space = fit_where_of_space[injection->space];
    const fit_points_t alone =
        fit_select(injection->work, (fit_filter_t){PTO_BENCHMARK_PING_PONG, space, PTO_AT_OFF_NODE, 0, 0});
    injection->rows =
        fit_select(injection->work, (fit_filter_t){PTO_BENCHMARK_INJECTION, space, PTO_AT_OFF_NODE, 0, 0});
    size_t kept = 0;
    for (size_t i = 0; i < injection->rows.count; i++)
        if (keep_row(injection, &injection->rows.point[i], piece, &alone))
            injection->rows.point[kept++] = injection->rows.point[i];
    injection->rows.count = kept;
}

/* An initial rate, from the rows that load the node most. */
static double first_rate(const injection_t *injection) {
    double largest = 0, *value = injection->work->scratch;
    for (size_t i = 0; i < injection->rows.count; i++)
        largest = fmax(largest, total_of(&injection->rows.point[i]));
    size_t count = 0;
    for (size_t i = 0; i < injection->rows.count; i++) {
        const fit_point_t *point = &injection->rows.point[i];
        if (total_of(point) >= largest / 4)
            value[count++] = (point->seconds - injection->alpha_s) / total_of(point);
    }
    return fit_median(value, count);
}

static bool is_limited(const injection_t *injection, const fit_point_t *point, double rate) {
    return injection->work->options->minima ||
           point->procs * rate > limited_ratio * injection->beta_s_per_byte;
}

static size_t count_limited(const injection_t *injection, double rate) {
    size_t count = 0;
    for (size_t i = 0; i < injection->rows.count; i++)
        count += is_limited(injection, &injection->rows.point[i], rate);
    return count;
}

/* A row that is limited according to `rate`. */
typedef struct {
    const injection_t *injection;
    double rate;
} limited_t;

static bool fill_limited(const fit_point_t *point, const void *context, fit_row_t *row) {
    const limited_t *limited = context;
    row->column[0] = total_of(point);
    row->column[1] = 1; /* not used in minima mode, in which the line goes through alpha */
    row->seconds -= limited->injection->work->options->minima ? limited->injection->alpha_s : 0;
    return is_limited(limited->injection, point, limited->rate);
}

/* One iteration: fit the line through the rows that are limited according to `rate`. */
static pto_status_t regress_limited(const injection_t *injection, double rate, fit_regression_t *result) {
    bool minima = injection->work->options->minima;
    const fit_model_t model = {minima ? 1 : 2, fill_limited, &(limited_t){injection, rate}};
    return fit_regress(&injection->rows, &model, minima, result, injection->work->err);
}

static pto_status_t find_rate(const injection_t *injection, double *rate, fit_regression_t *result) {
    pto_status_t status = PTO_OK;
    *rate = first_rate(injection);
    for (int iteration = 0; status == PTO_OK && iteration < ITERATIONS_MAX; iteration++) {
        size_t limited = count_limited(injection, *rate);
        if (limited < LIMITED_ROWS_MIN)
            return PTO_OK;
        status = regress_limited(injection, *rate, result);
        if (status != PTO_OK)
            break;
        *rate = result->value[0];
        if (count_limited(injection, *rate) == limited)
            break;
    }
    return status;
}

static double residual_of(const injection_t *injection, double rate) {
    double *scratch = injection->work->scratch;
    for (size_t i = 0; i < injection->rows.count; i++) {
        const fit_point_t *point = &injection->rows.point[i];
        double per_byte = fmax(injection->beta_s_per_byte, point->procs * rate);
        double fitted = injection->alpha_s + per_byte * (double)point->bytes;
        scratch[i] = fabs(fitted / point->seconds - 1);
    }
    return fit_median(scratch, injection->rows.count);
}

static void not_reached(const injection_t *injection, double rate) {
    int32_t max_procs = fit_max_procs(&injection->rows);
    if (injection->beta_s_per_byte <= 0)
        fit_note(injection->work, injection->name, injection->rows.count,
                 "not reached: the bytes of one process take no time");
    else
        fit_note(injection->work, injection->name, injection->rows.count,
                 "not reached: a byte of each of %d processes takes %.2f times as long as of one alone",
                 (int)max_procs, fmax(1, max_procs * rate / injection->beta_s_per_byte));
}

static void keep_rate(const injection_t *injection, const fit_regression_t *result) {
    pto_fit_entry_t *entry = fit_entry_add(injection->work, PTO_FIT_RATE, injection->name);
    if (entry == NULL)
        return;
    double rate = result->value[0];
    entry->beta_s_per_byte = fit_param(result, 0);
    entry->from_bytes = injection->rows.point[0].bytes;
    entry->sample_count = (int64_t)count_limited(injection, rate);
    entry->residual = residual_of(injection, rate);
    double knee = injection->beta_s_per_byte / rate;
    if (knee <= limited_ratio)
        snprintf(entry->note, sizeof entry->note, "one process reaches the limit");
    else
        snprintf(entry->note, sizeof entry->note, "reached by %.1f processes", knee);
    injection->work->fit->machine->injection_s_per_byte[injection->space] = entry->beta_s_per_byte;
}

/* Returns whether the limit is clear and statistically significant. */
static bool is_significant(const injection_t *injection, const fit_regression_t *result) {
    int32_t max_procs = fit_max_procs(&injection->rows);
    return max_procs * result->value[0] > limited_ratio * injection->beta_s_per_byte &&
           max_procs * result->low[0] > injection->beta_s_per_byte;
}

static void fit_limit(const injection_t *injection) {
    double rate;
    fit_regression_t result = {0};
    if (!fit_succeeded(injection->work, find_rate(injection, &rate, &result), injection->name))
        return;
    if (count_limited(injection, rate) < LIMITED_ROWS_MIN || !is_significant(injection, &result))
        not_reached(injection, rate);
    else
        keep_rate(injection, &result);
}

static size_t count_together(const fit_points_t *rows) {
    size_t count = 0;
    for (size_t i = 0; i < rows->count; i++)
        count += rows->point[i].procs > 1;
    return count;
}

/* Uses the piece with the largest messages of several processes: small ones never reach a limit. */
static void fit_last_piece(injection_t *injection, const pto_cost_table_t *cost) {
    for (int k = cost->count - 1; k >= 0; k--) {
        const pto_cost_row_t *piece = &cost->row[k];
        select_rows(injection, piece);
        if (count_together(&injection->rows) < LIMITED_ROWS_MIN)
            continue;
        injection->alpha_s = piece->postal.alpha_s.value;
        injection->beta_s_per_byte = piece->postal.beta_s_per_byte.value;
        fit_limit(injection);
        return;
    }
    fit_give_up(injection->work, injection->name, "too few rows of two or more processes");
}

void fit_injection(fit_work_t *work, pto_space_t space) {
    const pto_cost_table_t *cost = &work->fit->machine->messages[space][PTO_LEVEL_OFF_NODE];
    char name[PTO_FIT_NAME_MAX];
    snprintf(name, sizeof name, "injection.%s", pto_space_name(space));
    injection_t injection = {.work = work, .space = space, .name = name};
    const fit_points_t all = fit_select(
        work, (fit_filter_t){PTO_BENCHMARK_INJECTION, fit_where_of_space[space], PTO_AT_OFF_NODE, 0, 0});
    if (all.count == 0)
        return;
    if (cost->count == 0)
        fit_give_up(work, name, "needs the cost of one process (ping_pong off_node, or procs 1)");
    else
        fit_last_piece(&injection, cost);
}

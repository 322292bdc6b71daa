/* Fits kernels that access another GPU's memory. A kernel that moves s bytes takes
 *
 *     T(0) = L,    T(s) = L + alpha + beta s,
 *
 * where L is the time of an empty kernel: its launch and the wait for its end. Rows of 0 bytes are measured
 * too, so alpha is a coefficient of the same regression, with its own interval, rather than a difference of
 * two medians. The fit uses the 16-byte accesses of the largest number of thread blocks. The rates of other
 * widths and numbers of blocks are only reported. */
#include <stdio.h>
#include <string.h>

#include "parts.h"
#include "select.h"

enum { COLUMN_LAUNCH, COLUMN_ALPHA, COLUMN_BETA, COLUMN_COUNT };
enum { ALL_COLUMN_START, ALL_COLUMN_BYTES, ALL_COLUMN_COUNT };

/* Accesses by width; the last one is the widest, which is fitted. */
static const struct {
    pto_benchmark_t benchmark[3];
} widths[PTO_REMOTE_COUNT] = {
    [PTO_REMOTE_LOAD] = {{PTO_BENCHMARK_REMOTE_LOAD_4, PTO_BENCHMARK_REMOTE_LOAD_8,
                          PTO_BENCHMARK_REMOTE_LOAD_16}},
    [PTO_REMOTE_STORE] = {{PTO_BENCHMARK_REMOTE_STORE_4, PTO_BENCHMARK_REMOTE_STORE_8,
                           PTO_BENCHMARK_REMOTE_STORE_16}},
};

/* --- one GPU to another -------------------------------------------------------------------------------- */

static bool fill_access(const fit_point_t *point, const void *context, fit_row_t *row) {
    (void)context;
    row->column[COLUMN_LAUNCH] = 1;
    row->column[COLUMN_ALPHA] = point->bytes > 0;
    row->column[COLUMN_BETA] = (double)point->bytes;
    return true;
}

/* Fits the points of one number of thread blocks. */
static pto_status_t fit_access(fit_work_t *work, const char *name, const fit_points_t *points,
                               pto_postal_t *postal) {
    fit_regression_t line;
    if (points->point[0].bytes > 0)
        return fit_give_up(work, name, "without samples of 0 bytes the launch can't be told from the access");
    if (fit_size_count(points) < 3)
        return fit_give_up(work, name, "samples of fewer than two sizes above 0 are too little");
    pto_status_t status;
    if (!fit_line(work, name, points, &(fit_model_t){COLUMN_COUNT, fill_access, NULL},
                  "useless samples: half of them are far from any line", &line, &status))
        return status;
    if (line.held[COLUMN_ALPHA] && line.held[COLUMN_BETA])
        return fit_give_up(work, name, "useless samples: bytes cost nothing in them");
    return fit_keep_postal(work, name, points, &line, COLUMN_ALPHA, "", postal);
}

/* --- rates for the report ------------------------------------------------------------------------------- */

/* The rows that are compared. */
typedef struct {
    fit_work_t *work;
    pto_sample_level_t place;
    double *scratch; /* room for all samples */
} compared_t;

/* Bytes per second beyond the launch, at the largest measured size; 0 if there are no data. */
static pto_status_t find_rate(const compared_t *compared, pto_benchmark_t benchmark, int32_t procs,
                              double *bytes_per_s) {
    fit_points_t points;
    *bytes_per_s = 0;
    pto_status_t status = fit_select(
        compared->work, &(fit_filter_t){benchmark, PTO_IN_COUNT, compared->place, procs, 0}, &points);
    int64_t bytes = points.count > 0 ? points.point[points.count - 1].bytes : 0;
    double seconds = fit_median_at(&points, 0, bytes, compared->scratch);
    double launch_s = fit_median_at(&points, 0, 0, compared->scratch);
    if (bytes > 0 && seconds > launch_s)
        *bytes_per_s = (double)bytes / (seconds - launch_s);
    return status;
}

/* A list of rates for a report. */
typedef struct {
    char text[PTO_FIT_NOTE_MAX];
    int count;
} rates_t;

/* Append the rate that a benchmark reached, if it was measured. `opening` precedes the first one. */
static pto_status_t add_rate(const compared_t *compared, pto_benchmark_t benchmark, int32_t procs,
                             const char *opening, const char *label, rates_t *rates) {
    double bytes_per_s;
    size_t length = strlen(rates->text);
    pto_status_t status = find_rate(compared, benchmark, procs, &bytes_per_s);
    if (bytes_per_s > 0)
        snprintf(rates->text + length, sizeof rates->text - length, "%s%s %.3g GB/s",
                 rates->count++ > 0 ? ", " : opening, label, 1e-9 * bytes_per_s);
    return status;
}

static pto_status_t report(fit_work_t *work, const char *name, const char *by, const rates_t *rates) {
    char what[PTO_FIT_NAME_MAX];
    snprintf(what, sizeof what, "%.48s by %s", name, by);
    return rates->count > 1 ? fit_note(work, what, 0, "%s", rates->text) : PTO_OK;
}

static pto_status_t report_widths(fit_work_t *work, const compared_t *compared, pto_remote_t remote,
                                  int32_t procs, const char *name) {
    static const char *const labels[] = {"4 B a thread", "8 B", "16 B", "every second 4 B"};
    const pto_benchmark_t benchmarks[] = {widths[remote].benchmark[0], widths[remote].benchmark[1],
                                          widths[remote].benchmark[2], PTO_BENCHMARK_REMOTE_STORE_STRIDED};
    rates_t rates = {.count = 0};
    pto_status_t status = PTO_OK;
    for (int i = 0; i < (remote == PTO_REMOTE_STORE ? 4 : 3) && status == PTO_OK; i++)
        status = add_rate(compared, benchmarks[i], procs, "", labels[i], &rates);
    return status == PTO_OK ? report(work, name, "width", &rates) : status;
}

/* `points` are those of the fitted width, for all numbers of blocks. */
static pto_status_t report_blocks(fit_work_t *work, const compared_t *compared, const fit_points_t *points,
                                  pto_benchmark_t benchmark, const char *name) {
    rates_t rates = {.count = 0};
    pto_status_t status = PTO_OK;
    for (size_t i = 0; i < points->count && status == PTO_OK; i++) {
        int32_t procs = points->point[i].procs;
        char label[16];
        snprintf(label, sizeof label, "%d", (int)procs);
        if (i == 0 || points->point[i - 1].procs != procs)
            status = add_rate(compared, benchmark, procs, "blocks of threads: ", label, &rates);
    }
    return status == PTO_OK ? report(work, name, "blocks", &rates) : status;
}

static pto_status_t report_others(fit_work_t *work, pto_remote_t remote, pto_reach_t reach,
                                  const fit_points_t *points, const char *name) {
    compared_t compared = {work, fit_place_of_reach[reach],
                           fit_alloc(work, work->samples->count, sizeof(double))};
    if (compared.scratch == NULL)
        return PTO_ERR_MEMORY;
    pto_status_t status = report_widths(work, &compared, remote, fit_max_procs(points), name);
    return status == PTO_OK ? report_blocks(work, &compared, points, widths[remote].benchmark[2], name)
                            : status;
}

static pto_status_t fit_reach(fit_work_t *work, pto_remote_t remote, pto_reach_t reach) {
    fit_points_t points;
    char key[PTO_PARAM_KEY_MAX];
    pto_postal_t *postal = &work->fit->machine->remote[remote][reach];
    const char *name = fit_key(work, postal, key);
    pto_status_t status = fit_select(
        work, &(fit_filter_t){widths[remote].benchmark[2], PTO_IN_COUNT, fit_place_of_reach[reach], 0, 0},
        &points);
    fit_points_t widest = fit_with_max_procs(&points);
    if (points.count == 0)
        return status;
    status = fit_access(work, name, &widest, postal);
    return status == PTO_OK ? report_others(work, remote, reach, &points, name) : status;
}

/* --- all GPUs to all others ---------------------------------------------------------------------------- */

/* T = a + r (n - 1) s, where r is the time per byte that leaves one of n GPUs. */
static bool fill_all(const fit_point_t *point, const void *context, fit_row_t *row) {
    (void)context;
    row->column[ALL_COLUMN_START] = 1;
    row->column[ALL_COLUMN_BYTES] = (double)point->bytes * (point->procs - 1);
    return true;
}

static pto_status_t keep_all(fit_work_t *work, const char *name, const fit_points_t *points,
                             const fit_regression_t *line) {
    const pto_postal_t *store = pto_machine_remote(work->fit->machine, PTO_REMOTE_STORE, PTO_REACH_ON_SOCKET);
    char than[64] = "";
    if (store != NULL && store->beta_s_per_byte.value > 0)
        snprintf(than, sizeof than, "; %.2f times what a store to one other costs",
                 line->value[ALL_COLUMN_BYTES] / store->beta_s_per_byte.value);
    return fit_keep_param(work, PTO_FIT_RATE, name, fit_param(line, ALL_COLUMN_BYTES), line,
                          &work->fit->machine->remote_all_s_per_byte, "that leaves one of %d GPUs%s",
                          (int)points->point[0].procs, than);
}

static pto_status_t fit_all_of(fit_work_t *work, const fit_points_t *points) {
    static const char name[] = "remote.all_s_per_byte";
    static const char useless[] = "useless samples: no line shows what a byte costs";
    fit_regression_t line;
    pto_status_t status;
    if (points->point[0].procs < 2 || fit_size_count(points) < 2)
        return fit_give_up(work, name, "samples of two sizes and two GPUs are the least");
    const fit_model_t model = {ALL_COLUMN_COUNT, fill_all, NULL};
    if (!fit_line(work, name, points, &model, useless, &line, &status))
        return status;
    return line.held[ALL_COLUMN_BYTES] ? fit_give_up(work, name, useless)
                                       : keep_all(work, name, points, &line);
}

static pto_status_t fit_all_pairs(fit_work_t *work) {
    fit_points_t points;
    pto_status_t status = fit_select_all(work, PTO_BENCHMARK_REMOTE_STORE_ALL, &points);
    fit_points_t max_procs = fit_with_max_procs(&points);
    return points.count > 0 ? fit_all_of(work, &max_procs) : status;
}

pto_status_t fit_remote(fit_work_t *work) {
    pto_status_t status = PTO_OK;
    for (int remote = 0; remote < PTO_REMOTE_COUNT; remote++)
        for (int reach = 0; status == PTO_OK && reach < PTO_REACH_COUNT; reach++)
            status = fit_reach(work, (pto_remote_t)remote, (pto_reach_t)reach);
    return status == PTO_OK ? fit_all_pairs(work) : status;
}

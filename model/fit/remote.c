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

static bool fill_access(const fit_point_t *point, const void *context, fit_row_t *row) {
    (void)context;
    row->column[COLUMN_LAUNCH] = 1;
    row->column[COLUMN_ALPHA] = point->bytes > 0;
    row->column[COLUMN_BETA] = (double)point->bytes;
    return true;
}

/* Fits the points of one number of thread blocks. */
static void fit_access(fit_work_t *work, const char *name, const fit_points_t *points, pto_postal_t *postal) {
    fit_regression_t line;
    const char *lacking = NULL;
    if (points->point[0].bytes > 0)
        lacking = "without samples of 0 bytes the launch can't be told from the access";
    else if (fit_size_count(points) < 3)
        lacking = "samples of fewer than two sizes above 0 are too little";
    if (lacking)
        fit_give_up(work, name, lacking);
    if (lacking || !fit_line(work, name, points, &(fit_model_t){COLUMN_COUNT, fill_access, NULL},
                             "useless samples: half of them are far from any line", &line))
        return;
    if (line.held[COLUMN_ALPHA] && line.held[COLUMN_BETA])
        fit_give_up(work, name, "useless samples: bytes cost nothing in them");
    else
        fit_keep_postal(work, name, points, &line, COLUMN_ALPHA, "", postal);
}

/* Returns bytes per second without the launch, at the largest measured size; 0 if there are no samples. */
static double find_rate(fit_work_t *work, pto_benchmark_t benchmark, pto_reach_t reach, int32_t procs) {
    const fit_points_t points =
        fit_select(work, (fit_filter_t){benchmark, PTO_IN_COUNT, fit_place_of_reach[reach], procs, 0});
    int64_t bytes = points.count > 0 ? points.point[points.count - 1].bytes : 0;
    double seconds = fit_median_at(&points, 0, bytes, work->scratch);
    double launch_s = fit_median_at(&points, 0, 0, work->scratch);
    return bytes > 0 && seconds > launch_s ? (double)bytes / (seconds - launch_s) : 0;
}

/* A list of rates for a report. */
typedef struct {
    char text[PTO_FIT_NOTE_MAX];
    int count;
} rates_t;

/* Append a rate that was measured. `opening` precedes the first one. */
static void add_rate(double bytes_per_s, const char *opening, const char *label, rates_t *rates) {
    size_t length = strlen(rates->text);
    if (bytes_per_s > 0)
        snprintf(rates->text + length, sizeof rates->text - length, "%s%s %.3g GB/s",
                 rates->count++ > 0 ? ", " : opening, label, 1e-9 * bytes_per_s);
}

static void report(fit_work_t *work, const char *name, const char *by, const rates_t *rates) {
    char what[PTO_FIT_NAME_MAX];
    snprintf(what, sizeof what, "%.48s by %s", name, by);
    if (rates->count > 1)
        fit_note(work, what, 0, "%s", rates->text);
}

static void report_widths(fit_work_t *work, pto_remote_t remote, pto_reach_t reach, int32_t procs,
                          const char *name) {
    static const char *const labels[] = {"4 B a thread", "8 B", "16 B", "every second 4 B"};
    const pto_benchmark_t benchmarks[] = {widths[remote].benchmark[0], widths[remote].benchmark[1],
                                          widths[remote].benchmark[2], PTO_BENCHMARK_REMOTE_STORE_STRIDED};
    rates_t rates = {.count = 0};
    for (int i = 0; i < (remote == PTO_REMOTE_STORE ? 4 : 3); i++)
        add_rate(find_rate(work, benchmarks[i], reach, procs), "", labels[i], &rates);
    report(work, name, "width", &rates);
}

/* `points` are those of the fitted width, for all numbers of blocks. */
static void report_blocks(fit_work_t *work, pto_remote_t remote, pto_reach_t reach,
                          const fit_points_t *points, const char *name) {
    rates_t rates = {.count = 0};
    for (size_t i = 0; i < points->count; i++) {
        int32_t procs = points->point[i].procs;
        char label[16];
        snprintf(label, sizeof label, "%d", (int)procs);
        if (i == 0 || points->point[i - 1].procs != procs)
            add_rate(find_rate(work, widths[remote].benchmark[2], reach, procs), "blocks of threads: ", label,
                     &rates);
    }
    report(work, name, "blocks", &rates);
}

static void fit_reach(fit_work_t *work, pto_remote_t remote, pto_reach_t reach) {
    pto_postal_t *postal = &work->fit->machine->remote[remote][reach];
    const char *name = fit_key(work, postal);
    const fit_points_t points = fit_select(
        work, (fit_filter_t){widths[remote].benchmark[2], PTO_IN_COUNT, fit_place_of_reach[reach], 0, 0});
    const fit_points_t widest = fit_with_max_procs(&points);
    if (points.count == 0)
        return;
    fit_access(work, name, &widest, postal);
    report_widths(work, remote, reach, fit_max_procs(&points), name);
    report_blocks(work, remote, reach, &points, name);
}

/* T = a + r (n - 1) s, where r is the time per byte that leaves one of n GPUs. */
static bool fill_all(const fit_point_t *point, const void *context, fit_row_t *row) {
    (void)context;
    row->column[ALL_COLUMN_START] = 1;
    row->column[ALL_COLUMN_BYTES] = (double)point->bytes * (point->procs - 1);
    return true;
}

static void keep_all(fit_work_t *work, const char *name, const fit_points_t *points,
                     const fit_regression_t *line) {
    const pto_postal_t *store = pto_machine_remote(work->fit->machine, PTO_REMOTE_STORE, PTO_REACH_ON_SOCKET);
    char than[64] = "";
    if (store != NULL && store->beta_s_per_byte.value > 0)
        snprintf(than, sizeof than, "; %.2f times what a store to one other costs",
                 line->value[ALL_COLUMN_BYTES] / store->beta_s_per_byte.value);
    fit_keep_param(work, PTO_FIT_RATE, name, fit_param(line, ALL_COLUMN_BYTES), line,
                   &work->fit->machine->remote_all_s_per_byte, "that leaves one of %d GPUs%s",
                   (int)points->point[0].procs, than);
}

static void fit_all_pairs(fit_work_t *work) {
    static const char name[] = "remote.all_s_per_byte";
    static const char useless[] = "useless samples: no line shows what a byte costs";
    static const fit_model_t model = {ALL_COLUMN_COUNT, fill_all, NULL};
    fit_regression_t line;
    const fit_points_t all = fit_select_all(work, PTO_BENCHMARK_REMOTE_STORE_ALL);
    const fit_points_t points = fit_with_max_procs(&all);
    if (points.count == 0)
        return;
    if (points.point[0].procs < 2 || fit_size_count(&points) < 2)
        fit_give_up(work, name, "samples of two sizes and two GPUs are the least");
    else if (!fit_line(work, name, &points, &model, useless, &line))
        return;
    else if (line.held[ALL_COLUMN_BYTES])
        fit_give_up(work, name, useless);
    else
        keep_all(work, name, &points, &line);
}

void fit_remote(fit_work_t *work) {
    for (int remote = 0; remote < PTO_REMOTE_COUNT; remote++)
        for (int reach = 0; reach < PTO_REACH_COUNT; reach++)
            fit_reach(work, (pto_remote_t)remote, (pto_reach_t)reach);
    fit_all_pairs(work);
}

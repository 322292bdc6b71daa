/* Fits cost tables: an alpha and a beta for each range of sizes (a row), with given or fitted limits. */
#include <stdio.h>

#include "parts.h"
#include "segments.h"

bool fit_cost_row(fit_work_t *work, const char *name, const fit_points_t *points, const pto_cost_row_t *like,
                  pto_cost_table_t *cost) {
    int before = cost->count;
    pto_cost_row_t *row = pto_cost_add(cost);
    if (row == NULL) {
        fit_fail(work, pto_error_set(work->err, PTO_ERR_MEMORY, "out of memory for %s", name));
        return false;
    }
    *row = *like;
    fit_points_t own = fit_slice(points, row->from_bytes, row->below_bytes);
    fit_postal_entry(work, name, &own, &row->postal);
    if (work->status == PTO_OK)
        work->fit->entry[work->fit->entry_count - 1].below_bytes = row->below_bytes;
    bool known = work->status == PTO_OK && pto_postal_known(&row->postal);
    if (!known)
        pto_cost_truncate(cost, before);
    return known;
}

/* A missing row would be priced by a neighboring one, so all rows are kept or none. */
void fit_rows(fit_work_t *work, const fit_points_t *points, const fit_breaks_t *breaks,
              const pto_cost_row_t *like, fit_row_name_t name, pto_cost_table_t *cost) {
    const char *key = fit_key(work, cost);
    int before = cost->count;
    bool known = true;
    for (int k = 0; known && k <= breaks->count; k++) {
        char row_name[PTO_FIT_NAME_MAX];
        pto_cost_row_t row = *like;
        row.from_bytes = k > 0 ? breaks->below_bytes[k - 1] : 0;
        row.below_bytes = k < breaks->count ? breaks->below_bytes[k] : INT64_MAX;
        name(key, k, &row, row_name);
        known = fit_cost_row(work, row_name, points, &row, cost);
    }
    if (!known)
        pto_cost_truncate(cost, before);
}

void fit_name_range(const char *key, int k, pto_cost_row_t *row, char name[PTO_FIT_NAME_MAX]) {
    (void)k;
    int end = snprintf(name, PTO_FIT_NAME_MAX, "%.40s", key);
    if (row->below_bytes != INT64_MAX)
        snprintf(name + end, PTO_FIT_NAME_MAX - (size_t)end, " below %lld", (long long)row->below_bytes);
    else if (row->from_bytes > 0)
        snprintf(name + end, PTO_FIT_NAME_MAX - (size_t)end, " from %lld", (long long)row->from_bytes);
}

void fit_name_row(const char *key, int k, pto_cost_row_t *row, char name[PTO_FIT_NAME_MAX]) {
    char row_name[PTO_COST_ROW_MAX];
    (void)k;
    pto_cost_row_name(row, row_name);
    snprintf(name, PTO_FIT_NAME_MAX, "%.20s.%.40s", key, row_name);
}

fit_breaks_t fit_breaks_of(fit_work_t *work, const fit_points_t *points, int max_pieces) {
    fit_breaks_t breaks;
    fit_fail(work, fit_find_breaks(points, max_pieces, &breaks, work->err));
    return breaks;
}

void fit_cost(fit_work_t *work, const fit_points_t *points, pto_cost_table_t *cost) {
    const fit_breaks_t breaks = fit_breaks_of(work, points, FIT_PIECE_MAX);
    const pto_cost_row_t like = {.below_bytes = INT64_MAX};
    fit_rows(work, points, &breaks, &like, fit_name_range, cost);
}

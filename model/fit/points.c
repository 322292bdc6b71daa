/* The points that a line is fitted to: counting and slicing. */
#include "points.h"

int fit_compare(int64_t a, int64_t b) { return (a > b) - (a < b); }

int fit_compare_points(const void *a, const void *b) {
    const fit_point_t *left = a, *right = b;
    int order = fit_compare(left->procs, right->procs);
    order = order != 0 ? order : fit_compare(left->messages, right->messages);
    return order != 0 ? order : fit_compare(left->bytes, right->bytes);
}

int fit_compare_bytes(const void *a, const void *b) {
    const fit_point_t *left = a, *right = b;
    return fit_compare(left->bytes, right->bytes);
}

/* Points [first, past), which may be none. */
static fit_points_t part_of(const fit_points_t *points, size_t first, size_t past) {
    return first < past ? (fit_points_t){past - first, points->point + first} : (fit_points_t){0, NULL};
}

fit_points_t fit_equal_from(const fit_points_t *points, size_t first,
                            int (*compare)(const void *, const void *)) {
    size_t past = first;
    while (past < points->count && compare(&points->point[first], &points->point[past]) == 0)
        past++;
    return part_of(points, first, past);
}

fit_points_t fit_slice(const fit_points_t *points, int64_t from_bytes, int64_t below_bytes) {
    size_t first = 0;
    while (first < points->count && points->point[first].bytes < from_bytes)
        first++;
    size_t past = first;
    while (past < points->count && points->point[past].bytes < below_bytes)
        past++;
    return part_of(points, first, past);
}

int32_t fit_max_procs(const fit_points_t *points) {
    return points->count > 0 ? points->point[points->count - 1].procs : 0;
}

fit_points_t fit_with_max_procs(const fit_points_t *points) {
    size_t first = 0;
    while (first < points->count && points->point[first].procs < fit_max_procs(points))
        first++;
    return part_of(points, first, points->count);
}

size_t fit_size_count(const fit_points_t *points) {
    size_t sizes = 0;
    for (size_t i = 0; i < points->count; i++)
        sizes += i == 0 || points->point[i].bytes != points->point[i - 1].bytes;
    return sizes;
}

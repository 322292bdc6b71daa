/* Byte counts on a grid of processes, by arithmetic: between neighbors (stencil), or among the processes of a
 * line along one dimension (groups), as in Faraji's thesis (section 6.4.1). Also properties of all kinds of
 * counts. Processes are numbered in row-major order. The functions named _one ignore the second pattern, in
 * host memory (counts->host). */
#include "base/checked.h"
#include "base/text.h"
#include "scenario/check.h"

static bool has_grid(const pto_counts_t *counts) {
    return counts->kind == PTO_COUNTS_STENCIL || counts->kind == PTO_COUNTS_GROUPS;
}

/* Returns how often two processes, whose coordinates differ by `difference`, are neighbors along a dimension:
 * 0 or 1, but 2 in a wrapped dimension of size 2. */
static int64_t adjacency(const pto_grid_t *grid, int d, int64_t difference) {
    int64_t distance = difference < 0 ? -difference : difference;
    return (distance == 1) + (grid->wrap[d] && distance == grid->dim[d] - 1);
}

/* Removes the coordinate of the last dimension, of this size, from both numbers. Returns the difference of
 * the two coordinates. */
static int64_t take_difference(int64_t size, int64_t *from, int64_t *to) {
    int64_t difference = *to % size - *from % size;
    *from /= size;
    *to /= size;
    return difference;
}

/* Returns how many messages of equal size a process sends to another one: 0 unless they are neighbors. */
static int64_t stencil_messages(const pto_grid_t *grid, int64_t source, int64_t destination) {
    int64_t messages = 0;
    for (int d = grid->dim_count - 1; d >= 0; d--) {
        int64_t difference = take_difference(grid->dim[d], &source, &destination);
        if (difference == 0)
            continue;
        if (messages > 0) /* they differ in two dimensions */
            return 0;
        messages = adjacency(grid, d, difference) * grid->weight[d];
        if (messages == 0)
            return 0;
    }
    return messages;
}

static bool are_on_one_line(const pto_grid_t *grid, int64_t source, int64_t destination) {
    for (int d = grid->dim_count - 1; d >= 0; d--)
        if (take_difference(grid->dim[d], &source, &destination) != 0 && d != grid->along)
            return false;
    return true;
}

int64_t pto_pattern_bytes(const pto_counts_t *counts, int64_t bytes, int64_t source, int64_t destination) {
    if (counts->kind == PTO_COUNTS_STENCIL)
        return bytes * stencil_messages(&counts->grid, source, destination);
    return are_on_one_line(&counts->grid, source, destination) ? bytes : 0;
}

/* Lists the neighbors along dimension d, as if it wrapped. `stride`: the difference of the numbers of two
 * neighbors. Returns how many it lists. */
static int64_t neighbors(const pto_grid_t *grid, int d, int64_t stride, int64_t source, int64_t *peer) {
    int64_t size = grid->dim[d], coordinate = source / stride % size, count = 0;
    int64_t before = coordinate > 0 ? -1 : size - 1, after = coordinate < size - 1 ? 1 : 1 - size;
    if (size > 1)
        peer[count++] = source + before * stride;
    if (size > 2)
        peer[count++] = source + after * stride;
    return count;
}

/* Lists the processes of the line along dimension d that contains `source`. Returns how many it lists. */
static int64_t line_members(const pto_grid_t *grid, int d, int64_t stride, int64_t source, int64_t *peer) {
    int64_t size = grid->dim[d], first = source - source / stride % size * stride;
    for (int64_t k = 0; k < size; k++)
        peer[k] = first + k * stride;
    return size;
}

int64_t pto_counts_peers(const pto_counts_t *counts, int64_t count, int64_t source, int64_t *peer) {
    const pto_grid_t *grid = &counts->grid;
    int64_t found = 0, stride = 1;
    if (!has_grid(counts)) {
        for (int64_t owner = 0; owner < count; owner++)
            peer[owner] = owner;
        return count;
    }
    for (int d = grid->dim_count - 1; d >= 0; d--) {
        if (counts->kind == PTO_COUNTS_STENCIL)
            found += neighbors(grid, d, stride, source, peer + found);
        else if (d == grid->along)
            found = line_members(grid, d, stride, source, peer);
        stride *= grid->dim[d];
    }
    return found;
}

int64_t pto_counts_partners(const pto_counts_t *counts, int64_t count) {
    if (counts->kind == PTO_COUNTS_STENCIL)
        return 2 * counts->grid.dim_count;
    return counts->kind == PTO_COUNTS_GROUPS ? counts->grid.dim[counts->grid.along] : count;
}

/* Returns the maximum of stencil_messages. */
static int64_t max_messages(const pto_grid_t *grid) {
    int64_t max = 0;
    for (int d = 0; d < grid->dim_count; d++) {
        int64_t messages = grid->dim[d] > 1 ? adjacency(grid, d, 1) * grid->weight[d] : 0;
        max = messages > max ? messages : max;
    }
    return max;
}

/* Returns whether the counts are listed, rather than given by a rule. */
static bool are_listed(const pto_counts_t *counts) {
    return counts->kind == PTO_COUNTS_MATRIX || counts->kind == PTO_COUNTS_LIST;
}

int64_t pto_counts_values(const pto_counts_t *counts) {
    if (!are_listed(counts))
        return 0;
    return counts->kind == PTO_COUNTS_MATRIX ? counts->order * counts->order : counts->order;
}

static int64_t largest_of_one(const pto_counts_t *counts, int64_t bytes) {
    int64_t values = pto_counts_values(counts), largest = are_listed(counts) ? 0 : bytes;
    for (int64_t i = 0; i < values; i++)
        largest = counts->matrix[i] > largest ? counts->matrix[i] : largest;
    if (counts->kind == PTO_COUNTS_SKEW)
        return pto_saturating_product(largest, 2);
    return counts->kind == PTO_COUNTS_STENCIL ? pto_saturating_product(largest, max_messages(&counts->grid))
                                              : largest;
}

int64_t pto_counts_largest(const pto_counts_t *counts, int64_t bytes) {
    int64_t largest = largest_of_one(counts, bytes);
    int64_t host_largest = counts->host ? largest_of_one(counts->host, bytes) : 0;
    return host_largest > largest ? host_largest : largest;
}

bool pto_counts_differ(const pto_counts_t *counts) {
    return counts->kind != PTO_COUNTS_EQUAL || counts->host;
}

bool pto_counts_scale(const pto_counts_t *counts) {
    return !are_listed(counts) || (counts->host && pto_counts_scale(counts->host));
}

static int64_t order_of_one(const pto_counts_t *counts) {
    int64_t order = 1;
    if (!has_grid(counts))
        return are_listed(counts) ? counts->order : 0;
    for (int d = 0; d < counts->grid.dim_count; d++)
        order *= counts->grid.dim[d];
    return order;
}

int64_t pto_counts_order(const pto_counts_t *counts) {
    int64_t order = order_of_one(counts);
    return order == 0 && counts->host ? order_of_one(counts->host) : order;
}

static pto_status_t check_list(const pto_counts_t *counts, pto_error_t *err) {
    int64_t total = 0;
    for (int64_t i = 0; i < counts->order; i++) {
        if (counts->matrix[i] < 0)
            return pto_error_set(err, PTO_ERR_RANGE, "a number of bytes cannot be negative");
        if (!pto_add(total, counts->matrix[i], &total))
            return pto_error_set(err, PTO_ERR_RANGE, "the list sums to more than 9223372036854775807 bytes");
    }
    return PTO_OK;
}

static pto_status_t check_one(const pto_counts_t *counts, pto_error_t *err) {
    const pto_grid_t *grid = &counts->grid;
    int64_t order = 1;
    if (counts->kind == PTO_COUNTS_LIST)
        return check_list(counts, err);
    if (counts->kind == PTO_COUNTS_SKEW && !(counts->skew >= 0 && counts->skew <= 1))
        return pto_error_set(err, PTO_ERR_RANGE, "skew must be in [0, 1], not %g", counts->skew);
    if (!has_grid(counts))
        return PTO_OK;
    if (grid->dim_count < 1 || grid->dim_count > PTO_GRID_DIMS_MAX)
        return pto_error_set(err, PTO_ERR_RANGE, "dims: expected 1 to %d sizes, not %d", PTO_GRID_DIMS_MAX,
                             grid->dim_count);
    for (int d = 0; d < grid->dim_count; d++) {
        if (grid->dim[d] < 1 || !pto_multiply(order, grid->dim[d], &order))
            return pto_error_set(err, PTO_ERR_RANGE, "dims: %lld processes in dimension %d",
                                 (long long)grid->dim[d], d);
        if (grid->weight[d] < 0 || grid->weight[d] > PTO_GRID_WEIGHT_MAX)
            return pto_error_set(err, PTO_ERR_RANGE, "weights: %lld is not between 0 and %d",
                                 (long long)grid->weight[d], PTO_GRID_WEIGHT_MAX);
    }
    if (grid->along < 0 || grid->along >= grid->dim_count)
        return pto_error_set(err, PTO_ERR_RANGE, "along: there is no dimension %d, only 0 to %d", grid->along,
                             grid->dim_count - 1);
    return PTO_OK;
}

pto_status_t pto_counts_check(const pto_counts_t *counts, pto_error_t *err) {
    pto_status_t status = check_one(counts, err);
    if (status != PTO_OK || !counts->host)
        return status;
    if (counts->host->host)
        return pto_error_set(err, PTO_ERR_RANGE, "a pattern in host memory is two patterns itself");
    status = check_one(counts->host, err);
    if (status != PTO_OK)
        return status;
    int64_t on_gpu = order_of_one(counts), on_host = order_of_one(counts->host);
    return on_gpu == 0 || on_host == 0 || on_gpu == on_host
               ? PTO_OK
               : pto_error_set(err, PTO_ERR_RANGE, "gpu is for %lld processes, cpu for %lld",
                               (long long)on_gpu, (long long)on_host);
}

static void describe_stencil(pto_line_t *line, const pto_grid_t *grid) {
    bool wraps = false, weighted = false, twice = false;
    for (int d = 0; d < grid->dim_count; d++) {
        wraps = wraps || grid->wrap[d];
        weighted = weighted || grid->weight[d] != 1;
        twice = twice || (grid->wrap[d] && grid->dim[d] == 2);
    }
    for (int d = 0; d < grid->dim_count && weighted; d++)
        pto_line_add(line, d == 0 ? ", weights %lld" : " %lld", (long long)grid->weight[d]);
    for (int d = 0; d < grid->dim_count && wraps; d++)
        pto_line_add(line, d == 0 ? ", wrap %d" : " %d", grid->wrap[d]);
    if (twice)
        pto_line_add(line, " (neighbors along a wrapped dimension of size 2 exchange twice the bytes)");
}

static void describe_grid(pto_line_t *line, const pto_counts_t *counts) {
    const pto_grid_t *grid = &counts->grid;
    pto_line_add(line, counts->kind == PTO_COUNTS_STENCIL ? "stencil on" : "groups on");
    for (int d = 0; d < grid->dim_count; d++)
        pto_line_add(line, d == 0 ? " %lld" : " x %lld", (long long)grid->dim[d]);
    if (counts->kind == PTO_COUNTS_GROUPS)
        pto_line_add(line, ", along dimension %d", grid->along);
    else
        describe_stencil(line, grid);
}

static void describe_one(pto_line_t *line, const pto_counts_t *counts) {
    if (has_grid(counts))
        describe_grid(line, counts);
    else if (counts->kind == PTO_COUNTS_MATRIX)
        pto_line_add(line, "matrix %s", counts->matrix_path ? counts->matrix_path : "");
    else if (counts->kind == PTO_COUNTS_LIST)
        pto_line_add(line, "list");
    else if (counts->kind == PTO_COUNTS_SKEW)
        pto_line_add(line, "skew %g (seed %llu)", counts->skew, (unsigned long long)counts->seed);
    else
        pto_line_add(line, "equal");
}

const char *pto_counts_describe(const pto_counts_t *counts, char *text, size_t text_size) {
    pto_line_t line = {.text = text, .size = text_size};
    text[0] = '\0';
    if (!counts->host && !has_grid(counts))
        return text;
    if (counts->host)
        pto_line_add(&line, "gpu: ");
    describe_one(&line, counts);
    if (counts->host) {
        pto_line_add(&line, "; cpu: ");
        describe_one(&line, counts->host);
    }
    return text;
}

/* The baselines of a score: picks and times that are derived from other measured cells (the training set)
 * without the model, or with its residuals. A model that is not better than these where nothing was measured
 * is worth less than a table. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "portolan/score.h"

enum { NEIGHBORS = 3 };

/* Returns whether two cells have the same collective, regardless of their sizes and layouts. */
static bool is_same_collective(const pto_score_cell_t *a, const pto_score_cell_t *b) {
    return a->collective == b->collective && a->implementation == b->implementation &&
           a->datatype == b->datatype && a->own_algorithms == b->own_algorithms &&
           (a->collective != PTO_COLLECTIVE_PAIR ||
            (a->distance == b->distance && a->ends.from_host == b->ends.from_host &&
             a->ends.to_host == b->ends.to_host && a->ends.both_ways == b->ends.both_ways)) &&
           pto_halo_compare(&a->halo, &b->halo) == 0;
}

static bool is_same_candidate(const pto_score_candidate_t *a, const pto_score_candidate_t *b) {
    return a->strategy == b->strategy && a->chunks == b->chunks &&
           a->staged_members.in == b->staged_members.in && a->staged_members.out == b->staged_members.out &&
           (a->algorithm && b->algorithm ? strcmp(a->algorithm, b->algorithm) == 0
                                         : a->algorithm == b->algorithm);
}

static int find_candidate(const pto_score_cell_t *cell, const pto_score_candidate_t *like) {
    for (int c = 0; c < cell->candidate_count; c++)
        if (is_same_candidate(&cell->candidate[c], like))
            return c;
    return -1;
}

static double doublings(int64_t a, int64_t b) { return fabs(log2((1 + (double)a) / (1 + (double)b))); }

static double shape_distance(const pto_score_cell_t *a, const pto_score_cell_t *b) {
    return doublings(a->bytes, b->bytes) + doublings(a->gpus_per_node, b->gpus_per_node) +
           doublings(a->owners_per_gpu, b->owners_per_gpu) + doublings(a->procs_per_gpu, b->procs_per_gpu);
}

/* A candidate in a cell of the training set. */
typedef struct {
    const pto_score_cell_t *cell; /* NULL: there is none */
    int candidate;
} example_t;

/* Returns the example of a candidate that is nearest in node count, then in shape. `nodes`: only examples on
 * this many nodes; 0: on any number. */
static example_t nearest(const pto_score_t *train, const pto_score_cell_t *cell,
                         const pto_score_candidate_t *like, int64_t nodes) {
    example_t found = {0};
    double min_distance = INFINITY, min_shape = INFINITY;
    for (int64_t i = 0; i < train->cell_count; i++) {
        const pto_score_cell_t *other = &train->cell[i];
        int candidate = is_same_collective(cell, other) ? find_candidate(other, like) : -1;
        if (candidate < 0 || (nodes != 0 && other->nodes != nodes))
            continue;
        double distance = doublings(cell->nodes, other->nodes), shape = shape_distance(cell, other);
        if (distance < min_distance || (distance <= min_distance && shape < min_shape)) {
            found = (example_t){other, candidate};
            min_distance = distance;
            min_shape = shape;
        }
    }
    return found;
}

static double measured_s(example_t example) { return example.cell->candidate[example.candidate].measured_s; }

static double nearest_s(const pto_score_t *train, const pto_score_cell_t *cell, int candidate) {
    example_t example = nearest(train, cell, &cell->candidate[candidate], 0);
    return example.cell ? measured_s(example) : 0;
}

/* Returns a time by least squares through one time for each node count; a constant if there is only one. If
 * the line falls to 0 or below, returns the least time instead. */
static double line_s(const pto_score_t *train, const pto_score_cell_t *cell, int candidate, bool in_log) {
    double n = 0, x_sum = 0, y_sum = 0, xx = 0, xy = 0, least_s = INFINITY;
    for (int64_t nodes = pto_score_next_nodes(train, 0); nodes > 0;
         nodes = pto_score_next_nodes(train, nodes)) {
        example_t example = nearest(train, cell, &cell->candidate[candidate], nodes);
        if (!example.cell)
            continue;
        double x = in_log ? log2((double)nodes) : (double)nodes, y = measured_s(example);
        n++;
        x_sum += x;
        y_sum += y;
        xx += x * x;
        xy += x * y;
        least_s = fmin(least_s, y);
    }
    double spread = n * xx - x_sum * x_sum;
    double slope = spread > 0 ? (n * xy - x_sum * y_sum) / spread : 0;
    double x = in_log ? log2((double)cell->nodes) : (double)cell->nodes;
    double seconds = n > 0 ? (y_sum - slope * x_sum) / n + slope * x : 0;
    return n > 0 && seconds <= 0 ? least_s : seconds;
}

static double affine_s(const pto_score_t *train, const pto_score_cell_t *cell, int candidate) {
    return line_s(train, cell, candidate, false);
}

static double log_s(const pto_score_t *train, const pto_score_cell_t *cell, int candidate) {
    return line_s(train, cell, candidate, true);
}

static double residual_s(const pto_score_t *train, const pto_score_cell_t *cell, int candidate) {
    const pto_prediction_t *here = &cell->prediction[candidate];
    example_t example = nearest(train, cell, &cell->candidate[candidate], 0);
    if (!here->applicable || !example.cell)
        return 0;
    const pto_prediction_t *there = &example.cell->prediction[example.candidate];
    if (!there->applicable || there->price.seconds <= 0)
        return here->price.seconds;
    return here->price.seconds * measured_s(example) / there->price.seconds;
}

/* The time that a baseline expects of a candidate; 0: none. */
typedef double (*expected_time_t)(const pto_score_t *train, const pto_score_cell_t *cell, int candidate);

/* Sets a baseline's times in a cell, and picks the least. */
static pto_status_t learn_times(const pto_score_t *train, pto_score_cell_t *cell, expected_time_t time,
                                pto_score_baseline_t *baseline, pto_error_t *err) {
    if (!baseline->seconds)
        baseline->seconds = calloc((size_t)cell->candidate_count, sizeof *baseline->seconds);
    if (!baseline->seconds)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for baselines");
    baseline->picked = -1;
    for (int c = 0; c < cell->candidate_count; c++) {
        const double seconds = time(train, cell, c);
        baseline->seconds[c] = seconds;
        if (seconds > 0 && (baseline->picked < 0 || seconds < baseline->seconds[baseline->picked]))
            baseline->picked = c;
    }
    return PTO_OK;
}

/* In doublings of bytes, nodes and processes. */
static double neighbor_distance(const pto_score_cell_t *a, const pto_score_cell_t *b) {
    return hypot(hypot(doublings(a->bytes, b->bytes), doublings(a->nodes, b->nodes)),
                 doublings(a->procs_per_gpu, b->procs_per_gpu));
}

typedef struct {
    example_t example; /* without a cell: none */
    double distance;
} neighbor_t;

/* Inserts an example in the list of the nearest, which is ordered by distance. The farthest drops out. */
static void insert(neighbor_t near[NEIGHBORS], neighbor_t added) {
    for (int k = 0; k < NEIGHBORS && added.example.cell; k++) {
        if (near[k].example.cell && near[k].distance <= added.distance)
            continue;
        const neighbor_t moved = near[k];
        near[k] = added;
        added = moved;
    }
}

/* Returns the most frequent winner of the nearest cells among the candidates here, the nearest of equals. */
static int vote(const pto_score_t *train, const pto_score_cell_t *cell) {
    neighbor_t near[NEIGHBORS] = {{.distance = 0}};
    for (int64_t i = 0; i < train->cell_count; i++) {
        const pto_score_cell_t *other = &train->cell[i];
        int winner =
            is_same_collective(cell, other) ? find_candidate(cell, &other->candidate[other->best]) : -1;
        if (winner >= 0)
            insert(near, (neighbor_t){{other, winner}, neighbor_distance(cell, other)});
    }
    int picked = -1, max_votes = 0;
    for (int k = 0; k < NEIGHBORS && near[k].example.cell; k++) {
        int votes = 0;
        for (int j = 0; j < NEIGHBORS && near[j].example.cell; j++)
            votes += near[j].example.candidate == near[k].example.candidate;
        if (votes > max_votes) {
            max_votes = votes;
            picked = near[k].example.candidate;
        }
    }
    return picked;
}

pto_status_t pto_score_learn(pto_score_t *score, const pto_score_t *train, int64_t nodes, pto_error_t *err) {
    static const expected_time_t time[PTO_BASELINE_COUNT] = {
        [PTO_PICKER_NEAREST - PTO_BASELINE_FIRST] = nearest_s,
        [PTO_PICKER_AFFINE - PTO_BASELINE_FIRST] = affine_s,
        [PTO_PICKER_LOG - PTO_BASELINE_FIRST] = log_s,
        [PTO_PICKER_RESIDUAL - PTO_BASELINE_FIRST] = residual_s};
    pto_status_t status = PTO_OK;
    for (int64_t i = 0; i < score->cell_count && status == PTO_OK && !train->is_cut; i++) {
        pto_score_cell_t *cell = &score->cell[i];
        if (nodes != 0 && cell->nodes != nodes)
            continue;
        for (int b = 0; b < PTO_BASELINE_COUNT && status == PTO_OK; b++)
            if (time[b])
                status = learn_times(train, cell, time[b], &cell->baseline[b], err);
            else
                cell->baseline[b].picked = vote(train, cell);
    }
    return status;
}

/* Infers from measured collectives which algorithms an MPI library uses: one for all sizes, or several with
 * switch points, as far as the criterion of Schwarz (1978) justifies them. Also whether the library stages
 * GPU buffers through the host, in which case its host table applies to them, too.
 *
 * Each variant (an algorithm with a segment size) predicts each timing once. The badness of a table is then a
 * sum over these misses, so that many can be tried: one variant for all sizes, then the best of these tables
 * with one row split in two, for all pairs of variants and all sizes, and so on. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/text_file.h"
#include "library_tables.h"
#include "machine/library.h"

enum { SIZES_MAX = 64, ROWS_MAX = 4 };

/* Segment sizes that are tried for a segmented algorithm; 0: the whole vector. */
static const int64_t segments[] = {0, 32768, 131072};

/* The misses (collective_cells.h) of every timing of one collective for each variant of the library, all
 * under the same assumption: that the library stages GPU buffers, or that it does not. */
typedef struct {
    int variant_count;
    library_variant_t variant[LIBRARY_VARIANTS_MAX];
    int64_t cell_count;
    const pto_score_cell_t **cell;
    int64_t *bytes; /* [cell][candidate]: size that the library's call sees */
    double *miss;   /* [variant][cell][candidate] */
    bool host_only; /* ignore strategies that use GPU buffers: the library has another table for them */
    int size_count;
    int64_t size[SIZES_MAX]; /* the different values of `bytes`, increasing: where rows may begin */
} trials_t;

/* A table: rows by increasing size. */
typedef struct {
    int count;
    int variant[ROWS_MAX];
    int64_t below_bytes[ROWS_MAX]; /* INT64_MAX in the last row */
    double badness;                /* sum over cells */
} choice_t;

static void trials_fini(trials_t *trials) {
    free(trials->cell);
    free(trials->bytes);
    free(trials->miss);
}

static void note_size(trials_t *trials, int64_t bytes) {
    int at = 0;
    while (at < trials->size_count && trials->size[at] < bytes)
        at++;
    if (trials->size_count == SIZES_MAX || (at < trials->size_count && trials->size[at] == bytes))
        return;
    memmove(&trials->size[at + 1], &trials->size[at],
            (size_t)(trials->size_count - at) * sizeof *trials->size);
    trials->size[at] = bytes;
    trials->size_count++;
}

static bool belongs(const pto_score_cell_t *cell, pto_collective_t collective) {
    return collective_fit_has(cell) && cell->collective == collective &&
           cell->implementation == PTO_IMPLEMENTATION_LIBRARY;
}

/* Minimum numbers of processes for which these algorithms are tried. Between two, a chain is a single
 * message, and a scatter and allgather is one in two halves. MPICH uses the latter only for 8 and more
 * (scenarios/libraries/mpich-4.0). */
enum { CHAIN_PROCS_MIN = 3, SCATTER_PROCS_MIN = 8 };

static int64_t min_procs(const pto_algorithm_t *algorithm) {
    if (strcmp(algorithm->name, "scatter_allgather") == 0)
        return SCATTER_PROCS_MIN;
    return strcmp(algorithm->name, "chain") == 0 ? CHAIN_PROCS_MIN : 1;
}

static int64_t max_procs(const collective_fit_t *fit, pto_collective_t collective) {
    int64_t most = 0;
    for (int64_t i = 0; i < fit->score.cell_count; i++) {
        const pto_score_cell_t *cell = &fit->score.cell[i];
        int64_t procs = cell->nodes * cell->gpus_per_node * cell->owners_per_gpu;
        if (belongs(cell, collective) && procs > most)
            most = procs;
    }
    return most;
}

int library_variants(pto_collective_t collective, int64_t procs,
                     library_variant_t variant[LIBRARY_VARIANTS_MAX]) {
    int count = 0;
    for (int a = 0; a < pto_algorithm_count(); a++) {
        const pto_algorithm_t *algorithm = pto_algorithm_at(a);
        bool tried = !algorithm->direct && !algorithm->nccl && !algorithm->only_named &&
                     algorithm->collectives & 1u << collective && procs >= min_procs(algorithm);
        size_t forms = !tried ? 0 : algorithm->segmented ? sizeof segments / sizeof *segments : 1;
        for (size_t i = 0; i < forms && count < LIBRARY_VARIANTS_MAX; i++)
            variant[count++] = (library_variant_t){algorithm, segments[i]};
    }
    return count;
}

pto_library_rule_t library_rule(const library_variant_t *variant, bool staged, int64_t below_bytes,
                                char name[PTO_FIT_NAME_MAX]) {
    snprintf(name, PTO_FIT_NAME_MAX, "%s", variant->algorithm->name);
    return (pto_library_rule_t){.below_bytes = below_bytes,
                                .algorithm = name,
                                .staged = staged,
                                .segment_bytes = variant->segment_bytes};
}

static void allocate_trials(collective_fit_t *fit, pto_collective_t collective, trials_t *trials) {
    size_t cells = (size_t)fit->score.cell_count + 1;
    *trials = (trials_t){0};
    trials->variant_count = library_variants(collective, max_procs(fit, collective), trials->variant);
    trials->cell = calloc(cells, sizeof *trials->cell);
    trials->bytes = calloc(cells * COLLECTIVE_CANDIDATES_MAX, sizeof *trials->bytes);
    trials->miss = calloc(cells * COLLECTIVE_CANDIDATES_MAX * LIBRARY_VARIANTS_MAX, sizeof *trials->miss);
    if (!trials->cell || !trials->bytes || !trials->miss) {
        fit->status = pto_error_set(fit->err, PTO_ERR_MEMORY, "out of memory for a library's tables");
        return;
    }
    for (int64_t i = 0; i < fit->score.cell_count; i++)
        if (belongs(&fit->score.cell[i], collective))
            trials->cell[trials->cell_count++] = &fit->score.cell[i];
}

static double *miss_at(const trials_t *trials, int variant, int64_t cell) {
    return trials->miss + (variant * trials->cell_count + cell) * COLLECTIVE_CANDIDATES_MAX;
}

static bool uses_gpu_buffers(const trials_t *trials, int64_t cell, int candidate) {
    return trials->cell[cell]->candidate[candidate].strategy->collective_space == PTO_SPACE_GPU;
}

static void run_trials(collective_fit_t *fit, pto_collective_t collective, bool staged, trials_t *trials) {
    allocate_trials(fit, collective, trials);
    for (int64_t i = 0; i < trials->cell_count; i++)
        for (int c = 0; c < trials->cell[i]->candidate_count; c++) {
            bool on_gpu = uses_gpu_buffers(trials, i, c);
            int64_t *bytes = &trials->bytes[i * COLLECTIVE_CANDIDATES_MAX + c];
            for (int v = 0; v < trials->variant_count; v++) {
                char name[PTO_FIT_NAME_MAX];
                const pto_library_rule_t rule =
                    library_rule(&trials->variant[v], staged && on_gpu, INT64_MAX, name);
                miss_at(trials, v, i)[c] = collective_fit_miss(fit, trials->cell[i], c, &rule, bytes);
            }
            note_size(trials, *bytes);
        }
}

static int variant_for(const choice_t *choice, int64_t bytes) {
    int row = 0;
    while (bytes >= choice->below_bytes[row])
        row++;
    return choice->variant[row];
}

/* Returns the mean of |miss| over the strategies that use host buffers. */
static double host_badness(const trials_t *trials, int64_t cell, const double *miss) {
    double sum = 0;
    int count = 0;
    for (int c = 0; c < trials->cell[cell]->candidate_count; c++)
        if (!uses_gpu_buffers(trials, cell, c)) {
            sum += fabs(miss[c]);
            count++;
        }
    return count > 0 ? sum / count : 0;
}

/* The sum over all cells; it stops early once it has reached `limit`. */
static double badness_of(const trials_t *trials, const choice_t *choice, double limit) {
    double sum = 0;
    for (int64_t i = 0; i < trials->cell_count && sum < limit; i++) {
        double miss[COLLECTIVE_CANDIDATES_MAX];
        for (int c = 0; c < trials->cell[i]->candidate_count; c++) {
            int64_t bytes = trials->bytes[i * COLLECTIVE_CANDIDATES_MAX + c];
            miss[c] = miss_at(trials, variant_for(choice, bytes), i)[c];
        }
        sum +=
            trials->host_only ? host_badness(trials, i, miss) : collective_fit_badness(trials->cell[i], miss);
    }
    return sum;
}

/* Replaces `best` by `other` if that is better. */
static void take_better(const trials_t *trials, choice_t other, choice_t *best) {
    other.badness = badness_of(trials, &other, best->badness);
    if (other.badness < best->badness)
        *best = other;
}

static choice_t one_row(int variant) {
    return (choice_t){.count = 1, .variant = {variant}, .below_bytes = {INT64_MAX}, .badness = INFINITY};
}

/* Returns the table with one row split in two: variant `below` for sizes below `bytes`, else `above`. */
static choice_t split(const choice_t *choice, int row, int64_t bytes, int below, int above) {
    choice_t made = *choice;
    memmove(&made.variant[row + 1], &choice->variant[row],
            (size_t)(choice->count - row) * sizeof *made.variant);
    memmove(&made.below_bytes[row + 1], &choice->below_bytes[row],
            (size_t)(choice->count - row) * sizeof *made.below_bytes);
    made.count++;
    made.variant[row] = below;
    made.variant[row + 1] = above;
    made.below_bytes[row] = bytes;
    return made;
}

static bool is_inside(const choice_t *choice, int row, int64_t bytes) {
    return bytes < choice->below_bytes[row] && (row == 0 || bytes > choice->below_bytes[row - 1]);
}

/* Returns the best table that results from splitting one row. */
static choice_t best_split(const trials_t *trials, const choice_t *choice) {
    choice_t best = {.badness = INFINITY};
    for (int row = 0; row < choice->count; row++)
        for (int s = 1; s < trials->size_count; s++) {
            if (!is_inside(choice, row, trials->size[s]))
                continue;
            for (int below = 0; below < trials->variant_count; below++)
                for (int above = 0; above < trials->variant_count; above++)
                    if (below != above)
                        take_better(trials, split(choice, row, trials->size[s], below, above), &best);
        }
    return best;
}

/* Prior knowledge: MPICH, MVAPICH2 and (below 64 processes) Open MPI post all of an alltoallv. -1: none. */
static int usual_variant(const trials_t *trials, pto_collective_t collective) {
    for (int v = 0; v < trials->variant_count && collective == PTO_COLLECTIVE_ALLTOALLV; v++)
        if (strcmp(trials->variant[v].algorithm->name, "linear") == 0)
            return v;
    return -1;
}

static bool is_pairwise(const trials_t *trials, int variant) {
    return strncmp(trials->variant[variant].algorithm->name, "pairwise", 8) == 0;
}

/* Prior knowledge on pairs of algorithms. MPICH, MVAPICH2 and Open MPI exchange small blocks of an alltoall
 * in few rounds or at once, and large ones pairwise. MPICH, MVAPICH2 and Spectrum MPI reduce the vectors of
 * an allreduce within each node first, which times of a single node count hardly tell from a flat one. */
static bool is_usual(const trials_t *trials, pto_collective_t collective, int below, int above) {
    if (collective == PTO_COLLECTIVE_ALLTOALL)
        return !is_pairwise(trials, below) && is_pairwise(trials, above);
    return collective == PTO_COLLECTIVE_ALLREDUCE && trials->variant[above].algorithm->segmented;
}

static choice_t best_usual(const trials_t *trials, pto_collective_t collective) {
    choice_t best = {.badness = INFINITY}, any = one_row(0);
    for (int below = 0; below < trials->variant_count; below++)
        for (int above = 0; above < trials->variant_count; above++)
            for (int s = 1; s < trials->size_count; s++)
                if (is_usual(trials, collective, below, above))
                    take_better(trials, split(&any, 0, trials->size[s], below, above), &best);
    return best;
}

/* Returns the number of timings that a table is fitted to. */
static int64_t timing_count(const trials_t *trials) {
    int64_t count = 0;
    for (int64_t i = 0; i < trials->cell_count; i++)
        for (int c = 0; c < trials->cell[i]->candidate_count; c++)
            count += !trials->host_only || !uses_gpu_buffers(trials, i, c);
    return count;
}

/* Chooses the rows. An additional row has two parameters: its algorithm and its size. By Schwarz, n
 * ln(badness) must fall by more than 2 ln(n) for n timings, so the badness must fall below exp(-2 ln(n) / n)
 * of its value, the penalty. For 100 timings, that is 0.91. Two rows replace the first one also if their pair
 * of variants is usual and no more than this factor worse. */
static choice_t choose(const trials_t *trials, pto_collective_t collective, int switches_left) {
    double n = (double)timing_count(trials);
    double penalty = exp(-2 * log(n) / n);
    int usual = usual_variant(trials, collective);
    int rows_max = switches_left < ROWS_MAX - 1 ? switches_left + 1 : ROWS_MAX;
    choice_t best = one_row(0);
    if (usual >= 0)
        return one_row(usual);
    for (int v = 0; v < trials->variant_count; v++)
        take_better(trials, one_row(v), &best);
    for (bool more = true; more && best.count < rows_max;) {
        choice_t next = best_split(trials, &best);
        choice_t pair = best.count == 1 ? best_usual(trials, collective) : (choice_t){.badness = INFINITY};
        more = next.badness < best.badness * penalty;
        if (more)
            best = next;
        if (pair.badness * penalty <= best.badness) {
            best = pair;
            more = true;
        }
    }
    return best;
}

/* Returns the mean of |miss| over the timings with GPU buffers, and sets their number. */
static double gpu_miss(const trials_t *trials, const choice_t *choice, int64_t *count) {
    double sum = 0;
    *count = 0;
    for (int64_t i = 0; i < trials->cell_count; i++)
        for (int c = 0; c < trials->cell[i]->candidate_count; c++)
            if (uses_gpu_buffers(trials, i, c)) {
                int64_t bytes = trials->bytes[i * COLLECTIVE_CANDIDATES_MAX + c];
                sum += fabs(miss_at(trials, variant_for(choice, bytes), i)[c]);
                (*count)++;
            }
    return *count > 0 ? sum / (double)*count : 0;
}

pto_status_t library_add_row(pto_machine_t *machine, pto_collective_t collective, pto_space_t space,
                             const pto_library_rule_t *rule, pto_error_t *err) {
    const char *name = pto_collective_name(collective);
    int at = 0;
    while (at < machine->library_count &&
           (machine->library[at].space != space || strcmp(machine->library[at].collective, name) != 0))
        at++;
    if (at == machine->library_count) {
        char *copy = PTO_EXTEND(machine->library, at) ? pto_text_copy(name) : NULL;
        if (!copy)
            return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a library's tables");
        machine->library[machine->library_count++] =
            (pto_library_table_t){.collective = copy, .space = space};
    }
    pto_library_table_t *table = &machine->library[at];
    pto_library_rule_t made = *rule;
    bool copied = pto_text_copy_any(rule->algorithm, &made.algorithm);
    copied = pto_text_copy_any(rule->flagged, &made.flagged) && copied;
    if (!copied || !PTO_EXTEND(table->rule, table->rule_count)) {
        free(made.algorithm);
        free(made.flagged);
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a library's tables");
    }
    made.line = 1;
    table->rule[table->rule_count++] = made;
    return PTO_OK;
}

static void add_table(collective_fit_t *fit, pto_collective_t collective, pto_space_t space, bool staged,
                      const trials_t *trials, const choice_t *choice) {
    for (int row = 0; row < choice->count && fit->status == PTO_OK; row++) {
        char name[PTO_FIT_NAME_MAX];
        const pto_library_rule_t rule =
            library_rule(&trials->variant[choice->variant[row]], staged, choice->below_bytes[row], name);
        fit->status = library_add_row(fit->machine, collective, space, &rule, fit->err);
    }
}

/* Returns whether the library stages GPU buffers: whether the host's table, with `staged_miss`, explains them
 * at least as well as `*own`, the best variant without staging, which is set. */
static bool choose_gpu(collective_fit_t *fit, pto_collective_t collective, double staged_miss,
                       choice_t *own) {
    trials_t direct;
    run_trials(fit, collective, false, &direct);
    *own = one_row(0);
    for (int v = 0; v < direct.variant_count; v++) {
        choice_t one = one_row(v);
        int64_t count;
        one.badness = gpu_miss(&direct, &one, &count);
        if (one.badness < own->badness)
            *own = one;
    }
    trials_fini(&direct);
    return staged_miss <= own->badness;
}

/* Fits the tables of one collective. If the library stages, one table explains the times of host and GPU
 * buffers. If it does not, the host table is chosen again without the times of GPU buffers. */
static void fit_tables(collective_fit_t *fit, pto_collective_t collective, int switches_left,
                       trials_t *trials, choice_t *host) {
    int64_t count;
    *host = choose(trials, collective, switches_left);
    double staged_miss = gpu_miss(trials, host, &count);
    choice_t own;
    bool stages = count == 0 || choose_gpu(fit, collective, staged_miss, &own);
    if (!stages && count < timing_count(trials)) {
        trials->host_only = true;
        *host = choose(trials, collective, switches_left);
    }
    add_table(fit, collective, PTO_SPACE_CPU, false, trials, host);
    if (count > 0)
        add_table(fit, collective, PTO_SPACE_GPU, stages, trials, stages ? host : &own);
}

pto_status_t collective_fit_library(collective_fit_t *fit, int switches_left, collective_switch_t *switches,
                                    int *switch_count) {
    collective_fit_forget_tables(fit);
    pto_library_tables_clear(&fit->machine->library, &fit->machine->library_count);
    *switch_count = 0;
    for (pto_collective_t collective = 0; collective < PTO_COLLECTIVE_COUNT && fit->status == PTO_OK;
         collective++) {
        trials_t trials;
        run_trials(fit, collective, true, &trials);
        if (fit->status == PTO_OK && trials.cell_count > 0) {
            choice_t choice;
            fit_tables(fit, collective, switches_left - *switch_count, &trials, &choice);
            for (int row = 0; row < choice.count - 1; row++)
                switches[(*switch_count)++] = (collective_switch_t){collective, choice.below_bytes[row]};
        }
        trials_fini(&trials);
    }
    return fit->status;
}

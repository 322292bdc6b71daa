/* Which algorithms an MPI library uses, inferred from the times of its collectives: one for all sizes, or
 * one below and another from a size on if the criterion of Schwarz (1978) justifies it. Also whether the
 * library stages GPU buffers through the host, in which case its host table applies to them too. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text_file.h"
#include "library_tables.h"
#include "machine/library_rules.h"

enum { ALGORITHMS_MAX = 16, SIZES_MAX = 64, RULES_MAX = 2 };

/* The misses of every timing of one collective for each algorithm at every size. For GPU buffers: as if the
 * library staged them, or as if not. */
typedef struct {
    int algorithm_count;
    const pto_algorithm_t *algorithm[ALGORITHMS_MAX];
    int64_t cell_count;
    const pto_score_cell_t **cell;
    int64_t *bytes; /* size that the library's call sees, for each candidate of each cell */
    double *miss;   /* by algorithm, cell and candidate */
    int size_count;
    int64_t size[SIZES_MAX]; /* increasing */
} trials_t;

typedef struct {
    int below; /* index of the algorithm for small calls; -1: one for all sizes */
    int above;
    int64_t switch_bytes;
    double badness; /* sum over cells */
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

static pto_status_t allocate_trials(const collective_fit_t *fit, pto_collective_t collective,
                                    trials_t *trials) {
    size_t cells = (size_t)fit->score.cell_count + 1;
    *trials = (trials_t){0};
    for (int a = 0; a < pto_algorithm_count() && trials->algorithm_count < ALGORITHMS_MAX; a++)
        if (!pto_algorithm_at(a)->direct && !pto_algorithm_at(a)->nccl &&
            pto_algorithm_at(a)->collectives & 1u << collective)
            trials->algorithm[trials->algorithm_count++] = pto_algorithm_at(a);
    trials->cell = calloc(cells, sizeof *trials->cell);
    trials->bytes = calloc(cells * COLLECTIVE_CANDIDATES_MAX, sizeof *trials->bytes);
    trials->miss = calloc(cells * COLLECTIVE_CANDIDATES_MAX * ALGORITHMS_MAX, sizeof *trials->miss);
    if (!trials->cell || !trials->bytes || !trials->miss)
        return pto_error_set(fit->err, PTO_ERR_MEMORY, "out of memory for a library's tables");
    for (int64_t i = 0; i < fit->score.cell_count; i++)
        if (belongs(&fit->score.cell[i], collective))
            trials->cell[trials->cell_count++] = &fit->score.cell[i];
    return PTO_OK;
}

static double *miss_at(const trials_t *trials, int algorithm, int64_t cell) {
    return trials->miss + (algorithm * trials->cell_count + cell) * COLLECTIVE_CANDIDATES_MAX;
}

static pto_status_t run_trials(collective_fit_t *fit, pto_collective_t collective, bool staged,
                               trials_t *trials) {
    pto_status_t status = allocate_trials(fit, collective, trials);
    for (int64_t i = 0; i < trials->cell_count && status == PTO_OK; i++)
        for (int c = 0; c < trials->cell[i]->candidate_count; c++) {
            bool on_gpu = trials->cell[i]->candidate[c].strategy->collective_space == PTO_SPACE_GPU;
            int64_t *bytes = &trials->bytes[i * COLLECTIVE_CANDIDATES_MAX + c];
            for (int a = 0; a < trials->algorithm_count; a++) {
                char name[PTO_FIT_NAME_MAX];
                snprintf(name, sizeof name, "%s", trials->algorithm[a]->name);
                pto_library_rule_t rule = {
                    .below_bytes = INT64_MAX, .algorithm = name, .staged = staged && on_gpu};
                miss_at(trials, a, i)[c] = collective_fit_miss(fit, trials->cell[i], c, &rule, bytes);
            }
            note_size(trials, *bytes);
        }
    return status == PTO_OK ? fit->status : status;
}

static int algorithm_for(choice_t choice, int64_t bytes) {
    return choice.below >= 0 && bytes < choice.switch_bytes ? choice.below : choice.above;
}

static double badness_of(const trials_t *trials, choice_t choice) {
    double sum = 0;
    for (int64_t i = 0; i < trials->cell_count; i++) {
        double miss[COLLECTIVE_CANDIDATES_MAX];
        for (int c = 0; c < trials->cell[i]->candidate_count; c++) {
            int64_t bytes = trials->bytes[i * COLLECTIVE_CANDIDATES_MAX + c];
            miss[c] = miss_at(trials, algorithm_for(choice, bytes), i)[c];
        }
        sum += collective_fit_badness(trials->cell[i], miss);
    }
    return sum;
}

static choice_t better(const trials_t *trials, choice_t best, choice_t other) {
    other.badness = badness_of(trials, other);
    return other.badness < best.badness ? other : best;
}

/* Known beforehand: MPICH and MVAPICH2 post all messages of an alltoallv, in batches, and so does Open
 * MPI below 64 processes. -1: unknown. */
static int usual_algorithm(const trials_t *trials, pto_collective_t collective) {
    for (int a = 0; a < trials->algorithm_count && collective == PTO_COLLECTIVE_ALLTOALLV; a++)
        if (strcmp(trials->algorithm[a]->name, "linear") == 0)
            return a;
    return -1;
}

/* MPICH, MVAPICH2 and Open MPI all exchange small blocks of an alltoall in few rounds or at once, and large
 * ones pairwise. */
static bool is_usual_pair(const trials_t *trials, pto_collective_t collective, int below, int above) {
    if (collective != PTO_COLLECTIVE_ALLTOALL)
        return false;
    bool pairwise_below = strncmp(trials->algorithm[below]->name, "pairwise", 8) == 0;
    return !pairwise_below && strncmp(trials->algorithm[above]->name, "pairwise", 8) == 0;
}

/* A second algorithm and its switch size are two additional parameters. The usual algorithm is replaced only
 * by one that is clearly better, and so is the usual pair. */
static choice_t choose(const trials_t *trials, pto_collective_t collective, bool may_switch) {
    double n = 0;
    for (int64_t i = 0; i < trials->cell_count; i++)
        n += trials->cell[i]->candidate_count;
    choice_t one = {.below = -1, .badness = INFINITY}, two = {.badness = INFINITY}, pair = two;
    for (int above = 0; above < trials->algorithm_count; above++) {
        one = better(trials, one, (choice_t){.below = -1, .above = above});
        for (int below = 0; below < trials->algorithm_count; below++)
            for (int s = 1; s < trials->size_count && may_switch && below != above; s++) {
                choice_t both = {.below = below, .above = above, .switch_bytes = trials->size[s]};
                two = better(trials, two, both);
                if (is_usual_pair(trials, collective, below, above))
                    pair = better(trials, pair, both);
            }
    }
    int usual = usual_algorithm(trials, collective);
    if (usual >= 0)
        return (choice_t){.below = -1, .above = usual};
    double penalty = exp(-2 * log(n) / n);
    choice_t best = two.badness < one.badness * penalty ? two : one;
    return pair.badness * penalty <= best.badness ? pair : best;
}

/* Mean of |miss| over the strategies that use GPU buffers. */
static double gpu_miss(const trials_t *trials, choice_t choice, int64_t *count) {
    double sum = 0;
    *count = 0;
    for (int64_t i = 0; i < trials->cell_count; i++)
        for (int c = 0; c < trials->cell[i]->candidate_count; c++)
            if (trials->cell[i]->candidate[c].strategy->collective_space == PTO_SPACE_GPU) {
                int64_t bytes = trials->bytes[i * COLLECTIVE_CANDIDATES_MAX + c];
                sum += fabs(miss_at(trials, algorithm_for(choice, bytes), i)[c]);
                (*count)++;
            }
    return *count > 0 ? sum / (double)*count : 0;
}

/* --- into the machine ---------------------------------------------------------------------------------- */

static pto_status_t add_table(pto_machine_t *machine, pto_collective_t collective, pto_space_t space,
                              bool staged, const trials_t *trials, choice_t choice, pto_error_t *err) {
    pto_library_table_t *tables =
        realloc(machine->library, ((size_t)machine->library_count + 1) * sizeof *tables);
    if (tables)
        machine->library = tables;
    char *name = pto_text_copy(pto_collective_name(collective));
    pto_library_rule_t *rules = calloc(RULES_MAX, sizeof *rules);
    int count = 0;
    bool made = tables && name && rules;
    if (made && choice.below >= 0)
        rules[count++] =
            (pto_library_rule_t){.below_bytes = choice.switch_bytes,
                                 .algorithm = pto_text_copy(trials->algorithm[choice.below]->name),
                                 .staged = staged,
                                 .line = 1};
    if (made)
        rules[count++] =
            (pto_library_rule_t){.below_bytes = INT64_MAX,
                                 .algorithm = pto_text_copy(trials->algorithm[choice.above]->name),
                                 .staged = staged,
                                 .line = 1};
    for (int i = 0; i < count; i++)
        made = made && rules[i].algorithm;
    if (!made) {
        free(name);
        pto_library_rules_free(rules, count);
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a library's tables");
    }
    tables[machine->library_count++] =
        (pto_library_table_t){.collective = name, .space = space, .rule = rules, .rule_count = count};
    return PTO_OK;
}

static void drop_tables(pto_machine_t *machine) {
    pto_library_tables_free(machine->library, machine->library_count);
    machine->library = NULL;
    machine->library_count = 0;
}

/* GPU buffers: either staged with the host's table, or an algorithm of their own on the GPU. */
static pto_status_t choose_gpu(collective_fit_t *fit, pto_collective_t collective, const trials_t *staged,
                               choice_t host) {
    int64_t count;
    double staged_miss = gpu_miss(staged, host, &count);
    if (count == 0)
        return PTO_OK;
    trials_t direct;
    pto_status_t status = run_trials(fit, collective, false, &direct);
    if (status == PTO_OK) {
        choice_t own = {.below = -1, .badness = INFINITY};
        for (int a = 0; a < direct.algorithm_count; a++) {
            double miss = gpu_miss(&direct, (choice_t){.below = -1, .above = a}, &count);
            if (miss < own.badness)
                own = (choice_t){.below = -1, .above = a, .badness = miss};
        }
        bool stages = staged_miss <= own.badness;
        status =
            add_table(fit->machine, collective, PTO_SPACE_GPU, stages, staged, stages ? host : own, fit->err);
    }
    trials_fini(&direct);
    return status;
}

pto_status_t collective_fit_library(collective_fit_t *fit, int room, collective_switch_t *switches,
                                    int *switch_count) {
    drop_tables(fit->machine);
    *switch_count = 0;
    pto_status_t status = PTO_OK;
    for (pto_collective_t collective = 0; collective < PTO_COLLECTIVE_COUNT && status == PTO_OK;
         collective++) {
        trials_t trials;
        status = run_trials(fit, collective, true, &trials);
        if (status == PTO_OK && trials.cell_count > 0) {
            choice_t choice = choose(&trials, collective, *switch_count < room);
            if (choice.below >= 0)
                switches[(*switch_count)++] = (collective_switch_t){collective, choice.switch_bytes};
            status = add_table(fit->machine, collective, PTO_SPACE_CPU, false, &trials, choice, fit->err);
            if (status == PTO_OK)
                status = choose_gpu(fit, collective, &trials, choice);
        }
        trials_fini(&trials);
    }
    return status;
}

/* Fits the terms of a machine that only measured collectives determine: a few numbers, and the algorithms of
 * the MPI library. A search over the numbers by the simplex method of Nelder and Mead (1965, as in GSL)
 * alternates with choosing the library's tables. Both minimise the badness: the mean of |ln(predicted /
 * measured)| plus the regret of the pick. Numbers that do not improve the fit are left out.
 *
 * A search finds only a local optimum. So there are three searches from typical numbers times 1, 1/4 and 4,
 * and one more for each number that was found, and the best result is kept. */
#include "library_tables.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_multimin.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text_file.h"
#include "entries.h"
#include "machine/library.h"
#include "portolan/progress.h"

enum {
    ROUNDS_MAX = 4,
    ITERATIONS_MAX = 120,
    SPREADS_MAX = 4,
    GROUP_COUNT = PTO_COLLECTIVE_COUNT * PTO_IMPLEMENTATION_COUNT
};

/* A term is left out if omitting it worsens the fit by less than this share. */
static const double useless_gain = 0.005;
/* A search ends when another round leaves more than this share of the badness. */
static const double converged = 0.999;

static pto_status_t out_of_memory(pto_error_t *err) {
    return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a fit to collectives");
}

/* --- the terms --------------------------------------------------------------------------------------- */

typedef struct {
    const char *name;
    double start;     /* a typical value, at which a search starts */
    bool fixed_start; /* all searches start there: from other values, they end at a wrong algorithm */
    bool (*measured)(const pto_machine_t *machine);    /* samples determine it, so it is not fitted */
    void (*set)(pto_machine_t *machine, double value); /* 0: absent */
} term_t;

static pto_param_t param_of(double value) {
    return (pto_param_t){.value = value, .low = value, .high = value, .line = value > 0 ? 1 : 0};
}

static bool from_samples(const pto_postal_t *postal) { return postal->sample_count > 0; }

/* Sets a cost to a time per byte, without a latency. */
static void set_rate(pto_postal_t *postal, double value) {
    free(postal->flagged);
    *postal = (pto_postal_t){.alpha_s = param_of(value), .beta_s_per_byte = param_of(value)};
    postal->alpha_s.value = postal->alpha_s.low = postal->alpha_s.high = 0;
}

static bool host_copy_measured(const pto_machine_t *machine) {
    return from_samples(&machine->copies[PTO_COPY_H2H][PTO_REACH_ON_SOCKET]);
}

static void set_host_copy(pto_machine_t *machine, double value) {
    set_rate(&machine->copies[PTO_COPY_H2H][PTO_REACH_ON_SOCKET], value);
}

static bool pageable_measured(const pto_machine_t *machine) {
    return from_samples(&machine->pageable[PTO_COPY_D2H]);
}

/* Pageable copies start more slowly; their bytes cost the same as pinned ones. */
static void set_pageable(pto_machine_t *machine, double value) {
    for (int kind = 0; kind < PTO_COPY_COUNT; kind++) {
        const pto_postal_t *pinned = &machine->copies[kind][PTO_REACH_ON_SOCKET];
        bool over_the_link = kind == PTO_COPY_H2D || kind == PTO_COPY_D2H;
        free(machine->pageable[kind].flagged);
        machine->pageable[kind] = (pto_postal_t){0};
        if (value > 0 && over_the_link && pto_postal_known(pinned)) {
            machine->pageable[kind].alpha_s = param_of(value);
            machine->pageable[kind].beta_s_per_byte = param_of(pinned->beta_s_per_byte.value);
            machine->pageable[kind].beta_s_per_byte.line = 1;
        }
    }
}

static bool rate_measured(const pto_machine_t *machine) {
    return machine->injection_s_per_message[PTO_SPACE_CPU].has_interval;
}

static void set_message_rate(pto_machine_t *machine, double value) {
    machine->injection_s_per_message[PTO_SPACE_CPU] = param_of(value);
}

static bool reduction_measured(const pto_machine_t *machine) {
    const pto_cost_table_t *reduce = &machine->reduce[PTO_SPACE_CPU];
    return reduce->count > 0 && from_samples(&reduce->row[0].postal);
}

static void set_reduction(pto_machine_t *machine, double value) {
    pto_cost_table_t *reduce = &machine->reduce[PTO_SPACE_CPU];
    pto_cost_row_t *row = reduce->count > 0 ? reduce->row : value > 0 ? pto_cost_add(reduce) : NULL;
    if (value > 0 && row)
        set_rate(&row->postal, value);
    else
        pto_cost_fini(reduce);
}

static bool contention_measured(const pto_machine_t *machine) { return machine->contention.has_interval; }

static void set_contention(pto_machine_t *machine, double value) { machine->contention = param_of(value); }

static const term_t terms[] = {
    {"copies.h2h.on_socket.beta_s_per_byte", 1e-10, false, host_copy_measured, set_host_copy},
    {"copies.pageable.alpha_s", 1.5e-5, false, pageable_measured, set_pageable},
    {"injection.cpu.s_per_message", 3e-8, false, rate_measured, set_message_rate},
    {"reduce.cpu.beta_s_per_byte", 4e-10, true, reduction_measured, set_reduction},
    {"network.contention", 0.5, false, contention_measured, set_contention},
};
enum { TERM_COUNT = sizeof terms / sizeof *terms, SWITCHES_MAX = PTO_FIT_COLLECTIVE_MAX - TERM_COUNT };

/* Returns the mean over groups of cells of each group's mean badness. A group is one collective by one
 * implementation, so that all groups have the same weight, however many cells they have. */
static double mean_badness(collective_fit_t *fit) {
    double sum[GROUP_COUNT] = {0};
    int64_t count[GROUP_COUNT] = {0};
    for (int64_t i = 0; i < fit->score.cell_count; i++) {
        const pto_score_cell_t *cell = &fit->score.cell[i];
        double miss[COLLECTIVE_CANDIDATES_MAX];
        if (!collective_fit_has(cell))
            continue;
        int group = (int)cell->collective * PTO_IMPLEMENTATION_COUNT + (int)cell->implementation;
        for (int c = 0; c < cell->candidate_count; c++)
            miss[c] = collective_fit_miss(fit, cell, c, NULL, NULL);
        sum[group] += collective_fit_badness(cell, miss);
        count[group]++;
    }
    double total = 0;
    int groups = 0;
    for (int group = 0; group < GROUP_COUNT; group++)
        if (count[group] > 0) {
            total += sum[group] / (double)count[group];
            groups++;
        }
    return groups > 0 ? total / groups : 0;
}

/* --- the search ---------------------------------------------------------------------------------------- */

/* A search over some of the terms. */
typedef struct {
    collective_fit_t *fit;
    int count;
    int index[TERM_COUNT];    /* of each of the `count` terms in `terms` */
    double value[TERM_COUNT]; /* the best ones so far */
} search_t;

/* The objective of the simplex. `at` has the logarithms of the values, which keeps them positive. */
static double badness_at(const gsl_vector *at, void *context) {
    search_t *search = context;
    for (int i = 0; i < search->count; i++)
        terms[search->index[i]].set(search->fit->machine, exp(gsl_vector_get(at, (size_t)i)));
    return mean_badness(search->fit);
}

static void set_all(search_t *search) {
    for (int i = 0; i < search->count; i++)
        terms[search->index[i]].set(search->fit->machine, search->value[i]);
}

/* Drops the terms that the predictions do not depend on: a quarter and four times the value give the same. */
static void drop_insensitive(search_t *search) {
    int kept = 0;
    for (int i = 0; i < search->count; i++) {
        const term_t *term = &terms[search->index[i]];
        term->set(search->fit->machine, search->value[i] / 4);
        double less = mean_badness(search->fit);
        term->set(search->fit->machine, search->value[i] * 4);
        double more = mean_badness(search->fit);
        bool sensitive = fabs(more - less) > 1e-6;
        term->set(search->fit->machine, sensitive ? search->value[i] : 0);
        if (sensitive) {
            search->index[kept] = search->index[i];
            search->value[kept++] = search->value[i];
        }
    }
    search->count = kept;
}

/* Iterates until the simplex is small. */
static void shrink(gsl_multimin_fminimizer *simplex) {
    for (int i = 0; i < ITERATIONS_MAX && gsl_multimin_fminimizer_size(simplex) > 0.004; i++)
        if (pto_is_stopped() || gsl_multimin_fminimizer_iterate(simplex) != GSL_SUCCESS)
            return;
}

static void minimise(search_t *search) {
    size_t count = (size_t)search->count;
    if (count == 0)
        return;
    gsl_vector *at = gsl_vector_alloc(count), *step = gsl_vector_alloc(count);
    gsl_multimin_fminimizer *simplex =
        gsl_multimin_fminimizer_alloc(gsl_multimin_fminimizer_nmsimplex2, count);
    gsl_multimin_function function = {badness_at, count, search};
    bool has_room = at && step && simplex;
    if (has_room) {
        for (size_t i = 0; i < count; i++)
            gsl_vector_set(at, i, log(search->value[i]));
        gsl_vector_set_all(step, 0.5);
        /* A simplex can collapse onto a kink of the objective, so it is spread out again. */
        double before = INFINITY;
        for (int spread = 0; spread < SPREADS_MAX && !pto_is_stopped(); spread++) {
            gsl_multimin_fminimizer_set(simplex, &function, at, step);
            shrink(simplex);
            gsl_vector_memcpy(at, gsl_multimin_fminimizer_x(simplex));
            if (gsl_multimin_fminimizer_minimum(simplex) > before * converged)
                break;
            before = gsl_multimin_fminimizer_minimum(simplex);
        }
        for (int i = 0; i < search->count; i++)
            search->value[i] = exp(gsl_vector_get(at, (size_t)i));
        set_all(search);
    }
    gsl_vector_free(at);
    gsl_vector_free(step);
    gsl_multimin_fminimizer_free(simplex);
    if (!has_room)
        search->fit->status = out_of_memory(search->fit->err);
}

/* Records by how much each term improves the fit, and leaves out those that do not. */
static void drop_useless(search_t *search, pto_fit_collectives_t *result) {
    double badness = mean_badness(search->fit);
    for (int i = 0; i < search->count; i++) {
        const term_t *term = &terms[search->index[i]];
        term->set(search->fit->machine, 0);
        double gain = mean_badness(search->fit) / badness - 1;
        if (gain < useless_gain)
            continue;
        double value = fit_round(search->value[i]);
        term->set(search->fit->machine, value);
        pto_fit_collective_t *parameter = &result->parameter[result->parameter_count++];
        snprintf(parameter->name, sizeof parameter->name, "%s", term->name);
        parameter->value = value;
        parameter->gain = gain;
    }
}

/* In a machine file, cost rows can carry a note on their origin; single values cannot. */
static pto_status_t flag_fitted(pto_machine_t *machine, const char *why, pto_error_t *err) {
    pto_cost_table_t *reduce = &machine->reduce[PTO_SPACE_CPU];
    pto_postal_t *const fitted[] = {&machine->copies[PTO_COPY_H2H][PTO_REACH_ON_SOCKET],
                                    &machine->pageable[PTO_COPY_H2D], &machine->pageable[PTO_COPY_D2H],
                                    reduce->count > 0 ? &reduce->row[0].postal : NULL};
    for (size_t i = 0; i < sizeof fitted / sizeof *fitted; i++) {
        if (!fitted[i] || !pto_postal_known(fitted[i]) || from_samples(fitted[i]) || fitted[i]->flagged)
            continue;
        fitted[i]->flagged = pto_text_copy(why);
        if (!fitted[i]->flagged)
            return out_of_memory(err);
    }
    return PTO_OK;
}

static void note_switch(pto_fit_collectives_t *result, const collective_switch_t *at) {
    pto_fit_collective_t *parameter = &result->parameter[result->parameter_count++];
    snprintf(parameter->name, sizeof parameter->name, "library.%s.cpu.below_bytes",
             pto_collective_name(at->collective));
    parameter->value = (double)at->bytes;
    parameter->gain = NAN;
}

/* Where a search starts: a value for each term. */
typedef struct {
    double value[TERM_COUNT];
} start_t;

/* Returns the typical values times a factor. */
static start_t typical(double factor) {
    start_t start;
    for (int i = 0; i < TERM_COUNT; i++)
        start.value[i] = terms[i].start * (terms[i].fixed_start ? 1 : factor);
    return start;
}

/* Searches from a start: chooses tables and fits terms in turn, until the badness no longer falls. */
static void search_from(collective_fit_t *fit, const start_t *start, pto_fit_collectives_t *result) {
    search_t search = {.fit = fit};
    collective_switch_t switches[SWITCHES_MAX];
    int switch_count = 0;
    for (int i = 0; i < TERM_COUNT; i++)
        if (!terms[i].measured(fit->machine)) {
            search.index[search.count] = i;
            search.value[search.count++] = start->value[i];
        }
    set_all(&search);
    double before = INFINITY;
    for (int round = 0; round < ROUNDS_MAX && fit->status == PTO_OK; round++) {
        collective_fit_library(fit, SWITCHES_MAX, switches, &switch_count);
        if (round == 0)
            drop_insensitive(&search);
        minimise(&search);
        result->badness = mean_badness(fit);
        if (result->badness > before * converged || pto_is_stopped())
            break;
        before = result->badness;
    }
    drop_useless(&search, result);
    for (int i = 0; i < switch_count; i++)
        note_switch(result, &switches[i]);
    result->badness = mean_badness(fit);
    if (fit->status == PTO_OK)
        fit->status = flag_fitted(fit->machine, "fitted to collectives", fit->err);
}

/* --- the fit ------------------------------------------------------------------------------------------- */

static bool any_cell(const collective_fit_t *fit) {
    for (int64_t i = 0; i < fit->score.cell_count; i++)
        if (collective_fit_has(&fit->score.cell[i]))
            return true;
    return false;
}

/* Removes all terms that only collectives determine. */
static void forget_terms(pto_machine_t *machine) {
    for (int i = 0; i < TERM_COUNT; i++)
        if (!terms[i].measured(machine))
            terms[i].set(machine, 0);
    pto_library_tables_clear(&machine->library, &machine->library_count);
}

/* Runs one search; the result replaces `best` if it is better or the first. */
static void run_search(collective_fit_t *work, const pto_machine_t *machine, const start_t *start, bool first,
                       pto_fit_collectives_t *best) {
    pto_fit_collectives_t result = {0};
    work->status = pto_machine_duplicate(machine, &work->machine, work->err);
    if (work->status != PTO_OK)
        return;
    forget_terms(work->machine);
    fit_prices_use(work->prices, work->machine);
    search_from(work, start, &result);
    if (work->status == PTO_OK && (first || result.badness < best->badness)) {
        pto_machine_destroy(best->machine);
        result.machine = work->machine;
        *best = result;
    } else {
        pto_machine_destroy(work->machine);
    }
}

/* A term can compensate for a wrong algorithm, which is then kept: if only large machines have large
 * messages, contention looks like the additional copies of another algorithm. So for each term, the search
 * starts again from the best values with this term divided by 16. */
static void restart_without_each(collective_fit_t *work, const pto_machine_t *machine,
                                 pto_fit_collectives_t *best) {
    start_t found = typical(1);
    bool known[TERM_COUNT] = {false};
    for (int i = 0; i < TERM_COUNT; i++)
        for (int p = 0; p < best->parameter_count; p++)
            if (strcmp(best->parameter[p].name, terms[i].name) == 0) {
                found.value[i] = best->parameter[p].value;
                known[i] = true;
            }
    for (int i = 0; i < TERM_COUNT && work->status == PTO_OK && !pto_is_stopped(); i++) {
        start_t start = found;
        start.value[i] /= 16;
        if (known[i])
            run_search(work, machine, &start, false, best);
    }
}

/* Records the files and node counts that the terms were fitted to. */
static pto_status_t record(pto_machine_t *machine, const pto_collectives_t *collectives,
                           const pto_node_counts_t *nodes, pto_error_t *err) {
    pto_fitted_to_free(machine->fitted_to, machine->fitted_to_count);
    machine->fitted_to_count = 0;
    machine->fitted_to = calloc((size_t)collectives->file_count + 1, sizeof *machine->fitted_to);
    for (int i = 0; i < collectives->file_count && machine->fitted_to; i++) {
        pto_node_counts_t found = pto_collectives_nodes(collectives, i, nodes);
        pto_fitted_to_t *result = &machine->fitted_to[machine->fitted_to_count++];
        const char *slash = strrchr(collectives->path[i], '/');
        char digest[PTO_COLLECTIVES_DIGEST_MAX];
        pto_collectives_digest(collectives, i, digest);
        result->file = pto_text_copy(slash ? slash + 1 : collectives->path[i]);
        result->digest = pto_text_copy(digest);
        result->node_count = found.count;
        memcpy(result->nodes, found.value, sizeof result->nodes);
        if (!result->file || !result->digest)
            return out_of_memory(err);
    }
    return machine->fitted_to ? PTO_OK : out_of_memory(err);
}

pto_status_t pto_fit_collectives(const pto_machine_t *machine, const pto_collectives_t *collectives,
                                 const pto_node_counts_t *nodes, pto_fit_prices_t *prices,
                                 pto_fit_collectives_t *fit, pto_error_t *err) {
    static const double factors[] = {1, 0.25, 4};
    pto_score_options_t options = pto_score_defaults(collectives);
    pto_fit_prices_t *own = prices ? NULL : pto_fit_prices_create();
    collective_fit_t work = {.prices = prices ? prices : own, .err = err};
    pto_fit_collectives_t best = {0};
    if (nodes)
        options.nodes = *nodes;
    work.status =
        work.prices ? pto_score_collect(collectives, &options, &work.score, err) : out_of_memory(err);
    if (work.status == PTO_OK && !any_cell(&work))
        work.status = pto_error_set(err, PTO_ERR_NOT_FOUND, "no collective is left to fit to");
    if (work.status == PTO_OK)
        work.status = collective_fit_allocate(&work);
    gsl_error_handler_t *handler = gsl_set_error_handler_off();
    const bool shown = pto_progress_begin("fitting", sizeof factors / sizeof *factors, 0);
    for (size_t i = 0; i < sizeof factors / sizeof *factors && work.status == PTO_OK; i++) {
        if (i > 0 && pto_is_stopped())
            break;
        const start_t start = typical(factors[i]);
        run_search(&work, machine, &start, i == 0, &best);
        if (shown)
            pto_progress_add(1);
    }
    restart_without_each(&work, machine, &best);
    if (shown)
        pto_progress_end();
    gsl_set_error_handler(handler);
    collective_fit_release(&work);
    pto_fit_prices_destroy(own);
    best.interrupted = pto_is_stopped();
    if (work.status == PTO_OK)
        work.status = record(best.machine, collectives, nodes, err);
    if (work.status != PTO_OK) {
        pto_machine_destroy(best.machine);
        return work.status;
    }
    *fit = best;
    return PTO_OK;
}

/* --- borrowing ------------------------------------------------------------------------------------------ */

/* Returns the key of a machine file that holds a term. */
static const char *key_of(const term_t *term) {
    return term->set == set_pageable ? "copies.pageable.d2h.alpha_s" : term->name;
}

pto_status_t pto_fit_borrow_terms(pto_machine_t *machine, const pto_machine_t *lender, pto_error_t *err) {
    for (int i = 0; i < TERM_COUNT; i++) {
        double value;
        if (terms[i].measured(machine))
            continue;
        pto_status_t status = pto_machine_get(lender, key_of(&terms[i]), &value, NULL);
        if (status == PTO_ERR_MEMORY)
            return pto_error_set(err, status, "out of memory for another machine's terms");
        if (status == PTO_OK)
            terms[i].set(machine, value);
    }
    if (machine->library_count == 0) {
        pto_library_table_t *tables;
        if (!pto_library_tables_copy(lender->library, lender->library_count, &tables))
            return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a library's tables");
        pto_library_tables_free(machine->library, 0);
        machine->library = tables;
        machine->library_count = lender->library_count;
    }
    char why[160];
    snprintf(why, sizeof why, "of %.80s, fitted to collectives there", pto_machine_name(lender));
    return flag_fitted(machine, why, err);
}

/* Fits the model's error: by how much predictions miss measured collectives, which the intervals of
 * parameters do not cover. Machine files store it as `model_error` (docs/model.md, "Intervals").
 *
 * Half-widths are the quantiles of split conformal prediction (Vovk et al. 2005; Lei et al. 2018): of n
 * residuals the one of rank ceil(0.95 (n + 1)). They assume nothing about the residuals' distribution. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/text_file.h"
#include "machine/machine_internal.h"
#include "portolan/fit.h"
#include "portolan/progress.h"
#include "portolan/score.h"
#include "regress.h"

static const double coverage = 0.95;
static const double one_deviation = 0.6827;

typedef struct {
    const pto_strategy_t *strategy;
    double size;      /* |ln(measured / predicted)| */
    bool left_out;    /* its node count was not fitted to */
    double doublings; /* its distance in doublings from the fitted node counts */
} residual_t;

typedef struct {
    int64_t count;
    residual_t *residual;
    int64_t tie_count;
    double *tie; /* |ln ratio| of runner-up and pick, measured over predicted */
    pto_model_error_t error;
    pto_fit_prices_t *prices; /* of the fits that leave a node count out */
    pto_error_t *err;
} work_t;

static pto_status_t out_of_memory(pto_error_t *err) {
    return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a model's error");
}

static int64_t candidate_total(const pto_score_t *score) {
    int64_t total = 0;
    for (int64_t i = 0; i < score->cell_count; i++)
        total += score->cell[i].candidate_count;
    return total;
}

static double log_miss(const pto_score_cell_t *cell, int candidate) {
    return log(cell->candidate[candidate].measured_s / cell->prediction[candidate].price.seconds);
}

static void cover(pto_covered_t *covered, int64_t least, int64_t most) {
    if (covered->most == 0 || least < covered->least)
        covered->least = least;
    if (most > covered->most)
        covered->most = most;
}

static void cover_cell(pto_model_error_t *error, const pto_score_cell_t *cell) {
    cover(&error->node, cell->nodes, cell->nodes);
    cover(&error->proc, cell->gpus_per_node * cell->owners_per_gpu,
          cell->gpus_per_node * cell->procs_per_gpu);
    cover(&error->byte, cell->bytes, cell->bytes);
}

/* Returns the distance of a node count, in doublings, from those that its prediction was fitted to. */
static double doublings_to(const pto_score_t *score, const pto_node_counts_t *known, int64_t nodes) {
    pto_covered_t others = {0};
    for (int64_t i = 0; i < score->cell_count; i++) {
        int64_t other = score->cell[i].nodes;
        if (known ? pto_node_counts_has(known, other) : other != nodes)
            cover(&others, other, other);
    }
    return pto_covered_doublings(&others, nodes);
}

/* `known`: the node counts that terms were fitted to; NULL: for each cell, all others. */
static pto_status_t add_residuals(work_t *work, const pto_score_t *score, const pto_node_counts_t *known) {
    int64_t room = work->count + candidate_total(score);
    if (!PTO_EXTEND(work->residual, room) || !PTO_EXTEND(work->tie, room))
        return out_of_memory(work->err);
    for (int64_t i = 0; i < score->cell_count; i++) {
        const pto_score_cell_t *cell = &score->cell[i];
        bool left_out = !known || !pto_node_counts_has(known, cell->nodes);
        double doublings = left_out ? doublings_to(score, known, cell->nodes) : 0;
        for (int c = 0; c < cell->candidate_count; c++)
            if (cell->prediction[c].applicable && cell->prediction[c].price.seconds > 0)
                work->residual[work->count++] =
                    (residual_t){cell->candidate[c].strategy, fabs(log_miss(cell, c)), left_out, doublings};
        if (cell->picked >= 0 && cell->runner_up >= 0 && doublings <= 0)
            work->tie[work->tie_count++] =
                fabs(log_miss(cell, cell->runner_up) - log_miss(cell, cell->picked));
        if (!left_out)
            cover_cell(&work->error, cell);
    }
    return PTO_OK;
}

static pto_status_t refit_without(const pto_machine_t *machine, const pto_collectives_t *collectives,
                                  const pto_node_counts_t *train, void *context, pto_machine_t **fitted,
                                  pto_error_t *err) {
    pto_fit_collectives_t fit;
    pto_status_t status = pto_fit_collectives(machine, collectives, train, context, &fit, err);
    if (status == PTO_OK)
        *fitted = fit.machine;
    return status;
}

static pto_status_t score_once(work_t *work, const pto_machine_t *machine,
                               const pto_collectives_t *collectives, const pto_score_options_t *options,
                               const pto_node_counts_t *known) {
    pto_score_t score = {0};
    pto_status_t status = pto_score_collect(collectives, options, &score, work->err);
    if (status == PTO_OK)
        status = known ? pto_score_predict(&score, machine, 0, work->err)
                       : pto_score_leave_one_out(&score, collectives, machine, refit_without, work->prices,
                                                 work->err);
    if (status == PTO_OK && pto_is_stopped()) /* the score may have been cut */
        status = pto_error_set(work->err, PTO_ERR_INTERRUPTED, "interrupted");
    if (status == PTO_OK)
        status = add_residuals(work, &score, known);
    pto_score_fini(&score);
    return status == PTO_ERR_NOT_APPLICABLE && !known ? PTO_OK : status; /* a single node count */
}

static double to_digits(double value) { return round(value * 1000) / 1000; }

/* The row of a strategy (NULL: all), from residuals without an extrapolation. */
static pto_status_t add_row(work_t *work, const pto_strategy_t *strategy, double *scratch) {
    int64_t count = 0;
    for (int64_t i = 0; i < work->count; i++)
        if (work->residual[i].doublings <= 0 && (!strategy || work->residual[i].strategy == strategy))
            scratch[count++] = work->residual[i].size;
    double half = fit_conformal(scratch, (size_t)count, coverage);
    if (half <= 0)
        return PTO_OK;
    pto_error_row_t *row = pto_model_error_add(&work->error, strategy ? strategy->name : "all");
    if (!row)
        return out_of_memory(work->err);
    row->log_95 = to_digits(half);
    row->samples = count;
    return PTO_OK;
}

/* By which fraction each doubling beyond the fitted node counts widens the error. */
static double widening(const work_t *work, double *scratch) {
    int64_t count = 0;
    for (int64_t i = 0; i < work->count; i++) {
        const residual_t *residual = &work->residual[i];
        const pto_error_row_t *row = pto_model_error_row(&work->error, residual->strategy->name);
        if (residual->doublings > 0 && row)
            scratch[count++] = fmax(0, (residual->size / row->log_95 - 1) / residual->doublings);
    }
    return to_digits(fit_conformal(scratch, (size_t)count, coverage));
}

static pto_status_t summarise(work_t *work) {
    double *scratch = calloc((size_t)work->count + 1, sizeof *scratch);
    if (!scratch)
        return out_of_memory(work->err);
    pto_status_t status = add_row(work, NULL, scratch);
    for (int i = 0; i < pto_strategy_count() && status == PTO_OK; i++)
        status = add_row(work, pto_strategy_at(i), scratch);
    work->error.doubling = widening(work, scratch);
    work->error.tie = to_digits(fit_conformal(work->tie, (size_t)work->tie_count, one_deviation));
    free(scratch);
    return status;
}

static int64_t count_left_out(const work_t *work) {
    int64_t count = 0;
    for (int64_t i = 0; i < work->count; i++)
        count += work->residual[i].left_out;
    return count;
}

static pto_status_t name_source(work_t *work, const pto_collectives_t *collectives, bool fitted) {
    const char *machine = pto_collectives_provenance(collectives, "machine");
    char text[512];
    long long beyond = (long long)count_left_out(work);
    snprintf(text, sizeof text,
             beyond > 0 ? "%s: %lld times that %s, %lld with their node count left out"
                        : "%s: %lld times that %s",
             machine ? machine : "unnamed", (long long)work->count - beyond,
             fitted || beyond > 0 ? "terms were fitted to" : "nothing was fitted to", beyond);
    work->error.source = pto_text_copy(text);
    return work->error.source ? PTO_OK : out_of_memory(work->err);
}

pto_status_t pto_fit_model_error(pto_machine_t *machine, const pto_collectives_t *collectives,
                                 const pto_node_counts_t *nodes, bool refit, pto_fit_prices_t *prices,
                                 pto_error_t *err) {
    work_t work = {.prices = prices, .err = err};
    pto_score_options_t options = pto_score_defaults(collectives);
    static const pto_node_counts_t all = {0};
    if (nodes && refit)
        options.nodes = *nodes;
    pto_status_t status = score_once(&work, machine, collectives, &options, nodes ? nodes : &all);
    if (status == PTO_OK && refit)
        status = score_once(&work, machine, collectives, &options, NULL);
    if (status == PTO_OK)
        status = summarise(&work);
    if (status == PTO_OK && work.error.row_count > 0)
        status = name_source(&work, collectives, refit);
    if (status == PTO_OK) {
        pto_model_error_fini(&machine->model_error);
        machine->model_error = work.error;
    } else {
        pto_model_error_fini(&work.error);
    }
    free(work.residual);
    free(work.tie);
    return status;
}

pto_status_t pto_fit_borrow_error(pto_machine_t *machine, const pto_machine_t *lender, pto_error_t *err) {
    pto_model_error_t *own = &machine->model_error;
    const pto_model_error_t *other = &lender->model_error;
    char text[640];
    if (!other->source || (own->source && own->doubling > 0))
        return PTO_OK;
    if (own->source) {
        snprintf(text, sizeof text, "%s; doubling of %s", own->source, pto_machine_name(lender));
    } else {
        snprintf(text, sizeof text, "of %s: %s", pto_machine_name(lender), other->source);
        pto_model_error_fini(own);
        if (!pto_model_error_copy(other, own))
            return out_of_memory(err);
    }
    free(own->source);
    own->source = pto_text_copy(text);
    own->doubling = other->doubling;
    return own->source ? PTO_OK : out_of_memory(err);
}

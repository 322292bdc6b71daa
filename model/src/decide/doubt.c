/* How certain a pick is: the margin between two predictions and its deviation, in which common terms cancel,
 * the expected cost of a wrong pick, and what to measure before trusting it. */
#include "decide/doubt.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "machine/error_model.h"

/* A normal variable whose mean is this many standard deviations is below 0 with a probability of 1/3. */
static const double deviations_of_a_third = 0.4307;

/* Margins below this are close: portolan-score does not count such cells as clear. */
static const double close_margin = 0.1;

static const double negligible_regret = 1e-9;

/* Returns the probability that a standard normal variable is below x. */
static double normal_below(double x) { return erfc(-x / sqrt(2)) / 2; }

/* Returns how often a price contains a parameter. */
static double uses(const pto_explanation_t *explanation, const pto_param_t *param) {
    double count = 0;
    for (int i = 0; i < explanation->count; i++)
        if (explanation->term[i].param == param)
            count += explanation->term[i].count;
    return count;
}

/* Returns the standard deviation that one parameter gives to ln(other / best). */
static double param_sd(const pto_prediction_t *best, const pto_prediction_t *other,
                       const pto_param_t *param) {
    if (!param || !param->has_interval)
        return 0;
    double slope = uses(&other->explanation, param) / other->price.seconds -
                   uses(&best->explanation, param) / best->price.seconds;
    /* the margin shrinks as the parameter falls (slope > 0) or rises: take the interval's half on that side
     */
    double reach = slope > 0 ? param->value - param->low : param->high - param->value;
    return fabs(slope) * reach / pto_deviations_95;
}

static bool seen_before(const pto_explanation_t *explanation, int index) {
    for (int i = 0; i < index; i++)
        if (explanation->term[i].param == explanation->term[index].param)
            return true;
    return false;
}

/* Returns the variance of the margin from the parameters of an explanation, each once, without those of
 * `except`, which may be NULL. Keeps the parameter with the largest deviation in `doubt`. */
static double add_variance(const pto_prediction_t *best, const pto_prediction_t *other,
                           const pto_explanation_t *explanation, const pto_explanation_t *except,
                           pto_doubt_t *doubt) {
    double variance = 0;
    for (int i = 0; i < explanation->count; i++) {
        const pto_term_t *term = &explanation->term[i];
        if (seen_before(explanation, i) || (except && uses(except, term->param) > 0))
            continue;
        double sd = param_sd(best, other, term->param);
        variance += sd * sd;
        if (sd > doubt->worst_sd) {
            doubt->worst_sd = sd;
            doubt->worst = term;
        }
    }
    return variance;
}

/* Returns the margin's deviation if the two costs are taken as independent: without explanations, and for
 * energy. */
static double independent_sd(pto_cost_t best, pto_cost_t other) {
    double above = best.value > 0 ? log(best.high / best.value) : 0;
    double below = other.low > 0 ? log(other.value / other.low) : INFINITY;
    return hypot(above, below) / pto_deviations_95;
}

static void judge_margin(pto_doubt_t *doubt) {
    const bool model_known = doubt->model_sd > 0;
    const double limit = model_known ? deviations_of_a_third : pto_deviations_95;
    double close = log1p(close_margin);
    if (model_known)
        close = fmin(close, deviations_of_a_third * doubt->model_sd);
    const bool doubtful = doubt->margin <= limit * doubt->sd;
    doubt->near_tie = doubtful && doubt->margin <= close * (1 + 1e-12); /* rounding */
    doubt->overlap = doubtful && !doubt->near_tie;
}

pto_doubt_t pto_doubt(const pto_prediction_t *best, const pto_prediction_t *other, pto_by_t by) {
    pto_doubt_t doubt = {0};
    pto_cost_t best_cost, other_cost;
    if (!pto_prediction_cost(best, by, &best_cost) || !pto_prediction_cost(other, by, &other_cost) ||
        best_cost.value <= 0)
        return doubt;
    bool explained = by == PTO_BY_TIME && best->explanation.count > 0 && other->explanation.count > 0;
    double variance = 0;
    doubt.margin = log(other_cost.value / best_cost.value);
    if (explained)
        variance = add_variance(best, other, &best->explanation, NULL, &doubt) +
                   add_variance(best, other, &other->explanation, &best->explanation, &doubt);
    doubt.model_sd = explained ? fmax(best->price.tie_log_sd, other->price.tie_log_sd) : 0;
    doubt.sd =
        explained ? sqrt(variance + doubt.model_sd * doubt.model_sd) : independent_sd(best_cost, other_cost);
    judge_margin(&doubt);
    if (doubt.sd > 0) /* E[max(0, R - 1)] for R = best / other, where ln R is normal: -margin, sd */
        doubt.regret =
            exp(doubt.sd * doubt.sd / 2 - doubt.margin) * normal_below(doubt.sd - doubt.margin / doubt.sd) -
            normal_below(-doubt.margin / doubt.sd);
    if (!(doubt.regret > negligible_regret)) /* rounding, or not a number */
        doubt.regret = 0;
    return doubt;
}

/* The benchmark that determines the parameters below a key. The first matching row is used; %s stands for the
 * parameter's next word after the row's key. */
static const struct {
    const char *key;
    const char *benchmark;
} benchmarks[] = {{"messages.strided", "ping_pong_strided"},
                  {"messages", "ping_pong"},
                  {"injection", "injection"},
                  {"gap", "multi_message"},
                  {"copies.shared", "memcpy_shared_%s"},
                  {"copies.queued", "memcpy_queued_%s"},
                  {"copies.pageable", "memcpy_pageable_%s"},
                  {"copies.strided", "memcpy_strided_%s"},
                  {"copies", "memcpy_%s"},
                  {"peer", "memcpy_peer"},
                  {"reduce", "reduce"},
                  {"remote.all_s_per_byte", "remote_store_all"},
                  {"remote.lines", "run_lines"},
                  {"remote", "remote_%s_16"},
                  {"signals.flag_s", "signal_flag"},
                  {"signals.event_s", "signal_event"},
                  {"signals.device_s", "signal_device"},
                  {"launch.kernel_s", "kernel_launch"},
                  {"launch.graph_s", "graph_launch"},
                  {"launch.run_s", "run_launch"},
                  {"nccl", "nccl_%s"}};

/* "messages.gpu" is below "messages", but "messages_setup" is not. */
static bool is_below(const char *key, const char *above) {
    size_t length = strlen(above);
    return pto_text_begins(key, above) && (key[length] == '.' || key[length] == '\0');
}

static void name_benchmark(const char *key, char *benchmark, size_t size) {
    for (size_t i = 0; i < sizeof benchmarks / sizeof *benchmarks; i++) {
        if (!is_below(key, benchmarks[i].key))
            continue;
        const char *name = benchmarks[i].benchmark, *slot = strstr(name, "%s");
        const char *word = key + strlen(benchmarks[i].key);
        word += *word == '.';
        if (slot)
            snprintf(benchmark, size, "%.*s%.*s%s", (int)(slot - name), name, (int)strcspn(word, "."), word,
                     slot + 2);
        else
            snprintf(benchmark, size, "%s", name);
        return;
    }
}

/* Returns the mean bytes of a message or copy, if both terms of its cost are in the price; else 0. The count
 * of alpha_s is the number of messages or copies, that of beta_s_per_byte the number of their bytes. */
static int64_t bytes_each(const pto_explanation_t *explanation, const char *key) {
    static const char start[] = ".alpha_s", rate[] = ".beta_s_per_byte";
    const char *dot = strrchr(key, '.');
    int stem = dot ? (int)(dot - key) : 0; /* length of the key without its last word */
    double starts = 0, bytes = 0;
    for (int i = 0; i < explanation->count; i++) {
        const pto_term_t *term = &explanation->term[i];
        if (strncmp(term->key, key, (size_t)stem) != 0)
            continue;
        starts += strcmp(term->key + stem, start) == 0 ? term->count : 0;
        bytes += strcmp(term->key + stem, rate) == 0 ? term->count : 0;
    }
    return starts > 0 ? (int64_t)llround(bytes / starts) : 0;
}

pto_settle_t pto_settle(const pto_prediction_t *best, const pto_prediction_t *other,
                        const pto_doubt_t *doubt) {
    pto_settle_t settle = {0};
    if (!doubt->worst || doubt->worst_sd < doubt->model_sd)
        return settle;
    snprintf(settle.key, sizeof settle.key, "%s", doubt->worst->key);
    name_benchmark(settle.key, settle.benchmark, sizeof settle.benchmark);
    settle.bytes = bytes_each(&best->explanation, settle.key);
    if (settle.bytes == 0)
        settle.bytes = bytes_each(&other->explanation, settle.key);
    return settle;
}

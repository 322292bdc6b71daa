/* Explanations of prices: their terms for people and as CSV, and which of the parameters are doubtful. */
#include "explain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

/* --- flagged parameters -------------------------------------------------------------------------------- */

pto_status_t pto_flags_find(pto_machine_t *machine, pto_flags_t *flags, pto_error_t *err) {
    return pto_machine_params(machine, &flags->param, &flags->count, err);
}

void pto_flags_fini(pto_flags_t *flags) {
    free(flags->param);
    *flags = (pto_flags_t){0};
}

const char *pto_flag_of(const pto_flags_t *flags, const pto_param_t *param) {
    for (int i = 0; i < flags->count && param && param->line != PTO_LINE_WHAT_IF; i++)
        if (flags->param[i].param == param)
            return flags->param[i].flagged;
    return NULL;
}

/* --- for people ---------------------------------------------------------------------------------------- */

typedef struct {
    const pto_predictions_t *predictions;
    const pto_flags_t *flags;
    const char *file; /* the machine file's name without its folder */
} explained_t;

static bool uses(const pto_term_t *term, int count, const pto_param_t *param) {
    for (int t = 0; t < count; t++)
        if (term[t].param == param)
            return true;
    return false;
}

static bool is_used(const pto_predictions_t *predictions, const pto_param_t *param) {
    for (int64_t cell = 0; cell < predictions->point_count * predictions->strategy_count; cell++) {
        const pto_prediction_t *at = &predictions->prediction[cell];
        if (at->applicable && (uses(at->explanation.term, at->explanation.count, param) ||
                               uses(at->setup.term, at->setup.term_count, param)))
            return true;
    }
    return false;
}

static const char *file_of(const explained_t *explained, const pto_param_t *param) {
    return param->file > 0 ? pto_file_name(pto_machine_file(explained->predictions->machine, param->file))
                           : explained->file;
}

/* The file's remarks on the flagged parameters in use, each once: parameters of one row share a remark. */
static void print_remarks(const explained_t *explained) {
    const char *before = NULL;
    for (int i = 0; i < explained->flags->count; i++) {
        const pto_machine_param_t *param = &explained->flags->param[i];
        if (!param->flagged || param->flagged == before || !pto_flag_of(explained->flags, param->param) ||
            !is_used(explained->predictions, param->param))
            continue;
        if (!before)
            printf("\n# flagged, so of doubtful value:\n");
        before = param->flagged;
        printf("# %s:%d: %.*s: %s\n", file_of(explained, param->param), param->param->line,
               (int)(strrchr(param->key, '.') - param->key), param->key, param->flagged);
    }
}

static void print_place(const pto_param_t *param, const char *file) {
    if (param->line == PTO_LINE_WHAT_IF)
        printf("(what if)");
    else
        printf("(%s:%d)", file, param->line);
}

static void explain_term(const explained_t *explained, const pto_term_t *term, double total_s) {
    if (!term->param) {
        printf("  %12s         %-20s %12.6g x %s: not in the machine file, not priced\n", "-", term->stage,
               term->count, term->key);
        return;
    }
    if (term->count == 0) /* rows of shares that others of the process's GPU determine */
        return;
    printf("  %12.3f  %5.1f%% %-20s %12.6g x %s = %.4g  ", term->seconds * 1e6, 100 * term->seconds / total_s,
           term->stage, term->count, term->key, term->param->value);
    print_place(term->param, term->file ? pto_file_name(term->file) : explained->file);
    printf(pto_flag_of(explained->flags, term->param) ? "  flagged\n" : "\n");
}

static void explain_energy(const explained_t *explained, const pto_prediction_t *prediction) {
    const pto_energy_t *energy = &prediction->energy;
    if (!prediction->has_energy) {
        printf("  energy not known: %s\n", prediction->reason);
        return;
    }
    printf("  energy %.3f mJ\n", energy->joules * 1e3);
    for (int power = 0; power < PTO_POWER_COUNT; power++) {
        const pto_energy_part_t *part = &energy->part[power];
        if (!part->param && part->device_s > 0)
            printf("  %12s         %-20s %12.6g x %s: not in the machine file, not counted\n", "-",
                   "device seconds", part->device_s, part->key);
        if (!part->param || part->device_s == 0)
            continue;
        printf("  %12.3f  %5.1f%% %-20s %12.6g x %s = %.4g  ", part->joules * 1e3,
               100 * part->joules / energy->joules, "device seconds", part->device_s, part->key,
               part->param->value);
        print_place(part->param, file_of(explained, part->param));
        putchar('\n');
    }
}

static void explain_missing_setup(const pto_setup_t *setup) {
    const char *between = "";
    printf("  setup not priced: not in the machine file: ");
    for (int t = 0; t < setup->term_count; t++)
        if (!setup->term[t].param) {
            printf("%s%s", between, setup->term[t].key);
            between = ", ";
        }
    putchar('\n');
}

/* Compared with each strategy that needs less setup. */
static void explain_payback(const pto_predictions_t *predictions, int64_t point,
                            const pto_prediction_t *own) {
    const char *opening = "  paid back ";
    double calls;
    for (int i = 0; i < predictions->strategy_count; i++) {
        if (!pto_payback(own, pto_prediction_at(predictions, point, i), &calls))
            continue;
        if (isinf(calls))
            printf("%snever against %s", opening, predictions->strategy[i]->name);
        else
            printf("%sfrom %.0f %s on against %s", opening, calls, calls > 1 ? "calls" : "call",
                   predictions->strategy[i]->name);
        opening = ", ";
    }
    fputs(*opening == ',' ? "\n" : "", stdout);
}

static void explain_setup(const explained_t *explained, int64_t point, int strategy) {
    const pto_predictions_t *predictions = explained->predictions;
    const pto_prediction_t *own = pto_prediction_at(predictions, point, strategy);
    const pto_setup_t *setup = &own->setup;
    if (!setup->known) {
        explain_missing_setup(setup);
        return;
    }
    if (setup->term_count == 0) {
        printf("  setup none\n");
        return;
    }
    printf("  setup %.3f us, once\n", setup->seconds * 1e6);
    for (int t = 0; t < setup->term_count; t++)
        explain_term(explained, &setup->term[t], setup->seconds);
    explain_payback(predictions, point, own);
}

/* Seconds of a stage on the path: of its starts, or of its bytes. */
static double stage_seconds(const pto_explanation_t *explanation, const char *stage, bool of_bytes) {
    double seconds = 0;
    for (int t = 0; t < explanation->count; t++) {
        const pto_term_t *term = &explanation->term[t];
        if (strcmp(term->stage, stage) == 0 && (strstr(term->key, "s_per_byte") != NULL) == of_bytes)
            seconds += term->seconds;
    }
    return seconds;
}

/* Equation (8h) from the path, which has the slowest stage of every chunk and the others of one: the bytes of
 * the others beside the start of the slowest. */
static void explain_best_chunks(const pto_explanation_t *explanation, int64_t chunks, bool ring,
                                int64_t bytes) {
    const char *slowest = NULL;
    double slowest_s = 0, bytes_s = 0;
    for (int t = 0; t < explanation->count; t++) {
        const pto_term_t *term = &explanation->term[t];
        bytes_s += strstr(term->key, "s_per_byte") ? term->seconds : 0;
        if (stage_seconds(explanation, term->stage, true) > slowest_s) {
            slowest = term->stage;
            slowest_s = stage_seconds(explanation, slowest, true);
        }
    }
    double starts_s = slowest ? stage_seconds(explanation, slowest, false) : 0;
    double best = (double)chunks * sqrt((bytes_s - slowest_s) / starts_s);
    if (starts_s > 0 && best > 0)
        printf("; c* = sqrt(%.4g us / %.4g us) = %.3g, u* = %s = %.4g bytes",
               1e6 * (bytes_s - slowest_s) * (double)chunks, 1e6 * starts_s / (double)chunks, best,
               ring ? "sqrt(s alpha / beta)" : "s / c*", (double)bytes / best);
}

/* How many chunks a message is cut into, and why. */
static void explain_chunks(const explained_t *explained, int64_t point, int strategy) {
    const pto_scenario_t *scenario = explained->predictions->scenario;
    const pto_prediction_t *prediction = pto_prediction_at(explained->predictions, point, strategy);
    if (prediction->chunks == 0 || scenario->chunks == 1)
        return;
    printf("  chunks %lld, %s", (long long)prediction->chunks,
           scenario->chunks > 0 ? "as asked for" : "the cheapest of 1, 2, 4, ...");
    bool one_message =
        scenario->collective == PTO_COLLECTIVE_PAIR || scenario->collective == PTO_COLLECTIVE_MESSAGES;
    const pto_strategy_t *cut = explained->predictions->strategy[strategy];
    pto_request_t request = pto_scenario_request(scenario, point, cut, NULL);
    if (one_message)
        explain_best_chunks(&prediction->explanation, prediction->chunks, cut->direct, request.bytes);
    putchar('\n');
}

static void explain_cell(const explained_t *explained, int64_t point, int strategy) {
    const pto_predictions_t *predictions = explained->predictions;
    const pto_prediction_t *prediction = pto_prediction_at(predictions, point, strategy);
    char at[PTO_BYTES_TEXT_MAX];
    printf("\n%s: %s", pto_point_title(predictions, predictions->point[point], at),
           predictions->strategy[strategy]->name);
    if (!prediction->applicable) {
        printf(" does not apply: %s\n", prediction->reason);
        return;
    }
    char choice[PTO_CHOICE_TEXT_MAX];
    printf(" (%s%s), %.3f us\n", prediction->algorithm->name,
           pto_choice_text(predictions->strategy[strategy], prediction->chunks, prediction->staged_members,
                           choice),
           prediction->price.seconds * 1e6);
    char from[PTO_EXTRAPOLATED_MAX];
    if (pto_extrapolated_text(&prediction->price, from))
        printf("  extrapolated from %s\n", from);
    explain_chunks(explained, point, strategy);
    for (int t = 0; t < prediction->explanation.count; t++)
        explain_term(explained, &prediction->explanation.term[t], prediction->price.seconds);
    if (predictions->by == PTO_BY_ENERGY)
        explain_energy(explained, prediction);
    explain_setup(explained, point, strategy);
}

void pto_print_explanations(const pto_predictions_t *predictions, const pto_flags_t *flags) {
    const explained_t explained = {predictions, flags, pto_file_name(pto_machine_path(predictions->machine))};
    pto_print_header(stdout, "predict --explain", predictions);
    printf("# critical path: microseconds, share, stage, count x parameter = value (line of the machine "
           "file)\n");
    for (int64_t point = 0; point < predictions->point_count; point++)
        for (int i = 0; i < predictions->strategy_count; i++)
            explain_cell(&explained, point, i);
    print_remarks(&explained);
}

/* --- csv ----------------------------------------------------------------------------------------------- */

/* A line of a file that the machine file inherits follows that file's name. */
static void csv_place(const pto_machine_t *machine, const pto_param_t *param) {
    printf(",%.9g,", param->value);
    if (param->line != PTO_LINE_WHAT_IF && param->file > 0)
        printf("%s:", pto_file_name(pto_machine_file(machine, param->file)));
    if (param->line != PTO_LINE_WHAT_IF)
        printf("%d", param->line);
}

/* The columns up to the part's name. */
static void csv_start(const pto_predictions_t *predictions, int64_t cell, const char *part) {
    pto_print_csv_cell(stdout, predictions, cell);
    printf("%s,", part);
}

static void csv_terms(const pto_predictions_t *predictions, const pto_flags_t *flags, int64_t cell,
                      const char *part, const pto_term_t *term, int count) {
    for (int t = 0; t < count; t++) {
        csv_start(predictions, cell, part);
        pto_print_csv_text(stdout, term[t].stage);
        printf(",%s,%.17g", term[t].key, term[t].count);
        if (term[t].param) {
            const char *flagged = pto_flag_of(flags, term[t].param);
            csv_place(predictions->machine, term[t].param);
            printf(",%.9g,,", term[t].seconds);
            pto_print_csv_text(stdout, flagged ? flagged : "");
        } else {
            printf(",,,,,");
        }
        putchar('\n');
    }
}

static void csv_energy(const pto_predictions_t *predictions, int64_t cell) {
    const pto_energy_t *energy = &predictions->prediction[cell].energy;
    for (int power = 0; power < PTO_POWER_COUNT; power++) {
        const pto_energy_part_t *part = &energy->part[power];
        if (!(part->device_s > 0))
            continue;
        csv_start(predictions, cell, "energy");
        printf("device seconds,%s,%.9g", part->key, part->device_s);
        if (part->param) {
            csv_place(predictions->machine, part->param);
            printf(",,%.9g,\n", part->joules);
        } else {
            printf(",,,,,\n");
        }
    }
}

void pto_print_explanations_csv(const pto_predictions_t *predictions, const pto_flags_t *flags) {
    pto_print_changes(stdout, predictions->machine);
    pto_print_energy_note(stdout, predictions);
    printf("%s,strategy,algorithm,part,stage,parameter,count,value,line,seconds,joules,flagged\n",
           pto_sweep_kind_name(predictions->sweep));
    for (int64_t cell = 0; cell < predictions->point_count * predictions->strategy_count; cell++) {
        const pto_prediction_t *prediction = &predictions->prediction[cell];
        if (!prediction->applicable) {
            csv_start(predictions, cell, "");
            printf(",,,,,,,\n");
            continue;
        }
        csv_terms(predictions, flags, cell, "price", prediction->explanation.term,
                  prediction->explanation.count);
        csv_terms(predictions, flags, cell, "setup", prediction->setup.term, prediction->setup.term_count);
        if (predictions->by == PTO_BY_ENERGY && prediction->has_energy)
            csv_energy(predictions, cell);
    }
}

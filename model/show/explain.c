/* `predict --explain`: the terms of each price, setup and energy, as text and as CSV, with the parameters
 * that the machine file flags as doubtful. */
#include "explain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "command_line/terminal.h"
#include "portolan/units.h"
#include "record.h"
#include "table.h"

const char *pto_flag_of(const pto_flags_t *flags, const pto_param_t *param) {
    for (int i = 0; i < flags->count && param && param->line != PTO_LINE_WHAT_IF; i++)
        if (flags->param[i].param == param)
            return flags->param[i].flagged;
    return NULL;
}

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
        const pto_prediction_t *prediction = &predictions->prediction[cell];
        if (prediction->applicable &&
            (uses(prediction->explanation.term, prediction->explanation.count, param) ||
             uses(prediction->setup->term, prediction->setup->term_count, param)))
            return true;
    }
    return false;
}

/* The name of the file that sets a parameter: the machine file, or one that it inherits from. */
static const char *file_of(const explained_t *explained, const pto_param_t *param) {
    return param->file > 0 ? pto_file_name(pto_machine_file(explained->predictions->machine, param->file))
                           : explained->file;
}

/* Prints the machine file's remarks on flagged parameters in use. The parameters of a row in the file share
 * one remark, and follow each other in the list. */
static void print_remarks(const explained_t *explained) {
    const char *before = NULL; /* the last remark that was printed */
    for (int i = 0; i < explained->flags->count; i++) {
        const pto_machine_param_t *param = &explained->flags->param[i];
        if (!param->flagged || param->flagged == before || !pto_flag_of(explained->flags, param->param) ||
            !is_used(explained->predictions, param->param))
            continue;
        if (!before)
            printf("\n# flagged, so of doubtful value:\n");
        before = param->flagged;
        pto_print_note(stdout, "%s:%d: %.*s: %s", file_of(explained, param->param), param->param->line,
                       (int)(strrchr(param->key, '.') - param->key), param->key, param->flagged);
    }
}

/* The columns of a row: share, amount, count, and from this column on the parameter. */
enum { REST_COLUMN = 27 };

static const char *count_text(double count, char text[32]) {
    snprintf(text, 32, count < 1e6 && floor(count) == count ? "%.0f" : "%.3g", count);
    return text;
}

enum { VALUE_TEXT_MAX = 64 };

/* A value with the unit that its key ends in: "13.4 us", "34.9 ps/B", "1.20 us/message", "150 W". */
static const char *value_text(const char *key, double value, char text[VALUE_TEXT_MAX]) {
    static const char per[] = "s_per_";
    const char *unit = strstr(key, per);
    if (pto_text_ends(key, "s_per_byte"))
        snprintf(text, VALUE_TEXT_MAX, "%.3g ps/B", 1e12 * value);
    else if (unit)
        snprintf(text, VALUE_TEXT_MAX, "%s/%.24s", PTO_SECONDS_TEXT(value), unit + strlen(per));
    else if (pto_text_ends(key, "_s"))
        pto_seconds_text(value, text);
    else
        snprintf(text, VALUE_TEXT_MAX, pto_text_ends(key, "_w") ? "%.4g W" : "%.4g", value);
    return text;
}

/* The line that sets a parameter: ":87", or "base.yaml:87" if the machine file inherits it from `file`. */
static void place_text(const explained_t *explained, const pto_param_t *param, const char *file, char *text,
                       size_t text_size) {
    if (param->line == PTO_LINE_WHAT_IF)
        snprintf(text, text_size, "(what if)");
    else
        snprintf(text, text_size, "%s:%d", strcmp(file, explained->file) == 0 ? "" : file, param->line);
}

/* Prints a row: a term's share of the whole (negative: not priced), its amount of time or energy, how often
 * it is charged, and the text about its parameter. */
static void print_row(double share, const char *amount, double count, const char *rest) {
    char number[32];
    if (share < 0)
        printf("%6s", "");
    else
        printf("%5.1f%%", 100 * share);
    printf(" %8s %8s x ", amount, count_text(count, number));
    pto_print_wrapped(stdout, rest, REST_COLUMN, pto_terminal_width(stdout));
}

/* Whether a term has a row. The count is 0 if other processes of the GPU determine the time of a shared
 * resource. */
static bool has_row(const pto_term_t *term) {
    return !term->param || (term->count != 0 && term->seconds != 0);
}

static void explain_term(const explained_t *explained, const pto_term_t *term, double total_s) {
    char rest[PTO_PARAM_KEY_MAX + 512], place[PTO_ERROR_FILE_MAX], value[VALUE_TEXT_MAX];
    if (!term->param) {
        snprintf(rest, sizeof rest, "%s: not in the machine file, not priced", term->key);
        print_row(-1, "-", term->count, rest);
        return;
    }
    place_text(explained, term->param, term->file ? pto_file_name(term->file) : explained->file, place,
               sizeof place);
    snprintf(rest, sizeof rest, "%s = %s %s%s", term->key, value_text(term->key, term->param->value, value),
             place, pto_flag_of(explained->flags, term->param) ? " flagged" : "");
    print_row(term->seconds / total_s, PTO_SECONDS_TEXT(term->seconds), term->count, rest);
}

/* Prints terms, with the name of each stage above its rows. */
static void explain_terms(const explained_t *explained, const pto_term_t *term, int count, double total_s) {
    const char *stage = NULL;
    for (int t = 0; t < count; t++) {
        if (!has_row(&term[t]))
            continue;
        if (!stage || strcmp(term[t].stage, stage) != 0)
            printf("%s\n", term[t].stage);
        explain_term(explained, &term[t], total_s);
        stage = term[t].stage;
    }
}

static void explain_energy(const explained_t *explained, const pto_prediction_t *prediction) {
    const pto_energy_t *energy = &prediction->energy;
    char text[PTO_SECONDS_TEXT_MAX], value[VALUE_TEXT_MAX], place[PTO_ERROR_FILE_MAX],
        rest[PTO_PARAM_KEY_MAX + 512];
    if (!prediction->has_energy) {
        pto_print_note(stdout, "energy not known: %s", prediction->reason);
        return;
    }
    printf("energy %s: device seconds x power\n", pto_joules_text(energy->joules, text));
    for (int power = 0; power < PTO_POWER_COUNT; power++) {
        const pto_energy_part_t *part = &energy->part[power];
        if (part->device_s == 0)
            continue;
        if (!part->param) {
            snprintf(rest, sizeof rest, "%s: not in the machine file, not counted", part->key);
            print_row(-1, "-", part->device_s, rest);
            continue;
        }
        place_text(explained, part->param, file_of(explained, part->param), place, sizeof place);
        snprintf(rest, sizeof rest, "%s = %s %s", part->key, value_text(part->key, part->param->value, value),
                 place);
        print_row(part->joules / energy->joules, pto_joules_text(part->joules, text), part->device_s, rest);
    }
}

static void explain_missing_setup(const pto_setup_t *setup) {
    pto_text_t list = {0};
    for (int t = 0; t < setup->term_count; t++)
        if (!setup->term[t].param)
            pto_list_add(&list, "setup not priced: not in the machine file: ", setup->term[t].key);
    pto_print_list(&list);
}

/* Prints, for each strategy that needs less setup, from which number of calls on this one costs no more. */
static void explain_payback(const pto_predictions_t *predictions, int64_t point,
                            const pto_prediction_t *prediction) {
    char text[2048] = "";
    pto_line_t line = {.text = text, .size = sizeof text};
    double calls;
    for (int i = 0; i < predictions->strategy_count; i++) {
        if (!pto_payback(prediction, pto_prediction_at(predictions, point, i), &calls))
            continue;
        pto_line_add(&line, "%s", *text ? ", " : "paid back ");
        if (isinf(calls))
            pto_line_add(&line, "never");
        else
            pto_line_add(&line, "from %.0f %s on", calls, calls > 1 ? "calls" : "call");
        pto_line_add(&line, " against %s", predictions->strategy[i]->name);
    }
    if (*text)
        pto_print_text(stdout, "%s", text);
}

static void explain_setup(const explained_t *explained, int64_t point, int strategy) {
    const pto_predictions_t *predictions = explained->predictions;
    const pto_prediction_t *prediction = pto_prediction_at(predictions, point, strategy);
    const pto_setup_t *setup = prediction->setup;
    if (!setup->known) {
        explain_missing_setup(setup);
        return;
    }
    if (setup->term_count == 0) {
        printf("setup none\n");
        return;
    }
    printf("setup %s, once\n", PTO_SECONDS_TEXT(setup->seconds));
    explain_terms(explained, setup->term, setup->term_count, setup->seconds);
    explain_payback(predictions, point, prediction);
}

static bool is_per_byte(const pto_term_t *term) { return strstr(term->key, "s_per_byte") != NULL; }

/* Returns the seconds of a stage on the critical path: if `per_byte`, those that grow with the bytes; else
 * all others, which are start-up times. */
static double stage_seconds(const pto_explanation_t *explanation, const char *stage, bool per_byte) {
    double seconds = 0;
    for (int t = 0; t < explanation->count; t++) {
        const pto_term_t *term = &explanation->term[t];
        if (strcmp(term->stage, stage) == 0 && is_per_byte(term) == per_byte)
            seconds += term->seconds;
    }
    return seconds;
}

/* Formats the best number of chunks, c*, by equation (8h) of docs/model.md: c* = sqrt(b / a), where b is the
 * per-byte time of the whole message in all stages but the slowest, and a is the start-up time of one chunk
 * in the slowest. The critical path has all chunks of the slowest stage, but one chunk of the others. So b is
 * the path's time in the others times `chunks`, and a is its start-up time in the slowest over `chunks`. */
static void explain_best_chunks(const pto_explanation_t *explanation, int64_t chunks, bool ring,
                                int64_t bytes, char *text, size_t text_size) {
    const char *slowest = NULL;
    double slowest_s = 0, bytes_s = 0;
    for (int t = 0; t < explanation->count; t++) {
        const pto_term_t *term = &explanation->term[t];
        bytes_s += is_per_byte(term) ? term->seconds : 0;
        if (stage_seconds(explanation, term->stage, true) > slowest_s) {
            slowest = term->stage;
            slowest_s = stage_seconds(explanation, slowest, true);
        }
    }
    double starts_s = slowest ? stage_seconds(explanation, slowest, false) : 0;
    double best = (double)chunks * sqrt((bytes_s - slowest_s) / starts_s);
    if (starts_s > 0 && best > 0)
        snprintf(text, text_size, "; c* = sqrt(%.4g us / %.4g us) = %.3g, u* = %s = %.4g bytes",
                 1e6 * (bytes_s - slowest_s) * (double)chunks, 1e6 * starts_s / (double)chunks, best,
                 ring ? "sqrt(s alpha / beta)" : "s / c*", (double)bytes / best);
}

/* Prints how many chunks a message is cut into, and why. */
static void explain_chunks(const explained_t *explained, int64_t point, int strategy) {
    const pto_scenario_t *scenario = explained->predictions->scenario;
    const pto_prediction_t *prediction = pto_prediction_at(explained->predictions, point, strategy);
    if (prediction->chunks == 0 || scenario->chunks == 1)
        return;
    char best[160] = "";
    bool one_message =
        scenario->collective == PTO_COLLECTIVE_PAIR || scenario->collective == PTO_COLLECTIVE_MESSAGES;
    const pto_strategy_t *chunked = explained->predictions->strategy[strategy];
    pto_request_t request = pto_scenario_request(scenario, point, chunked, NULL);
    if (one_message)
        explain_best_chunks(&prediction->explanation, prediction->chunks, chunked->direct, request.bytes,
                            best, sizeof best);
    pto_print_text(stdout, "chunks %lld, %s%s", (long long)prediction->chunks,
                   scenario->chunks > 0 ? "as asked for" : "the cheapest of 1, 2, 4, ...", best);
}

static void explain_cell(const explained_t *explained, int64_t point, int strategy) {
    const pto_predictions_t *predictions = explained->predictions;
    const pto_prediction_t *prediction = pto_prediction_at(predictions, point, strategy);
    const char *title = PTO_POINT_TITLE(predictions, predictions->point[point]);
    const char *name = predictions->strategy[strategy]->name;
    putchar('\n');
    if (!prediction->applicable) {
        pto_print_text(stdout, "%s: %s does not apply: %s", title, name, prediction->reason);
        return;
    }
    char choice[PTO_CHOICE_TEXT_MAX];
    pto_choice_text(predictions->strategy[strategy], prediction->chunks, prediction->staged_members, choice);
    pto_print_text(stdout, "%s: %s (%s%s), %s", title, name, prediction->algorithm->name, choice,
                   PTO_SECONDS_TEXT(prediction->price.seconds));
    char from[PTO_EXTRAPOLATED_MAX];
    if (pto_extrapolated_text(&prediction->price, from))
        pto_print_text(stdout, "extrapolated from %s", from);
    explain_chunks(explained, point, strategy);
    explain_terms(explained, prediction->explanation.term, prediction->explanation.count,
                  prediction->price.seconds);
    if (predictions->by == PTO_BY_ENERGY)
        explain_energy(explained, prediction);
    explain_setup(explained, point, strategy);
}

void pto_print_explanations(const pto_predictions_t *predictions, const pto_flags_t *flags) {
    const explained_t explained = {predictions, flags, pto_file_name(pto_machine_path(predictions->machine))};
    pto_print_header("predict --explain", predictions);
    pto_print_note(stdout, "critical path, stage by stage, with lines of %s:", explained.file);
    puts("# Share     Time    Count   Parameter = value, line");
    for (int64_t point = 0; point < predictions->point_count; point++)
        for (int i = 0; i < predictions->strategy_count; i++)
            explain_cell(&explained, point, i);
    print_remarks(&explained);
}

typedef struct {
    const char *part; /* "price", "setup", "energy"; "": the strategy does not apply */
    const char *stage, *key;
    double count;
    const pto_param_t *param; /* NULL: not in the machine file */
    bool is_energy;
    double value;        /* the term in seconds; of the energy in joules */
    const char *flagged; /* the machine file's remark, or NULL */
} csv_term_t;

/* Prints a parameter's line, after the file's name if the machine file inherits it from another file. */
static void csv_place(const pto_machine_t *machine, const pto_param_t *param) {
    char place[PTO_ERROR_FILE_MAX] = "";
    if (param && param->line != PTO_LINE_WHAT_IF && param->file > 0)
        snprintf(place, sizeof place, "%s:%d", pto_file_name(pto_machine_file(machine, param->file)),
                 param->line);
    else if (param && param->line != PTO_LINE_WHAT_IF)
        snprintf(place, sizeof place, "%d", param->line);
    pto_print_csv_text(stdout, place);
    putchar(',');
}

static void csv_term(const pto_predictions_t *predictions, int64_t cell, const csv_term_t *term) {
    pto_print_csv_cell(predictions, cell);
    const bool known = term->param;
    PTO_RECORD(stdout, PTO_FORMAT_CSV,
               pto_field_if(known && !term->is_energy, pto_field_number("seconds", term->value)),
               pto_field_text("low_s", NULL), pto_field_text("high_s", NULL), pto_field_text("chunks", NULL),
               pto_field_if(known && term->is_energy, pto_field_number("joules", term->value)),
               pto_field_text("low_joules", NULL), pto_field_text("high_joules", NULL),
               pto_field_text("part", term->part), pto_field_text("stage", term->stage),
               pto_field_text("parameter", term->key),
               pto_field_if(*term->part, pto_field_rounded("count", term->count, 17)),
               pto_field_if(known, pto_field_number("value", known ? term->param->value : 0)));
    csv_place(predictions->machine, term->param);
    PTO_RECORD(stdout, PTO_FORMAT_CSV, pto_field_text("flagged", term->flagged));
    pto_print_csv_end(predictions, cell);
}

static void csv_terms(const pto_predictions_t *predictions, const pto_flags_t *flags, int64_t cell,
                      const char *part, const pto_term_t *term, int count) {
    for (int t = 0; t < count; t++) {
        const csv_term_t row = {.part = part,
                                .stage = term[t].stage,
                                .key = term[t].key,
                                .count = term[t].count,
                                .param = term[t].param,
                                .value = term[t].seconds,
                                .flagged = pto_flag_of(flags, term[t].param)};
        csv_term(predictions, cell, &row);
    }
}

static void csv_energy(const pto_predictions_t *predictions, int64_t cell) {
    const pto_energy_t *energy = &predictions->prediction[cell].energy;
    for (int power = 0; power < PTO_POWER_COUNT; power++) {
        const pto_energy_part_t *part = &energy->part[power];
        const csv_term_t row = {.part = "energy",
                                .stage = "device seconds",
                                .key = part->key,
                                .count = part->device_s,
                                .param = part->param,
                                .is_energy = true,
                                .value = part->joules};
        if (part->device_s > 0)
            csv_term(predictions, cell, &row);
    }
}

void pto_print_explanations_csv(const pto_predictions_t *predictions, const pto_flags_t *flags) {
    const csv_term_t none = {.part = "", .stage = "", .key = ""};
    for (int64_t cell = 0; cell < predictions->point_count * predictions->strategy_count; cell++) {
        const pto_prediction_t *prediction = &predictions->prediction[cell];
        if (!prediction->applicable) {
            csv_term(predictions, cell, &none);
            continue;
        }
        csv_terms(predictions, flags, cell, "price", prediction->explanation.term,
                  prediction->explanation.count);
        csv_terms(predictions, flags, cell, "setup", prediction->setup->term, prediction->setup->term_count);
        if (predictions->by == PTO_BY_ENERGY && prediction->has_energy)
            csv_energy(predictions, cell);
    }
}

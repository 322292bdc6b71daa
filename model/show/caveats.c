/* Collects and prints the caveats of prices, and the marks of unsure picks in tables. */
#include "caveats.h"

#include <string.h>

#include "base/text.h"
#include "command_line/terminal.h"
#include "table.h"

bool pto_extrapolated_text(const pto_price_t *price, char text[PTO_EXTRAPOLATED_MAX]) {
    const pto_extrapolation_t *from = &price->extrapolated;
    pto_line_t line = {.text = text, .size = PTO_EXTRAPOLATED_MAX};
    pto_line_add(&line, "%lld GPU%s on %lld node%s", (long long)from->gpus, from->gpus == 1 ? "" : "s",
                 (long long)from->nodes, from->nodes == 1 ? "" : "s");
    if (from->bytes > 0)
        pto_line_add(&line, ", %s", PTO_SIZE_TEXT(from->bytes));
    return from->gpus > 0;
}

/* Whether a list, whose items are separated by "; ", has this item. */
static bool has_item(const char *list, const char *text) {
    const size_t length = strlen(text);
    for (const char *at = list; (at = strstr(at, text)); at++)
        if ((at == list || at[-1] == ' ') && (at[length] == '\0' || at[length] == ';'))
            return true;
    return false;
}

static void add_extrapolated(pto_caveats_t *caveats, const pto_price_t *price) {
    char text[PTO_EXTRAPOLATED_MAX];
    size_t length = strlen(caveats->extrapolated_from);
    if (!pto_extrapolated_text(price, text) || has_item(caveats->extrapolated_from, text) ||
        length + strlen(text) + sizeof "; " > sizeof caveats->extrapolated_from)
        return;
    snprintf(caveats->extrapolated_from + length, sizeof caveats->extrapolated_from - length, "%s%s",
             length > 0 ? "; " : "", text);
}

void pto_caveats_add(pto_caveats_t *caveats, const pto_prediction_t *prediction) {
    const pto_explanation_t *explanation = &prediction->explanation;
    for (int t = 0; prediction->applicable && t < explanation->count; t++) {
        const pto_term_t *term = &explanation->term[t];
        int known = 0;
        while (known < caveats->count && strcmp(caveats->key[known], term->key) != 0)
            known++;
        if (!term->param && known == caveats->count && known < PTO_UNPRICED_MAX)
            caveats->key[caveats->count++] = term->key;
    }
    if (prediction->applicable)
        add_extrapolated(caveats, &prediction->price);
}

void pto_caveats_add_all(pto_caveats_t *caveats, const pto_predictions_t *predictions) {
    for (int64_t cell = 0; cell < predictions->point_count * predictions->strategy_count; cell++)
        pto_caveats_add(caveats, &predictions->prediction[cell]);
}

bool pto_is_library_key(const char *key) { return pto_text_begins(key, "library."); }

/* Whether a key names a library's algorithm that the machine file flags as doubtful. */
static bool is_flagged(const char *key) {
    return pto_is_library_key(key) && pto_text_ends(key, ".algorithm");
}

void pto_print_unpriced(const pto_caveats_t *caveats) {
    pto_text_t unpriced = {0}, flagged = {0};
    bool is_unknown = false;
    for (int i = 0; i < caveats->count; i++)
        if (is_flagged(caveats->key[i]))
            pto_list_add(&flagged, "flagged in the machine file, so not certain: ", caveats->key[i]);
        else if (pto_is_library_key(caveats->key[i]))
            is_unknown = true;
        else
            pto_list_add(&unpriced, "not in the machine file, so not priced: ", caveats->key[i]);
    pto_print_list(&unpriced);
    pto_print_list(&flagged);
    if (is_unknown)
        pto_print_note(stdout, PTO_LIBRARY_UNKNOWN);
}

void pto_print_caveats(const pto_caveats_t *caveats) {
    if (caveats->extrapolated_from[0])
        pto_print_note(stdout, "NCCL's times are extrapolated from %s", caveats->extrapolated_from);
    pto_print_unpriced(caveats);
}

pto_marks_t pto_pick_marks(const pto_predictions_t *predictions, int64_t point) {
    const int winner = pto_pick_at(predictions, point);
    if (winner < 0)
        return (pto_marks_t){.unsure = false};
    return (pto_marks_t){.extrapolated =
                             pto_prediction_at(predictions, point, winner)->price.extrapolated.gpus > 0,
                         .unsure = pto_pick_unpriced(predictions, point) != NULL};
}

void pto_marks_add(pto_marks_t *marks, pto_marks_t more) {
    marks->extrapolated = marks->extrapolated || more.extrapolated;
    marks->unsure = marks->unsure || more.unsure;
}

const char *pto_marks_text(pto_marks_t marks) {
    if (marks.extrapolated)
        return marks.unsure ? " * ?" : " *";
    return marks.unsure ? " ?" : "";
}

void pto_print_marks(pto_marks_t marks) {
    if (marks.extrapolated)
        pto_print_note(stdout, "*: extrapolated, as said below");
    if (marks.unsure)
        pto_print_note(
            stdout,
            "?: unsure; a cost that is not priced would make this pick more expensive, but not all others");
}

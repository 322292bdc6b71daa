/* What prices rest on without having it: parameters that the machine file lacks, and measurements from which
 * they are extrapolated. The same words for people and the same members for programs in all commands. */
#ifndef PTO_CAVEATS_H
#define PTO_CAVEATS_H

#include <stdio.h>

#include "portolan/pick.h"

enum { PTO_UNPRICED_MAX = 128, PTO_EXTRAPOLATED_MAX = 96, PTO_CAVEATS_TEXT_MAX = 4 * PTO_EXTRAPOLATED_MAX };

typedef struct {
    int count;
    const char *key[PTO_UNPRICED_MAX];            /* each once; borrowed from the predictions */
    char extrapolated_from[PTO_CAVEATS_TEXT_MAX]; /* each once, separated by "; "; as many as fit */
} pto_caveats_t;

/* Add those of one prediction; it has none if it does not apply, and no keys if it was not explained. */
void pto_caveats_add(pto_caveats_t *caveats, const pto_prediction_t *prediction);
/* Add those of all strategies at all points. */
void pto_caveats_add_all(pto_caveats_t *caveats, const pto_predictions_t *predictions);

/* "4 GPUs on 1 node", what a price was extrapolated from; false: it was not. */
bool pto_extrapolated_text(const pto_price_t *price, char text[PTO_EXTRAPOLATED_MAX]);

/* A note on the keys; nothing if there are none. */
void pto_print_unpriced(FILE *stream, const pto_caveats_t *caveats);
/* The same, and a note on what is extrapolated. */
void pto_print_caveats(FILE *stream, const pto_caveats_t *caveats);
/* Notes on the marks "*" and "?" of routes, as far as a table has them. */
void pto_print_marks(FILE *stream, bool has_extrapolated, bool has_unsure);

/* The keys: ["a", "b"] */
void pto_print_json_keys(FILE *stream, const pto_caveats_t *caveats);
/* Members `unpriced` and `extrapolated_from`, each where there is any. */
void pto_print_json_caveats(FILE *stream, const pto_caveats_t *caveats);
/* Columns not_priced and extrapolated_from, each with a comma. */
void pto_print_csv_caveats(FILE *stream, const pto_caveats_t *caveats);

#endif

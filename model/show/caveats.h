/* Inputs that prices need and do not have: parameters that the machine file lacks, and measurements from
 * which they are extrapolated. The same words for people and the same members for programs in all
 * commands. */
#ifndef PTO_CAVEATS_H
#define PTO_CAVEATS_H

#include <stdio.h>

#include "portolan/pick.h"

enum { PTO_UNPRICED_MAX = 128, PTO_EXTRAPOLATED_MAX = 96, PTO_CAVEATS_TEXT_MAX = 4 * PTO_EXTRAPOLATED_MAX };

#define PTO_LIBRARY_UNKNOWN                                                                                  \
    "the MPI library, or the cost of its copies, is not known: its collectives are taken to be the "         \
    "cheapest, and to stage reductions of GPU buffers if copies.pageable is known; --mpi NAME (portolan "    \
    "list libraries) names it"

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

/* Whether a key of `not_priced` stands for an unknown MPI library. */
bool pto_is_library_key(const char *key);

/* Notes on the keys; nothing if there are none. */
void pto_print_unpriced(FILE *stream, const pto_caveats_t *caveats);
/* The same, and a note on what is extrapolated. */
void pto_print_caveats(FILE *stream, const pto_caveats_t *caveats);
/* Marks of a route, or of all in a table. */
typedef struct {
    bool extrapolated, unsure;
} pto_marks_t;

/* Of the cheapest strategy at a point. */
pto_marks_t pto_pick_marks(const pto_predictions_t *predictions, int64_t point);
void pto_marks_add(pto_marks_t *marks, pto_marks_t more);
/* " *", " ?", " * ?" or "". */
const char *pto_marks_text(pto_marks_t marks);
/* Notes on the marks that a table has. */
void pto_print_marks(FILE *stream, pto_marks_t marks);

#endif

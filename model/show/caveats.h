/* Caveats of prices: parameters that the machine file lacks, and measurements from which prices are
 * extrapolated. A command collects those of its predictions with pto_caveats_add and prints them once. All
 * commands print them in the same words in tables, and as the same JSON members and CSV columns. */
#ifndef PTO_CAVEATS_H
#define PTO_CAVEATS_H

#include "portolan/pick.h"

enum { PTO_UNPRICED_MAX = 128, PTO_EXTRAPOLATED_MAX = 96, PTO_CAVEATS_TEXT_MAX = 4 * PTO_EXTRAPOLATED_MAX };

#define PTO_LIBRARY_UNKNOWN                                                                                  \
    "the MPI library, or the cost of its copies, is not known: its collectives are taken to be the "         \
    "cheapest, and to stage reductions of GPU buffers if copies.pageable is known; --mpi NAME (portolan "    \
    "list libraries) names it"

typedef struct {
    int count; /* of keys */
    /* Keys of missing parameters, without duplicates; borrowed from the predictions. Keys of "library." stand
     * for an MPI library that is not known, or for one of its algorithms that is flagged. */
    const char *key[PTO_UNPRICED_MAX];
    char extrapolated_from[PTO_CAVEATS_TEXT_MAX]; /* "4 GPUs on 1 node; ...": as many as fit */
} pto_caveats_t;

/* Adds the caveats of one prediction. Missing parameters are known only if it was explained. */
void pto_caveats_add(pto_caveats_t *caveats, const pto_prediction_t *prediction);
/* Adds the caveats of all strategies at all points. */
void pto_caveats_add_all(pto_caveats_t *caveats, const pto_predictions_t *predictions);

/* Formats what a price was extrapolated from, such as "4 GPUs on 1 node". Returns false if it was not. */
bool pto_extrapolated_text(const pto_price_t *price, char text[PTO_EXTRAPOLATED_MAX]);

/* Returns whether a key of `not_priced` stands for an unknown MPI library. */
bool pto_is_library_key(const char *key);

/* Prints a note on the parameters that are missing; nothing if there are none. */
void pto_print_unpriced(const pto_caveats_t *caveats);
/* Prints this note, and one on extrapolated prices. */
void pto_print_caveats(const pto_caveats_t *caveats);

/* The marks of a pick, or all that occur in a table: " *" if the price is extrapolated, " ?" if the pick is
 * unsure because a cost that is not priced could change it. */
typedef struct {
    bool extrapolated, unsure;
} pto_marks_t;

/* Returns the marks of the cheapest strategy at a point. */
pto_marks_t pto_pick_marks(const pto_predictions_t *predictions, int64_t point);
void pto_marks_add(pto_marks_t *marks, pto_marks_t more);
/* Returns " *", " ?", " * ?" or "". */
const char *pto_marks_text(pto_marks_t marks);
/* Prints a note on each of the marks. */
void pto_print_marks(pto_marks_t marks);

#endif

/* Matrices of byte counts given as rows `source,destination,...,bytes`. */
#ifndef PTO_PAIR_ROWS_H
#define PTO_PAIR_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "portolan/scenario.h"

/* Returns whether the first line that is not a comment begins with the column `source`. */
bool pto_pair_rows_begin(const char *text, size_t text_size);

/* Like pto_counts_parse_matrix, without a path in `counts`. Only rows whose `source_space` is `space`; -1:
 * all. */
pto_status_t pto_pair_rows_parse(const char *text, size_t text_size, const char *path, int space,
                                 pto_counts_t *counts, pto_error_t *err);

#endif

/* A machine file's record of the accuracy of predictions: which collectives its terms were fitted to (the key
 * `fitted_to`), and the error of the model beyond the intervals of its parameters (the key `model_error`). */
#ifndef PTO_ERROR_MODEL_H
#define PTO_ERROR_MODEL_H

#include "formats/yaml_read.h"

enum { PTO_FITTED_NODES_MAX = 16 };

/* Half-width of a 95 percent interval, in standard deviations. */
static const double pto_deviations_95 = 1.96;

/* One file of collectives that terms were fitted to. */
typedef struct {
    char *file;
    char *digest; /* of its rows: pto_collectives_digest */
    int node_count;
    int64_t nodes[PTO_FITTED_NODES_MAX];
} pto_fitted_to_t;

/* A range of values, with both ends; most 0: not known. */
typedef struct {
    int64_t least;
    int64_t most;
} pto_covered_t;

/* The error of one strategy's predictions: |ln(measured / predicted)| is below log_95 in 95 percent of the
 * cells (measured combinations of nodes, processes and bytes). */
typedef struct {
    char *strategy; /* "all": of strategies without a row */
    double log_95;
    int64_t samples;
} pto_error_row_t;

/* docs/model.md, "Intervals". */
typedef struct {
    char *source;       /* NULL: the file has no model error */
    pto_covered_t node; /* the range of node counts of the cells */
    pto_covered_t proc; /* the range of their processes per node */
    pto_covered_t byte; /* the range of their bytes */
    double doubling;    /* each doubling above these ranges widens the error by this fraction; 0: not known */
    double tie;         /* standard deviation of ln(ratio of two strategies), measured over predicted */
    int row_count;
    pto_error_row_t *row;
} pto_model_error_t;

/* The distance in doublings of a value above the covered range; 0 below it, where errors are no larger. */
double pto_covered_doublings(const pto_covered_t *covered, int64_t value);

/* Returns the row of a strategy, else the row `all`; NULL if there is neither. */
const pto_error_row_t *pto_model_error_row(const pto_model_error_t *error, const char *strategy);

/* Append a row; NULL when out of memory. */
pto_error_row_t *pto_model_error_add(pto_model_error_t *error, const char *strategy);

/* Copy into zeroed targets. False when out of memory; the caller must free the target in that case, too. */
bool pto_model_error_copy(const pto_model_error_t *from, pto_model_error_t *to);
bool pto_fitted_to_copy(const pto_fitted_to_t *from, int count, pto_fitted_to_t **to);

void pto_model_error_fini(pto_model_error_t *error);
void pto_fitted_to_free(pto_fitted_to_t *fitted, int count);

/* The key `model_error` of a machine file: pto_model_error_t. */
extern const pto_yaml_table_t pto_model_error_table;

/* Read the key `fitted_to` into a pto_machine_t. */
pto_status_t pto_read_fitted_to(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                                int argument);

#endif

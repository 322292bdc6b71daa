/* A machine file's record of its own predictions: which collectives its terms were fitted to, and how far
 * predictions miss beyond their parameters' errors. */
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

typedef struct {
    int64_t least;
    int64_t most;
} pto_covered_t;

/* The half-width that holds |ln(measured / predicted)| in 95 percent of the cells. */
typedef struct {
    char *strategy; /* "all": of strategies without a row */
    double log_95;
    int64_t samples;
} pto_error_row_t;

/* Measured on predictions that no parameter's interval explains (docs/model.md, "Intervals"). */
typedef struct {
    char *source;       /* NULL: the file has no model error */
    pto_covered_t node; /* of the cells: numbers of nodes, */
    pto_covered_t proc; /* processes per node */
    pto_covered_t byte; /* and bytes */
    double doubling;    /* each doubling above these widens the error by this share of it; 0: not known */
    double tie;         /* standard deviation of ln(ratio of two strategies), measured over predicted */
    int row_count;
    pto_error_row_t *row;
} pto_model_error_t;

/* Doublings from what is covered to a value above it. Fewer nodes and bytes turned out to be no harder. */
double pto_covered_doublings(const pto_covered_t *covered, int64_t value);

/* Returns the row of a strategy, else the row `all`; NULL if there is neither. */
const pto_error_row_t *pto_model_error_row(const pto_model_error_t *error, const char *strategy);

/* Append a row; NULL when out of memory. */
pto_error_row_t *pto_model_error_add(pto_model_error_t *error, const char *strategy);

/* Copies into zeroed targets. False when out of memory; the target is then to be freed all the same. */
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

/* A scenario predicted over two sweeps, as a table of cells. The rows are numbers of nodes or messages, a
 * range of --what-if, or a machine before and after its what-ifs (--compare); the columns are the scenario's
 * own sweep or a second range of --what-if. A run is one call of pto_predict: a row, or with a second range a
 * cell. The caller first opens its options with pto_sweeps_variant, which finds the axes, and then calls
 * pto_sweeps_predict. */
#ifndef PTO_SWEEPS_H
#define PTO_SWEEPS_H

#include "command_line/options.h"
#include "portolan/pick.h"

typedef enum {
    PTO_AXIS_NONE,
    PTO_AXIS_NODES,
    PTO_AXIS_MESSAGES,
    PTO_AXIS_WHAT_IF,
    PTO_AXIS_COMPARE
} pto_axis_kind_t;

enum { PTO_AXIS_LABEL_MAX = 64, PTO_AXIS_VALUES_MAX = 64 };

typedef struct {
    char label[PTO_AXIS_LABEL_MAX];      /* "64", "/2", "50 GB/s" */
    char change[PTO_AXIS_LABEL_MAX * 3]; /* of a range: the argument of --what-if, "injection.*=/2" */
    int64_t number;                      /* of nodes or messages */
} pto_axis_value_t;

typedef struct {
    pto_axis_kind_t kind;
    char heading[PTO_AXIS_LABEL_MAX]; /* "Nodes", or the parameter */
    int what_if;                      /* index of the --what-if with the range */
    int count;
    pto_axis_value_t *value;
} pto_axis_t;

/* Each run has its own scenario and machine. */
typedef struct {
    pto_options_t *options;             /* the beginning of the command's own struct; owned by the run */
    pto_predictions_t predictions;      /* strategy_count is 0 if there are none */
    char reason[PTO_ERROR_MESSAGE_MAX]; /* why there are no predictions; else "" */
} pto_sweeps_run_t;

typedef struct {
    pto_axis_t row;        /* PTO_AXIS_NONE: there is one sweep only */
    pto_axis_t column;     /* a second range of --what-if; PTO_AXIS_NONE: the scenario's own sweep */
    int at_row, at_column; /* of the run that is being opened */
    size_t options_size;   /* of the command's own struct, which begins with a pto_options_t */
    pto_sweeps_run_t *run; /* by row, then by column of a second range */
    bool by_option;        /* pto_options_t's, of the run whose error is reported */
} pto_sweeps_t;

/* Returns the hook for pto_options_t: it finds the axes among the options the first time, and sets the
 * options to the values of the run at_row, at_column. Errors: PTO_ERR_KEY, PTO_ERR_RANGE, PTO_ERR_TYPE,
 * PTO_ERR_MEMORY. */
pto_variant_t pto_sweeps_variant(pto_sweeps_t *sweeps);

/* Opens and predicts all runs, with one limit of work for all. A run that cannot be predicted has a reason.
 * Errors: PTO_ERR_MEMORY; PTO_ERR_TYPE for a malformed value; that of the first run if none can be predicted.
 */
pto_status_t pto_sweeps_predict(pto_sweeps_t *sweeps, const pto_arguments_t *arguments, pto_error_t *err);
void pto_sweeps_fini(pto_sweeps_t *sweeps);
int pto_sweeps_runs(const pto_sweeps_t *sweeps);
/* `column`: of a second range; 0 if there is none. */
const pto_sweeps_run_t *pto_sweeps_run(const pto_sweeps_t *sweeps, int row, int column);
/* The number of columns: points of the scenario's own sweep, or values of a second range. */
int64_t pto_sweeps_columns(const pto_sweeps_t *sweeps);
/* Returns the predictions and the point of a cell of the table; NULL if it has none. */
const pto_predictions_t *pto_sweeps_at(const pto_sweeps_t *sweeps, int row, int64_t column, int64_t *point);
/* "8 KiB", "/2": a column's heading. Returns `text`. */
const char *pto_sweeps_column_text(const pto_sweeps_t *sweeps, int64_t column, char text[PTO_AXIS_LABEL_MAX]);
/* Returns the predictions of the first run that has any; NULL if none has. */
const pto_predictions_t *pto_sweeps_any(const pto_sweeps_t *sweeps);

#endif

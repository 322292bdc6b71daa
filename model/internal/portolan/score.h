/* Scoring: compare the model's picks and predictions with measurements.
 *
 * A cell is one decision: a collective, its implementation, a layout and a size, with two or more strategies
 * measured. Split strategies run with several processes per GPU, the others with the owners alone. If a file
 * holds split strategies with several process counts, each count makes a cell of its own, and the other
 * strategies appear in every one of them, because `pick` answers the same question.
 *
 * Regret is the time of the strategy taken divided by the time of the best, minus 1. */
#ifndef PORTOLAN_SCORE_H
#define PORTOLAN_SCORE_H

#include "portolan/api.h"
#include "portolan/pick.h"
#include "portolan/samples.h"

PTO_C_BEGIN

/* How the times of a strategy's runs are combined. */
typedef enum { PTO_STATISTIC_MIN, PTO_STATISTIC_MEDIAN, PTO_STATISTIC_COUNT } pto_statistic_t;

const char *pto_statistic_name(pto_statistic_t statistic);

/* Rows to exclude. */
typedef struct {
    pto_implementation_t implementation;
    const pto_strategy_t *strategy;
} pto_score_skip_t;

typedef struct {
    pto_statistic_t statistic;
    int64_t min_bytes;   /* smaller sizes are omitted, except cells of a halo */
    double clear_margin; /* a cell is clear if the second best takes at least this fraction longer */
    int skip_count;
    const pto_score_skip_t *skip; /* borrowed */
    pto_node_counts_t nodes;      /* other node counts are omitted */
} pto_score_options_t;

/* Defaults: 64 bytes and up, since shares are rounded to whole elements below that; clear from 10 percent;
 * the median for files of portolan-validate, whose runs are repetitions, and the minimum for others, whose
 * runs may be separate jobs. */
pto_score_options_t pto_score_defaults(const pto_collectives_t *collectives);

typedef struct {
    const pto_strategy_t *strategy;
    const char *algorithm;       /* one of ours; NULL: the library's. Borrowed from the collectives */
    int64_t chunks;              /* as in the rows; candidates may differ only in this */
    pto_staged_t staged_members; /* PTO_STAGED_TUNED: chosen by the machine file or the price */
    double measured_s;           /* by the options' statistic */
} pto_score_candidate_t;

/* How the strategy of a cell is chosen. */
typedef enum {
    PTO_PICKER_MODEL,  /* the cheapest by prediction */
    PTO_PICKER_FLOOR,  /* the fastest of each run: what measuring once would have picked */
    PTO_PICKER_ALWAYS, /* one strategy, wherever it was measured */
    /* Baselines, which learn from other cells (pto_score_learn); only the last knows the model: */
    PTO_BASELINE_FIRST,
    PTO_PICKER_NEAREST = PTO_BASELINE_FIRST, /* the fastest at the nearest measured node count */
    PTO_PICKER_AFFINE,    /* the fastest of the strategies' times, each fitted over nodes as a + b N */
    PTO_PICKER_LOG,       /* the same with a + b log2 N */
    PTO_PICKER_NEIGHBORS, /* the most frequent winner of the 3 nearest cells in log bytes and log nodes */
    PTO_PICKER_RESIDUAL,  /* the model's time, times measured / predicted at the nearest node count */
    PTO_PICKER_COUNT
} pto_picker_t;

enum { PTO_BASELINE_COUNT = (int)PTO_PICKER_COUNT - (int)PTO_BASELINE_FIRST };

const char *pto_picker_name(pto_picker_t value);

/* A baseline's expectation of a cell. */
typedef struct {
    int picked;      /* -1: it has learned nothing about this cell */
    double *seconds; /* of each candidate; 0: no expectation. NULL if it only picks. Owned */
} pto_score_baseline_t;

typedef struct {
    pto_collective_t collective;
    pto_implementation_t implementation;
    pto_datatype_t datatype;
    bool own_algorithms;
    int64_t nodes;
    bool in_host; /* data in host memory: gpus_per_node counts the processes of a node */
    int64_t gpus_per_node;
    int64_t owners_per_gpu;
    int64_t procs_per_gpu; /* of split strategies; the owners if none was measured */
    int64_t bytes;
    pto_level_t distance; /* pair */
    pto_pair_ends_t ends; /* pair */
    pto_halo_t halo;      /* halo */
    int candidate_count;
    pto_score_candidate_t *candidate; /* owned */
    int best;                         /* by measured time */
    double margin;                    /* relative extra time of the second best */
    bool clear;
    pto_prediction_t *prediction; /* one per candidate; owned; none applies before pto_score_predict */
    int picked;                   /* by predicted time; -1: none is predicted */
    int runner_up;                /* by predicted time; -1: there is none */
    double regret;                /* of the pick */
    bool near_tie;                /* near-tie, as reported by pto_pick */
    int floor_count;              /* runs with all candidates; 0 if there are fewer than 2 such runs */
    int *floor_pick;              /* the fastest candidate of each such run; owned */
    pto_score_baseline_t baseline[PTO_BASELINE_COUNT]; /* from PTO_BASELINE_FIRST on */
} pto_score_cell_t;

/* Rows that are in no cell, and the reason. */
typedef struct {
    int64_t count;
    char text[PTO_ERROR_MESSAGE_MAX]; /* "isend_irecv with extra_message: ..." */
} pto_score_note_t;

/* Owns its cells; borrows from the collectives. Free with pto_score_fini. */
typedef struct {
    pto_score_options_t options;
    int64_t cell_count;
    pto_score_cell_t *cell; /* sorted by collective, implementation, layout, bytes */
    bool is_cut;            /* by pto_score_cut or pto_score_cut_nodes */
    int note_count;
    pto_score_note_t *note;
    int unpriced_count; /* keys that plans need and the machine lacks */
    char (*unpriced)[PTO_PARAM_KEY_MAX];
} pto_score_t;

/* Build the cells from the measurements, without predictions. Rows left out: those of `options->skip`, those
 * of unknown strategies, those of `messages` (the format does not hold their number), and those of split
 * strategies if the file's key `caveat_<implementation>_split` says that they did not perform the collective.
 * Errors: PTO_ERR_MEMORY. */
pto_status_t pto_score_collect(const pto_collectives_t *collectives, const pto_score_options_t *options,
                               pto_score_t *score, pto_error_t *err);
/* Truncate an interrupted score to its first cells, and mark it (`is_cut`) so that nothing learns from it. */
void pto_score_cut(pto_score_t *score, int64_t cell_count);
/* The same, but keep the cells on fewer than `nodes` nodes, if node counts are scored in increasing order. */
void pto_score_cut_nodes(pto_score_t *score, int64_t nodes);
void pto_score_fini(pto_score_t *score);

/* The work of predicting all cells once, in messages that a price walks one by one (pto_cell_work). */
int64_t pto_score_work(const pto_score_t *score, const pto_machine_t *machine);

/* Predict the cells with `nodes` nodes (0: all) and pick from each. If a candidate cannot be predicted, its
 * prediction says why; it is not picked, but its time counts. Errors: PTO_ERR_MEMORY, PTO_ERR_TOO_LARGE. */
pto_status_t pto_score_predict(pto_score_t *score, const pto_machine_t *machine, int64_t nodes,
                               pto_error_t *err);

/* The model's time for one candidate; 0 if it has none. With `rule`, the library is assumed to follow that
 * rule at every size. If there is a time, `call_bytes` (may be NULL) is set to the size by which a library
 * chooses its algorithm. Errors: those of pto_score_predict. */
pto_status_t pto_score_price(const pto_score_cell_t *cell, int candidate, const pto_machine_t *machine,
                             const pto_library_rule_t *rule, int64_t *call_bytes, double *seconds,
                             pto_error_t *err);

/* The row by which pto_score_price chooses the library's algorithm: `rule`, or the machine's; NULL if there
 * is none or the candidate does not depend on one. Candidates with the same measurements and equal rows have
 * the same price. */
const pto_library_rule_t *pto_score_rule(const pto_score_cell_t *cell, int candidate,
                                         const pto_machine_t *machine, const pto_library_rule_t *rule);

/* The smallest node count above `above`; 0 if there is none. */
int64_t pto_score_next_nodes(const pto_score_t *score, int64_t above);

/* Let the baselines learn from the cells of `train` and pick in those cells of `score` that have `nodes`
 * nodes (0: all). Both must have been predicted with the same machine. A `train` that was cut teaches
 * nothing. Errors: PTO_ERR_MEMORY. */
pto_status_t pto_score_learn(pto_score_t *score, const pto_score_t *train, int64_t nodes, pto_error_t *err);

/* Create a machine whose collective-fitted parameters come from the rows of `train` alone. `*fitted` is NULL
 * before the call; the caller frees it, also after an error. */
typedef pto_status_t (*pto_score_refit_t)(const pto_machine_t *machine, const pto_collectives_t *collectives,
                                          const pto_node_counts_t *train, void *context,
                                          pto_machine_t **fitted, pto_error_t *err);

/* Leave-one-out: predict the cells of each node count with a machine fitted to the others; the baselines also
 * learn from the others. Errors: those of `refit` and of pto_score_predict, and PTO_ERR_NOT_APPLICABLE if all
 * cells have the same node count. */
pto_status_t pto_score_leave_one_out(pto_score_t *score, const pto_collectives_t *collectives,
                                     const pto_machine_t *machine, pto_score_refit_t refit, void *context,
                                     pto_error_t *err);

/* Set best, margin and clear of a cell from its measured times. */
void pto_score_rank(pto_score_cell_t *cell, double clear_margin);
/* Set picked, regret and near_tie of a cell from its predictions, after pto_score_rank. Errors:
 * PTO_ERR_MEMORY. */
pto_status_t pto_score_pick(pto_score_cell_t *cell, pto_error_t *err);
/* The regret of taking this candidate. */
double pto_score_regret(const pto_score_cell_t *cell, int candidate);

/* Which cells to include; PTO_COLLECTIVE_COUNT, PTO_IMPLEMENTATION_COUNT and 0 nodes select all. */
typedef struct {
    pto_collective_t collective;
    pto_implementation_t implementation;
    int64_t nodes;
} pto_score_filter_t;

/* Summary over the cells in which the model can pick. For the floor, each cell has weight one regardless of
 * its number of runs: its fraction of right runs and its mean regret are counted, so counts of right cells
 * need not be integers; percentile and maximum are over all runs. */
typedef struct {
    int64_t cells;
    double right; /* number of cells in which the pick is the best or as fast */
    int64_t clear_cells;
    double clear_right;
    int64_t near_ties; /* near-ties of the model; 0 for other pickers */
    double regret_mean;
    double regret_95;
    double regret_max;
    int64_t pairs;       /* predicted (cell, strategy) pairs: of one strategy, or of all; 0 for the floor */
    double error_median; /* of |predicted / measured - 1| over the pairs */
    double error_90;
    int64_t intervals;     /* pairs whose prediction has an interval; the model's only */
    int64_t held;          /* of these, the pairs whose measured time lies inside */
    int64_t close_ties;    /* near-ties whose two candidates were measured within 10 percent of each other */
    int64_t right_no_ties; /* right cells without near-ties; the model's only */
} pto_score_summary_t;

/* Summarise the cells that `filter` selects. `strategy`: of PTO_PICKER_ALWAYS. Errors: PTO_ERR_MEMORY. */
pto_status_t pto_score_summarise(const pto_score_t *score, const pto_score_filter_t *filter,
                                 pto_picker_t picker, const pto_strategy_t *strategy,
                                 pto_score_summary_t *summary, pto_error_t *err);

/* The quantile of `fraction`: with the values sorted, linear interpolation between the neighbours of position
 * fraction * (count - 1), counted from 0. Sorts `value`; returns 0 if `count` is 0. */
double pto_quantile(double *value, int64_t count, double fraction);

PTO_C_END

#endif

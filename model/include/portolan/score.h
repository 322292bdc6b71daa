/* Scoring: what the model picks, and what it predicts, beside what was measured.
 *
 * A cell is one decision: a collective, its implementation, a layout and a size, with two or more strategies
 * measured. Strategies that split run with several processes per GPU, the others with the owners alone; where
 * a file holds split strategies of several numbers of processes, each number makes a cell of its own, in
 * which the other strategies stand again, since that is the question that `pick` answers.
 *
 * Regret is the time of the strategy taken over the time of the best, minus 1. */
#ifndef PORTOLAN_SCORE_H
#define PORTOLAN_SCORE_H

#include "portolan/api.h"
#include "portolan/collectives.h"
#include "portolan/pick.h"

PTO_API_BEGIN

/* What of a strategy's runs counts as its time. */
typedef enum { PTO_STATISTIC_MIN, PTO_STATISTIC_MEDIAN, PTO_STATISTIC_COUNT } pto_statistic_t;

const char *pto_statistic_name(pto_statistic_t statistic);

/* Rows that are not to be compared. */
typedef struct {
    pto_implementation_t implementation;
    const pto_strategy_t *strategy;
} pto_score_skip_t;

typedef struct {
    pto_statistic_t statistic;
    int64_t min_bytes;   /* smaller sizes are left out */
    double clear_margin; /* a cell is clear where the second takes at least this fraction longer */
    int skip_count;
    const pto_score_skip_t *skip; /* borrowed */
} pto_score_options_t;

/* 64 bytes and up, since shares of whole elements round below; clear from 10 percent; the median of what
 * portolan-validate wrote, whose runs are repeats, and the minimum of others, whose runs may be jobs. */
pto_score_options_t pto_score_defaults(const pto_collectives_t *collectives);

typedef struct {
    const pto_strategy_t *strategy;
    const char *algorithm; /* ours, which ran in the place of the library's; NULL: the library's. Borrowed
                              from the collectives */
    double measured_s;     /* by the options' statistic */
} pto_score_candidate_t;

typedef struct {
    pto_collective_t collective;
    pto_implementation_t implementation;
    pto_datatype_t datatype;
    bool own_algorithms;
    int64_t nodes;
    int64_t gpus_per_node;
    int64_t owners_per_gpu;
    int64_t procs_per_gpu; /* of strategies that split; the owners where none was measured */
    int64_t bytes;
    int candidate_count;
    pto_score_candidate_t *candidate; /* owned */
    int best;                         /* by measured time */
    double margin;                    /* how much longer the second takes, as a fraction */
    bool clear;
    pto_prediction_t *prediction; /* of each candidate; owned; before pto_score_predict none applies */
    int picked;                   /* by predicted time; -1: none is predicted */
    double regret;                /* of the picked */
    bool toss_up;                 /* as pto_pick says it */
    int floor_count;              /* runs that hold all candidates; 0 where fewer than 2 do */
    int *floor_pick;              /* each such run's fastest; owned */
} pto_score_cell_t;

/* Rows that no cell holds, and why. */
typedef struct {
    int64_t count;
    char text[PTO_ERROR_MESSAGE_MAX]; /* "isend_irecv with extra_message: ..." */
} pto_score_note_t;

/* Owns its cells; borrows from the collectives. Free with pto_score_fini. */
typedef struct {
    pto_score_options_t options;
    int64_t cell_count;
    pto_score_cell_t *cell; /* by collective, implementation, layout, bytes */
    int note_count;
    pto_score_note_t *note;
    int unpriced_count; /* keys that plans asked for and the machine lacks */
    char (*unpriced)[PTO_PARAM_KEY_MAX];
} pto_score_t;

/* The cells of what was measured, nothing predicted yet. A file's key `caveat_<implementation>_split` says
 * that the split strategies of that implementation did not do the collective: these rows are left out, as
 * those of `options->skip` are, of strategies that are not known, and of `messages`, whose number the format
 * does not hold. Errors: PTO_ERR_MEMORY. */
pto_status_t pto_score_collect(const pto_collectives_t *collectives, const pto_score_options_t *options,
                               pto_score_t *score, pto_error_t *err);
void pto_score_fini(pto_score_t *score);

/* Predict the cells of `nodes` nodes (0: all) and pick from each. Where a candidate can't be predicted its
 * prediction says why; it can't be picked, but its measured time counts. Errors: PTO_ERR_MEMORY,
 * PTO_ERR_TOO_LARGE. */
pto_status_t pto_score_predict(pto_score_t *score, const pto_machine_t *machine, int64_t nodes,
                               pto_error_t *err);

/* What the model says of one candidate, 0 where nothing; with `rule`, as if the library did that at every
 * size. `request` (may be NULL) is what was priced, its pointers to counts invalid. Errors: those of
 * pto_score_predict. */
pto_status_t pto_score_price(const pto_score_cell_t *cell, int candidate, const pto_machine_t *machine,
                             const pto_library_rule_t *rule, pto_request_t *request, double *seconds,
                             pto_error_t *err);

/* A machine whose collective-fitted parameters come from the rows of all other node counts than `nodes`.
 * `fitted` is the caller's to fini. */
typedef pto_status_t (*pto_score_refit_t)(const pto_machine_t *machine, const pto_collectives_t *collectives,
                                          int64_t nodes, void *context, pto_machine_t *fitted,
                                          pto_error_t *err);

/* Predict each node count's cells with a machine that was fitted without them. Errors: those of `refit` and
 * of pto_score_predict, and PTO_ERR_NOT_APPLICABLE where the cells have one node count only. */
pto_status_t pto_score_leave_one_out(pto_score_t *score, const pto_collectives_t *collectives,
                                     const pto_machine_t *machine, pto_score_refit_t refit, void *context,
                                     pto_error_t *err);

/* One cell from its measured times: best, margin, clear. */
void pto_score_rank(pto_score_cell_t *cell, double clear_margin);
/* One cell from its predictions, after pto_score_rank: picked, regret, toss_up. Errors: PTO_ERR_MEMORY. */
pto_status_t pto_score_pick(pto_score_cell_t *cell, pto_error_t *err);
/* Of taking the candidate with this index. */
double pto_score_regret(const pto_score_cell_t *cell, int candidate);

/* Which cells; PTO_COLLECTIVE_COUNT, PTO_IMPLEMENTATION_COUNT and 0 nodes stand for all. */
typedef struct {
    pto_collective_t collective;
    pto_implementation_t implementation;
    int64_t nodes;
} pto_score_filter_t;

/* Who picks. */
typedef enum {
    PTO_PICKER_MODEL,  /* the cheapest by prediction */
    PTO_PICKER_FLOOR,  /* each run's fastest, so what measuring once would have picked */
    PTO_PICKER_ALWAYS, /* one strategy, wherever it was measured */
    PTO_PICKER_COUNT
} pto_picker_t;

const char *pto_picker_name(pto_picker_t picker);

/* Over cells in which the model can pick. A cell of the floor counts as one, whatever its number of runs: its
 * share of right runs is counted and the mean of its regrets; percentile and maximum are over all runs.
 * Counts of right cells are whole but for the floor's. */
typedef struct {
    int64_t cells;
    double right; /* cells in which the picked is the best, or as fast */
    int64_t clear_cells;
    double clear_right;
    int64_t toss_ups; /* the model's; 0 of other pickers */
    double regret_mean;
    double regret_95;
    double regret_max;
    int64_t pairs;       /* (cell, strategy) with a prediction: of that strategy, or of all; 0 of the floor */
    double error_median; /* of |predicted / measured - 1| over the pairs */
    double error_90;
} pto_score_summary_t;

/* `strategy` is PTO_PICKER_ALWAYS's, else unused. Errors: PTO_ERR_MEMORY. */
pto_status_t pto_score_summarise(const pto_score_t *score, const pto_score_filter_t *filter,
                                 pto_picker_t picker, const pto_strategy_t *strategy,
                                 pto_score_summary_t *summary, pto_error_t *err);

/* The value below which a fraction of the values lies: with these sorted, linear between the values around
 * the place fraction * (count - 1), counted from 0. Sorts `value`; 0 where count is. */
double pto_quantile(double *value, int64_t count, double fraction);

PTO_API_END

#endif

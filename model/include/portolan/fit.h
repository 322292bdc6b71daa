/* Fit: derive the parameters of a machine from samples, each with its interval, sample count and residual
 * (docs/fitting.md). Part of libportolan-fit, which needs GSL.
 *
 * Sources: the postal model T = alpha + beta s (Bar-Noy and Kipnis 1992); the max-rate model T = alpha +
 * max(beta s, ppn s / R_N) (Gropp, Olson, Samfass 2016); robust regression with Tukey's bisquare (Holland and
 * Welsch 1977, as in GSL); the number of protocols by the Bayesian information criterion (Schwarz 1978). */
#ifndef PORTOLAN_FIT_H
#define PORTOLAN_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "portolan/api.h"
#include "portolan/machine.h"
#include "portolan/samples.h"

PTO_API_BEGIN

/* Protocol switch points given by the user: below_bytes of all protocols but the last, increasing. */
typedef struct {
    bool given;
    int count;
    int64_t below_bytes[PTO_PROTOCOL_COUNT - 1];
} pto_fit_breaks_t;

/* Zeroed: switch points are found in the data and the fit is robust. */
typedef struct {
    pto_fit_breaks_t breaks[PTO_SPACE_COUNT][PTO_LEVEL_COUNT];
    bool minima;          /* ordinary least squares on the minima over runs and pairs, as in the paper */
    const char *inherits; /* a machine file with what the samples lack; NULL: they must have messages */
    struct {              /* 0: from the samples' provenance */
        int64_t sockets;
        int64_t gpus;
        int64_t cores;
        bool no_gpus; /* gpus is 0 because a node has none */
    } node;
} pto_fit_options_t;

/* Kind of a report line. */
typedef enum {
    PTO_FIT_POSTAL, /* alpha_s and beta_s_per_byte */
    PTO_FIT_RATE,   /* seconds per byte, in beta_s_per_byte */
    PTO_FIT_TIME,   /* seconds, in alpha_s */
    PTO_FIT_ABSENT, /* not fitted; `note` says why */
    PTO_FIT_KIND_COUNT
} pto_fit_kind_t;

enum { PTO_FIT_NAME_MAX = 64, PTO_FIT_NOTE_MAX = 160 };

/* One fitted parameter set, for a report. */
typedef struct {
    char name[PTO_FIT_NAME_MAX]; /* a machine file's key: messages.cpu.off_node.eager */
    pto_fit_kind_t kind;
    pto_param_t alpha_s;
    pto_param_t beta_s_per_byte;
    int64_t from_bytes;  /* smallest size in the samples */
    int64_t below_bytes; /* end of its range of sizes; INT64_MAX for the last range, or without ranges */
    int64_t sample_count;
    double residual; /* median of |T fitted - T measured| / max(T measured, 50 ns) over those samples */
    bool left_out;   /* absent although it was measured: too few samples, or useless ones */
    char note[PTO_FIT_NOTE_MAX];
} pto_fit_entry_t;

typedef struct {
    pto_machine_t *machine; /* owned */
    int entry_count;
    pto_fit_entry_t *entry;
} pto_fit_t;

/* Fit every parameter that the samples cover, and leave out those for which they are too few or useless. Only
 * the cost of a message is needed, unless the machine inherits one. On success `*fit` owns its memory; free
 * it with pto_fit_fini. Fitted parameters have line 1. The function does not print, and replaces GSL's error
 * handler only for the duration of the call. Errors: PTO_ERR_NOT_FOUND: too few data for the cost of a
 * message, also between forced limits (the message names it), or an unknown node shape; PTO_ERR_MEMORY. */
pto_status_t pto_fit_samples(const pto_samples_t *samples, const char *name, const char *source,
                             const pto_fit_options_t *options, pto_fit_t *fit, pto_error_t *err);
void pto_fit_fini(pto_fit_t *fit);

/* Infer the tables that the fitted machine lacks of the MPI library: its algorithms, and whether it stages
 * GPU buffers. They are inferred from samples of the library's own collectives. A row is flagged if the times
 * do not determine its algorithm. A table that the machine already has is kept, and an entry reports where
 * the times contradict it. Errors: PTO_ERR_MEMORY and those of pto_score_price. */
pto_status_t pto_fit_library(const pto_samples_t *samples, const pto_fit_options_t *options, pto_fit_t *fit,
                             pto_error_t *err);

/* Parse `cpu.off_node=256,16384`, `gpu=none` or `4096` (every space and level) into `options`.
 * Errors: PTO_ERR_SYNTAX, _NOT_FOUND (no such space or level), _RANGE (not increasing, or too many). */
pto_status_t pto_fit_breaks_parse(const char *text, pto_fit_options_t *options, pto_error_t *err);

/* Parse `sockets=2,gpus=6,cores=40`, or any subset. Errors: PTO_ERR_SYNTAX, _NOT_FOUND, _RANGE. */
pto_status_t pto_fit_node_parse(const char *text, pto_fit_options_t *options, pto_error_t *err);

/* The median time of each size, as the fit uses it; for plots. Both arrays belong to the caller and have room
 * for `capacity` entries. Returns the number of sizes, which may exceed `capacity`. */
size_t pto_fit_medians(const pto_samples_t *samples, pto_benchmark_t benchmark, pto_sample_space_t where,
                       pto_sample_level_t place, int32_t procs, size_t capacity, int64_t *bytes,
                       double *seconds);

/* About how many prices of each measured cell a fit to collectives needs, together with the fits that leave
 * one node count out and share prices with it (pto_fit_prices_t). For estimates of work. */
enum { PTO_FIT_PRICES = 500 };

/* Maximum number of values fitted to collectives: five costs and seven switch points. */
enum { PTO_FIT_COLLECTIVE_MAX = 12 };

typedef struct {
    char name[PTO_FIT_NAME_MAX]; /* a machine file's key */
    double value;
    double gain; /* relative rise of `badness` without it; NaN: not computed */
} pto_fit_collective_t;

typedef struct {
    pto_machine_t *machine; /* owned by the caller */
    int parameter_count;
    pto_fit_collective_t parameter[PTO_FIT_COLLECTIVE_MAX];
    double badness;   /* the objective: mean of |ln(predicted / measured)| plus regret of picks */
    bool interrupted; /* the search was stopped early (pto_stop) and returned the best found so far */
} pto_fit_collectives_t;

/* A cache of prices for several fits of one machine to the same collectives: the fit to all of them, and
 * those that leave a node count out. A fit of another machine empties it. Create returns NULL when out of
 * memory; destroy takes NULL. */
typedef struct pto_fit_prices pto_fit_prices_t;
pto_fit_prices_t *pto_fit_prices_create(void);
void pto_fit_prices_destroy(pto_fit_prices_t *prices);

/* Add to a machine the parameters that only measured collectives determine: which algorithms the library uses
 * and from which size on, whether it stages GPU buffers, and, unless samples gave them, the CPU's copy rate,
 * the startup cost of a copy from pageable memory, a node's message rate, and contention. All collectives
 * have the same weight. Only those with these node counts are used (NULL: all). `prices` may be NULL. Free
 * `fit->machine` with pto_machine_destroy. Errors: PTO_ERR_NOT_FOUND if no collective is left to fit to;
 * PTO_ERR_MEMORY. */
pto_status_t pto_fit_collectives(const pto_machine_t *machine, const pto_collectives_t *collectives,
                                 const pto_node_counts_t *nodes, pto_fit_prices_t *prices,
                                 pto_fit_collectives_t *fit, pto_error_t *err);

/* Measure by how much the machine's predictions miss these collectives, and store it in the machine as the
 * model's error. `nodes` are the node counts that the machine was fitted to (NULL: all); larger ones
 * determine the additional error of an extrapolation. With `refit`, only `nodes` are used, and each is
 * predicted by a fit without it. With fewer than 19 measurements nothing is stored. Errors: those of
 * pto_fit_collectives and pto_score_predict. */
pto_status_t pto_fit_model_error(pto_machine_t *machine, const pto_collectives_t *collectives,
                                 const pto_node_counts_t *nodes, bool refit, pto_fit_prices_t *prices,
                                 pto_error_t *err);

/* Copy the model's error, or only the additional error of extrapolation, from another machine if this one has
 * none of its own. Errors: PTO_ERR_MEMORY. */
pto_status_t pto_fit_borrow_error(pto_machine_t *machine, const pto_machine_t *lender, pto_error_t *err);

/* Copy the terms of collectives from another machine if this one lacks them. Errors: PTO_ERR_MEMORY. */
pto_status_t pto_fit_borrow_terms(pto_machine_t *machine, const pto_machine_t *lender, pto_error_t *err);

PTO_API_END

#endif

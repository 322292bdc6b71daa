/* The result of `portolan replay`: the calls of a program or benchmark, predicted by all strategies. Equal
 * calls are one kind; `i` is the index of a kind in trace.call and in the step. The route of a call is the
 * strategy that ran it. cmd_replay.c fills the structs; replay_table.c and the report print them. */
#ifndef PTO_REPLAYED_H
#define PTO_REPLAYED_H

#include "command_line/options.h"
#include "portolan/recording.h"
#include "portolan/workload.h"

typedef struct {
    pto_options_t options; /* must be first: the shared options are stored at its offsets */
    pto_recording_options_t trace;
    pto_layout_t layout;  /* of a node */
    bool in_host;         /* the data of all calls are in host memory */
    int64_t top;          /* kinds of calls in the table */
    int64_t read;         /* progress: thousandths of the file that have been read */
    bool is_contradicted; /* the file contradicts an option */
} pto_replay_t;

typedef struct {
    const pto_replay_t *replay;
    const char *path;           /* of the recording */
    pto_recording_t trace;      /* its kinds of calls */
    pto_delays_t delays;        /* the processes and links that delay others */
    pto_step_prediction_t step; /* the prices of the kinds of calls */
    pto_error_t *left_out;      /* for each kind, why it is not priced, or PTO_OK */
} pto_replayed_t;

bool pto_replayed_is_priced(const pto_replayed_t *replayed, int i);
/* Returns why a call is not priced, without the collective's name, with which the error may begin. */
const char *pto_replayed_reason(const pto_replayed_t *replayed, int i);

/* Returns the prediction of a call by the route that it took; NULL if that is not the name of a strategy that
 * applies. */
const pto_prediction_t *pto_replayed_taken(const pto_replayed_t *replayed, int i);
/* Returns whether a measurement refutes a prediction of the cheapest route, because it was faster. measured_s
 * is 0 if nothing was measured. */
static inline bool pto_is_refuted(double predicted_s, double measured_s) {
    return measured_s > 0 && measured_s < predicted_s;
}
/* Returns whether a kind of call was faster than its cheapest prediction, so there is no advice for it. */
bool pto_replayed_is_refuted(const pto_replayed_t *replayed, int i);
/* Returns how many calls were on GPU buffers and are priced as on host buffers. */
int64_t pto_replayed_for_host(const pto_replayed_t *replayed);
/* Sums over the calls that are compared between processes and whose own route is priced. */
typedef struct {
    int64_t calls;
    double measured_s;
    double transfer_s; /* the measured time from the arrival of the last process on */
    double predicted_s;
} pto_transfers_t;
/* Returns false if there are no such calls. */
bool pto_replayed_transfers(const pto_replayed_t *replayed, pto_transfers_t *transfers);
/* Returns how far apart the processes of a pair are; "" for other calls. */
const char *pto_replayed_distance(const pto_recording_call_t *call);
/* PTO_ERR_NOT_APPLICABLE, with the reasons, if all calls of the file were left out when it was read. */
pto_status_t pto_replayed_check(const pto_replayed_t *replayed, pto_error_t *err);
/* Prints the table, with what was left out and assumed, and sorts the routes by their times. */
pto_status_t pto_print_replayed(pto_replayed_t *replayed, pto_error_t *err);

#endif

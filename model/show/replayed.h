/* The result of `portolan replay`: the calls of a program or benchmark, predicted by all strategies. */
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
    int64_t read;         /* thousandths of the file that have been read */
    bool is_contradicted; /* the file contradicts an option */
} pto_replay_t;

typedef struct {
    const pto_replay_t *replay;
    const char *path;
    pto_recording_t trace;
    pto_delays_t delays;
    pto_step_prediction_t step;
    pto_error_t *left_out; /* for each call, why it is not priced, or PTO_OK */
} pto_replayed_t;

bool pto_replayed_is_priced(const pto_replayed_t *replayed, int i);
/* Returns why a call is not priced, without the collective's name, with which the error may begin. */
const char *pto_replayed_reason(const pto_replayed_t *replayed, int i);

/* Returns the prediction of a call by the route that it took; NULL if no strategy of this name applies. */
const pto_prediction_t *pto_replayed_taken(const pto_replayed_t *replayed, int i);
/* Returns whether a measurement refutes the prediction of the cheapest route, because it was faster.
 * measured_s is 0 if there is none. */
static inline bool pto_is_refuted(double predicted_s, double measured_s) {
    return measured_s > 0 && measured_s < predicted_s;
}
/* Returns whether a kind of call was faster than its cheapest prediction, so there is no advice for it. */
bool pto_replayed_is_refuted(const pto_replayed_t *replayed, int i);

/* Returns how many calls were on GPU buffers and are priced as on host buffers. */
int64_t pto_replayed_for_host(const pto_replayed_t *replayed);
/* Sums of times over the calls that are compared between processes and whose own route is priced: as
 * measured, from the arrival of the last process on, and as predicted. */
typedef struct {
    int64_t calls;
    double measured_s, transfer_s, predicted_s;
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

/* The calls of a recorded program or benchmark, predicted by all routes: what `portolan replay` prints. */
#ifndef PTO_REPLAYED_H
#define PTO_REPLAYED_H

#include "command_line/options.h"
#include "portolan/recording.h"
#include "portolan/workload.h"
#include "show/caveats.h"

/* The options shared with other commands apply to the first member. */
typedef struct {
    pto_options_t options;
    pto_recording_options_t trace;
    pto_layout_t layout; /* of a node */
    bool in_host;        /* the data of all calls are in host memory */
    int64_t top;
    int64_t read;         /* thousandths of the file */
    bool is_contradicted; /* an option, by the file */
} pto_replay_t;

typedef struct {
    const pto_replay_t *replay;
    const char *path;
    pto_recording_t trace;
    pto_delays_t delays;
    pto_step_prediction_t step;
    pto_error_t *left_out; /* of each call; a status other than PTO_OK: not priced */
} pto_replayed_t;

bool pto_replayed_is_priced(const pto_replayed_t *replayed, int i);
/* Why a call is not priced, without its name, which the error may begin with. */
const char *pto_replayed_reason(const pto_replayed_t *replayed, int i);

/* A call by the route that it took; NULL: no strategy of this name applies. */
const pto_prediction_t *pto_replayed_taken(const pto_replayed_t *replayed, int i);
/* By its cheapest route, of a call that is priced. */
const pto_prediction_t *pto_replayed_cheapest(const pto_replayed_t *replayed, int i,
                                              const pto_strategy_t **strategy);
/* Whether something that was measured, by another route, was faster than a route is said to be. */
static inline bool pto_is_refuted(double said_s, double measured_s) {
    return measured_s > 0 && measured_s < said_s;
}
/* Whether the calls were measured faster than the cheapest prediction, which is then no advice. */
bool pto_replayed_is_refuted(const pto_replayed_t *replayed, int i);

/* Calls that were on GPU buffers and are priced as if they were not. */
int64_t pto_replayed_for_host(const pto_replayed_t *replayed);
/* The time after the last process's arrival, of those of the calls that are compared and whose own route is
 * priced, and what was measured and is predicted of these. False: there are none. */
typedef struct {
    int64_t calls;
    double measured_s, transfer_s, predicted_s;
} pto_transfers_t;
bool pto_replayed_transfers(const pto_replayed_t *replayed, pto_transfers_t *transfers);
/* How far apart the processes of a pair are; "" for other calls. */
const char *pto_replayed_distance(const pto_recording_call_t *call);

/* PTO_ERR_NOT_APPLICABLE, with the reasons, if all calls of the file were left out when it was read. */
pto_status_t pto_replayed_check(const pto_replayed_t *replayed, pto_error_t *err);
/* The table, with what was left out and assumed. It orders the routes. */
void pto_print_replayed(pto_replayed_t *replayed);

#endif

/* Recorded calls and their predictions: the prices of the route that a call took, and of the cheapest route.
 */
#include "replayed.h"

#include <string.h>

#include "portolan/strategy.h"
#include "show/step_table.h"

bool pto_replayed_is_priced(const pto_replayed_t *replayed, int i) {
    return replayed->left_out[i].status == PTO_OK;
}

const char *pto_replayed_reason(const pto_replayed_t *replayed, int i) {
    const char *reason = replayed->left_out[i].message;
    const char *name = pto_collective_name(replayed->trace.call[i].collective);
    size_t length = strlen(name);
    return strncmp(reason, name, length) == 0 && reason[length] == ':' ? reason + length + 2 : reason;
}

const pto_prediction_t *pto_replayed_taken(const pto_replayed_t *replayed, int i) {
    const char *route = replayed->trace.call[i].route;
    const pto_strategy_t *strategy;
    bool on_gpus = strcmp(route, "mpi") == 0 && !replayed->replay->in_host;
    if (!pto_replayed_is_priced(replayed, i) ||
        pto_strategy_find(on_gpus ? "cuda_aware" : route, &strategy, NULL) != PTO_OK)
        return NULL;
    return pto_step_call_prediction(&replayed->step, i, strategy);
}

bool pto_replayed_is_refuted(const pto_replayed_t *replayed, int i) {
    const pto_recording_call_t *call = &replayed->trace.call[i];
    const pto_strategy_t *strategy;
    return pto_replayed_is_priced(replayed, i) &&
           pto_is_refuted((double)call->times * pto_step_best(&replayed->step, i, &strategy)->price.seconds,
                          call->measured_s);
}

int64_t pto_replayed_for_host(const pto_replayed_t *replayed) {
    return replayed->replay->in_host ? replayed->trace.on_gpu : 0;
}

const char *pto_replayed_distance(const pto_recording_call_t *call) {
    return call->collective == PTO_COLLECTIVE_PAIR ? pto_level_name(call->distance) : "";
}

bool pto_replayed_transfers(const pto_replayed_t *replayed, pto_transfers_t *transfers) {
    pto_transfers_t sum = {0};
    for (int i = 0; i < replayed->trace.count; i++) {
        const pto_recording_call_t *call = &replayed->trace.call[i];
        const pto_prediction_t *taken = pto_replayed_taken(replayed, i);
        if (!taken || call->compared == 0)
            continue;
        sum.calls += call->compared;
        sum.measured_s += call->measured_s / (double)call->times * (double)call->compared;
        sum.transfer_s += call->transfer_s;
        sum.predicted_s += (double)call->compared * taken->price.seconds;
    }
    *transfers = sum;
    return sum.calls > 0;
}

/* Writes a plan's messages as a GOAL schedule for LogGOPSim (portolan/check.h): a rank's sends and receives
 * of a stage depend on those of its previous stage. */
#include <inttypes.h>

#include "plan/plan_internal.h"
#include "portolan/check.h"
#include "portolan/strategy.h"

/* Writes a rank's messages. Their labels count from 1. Those of the previous stage with messages are [first,
 * end), those of the current one follow. A walk numbers stages of all iterations as instances. */
static void write_rank(FILE *stream, const pto_plan_t *plan, int64_t rank) {
    int64_t first = 1, end = 1, label = 1, instance = -1;
    pto_actions_t messages;
    fprintf(stream, "rank %" PRId64 " {\n", rank);
    pto_actions_begin(&messages, plan, rank, 1u << PTO_STEP_SEND | 1u << PTO_STEP_RECV);
    while (pto_actions_next(&messages)) {
        const pto_step_t *step = messages.action.step;
        bool sends = step->kind == PTO_STEP_SEND;
        int64_t bytes = pto_slice_bytes(plan, pto_message_slice(step), &messages.action);
        if (bytes == 0 && !step->send_empty)
            continue;
        if (instance != messages.walk.instance) {
            first = end;
            end = label;
        }
        instance = messages.walk.instance;
        fprintf(stream, "l%" PRId64 ": %s %" PRId64 "b %s %" PRId64 " tag %" PRId64 "\n", label,
                sends ? "send" : "recv", bytes, sends ? "to" : "from", messages.action.peer_rank, instance);
        for (int64_t i = first; i < end; i++)
            fprintf(stream, "l%" PRId64 " requires l%" PRId64 "\n", label, i);
        label++;
    }
    fprintf(stream, "}\n\n");
}

pto_status_t pto_print_goal(const pto_plan_t *plan, FILE *stream, pto_error_t *err) {
    const pto_request_t *request = pto_plan_request(plan);
    const char *name = request->strategy->name;
    if (pto_plan_uses_nccl(plan))
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "%s: the messages are NCCL's own", name);
    if (pto_plan_lane_count(plan) > 1)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             "%s: a GOAL schedule here has no stages that overlap%s", name,
                             request->chunks > 1 ? "; give --chunks 1" : "");
    if (pto_plan_size(plan).messages == 0)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             "%s: the plan has no messages, and GOAL has nothing else", name);
    int64_t ranks = pto_layout_rank_count(&request->layout);
    fprintf(stream, "// %s by %s, with %s, %" PRId64 " bytes: messages; copies and reductions are left out\n",
            pto_collective_name(request->collective), name, request->algorithm->name, request->bytes);
    fprintf(stream, "num_ranks %" PRId64 "\n\n", ranks);
    for (int64_t rank = 0; rank < ranks; rank++)
        write_rank(stream, plan, rank);
    return PTO_OK;
}

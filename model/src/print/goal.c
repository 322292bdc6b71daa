/* Writes a plan's messages as a GOAL schedule for LogGOPSim (portolan/check.h): a rank's sends and receives
 * of a stage depend on those of its previous stage. */
#include <inttypes.h>

#include "plan/plan_internal.h"
#include "portolan/check.h"
#include "portolan/strategy.h"

/* A rank's statements are numbered from 1: those of the last stage that had any are [first, end). */
typedef struct {
    FILE *stream;
    int64_t first;
    int64_t end;
} goal_rank_t;

/* Writes a rank's messages of one step, and returns the next label. */
static int64_t write_step(const goal_rank_t *rank, const pto_walk_t *walk, const pto_step_t *step,
                          int64_t number, int64_t label) {
    pto_action_t action;
    if (!pto_step_is_message(step) || !pto_step_acts(walk->plan, step, number, walk->k, &action))
        return label;
    for (int64_t next = 0; pto_step_next(walk->plan, &next, &action);) {
        int64_t bytes = pto_slice_bytes(walk->plan, pto_message_slice(step), &action);
        if (bytes == 0 && !step->send_empty)
            continue;
        bool sends = step->kind == PTO_STEP_SEND;
        fprintf(rank->stream, "l%" PRId64 ": %s %" PRId64 "b %s %" PRId64 " tag %" PRId64 "\n", label,
                sends ? "send" : "recv", bytes, sends ? "to" : "from", action.peer_rank, walk->instance);
        for (int64_t i = rank->first; i < rank->end; i++)
            fprintf(rank->stream, "l%" PRId64 " requires l%" PRId64 "\n", label, i);
        label++;
    }
    return label;
}

static void write_rank(FILE *stream, const pto_plan_t *plan, int64_t number) {
    goal_rank_t rank = {.stream = stream, .first = 1, .end = 1};
    pto_walk_t walk;
    fprintf(stream, "rank %" PRId64 " {\n", number);
    pto_walk_begin(&walk, plan);
    while (pto_walk_next(&walk)) {
        int64_t label = rank.end;
        for (int i = 0; i < walk.stage->step_count; i++)
            label = write_step(&rank, &walk, pto_plan_step(plan, walk.stage->step_first + i), number, label);
        if (label == rank.end)
            continue;
        rank.first = rank.end;
        rank.end = label;
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

/* A plan's messages as a GOAL schedule, the input of LogGOPSim (T. Hoefler, T. Schneider, A. Lumsdaine,
 * "LogGOPSim", LSAP 2010): a rank's sends and receives of one stage begin when those of the stage before have
 * ended. Copies and reductions are left out. */
#ifndef PTO_BENCH_GOAL_H
#define PTO_BENCH_GOAL_H

#include <stdio.h>

#include "plan/plan_internal.h"

/* The messages of one step of a rank; returns the number of the next label. */
static inline int64_t goal_write_step(FILE *out, const pto_plan_t *plan, const pto_walk_t *walk,
                                      const pto_step_t *step, int64_t rank, int64_t label,
                                      int64_t before_first, int64_t before_end) {
    pto_action_t action;
    if (!pto_step_is_message(step) || !pto_step_acts(plan, step, rank, walk->k, &action))
        return label;
    for (int64_t next = 0; pto_step_next(plan, &next, &action);) {
        int64_t bytes = pto_slice_bytes(plan, pto_message_slice(step), &action);
        if (bytes == 0 && !step->send_empty)
            continue;
        bool sends = step->kind == PTO_STEP_SEND;
        fprintf(out, "l%lld: %s %lldb %s %lld tag %lld\n", (long long)label, sends ? "send" : "recv",
                (long long)bytes, sends ? "to" : "from", (long long)action.peer_rank,
                (long long)walk->instance);
        for (int64_t i = before_first; i < before_end; i++)
            fprintf(out, "l%lld requires l%lld\n", (long long)label, (long long)i);
        label++;
    }
    return label;
}

static inline void goal_write(FILE *out, const pto_plan_t *plan) {
    int64_t ranks = pto_layout_rank_count(&plan->request.layout);
    fprintf(out, "num_ranks %lld\n\n", (long long)ranks);
    for (int64_t rank = 0; rank < ranks; rank++) {
        pto_walk_t walk;
        int64_t before_first = 1, before_end = 1;
        fprintf(out, "rank %lld {\n", (long long)rank);
        pto_walk_begin(&walk, plan);
        while (pto_walk_next(&walk)) {
            int64_t label = before_end;
            for (int i = 0; i < walk.stage->step_count; i++)
                label = goal_write_step(out, plan, &walk, pto_plan_step(plan, walk.stage->step_first + i),
                                        rank, label, before_first, before_end);
            if (label > before_end) {
                before_first = before_end;
                before_end = label;
            }
        }
        fprintf(out, "}\n\n");
    }
}

#endif

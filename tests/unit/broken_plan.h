/* Plans, ways to break them, and the fault that check must report. */
#ifndef PTO_TEST_BROKEN_PLAN_H
#define PTO_TEST_BROKEN_PLAN_H

#include "built.h"
#include "must.h"
#include "plan/plan_internal.h"
#include "portolan/check.h"
#include "portolan/strategy.h"
#include "test.h"

/* Of floats; three processes a GPU where the strategy splits. */
static inline pto_request_t request_on(pto_layout_t layout, pto_collective_t collective, const char *strategy,
                                       const char *algorithm, int64_t bytes) {
    pto_request_t request = {
        .layout = layout, .collective = collective, .datatype = PTO_DATATYPE_FLOAT, .bytes = bytes};
    carry_out_by(&request, strategy, algorithm);
    if (request.strategy->splits)
        request.layout.procs_per_gpu = 3;
    return request;
}

static inline pto_plan_t *plan_of(pto_request_t request) { return must_plan(&request); }

static inline pto_step_t *step_in(const pto_plan_t *plan, const char *stage_name, pto_step_kind_t kind) {
    const pto_stage_t *stage = plan->stages.item;
    pto_step_t *step = plan->steps.item;
    for (int i = 0; i < plan->stages.count; i++)
        for (int s = stage[i].step_first; s < stage[i].step_first + stage[i].step_count; s++)
            if (strcmp(stage[i].name, stage_name) == 0 && step[s].kind == kind)
                return &step[s];
    fail_msg("no such step in stage '%s'", stage_name);
    return NULL;
}

static inline void drop_flag(const pto_plan_t *plan, const char *stage_name) {
    step_in(plan, stage_name, PTO_STEP_SIGNAL)->core_count = 0;
    step_in(plan, stage_name, PTO_STEP_WAIT)->core_count = 0;
}

static inline pto_stage_t *stage_named(const pto_plan_t *plan, const char *name) {
    pto_stage_t *stage = plan->stages.item;
    for (int i = 0; i < plan->stages.count; i++)
        if (strcmp(stage[i].name, name) == 0)
            return &stage[i];
    fail_msg("no stage '%s'", name);
    return NULL;
}

static inline int buffer_named(const pto_plan_t *plan, const char *name) {
    for (int i = 0; i < pto_plan_buffer_count(plan); i++)
        if (strcmp(pto_plan_buffer(plan, i)->name, name) == 0)
            return i;
    fail_msg("no buffer '%s'", name);
    return -1;
}

/* Check that the plan is refused for `cause` without the flag of this stage. */
static inline void needs_flag(const pto_plan_t *plan, const char *stage_name, const char *cause) {
    drop_flag(plan, stage_name);
    refused_for(plan, cause);
}

#endif

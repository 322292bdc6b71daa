/* Properties of the kinds of steps: one table row each, which every interpreter reads. */
#include "base/names.h"
#include "plan/plan_internal.h"

static const struct {
    const char *name;
    bool reads;   /* its source */
    bool writes;  /* its target */
    bool message; /* needs peers, and a partner with the opposite step in the same stage */
    bool signal;  /* needs peers and a flag */
} kinds[] = {
    [PTO_STEP_SEND] = {.name = "send", .reads = true, .message = true},
    [PTO_STEP_RECV] = {.name = "recv", .writes = true, .message = true},
    [PTO_STEP_COPY] = {.name = "copy", .reads = true, .writes = true},
    [PTO_STEP_REDUCE] = {.name = "reduce", .reads = true, .writes = true},
    [PTO_STEP_SIGNAL] = {.name = "signal", .signal = true},
    [PTO_STEP_WAIT] = {.name = "wait", .signal = true},
    [PTO_STEP_LAUNCH] = {.name = "launch"},
};
PTO_EACH_NAMED(kinds, PTO_STEP_COUNT);

const char *pto_step_name(pto_step_kind_t kind) {
    return kind < PTO_STEP_COUNT ? kinds[kind].name : "no step";
}

const pto_slice_t *pto_step_source(const pto_step_t *step) {
    return kinds[step->kind].reads ? &step->source : NULL;
}

const pto_slice_t *pto_step_target(const pto_step_t *step) {
    return kinds[step->kind].writes ? &step->target : NULL;
}

const pto_slice_t *pto_message_slice(const pto_step_t *step) {
    return kinds[step->kind].reads ? &step->source : &step->target;
}

bool pto_step_reads(const pto_step_t *step, int buffer) {
    return kinds[step->kind].reads && step->source.buffer == buffer;
}

bool pto_step_writes(const pto_step_t *step, int buffer) {
    return kinds[step->kind].writes && step->target.buffer == buffer;
}

bool pto_step_is_message(const pto_step_t *step) { return kinds[step->kind].message; }

bool pto_step_is_local(const pto_step_t *step) { return kinds[step->kind].reads && kinds[step->kind].writes; }

bool pto_step_is_signal(const pto_step_t *step) { return kinds[step->kind].signal; }

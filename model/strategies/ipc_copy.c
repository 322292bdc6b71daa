/* ipc_copy: the receiver of a pair copies directly from the sender's GPU memory, which it has opened by CUDA
 * IPC. One flag says that the data is ready, the other that it has been copied. (Ji et al., "Efficient
 * Intranode Communication in GPU-Accelerated Systems", 2012, section IV, could not do this, since the memory
 * of their GPUs could not be opened by other processes.) */
#include "staging.h"

/* Builds a flag: a stage that raises it and a stage that waits for it. With messages both ways, each member
 * raises its flag before it waits for the other's. */
static void build_flag(pto_builder_t *builder, const char *name, const char *waiting, pto_step_t signal,
                       pto_step_t wait) {
    signal.flag = wait.flag = pto_build_flag(builder, name);
    pto_build_stage(builder, name, PTO_ORDER_SEQUENCE);
    pto_build_step(builder, signal);
    pto_build_stage(builder, waiting, PTO_ORDER_SEQUENCE);
    pto_build_step(builder, wait);
}

static void build(pto_builder_t *builder, const pto_request_t *request) {
    pto_exchange_t pair = pto_route_user(builder, request);
    pto_slice_t source = pto_slice_all(builder, pair.in);
    source.holder = PTO_HOLDER_PEER;
    build_flag(builder, "ready", "wait for data", pto_build_sender(builder, PTO_STEP_SIGNAL, &pair),
               pto_build_receiver(builder, PTO_STEP_WAIT, &pair));
    pto_route_pair_copy(builder, "copy", pto_build_receiver(builder, PTO_STEP_COPY, &pair), source,
                        pto_slice_all(builder, pair.out));
    build_flag(builder, "copied", "wait for copy", pto_build_receiver(builder, PTO_STEP_SIGNAL, &pair),
               pto_build_sender(builder, PTO_STEP_WAIT, &pair));
}

static pto_status_t applicable(const pto_request_t *request, pto_error_t *err) {
    if (request->layout.nodes > 1)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "GPU memory can be opened on one node only");
    if (request->ends.from_host || request->ends.to_host)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "both ends must be in GPU memory");
    return PTO_OK;
}

const pto_strategy_t pto_strategy_ipc_copy = {
    .name = "ipc_copy",
    .summary = "the receiver copies straight from the sender's GPU memory (CUDA IPC)",
    .collectives = 1u << PTO_COLLECTIVE_PAIR,
    .direct = true,
    .collective_space = PTO_SPACE_GPU,
    .applicable = applicable,
    .build = build,
};

/* Copies and reductions of one rank, priced by whose memory they touch (docs/model.md, 'How a plan is
 * priced').
 */
#include "price_copies.h"

#include "plan_internal.h"

/* One copy of one rank. */
typedef struct {
    pto_copy_kind_t kind;
    int64_t bytes;
    int64_t source_gpu;
    int64_t target_gpu;
    bool between_gpus;
} copy_t;

static copy_t copy_of(const pto_plan_t *plan, const pto_action_t *action) {
    const pto_step_t *step = action->step;
    int64_t cores = plan->request.layout.cores_per_gpu;
    copy_t copy = {.kind = pto_step_copy_kind(plan, step),
                   .bytes = pto_slice_bytes(plan, &step->source, action),
                   .source_gpu = pto_slice_holder(plan, &step->source, action) / cores,
                   .target_gpu = pto_slice_holder(plan, &step->target, action) / cores};
    copy.between_gpus = copy.kind == PTO_COPY_D2D && copy.source_gpu != copy.target_gpu;
    return copy;
}

/* The GPU whose engine a copy uses. */
static int64_t engine_of(const copy_t *copy) {
    return copy->kind == PTO_COPY_D2H ? copy->source_gpu : copy->target_gpu;
}

static void count_one(const pto_plan_t *plan, const pto_action_t *action, pto_engine_t *engine) {
    copy_t copy = copy_of(plan, action);
    if (copy.between_gpus) {
        engine[copy.source_gpu].out_bytes += copy.bytes;
        engine[copy.target_gpu].in_bytes += copy.bytes;
        return;
    }
    engine[engine_of(&copy)].procs[copy.kind] += copy.bytes > 0 ? 1 : 0;
    engine[engine_of(&copy)].bytes[copy.kind] += copy.bytes;
}

void pto_engine_count(const pto_plan_t *plan, pto_action_t *action, pto_engine_t *engine) {
    if (action->step->peers.kind == PTO_PEERS_NONE)
        count_one(plan, action, engine);
    int64_t peers = pto_step_peer_count(plan, action);
    for (int64_t j = 0; j < peers; j++)
        if (pto_step_peer(plan, j, action))
            count_one(plan, action, engine);
}

/* Between processes that share memory the copy is all there is, so its price must be known. */
static pto_status_t refuse_unpriced(const pto_machine_t *machine, const char *key, pto_error_t *err) {
    return pto_error_set_at(err, PTO_ERR_NOT_APPLICABLE, machine->path, 0, 0,
                            "machine %s has no %s, which the plan needs", machine->name, key);
}

static pto_status_t charge_between(const pto_plan_t *plan, const pto_machine_t *machine, const copy_t *copy,
                                   const pto_engine_t *engine, pto_charge_t *charge, pto_error_t *err) {
    const pto_layout_t *layout = &plan->request.layout;
    pto_level_t level =
        pto_layout_level(layout, pto_layout_rank(layout, copy->source_gpu * layout->cores_per_gpu),
                         pto_layout_rank(layout, copy->target_gpu * layout->cores_per_gpu));
    pto_reach_t reach = level == PTO_LEVEL_ON_SOCKET ? PTO_REACH_ON_SOCKET : PTO_REACH_OFF_SOCKET;
    if (!pto_postal_known(&machine->peer[reach]))
        reach = PTO_REACH_ON_SOCKET;
    if (!pto_postal_known(&machine->peer[reach]))
        return refuse_unpriced(machine, "peer.on_socket", err);
    int64_t out_bytes = engine[copy->source_gpu].out_bytes, in_bytes = engine[copy->target_gpu].in_bytes;
    pto_charge_peer_copy(charge, machine, reach, copy->bytes, out_bytes > in_bytes ? out_bytes : in_bytes);
    return PTO_OK;
}

static pto_status_t charge_one(const pto_plan_t *plan, const pto_machine_t *machine,
                               const pto_action_t *action, const pto_engine_t *engine, pto_charge_t *charge,
                               pto_error_t *err) {
    copy_t copy = copy_of(plan, action);
    if (copy.between_gpus)
        return charge_between(plan, machine, &copy, engine, charge, err);
    bool shared =
        action->step->source.holder == PTO_HOLDER_PEER || action->step->target.holder == PTO_HOLDER_PEER;
    if (shared && copy.kind == PTO_COPY_D2D &&
        !pto_postal_known(&machine->copies[PTO_COPY_D2D][PTO_REACH_ON_SOCKET]))
        return refuse_unpriced(machine, "copies.d2d.on_socket", err);
    return pto_charge_copy(charge, machine, copy.kind, engine[engine_of(&copy)].procs[copy.kind], copy.bytes,
                           engine[engine_of(&copy)].bytes[copy.kind], err);
}

pto_status_t pto_engine_charge(const pto_plan_t *plan, const pto_machine_t *machine, pto_action_t *action,
                               const pto_engine_t *engine, pto_charge_t *charge, pto_error_t *err) {
    if (action->step->peers.kind == PTO_PEERS_NONE)
        return charge_one(plan, machine, action, engine, charge, err);
    pto_status_t status = PTO_OK;
    int64_t peers = pto_step_peer_count(plan, action);
    for (int64_t j = 0; j < peers && status == PTO_OK; j++)
        if (pto_step_peer(plan, j, action))
            status = charge_one(plan, machine, action, engine, charge, err);
    return status;
}

static void reduce_one(const pto_plan_t *plan, const pto_machine_t *machine, const pto_action_t *action,
                       pto_charge_t *charge) {
    const pto_step_t *step = action->step;
    int64_t bytes = pto_slice_bytes(plan, &step->source, action);
    if (step->fresh)
        bytes -= pto_slice_bytes(plan, &step->target, action);
    pto_charge_reduce(charge, machine, pto_plan_buffer(plan, step->target.buffer)->space, bytes);
}

void pto_reduction_charge(const pto_plan_t *plan, const pto_machine_t *machine, pto_action_t *action,
                          pto_charge_t *charge) {
    if (action->step->peers.kind == PTO_PEERS_NONE)
        reduce_one(plan, machine, action, charge);
    int64_t peers = pto_step_peer_count(plan, action);
    for (int64_t j = 0; j < peers; j++)
        if (pto_step_peer(plan, j, action))
            reduce_one(plan, machine, action, charge);
}

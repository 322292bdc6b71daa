/* Costs that depend on how runs of a plan follow each other (docs/model.md, 'Runs in streams and graphs'). */
#include "portolan/lines.h"
#include "portolan/strategy.h"
#include "price/pricing.h"

pto_status_t pto_runs_check(const pto_plan_t *plan, const pto_machine_t *machine, pto_error_t *err) {
    if (machine->runs == PTO_RUNS_WAITED || pto_plan_is_one_launch(plan))
        return PTO_OK;
    return pto_error_set_at(err, PTO_ERR_NOT_APPLICABLE, machine->path, 0, 0,
                            "%s is more than one kernel or one call of NCCL on each GPU, and machine %s has "
                            "the costs of runs that are %s",
                            plan->request.strategy->name, machine->name, pto_runs_text(machine->runs));
}

/* Returns the bytes to each peer. If they differ between pairs, returns what the busiest GPU sends to all
 * others, or receives from them, divided by the number of these. */
static int64_t lines_bytes(const pto_plan_t *plan) {
    const pto_request_t *request = &plan->request;
    int64_t owners = pto_layout_owner_count(&request->layout), others = owners - 1, max_bytes = 0;
    if (!pto_plan_has_tables(plan) || others < 1)
        return request->bytes;
    for (int64_t i = 0; i < owners; i++) {
        int64_t out_bytes = 0, in_bytes = 0;
        for (int64_t j = 0; j < owners; j++) {
            out_bytes += j != i ? pto_request_bytes(request, i, j) : 0;
            in_bytes += j != i ? pto_request_bytes(request, j, i) : 0;
        }
        max_bytes = out_bytes > max_bytes ? out_bytes : max_bytes;
        max_bytes = in_bytes > max_bytes ? in_bytes : max_bytes;
    }
    return (max_bytes + others - 1) / others;
}

const pto_cost_row_t *pto_runs_by_lines(const pto_plan_t *plan, const pto_machine_t *machine) {
    const pto_layout_t *layout = &plan->request.layout;
    if (machine->remote_lines.count == 0 || layout->nodes > 1)
        return NULL;
    const pto_cost_row_t *row = pto_machine_lines(machine, layout->gpus_per_node, lines_bytes(plan));
    bool by_lines =
        row && pto_plan_is_one_launch(plan) && pto_plan_lines(plan, PTO_LINES_BYTES_MAX) != PTO_LINES_NONE;
    return by_lines ? row : NULL;
}

void pto_charge_run_by_lines(pto_charge_t *charge, const pto_machine_t *machine, const pto_plan_t *plan,
                             const pto_cost_row_t *row) {
    pto_charge_postal(charge, &machine->remote_lines, &row->postal, PTO_SPACE_GPU, 1,
                      (double)lines_bytes(plan));
}

static bool is_by_lines(const pto_pricing_t *pricing, int node) {
    return pricing->run_cost && pto_node_at(pricing->plan, node)->kind == PTO_NODE_KERNEL;
}

/* The plan's only kernel; its first stage launches it. All processes take the same time. */
static pto_status_t price_lines(pto_pricing_t *pricing, int kernel, int64_t k) {
    (void)k;
    const pto_plan_t *plan = pricing->plan;
    const pto_stage_t *first = pto_plan_stage(plan, pto_plan_node(plan, kernel + 1)->stage);
    const pto_step_t *launch = pto_plan_step(plan, first->step_first);
    pto_charge_t charge;
    pto_charge_begin(&charge, first->name, pto_pricing_terms(pricing, PTO_TERMS_OUT));
    pto_charge_run_by_lines(&charge, pricing->machine, plan, pricing->run_cost);
    for (int64_t i = 0; i < pricing->actors.priced_count; i++) {
        pto_action_t action;
        int64_t actor = pricing->actors.priced[i];
        if (!pto_actor_acts(pricing, launch, actor, 0, &action))
            continue;
        pto_occupied_step(pricing, &action, charge.other.s);
        pto_pricing_add(pricing, actor, &charge, charge.other);
    }
    return PTO_OK;
}

const pto_pricer_t pto_pricer_lines = {is_by_lines, price_lines};

/* What NCCL's own collective costs (docs/model.md, 'NCCL's own collectives'): alpha + beta s of the row for
 * as many GPUs on as many nodes. Nothing is interpolated: with another number NCCL takes other rings, trees
 * and protocols. */
#include "price/nccl.h"

#include <stdio.h>

#include "plan/plan_internal.h"

const char pto_nccl_stage[] = "NCCL";

/* The largest number of bytes that any owner sends or receives, per destination. */
static double busiest_bytes(const pto_request_t *request) {
    int64_t owners = pto_layout_owner_count(&request->layout), most_bytes = 0;
    for (int64_t i = 0; i < owners; i++) {
        int64_t out_bytes = 0, in_bytes = 0;
        for (int64_t j = 0; j < owners; j++) {
            out_bytes += pto_request_bytes(request, i, j);
            in_bytes += pto_request_bytes(request, j, i);
        }
        if (out_bytes > most_bytes)
            most_bytes = out_bytes;
        if (in_bytes > most_bytes)
            most_bytes = in_bytes;
    }
    return (double)most_bytes / (double)owners;
}

static double call_bytes(const pto_plan_t *plan) {
    const pto_request_t *request = &plan->request;
    return pto_plan_has_tables(plan) ? busiest_bytes(request) : (double)request->bytes;
}

/* Which numbers of GPUs were measured, as far as there is room. */
static void list_measured(const pto_machine_t *machine, pto_nccl_kind_t kind, char *text, size_t text_size) {
    int used = snprintf(text, text_size, "has none");
    for (int i = 0; i < machine->nccl[kind].count && (size_t)used < text_size; i++) {
        const pto_cost_row_t *row = &machine->nccl[kind].row[i];
        used = i == 0 ? 0 : used;
        if (row->from_bytes == 0)
            used += snprintf(text + used, text_size - (size_t)used, "%s%lld on %lld",
                             i == 0 ? "knows GPUs on nodes: " : ", ", (long long)row->gpus,
                             (long long)row->nodes);
    }
}

static pto_status_t refuse(const pto_machine_t *machine, pto_nccl_kind_t kind, int64_t gpus, int64_t nodes,
                           pto_error_t *err) {
    char measured[96];
    list_measured(machine, kind, measured, sizeof measured);
    return pto_error_set_at(err, PTO_ERR_NOT_APPLICABLE, machine->path, 0, 0,
                            "the plan needs nccl.%s for %lld GPUs on %lld node%s, and machine %s %s; "
                            "`portolan-calibrate --only nccl` there measures it",
                            pto_nccl_name(kind), (long long)gpus, (long long)nodes, nodes == 1 ? "" : "s",
                            machine->name, measured);
}

pto_status_t pto_charge_nccl(pto_charge_t *charge, const pto_machine_t *machine, const pto_plan_t *plan,
                             const pto_node_t *node, pto_error_t *err) {
    const pto_layout_t *layout = &plan->request.layout;
    int64_t gpus = pto_plan_group(plan, node->group)->size;
    pto_nccl_kind_t kind = pto_collective_nccl(node->collective);
    if (kind == PTO_NCCL_COUNT)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "NCCL has no %s",
                             pto_collective_name(node->collective));
    if (!pto_machine_nccl(machine, kind, gpus, layout->nodes, 0))
        return refuse(machine, kind, gpus, layout->nodes, err);
    double bytes = call_bytes(plan);
    const pto_cost_row_t *row = pto_machine_nccl(machine, kind, gpus, layout->nodes, (int64_t)bytes);
    pto_charge_postal(charge, &machine->nccl[kind], &row->postal, PTO_SPACE_GPU, 1, bytes);
    return PTO_OK;
}

bool pto_nccl_takes_core(const pto_node_t *node, int64_t core) {
    return core >= node->core_first && core < node->core_first + node->core_count;
}

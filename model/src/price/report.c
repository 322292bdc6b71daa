/* Reports a price from the ledger of the slowest actor: names and times of its terms, and the interval that
 * follows from those of the parameters and from the machine's model error. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "portolan/strategy.h"
#include "price/ledger.h"

void pto_explanation_fini(pto_explanation_t *explanation) {
    free(explanation->term);
    *explanation = (pto_explanation_t){0};
}

/* Returns the power that a GPU draws meanwhile. Starts are usually the host's work, and the GPU waits. */
static pto_power_t power_of(const pto_entry_t *entry, const pto_family_t *family) {
    bool idle = entry->space != PTO_SPACE_GPU || (entry->field == PTO_FIELD_ALPHA && !family->power_at_start);
    return idle ? PTO_POWER_GPU_IDLE : family->power;
}

/* Names a link by its ends: topology.bridge.0-socket.0. */
static bool name_link(const pto_topology_t *topology, const pto_param_t *param, char key[PTO_PARAM_KEY_MAX]) {
    for (int i = 0; topology && i < pto_topology_link_count(topology); i++) {
        const pto_topology_link_t *link = pto_topology_link_at(topology, i);
        if (&link->s_per_byte != param)
            continue;
        snprintf(key, PTO_PARAM_KEY_MAX, "topology.%s-%s", pto_topology_vertex_name(topology, link->from),
                 pto_topology_vertex_name(topology, link->to));
        return true;
    }
    return false;
}

/* Names a fabric's link by the nodes below it: fabric.4. */
static void name_level(const pto_fabric_t *fabric, const pto_param_t *param, char key[PTO_PARAM_KEY_MAX]) {
    for (int i = 0; i < fabric->levels; i++) {
        const pto_fabric_level_t *level = &fabric->level[i];
        if (param == &level->s_per_byte[0] || param == &level->s_per_byte[1])
            snprintf(key, PTO_PARAM_KEY_MAX, "fabric.%lld", (long long)level->nodes);
    }
}

pto_term_t pto_entry_term(const pto_entry_t *entry, const pto_machine_t *machine) {
    pto_term_t term = {.stage = entry->stage, .param = entry->param, .count = entry->count};
    pto_cell_t cell;
    if (pto_cell_at(machine, entry->cell, &cell)) {
        pto_cell_explain(&cell, entry->param, entry->field, term.key);
        term.power = power_of(entry, cell.family);
    } else if (name_link(machine->topology, entry->param, term.key)) {
        term.power = PTO_POWER_GPU_COPY;
        term.file = pto_topology_path(machine->topology);
    } else {
        name_level(&machine->fabric, entry->param, term.key);
    }
    if (!term.file && entry->param && entry->param->file > 0)
        term.file = pto_machine_file(machine, entry->param->file);
    term.seconds = entry->param ? entry->count * entry->param->value : 0;
    return term;
}

static pto_status_t explain(const pto_ledger_t *ledger, const pto_machine_t *machine,
                            pto_explanation_t *explanation, pto_error_t *err) {
    if (explanation->capacity < ledger->entry_count) {
        if (!pto_array_resize(&explanation->term, (size_t)ledger->entry_count, sizeof *explanation->term))
            return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for an explanation");
        explanation->capacity = ledger->entry_count;
    }
    explanation->count = ledger->entry_count;
    for (int i = 0; i < ledger->entry_count; i++)
        explanation->term[i] = pto_entry_term(&ledger->entry[i], machine);
    return PTO_OK;
}

/* Sums the intervals of independent parameters in quadrature, each as often as the parameter is used. */
static void carry_intervals(const pto_ledger_t *ledger, pto_price_t *price) {
    double below = 0, above = 0;
    for (int i = 0; i < ledger->entry_count; i++) {
        const pto_param_t *param = ledger->entry[i].param;
        if (!param || !param->has_interval)
            continue;
        double count = 0;
        bool seen = false;
        for (int j = 0; j < ledger->entry_count; j++)
            if (ledger->entry[j].param == param) {
                seen = seen || j < i;
                count += ledger->entry[j].count;
            }
        if (seen)
            continue;
        price->has_interval = true;
        below += pow(count * (param->value - param->low), 2);
        above += pow(count * (param->high - param->value), 2);
    }
    price->low_s = fmax(price->seconds - sqrt(below), 0);
    price->high_s = price->seconds + sqrt(above);
}

void pto_price_widen(const pto_request_t *request, const pto_machine_t *machine, pto_price_t *price) {
    const pto_model_error_t *error = &machine->model_error;
    const pto_error_row_t *row = pto_model_error_row(error, request->strategy->name);
    double more = price->extrapolated.doublings * machine->nccl_doubling.value;
    if ((!row && more == 0) || price->seconds <= 0)
        return;
    const pto_layout_t *layout = &request->layout;
    double doublings = pto_covered_doublings(&error->node, layout->nodes) +
                       pto_covered_doublings(&error->proc, layout->gpus_per_node * layout->procs_per_gpu) +
                       pto_covered_doublings(&error->byte, request->bytes);
    double half = (row ? row->log_95 * (1 + error->doubling * doublings) : 0) + more;
    double below = price->low_s > 0 ? log(price->seconds / price->low_s) : INFINITY;
    double above = log(price->high_s / price->seconds);
    price->has_interval = true;
    price->low_s = price->seconds * exp(-hypot(below, half));
    price->high_s = price->seconds * exp(hypot(above, half));
    price->tie_log_sd = hypot(error->tie * (1 + error->doubling * doublings), more / pto_deviations_95);
}

pto_status_t pto_ledger_report(const pto_ledger_t *slowest, const pto_machine_t *machine, pto_price_t *price,
                               pto_explanation_t *explanation, pto_error_t *err) {
    double seconds = slowest->time.s;
    if (!isfinite(seconds))
        return pto_error_set(err, PTO_ERR_RANGE, "the price is not a finite number of seconds");
    pto_price_t result = {.seconds = seconds, .low_s = seconds, .high_s = seconds};
    if (explanation) {
        carry_intervals(slowest, &result);
        pto_status_t status = explain(slowest, machine, explanation, err);
        if (status != PTO_OK)
            return status;
    }
    *price = result;
    return PTO_OK;
}

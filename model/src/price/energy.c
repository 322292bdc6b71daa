/* The energy of a run of a plan (docs/model.md, 'Energy'): each power times the time it is drawn. */
#include "portolan/price.h"

#include <math.h>

#include "machine/registry.h"
#include "plan/plan_internal.h"

static void fill_device_seconds(const pto_plan_t *plan, double seconds, const pto_explanation_t *explanation,
                                pto_energy_t *energy) {
    const pto_layout_t *layout = &pto_plan_request(plan)->layout;
    double places = (double)(layout->nodes * layout->gpus_per_node), gpus = layout->in_host ? 0 : places;
    double busy_s[PTO_POWER_COUNT] = {0};
    for (int i = 0; i < explanation->count; i++)
        busy_s[explanation->term[i].power] += explanation->term[i].seconds;
    /* Where a price extrapolates loops, terms can be negative. */
    double copy_s = fmax(busy_s[PTO_POWER_GPU_COPY], 0), kernel_s = fmax(busy_s[PTO_POWER_GPU_KERNEL], 0);
    energy->part[PTO_POWER_GPU_IDLE].device_s = gpus * fmax(seconds - copy_s - kernel_s, 0);
    energy->part[PTO_POWER_GPU_COPY].device_s = gpus * copy_s;
    energy->part[PTO_POWER_GPU_KERNEL].device_s = gpus * kernel_s;
    energy->part[PTO_POWER_CPU_IDLE].device_s = (double)layout->nodes * seconds;
    energy->part[PTO_POWER_CPU_CORE].device_s = places * (double)pto_acting_cores(plan) * seconds;
}

/* The price's interval is multiplied by the plan's mean power. Independent deviations add in quadrature. */
static void carry_intervals(const pto_price_t *price, pto_energy_t *energy) {
    double mean_w = price->seconds > 0 ? energy->joules / price->seconds : 0;
    double below = 0, above = 0;
    if (price->has_interval) {
        energy->has_interval = true;
        below = pow(mean_w * (price->seconds - price->low_s), 2);
        above = pow(mean_w * (price->high_s - price->seconds), 2);
    }
    for (int power = 0; power < PTO_POWER_COUNT; power++) {
        const pto_energy_part_t *part = &energy->part[power];
        if (!part->param || !part->param->has_interval)
            continue;
        energy->has_interval = true;
        below += pow(part->device_s * (part->param->value - part->param->low), 2);
        above += pow(part->device_s * (part->param->high - part->param->value), 2);
    }
    energy->low_joules = energy->joules - sqrt(below);
    energy->high_joules = energy->joules + sqrt(above);
}

pto_status_t pto_energy(const pto_plan_t *plan, const pto_machine_t *machine, const pto_price_t *price,
                        const pto_explanation_t *explanation, pto_energy_t *energy, pto_error_t *err) {
    pto_energy_t result = {0};
    fill_device_seconds(pto_plan_fixed(plan), price->seconds, explanation, &result);
    for (int power = 0; power < PTO_POWER_COUNT; power++) {
        pto_energy_part_t *part = &result.part[power];
        const pto_param_t *param = &machine->power_w[power];
        bool of_gpu = power <= PTO_POWER_GPU_KERNEL;
        pto_cell_t cell;
        if (pto_cell_at(machine, param, &cell))
            pto_cell_key(&cell, part->key);
        if (of_gpu && part->device_s > 0 && !pto_param_known(param))
            return pto_error_set_at(err, PTO_ERR_NOT_APPLICABLE, machine->path, 0, 0,
                                    "machine %s has no %s, which the plan's energy needs; "
                                    "`portolan-validate --powers` measures it",
                                    machine->name, part->key);
        part->param = pto_param_known(param) ? param : NULL;
        part->joules = part->param ? part->device_s * param->value : 0;
        result.joules += part->joules;
    }
    carry_intervals(price, &result);
    double largest = result.high_joules * fmax(price->high_s, 1); /* pick: energy-delay product */
    if (!isfinite(largest) || !isfinite(result.low_joules))
        return pto_error_set(err, PTO_ERR_RANGE, "the energy is not a finite number of joules");
    *energy = result;
    return PTO_OK;
}

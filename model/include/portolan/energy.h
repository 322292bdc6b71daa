/* energy: the cost of a plan in joules, from the machine's powers and the plan's price (docs/model.md,
 * 'Energy').
 *
 * Every device that takes part draws its idle power for the whole duration of the plan. Active devices draw
 * additional power for as long as the addends of the price keep them active: copies, and messages from GPU
 * memory, keep the GPUs' copy engines busy; reductions on a GPU keep its kernels busy; and every process that
 * takes part polls on its own core from start to end. All GPUs count as active for as long as those on the
 * critical path.
 *
 * The finding to explain: L. Oden, B. Klenk, H. Froening, "Energy-Efficient Collective Reduce and Allreduce
 * Operations on Distributed GPUs" (CCGrid 2014). */
#ifndef PORTOLAN_ENERGY_H
#define PORTOLAN_ENERGY_H

#include "portolan/api.h"
#include "portolan/price.h"

PTO_API_BEGIN

/* One power, and the device-seconds for which it is drawn. The sum over all parts is the energy. */
typedef struct {
    char key[PTO_PARAM_KEY_MAX]; /* the machine file's key, e.g. energy.gpu.idle_w */
    const pto_param_t *param;    /* NULL: the machine file has none, and the energy excludes it */
    double device_s;             /* number of GPUs, nodes or cores, times seconds */
    double joules;
} pto_energy_part_t;

typedef struct {
    double joules;
    bool has_interval;
    double low_joules; /* 95 percent; powers and price taken as independent */
    double high_joules;
    pto_energy_part_t part[PTO_POWER_COUNT];
} pto_energy_t;

/* The energy of a plan, from its price and explanation. The parts point into the machine. If the machine file
 * has no CPU powers, the energy is that of the GPUs alone.
 * Errors: PTO_ERR_NOT_APPLICABLE if the machine lacks a GPU power that the plan needs. */
pto_status_t pto_energy(const pto_plan_t *plan, const pto_machine_t *machine, const pto_price_t *price,
                        const pto_explanation_t *explanation, pto_energy_t *energy, pto_error_t *err);

PTO_API_END

#endif

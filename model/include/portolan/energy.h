/* energy: what a plan costs in joules, from the machine's powers and the plan's price (docs/model.md,
 * 'Energy').
 *
 * Everything that takes part draws its idle power as long as the plan takes; on top of it comes what is at
 * work, as long as it works by the addends of the price: the bytes of copies and of messages from GPU memory
 * keep the GPUs' copy engines busy, reductions on a GPU its kernels, and every process that takes part polls
 * on a core of its own from the beginning to the end. All GPUs count as busy as those on the longest path.
 *
 * The finding to be explained: L. Oden, B. Klenk, H. Froening, "Energy-Efficient Collective Reduce and
 * Allreduce Operations on Distributed GPUs" (CCGrid 2014). */
#ifndef PORTOLAN_ENERGY_H
#define PORTOLAN_ENERGY_H

#include "portolan/api.h"
#include "portolan/price.h"

PTO_API_BEGIN

/* One power, and how long how many draw it: all addends together are the energy. */
typedef struct {
    char key[PTO_PARAM_KEY_MAX]; /* the machine file's: energy.gpu.idle_w */
    const pto_param_t *param;    /* NULL: the machine file has none, and the plan's energy is without it */
    double device_s;             /* GPUs, nodes or cores, times seconds */
    double joules;
} pto_energy_part_t;

typedef struct {
    double joules;
    bool has_interval;
    double low_joules; /* 95 percent: the powers' intervals and the price's, taken as independent */
    double high_joules;
    pto_energy_part_t part[PTO_POWER_COUNT];
} pto_energy_t;

/* The energy of a plan of that price and explanation. The parts point into the machine. Where the machine
 * file has no powers of CPUs, the energy is that of the GPUs alone.
 * Errors: PTO_ERR_NOT_APPLICABLE where the machine lacks a power of the GPUs that the plan needs. */
pto_status_t pto_energy(const pto_plan_t *plan, const pto_machine_t *machine, const pto_price_t *price,
                        const pto_explanation_t *explanation, pto_energy_t *energy, pto_error_t *err);

PTO_API_END

#endif

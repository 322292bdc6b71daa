/* Synthetic costs for everything that a machine's tables lack, so that every plan has a price. */
#ifndef PTO_MADE_UP_H
#define PTO_MADE_UP_H

#include "machine/machine_internal.h"

enum { MADE_UP_NODES = 64, MADE_UP_GPUS = 6 };

/* NCCL's collectives for up to 64 nodes of up to 6 GPUs. */
static inline void make_up_nccl(pto_machine_t *machine, const pto_postal_t *like) {
    static pto_cost_row_t row[MADE_UP_NODES * MADE_UP_GPUS];
    int count = 0;
    for (int64_t nodes = 1; nodes <= MADE_UP_NODES; nodes++)
        for (int64_t gpus = 1; gpus <= MADE_UP_GPUS; gpus++)
            if (nodes * gpus > 1) {
                row[count] = (pto_cost_row_t){
                    .gpus = nodes * gpus, .nodes = nodes, .below_bytes = INT64_MAX, .postal = *like};
                row[count++].postal.alpha_s.value *= (double)(nodes + gpus);
            }
    for (int kind = 0; kind < PTO_NCCL_COUNT; kind++)
        machine->nccl[kind] = (pto_cost_table_t){.count = count, .row = row};
}

/* The machine with costs for what it lacks; it borrows the other's strings and tables. */
static inline pto_machine_t completed(const pto_machine_t *known) {
    pto_machine_t machine = *known;
    const pto_postal_t copy = machine.copies[PTO_COPY_H2D][PTO_REACH_ON_SOCKET];
    machine.peer[PTO_REACH_ON_SOCKET] = machine.peer[PTO_REACH_OFF_SOCKET] = copy;
    machine.peer[PTO_REACH_OFF_SOCKET].alpha_s.value *= 1.5;
    machine.copies[PTO_COPY_H2H][PTO_REACH_ON_SOCKET] = copy;
    machine.copies[PTO_COPY_D2D][PTO_REACH_ON_SOCKET] = copy;
    machine.copies[PTO_COPY_D2D][PTO_REACH_ON_SOCKET].beta_s_per_byte.value /= 10;
    static pto_cost_row_t reduce;
    reduce = (pto_cost_row_t){.below_bytes = INT64_MAX, .postal = copy};
    machine.reduce[PTO_SPACE_GPU] = (pto_cost_table_t){.count = 1, .row = &reduce};
    machine.remote[PTO_REMOTE_STORE][PTO_REACH_ON_SOCKET] = copy;
    machine.remote[PTO_REMOTE_STORE][PTO_REACH_ON_SOCKET].alpha_s.value /= 10;
    machine.remote[PTO_REMOTE_LOAD][PTO_REACH_ON_SOCKET] = copy;
    machine.remote[PTO_REMOTE_LOAD][PTO_REACH_OFF_SOCKET] = machine.peer[PTO_REACH_OFF_SOCKET];
    machine.kernel_launch_s = (pto_param_t){.value = 7e-6, .line = 1};
    machine.device_signal_s = (pto_param_t){.value = 1e-6, .line = 1};
    machine.signal_s = (pto_param_t){.value = 2e-7, .line = 1};
    make_up_nccl(&machine, &copy);
    return machine;
}

#endif

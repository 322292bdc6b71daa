/* The cost of a kernel's steps (docs/model.md, 'Kernels'): loads and stores of other GPUs' memory, bytes of
 * its own GPU's, flags between GPUs. The launch is paid once, at the beginning. */
#include "plan/plan_internal.h"
#include "price/copies.h"

/* Prefers the launch of runs, then of graphs: if the host waits for runs, these are graphs of one node. */
void pto_charge_launch(pto_charge_t *charge, const pto_machine_t *machine) {
    const pto_param_t *launch = &machine->kernel_launch_s;
    if (pto_param_known(&machine->run_launch_s))
        launch = &machine->run_launch_s;
    else if (pto_param_known(&machine->graph_launch_s))
        launch = &machine->graph_launch_s;
    pto_charge_param(charge, launch, PTO_SPACE_GPU, 1);
}

void pto_charge_wait(pto_charge_t *charge, const pto_machine_t *machine, const pto_step_t *step) {
    if (step->in_kernel)
        pto_charge_param(charge, &machine->device_signal_s, PTO_SPACE_GPU, 1);
    else
        pto_charge_param(charge, &machine->signal_s, PTO_SPACE_CPU, 1);
}

/* Charges the longer of the times of the busiest pair of GPUs and of the busiest link. */
pto_status_t pto_charge_remote(pto_charge_t *charge, const pto_machine_t *machine, pto_remote_access_t access,
                               pto_error_t *err) {
    const pto_postal_t *postal = pto_machine_remote(machine, access.how, access.reach);
    const pto_param_t *all = &machine->remote_all_s_per_byte;
    if (access.most_bytes == 0)
        return PTO_OK;
    if (!postal)
        return pto_error_set_at(err, PTO_ERR_NOT_APPLICABLE, machine->path, 0, 0,
                                "machine %s has no remote.%s.on_socket, which the plan needs", machine->name,
                                pto_remote_name(access.how));
    bool all_known = pto_param_known(all);
    double pair_bytes = (double)(all_known ? access.most_bytes : access.link_bytes);
    bool by_link = all_known && pto_time_less(pto_time_of(&postal->beta_s_per_byte, pair_bytes),
                                              pto_time_of(all, (double)access.link_bytes));
    pto_charge_entry(charge, (pto_entry_t){.cell = postal,
                                           .field = PTO_FIELD_ALPHA,
                                           .param = &postal->alpha_s,
                                           .space = PTO_SPACE_GPU,
                                           .count = 1});
    if (by_link)
        pto_charge_param(charge, all, PTO_SPACE_GPU, (double)access.link_bytes);
    else
        pto_charge_entry(charge, (pto_entry_t){.cell = postal,
                                               .field = PTO_FIELD_BETA,
                                               .param = &postal->beta_s_per_byte,
                                               .space = PTO_SPACE_GPU,
                                               .count = pair_bytes});
    return PTO_OK;
}

void pto_charge_kernel_bytes(pto_charge_t *charge, const pto_machine_t *machine, int64_t bytes) {
    if (bytes > 0)
        pto_charge_postal(charge, &machine->reduce[PTO_SPACE_GPU],
                          pto_machine_reduce(machine, PTO_SPACE_GPU, bytes), PTO_SPACE_GPU, 0, (double)bytes);
}

void pto_charge_kernel_reduce(pto_charge_t *charge, const pto_machine_t *machine, pto_reduction_t reduction) {
    pto_reduction_parts_t parts = pto_reduction_parts(machine, PTO_SPACE_GPU, reduction);
    pto_charge_kernel_bytes(charge, machine, parts.bytes);
    pto_charge_extra_inputs(charge, machine, PTO_SPACE_GPU, parts);
}

static void add_peer(const pto_plan_t *plan, const pto_action_t *action, pto_kernel_copy_t *copy) {
    const pto_step_t *step = action->step;
    int64_t cores = plan->request.layout.procs_per_gpu;
    int64_t bytes = pto_copy_bytes(plan, action);
    int64_t source = pto_slice_holder(plan, &step->source, action);
    int64_t target = pto_slice_holder(plan, &step->target, action);
    if (bytes == 0)
        return;
    if (source / cores == target / cores) {
        copy->local_bytes += bytes;
        return;
    }
    bool stores = target != action->rank;
    copy->access.how = stores ? PTO_REMOTE_STORE : PTO_REMOTE_LOAD;
    copy->remote_bytes += bytes;
    copy->peers++;
    copy->other_gpu = (stores ? target : source) / cores;
    if (pto_copy_reach(plan, action) == PTO_REACH_OFF_SOCKET)
        copy->access.reach = PTO_REACH_OFF_SOCKET;
    if (bytes > copy->access.most_bytes)
        copy->access.most_bytes = bytes;
}

pto_kernel_copy_t pto_kernel_copy(const pto_plan_t *plan, pto_action_t *action) {
    pto_kernel_copy_t copy = {0};
    for (int64_t next = 0; pto_step_next(plan, &next, action);)
        add_peer(plan, action, &copy);
    return copy;
}

/* Returns the bytes, of all GPUs' accesses, of the busiest link of the rank's GPU and its peers' GPUs. */
static int64_t busiest_link(const pto_copying_t *copying, pto_action_t *action,
                            const pto_kernel_copy_t *copy) {
    int64_t cores = copying->plan->request.layout.procs_per_gpu;
    const pto_copies_t *own = pto_copying_engine(copying, action->rank / cores);
    bool stores = copy->access.how == PTO_REMOTE_STORE;
    int64_t busiest = stores ? own->out_bytes : own->in_bytes;
    int64_t peers = pto_step_peer_count(copying->plan, action);
    for (int64_t j = 0; j < peers; j++) {
        if (!pto_step_peer(copying->plan, j, action))
            continue;
        const pto_copies_t *other = pto_copying_engine(copying, action->peer_rank / cores);
        int64_t bytes = stores ? other->in_bytes : other->out_bytes;
        busiest = bytes > busiest ? bytes : busiest;
    }
    return busiest;
}

pto_status_t pto_kernel_copy_charge(const pto_copying_t *copying, pto_action_t *action) {
    pto_kernel_copy_t copy = pto_kernel_copy(copying->plan, action);
    if (copy.access.most_bytes > 0)
        copy.access.link_bytes = busiest_link(copying, action, &copy);
    pto_charge_kernel_bytes(copying->charge, copying->machine, copy.local_bytes);
    return pto_charge_remote(copying->charge, copying->machine, copy.access, copying->err);
}

/* Creates an executor together with its device and user buffers: what most programs do around
 * pto_exec_create. */
#include "executor.h"

static pto_status_t allocate(const pto_device_t *device, const pto_plan_t *plan, int64_t logical,
                             pto_role_t role, void **memory, pto_error_t *err) {
    return pto_exec_user_allocate(plan, device, role, pto_exec_user_bytes(plan, logical, role), memory, err);
}

static pto_status_t find_device(const char *name, int64_t gpu, const pto_device_t **device,
                                pto_error_t *err) {
    pto_status_t status = pto_device_find(name, device, err);
    return status == PTO_OK ? (*device)->select(gpu, err) : status;
}

pto_status_t pto_exec_open(const pto_plan_t *plan, MPI_Comm comm, const char *device, pto_op_t op,
                           const pto_exec_options_t *options, pto_exec_t **exec, pto_error_t *err) {
    const pto_layout_t *layout = &pto_plan_request(plan)->layout;
    const pto_device_t *found = NULL;
    void *in = NULL, *out = NULL;
    int64_t logical = 0;
    pto_error_t ignored;
    if (!err)
        err = &ignored;
    pto_status_t status = pto_exec_place(layout, comm, options, &logical, err);
    if (status != PTO_OK)
        return status;
    status = find_device(device, pto_layout_rank(layout, logical).gpu, &found, err);
    if (status == PTO_OK)
        status = allocate(found, plan, logical, PTO_ROLE_IN, &in, err);
    if (status == PTO_OK)
        status = allocate(found, plan, logical, PTO_ROLE_OUT, &out, err);
    status = pto_agree(comm, status, err);
    if (status == PTO_OK)
        status = pto_exec_create(plan, comm, found, in, out, op, options, exec, err);
    if (status == PTO_OK) {
        (*exec)->own_in = in;
        (*exec)->own_out = out;
        return PTO_OK;
    }
    if (found) {
        pto_exec_user_release(plan, found, PTO_ROLE_IN, in);
        pto_exec_user_release(plan, found, PTO_ROLE_OUT, out);
    }
    return status;
}

const void *pto_exec_in(const pto_exec_t *exec) { return exec->user_in; }

void *pto_exec_out(const pto_exec_t *exec) { return exec->user_out; }

pto_status_t pto_exec_put(pto_exec_t *exec, const void *host, pto_error_t *err) {
    int64_t bytes = pto_exec_user_bytes(exec->plan, exec->job.logical, PTO_ROLE_IN);
    return exec->own_in ? pto_device_copy(exec->device, exec->own_in, host, (size_t)bytes, err) : PTO_OK;
}

pto_status_t pto_exec_get(const pto_exec_t *exec, void *host, pto_error_t *err) {
    int64_t bytes = pto_exec_user_bytes(exec->plan, exec->job.logical, PTO_ROLE_OUT);
    return exec->own_out ? pto_device_copy(exec->device, host, exec->own_out, (size_t)bytes, err) : PTO_OK;
}

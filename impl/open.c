/* pto_exec_open_in: creates an executor together with its user buffers, `own` by role. */
#include <string.h>

#include "executor.h"
#include "portolan/nccl.h"

/* Returns whether a user buffer is to become an NCCL window. Only plans of NCCL may ask for that. */
static bool is_window(const pto_device_t *device, const pto_exec_options_t *options, int role) {
    return options->nccl_windows && device->nccl && (role == PTO_ROLE_IN || role == PTO_ROLE_OUT);
}

static pto_status_t allocate_buffer(const pto_device_t *device, const pto_plan_t *plan,
                                    const pto_exec_options_t *options, int role, int64_t bytes, void **memory,
                                    pto_error_t *err) {
    if (bytes > 0 && is_window(device, options, role))
        return device->nccl->allocate((size_t)bytes, memory, err);
    return pto_exec_user_allocate(plan, device, (pto_role_t)role, bytes, memory, err);
}

static pto_status_t allocate_all(const pto_device_t *device, const pto_plan_t *plan,
                                 const pto_exec_options_t *options, int64_t logical, void **own,
                                 pto_error_t *err) {
    pto_status_t status = PTO_OK;
    for (int role = 0; role < PTO_ROLE_COUNT && status == PTO_OK; role++)
        if (role != PTO_ROLE_TEMPORARY)
            status = allocate_buffer(device, plan, options, role,
                                     pto_exec_user_bytes(plan, logical, (pto_role_t)role), &own[role], err);
    return status;
}

void pto_exec_own_release(const pto_plan_t *plan, const pto_device_t *device,
                          const pto_exec_options_t *options, void **own) {
    for (int role = 0; role < PTO_ROLE_COUNT; role++)
        if (is_window(device, options, role))
            device->nccl->release(own[role], NULL);
        else
            pto_exec_user_release(plan, device, (pto_role_t)role, own[role]);
}

static pto_status_t find_device(const char *name, int64_t gpu, const pto_device_t **device,
                                pto_error_t *err) {
    pto_status_t status = pto_device_find(name, device, err);
    return status == PTO_OK ? (*device)->select(gpu, err) : status;
}

pto_status_t pto_exec_open_in(const pto_plan_t *plan, const pto_team_t *team, const char *device, pto_op_t op,
                              const pto_exec_options_t *options, pto_exec_t **exec, pto_error_t *err) {
    const pto_layout_t *layout = &pto_plan_request(plan)->layout;
    const pto_device_t *found = NULL;
    pto_exec_options_t given = options ? *options : (pto_exec_options_t){0};
    void *own[PTO_ROLE_COUNT] = {NULL};
    int64_t logical = 0;
    pto_error_t ignored;
    if (!err)
        err = &ignored;
    pto_status_t status = pto_exec_place_in(layout, team, options, &logical, err);
    if (status != PTO_OK)
        return status;
    status = find_device(device, pto_layout_rank(layout, logical).gpu, &found, err);
    if (status == PTO_OK)
        status = allocate_all(found, plan, &given, logical, own, err);
    status = pto_agree(team, status, err);
    given.host_in = own[PTO_ROLE_HOST_IN];
    given.host_out = own[PTO_ROLE_HOST_OUT];
    if (status == PTO_OK)
        status =
            pto_exec_create_in(plan, team, found, own[PTO_ROLE_IN], own[PTO_ROLE_OUT], op, &given, exec, err);
    if (status == PTO_OK)
        memcpy((*exec)->own, own, sizeof own);
    else if (found)
        pto_exec_own_release(plan, found, &given, own);
    return status;
}

const void *pto_exec_in(const pto_exec_t *exec) { return exec->user_in; }

void *pto_exec_out(const pto_exec_t *exec) { return exec->user_out; }

void *pto_exec_host_in(const pto_exec_t *exec) { return exec->own[PTO_ROLE_HOST_IN]; }

void *pto_exec_host_out(const pto_exec_t *exec) { return exec->own[PTO_ROLE_HOST_OUT]; }

pto_status_t pto_exec_put(pto_exec_t *exec, const void *host, pto_error_t *err) {
    int64_t bytes = pto_exec_user_bytes(exec->plan, exec->job.logical, PTO_ROLE_IN);
    return exec->own[PTO_ROLE_IN]
               ? pto_device_copy(exec->device, exec->own[PTO_ROLE_IN], host, (size_t)bytes, err)
               : PTO_OK;
}

pto_status_t pto_exec_get(const pto_exec_t *exec, void *host, pto_error_t *err) {
    int64_t bytes = pto_exec_user_bytes(exec->plan, exec->job.logical, PTO_ROLE_OUT);
    return exec->own[PTO_ROLE_OUT]
               ? pto_device_copy(exec->device, host, exec->own[PTO_ROLE_OUT], (size_t)bytes, err)
               : PTO_OK;
}

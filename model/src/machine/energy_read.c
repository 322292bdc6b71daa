/* Reading `energy` of a machine file (docs/formats.md): powers in watts. */
#include "machine/energy_read.h"

#include <stdio.h>

#define FIELDS(list) .field = (list), .field_count = sizeof(list) / sizeof *(list)
#define AT(power) (sizeof(pto_param_t) * (power))

/* A power's key without the mapping that it stands in. */
static const char *leaf_of(pto_power_t power) { return pto_power_key(power) + sizeof "gpu"; }

static pto_status_t settle(const pto_reader_t *reader, const pto_yaml_node_t *node, pto_power_t power,
                           pto_param_t *param) {
    char interval_key[PTO_PARAM_KEY_MAX];
    snprintf(interval_key, sizeof interval_key, "%s_95", leaf_of(power));
    return pto_settle_param(reader, node, interval_key, param);
}

/* A GPU at work draws at least what it draws idle. Less means that the file gives what comes on top. */
static pto_status_t finish_gpu(const pto_reader_t *reader, const pto_yaml_node_t *node, void *target) {
    pto_param_t *power_w = target;
    pto_status_t status = PTO_OK;
    for (int power = PTO_POWER_GPU_IDLE; power <= PTO_POWER_GPU_KERNEL && status == PTO_OK; power++) {
        const pto_param_t *param = &power_w[power];
        if (pto_param_known(param) && param->value < power_w[PTO_POWER_GPU_IDLE].value)
            return pto_read_fail(reader, pto_yaml_find(node, leaf_of((pto_power_t)power)), PTO_ERR_RANGE,
                                 "%s: %g is below idle_w, %g; it is a GPU's whole power, not what work adds",
                                 leaf_of((pto_power_t)power), param->value,
                                 power_w[PTO_POWER_GPU_IDLE].value);
        status = settle(reader, node, (pto_power_t)power, &power_w[power]);
    }
    return status;
}

static pto_status_t finish_cpu(const pto_reader_t *reader, const pto_yaml_node_t *node, void *target) {
    pto_param_t *power_w = target;
    pto_status_t status = settle(reader, node, PTO_POWER_CPU_IDLE, &power_w[PTO_POWER_CPU_IDLE]);
    if (status != PTO_OK)
        return status;
    return settle(reader, node, PTO_POWER_CPU_CORE, &power_w[PTO_POWER_CPU_CORE]);
}

static const pto_yaml_field_t gpu_fields[] = {
    {.key = "idle_w",
     .read = pto_read_param,
     .offset = AT(PTO_POWER_GPU_IDLE),
     .argument = 1,
     .required = true},
    {.key = "idle_w_95", .read = pto_read_interval, .offset = AT(PTO_POWER_GPU_IDLE)},
    {.key = "copy_w", .read = pto_read_param, .offset = AT(PTO_POWER_GPU_COPY), .argument = 1},
    {.key = "copy_w_95", .read = pto_read_interval, .offset = AT(PTO_POWER_GPU_COPY)},
    {.key = "kernel_w", .read = pto_read_param, .offset = AT(PTO_POWER_GPU_KERNEL), .argument = 1},
    {.key = "kernel_w_95", .read = pto_read_interval, .offset = AT(PTO_POWER_GPU_KERNEL)},
};
static const pto_yaml_table_t gpu_table = {
    .what = "the powers of a GPU", FIELDS(gpu_fields), .finish = finish_gpu};

static const pto_yaml_field_t cpu_fields[] = {
    {.key = "idle_w",
     .read = pto_read_param,
     .offset = AT(PTO_POWER_CPU_IDLE),
     .argument = 1,
     .required = true},
    {.key = "idle_w_95", .read = pto_read_interval, .offset = AT(PTO_POWER_CPU_IDLE)},
    {.key = "core_w", .read = pto_read_param, .offset = AT(PTO_POWER_CPU_CORE), .required = true},
    {.key = "core_w_95", .read = pto_read_interval, .offset = AT(PTO_POWER_CPU_CORE)},
};
static const pto_yaml_table_t cpu_table = {
    .what = "the powers of a node's CPUs", FIELDS(cpu_fields), .finish = finish_cpu};

static const pto_yaml_field_t energy_fields[] = {
    {.key = "gpu", .table = &gpu_table, .required = true},
    {.key = "cpu", .table = &cpu_table},
};
const pto_yaml_table_t pto_energy_table = {.what = "'energy'", FIELDS(energy_fields)};

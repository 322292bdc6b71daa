/* Faster links, and the messages that cross them. */
#include "upgrade/upgrade_links.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "machine/machine_internal.h"
#include "machine/topology_internal.h"
#include "portolan/scenario.h"

static bool value_of(const pto_machine_t *machine, const char *key, double *value) {
    return pto_machine_get(machine, key, value, NULL) == PTO_OK && *value > 0;
}

/* Of a link between two GPUs, on one socket or not; false: the machine file has none. */
static bool gpu_link(const pto_machine_t *machine, bool on_socket, double *s_per_byte) {
    static const char *const off[] = {"peer.off_socket.beta_s_per_byte",
                                      "remote.load.off_socket.beta_s_per_byte"};
    static const char *const on[] = {"peer.on_socket.beta_s_per_byte",
                                     "remote.load.on_socket.beta_s_per_byte"};
    return (!on_socket && (value_of(machine, off[0], s_per_byte) || value_of(machine, off[1], s_per_byte))) ||
           value_of(machine, on[0], s_per_byte) || value_of(machine, on[1], s_per_byte);
}

static bool host_link(const pto_machine_t *machine, double *s_per_byte) {
    return value_of(machine, "copies.h2d.on_socket.beta_s_per_byte", s_per_byte);
}

bool pto_gpus_are_linked(const pto_machine_t *machine) {
    double between, to_host;
    return gpu_link(machine, true, &between) && (!host_link(machine, &to_host) || between < to_host);
}

/* --- what a node sends ---------------------------------------------------------------------------------- */

static const char gpu_injection[] = "injection.gpu.s_per_byte";

/* Numbers are written with four digits. */
static bool is_as_written(double value, double other) { return fabs(value - other) <= 1e-3 * other; }

/* Of a node's GPUs together; 0: not known. */
static double host_links(const pto_machine_t *machine) {
    double link, gpus;
    return host_link(machine, &link) && value_of(machine, "node.gpus", &gpus) ? link / gpus : 0;
}

double pto_gpu_injection_with_twice_the_nics(const pto_machine_t *machine) {
    double node;
    return value_of(machine, gpu_injection, &node) ? fmax(node / 2, fmin(node, host_links(machine))) : 0;
}

/* --- messages ------------------------------------------------------------------------------------------- */

/* The cost of a message's byte on the faster link; the same, if it does not cross the link. */
typedef double (*faster_t)(const pto_machine_t *machine, const char *key, double s_per_byte);

static bool is_bytes_of(const char *key, const char *prefix) {
    return pto_text_begins(key, prefix) && pto_text_ends(key, ".beta_s_per_byte");
}

static bool is_of_gpus(const char *key) {
    return is_bytes_of(key, "messages.gpu.on_socket.") || is_bytes_of(key, "messages.gpu.on_node.") ||
           is_bytes_of(key, "messages.gpu.off_node.") || is_bytes_of(key, "gap.within.gpu.on_socket.") ||
           is_bytes_of(key, "gap.within.gpu.on_node.") || strcmp(key, gpu_injection) == 0;
}

static bool is_between_nodes(const char *key) {
    return is_bytes_of(key, "messages.cpu.off_node.") || is_bytes_of(key, "messages.gpu.off_node.");
}

static pto_status_t speed_up(pto_machine_t *machine, bool (*is_changed)(const char *key), faster_t faster,
                             int *changed, pto_error_t *err) {
    pto_machine_param_t *param;
    int count;
    pto_status_t status = pto_machine_params(machine, &param, &count, err);
    if (status != PTO_OK)
        return status;
    for (int i = 0; i < count && status == PTO_OK; i++) {
        if (!param[i].param || !pto_param_known(param[i].param) || !is_changed(param[i].key))
            continue;
        double before = param[i].param->value, after = faster(machine, param[i].key, before);
        if (after >= before)
            continue;
        status = pto_machine_set(machine, param[i].key, after, err);
        (*changed)++;
    }
    free(param);
    return status;
}

static double over_gpu_link(const pto_machine_t *machine, const char *key, double s_per_byte) {
    double link = 0;
    if (strstr(key, ".off_node.") || strcmp(key, gpu_injection) == 0 ||
        !gpu_link(machine, strstr(key, ".on_socket.") != NULL, &link))
        return s_per_byte;
    return s_per_byte - fmin(s_per_byte, link) / 2;
}

/* Nothing else in a machine file says that messages cross the link to the host. */
static double over_host_link(const pto_machine_t *machine, const char *key, double s_per_byte) {
    char host[PTO_PARAM_KEY_MAX];
    double link, nic = 0;
    if (strcmp(key, gpu_injection) == 0 && is_as_written(s_per_byte, host_links(machine))) {
        value_of(machine, "injection.cpu.s_per_byte", &nic);
        return fmax(s_per_byte / 2, nic);
    }
    if (!host_link(machine, &link) || s_per_byte != link)
        return s_per_byte;
    if (!strstr(key, ".off_node."))
        return s_per_byte / 2;
    snprintf(host, sizeof host, "messages.cpu.off_node.%s", key + strlen("messages.gpu.off_node."));
    value_of(machine, host, &nic);
    return fmax(s_per_byte / 2, nic);
}

/* A GPU's bytes cross its link to the host as well. */
static double over_network(const pto_machine_t *machine, const char *key, double s_per_byte) {
    double link = 0;
    if (is_bytes_of(key, "messages.gpu.off_node."))
        host_link(machine, &link);
    return fmax(s_per_byte / 2, fmin(link, s_per_byte));
}

pto_status_t pto_speed_up_network(pto_machine_t *machine, pto_error_t *err) {
    int changed = 0;
    pto_status_t status = speed_up(machine, is_between_nodes, over_network, &changed, err);
    if (status == PTO_OK && changed == 0)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             "not priced: the machine file has no messages between nodes");
    return status;
}

/* The links of a topology from GPU to GPU or NVSwitch. The others are those to the host. */
static int speed_up_topology(pto_machine_t *machine) {
    pto_topology_t *topology = machine->topology;
    int changed = 0;
    for (int i = 0; topology && i < topology->link_count; i++) {
        pto_topology_link_t *link = &topology->link[i];
        const int gpus = pto_topology_device_count(topology, PTO_DEVICE_GPU);
        const int other = link->from < gpus ? link->to : link->from;
        if ((link->from >= gpus && link->to >= gpus) ||
            (other >= gpus && !pto_text_begins(topology->vertex[other], "nvswitch.")))
            continue;
        pto_param_t *rate = &link->s_per_byte;
        rate->value /= 2;
        rate->low /= 2;
        rate->high /= 2;
        changed++;
    }
    return changed;
}

pto_status_t pto_speed_up_gpu_links(pto_machine_t *machine, pto_error_t *err) {
    double link;
    int changed = 0;
    if (!gpu_link(machine, true, &link))
        return pto_error_set(
            err, PTO_ERR_NOT_APPLICABLE,
            "not priced: the machine file has no rate of a link between GPUs (peer or remote)");
    pto_status_t status = speed_up(machine, is_of_gpus, over_gpu_link, &changed, err);
    changed += speed_up_topology(machine);
    if (status == PTO_OK && changed == 0)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "no message crosses a link between GPUs");
    return status;
}

pto_status_t pto_speed_up_host_links(pto_machine_t *machine, pto_error_t *err) {
    double link;
    int changed = 0;
    if (!host_link(machine, &link))
        return pto_error_set(
            err, PTO_ERR_NOT_APPLICABLE,
            "not priced: the machine file has no rate of a link between GPU and host (copies.h2d)");
    pto_status_t status = speed_up(machine, is_of_gpus, over_host_link, &changed, err);
    if (status == PTO_OK && changed == 0)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "no message is known to cross a link to the host");
    return status;
}

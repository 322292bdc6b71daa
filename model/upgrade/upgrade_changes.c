/* Changes a machine's costs: of links and the messages that cross them, and of GPUDirect's messages. */
#include "upgrade/upgrade_changes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "machine/machine_internal.h"
#include "machine/topology_internal.h"
#include "portolan/scenario.h"

/* Finds the value of a parameter; false if the machine has none, or it is 0. */
static bool value_of(const pto_machine_t *machine, const char *key, double *value) {
    return pto_machine_get(machine, key, value, NULL) == PTO_OK && *value > 0;
}

/* Finds the cost of a byte on a link between two GPUs; false if the machine file has none. */
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

static const char gpu_injection[] = "injection.gpu.s_per_byte";

/* Returns whether two values are equal as machine files have them, with four digits. */
static bool is_as_written(double value, double other) { return fabs(value - other) <= 1e-3 * other; }

/* Returns the cost of a byte over the host links of all GPUs of a node together; 0 if unknown. */
static double host_links(const pto_machine_t *machine) {
    double link, gpus;
    return host_link(machine, &link) && value_of(machine, "node.gpus", &gpus) ? link / gpus : 0;
}

double pto_gpu_injection_with_twice_the_nics(const pto_machine_t *machine) {
    double node;
    return value_of(machine, gpu_injection, &node) ? fmax(node / 2, fmin(node, host_links(machine))) : 0;
}

/* Returns the cost of a message's byte with the faster link; unchanged if the message does not cross it. */
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

/* Lowers the parameters whose keys `is_changed` selects to what `faster` returns; counts them in `*changed`.
 */
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

/* A message is taken to cross the link to the host if its cost per byte equals the link's, since machine
 * files do not say which links messages cross. */
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

/* A GPU's bytes cross its link to the host as well, which stays as it is. */
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

/* Halves the costs of a topology's links from GPU to GPU or NVSwitch; returns how many these are. */
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

static const pto_cost_table_t *off_node(const pto_machine_t *machine, pto_space_t space) {
    return &machine->messages[space][PTO_LEVEL_OFF_NODE];
}

/* Writes the collectives in which the machine's MPI library stages GPU buffers; "" if there are none. */
static void name_staged(const pto_machine_t *machine, char *text, size_t text_size) {
    pto_line_t line = {.text = text, .size = text_size};
    text[0] = '\0';
    for (int t = 0; t < machine->library_count; t++) {
        const pto_library_table_t *table = &machine->library[t];
        bool staged = false;
        for (int i = 0; i < table->rule_count; i++)
            staged = staged || table->rule[i].staged;
        if (staged)
            pto_line_add(&line, "%s%s", *text ? ", " : "", table->collective);
    }
}

static pto_status_t fail_has_gpudirect(const pto_machine_t *machine, pto_error_t *err) {
    char staged[PTO_ERROR_MESSAGE_MAX / 4];
    name_staged(machine, staged, sizeof staged);
    return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                         "the machine has it: a GPU's message to another node starts sooner than a copy to "
                         "the host and the host's message%s%s%s",
                         staged[0] ? ". Its MPI library stages GPU buffers nevertheless (" : "", staged,
                         staged[0] ? "); routes that send from GPU memory are priced beside it" : "");
}

/* Fails if the machine has GPUDirect: then the alpha of a GPU's message is less than that of a copy to the
 * host and of a host's message together. */
static pto_status_t check_lacking(const pto_machine_t *machine, pto_error_t *err) {
    const pto_cost_table_t *cpu = off_node(machine, PTO_SPACE_CPU), *gpu = off_node(machine, PTO_SPACE_GPU);
    double copy_s = 0;
    if (machine->node.gpus < 1)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "the nodes have no GPUs");
    if (cpu->count == 0)
        return pto_error_set(
            err, PTO_ERR_NOT_APPLICABLE,
            "not priced: the machine file has no messages to other nodes (messages.cpu.off_node), whose "
            "costs GPUDirect's would be: measure two nodes, or give it a network (docs/formats.md)");
    if (gpu->count == 0)
        return PTO_OK;
    if (pto_machine_get(machine, "copies.d2h.on_socket.alpha_s", &copy_s, NULL) != PTO_OK)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             "not priced: without copies.d2h, the machine file does not say whether "
                             "messages.gpu.off_node go through the host");
    if (gpu->row[0].postal.alpha_s.value < cpu->row[0].postal.alpha_s.value + copy_s)
        return fail_has_gpudirect(machine, err);
    return PTO_OK;
}

/* Returns the cost of a byte on the link between GPU and host, which goes to NICs too; 0 if unknown. */
static double link_s_per_byte(const pto_machine_t *machine) {
    static const char *const key[] = {"copies.d2h.on_socket.beta_s_per_byte",
                                      "copies.h2d.on_socket.beta_s_per_byte"};
    double slowest = 0, value;
    for (size_t i = 0; i < sizeof key / sizeof *key; i++)
        if (pto_machine_get(machine, key[i], &value, NULL) == PTO_OK)
            slowest = fmax(slowest, value);
    return slowest;
}

/* Sets a cost unless it is known and as low already; counts it if it is set. */
static pto_status_t lower(pto_machine_t *machine, const char *key, const char *field,
                          const pto_param_t *before, double value, int *changed, pto_error_t *err) {
    char full[PTO_PARAM_KEY_MAX];
    if (pto_param_known(before) && value >= before->value)
        return PTO_OK;
    snprintf(full, sizeof full, "%.40s.%s", key, field);
    (*changed)++;
    return pto_machine_set(machine, full, value, err);
}

/* Lowers the costs of GPU messages to the host's. They are set by key, so that the changes are recorded. */
static pto_status_t lower_rows(pto_machine_t *machine, int *changed, pto_error_t *err) {
    const pto_cost_table_t *cpu = off_node(machine, PTO_SPACE_CPU), *gpu = off_node(machine, PTO_SPACE_GPU);
    const double link = link_s_per_byte(machine);
    pto_status_t status = PTO_OK;
    for (int g = 0; g < gpu->count; g++)
        for (int c = 0; c < cpu->count && status == PTO_OK; c++) {
            const pto_postal_t from = cpu->row[c].postal, to = gpu->row[g].postal;
            char key[PTO_PARAM_KEY_MAX];
            if (cpu->row[c].protocol != gpu->row[g].protocol)
                continue;
            snprintf(key, sizeof key, "messages.gpu.off_node.%s", pto_protocol_name(gpu->row[g].protocol));
            status = lower(machine, key, "alpha_s", &to.alpha_s, from.alpha_s.value, changed, err);
            if (status == PTO_OK)
                status = lower(machine, key, "beta_s_per_byte", &to.beta_s_per_byte,
                               fmax(from.beta_s_per_byte.value, link), changed, err);
        }
    return status;
}

/* Adds rows without costs for the protocols of the host's messages. */
static pto_status_t add_rows(pto_machine_t *machine, pto_error_t *err) {
    const pto_cost_table_t *cpu = off_node(machine, PTO_SPACE_CPU);
    for (int i = 0; i < cpu->count; i++) {
        pto_cost_row_t *row = pto_cost_add(&machine->messages[PTO_SPACE_GPU][PTO_LEVEL_OFF_NODE]);
        if (!row)
            return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for messages");
        row->protocol = cpu->row[i].protocol;
        row->from_bytes = cpu->row[i].from_bytes;
        row->below_bytes = cpu->row[i].below_bytes;
    }
    return PTO_OK;
}

/* Limits the rate at which the GPUs of a node send together: by the node's NICs, as for host data, and by the
 * links of its GPUs. A file that has costs of GPU messages, but no limit, gets no limit. */
static pto_status_t limit_node(pto_machine_t *machine, bool added, pto_error_t *err) {
    static const struct {
        const char *cpu, *gpu;
        bool by_link;
    } limit[] = {{"injection.cpu.s_per_byte", "injection.gpu.s_per_byte", true},
                 {"injection.cpu.s_per_message", "injection.gpu.s_per_message", false}};
    const double link = link_s_per_byte(machine) / (double)machine->node.gpus;
    pto_status_t status = PTO_OK;
    for (size_t i = 0; i < sizeof limit / sizeof *limit && status == PTO_OK; i++) {
        double value, before = 0;
        if (pto_machine_get(machine, limit[i].cpu, &value, NULL) != PTO_OK)
            continue;
        value = limit[i].by_link ? fmax(value, link) : value;
        bool known = pto_machine_get(machine, limit[i].gpu, &before, NULL) == PTO_OK;
        if (known ? value < before : added)
            status = pto_machine_set(machine, limit[i].gpu, value, err);
    }
    return status;
}

pto_status_t pto_add_gpudirect(pto_machine_t *machine, char note[PTO_ERROR_MESSAGE_MAX], pto_error_t *err) {
    int changed = 0;
    pto_status_t status = check_lacking(machine, err);
    if (status != PTO_OK)
        return status;
    const bool added = off_node(machine, PTO_SPACE_GPU)->count == 0;
    if (added)
        status = add_rows(machine, err);
    if (status == PTO_OK)
        status = lower_rows(machine, &changed, err);
    if (status == PTO_OK && changed == 0)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             "no message of the host's is cheaper than the GPU's");
    if (status == PTO_OK)
        status = limit_node(machine, added, err);
    snprintf(note, PTO_ERROR_MESSAGE_MAX,
             "at the costs of the host's messages%s; where it was measured (Summit, Lassen), GPU messages "
             "start 0.6 to 5 us later",
             link_s_per_byte(machine) > 0 ? ", no faster than copies between GPU and host" : "");
    return status;
}

/* The links of a node for `portolan machine new`: products and their rates, switches and meshes made of them,
 * and links taken from a topology. machine_links.h says in which form rates are kept. */
#include "machine_links.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "command_line/arguments.h"
#include "command_line/find_machine.h"
#include "machine/topology_internal.h"
#include "portolan/units.h"
#include "traces/topology_xml.h"

enum { NO_SWITCH_GPUS_MAX = 4 }; /* nodes of up to four V100s, A100s or H100s have no switch */

static const struct {
    const char *name;
    double gb_per_s;                    /* of one link, in each direction */
    int links, per_peer, mesh_gpus_max; /* as in pto_link_product_t */
    const char *source;
} products[] = {
    {"pcie3", 15.75, 1, 0, 0, "16 lanes of 8 GT/s, PCI-SIG"},
    {"pcie4", 31.5, 1, 0, 0, "16 lanes of 16 GT/s, PCI-SIG"},
    {"pcie5", 63, 1, 0, 0, "16 lanes of 32 GT/s, PCI-SIG"},
    {"pcie6", 121, 1, 0, 0, "16 lanes of 64 GT/s, PCI-SIG"},
    {"nvlink2", 25, 6, 0, NO_SWITCH_GPUS_MAX, "6 links of 25 GB/s, NVIDIA V100 datasheet"},
    {"nvlink3", 25, 12, 0, NO_SWITCH_GPUS_MAX, "12 links of 25 GB/s, NVIDIA A100 datasheet"},
    {"nvlink4", 25, 18, 0, NO_SWITCH_GPUS_MAX, "18 links of 25 GB/s, NVIDIA H100 datasheet"},
    {"nvlink5", 50, 18, 0, 0, "18 links of 50 GB/s, NVIDIA B200 datasheet"},
    {"nvlink-c2c", 450, 1, 0, 0, "NVIDIA Grace Hopper datasheet"},
    {"xgmi", 64, 7, 1, 8, "7 links of 64 GB/s, AMD MI300X datasheet"},
};
enum { PRODUCT_COUNT = (int)(sizeof products / sizeof *products) };

const char *pto_link_product_at(int i) { return i < PRODUCT_COUNT ? products[i].name : NULL; }

static pto_link_product_t link_of_rate(const char *name, double s_per_byte) {
    return (pto_link_product_t){.name = name,
                                .s_per_byte = s_per_byte,
                                .source = "as given",
                                .links = 1,
                                .any_count = true,
                                .per_peer = 1};
}

static pto_status_t read_rate(const char *text, pto_link_product_t *link, pto_error_t *err) {
    *link = link_of_rate(text, 0);
    for (int i = 0; i < PRODUCT_COUNT; i++)
        if (strcasecmp(text, products[i].name) == 0) {
            *link = (pto_link_product_t){.name = products[i].name,
                                         .s_per_byte = 1e-9 / (products[i].gb_per_s * products[i].links),
                                         .source = products[i].source,
                                         .links = products[i].links,
                                         .per_peer = products[i].per_peer,
                                         .mesh_gpus_max = products[i].mesh_gpus_max};
            return PTO_OK;
        }
    pto_status_t status = pto_quantity_parse(text, PTO_UNIT_S_PER_BYTE, &link->s_per_byte, err);
    /* A number without a unit is in seconds per byte: 400 is surely meant otherwise. */
    const bool is_plausible = link->s_per_byte > 0 && link->s_per_byte < 1e-3;
    if (status == PTO_ERR_RANGE || (status == PTO_OK && is_plausible))
        return status;
    return pto_error_set(err, PTO_ERR_RANGE,
                         "'%s' is not a rate with a unit, such as '200 Gbit/s' or '50 GB/s'", text);
}

/* A rate above ten times that of the fastest product, `fastest_gb_per_s`, has the wrong unit. */
static pto_status_t check_rate(const char *text, const pto_link_product_t *link, const char *what,
                               double fastest_gb_per_s, pto_error_t *err) {
    const double limit_gb_per_s = 10 * fastest_gb_per_s;
    if (1e-9 / link->s_per_byte <= limit_gb_per_s)
        return PTO_OK;
    return pto_error_set(err, PTO_ERR_RANGE, "'%s' is above %g TB/s, ten times what the fastest %s carries",
                         text, limit_gb_per_s / 1000, what);
}

pto_status_t pto_link_read(const char *text, pto_link_product_t *link, pto_error_t *err) {
    pto_status_t status = read_rate(text, link, err);
    return status == PTO_OK ? check_rate(text, link, "link (NVLink 5)", 900, err) : status;
}

pto_status_t pto_link_read_named(void *target, const char *text, pto_error_t *err) {
    pto_error_t unknown = {.status = PTO_OK};
    pto_status_t status = pto_link_read(text, target, err);
    const bool is_number = strspn(text, "0123456789.-") > 0;
    if (status == PTO_OK || is_number)
        return status;
    status = pto_word_unknown(text, "link", pto_link_product_at, &unknown);
    return pto_error_set(err, status, "%s, or a rate in each direction, such as '50 GB/s'", unknown.message);
}

pto_status_t pto_link_read_nic(void *target, const char *text, pto_error_t *err) {
    pto_link_product_t *link = target;
    const double s_per_byte = pto_nic_s_per_byte(text);
    pto_status_t status = PTO_OK;
    if (s_per_byte > 0)
        *link = link_of_rate(text, s_per_byte);
    else
        status = read_rate(text, link, err);
    link->name = text;
    return status == PTO_OK ? check_rate(text, link, "NIC", 100, err) : status;
}

/* Divide the links of each GPU among its peers in a mesh. Links that are left over stay unused. */
static pto_status_t divide_links(pto_node_links_t *links, pto_error_t *err) {
    pto_link_product_t *gpu = &links->gpu;
    const int64_t peers = links->gpus - 1;
    int64_t per_peer = links->links_per_peer > 0 ? links->links_per_peer : gpu->per_peer;
    per_peer = per_peer > 0 ? per_peer : gpu->links / peers;
    if (per_peer == 0 || (!gpu->any_count && per_peer > gpu->links / peers))
        return pto_error_set(err, PTO_ERR_RANGE,
                             "a GPU with %lld link%s of %s has too few for a mesh of %lld GPUs with %lld "
                             "between each two; --gpu-topology switch",
                             (long long)gpu->links, gpu->links == 1 ? "" : "s", gpu->name,
                             (long long)links->gpus, (long long)(per_peer > 0 ? per_peer : 1));
    links->links_per_peer = per_peer;
    links->pair_s_per_byte = gpu->s_per_byte * (double)gpu->links / (double)per_peer;
    gpu->s_per_byte = links->pair_s_per_byte / (double)peers;
    return PTO_OK;
}

pto_status_t pto_node_links_complete(pto_node_links_t *links, pto_error_t *err) {
    const bool has_pairs = links->gpu.name && links->gpus > 1;
    const bool prefers_mesh = links->links_per_peer > 0 || links->gpus <= links->gpu.mesh_gpus_max;
    links->pair_s_per_byte = links->gpu.s_per_byte;
    if (links->joined_by == PTO_JOINED_BY_DEFAULT || !has_pairs)
        links->joined_by = has_pairs && prefers_mesh ? PTO_JOINED_BY_MESH : PTO_JOINED_BY_SWITCH;
    if (links->joined_by == PTO_JOINED_BY_SWITCH)
        return PTO_OK;
    pto_status_t status = divide_links(links, err);
    if (links->gpus == 2)
        links->joined_by = PTO_JOINED_BY_SWITCH;
    return status;
}

/* Write "gpu.0", or "gpu.0-3", for the devices from `first` to before `until`. */
static void put_range(FILE *stream, const char *kind, int64_t first, int64_t until) {
    fprintf(stream, "%s.%lld", kind, (long long)first);
    if (until - first > 1)
        fprintf(stream, "-%lld", (long long)(until - 1));
}

/* Close the list `between` of a link, and write its rate. */
static void put_rate(FILE *stream, double s_per_byte, const char *comment) {
    fputs("], ", stream);
    pto_guess_write(stream, "s_per_byte", pto_guess_achieved(s_per_byte));
    fprintf(stream, "}%s\n", comment);
}

/* The links of devices to their sockets. The sockets share out the devices in order; each socket with devices
 * gets one line. */
static void put_on_sockets(FILE *stream, const char *kind, int64_t count, int64_t sockets,
                           double s_per_byte) {
    for (int64_t first = 0, until; first < count; first = until) {
        const int64_t socket = count < sockets ? first : first * sockets / count;
        until = first + 1;
        while (until < count && until * sockets / count == socket)
            until++;
        fputs("    - {between: [", stream);
        put_range(stream, kind, first, until);
        fprintf(stream, ", socket.%lld", (long long)socket);
        put_rate(stream, s_per_byte, "");
    }
}

void pto_node_links_write(FILE *stream, const pto_node_links_t *links) {
    const int64_t socket_gpus = links->gpus > links->sockets ? links->gpus / links->sockets : 1;
    const double host_s_per_byte = links->host.s_per_byte;
    fprintf(
        stream,
        "\ntopology: # a mesh, %lld link%s between each two GPUs: %.4g GB/s, and %.4g of a GPU to all peers\n"
        "  devices: {gpus: %lld, sockets: %lld, nics: %lld}\n  links:\n",
        (long long)links->links_per_peer, links->links_per_peer > 1 ? "s" : "", 1e-9 / links->pair_s_per_byte,
        1e-9 / links->gpu.s_per_byte, (long long)links->gpus, (long long)links->sockets,
        (long long)(links->nic.name ? links->nics : 0));
    for (int64_t gpu = 0; gpu + 1 < links->gpus; gpu++) {
        fprintf(stream, "    - {between: [gpu.%lld, ", (long long)gpu);
        put_range(stream, "gpu", gpu + 1, links->gpus);
        put_rate(stream, links->pair_s_per_byte, "");
    }
    put_on_sockets(stream, "gpu", links->gpus, links->sockets, host_s_per_byte);
    if (links->nic.name)
        put_on_sockets(stream, "nic", links->nics, links->sockets, links->nic.s_per_byte);
    for (int64_t socket = 0; socket + 1 < links->sockets; socket++) {
        fprintf(stream, "    - {between: [socket.%lld, ", (long long)socket);
        put_range(stream, "socket", socket + 1, links->sockets);
        put_rate(stream, host_s_per_byte / (double)socket_gpus,
                 " # inferred: what the GPUs of a socket send to the host");
    }
}

pto_status_t pto_topology_open_any(const char *name, pto_link_rates_t rates, pto_topology_t **topology,
                                   pto_error_t *err) {
    if (pto_text_ends(name, ".xml"))
        return pto_topology_read_xml(name, topology, err);
    if (pto_text_ends(name, ".txt"))
        return pto_topology_read_text(name, rates, topology, err);
    char *path = NULL;
    pto_status_t status = pto_find_topology(name, NULL, &path, err);
    if (status == PTO_OK)
        status = pto_topology_open(path, topology, err);
    free(path);
    return status;
}

static const char source_text[] = "of the topology's slowest";

/* The bytes per second of all links of a GPU to the first `gpus` GPUs and to NVSwitches: the least of these
 * GPUs. 0 if a GPU has no such links. */
static double gpu_bytes_per_s(const pto_topology_t *topology, int64_t gpus) {
    double least = INFINITY;
    for (int gpu = 0; gpu < gpus; gpu++) {
        double bytes_per_s = 0;
        for (int i = 0; i < pto_topology_link_count(topology); i++) {
            const pto_topology_link_t *link = pto_topology_link_at(topology, i);
            const char *to = pto_topology_vertex_name(topology, link->to);
            if (link->from == gpu && (link->to < gpus || strncmp(to, "nvswitch.", 9) == 0))
                bytes_per_s += 1 / link->s_per_byte.value;
        }
        least = fmin(least, bytes_per_s);
    }
    return least;
}

/* The seconds per byte of the fastest route between two GPUs. (Slower pairs are priced by the block
 * `topology`.) */
static double fastest_pair(const pto_topology_t *topology) {
    const int gpus = pto_topology_device_count(topology, PTO_DEVICE_GPU);
    double least = INFINITY;
    for (int from = 0; from < gpus; from++)
        for (int to = 0; to < from; to++)
            least = fmin(least, pto_topology_route_s_per_byte(topology, from, to));
    return least;
}

/* The seconds per byte of a device's fastest route to a socket. */
static double host_s_per_byte_of(const pto_topology_t *topology, int device) {
    double least = INFINITY;
    for (int i = 0; i < pto_topology_device_count(topology, PTO_DEVICE_SOCKET); i++)
        least = fmin(least, pto_topology_route_s_per_byte(
                                topology, device, pto_topology_device(topology, PTO_DEVICE_SOCKET, i)));
    return least;
}

/* The number of NICs, and the rate of the slowest of them. NICs with less than half the rate of the fastest
 * are taken for management, and not counted. */
static int count_nics(const pto_topology_t *topology, double *s_per_byte) {
    const int first = pto_topology_device(topology, PTO_DEVICE_NIC, 0);
    const int nics = pto_topology_device_count(topology, PTO_DEVICE_NIC);
    double fastest = INFINITY;
    int count = 0;
    for (int i = 0; i < nics; i++)
        fastest = fmin(fastest, host_s_per_byte_of(topology, first + i));
    *s_per_byte = fastest;
    for (int i = 0; i < nics; i++)
        if (host_s_per_byte_of(topology, first + i) <= 2 * fastest) {
            *s_per_byte = fmax(*s_per_byte, host_s_per_byte_of(topology, first + i));
            count++;
        }
    return count;
}

static pto_status_t nics_from_topology(pto_node_links_t *links, const pto_topology_t *topology,
                                       pto_error_t *err) {
    double s_per_byte;
    const int nics = count_nics(topology, &s_per_byte);
    if (nics == 0)
        return PTO_OK;
    links->nics = nics;
    if (!links->nic.name && pto_topology_has_nic_rates(topology))
        links->nic = (pto_link_product_t){.name = "NIC", .source = source_text, .s_per_byte = s_per_byte};
    if (links->nic.name)
        return PTO_OK;
    return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                         "the topology has %d NIC%s, but not their rate, which --nic gives", nics,
                         nics == 1 ? "" : "s");
}

pto_status_t pto_node_links_from_topology(pto_node_links_t *links, const pto_topology_t *topology,
                                          pto_error_t *err) {
    const double bytes_per_s = gpu_bytes_per_s(topology, pto_topology_device_count(topology, PTO_DEVICE_GPU));
    if (links->gpu.name && !(bytes_per_s > 0))
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             "the topology has a GPU without links to others; leave out --gpu-link");
    links->gpus = pto_topology_device_count(topology, PTO_DEVICE_GPU);
    links->sockets = pto_topology_device_count(topology, PTO_DEVICE_SOCKET);
    links->host = (pto_link_product_t){.name = "PCIe", .source = source_text, .s_per_byte = 0};
    for (int i = 0; i < links->gpus; i++)
        links->host.s_per_byte = fmax(links->host.s_per_byte, host_s_per_byte_of(topology, i));
    if (bytes_per_s > 0) {
        links->gpu = (pto_link_product_t){.name = pto_topology_has_xgmi(topology) ? "xgmi" : "links",
                                          .source = source_text,
                                          .s_per_byte = 1 / bytes_per_s};
        links->pair_s_per_byte = links->gpus > 1 ? fastest_pair(topology) : links->gpu.s_per_byte;
        /* Through a switch, one pair reaches the rate of all links of a GPU; in a mesh it has a share. */
        links->joined_by =
            links->pair_s_per_byte > 1.01 * links->gpu.s_per_byte ? PTO_JOINED_BY_MESH : PTO_JOINED_BY_SWITCH;
    }
    return nics_from_topology(links, topology, err);
}

/* The seconds per byte of the link between two GPUs; INFINITY if they have none. */
static double link_s_per_byte(const pto_topology_t *topology, int from, int to) {
    const int link = pto_topology_link_between(topology, from, to);
    return link < 0 ? INFINITY : topology->link[link].s_per_byte.value;
}

/* The next GPU on NCCL's route from one GPU to another (src/graph/paths.cc, NVB). Returns `to` if they have a
 * link, else the GPU between them whose slower link is the fastest. Returns `to` as well if there is no such
 * GPU: the route goes through the host. */
static int next_hop(const pto_topology_t *topology, int gpus, int from, int to) {
    int next = to;
    double least = isfinite(link_s_per_byte(topology, from, to)) ? 0 : INFINITY;
    for (int middle = 0; middle < gpus; middle++) {
        const double slower =
            fmax(link_s_per_byte(topology, from, middle), link_s_per_byte(topology, middle, to));
        next = slower < least ? middle : next;
        least = fmin(least, slower);
    }
    return next;
}

/* The time of an alltoall of one byte per pair: that of the link which takes longest, with the messages of
 * its own pair and those that are forwarded over it. */
static double busiest_link_s(const pto_topology_t *topology, int gpus) {
    double longest = 0;
    for (int from = 0; from < gpus; from++)
        for (int to = 0; to < gpus; to++) {
            int messages = to != from && next_hop(topology, gpus, from, to) == to;
            for (int other = 0; other < gpus && to != from; other++)
                if (other != from && other != to)
                    messages += (next_hop(topology, gpus, from, other) == to) +
                                (next_hop(topology, gpus, other, to) == from);
            longest = fmax(longest, messages * pto_topology_route_s_per_byte(topology, from, to));
        }
    return longest;
}

pto_gpu_rates_t pto_node_links_rates(const pto_node_links_t *links, const pto_topology_t *topology,
                                     int64_t gpus) {
    const double peers = (double)(gpus - 1);
    if (!links->gpu.name)
        return (pto_gpu_rates_t){links->host.s_per_byte, links->host.s_per_byte};
    if (links->joined_by != PTO_JOINED_BY_MESH)
        return (pto_gpu_rates_t){links->gpu.s_per_byte, links->gpu.s_per_byte};
    if (!topology)
        return (pto_gpu_rates_t){links->pair_s_per_byte / peers, links->pair_s_per_byte / peers};
    const double bytes_per_s = gpu_bytes_per_s(topology, gpus);
    return (pto_gpu_rates_t){bytes_per_s > 0 ? 1 / bytes_per_s : links->host.s_per_byte,
                             busiest_link_s(topology, (int)gpus) / peers};
}

/* Round as pto_guess_write prints. */
static double to_four_digits(double value) {
    char text[32];
    snprintf(text, sizeof text, "%.4g", value);
    return strtod(text, NULL);
}

pto_status_t pto_topology_write_achieved(FILE *stream, pto_topology_t *topology, pto_error_t *err) {
    char *text, *rest = NULL;
    for (int i = 0; i < topology->link_count; i++) {
        pto_param_t *rate = &topology->link[i].s_per_byte;
        const pto_guess_t guess = pto_guess_achieved(rate->value);
        rate->value = to_four_digits(guess.value);
        rate->low = to_four_digits(guess.low);
        rate->high = to_four_digits(guess.high);
        rate->has_interval = true;
    }
    pto_status_t status = pto_topology_format(topology, &text, err);
    if (status != PTO_OK)
        return status;
    fputs("\ntopology:\n", stream);
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        fprintf(stream, "  %s\n", line);
    free(text);
    return PTO_OK;
}

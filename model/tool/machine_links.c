/* Links by the names under which they are sold, and meshes of them. */
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

/* --- by name -------------------------------------------------------------------------------------------- */

enum { SMALL_BOARD = 4 }; /* boards of up to four V100s, A100s and H100s have no switch */

static const struct {
    const char *name;
    double gb_per_s; /* of one link, in each direction */
    int links, per_peer, mesh_gpus_most;
    const char *source;
} sold[] = {
    {"pcie3", 15.75, 1, 0, 0, "16 lanes of 8 GT/s, PCI-SIG"},
    {"pcie4", 31.5, 1, 0, 0, "16 lanes of 16 GT/s, PCI-SIG"},
    {"pcie5", 63, 1, 0, 0, "16 lanes of 32 GT/s, PCI-SIG"},
    {"pcie6", 121, 1, 0, 0, "16 lanes of 64 GT/s, PCI-SIG"},
    {"nvlink2", 25, 6, 0, SMALL_BOARD, "6 links of 25 GB/s, NVIDIA V100 datasheet"},
    {"nvlink3", 25, 12, 0, SMALL_BOARD, "12 links of 25 GB/s, NVIDIA A100 datasheet"},
    {"nvlink4", 25, 18, 0, SMALL_BOARD, "18 links of 25 GB/s, NVIDIA H100 datasheet"},
    {"nvlink5", 50, 18, 0, 0, "18 links of 50 GB/s, NVIDIA B200 datasheet"},
    {"nvlink-c2c", 450, 1, 0, 0, "NVIDIA Grace Hopper datasheet"},
    {"xgmi", 64, 7, 1, 8, "7 links of 64 GB/s, AMD MI300X datasheet"},
};
enum { SOLD_COUNT = (int)(sizeof sold / sizeof *sold) };

const char *pto_sold_link_at(int i) { return i < SOLD_COUNT ? sold[i].name : NULL; }

static pto_sold_link_t as_given(const char *name, double s_per_byte) {
    return (pto_sold_link_t){
        .name = name, .s_per_byte = s_per_byte, .source = "as given", .links = 1, .per_peer = 1};
}

static pto_status_t read_rate(const char *text, pto_sold_link_t *link, pto_error_t *err) {
    *link = as_given(text, 0);
    for (int i = 0; i < SOLD_COUNT; i++)
        if (strcasecmp(text, sold[i].name) == 0) {
            *link = (pto_sold_link_t){sold[i].name,     1e-9 / (sold[i].gb_per_s * sold[i].links),
                                      sold[i].source,   sold[i].links,
                                      sold[i].per_peer, sold[i].mesh_gpus_most};
            return PTO_OK;
        }
    pto_status_t status = pto_quantity_parse(text, PTO_UNIT_S_PER_BYTE, &link->s_per_byte, err);
    if (status == PTO_ERR_RANGE || (status == PTO_OK && link->s_per_byte > 0 && link->s_per_byte < 1e-3))
        return status;
    return pto_error_set(err, PTO_ERR_RANGE,
                         "'%s' is not a rate with a unit, such as '200 Gbit/s' or '50 GB/s'",
                         text); /* a number of SI is none: 400 would be 400 s per byte */
}

/* More than ten times what the fastest one that is sold carries is another unit than was meant. */
static pto_status_t check_rate(const char *text, const pto_sold_link_t *link, const char *what,
                               double gb_per_s, pto_error_t *err) {
    return 1e-9 / link->s_per_byte <= 10 * gb_per_s
               ? PTO_OK
               : pto_error_set(err, PTO_ERR_RANGE,
                               "'%s' is above %g TB/s, ten times what the fastest %s carries", text,
                               gb_per_s / 100, what);
}

pto_status_t pto_link_read(const char *text, pto_sold_link_t *link, pto_error_t *err) {
    pto_status_t status = read_rate(text, link, err);
    return status == PTO_OK ? check_rate(text, link, "link (NVLink 5)", 900, err) : status;
}

/* A link's name is expected unless the text begins as a number does. */
pto_status_t pto_link_read_named(void *link, const char *text, pto_error_t *err) {
    pto_error_t unknown = {.status = PTO_OK};
    pto_status_t status = pto_link_read(text, link, err);
    if (status == PTO_OK || strspn(text, "0123456789.-") > 0)
        return status;
    status = pto_word_unknown(text, "link", pto_sold_link_at, &unknown);
    return pto_error_set(err, status, "%s, or a rate in each direction, such as '50 GB/s'", unknown.message);
}

pto_status_t pto_link_read_nic(void *target, const char *text, pto_error_t *err) {
    pto_sold_link_t *link = target;
    const double s_per_byte = pto_nic_s_per_byte(text);
    pto_status_t status = PTO_OK;
    if (s_per_byte > 0)
        *link = as_given(text, s_per_byte);
    else
        status = read_rate(text, link, err);
    link->name = text;
    return status == PTO_OK ? check_rate(text, link, "NIC", 100, err) : status;
}

/* --- switch and mesh ------------------------------------------------------------------------------------ */

static pto_status_t join_peers(pto_node_links_t *links, pto_error_t *err) {
    pto_sold_link_t *gpu = &links->gpu;
    const int64_t peers = links->gpus - 1;
    int64_t each = links->links_per_peer > 0 ? links->links_per_peer : gpu->per_peer;
    each = each > 0 ? each : gpu->links / peers;
    if (each == 0 || (gpu->links > 1 && each * peers > gpu->links))
        return pto_error_set(err, PTO_ERR_RANGE,
                             "a GPU with %lld links of %s has too few for a mesh of %lld GPUs with %lld "
                             "between each two; --gpu-topology switch",
                             (long long)gpu->links, gpu->name, (long long)links->gpus,
                             (long long)(each > 0 ? each : 1));
    links->links_per_peer = each;
    links->pair_s_per_byte = gpu->s_per_byte * (double)gpu->links / (double)each;
    gpu->s_per_byte = links->pair_s_per_byte / (double)peers;
    return PTO_OK;
}

pto_status_t pto_node_links_join(pto_node_links_t *links, pto_error_t *err) {
    const bool joined = links->gpu.name && links->gpus > 1;
    const bool mesh = links->links_per_peer > 0 || links->gpus <= links->gpu.mesh_gpus_most;
    links->pair_s_per_byte = links->gpu.s_per_byte;
    if (links->joined_by == PTO_JOINED_BY_DEFAULT || !joined)
        links->joined_by = joined && mesh ? PTO_JOINED_BY_MESH : PTO_JOINED_BY_SWITCH;
    if (links->joined_by == PTO_JOINED_BY_SWITCH)
        return PTO_OK;
    pto_status_t status = join_peers(links, err);
    if (links->gpus == 2)
        links->joined_by = PTO_JOINED_BY_SWITCH;
    return status;
}

/* --- the topology of a mesh ----------------------------------------------------------------------------- */

/* "gpu.0", or "gpu.0-3" */
static void put_range(FILE *stream, const char *kind, int64_t first, int64_t until) {
    fprintf(stream, "%s.%lld", kind, (long long)first);
    if (until - first > 1)
        fprintf(stream, "-%lld", (long long)(until - 1));
}

static void put_rate(FILE *stream, double s_per_byte, const char *comment) {
    fputs("], ", stream);
    pto_guess_write(stream, "s_per_byte", pto_guess_reached(s_per_byte));
    fprintf(stream, "}%s\n", comment);
}

/* Devices that are divided among the sockets in order, each with a link of its own. */
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
    const int64_t on_socket = links->gpus > links->sockets ? links->gpus / links->sockets : 1;
    const double host = links->host.s_per_byte;
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
    put_on_sockets(stream, "gpu", links->gpus, links->sockets, host);
    if (links->nic.name)
        put_on_sockets(stream, "nic", links->nics, links->sockets, links->nic.s_per_byte);
    for (int64_t socket = 0; socket + 1 < links->sockets; socket++) {
        fprintf(stream, "    - {between: [socket.%lld, ", (long long)socket);
        put_range(stream, "socket", socket + 1, links->sockets);
        put_rate(stream, host / (double)on_socket, " # inferred: what the GPUs of a socket send to the host");
    }
}

/* --- a topology that was read --------------------------------------------------------------------------- */

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

static const char taken[] = "of the topology's slowest";

/* The rate of a GPU's links to the first `gpus` and to NVSwitches, of the GPU with the slowest; 0: it has
 * none. */
static double gpu_links_rate(const pto_topology_t *topology, int64_t gpus) {
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

/* The fastest route between two GPUs: the slower ones of a mesh are held up by their links. */
static double fastest_pair(const pto_topology_t *topology) {
    const int gpus = pto_topology_device_count(topology, PTO_DEVICE_GPU);
    double least = INFINITY;
    for (int from = 0; from < gpus; from++)
        for (int to = 0; to < from; to++)
            least = fmin(least, pto_topology_route_s_per_byte(topology, from, to));
    return least;
}

/* To the nearest socket: the fewest seconds a byte. */
static double to_host(const pto_topology_t *topology, int device) {
    double least = INFINITY;
    for (int i = 0; i < pto_topology_device_count(topology, PTO_DEVICE_SOCKET); i++)
        least = fmin(least, pto_topology_route_s_per_byte(
                                topology, device, pto_topology_device(topology, PTO_DEVICE_SOCKET, i)));
    return least;
}

/* NICs of less than half the fastest one's rate carry something else. `s_per_byte`: of the slowest counted.
 */
static int count_nics(const pto_topology_t *topology, double *s_per_byte) {
    const int first = pto_topology_device(topology, PTO_DEVICE_NIC, 0);
    const int nics = pto_topology_device_count(topology, PTO_DEVICE_NIC);
    double fastest = INFINITY;
    int count = 0;
    for (int i = 0; i < nics; i++)
        fastest = fmin(fastest, to_host(topology, first + i));
    *s_per_byte = fastest;
    for (int i = 0; i < nics; i++)
        if (to_host(topology, first + i) <= 2 * fastest) {
            *s_per_byte = fmax(*s_per_byte, to_host(topology, first + i));
            count++;
        }
    return count;
}

static pto_status_t take_nics(pto_node_links_t *links, const pto_topology_t *topology, pto_error_t *err) {
    double s_per_byte;
    const int nics = count_nics(topology, &s_per_byte);
    if (nics == 0)
        return PTO_OK;
    links->nics = nics;
    if (!links->nic.name && pto_topology_has_nic_rates(topology))
        links->nic = (pto_sold_link_t){.name = "NIC", .source = taken, .s_per_byte = s_per_byte};
    if (links->nic.name)
        return PTO_OK;
    return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                         "the topology has %d NIC%s, but not their rate, which --nic gives", nics,
                         nics == 1 ? "" : "s");
}

pto_status_t pto_node_links_take(pto_node_links_t *links, const pto_topology_t *topology, pto_error_t *err) {
    const double bytes_per_s = gpu_links_rate(topology, pto_topology_device_count(topology, PTO_DEVICE_GPU));
    if (links->gpu.name && !(bytes_per_s > 0))
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             "the topology has a GPU without links to others; leave out --gpu-link");
    links->gpus = pto_topology_device_count(topology, PTO_DEVICE_GPU);
    links->sockets = pto_topology_device_count(topology, PTO_DEVICE_SOCKET);
    links->host = (pto_sold_link_t){.name = "PCIe", .source = taken, .s_per_byte = 0};
    for (int i = 0; i < links->gpus; i++)
        links->host.s_per_byte = fmax(links->host.s_per_byte, to_host(topology, i));
    if (bytes_per_s > 0) {
        links->gpu = (pto_sold_link_t){.name = pto_topology_has_xgmi(topology) ? "xgmi" : "links",
                                       .source = taken,
                                       .s_per_byte = 1 / bytes_per_s};
        links->pair_s_per_byte = links->gpus > 1 ? fastest_pair(topology) : links->gpu.s_per_byte;
        links->joined_by =
            links->pair_s_per_byte > 1.01 * links->gpu.s_per_byte ? PTO_JOINED_BY_MESH : PTO_JOINED_BY_SWITCH;
    }
    return take_nics(links, topology, err);
}

/* INFINITY: they have no link. */
static double linked(const pto_topology_t *topology, int from, int to) {
    const int link = pto_topology_link_between(topology, from, to);
    return link < 0 ? INFINITY : topology->link[link].s_per_byte.value;
}

/* NCCL (src/graph/paths.cc, NVB) sends from GPU to GPU by their link, else by the one that has the fastest
 * links to both, else by the host. */
static int next_of(const pto_topology_t *topology, int gpus, int from, int to) {
    int next = to;
    double least = isfinite(linked(topology, from, to)) ? 0 : INFINITY;
    for (int by = 0; by < gpus; by++) {
        const double slower = fmax(linked(topology, from, by), linked(topology, by, to));
        next = slower < least ? by : next;
        least = fmin(least, slower);
    }
    return next;
}

/* An alltoall takes as long as the link with the most bytes: a GPU's own and those that it passes on. */
static double busiest(const pto_topology_t *topology, int gpus) {
    double longest = 0;
    for (int from = 0; from < gpus; from++)
        for (int to = 0; to < gpus; to++) {
            int messages = to != from && next_of(topology, gpus, from, to) == to;
            for (int other = 0; other < gpus && to != from; other++)
                if (other != from && other != to)
                    messages += (next_of(topology, gpus, from, other) == to) +
                                (next_of(topology, gpus, other, to) == from);
            longest = fmax(longest, messages * pto_topology_route_s_per_byte(topology, from, to));
        }
    return longest;
}

pto_gpu_rates_t pto_node_links_among(const pto_node_links_t *links, const pto_topology_t *topology,
                                     int64_t gpus) {
    const bool mesh = links->gpu.name && links->joined_by == PTO_JOINED_BY_MESH;
    const double peers = (double)(gpus - 1), rate = mesh && topology ? gpu_links_rate(topology, gpus) : 0;
    const double all =
        mesh ? links->pair_s_per_byte / peers : (links->gpu.name ? &links->gpu : &links->host)->s_per_byte;
    if (!mesh || !topology)
        return (pto_gpu_rates_t){all, all};
    return (pto_gpu_rates_t){rate > 0 ? 1 / rate : links->host.s_per_byte,
                             busiest(topology, (int)gpus) / peers};
}

/* As pto_guess_write has it. */
static double to_four_digits(double value) {
    char text[32];
    snprintf(text, sizeof text, "%.4g", value);
    return strtod(text, NULL);
}

pto_status_t pto_topology_write_reached(FILE *stream, pto_topology_t *topology, pto_error_t *err) {
    char *text, *rest = NULL;
    for (int i = 0; i < topology->link_count; i++) {
        pto_param_t *rate = &topology->link[i].s_per_byte;
        const pto_guess_t guess = pto_guess_reached(rate->value);
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

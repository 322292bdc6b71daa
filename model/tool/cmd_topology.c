/* portolan topology: prints, converts or draws the devices, links and routes of a node. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/text_file.h"
#include "command.h"
#include "command_line/find_machine.h"
#include "command_line/terminal.h"
#include "formats/yaml_tree.h"
#include "machine_links.h"
#include "portolan/topology.h"
#include "show/drawings.h"

static const char usage[] =
    "usage: portolan topology [NAME|FILE.yaml|FILE.xml|FILE.txt] [OPTIONS]\n\n"
    "Prints the links of a node and the routes between its devices: of a recorded topology (`portolan list\n"
    "topologies` shows them), of a file, of a machine, of the XML of hwloc (`lstopo node.xml`) or NCCL and\n"
    "RCCL (NCCL_TOPO_DUMP_FILE=node.xml), or of what `nvidia-smi topo -m` or `rocm-smi --showtopo` print\n"
    "(node.txt), whose rates are inferred. In the table of routes, a pair has the rate of its slowest link "
    "in\n"
    "GB/s, for bytes that have it to themselves, and the number of its links.\n\n"
    "  portolan topology dgx-1\n"
    "  portolan topology node.xml --format yaml > node.yaml\n"
    "  portolan topology k80-2-2-2-2 --plot node.svg\n";

typedef enum { FORMAT_TEXT, FORMAT_CSV, FORMAT_YAML } format_t;

static PTO_WORD_LIST(format_at, "text", "csv", "yaml");

typedef struct {
    const char *machine;
    const char *plot;
    format_t format;
} arguments_t;

#define STORE(form, member) PTO_STORE(form, arguments_t, member)

static const pto_option_t topology_options[] = {
    {"machine", "NAME", "the topology of a machine, by name or file", STORE(TEXT, machine)},
    {"format", "FORMAT", "text, csv (a row for each route) or yaml (a topology file)", STORE(WORD, format),
     .standard = "text", .word_at = format_at},
    {"plot", "FILE.svg|png", "draw the node (needs gnuplot)", STORE(TEXT, plot)},
    {.name = NULL}};

static const pto_syntax_t syntax = {.program = "portolan topology",
                                    .usage = usage,
                                    .set = PTO_SETS({"options", topology_options}),
                                    .operand = "*.yaml"};

static pto_status_t open_topology_of(const char *name, pto_machine_t **machine, pto_error_t *err) {
    char *path = NULL;
    pto_status_t status = pto_find_machine(name, NULL, &path, err);
    if (status == PTO_OK)
        status = pto_machine_open(path, machine, err);
    if (status == PTO_OK && !pto_machine_topology(*machine)) {
        pto_machine_destroy(*machine);
        *machine = NULL;
        status =
            pto_error_set_at(err, PTO_ERR_NOT_APPLICABLE, path, 0, 0, "machine %s has no topology", name);
    }
    free(path);
    return status;
}

enum { FILE_BYTES_MAX = 4 << 20 };

/* Whether a file is a machine file, even a wrong one. */
static bool is_machine_file(const char *path) {
    pto_yaml_node_t *root = NULL;
    char *text = NULL;
    size_t size = 0;
    bool found = pto_text_read(path, FILE_BYTES_MAX, &text, &size, NULL) == PTO_OK &&
                 pto_yaml_parse(text, size, path, &root, NULL) == PTO_OK && pto_yaml_find(root, "machine");
    pto_yaml_destroy(root);
    free(text);
    return found;
}

/* A topology, or a machine that has one, by name or file. */
static pto_status_t open_operand(const char *name, pto_topology_t **topology, pto_machine_t **machine,
                                 pto_error_t *err) {
    char *path = NULL;
    pto_status_t status = pto_topology_open_any(name, (pto_link_rates_t){0}, topology, err);
    if (status != PTO_OK && pto_find_machine(name, NULL, &path, NULL) == PTO_OK && is_machine_file(path))
        status = open_topology_of(name, machine, err);
    free(path);
    return status;
}

static double gb_per_s(double s_per_byte) { return s_per_byte > 0 ? 1e-9 / s_per_byte : 0; }

static int device_total(const pto_topology_t *topology) {
    return pto_topology_device(topology, PTO_DEVICE_KINDS, 0);
}

/* Links 2i and 2i + 1 are the two directions of one cable. */
static void print_links(const pto_topology_t *topology) {
    printf("# %-16s %-16s %9s %9s  (GB/s)\n", "link from", "to", "there", "back");
    for (int i = 0; i < pto_topology_link_count(topology); i += 2) {
        const pto_topology_link_t *there = pto_topology_link_at(topology, i);
        const pto_topology_link_t *back = pto_topology_link_at(topology, i + 1);
        printf("%-18s %-16s %9.4g %9.4g\n", pto_topology_vertex_name(topology, there->from),
               pto_topology_vertex_name(topology, there->to), gb_per_s(there->s_per_byte.value),
               gb_per_s(back->s_per_byte.value));
    }
}

enum { FROM_WIDTH = 11, ROUTE_WIDTH = 10 };

static void print_pair(const pto_topology_t *topology, int from, int to) {
    char text[32] = "-";
    const int *link;
    int count = pto_topology_route(topology, from, to, &link);
    if (count > 0)
        snprintf(text, sizeof text, "%.3g/%d", gb_per_s(pto_topology_route_s_per_byte(topology, from, to)),
                 count);
    printf(" %*s", ROUTE_WIDTH - 1, text);
}

/* The table of routes, with the columns of the devices from `first` up to `end`. */
static void print_routes_to(const pto_topology_t *topology, int first, int end) {
    printf("# %-*s", FROM_WIDTH - 2, "routes");
    for (int to = first; to < end; to++)
        printf(" %*s", ROUTE_WIDTH - 1, pto_topology_vertex_name(topology, to));
    for (int from = 0; from < device_total(topology); from++) {
        printf("\n%-*s", FROM_WIDTH, pto_topology_vertex_name(topology, from));
        for (int to = first; to < end; to++)
            print_pair(topology, from, to);
    }
    printf("\n");
}

/* Print the table of routes, or several tables if the columns do not fit into one. */
static void print_routes(const pto_topology_t *topology) {
    int devices = device_total(topology);
    int columns = (pto_terminal_width(stdout) - FROM_WIDTH) / ROUTE_WIDTH;
    columns = columns > 0 ? columns : 1;
    for (int first = 0; first < devices; first += columns)
        print_routes_to(topology, first, first + columns < devices ? first + columns : devices);
}

static void print_text(const pto_topology_t *topology) {
    const char *name = pto_topology_name(topology), *source = pto_topology_source(topology);
    printf("# portolan topology: %s\n", name ? name : "(no name)");
    printf("# GPUs: %d, sockets: %d, NICs: %d\n", pto_topology_device_count(topology, PTO_DEVICE_GPU),
           pto_topology_device_count(topology, PTO_DEVICE_SOCKET),
           pto_topology_device_count(topology, PTO_DEVICE_NIC));
    if (source)
        pto_print_note(stdout, "source: %s", source);
    print_links(topology);
    print_routes(topology);
}

static void print_csv(const pto_topology_t *topology) {
    int devices = device_total(topology);
    printf("from,to,links,s_per_byte,through\n");
    for (int i = 0; i < devices * devices; i++) {
        int from = i / devices, to = i % devices;
        const int *link;
        int count = pto_topology_route(topology, from, to, &link);
        if (from == to)
            continue;
        printf("%s,%s,%d,%.9g,", pto_topology_vertex_name(topology, from),
               pto_topology_vertex_name(topology, to), count,
               pto_topology_route_s_per_byte(topology, from, to));
        for (int j = 1; j < count; j++)
            printf("%s%s", j > 1 ? " " : "",
                   pto_topology_vertex_name(topology, pto_topology_link_at(topology, link[j])->from));
        printf("\n");
    }
}

static pto_status_t print_yaml(const pto_topology_t *topology, pto_error_t *err) {
    char *text = NULL;
    pto_status_t status = pto_topology_format(topology, &text, err);
    if (status == PTO_OK)
        fputs(text, stdout);
    free(text);
    return status;
}

static pto_status_t show(const pto_topology_t *topology, const arguments_t *arguments, pto_error_t *err) {
    pto_status_t status = PTO_OK;
    if (arguments->format == FORMAT_YAML)
        status = print_yaml(topology, err);
    else if (arguments->format == FORMAT_CSV)
        print_csv(topology);
    else
        print_text(topology);
    if (status != PTO_OK || !arguments->plot)
        return status;
    const pto_plot_t plot = pto_topology_plot(topology);
    return pto_plot_draw(&plot, arguments->plot, err);
}

static int run(const pto_arguments_t *given) {
    arguments_t arguments = {0};
    pto_error_t err = {0};
    pto_topology_t *topology = NULL;
    pto_machine_t *machine = NULL;
    int code = pto_options_apply(given, &arguments);
    if (code >= 0)
        return code;
    if (given->operand_count + (arguments.machine ? 1 : 0) != 1)
        return pto_usage_error(&syntax, "name one topology, or a machine with --machine");
    if (pto_check_plot(&syntax, arguments.plot) >= 0)
        return PTO_EXIT_USAGE;
    pto_status_t status = arguments.machine ? open_topology_of(arguments.machine, &machine, &err)
                                            : open_operand(given->operand[0], &topology, &machine, &err);
    if (status == PTO_OK)
        status = show(machine ? pto_machine_topology(machine) : topology, &arguments, &err);
    pto_topology_destroy(topology);
    pto_machine_destroy(machine);
    return status == PTO_OK ? pto_flush_output() : pto_report_error(&err);
}

const pto_command_t pto_command_topology = {
    .name = "topology", .summary = "print and draw the links of a node", .syntax = &syntax, .run = run};

/* Draws a node for `portolan topology --plot`. GPUs are the lowest row; above it are rows of the devices that
 * are one link away from a GPU, two links away and so on; sockets are on top, and NICs above their neighbors.
 * Links between GPUs are arcs below the lowest row. Each link has two entries in the topology, one for each
 * direction, next to each other. */
#include "drawings.h"

#include <math.h>
#include <stdbool.h>

enum { WIDTH_PX = 1000, HEIGHT_PX = 560, ARC_POINTS = 24, UNKNOWN = -1 };

/* The position of a vertex of the topology, in units of the distance between neighbors. */
typedef struct {
    double x;
    int row; /* 0: GPUs, the lowest row */
} position_t;

static bool is_kind(const pto_topology_t *topology, int vertex, pto_device_kind_t kind) {
    int first = pto_topology_device(topology, kind, 0);
    return vertex >= first && vertex < first + pto_topology_device_count(topology, kind);
}

/* Sets the rows by a breadth-first search from the GPUs, and then those of sockets and NICs. */
static void find_rows(const pto_topology_t *topology, position_t *position) {
    int vertices = pto_topology_vertex_count(topology), top = 0;
    for (int v = 0; v < vertices; v++)
        position[v].row = is_kind(topology, v, PTO_DEVICE_GPU) ? 0 : UNKNOWN;
    for (int pass = 0; pass < vertices; pass++)
        for (int i = 0; i < pto_topology_link_count(topology); i++) {
            const pto_topology_link_t *link = pto_topology_link_at(topology, i);
            if (position[link->from].row == pass && position[link->to].row == UNKNOWN &&
                !is_kind(topology, link->to, PTO_DEVICE_NIC))
                position[link->to].row = pass + 1;
        }
    for (int v = 0; v < vertices; v++)
        if (!is_kind(topology, v, PTO_DEVICE_SOCKET) && position[v].row > top)
            top = position[v].row;
    for (int v = 0; v < vertices; v++)
        if (is_kind(topology, v, PTO_DEVICE_SOCKET))
            position[v].row = top + 1;
    for (int i = 0; i < pto_topology_link_count(topology); i++) {
        const pto_topology_link_t *link = pto_topology_link_at(topology, i);
        if (is_kind(topology, link->to, PTO_DEVICE_NIC))
            position[link->to].row = position[link->from].row + 1;
    }
}

/* The mean position of a device's neighbors in lower rows. */
static double middle(const pto_topology_t *topology, const position_t *position, int vertex) {
    double sum = 0;
    int count = 0;
    for (int i = 0; i < pto_topology_link_count(topology); i++) {
        const pto_topology_link_t *link = pto_topology_link_at(topology, i);
        if (link->to == vertex && position[link->from].row < position[vertex].row) {
            sum += position[link->from].x;
            count++;
        }
    }
    return count > 0 ? sum / count : 0;
}

/* Moves a vertex to the right until it is `distance` away from all earlier ones of its row. */
static void avoid_overlap(const position_t *position, int vertex, double distance, double *x) {
    for (bool moved = true; moved;) {
        moved = false;
        for (int other = 0; other < vertex; other++)
            if (position[other].row == position[vertex].row &&
                fabs(position[other].x - *x) < distance * 0.999) {
                *x = position[other].x + distance;
                moved = true;
            }
    }
}

static void find_positions(const pto_topology_t *topology, position_t *position) {
    int vertices = pto_topology_vertex_count(topology),
        gpus = pto_topology_device_count(topology, PTO_DEVICE_GPU);
    find_rows(topology, position);
    for (int v = 0; v < gpus; v++)
        position[v].x = v;
    for (int row = 1; row <= vertices; row++)
        for (int v = gpus; v < vertices; v++) {
            if (position[v].row != row)
                continue;
            double x = middle(topology, position, v) + (is_kind(topology, v, PTO_DEVICE_NIC) ? 0.4 : 0);
            avoid_overlap(position, v, fmax(1, gpus / 10.0), &x);
            position[v].x = x;
        }
}

static double gb_per_s(const pto_topology_link_t *link) { return 1e-9 / link->s_per_byte.value; }

/* The height of a link at fraction t of its length: a straight line, or between GPUs a parabola below the
 * row, which is deeper if it is wider. */
static double height_at(position_t from, position_t to, double t) {
    double depth = from.row == 0 && to.row == 0 ? 0.25 * fabs(to.x - from.x) + 0.1 : 0;
    return from.row + t * (to.row - from.row) - 4 * depth * t * (1 - t);
}

static void write_line(FILE *script, position_t from, position_t to) {
    for (int i = 0; i <= ARC_POINTS; i++) {
        double t = (double)i / ARC_POINTS;
        fprintf(script, "%.4f %.4f\n", from.x + t * (to.x - from.x), height_at(from, to, t));
    }
    fputs("e\n", script);
}

/* Writes the rates of links on their lines, but not in the middle, where many lines cross. */
static void write_rates(FILE *script, const pto_topology_t *topology, const position_t *position) {
    for (int i = 0; i < pto_topology_link_count(topology); i += 2) {
        const pto_topology_link_t *link = pto_topology_link_at(topology, i);
        position_t from = position[link->from], to = position[link->to];
        fprintf(script, "set label '%.3g' at %.4f,%.4f center font ',9' textcolor rgb '#555555' front\n",
                gb_per_s(link), from.x + (to.x - from.x) * 0.45, height_at(from, to, 0.45));
    }
}

static void write_vertices(FILE *script, const pto_topology_t *topology, const position_t *position) {
    for (int v = 0; v < pto_topology_vertex_count(topology); v++) {
        fputs("set label ", script);
        pto_plot_quote(script, pto_topology_vertex_name(topology, v));
        fprintf(script, " at %.4f,%d center font ',10' front boxed\n", position[v].x, position[v].row);
    }
}

static void write_topology(FILE *script, const void *context) {
    const pto_topology_t *topology = context;
    position_t position[PTO_TOPOLOGY_VERTICES_MAX] = {{0}};
    double fastest_gb_per_s = 0, left = 0, right = 0;
    int links = pto_topology_link_count(topology);
    find_positions(topology, position);
    for (int i = 0; i < links; i++)
        fastest_gb_per_s = fmax(fastest_gb_per_s, gb_per_s(pto_topology_link_at(topology, i)));
    for (int v = 0; v < pto_topology_vertex_count(topology); v++) {
        left = fmin(left, position[v].x);
        right = fmax(right, position[v].x);
    }
    fputs("set title ", script);
    pto_plot_quote(script, pto_topology_name(topology) ? pto_topology_name(topology) : "topology");
    fprintf(script,
            " . ' (GB/s in each direction)'\nunset border\nunset tics\nunset key\n"
            "set style textbox opaque border lc rgb '#08306b'\nset xrange [%g:%g]\nset offsets 0,0,0.3,0.3\n",
            left - 0.6, right + 0.6);
    write_rates(script, topology, position);
    write_vertices(script, topology, position);
    for (int i = 0; i < links; i += 2)
        fprintf(script, "%s'-' with lines lw %.2f lc rgb '#3182bd'", i == 0 ? "plot " : ", ",
                1 + 5 * sqrt(gb_per_s(pto_topology_link_at(topology, i)) / fastest_gb_per_s));
    fputs("\n", script);
    for (int i = 0; i < links; i += 2) {
        const pto_topology_link_t *link = pto_topology_link_at(topology, i);
        write_line(script, position[link->from], position[link->to]);
    }
}

pto_plot_t pto_topology_plot(const pto_topology_t *topology) {
    return (pto_plot_t){
        .width_px = WIDTH_PX, .height_px = HEIGHT_PX, .write = write_topology, .context = topology};
}

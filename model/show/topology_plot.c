/* Draws a node: GPUs in a row, above them what they reach over one link, two links and so on, the sockets on
 * top, NICs above what they are linked to. Links between GPUs are arcs below the row. */
#include "topology_plot.h"

#include <math.h>
#include <stdbool.h>

enum { WIDTH_PX = 1000, HEIGHT_PX = 560, ARC_POINTS = 24, UNKNOWN = -1 };

typedef struct {
    double x;
    int row; /* 0: GPUs */
} spot_t;

static bool is_of(const pto_topology_t *topology, int vertex, pto_device_kind_t kind) {
    int first = pto_topology_device(topology, kind, 0);
    return vertex >= first && vertex < first + pto_topology_device_count(topology, kind);
}

/* The number of links from the nearest GPU; the sockets are above all else, and NICs above their neighbor. */
static void find_rows(const pto_topology_t *topology, spot_t *spot) {
    int vertices = pto_topology_vertex_count(topology), top = 0;
    for (int v = 0; v < vertices; v++)
        spot[v].row = is_of(topology, v, PTO_DEVICE_GPU) ? 0 : UNKNOWN;
    for (int pass = 0; pass < vertices; pass++)
        for (int i = 0; i < pto_topology_link_count(topology); i++) {
            const pto_topology_link_t *link = pto_topology_link_at(topology, i);
            if (spot[link->from].row == pass && spot[link->to].row == UNKNOWN &&
                !is_of(topology, link->to, PTO_DEVICE_NIC))
                spot[link->to].row = pass + 1;
        }
    for (int v = 0; v < vertices; v++)
        if (!is_of(topology, v, PTO_DEVICE_SOCKET) && spot[v].row > top)
            top = spot[v].row;
    for (int v = 0; v < vertices; v++)
        if (is_of(topology, v, PTO_DEVICE_SOCKET))
            spot[v].row = top + 1;
    for (int i = 0; i < pto_topology_link_count(topology); i++) {
        const pto_topology_link_t *link = pto_topology_link_at(topology, i);
        if (is_of(topology, link->to, PTO_DEVICE_NIC))
            spot[link->to].row = spot[link->from].row + 1;
    }
}

/* Above the middle of the neighbors in lower rows. */
static double middle(const pto_topology_t *topology, const spot_t *spot, int vertex) {
    double sum = 0;
    int count = 0;
    for (int i = 0; i < pto_topology_link_count(topology); i++) {
        const pto_topology_link_t *link = pto_topology_link_at(topology, i);
        if (link->to == vertex && spot[link->from].row < spot[vertex].row) {
            sum += spot[link->from].x;
            count++;
        }
    }
    return count > 0 ? sum / count : 0;
}

/* Vertices of a row stay at least `apart` from each other: each gives way to those named before it. */
static void keep_apart(const spot_t *spot, int vertex, double apart, double *x) {
    for (bool moved = true; moved;) {
        moved = false;
        for (int other = 0; other < vertex; other++)
            if (spot[other].row == spot[vertex].row && fabs(spot[other].x - *x) < apart * 0.999) {
                *x = spot[other].x + apart;
                moved = true;
            }
    }
}

static void find_spots(const pto_topology_t *topology, spot_t *spot) {
    int vertices = pto_topology_vertex_count(topology),
        gpus = pto_topology_device_count(topology, PTO_DEVICE_GPU);
    find_rows(topology, spot);
    for (int v = 0; v < gpus; v++)
        spot[v].x = v;
    for (int row = 1; row <= vertices; row++)
        for (int v = gpus; v < vertices; v++) {
            if (spot[v].row != row)
                continue;
            double x = middle(topology, spot, v) + (is_of(topology, v, PTO_DEVICE_NIC) ? 0.4 : 0);
            keep_apart(spot, v, fmax(1, gpus / 10.0), &x);
            spot[v].x = x;
        }
}

static double gb_per_s(const pto_topology_link_t *link) { return 1e-9 / link->s_per_byte.value; }

/* A straight line, or an arc whose depth grows with its width. */
static void write_line(FILE *script, spot_t from, spot_t to) {
    double depth = from.row == 0 && to.row == 0 ? 0.25 * fabs(to.x - from.x) + 0.1 : 0;
    for (int i = 0; i <= ARC_POINTS; i++) {
        double t = (double)i / ARC_POINTS;
        fprintf(script, "%.4f %.4f\n", from.x + t * (to.x - from.x),
                from.row + t * (to.row - from.row) - 4 * depth * t * (1 - t));
    }
    fputs("e\n", script);
}

/* The rate beside a third of the line, where fewest lines cross; one for links that are alike and neighbors.
 */
static void write_rates(FILE *script, const pto_topology_t *topology, const spot_t *spot) {
    for (int i = 0; i < pto_topology_link_count(topology); i += 2) {
        const pto_topology_link_t *link = pto_topology_link_at(topology, i);
        spot_t from = spot[link->from], to = spot[link->to];
        double depth = from.row == 0 && to.row == 0 ? 0.25 * fabs(to.x - from.x) + 0.1 : 0;
        fprintf(script, "set label '%.3g' at %.4f,%.4f center font ',9' textcolor rgb '#555555' front\n",
                gb_per_s(link), from.x + (to.x - from.x) * 0.45,
                from.row + (to.row - from.row) * 0.45 - 4 * depth * 0.45 * 0.55);
    }
}

static void write_vertices(FILE *script, const pto_topology_t *topology, const spot_t *spot) {
    for (int v = 0; v < pto_topology_vertex_count(topology); v++) {
        fputs("set label ", script);
        pto_plot_quote(script, pto_topology_vertex_name(topology, v));
        fprintf(script, " at %.4f,%d center font ',10' front boxed\n", spot[v].x, spot[v].row);
    }
}

static void write_topology(FILE *script, const void *context) {
    const pto_topology_t *topology = context;
    spot_t spot[PTO_TOPOLOGY_VERTICES_MAX] = {{0}};
    double most = 0, left = 0, right = 0;
    int links = pto_topology_link_count(topology);
    find_spots(topology, spot);
    for (int i = 0; i < links; i++)
        most = fmax(most, gb_per_s(pto_topology_link_at(topology, i)));
    for (int v = 0; v < pto_topology_vertex_count(topology); v++) {
        left = fmin(left, spot[v].x);
        right = fmax(right, spot[v].x);
    }
    fputs("set title ", script);
    pto_plot_quote(script, pto_topology_name(topology) ? pto_topology_name(topology) : "topology");
    fprintf(script,
            " . ' (GB/s in each direction)'\nunset border\nunset tics\nunset key\n"
            "set style textbox opaque border lc rgb '#08306b'\nset xrange [%g:%g]\nset offsets 0,0,0.3,0.3\n",
            left - 0.6, right + 0.6);
    write_rates(script, topology, spot);
    write_vertices(script, topology, spot);
    for (int i = 0; i < links; i += 2)
        fprintf(script, "%s'-' with lines lw %.2f lc rgb '#3182bd'", i == 0 ? "plot " : ", ",
                1 + 5 * sqrt(gb_per_s(pto_topology_link_at(topology, i)) / most));
    fputs("\n", script);
    for (int i = 0; i < links; i += 2) {
        const pto_topology_link_t *link = pto_topology_link_at(topology, i);
        write_line(script, spot[link->from], spot[link->to]);
    }
}

pto_plot_t pto_topology_plot(const pto_topology_t *topology) {
    return (pto_plot_t){
        .width_px = WIDTH_PX, .height_px = HEIGHT_PX, .write = write_topology, .context = topology};
}

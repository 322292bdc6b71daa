/* Fits the parameters by which NCCL's prices are extrapolated to other numbers of GPUs (docs/model.md,
 * 'NCCL's own collectives'): the time per hop, per peer and per channel, from the differences between
 * measured numbers of GPUs. Other parameters have the values of NCCL's own tuning model. */
#include <math.h>

#include "parts.h"
#include "price/nccl.h"
#include "select.h"

/* Minimum numbers of samples. A job's first size has fewer, which contain the time to connect. */
enum { SAMPLES_MIN = 5, SLOPES_MIN = 5, ERRORS_MIN = 19 };

/* The slopes of fit_hops: the ring's hop by each protocol, then the peer. */
enum { SLOPES = PTO_NCCL_PROTOCOL_COUNT + 1 };

static const double coverage = 0.95;
static const double clear_step = 0.2; /* a change of protocol stands out of the noise by this share */

/* NCCL 2.28.3, src/graph/tuning.cc: latencies of NVLink and of the network, by algorithm (ring, tree) and
 * protocol (LL, LL128, Simple). A chunk is one of the 8 steps of NCCL_BUFFSIZE's 4 MiB. */
static const double default_hop_s[PTO_NCCL_ALGORITHM_COUNT][PTO_NCCL_PROTOCOL_COUNT] = {
    {0.6e-6, 1.9e-6, 3.4e-6}, {0.6e-6, 1.25e-6, 4e-6}};
static const double default_net_hop_s[PTO_NCCL_ALGORITHM_COUNT][PTO_NCCL_PROTOCOL_COUNT] = {
    {2.7e-6, 4e-6, 14e-6}, {5e-6, 8.5e-6, 14e-6}};
static const double default_chunk_bytes = 524288;

/* LL between more than two nodes: NCCL's llMaxBws, 20.4 GB/s with Intel CPUs, 19 GB/s with AMD CPUs. */
static const double default_ll_s_per_byte = 5e-11;

/* Measured on four H200s (docs/validation.md); used where the samples do not determine them. */
static const double h200_simple_bytes = 2097152;
static const double h200_doubling = 0.28;

/* The median of one size of a job. */
typedef struct {
    pto_nccl_kind_t kind;
    pto_nccl_job_t job;
    int64_t bytes;
    double seconds;
} cell_t;

typedef struct {
    size_t count;
    cell_t *cell;
} cells_t;

static pto_param_t exact_param(double value) {
    return (pto_param_t){.value = value, .low = value, .high = value, .line = 1};
}

static void add_cells(const fit_work_t *work, pto_nccl_kind_t kind, const fit_points_t *points,
                      cells_t *cells) {
    for (size_t first = 0; first < points->count;) {
        const fit_points_t size = fit_equal_from(points, first, fit_compare_points);
        const pto_nccl_job_t job = {size.point->procs, size.point->messages};
        if (size.count >= SAMPLES_MIN)
            cells->cell[cells->count++] =
                (cell_t){kind, job, size.point->bytes, fit_median_of(&size, work->scratch)};
        first += size.count;
    }
}

static cells_t find_cells(fit_work_t *work) {
    cells_t cells = {.cell = fit_alloc(work, work->samples->count, sizeof *cells.cell)};
    for (int kind = 0; kind < PTO_NCCL_COUNT; kind++) {
        const fit_points_t points =
            fit_select_all(work, (pto_benchmark_t)(PTO_BENCHMARK_NCCL_ALLREDUCE + kind));
        add_cells(work, (pto_nccl_kind_t)kind, &points, &cells);
    }
    return cells;
}

/* A cell, and its price from the rows of a job with fewer GPUs on as many nodes. */
typedef struct {
    pto_nccl_route_t route;
    double seconds;
} pair_t;

static bool pair_of(const pto_machine_t *machine, const cell_t *cell, const pto_cost_row_t *base,
                    pair_t *pair) {
    pto_nccl_job_t from = {base->gpus, base->nodes};
    if (base->from_bytes > 0 || from.nodes != cell->job.nodes || from.gpus >= cell->job.gpus ||
        !pto_nccl_route(machine, cell->kind, PTO_NCCL_ALGORITHM_RING, from, cell->job, (double)cell->bytes,
                        &pair->route))
        return false;
    pair->seconds = pto_nccl_route_s(machine, cell->kind, &pair->route);
    return true;
}

/* Computes a number for a pair; NAN leaves the pair out. `which` is a protocol, for hop_slope alone. */
typedef double (*measure_t)(const cell_t *cell, const pair_t *pair, int which);

/* Fills `value`, which has room for all pairs; returns their number. */
static size_t of_pairs(const pto_machine_t *machine, const cells_t *cells, measure_t measure, int which,
                       double *value) {
    size_t count = 0;
    for (size_t i = 0; i < cells->count; i++) {
        const pto_cost_table_t *cost = &machine->nccl[cells->cell[i].kind];
        for (int r = 0; r < cost->count; r++) {
            pair_t pair;
            if (!pair_of(machine, &cells->cell[i], &cost->row[r], &pair))
                continue;
            value[count] = measure(&cells->cell[i], &pair, which);
            count += isnan(value[count]) ? 0 : 1;
        }
    }
    return count;
}

static double peer_slope(const cell_t *cell, const pair_t *pair, int which) {
    (void)which;
    return cell->kind == PTO_NCCL_ALLTOALL ? (cell->seconds - pair->seconds) / pair->route.hops : NAN;
}

static double hop_slope(const cell_t *cell, const pair_t *pair, int protocol) {
    bool counts = cell->kind != PTO_NCCL_ALLTOALL && (int)pair->route.protocol == protocol;
    return counts ? (cell->seconds - pair->seconds) / pair->route.hops : NAN;
}

static double error_per_doubling(const cell_t *cell, const pair_t *pair, int which) {
    double from = (double)pair->route.base.gpus;
    (void)which;
    return fabs(log(cell->seconds / pair->seconds)) / log2((double)cell->job.gpus / from);
}

/* Add the median slope to the parameter's value, which the pairs' prices already contain. */
static void keep_slope(fit_work_t *work, double *slope, size_t count, double least_s, pto_param_t *param) {
    if (count < SLOPES_MIN)
        return;
    *param = exact_param(fmax(fit_round(param->value + fit_median(slope, count)), least_s));
    fit_note(work, fit_key(work, param), count, "from pairs of numbers of GPUs, each at one size");
}

/* The current hop times determine the protocol of each pair, so all slopes are computed before any is stored.
 * A hop takes at least as long as with the protocols of lower latency. */
static void fit_hops(fit_work_t *work, const cells_t *cells, double *scratch, size_t room) {
    pto_machine_t *machine = work->fit->machine;
    pto_param_t *param[SLOPES] = {&machine->nccl_hop_s[PTO_NCCL_ALGORITHM_RING][PTO_NCCL_PROTOCOL_LL],
                                  &machine->nccl_hop_s[PTO_NCCL_ALGORITHM_RING][PTO_NCCL_PROTOCOL_LL128],
                                  &machine->nccl_hop_s[PTO_NCCL_ALGORITHM_RING][PTO_NCCL_PROTOCOL_SIMPLE],
                                  &machine->nccl_peer_s};
    size_t count[SLOPES];
    for (int i = 0; i < SLOPES; i++)
        count[i] = of_pairs(machine, cells, i < PTO_NCCL_PROTOCOL_COUNT ? hop_slope : peer_slope, i,
                            scratch + (size_t)i * room);
    for (int i = 0; i < SLOPES; i++) {
        const bool has_faster = i > 0 && i < PTO_NCCL_PROTOCOL_COUNT;
        keep_slope(work, scratch + (size_t)i * room, count[i], has_faster ? param[i - 1]->value : 0,
                   param[i]);
    }
}

/* The size from which NCCL uses the protocol Simple: the median of the sizes at which a doubling of bytes
 * costs more than the next doubling, which is impossible within one protocol; 0: there are none. */
static double find_simple(const cells_t *cells, double *scratch) {
    size_t count = 0;
    for (size_t i = 1; i + 1 < cells->count; i++) {
        const cell_t *at = &cells->cell[i];
        bool one_job = at[-1].kind == at[1].kind && at[-1].job.gpus == at[1].job.gpus &&
                       at[-1].job.nodes == at[1].job.nodes && at[-1].bytes * 4 == at[1].bytes;
        double before_s = at[0].seconds - at[-1].seconds, after_s = at[1].seconds - at[0].seconds;
        if (one_job && at->kind != PTO_NCCL_ALLTOALL && before_s > clear_step * at->seconds &&
            before_s > after_s)
            scratch[count++] = (double)at->bytes;
    }
    return fit_median(scratch, count);
}

/* The last two lines of a chain (reduce, broadcast) intersect at (alpha' - alpha) / (beta - beta'), the size
 * at which the chunks of all channels are full. Below it, each hop waits for all bytes of its channel's
 * chunk, so that the slopes differ by the hops' time for a byte divided by the channels. */
static void fit_channels(fit_work_t *work, double *scratch) {
    static const pto_nccl_kind_t chains[] = {PTO_NCCL_REDUCE, PTO_NCCL_BROADCAST};
    pto_machine_t *machine = work->fit->machine;
    size_t count = 0, room = (size_t)(machine->nccl[chains[0]].count + machine->nccl[chains[1]].count);
    double *full_bytes = scratch, *s_per_byte = scratch + room;
    for (int c = 0; c < 2; c++)
        for (int r = 1; r < machine->nccl[chains[c]].count; r++) {
            const pto_cost_row_t *row = &machine->nccl[chains[c]].row[r];
            double slower = row[-1].postal.beta_s_per_byte.value - row->postal.beta_s_per_byte.value;
            double later_s = row->postal.alpha_s.value - row[-1].postal.alpha_s.value;
            if (row->below_bytes != INT64_MAX || row->nodes > 1 || slower <= 0 || later_s <= 0 ||
                (double)row->from_bytes <= machine->nccl_simple_bytes.value)
                continue;
            full_bytes[count] = later_s / slower;
            s_per_byte[count++] = slower / (double)(row->gpus - 1);
        }
    if (count == 0) {
        fit_note(work, "nccl.channels", 0, "no limit of reduce or broadcast above Simple's shows them");
        return;
    }
    double channels = fmax(1, round(fit_median(full_bytes, count) / default_chunk_bytes));
    machine->nccl_channels = exact_param(channels);
    machine->nccl_channel_s_per_byte = exact_param(fit_round(fit_median(s_per_byte, count) * channels));
    fit_note(work, "nccl.channel_s_per_byte", 0, "%.3g GB/s for each of %.0f channels, of %zu chains",
             1e-9 / machine->nccl_channel_s_per_byte.value, channels, count);
}

/* The error of extrapolation per doubling of GPUs: the 95 percent quantile over pairs of jobs. */
static void fit_doubling(fit_work_t *work, const cells_t *cells, double *scratch) {
    pto_machine_t *machine = work->fit->machine;
    size_t count = of_pairs(machine, cells, error_per_doubling, 0, scratch);
    if (count < ERRORS_MIN) {
        machine->nccl_doubling = exact_param(h200_doubling);
        fit_note(work, "nccl.doubling", count, "as on four H200s: one number of GPUs tells no error");
    } else {
        machine->nccl_doubling = exact_param(round(fit_conformal(scratch, count, coverage) * 1000) / 1000);
        fit_note(work, "nccl.doubling", count, "holds 95%% of times predicted from fewer GPUs");
    }
}

static void set_defaults(pto_machine_t *machine, const cells_t *cells, double simple_bytes) {
    double most = 0;
    for (int a = 0; a < PTO_NCCL_ALGORITHM_COUNT; a++)
        for (int p = 0; p < PTO_NCCL_PROTOCOL_COUNT; p++) {
            machine->nccl_hop_s[a][p] = exact_param(default_hop_s[a][p]);
            machine->nccl_net_hop_s[a][p] = exact_param(default_net_hop_s[a][p]);
        }
    for (size_t i = 0; i < cells->count; i++)
        most = fmax(most, (double)cells->cell[i].bytes);
    machine->nccl_peer_s = exact_param(default_hop_s[PTO_NCCL_ALGORITHM_RING][PTO_NCCL_PROTOCOL_LL]);
    machine->nccl_simple_bytes = exact_param(simple_bytes > 0 ? simple_bytes : h200_simple_bytes);
    machine->nccl_ll_s_per_byte = exact_param(default_ll_s_per_byte);
    machine->nccl_chunk_bytes = exact_param(default_chunk_bytes);
    machine->nccl_sampled_bytes = exact_param(most);
}

void fit_nccl_structure(fit_work_t *work) {
    const cells_t cells = find_cells(work);
    size_t rows = 0;
    for (int kind = 0; kind < PTO_NCCL_COUNT; kind++)
        rows += (size_t)work->fit->machine->nccl[kind].count;
    if (rows == 0 || cells.count == 0)
        return;
    size_t room = cells.count * rows; /* for all pairs */
    double *scratch = fit_alloc(work, SLOPES * room, sizeof *scratch);
    if (!scratch)
        return;
    double simple_bytes = find_simple(&cells, scratch);
    set_defaults(work->fit->machine, &cells, simple_bytes);
    fit_note(work, "nccl.hop, nccl.net_hop", 0,
             "NCCL 2.28.3's own (src/graph/tuning.cc), except those named below");
    if (simple_bytes <= 0)
        fit_note(work, "nccl.simple_bytes", 0, "as on four H200s: no times jump");
    fit_channels(work, scratch);
    fit_hops(work, &cells, scratch, room);
    fit_doubling(work, &cells, scratch);
}

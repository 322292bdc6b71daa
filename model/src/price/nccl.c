/* The cost of a collective that NCCL runs (docs/model.md, 'NCCL's own collectives'): alpha + beta s of the
 * row that was measured with the same numbers of GPUs and nodes, a job. For other numbers, the nearest
 * measured job, the base, is extrapolated by NCCL's own model (its src/graph/tuning.cc, 2.28.3): the hops of
 * its rings and trees, by protocol, and the bytes that links and nodes carry.
 *
 * Example: an allreduce of s bytes by a ring, from 8 GPUs on one node to 16 on two. On 8 GPUs, a block passes
 * 2 * 7 links, and each link carries 2 * 7/8 s. On 16 GPUs, a block passes 2 * 15 links, 4 of them between
 * nodes, and each link carries 2 * 15/16 s. So the call costs alpha + beta * 15/14 s of the row, with at
 * least the time of the 15/8 s that each node sends, and 12 more hops within nodes and 4 between them. */
#include "price/nccl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "price/pricing.h"

const char pto_nccl_stage[] = "NCCL";

/* Returns the bytes of the line (row or column, table.h) with the most. */
static int64_t busiest_line(const pto_table_sums_t *sums) {
    int64_t max_bytes = 0;
    for (int64_t line = 0; line < sums->lines; line++) {
        int64_t bytes = pto_table_line_bytes(sums, line);
        max_bytes = bytes > max_bytes ? bytes : max_bytes;
    }
    return max_bytes;
}

/* Sets `*bytes` to the maximum that any owner sends or receives, per destination. False: out of memory. */
static bool busiest_bytes(const pto_request_t *request, const pto_machine_t *machine,
                          pto_price_cache_t *cache, double *bytes) {
    pto_parts_t parts = {PTO_PARTS_CYCLIC, request->layout.procs_per_gpu, 0};
    pto_price_cache_t own = {0};
    pto_tables_t *tables = pto_price_cache_tables(cache ? cache : &own);
    const pto_table_sums_t *rows = tables ? pto_tables_sum(tables, request, machine, parts, true) : NULL;
    const pto_table_sums_t *columns = rows ? pto_tables_sum(tables, request, machine, parts, false) : NULL;
    if (columns) {
        int64_t out_bytes = busiest_line(rows), in_bytes = busiest_line(columns);
        *bytes = (double)(out_bytes > in_bytes ? out_bytes : in_bytes) /
                 (double)pto_layout_owner_count(&request->layout);
    }
    pto_price_cache_fini(&own);
    return columns != NULL;
}

/* Returns whether the data go along a chain of GPUs, in chunks. */
static bool is_chain(pto_nccl_kind_t kind) { return kind == PTO_NCCL_REDUCE || kind == PTO_NCCL_BROADCAST; }

/* Sets the bytes of NCCL's call. False: out of memory. */
static bool call_bytes(const pto_plan_t *plan, const pto_machine_t *machine, pto_price_cache_t *cache,
                       double *bytes) {
    const pto_request_t *request = &plan->request;
    if (pto_plan_has_tables(plan) && !pto_collective_is_by_owner(request->collective))
        return busiest_bytes(request, machine, cache, bytes);
    *bytes = pto_plan_has_tables(plan) ? pto_request_mean_bytes(request) : (double)request->bytes;
    return true;
}

/* Lists the numbers of GPUs that were measured, as far as there is room. */
static void list_measured(const pto_cost_table_t *cost, char *text, size_t text_size) {
    int used = snprintf(text, text_size, "%s", cost->count > 0 ? "knows GPUs on nodes: " : "has none");
    for (int i = 0; i < cost->count && (size_t)used < text_size; i++)
        if (cost->row[i].from_bytes == 0) /* the first row of a job */
            used += snprintf(text + used, text_size - (size_t)used, "%s%lld on %lld", i == 0 ? "" : ", ",
                             (long long)cost->row[i].gpus, (long long)cost->row[i].nodes);
}

static pto_status_t refuse(const pto_machine_t *machine, pto_nccl_kind_t kind, int64_t gpus, int64_t nodes,
                           pto_error_t *err) {
    char measured[96];
    list_measured(&machine->nccl[kind], measured, sizeof measured);
    return pto_error_set_at(err, PTO_ERR_NOT_APPLICABLE, machine->path, 0, 0,
                            "the plan needs nccl.%s for %lld GPUs on %lld node%s, and machine %s %s; "
                            "`portolan-calibrate --only nccl` there measures it",
                            pto_nccl_name(kind), (long long)gpus, (long long)nodes, nodes == 1 ? "" : "s",
                            machine->name, measured);
}

/* Returns the row of a GPU message of `bytes` between nodes; NULL: the machine has none. */
static const pto_cost_row_t *net_message(const pto_machine_t *machine, double bytes) {
    return pto_machine_message(machine, PTO_SPACE_GPU, PTO_LEVEL_OFF_NODE, (int64_t)bytes);
}

/* Returns the cost of a byte between nodes: injection.gpu, or else the beta of messages; NULL: unknown. */
static const pto_param_t *net_byte(const pto_machine_t *machine, double bytes) {
    const pto_param_t *limit = &machine->injection_s_per_byte[PTO_SPACE_GPU];
    const pto_cost_row_t *message = net_message(machine, bytes);
    if (pto_param_known(limit))
        return limit;
    return message ? &message->postal.beta_s_per_byte : NULL;
}

bool pto_nccl_has_network(const pto_machine_t *machine) { return net_byte(machine, 1) != NULL; }

/* --- extrapolation -------------------------------------------------------------------------------------- */

/* Flag bytes per byte of data: LL has 4 in 8, LL128 8 in 128, Simple none. */
static const double flags_per_byte[PTO_NCCL_PROTOCOL_COUNT] = {
    [PTO_NCCL_PROTOCOL_LL] = 1, [PTO_NCCL_PROTOCOL_LL128] = 8.0 / 120};

/* The hops of a call's data, and the bytes that a link and a node carry for each byte of the call. */
typedef struct {
    double hops;     /* within nodes; for alltoall: peers */
    double net_hops; /* between nodes */
    double per_link;
    double per_node;
} shape_t;

/* Counts as NCCL does (tuning.cc): in a ring of n GPUs, the slowest block passes n - 1 links, among them all
 * links between nodes. In an allreduce, it does so twice: once to be reduced, and once to be gathered. */
static shape_t shape_of(pto_nccl_kind_t kind, pto_nccl_algorithm_t algorithm, pto_nccl_job_t job) {
    double gpus = (double)job.gpus, nodes = (double)job.nodes, steps = gpus - 1, rounds = 1;
    shape_t shape = {.per_link = 1, .per_node = 1};
    if (kind == PTO_NCCL_ALLREDUCE && algorithm == PTO_NCCL_ALGORITHM_TREE && nodes > 1)
        return (shape_t){2 * (gpus / nodes - 1), 2 * ceil(log2(nodes)), 2, 2};
    if (kind == PTO_NCCL_ALLREDUCE) {
        rounds = 2;
        shape.per_link = shape.per_node = 2 * steps / gpus;
    } else if (kind == PTO_NCCL_ALLGATHER || kind == PTO_NCCL_ALLGATHERV || kind == PTO_NCCL_REDUCE_SCATTER ||
               kind == PTO_NCCL_ALLTOALL) {
        shape.per_link = shape.per_node = steps;
    }
    double all_hops = rounds * steps;
    if (nodes > 1)
        shape.net_hops = fmin(rounds * (is_chain(kind) ? nodes - 1 : nodes), all_hops);
    shape.hops = all_hops - shape.net_hops;
    if (kind == PTO_NCCL_ALLTOALL) { /* all peers at once */
        shape.hops = steps;
        shape.net_hops = nodes > 1;
        shape.per_node = gpus / nodes * (gpus - gpus / nodes);
    }
    return shape;
}

/* Returns the bytes that LL would carry over a link between nodes, where it has a maximum rate of its own. */
static double ll_bytes(pto_nccl_kind_t kind, pto_nccl_job_t job, const shape_t *shape, double bytes) {
    return job.nodes > 1 && kind != PTO_NCCL_ALLTOALL ? bytes * shape->per_link : 0;
}

/* Returns the protocol that NCCL uses: the one whose hops and bytes together are the cheapest. Within a node,
 * only Simple is used from `simple_bytes` on; below, Simple is not used if the GPUs have LL128. GPUs lack a
 * protocol without a time for a hop. `carried`: the time of the bytes without flags; `by_ll`: the least time
 * of LL's bytes; `more_s`: as in pto_nccl_route_t. */
static pto_nccl_protocol_t protocol_of(const pto_machine_t *machine, pto_nccl_algorithm_t algorithm,
                                       const shape_t *shape, double bytes, pto_time_t carried,
                                       pto_time_t by_ll, double more_s[PTO_NCCL_PROTOCOL_COUNT]) {
    const pto_param_t *hop = machine->nccl_hop_s[algorithm];
    const bool in_node = shape->net_hops == 0;
    for (int p = 0; p < PTO_NCCL_PROTOCOL_COUNT; p++)
        more_s[p] = INFINITY;
    if (in_node && !pto_time_less((pto_time_t){.s = bytes}, pto_time_of(&machine->nccl_simple_bytes, 1)))
        return PTO_NCCL_PROTOCOL_SIMPLE;
    int best = in_node && pto_param_known(&hop[PTO_NCCL_PROTOCOL_LL128]) ? PTO_NCCL_PROTOCOL_LL128
                                                                         : PTO_NCCL_PROTOCOL_SIMPLE;
    pto_time_t best_s = {0};
    for (int p = best; p >= 0; p--) {
        pto_time_t hops = pto_time_of(&hop[p], shape->hops);
        pto_time_t net_hops = pto_time_of(&machine->nccl_net_hop_s[algorithm][p], shape->net_hops);
        pto_time_t moved = pto_time_scale(carried, 1 + flags_per_byte[p]);
        if (p == PTO_NCCL_PROTOCOL_LL && pto_time_less(moved, by_ll))
            moved = by_ll;
        pto_time_t total = pto_time_add(pto_time_add(hops, net_hops), moved);
        bool is_first = p == best; /* `best` is always above a later p */
        if (!is_first && !pto_param_known(&hop[p]))
            continue;
        more_s[p] = total.s; /* less the time of the best one, below */
        if (is_first || !pto_time_less(best_s, total)) {
            best = p;
            best_s = total;
        }
    }
    for (int p = 0; p < PTO_NCCL_PROTOCOL_COUNT; p++)
        more_s[p] -= best_s.s;
    return (pto_nccl_protocol_t)best;
}

/* Returns the value of a parameter that byte counts depend on. Byte counts are constants on a tape, so a
 * comparison is recorded that makes the tape invalid for another value. */
static double fixed_value(const pto_param_t *param) {
    if (pto_tape_recording)
        (void)pto_time_same(pto_time_of(param, 1), (pto_time_t){.s = param->value});
    return param->value;
}

/* Returns the bytes of a call that are in flight: a chunk of each channel. Sets the number of channels.
 * Between nodes there are two per NIC (ncclTopoPostset doubles those found), but not more than within a node.
 * A NIC is taken to carry one message at its full rate. */
static double chunks_at_once(const pto_machine_t *machine, pto_nccl_job_t job, double bytes,
                             double *channels) {
    const pto_param_t *limit = &machine->injection_s_per_byte[PTO_SPACE_GPU];
    const pto_cost_row_t *message = net_message(machine, bytes);
    *channels = fixed_value(&machine->nccl_channels);
    if (job.nodes > 1 && message && pto_param_known(limit) && limit->value > 0) {
        const double nics = fixed_value(&message->postal.beta_s_per_byte) / fixed_value(limit);
        *channels = fmin(*channels, 2 * fmax(nics, 1));
    }
    return fmin(bytes, *channels * fixed_value(&machine->nccl_chunk_bytes));
}

/* Adds the waits of a chain's nodes. Each forwards a chunk when all of it has arrived. The first node does
 * not wait, and the wait of the last one is the time of the call's bytes. LL's chunks are small, so that it
 * does not wait. If the number of channels is unknown, the whole call is one chunk. */
static void add_waits(const pto_machine_t *machine, pto_nccl_job_t job, double bytes,
                      pto_nccl_route_t *route) {
    if (!pto_param_known(&machine->nccl_channels) || route->protocol == PTO_NCCL_PROTOCOL_LL) {
        route->chunk_bytes = route->protocol == PTO_NCCL_PROTOCOL_SIMPLE ? route->hops * bytes : 0;
        return;
    }
    double channels;
    const double at_once = chunks_at_once(machine, job, bytes, &channels);
    if (route->protocol == PTO_NCCL_PROTOCOL_SIMPLE)
        route->chunk_bytes = route->hops * at_once / channels;
    route->wait_bytes = at_once * fmax(route->net_hops - (route->base.nodes == 1), 0);
}

bool pto_nccl_route(const pto_machine_t *machine, pto_nccl_kind_t kind, pto_nccl_algorithm_t algorithm,
                    pto_nccl_job_t base, pto_nccl_job_t job, double bytes, pto_nccl_route_t *route) {
    const pto_cost_row_t *last = pto_machine_nccl(machine, kind, base.gpus, base.nodes, INT64_MAX);
    if (!last || !pto_param_known(&machine->nccl_simple_bytes))
        return false;
    shape_t measured = shape_of(kind, algorithm, base), asked = shape_of(kind, algorithm, job);
    bool between_nodes = base.nodes > 1 && job.nodes > 1; /* the network was the bottleneck of the base */
    double row_bytes =
        bytes * (between_nodes ? asked.per_node / measured.per_node : asked.per_link / measured.per_link);
    double net_bytes = job.nodes > 1 && base.nodes == 1 ? bytes * asked.per_node : 0;
    const pto_param_t *byte = net_bytes > 0 ? net_byte(machine, net_bytes) : NULL;
    pto_time_t carried = pto_time_of(&last->postal.beta_s_per_byte, row_bytes);
    if (byte && pto_time_less(carried, pto_time_of(byte, net_bytes)))
        carried = pto_time_of(byte, net_bytes);
    const double by_ll = ll_bytes(kind, job, &asked, bytes);
    double more_s[PTO_NCCL_PROTOCOL_COUNT];
    pto_nccl_protocol_t protocol = protocol_of(machine, algorithm, &asked, bytes, carried,
                                               pto_time_of(&machine->nccl_ll_s_per_byte, by_ll), more_s);
    *route = (pto_nccl_route_t){
        .base = base,
        .algorithm = algorithm,
        .protocol = protocol,
        .row = pto_machine_nccl(machine, kind, base.gpus, base.nodes, (int64_t)row_bytes),
        .row_bytes = row_bytes,
        .hops = fmax(asked.hops - measured.hops, 0),
        .net_hops = fmax(asked.net_hops - measured.net_hops, 0),
        .net_bytes = net_bytes * (kind == PTO_NCCL_ALLTOALL ? 1 : 1 + flags_per_byte[protocol]),
        .ll_bytes = protocol == PTO_NCCL_PROTOCOL_LL ? by_ll : 0,
    };
    memcpy(route->more_s, more_s, sizeof more_s);
    if (is_chain(kind))
        add_waits(machine, job, bytes, route);
    return true;
}

static void charge_network(pto_charge_t *charge, const pto_machine_t *machine, double bytes) {
    const pto_cost_row_t *message = net_message(machine, bytes);
    const pto_param_t *limit = &machine->injection_s_per_byte[PTO_SPACE_GPU];
    if (pto_param_known(limit) || !message)
        pto_charge_param(charge, limit, PTO_SPACE_GPU, bytes);
    else
        pto_charge_postal(charge, &machine->messages[PTO_SPACE_GPU][PTO_LEVEL_OFF_NODE], &message->postal,
                          PTO_SPACE_GPU, 0, bytes);
}

/* Charges the slowest of three: the network for the bytes that a node sends, the links within nodes for those
 * that each carries, and LL's own rate. An unknown cost of the network is entered as lacking. */
static void charge_bytes(pto_charge_t *charge, const pto_machine_t *machine, pto_nccl_kind_t kind,
                         const pto_nccl_route_t *route) {
    const pto_param_t *byte = net_byte(machine, route->net_bytes);
    pto_time_t in_node = pto_time_of(&route->row->postal.beta_s_per_byte, route->row_bytes);
    pto_time_t by_net = byte ? pto_time_of(byte, route->net_bytes) : (pto_time_t){0};
    pto_time_t by_ll = pto_time_of(&machine->nccl_ll_s_per_byte, route->ll_bytes);
    const bool net_is_slower = byte && pto_time_less(in_node, by_net);
    const bool ll_is_slower = pto_time_less(net_is_slower ? by_net : in_node, by_ll);
    pto_charge_postal(charge, &machine->nccl[kind], &route->row->postal, PTO_SPACE_GPU, 1,
                      net_is_slower || ll_is_slower ? 0 : route->row_bytes);
    if (ll_is_slower)
        pto_charge_param(charge, &machine->nccl_ll_s_per_byte, PTO_SPACE_GPU, route->ll_bytes);
    else if (route->net_bytes > 0 && (!byte || byte->value <= 0 || net_is_slower))
        charge_network(charge, machine, route->net_bytes);
    if (route->wait_bytes > 0 && pto_nccl_has_network(machine))
        charge_network(charge, machine, route->wait_bytes);
}

static void charge_route(pto_charge_t *charge, const pto_machine_t *machine, pto_nccl_kind_t kind,
                         const pto_nccl_route_t *route) {
    static const char *const stage[][PTO_NCCL_PROTOCOL_COUNT] = {
        [PTO_NCCL_ALGORITHM_RING] = {"NCCL ring, LL", "NCCL ring, LL128", "NCCL ring, Simple"},
        [PTO_NCCL_ALGORITHM_TREE] = {"NCCL tree, LL", "NCCL tree, LL128", "NCCL tree, Simple"},
        [PTO_NCCL_ALGORITHM_COUNT] = {"NCCL sends, LL", "NCCL sends, LL128", "NCCL sends, Simple"}};
    bool direct = kind == PTO_NCCL_ALLTOALL;
    charge->stage = stage[direct ? PTO_NCCL_ALGORITHM_COUNT : route->algorithm][route->protocol];
    charge_bytes(charge, machine, kind, route);
    pto_charge_param(charge,
                     direct ? &machine->nccl_peer_s : &machine->nccl_hop_s[route->algorithm][route->protocol],
                     PTO_SPACE_GPU, route->hops);
    pto_charge_param(charge, &machine->nccl_net_hop_s[route->algorithm][route->protocol], PTO_SPACE_GPU,
                     route->net_hops);
    pto_charge_param(charge, &machine->nccl_channel_s_per_byte, PTO_SPACE_GPU, route->chunk_bytes);
}

static pto_time_t time_of_route(const pto_machine_t *machine, pto_nccl_kind_t kind,
                                const pto_nccl_route_t *route) {
    pto_charge_t charge;
    pto_charge_begin(&charge, pto_nccl_stage, NULL);
    charge_route(&charge, machine, kind, route);
    return charge.other;
}

double pto_nccl_route_s(const pto_machine_t *machine, pto_nccl_kind_t kind, const pto_nccl_route_t *route) {
    return time_of_route(machine, kind, route).s;
}

/* Returns the number of doublings of GPUs per node and of nodes between two jobs. */
static double distance(pto_nccl_job_t a, pto_nccl_job_t b) {
    double per_node = (double)a.gpus / (double)a.nodes / ((double)b.gpus / (double)b.nodes);
    return fabs(log2(per_node)) + fabs(log2((double)a.nodes / (double)b.nodes));
}

/* Finds the nearest measured job, of equally near ones the last; false: there is none. */
static bool nearest(const pto_cost_table_t *cost, pto_nccl_job_t job, pto_nccl_job_t *found) {
    bool any = false;
    for (int i = 0; i < cost->count; i++) {
        pto_nccl_job_t here = {cost->row[i].gpus, cost->row[i].nodes};
        if (!any || distance(here, job) <= distance(*found, job))
            *found = here;
        any = true;
    }
    return any;
}

/* Finds the measured job with as many GPUs a node as `base` on the next smaller number of nodes, which is
 * more than one; false: there is none. */
static bool next_smaller(const pto_cost_table_t *cost, pto_nccl_job_t base, pto_nccl_job_t *found) {
    *found = (pto_nccl_job_t){0};
    for (int i = 0; i < cost->count; i++) {
        pto_nccl_job_t here = {cost->row[i].gpus, cost->row[i].nodes};
        if (here.nodes > 1 && here.nodes < base.nodes && here.nodes > found->nodes &&
            here.gpus * base.nodes == base.gpus * here.nodes)
            *found = here;
    }
    return found->nodes > 0;
}

/* Multiplies the hops and waits that a route adds to its row. */
static void scale_growth(pto_nccl_route_t *route, double times) {
    route->hops *= times;
    route->net_hops *= times;
    route->chunk_bytes *= times;
    route->wait_bytes *= times;
}

/* Returns a time as a number; a tape that was recorded with another one must be recorded again. */
static double fixed_s(pto_time_t time) {
    if (pto_tape_recording)
        (void)pto_time_same(time, (pto_time_t){.s = time.s});
    return time.s;
}

/* Returns the ratio of the measured to the modelled growth of a call's time from the next smaller number of
 * nodes to the base, limited to [0, 2]; 1 if no other job on several nodes was measured. The growth is what
 * hops and waits add: the time less that of a route without them. It can be smaller than modelled, since
 * successive calls hide most hops of a chain. */
static double measured_growth(const pto_machine_t *machine, pto_nccl_kind_t kind,
                              pto_nccl_algorithm_t algorithm, pto_nccl_job_t base, double bytes) {
    pto_nccl_job_t smaller;
    pto_nccl_route_t route;
    const pto_cost_row_t *row = pto_machine_nccl(machine, kind, base.gpus, base.nodes, (int64_t)bytes);
    if (!row || !next_smaller(&machine->nccl[kind], base, &smaller) ||
        !pto_nccl_route(machine, kind, algorithm, smaller, base, bytes, &route))
        return 1;
    const double modelled_s = fixed_s(time_of_route(machine, kind, &route));
    scale_growth(&route, 0);
    const double without_s = fixed_s(time_of_route(machine, kind, &route));
    const double measured_s = fixed_s(
        pto_time_add(pto_time_of(&row->postal.alpha_s, 1), pto_time_of(&row->postal.beta_s_per_byte, bytes)));
    if (modelled_s <= without_s)
        return 1;
    return fmin(fmax((measured_s - without_s) / (modelled_s - without_s), 0), 2);
}

bool pto_nccl_extrapolated(const pto_machine_t *machine, pto_nccl_kind_t kind, pto_nccl_algorithm_t algorithm,
                           pto_nccl_job_t job, double bytes, pto_nccl_route_t *route) {
    pto_nccl_job_t base;
    if (pto_machine_nccl(machine, kind, job.gpus, job.nodes, (int64_t)bytes) ||
        !nearest(&machine->nccl[kind], job, &base) ||
        !pto_nccl_route(machine, kind, algorithm, base, job, bytes, route))
        return false;
    if (job.nodes > base.nodes)
        scale_growth(route, measured_growth(machine, kind, algorithm, base, bytes));
    return true;
}

/* Charges the cheaper of ring and tree; an alltoall has only sends. False: there is no base. */
static bool extrapolate(pto_charge_t *charge, const pto_machine_t *machine, pto_nccl_kind_t kind,
                        pto_nccl_job_t job, double bytes, pto_nccl_route_t *best) {
    bool has_tree = kind == PTO_NCCL_ALLREDUCE && job.nodes > 1;
    pto_nccl_route_t tree;
    if (!pto_nccl_extrapolated(machine, kind, PTO_NCCL_ALGORITHM_RING, job, bytes, best))
        return false;
    if (has_tree && pto_nccl_extrapolated(machine, kind, PTO_NCCL_ALGORITHM_TREE, job, bytes, &tree) &&
        pto_time_less(time_of_route(machine, kind, &tree), time_of_route(machine, kind, best)))
        *best = tree;
    charge_route(charge, machine, kind, best);
    return true;
}

static pto_extrapolation_t extrapolation(const pto_machine_t *machine, pto_nccl_job_t base,
                                         pto_nccl_job_t job, double bytes) {
    const pto_param_t *sampled = &machine->nccl_sampled_bytes;
    bool larger = pto_param_known(sampled) && bytes > sampled->value;
    double doublings = distance(base, job) + (larger ? log2(bytes / sampled->value) : 0);
    if (doublings == 0)
        return (pto_extrapolation_t){0};
    return (pto_extrapolation_t){base.gpus, base.nodes, larger ? (int64_t)sampled->value : 0, doublings};
}

pto_status_t pto_charge_nccl(pto_charge_t *charge, const pto_machine_t *machine, const pto_plan_t *plan,
                             const pto_node_t *node, pto_price_cache_t *cache,
                             pto_extrapolation_t *extrapolated, pto_error_t *err) {
    pto_nccl_job_t job = {pto_plan_group(plan, node->group)->size, plan->request.layout.nodes};
    pto_nccl_kind_t kind = pto_collective_nccl(node->collective);
    if (kind == PTO_NCCL_COUNT)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "NCCL has no %s",
                             pto_collective_name(node->collective));
    double bytes;
    if (machine->nccl[kind].count == 0)
        return refuse(machine, kind, job.gpus, job.nodes, err);
    if (!call_bytes(plan, machine, cache, &bytes))
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for sums over a table");
    pto_nccl_route_t route = {.base = job};
    const pto_cost_row_t *row = pto_machine_nccl(machine, kind, job.gpus, job.nodes, (int64_t)bytes);
    if (row)
        pto_charge_postal(charge, &machine->nccl[kind], &row->postal, PTO_SPACE_GPU, 1, bytes);
    else if (!extrapolate(charge, machine, kind, job, bytes, &route))
        return refuse(machine, kind, job.gpus, job.nodes, err);
    if (route.net_bytes > 0 && !pto_nccl_has_network(machine))
        return pto_error_set(
            err, PTO_ERR_NOT_APPLICABLE,
            "machine %s has neither injection.gpu nor messages.gpu.off_node, which NCCL's bytes "
            "between nodes cost",
            machine->name);
    *extrapolated = extrapolation(machine, route.base, job, bytes);
    return PTO_OK;
}

bool pto_nccl_takes_core(const pto_node_t *node, int64_t core) {
    return core >= node->core_first && core < node->core_first + node->core_count;
}

static bool in_nccl(const pto_pricing_t *pricing, const pto_node_t *node, int64_t actor) {
    return pto_nccl_takes_core(node, pricing->actors.actor[actor].place.core);
}

static bool is_by_nccl(const pto_pricing_t *pricing, int node) {
    return pto_node_at(pricing->plan, node)->by == PTO_DONE_BY_NCCL;
}

/* All members start when the last one arrives, and end at the same time. */
static pto_status_t price_nccl(pto_pricing_t *pricing, int index, int64_t k) {
    (void)k;
    const pto_node_t *node = pto_node_at(pricing->plan, index);
    pto_ledger_t *last = NULL;
    pto_charge_t charge;
    pto_charge_begin(&charge, pto_nccl_stage, pto_pricing_terms(pricing, PTO_TERMS_OUT));
    pto_status_t status = pto_charge_nccl(&charge, pricing->machine, pricing->plan, node, pricing->cache,
                                          &pricing->outcome.extrapolated, pricing->err);
    if (status != PTO_OK)
        return status;
    pto_occupied_nccl(pricing, node, charge.other.s);
    for (int64_t i = 0; i < pricing->actors.priced_count; i++) {
        int64_t actor = pricing->actors.priced[i];
        if (in_nccl(pricing, node, actor) &&
            (!last || pto_time_less(last->time, pricing->clocks.ledger[actor].time)))
            last = &pricing->clocks.ledger[actor];
    }
    for (int64_t i = 0; i < pricing->actors.priced_count; i++) {
        int64_t actor = pricing->actors.priced[i];
        pto_ledger_t *own = &pricing->clocks.ledger[actor];
        pricing->clocks.behind[actor] = PTO_BEHIND_NOTHING;
        if (own == last || !in_nccl(pricing, node, actor))
            continue;
        pto_pricing_follow(pricing, own, last);
        pto_pricing_add(pricing, actor, &charge, charge.other);
    }
    if (last)
        pto_pricing_must(pricing, pto_ledger_add(last, &charge, charge.other));
    return status;
}

const pto_pricer_t pto_pricer_nccl = {is_by_nccl, price_nccl};

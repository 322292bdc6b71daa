/* The costs of NCCL in the machine files of `portolan machine new`. As in NCCL's own cost model
 * (src/graph/tuning.cc), each algorithm and protocol has a start-up time, a time per hop and a time per byte.
 * So its time is a straight line over the bytes of a call, and NCCL takes the lowest line. The rows of a
 * machine file, each for a range of bytes, are the lower envelope of these lines. price/nccl.c derives the
 * costs for other numbers of GPUs and nodes from the rows.
 * The constants are explained in docs/decisions/0061-nccl-from-datasheets.md. */
#include <math.h>
#include <stdbool.h>

#include "machine_links.h"
#include "portolan/machine.h"

/* The times of one protocol. Times per byte are multiples of the link's time per byte: `on_link` for each
 * byte that a link carries, `in_gpu` for each byte of the call in a GPU's memory. */
typedef struct {
    double start_us, hop_us, on_link, in_gpu;
} line_t;

/* The protocols of a family of collectives are LL, LL128 and Simple, in this order. start_us 0: no such line.
 */
enum { LINES = 3, LINES_MAX = LINES + 1, HOPPER_GB_PER_S = 450 };

typedef enum {
    FAMILY_ALLREDUCE,
    FAMILY_ALLGATHER,
    FAMILY_REDUCE_SCATTER,
    FAMILY_ALLTOALL,
    FAMILY_COUNT
} family_t;

/* Fitted to the tables of NCCL of ai-dynamo/aiconfigurator at 095f58a5, half precision, 2, 4 and 8 GPUs, 512
 * B to 512 MiB: a100_sxm (NCCL 2.27.3), h200_sxm (2.29.2). */
static const line_t a100[FAMILY_COUNT][LINES] = {
    [FAMILY_ALLREDUCE] = {{7.96, 0.96, 0.0231, 40.7}, {10.3, 1.08, 1.14, 2}, {37.1, 3.36, 1.09, 0.456}},
    [FAMILY_ALLGATHER] = {{8.04, 0.871, 4.79, 43.7}, {11.2, 1.14, 1.24, 1.17}, {42, 2.97, 0.847, 0.55}},
    [FAMILY_REDUCE_SCATTER] = {{10.9, 0.586, 7.55, 3.14},
                               {8.93, 0.968, 0.0686, 2.79},
                               {25.9, 3.3, 0.952, 0.414}},
    [FAMILY_ALLTOALL] = {{11.9, 0.221, 1.81, 2.02}, {28.3, 1.72, 1.05, 0.406}, {50.6, 0.404, 2.35, 11.8}}};
static const line_t h200[FAMILY_COUNT][LINES] = {
    [FAMILY_ALLREDUCE] = {{5, 0.833, 1.38, 1.81}, {7.95, 0.964, 1.06, 1.35}, {16.1, 1.48, 1.01, 0.454}},
    [FAMILY_ALLGATHER] = {{3.98, 1.03, 6.14, 26}, {4.7, 1.18, 0.755, 1.81}, {22.5, 0.337, 0.881, 0.42}},
    [FAMILY_REDUCE_SCATTER] = {{4.66, 0.91, 2.4, 0.881},
                               {6.34, 0.693, 1.14, 1.17},
                               {15.1, 1.05, 0.726, 0.561}},
    [FAMILY_ALLTOALL] = {
        {6.27, 0.15, 0.000908, 31.8}, {10.6, 0.305, 0.933, 0.662}, {21.2, 2.8, 1.19, 0.152}}};

/* From the same tables, l40s (2.27.3): two GPUs achieve 64 percent of PCIe, eight across sockets 1.5 percent.
 * The times per hop are NCCL's for PCIe. */
static const line_t pcie[LINES] = {{6, 1, 8, 8}, {10, 2.5, 6, 0}, {20, 5.7, 6, 0}};

/* RCCL's own model of MI300X (ROCm/rccl at 0cbce2a7, src/graph/tuning.cc, model 5), which has no LL128 there.
 * It takes 48 GB/s of a link of 64, of which LL carries 8 percent. Fitted to no run. */
static const line_t rccl[LINES] = {{12, 0.8, 64.0 / 48 / 0.08, 0}, {17, 2.1, 64.0 / 48, 0}};

/* NVLS, where the switch reduces: measured by an allreduce of 8 H200s. For Blackwell, scaled by the
 * efficiencies that NCCL assumes: 0.85 for Hopper, 0.74 for Blackwell. */
static const line_t nvls_hopper = {74.6, 0, 0.939, 0}, nvls_blackwell = {74.6, 0, 0.939 * 0.85 / 0.74, 0};
enum { NVLS_GPUS_LEAST = 8 };

/* Pipelined chains (broadcast, reduce) forward a channel's chunk once it is full. Measured on 4 H200s. */
static const double channels = 27, chunk_bytes = 524288, channel_s_per_byte = 4.5443e-11;

typedef struct {
    double alpha_s, s_per_byte;
} postal_t;

/* A kind of call among the first `gpus` GPUs of a node. */
typedef struct {
    pto_nccl_kind_t kind;
    int64_t gpus;
    double link_s_per_byte; /* of all links from a GPU to the others of the call */
    double node_s_per_byte; /* of all links from a GPU to the others of the node */
    pto_interconnect_t interconnect;
} call_t;

static bool by_pcie(const call_t *call) { return call->interconnect == PTO_INTERCONNECT_PCIE; }

static bool by_xgmi(const call_t *call) { return call->interconnect == PTO_INTERCONNECT_XGMI; }

/* Hopper or later: links as fast as NVLink 4, with a margin for rounding. */
static bool is_hopper(double link_s_per_byte) { return link_s_per_byte < 1.01e-9 / HOPPER_GB_PER_S; }

/* Broadcast and reduce are chains of the allgather's hops. */
static family_t family_of(pto_nccl_kind_t kind) {
    return kind == PTO_NCCL_ALLREDUCE        ? FAMILY_ALLREDUCE
           : kind == PTO_NCCL_REDUCE_SCATTER ? FAMILY_REDUCE_SCATTER
           : kind == PTO_NCCL_ALLTOALL       ? FAMILY_ALLTOALL
                                             : FAMILY_ALLGATHER;
}

static bool is_chain(pto_nccl_kind_t kind) { return kind == PTO_NCCL_REDUCE || kind == PTO_NCCL_BROADCAST; }

/* The time of a call by one protocol. `on_link` and `in_gpu` are the bytes that a link carries and that a GPU
 * holds, for each byte of the call. In a ring of n GPUs, n-1 hops carry n-1 of n blocks over each link; an
 * allreduce does so twice, with blocks of 1/n of its bytes. */
static postal_t price_line(const call_t *call, const line_t *line) {
    double others = (double)(call->gpus - 1), gpus = (double)call->gpus;
    double hops = others, on_link = others, in_gpu = gpus;
    if (call->kind == PTO_NCCL_ALLREDUCE) {
        hops = 2 * others;
        on_link = 2 * others / gpus;
        in_gpu = 1;
    } else if (is_chain(call->kind)) { /* each link carries the whole vector */
        on_link = in_gpu = 1;
    }
    return (postal_t){1e-6 * (line->start_us + hops * line->hop_us),
                      call->link_s_per_byte * (on_link * line->on_link + in_gpu * line->in_gpu)};
}

/* The protocols' lines of the GPUs that are most like the call's. */
static const line_t *lines_of(const call_t *call) {
    if (by_pcie(call))
        return pcie;
    if (by_xgmi(call))
        return rccl;
    return is_hopper(call->node_s_per_byte) ? h200[family_of(call->kind)] : a100[family_of(call->kind)];
}

/* The times of a call by all protocols that NCCL chooses from. Returns their number, at most LINES_MAX. */
static int price_lines(const call_t *call, postal_t priced[LINES_MAX]) {
    const bool hopper = is_hopper(call->node_s_per_byte),
               blackwell = call->node_s_per_byte < 0.75e-9 / HOPPER_GB_PER_S; /* between NVLink 4 and 5 */
    const line_t *line = lines_of(call);
    int count = 0;
    for (; count < LINES && line[count].start_us > 0; count++)
        priced[count] = price_line(call, &line[count]);
    if (by_xgmi(call))
        return count;
    if (is_chain(call->kind)) {
        /* Simple, the last protocol, has a line for calls that fill the chunks of all channels, and one for
         * smaller calls, whose chunks are partial. The last GPU waits until every other one has forwarded a
         * chunk: a constant time for full chunks, and a time per byte for partial ones. */
        postal_t *partial = &priced[LINES - 1];
        double wait_s_per_byte =
            (double)(call->gpus - 1) * channel_s_per_byte * call->link_s_per_byte * 1e9 * HOPPER_GB_PER_S;
        priced[count++] = (postal_t){partial->alpha_s + wait_s_per_byte * chunk_bytes, partial->s_per_byte};
        partial->s_per_byte += wait_s_per_byte / channels;
    } else if (hopper && call->interconnect == PTO_INTERCONNECT_SWITCH && call->kind == PTO_NCCL_ALLREDUCE &&
               call->gpus >= NVLS_GPUS_LEAST) {
        priced[count++] = price_line(call, blackwell ? &nvls_blackwell : &nvls_hopper);
    }
    return count;
}

/* Whether a line is below another one for the smallest sizes. */
static bool begins_below(const postal_t *a, const postal_t *b) {
    return a->alpha_s < b->alpha_s || (a->alpha_s == b->alpha_s && a->s_per_byte < b->s_per_byte);
}

/* The bytes from which `later` is cheaper than `now`; INFINITY if it never is. */
static double crossover_bytes(const postal_t *now, const postal_t *later) {
    return later->s_per_byte < now->s_per_byte
               ? (later->alpha_s - now->alpha_s) / (now->s_per_byte - later->s_per_byte)
               : INFINITY;
}

/* The bounds of the intervals, as multiples of the value. Those of NVLink contain 83 percent of the
 * allreduces of an older NCCL on other A100s (nodes A of ABCI 2.0); the others are guesses. */
static const struct {
    double alpha_least, alpha_most, beta_least, beta_most;
} spread[] = {[PTO_INTERCONNECT_PCIE] = {0.65, 1.5, 0.25, 11},
              [PTO_INTERCONNECT_MESH] = {0.65, 1.5, 0.65, 2},
              [PTO_INTERCONNECT_SWITCH] = {0.65, 1.5, 0.65, 2},
              [PTO_INTERCONNECT_XGMI] = {0.4, 2.5, 0.4, 2.5}};

/* Write a row of the machine file. Its values are those of consecutive calls, as in nccl-tests. The interval
 * also contains the time of a call that the host waits for, which takes a launch more. It also contains that
 * of consecutive broadcasts or reduces, which overlap: on nodes A, each took 7.5 us among 8 to 32 GPUs. */
static void write_row(FILE *stream, const call_t *call, const postal_t *line, double below_bytes) {
    const double launch_s = 8.9e-6, overlapped = is_chain(call->kind) ? 0.3 : 1;
    fprintf(stream, "    - {gpus: %lld, ", (long long)call->gpus);
    if (isfinite(below_bytes))
        fprintf(stream, "below_bytes: %.0f, ", below_bytes);
    pto_guess_write(stream, "alpha_s",
                    (pto_guess_t){line->alpha_s,
                                  overlapped * spread[call->interconnect].alpha_least * line->alpha_s,
                                  spread[call->interconnect].alpha_most * line->alpha_s + launch_s});
    fputs(", ", stream);
    pto_guess_write(stream, "beta_s_per_byte",
                    (pto_guess_t){line->s_per_byte, spread[call->interconnect].beta_least * line->s_per_byte,
                                  spread[call->interconnect].beta_most * line->s_per_byte});
    fputs("}\n", stream);
}

/* Walk along the lower envelope of the lines: a row for each line, up to where the next becomes cheaper. */
static void write_rows(FILE *stream, const call_t *call) {
    postal_t line[LINES_MAX] = {{0, 0}};
    int count = price_lines(call, line), now = 0;
    for (int i = 1; i < count; i++)
        now = begins_below(&line[i], &line[now]) ? i : now;
    for (double from = 0; isfinite(from);) {
        double below = INFINITY;
        int next = now;
        for (int i = 0; i < count; i++)
            if (crossover_bytes(&line[now], &line[i]) < below) {
                below = crossover_bytes(&line[now], &line[i]);
                next = i;
            }
        below = ceil(below);
        if (below > from)
            write_row(stream, call, &line[now], below);
        from = below;
        now = next;
    }
}

/* NCCL's constants for other numbers of GPUs and nodes. */
static void write_structure(FILE *stream, bool by_xgmi) {
    fputs(by_xgmi ? "  hop: # RCCL's, as net_hop's; its 320 us of a ring's Simple are taken as the tree's\n"
                    "    ring: {ll: 8e-07, simple: 2.1e-06}\n"
                    "    tree: {ll: 9e-07, simple: 2.3e-06}\n"
                    "  net_hop:\n"
                    "    ring: {ll: 9.5e-06, simple: 2.5e-05}\n"
                    "    tree: {ll: 1.05e-05, simple: 2.5e-05}\n"
                    "  peer_s: 8e-07\n"
                  : "  hop: # those of NCCL 2.28.3 to 2.30.7, src/graph/tuning.cc, as net_hop's\n"
                    "    ring: {ll: 6e-07, ll128: 1.9e-06, simple: 3.4e-06}\n"
                    "    tree: {ll: 6e-07, ll128: 1.25e-06, simple: 4e-06}\n"
                    "  net_hop:\n"
                    "    ring: {ll: 2.7e-06, ll128: 4e-06, simple: 1.4e-05}\n"
                    "    tree: {ll: 5e-06, ll128: 8.5e-06, simple: 1.4e-05}\n"
                    "  peer_s: 6e-07\n",
          stream);
    fputs("  ll_s_per_byte: 5e-11 # llMaxBws there: 19 to 45 GB/s, by CPU and nodes\n"
          "  ll_s_per_byte_95: [2.2e-11, 5.3e-11]\n"
          "  simple_bytes: 2097152 # this and the next three: four H200s\n",
          stream);
    fprintf(stream, "  channels: %.0f\n  chunk_bytes: %.0f\n  channel_s_per_byte: %.5g\n", channels,
            chunk_bytes, channel_s_per_byte);
    fputs("  sampled_bytes: 536870912\n"
          "  doubling: 0.55 # two and four nodes A of ABCI 2.0 from one\n",
          stream);
}

void pto_guess_write_nccl(FILE *stream, const pto_node_links_t *links, const pto_topology_t *topology,
                          pto_interconnect_t interconnect) {
    const double node_s_per_byte = (links->gpu.name ? &links->gpu : &links->host)->s_per_byte;
    fprintf(stream,
            "\nnccl: # %s scaled to the link;\n"
            "  # calls one after the other, as nccl-tests has them; the intervals hold those that are waited "
            "for\n",
            interconnect == PTO_INTERCONNECT_PCIE ? "tables of L40Ss (NCCL 2.27.3),"
            : interconnect == PTO_INTERCONNECT_XGMI
                ? "RCCL by its own model of MI300X (ROCm/rccl at 0cbce2a7, "
                  "src/graph/tuning.cc), not measured,"
            : is_hopper(node_s_per_byte)
                ? "tables of H200s (NCCL 2.29.2, ai-dynamo/aiconfigurator at 095f58a5),"
                : "tables of A100s (NCCL 2.27.3, ai-dynamo/aiconfigurator at 095f58a5),");
    for (int kind = 0; kind < PTO_NCCL_COUNT; kind++) {
        fprintf(stream, "  %s:%s\n", pto_nccl_name((pto_nccl_kind_t)kind),
                is_chain((pto_nccl_kind_t)kind) ? " # as a chain of the allgather's hops" : "");
        for (int64_t gpus = 2, last = links->gpus > 2 ? links->gpus : 2; gpus <= last;
             gpus = gpus < last && 2 * gpus > last ? last : 2 * gpus) {
            const pto_gpu_rates_t rates = pto_node_links_rates(links, topology, gpus);
            write_rows(stream, &(call_t){(pto_nccl_kind_t)kind, gpus,
                                         kind == PTO_NCCL_ALLTOALL ? rates.alltoall : rates.ring,
                                         node_s_per_byte, interconnect});
        }
    }
    write_structure(stream, interconnect == PTO_INTERCONNECT_XGMI);
}

/* portolan machine new: writes a machine file from datasheets, for a machine that cannot be measured yet. The
 * rates of links come from the datasheets. All other costs are literals in this file, taken from the machines
 * that the comment written beside each cost names; their intervals cover what these machines measured.
 * machine_links.c has the links, machine_nccl.c the costs of NCCL. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/names.h"
#include "base/text.h"
#include "command.h"
#include "command_line/find_machine.h"
#include "machine/registry.h"
#include "machine_links.h"
#include "traces/topology_text.h"

static const char usage[] =
    "usage: portolan machine new --name NAME --cores N [--gpus N --host-link LINK] [OPTIONS]\n\n"
    "Writes a machine file from what datasheets say. Rates are those of the links, of which programs reach\n"
    "70 to 97 percent; starts are those of machines that were measured, and their intervals span these.\n"
    "Every number has its source beside it. What no datasheet says is left out, so that it is reported as\n"
    "not priced. portolan-calibrate replaces the guesses by measurements.\n\n"
    "  portolan machine new --name my-cluster --sockets 2 --cores 112 --gpus 8 --gpu-link nvlink4 "
    "--host-link pcie5 --nics 8 --nic '400 Gbit/s' --gpu-memory 80GiB --out my-cluster.yaml\n"
    "  portolan predict --machine my-cluster.yaml --collective allreduce --nodes 16 --bytes 1KiB:1GiB\n"
    "  portolan machine new --name ours --cores 112 --from nccl.xml --out ours.yaml\n"
    "  portolan machine new --name cpus --sockets 2 --cores 128 --nic '200 Gbit/s' --out cpus.yaml\n\n"
    "LINK is pcie3 to pcie6 (16 lanes), nvlink2 to nvlink5 (all links of a GPU), nvlink-c2c, xgmi (of a\n"
    "pair of GPUs), or a rate in each direction (50 GB/s). Memory is as datasheets of CPUs name it,\n"
    "'8xDDR5-4800' (channels of 8 bytes), or a rate ('307 GB/s'). Without it, processes that use host\n"
    "memory at once do not slow each other down; the file says so.\n";

typedef struct {
    const char *name;
    const char *source;
    const char *mpi;
    const char *gpu_name;
    int64_t cores, gpu_memory, host_memory;
    pto_node_links_t links;
    pto_link_product_t memory; /* of a socket */
    const char *from;
    pto_topology_t *topology; /* of `from` */
    bool without_gpudirect, rails;
    pto_mps_t mps;
    pto_options_t files; /* --out and --force */
} machine_t;

/* --- options -------------------------------------------------------------------------------------------- */

/* In the order of pto_joined_by_t. */
static PTO_WORD_LIST(joined_by_at, "switch", "mesh");

/* 16 MiB: no GPU or node has less, so that a smaller number lacks its unit. */
#define MEMORY_LEAST_BYTES 0x1p24

/* Read "8xDDR5-4800": 8 channels of 8 bytes, with 4800 million transfers a second each. */
static bool read_channels(const char *text, double *s_per_byte) {
    int channels = 0, generation = 0, transfers = 0, end = 0;
    if (sscanf(text, "%3dx%*1[dD]%*1[dD]%*1[rR]%1d-%6d%n", &channels, &generation, &transfers, &end) != 3 ||
        text[end] != '\0' || channels < 1 || generation < 3 || generation > 5 || transfers < 100)
        return false;
    *s_per_byte = 1 / (channels * 8.0 * transfers * 1e6);
    return true;
}

static pto_status_t apply_memory(void *target, const char *text, pto_error_t *err) {
    pto_link_product_t *memory = target;
    *memory = (pto_link_product_t){.name = text,
                                   .source = "channels of 8 bytes, by millions of transfers a second"};
    if (read_channels(text, &memory->s_per_byte))
        return PTO_OK;
    if (strchr(text, 'x'))
        return pto_error_set(err, PTO_ERR_RANGE,
                             "'%s' is neither memory such as 8xDDR5-4800 (DDR3 to DDR5) nor a rate", text);
    return pto_link_read(text, memory, err);
}

static pto_status_t apply_mpi(void *target, const char *text, pto_error_t *err) {
    char *path;
    pto_status_t status = pto_find_library(text, NULL, &path, err);
    if (status != PTO_OK)
        return status;
    free(path);
    ((machine_t *)target)->mpi = text;
    return PTO_OK;
}

static const char *mps_at(int i) { return i < PTO_MPS_COUNT ? pto_mps_name((pto_mps_t)i) : NULL; }

static const char *new_at(int i) { return i == 0 ? "new" : NULL; }

#define STORE(form, member) PTO_STORE(form, machine_t, member)

static const pto_option_t machine_options[] = {
    {"name", "NAME", "the machine's name", STORE(TEXT, name)},
    {"from", "FILE",
     "GPUs, sockets, NICs and links of hwloc's or NCCL's XML (.xml), of what nvidia-smi topo -m or rocm-smi "
     "--showtopo print (.txt), or of a topology (portolan list topologies), in place of their options",
     STORE(TEXT, from)},
    {"gpus", "N", "GPUs of a node (default: none)", STORE(COUNT, links.gpus)},
    {"sockets", "N", "CPU sockets of a node", STORE(COUNT, links.sockets), .standard = "1"},
    {"gpu", "NAME", "what the GPUs are, as 'NVIDIA H100'", STORE(TEXT, gpu_name)},
    {"cores", "N", "CPU cores of a node", STORE(COUNT, cores)},
    {"gpu-link", "LINK", "between the GPUs of a node (default: none, they copy through the host)",
     STORE(OWN, links.gpu), .apply = pto_link_read_named, .word_at = pto_link_product_at},
    {"gpu-topology", "KIND",
     "how they join GPUs: switch or mesh (default: mesh for xgmi, and for 3 or 4 GPUs with nvlink2 to "
     "nvlink4)",
     STORE(WORD, links.joined_by), .what = "topology", .word_at = joined_by_at},
    {"links-per-peer", "N", "links between each two GPUs of a mesh (default: all in equal shares; xgmi: 1)",
     STORE(COUNT, links.links_per_peer)},
    {"host-link", "LINK", "between a GPU and the host", STORE(OWN, links.host), .apply = pto_link_read_named,
     .word_at = pto_link_product_at},
    {"nics", "N", "NICs of a node", STORE(COUNT, links.nics), .standard = "1"},
    {"nic", "RATE", "of one NIC, as in '400 Gbit/s' (default: a single node)", STORE(OWN, links.nic),
     .apply = pto_link_read_nic},
    {"rails", NULL, "NICs of one number share a switch; changes no price, and the file says why",
     STORE(FLAG, rails)},
    {"no-gpudirect", NULL, "NICs cannot read the memory of GPUs", STORE(FLAG, without_gpudirect)},
    {"gpu-memory", "BYTES", "memory of a GPU, as in 80GiB (default: no limit)", STORE(BYTES, gpu_memory),
     .least = MEMORY_LEAST_BYTES},
    {"host-memory", "BYTES", "memory of a node's host (default: no limit)", STORE(BYTES, host_memory),
     .least = MEMORY_LEAST_BYTES},
    {"host-memory-bandwidth", "MEMORY", "of a socket, as in '8xDDR5-4800' (default: no limit, not priced)",
     STORE(OWN, memory), .apply = apply_memory},
    {"mps", "WORD", "whether MPS serves processes that share a GPU", STORE(WORD, mps), .word_at = mps_at,
     .standard = "unknown"},
    {"mpi", "NAME", "the MPI library, as open-mpi-4.1 (portolan list libraries; default: unknown)",
     .apply = apply_mpi},
    {"source", "TEXT", "where the numbers are from", STORE(TEXT, source), .standard = "datasheets"},
    {"out", "FILE.yaml", "write the file there instead of to standard output (-)", STORE(TEXT, files.out)},
    {"force", NULL, "replace a file that exists", STORE(FLAG, files.force)},
    {.name = NULL}};

static const pto_syntax_t syntax = {.program = "portolan machine",
                                    .usage = usage,
                                    .set = PTO_SETS({"options", machine_options}),
                                    .operand_at = new_at};

/* --- the file ------------------------------------------------------------------------------------------- */

/* Programs reach 95 percent of two NICs on Summit, and 80 percent of PCIe 5 and 84 of NVLink 4 on H200s:
 * hence 85 percent, with an interval from 70 to 97. */
pto_guess_t pto_guess_achieved(double s_per_byte) {
    return (pto_guess_t){s_per_byte / 0.85, s_per_byte / 0.97, s_per_byte / 0.7};
}

/* The achievable rate of `count` such links together. */
static pto_guess_t achieved(const pto_link_product_t *link, int64_t count) {
    return pto_guess_achieved(link->s_per_byte / (double)count);
}

static bool is_mesh(const machine_t *machine) { return machine->links.joined_by == PTO_JOINED_BY_MESH; }

static pto_interconnect_t interconnect(const machine_t *machine) {
    const char *link = machine->links.gpu.name;
    if (!link)
        return PTO_INTERCONNECT_PCIE;
    if (strcmp(link, "xgmi") == 0 || (machine->gpu_name && strncasecmp(machine->gpu_name, "AMD", 3) == 0))
        return PTO_INTERCONNECT_XGMI;
    return is_mesh(machine) ? PTO_INTERCONNECT_MESH : PTO_INTERCONNECT_SWITCH;
}

void pto_guess_write(FILE *stream, const char *key, pto_guess_t guess) {
    fprintf(stream, "%s: %.4g, %s_95: [%.4g, %.4g]", key, guess.value, key, guess.low, guess.high);
}

/* Write a cost, whose brace `before` has opened, the closing brace, `after` and the end of the line. */
static void write_row(FILE *stream, const char *before, pto_guess_t start, pto_guess_t byte,
                      const char *after) {
    fputs(before, stream);
    pto_guess_write(stream, "alpha_s", start);
    fputs(", ", stream);
    pto_guess_write(stream, "beta_s_per_byte", byte);
    fprintf(stream, "}%s\n", after);
}

/* The same, but `before` has not opened the brace. */
static void write_cost(FILE *stream, const char *before, pto_guess_t start, pto_guess_t byte,
                       const char *after) {
    fprintf(stream, "%s{", before);
    write_row(stream, "", start, byte, after);
}

/* The costs of messages at one level. The start-up time depends on the protocol, the time per byte does not.
 */
static void write_message(FILE *stream, const char *level, pto_guess_t eager, pto_guess_t rendezvous,
                          pto_guess_t byte, const char *source) {
    fprintf(stream, "    %s: # %s\n", level, source);
    write_row(stream, "      - {protocol: eager, below_bytes: 16384, ", eager, byte, "");
    write_row(stream, "      - {protocol: rendezvous, ", rendezvous, byte, "");
}

static void write_host_messages(FILE *stream, const machine_t *machine) {
    const pto_guess_t memory = {1e-10, 3e-11, 1.7e-10};
    fputs("messages:\n  cpu:\n", stream);
    write_message(stream, "on_socket", (pto_guess_t){6e-7, 3.5e-7, 1.3e-6}, (pto_guess_t){3e-6, 2e-6, 6e-6},
                  memory, "starts and bytes: Summit, Lassen and hosts of H200s span the intervals");
    if (machine->links.sockets > 1)
        write_message(stream, "on_node", (pto_guess_t){1.1e-6, 8e-7, 2e-6}, (pto_guess_t){5.8e-6, 4e-6, 8e-6},
                      (pto_guess_t){1.5e-10, 6e-11, 2.4e-10}, "starts and bytes: Summit and Lassen");
    if (machine->links.nic.name)
        write_message(stream, "off_node", (pto_guess_t){1.8e-6, 1.3e-6, 5.2e-6},
                      (pto_guess_t){6.6e-6, 3e-6, 1e-5}, achieved(&machine->links.nic, 1),
                      "starts: Summit and Lassen; bytes: one NIC");
}

/* Messages of GPU memory with GPUDirect: their bytes pass the GPU's link to the host and a NIC. */
static void write_direct_messages(FILE *stream, const machine_t *machine) {
    const bool by_link = machine->links.host.s_per_byte > machine->links.nic.s_per_byte;
    char source[160];
    snprintf(source, sizeof source, "starts: Summit, Lassen, H200s over TCP; bytes: %s%.40s%s",
             by_link ? "the GPU's link to the host (" : "one NIC", by_link ? machine->links.host.name : "",
             by_link ? "), slower than a NIC" : "");
    write_message(stream, "off_node", (pto_guess_t){6.1e-6, 4.9e-6, 2e-5},
                  (pto_guess_t){8.8e-6, 4.9e-6, 2e-5},
                  achieved(by_link ? &machine->links.host : &machine->links.nic, 1), source);
}

/* The rate at which a node can send. With GPUDirect, GPU memory is limited by the slower of the NICs and the
 * GPUs' links to the host. */
static void write_injection(FILE *stream, const machine_t *machine, bool gpudirect) {
    const bool by_links = machine->links.host.s_per_byte / (double)machine->links.gpus >
                          machine->links.nic.s_per_byte / (double)machine->links.nics;
    fprintf(stream, "\ninjection: # of %lld NIC%s\n  cpu: {", (long long)machine->links.nics,
            machine->links.nics == 1 ? "" : "s");
    pto_guess_write(stream, "s_per_byte", achieved(&machine->links.nic, machine->links.nics));
    fputs("}\n", stream);
    if (machine->rails)
        fputs(
            "  # Rails change no price: all pairs of NICs have one start, and no spine's links are shared\n"
            "  # (one slower than the leaves is `fabric`). NCCL keeps to them at the same bytes of a NIC.\n",
            stream);
    if (!gpudirect)
        return;
    fputs("  gpu: {", stream);
    pto_guess_write(stream, "s_per_byte",
                    by_links ? achieved(&machine->links.host, machine->links.gpus)
                             : achieved(&machine->links.nic, machine->links.nics));
    fputs("}", stream);
    if (by_links)
        fprintf(stream, " # of %lld link%s of GPUs to the host (%s), slower than the NICs",
                (long long)machine->links.gpus, machine->links.gpus == 1 ? "" : "s",
                machine->links.host.name);
    putc('\n', stream);
}

static void write_gpu_messages(FILE *stream, const machine_t *machine) {
    const pto_link_product_t *within = machine->links.gpu.name ? &machine->links.gpu : &machine->links.host;
    const pto_guess_t start = {1.2e-5, 9e-6, 1.9e-5};
    if (machine->links.gpus > 0)
        fputs("  gpu:\n", stream);
    static const char *const level[] = {"on_socket", "on_node"}; /* at the same cost */
    for (int i = 0; i < (machine->links.sockets > 1 ? 2 : 1) && machine->links.gpus > 0; i++)
        write_message(stream, level[i], start, start, achieved(within, 1),
                      machine->links.gpu.name ? "starts: Summit, Lassen, H200s; bytes: the link between GPUs"
                                              : "starts: Summit, Lassen, H200s; bytes: the link to the host");
    bool gpudirect = machine->links.gpus > 0 && !machine->without_gpudirect;
    if (machine->links.nic.name && gpudirect)
        write_direct_messages(stream, machine);
    if (machine->links.gpus > 0) /* for a library that packs row by row; others pack in a kernel */
        fputs("  strided: {gpu: 1.52e-05, gpu_95: [0, 1.6e-05]} # a row: Open MPI 4.1 on H200s; low: a "
              "kernel\n",
              stream);
    if (machine->links.nic.name)
        write_injection(stream, machine, gpudirect);
}

/* Copies through pageable memory, by which MPI libraries stage GPU buffers: at most at the link's rate. */
static void write_pageable(FILE *stream, pto_guess_t link) {
    const pto_guess_t start = {1e-5, 6e-6, 3.5e-5};
    pto_guess_t byte = {8e-11, 6e-11, 2.5e-10};
    byte.value = byte.value > link.value ? byte.value : link.value;
    byte.low = byte.low > link.low ? byte.low : link.low;
    byte.high = byte.high > link.high ? byte.high : link.high;
    fputs("  pageable: # H200s; high: V100s of Lassen\n", stream);
    write_cost(stream, "    h2d: ", start, byte, "");
    write_cost(stream, "    d2h: ", start, byte, "");
}

/* The cost of the last copy when `procs` processes that share a GPU copy at the same time: its bytes wait for
 * those of all others. `limit` is "", or the row's "below_bytes: N, ". */
static void write_queue(FILE *stream, const char *limit, int64_t procs, pto_guess_t start, pto_guess_t byte) {
    const double n = (double)procs;
    fprintf(stream, "      - {procs: %lld, %s", (long long)procs, limit);
    write_row(stream, "", start, (pto_guess_t){n * byte.value, n * byte.low, n * byte.high}, "");
}

/* The next of 2, 3, 4, 6, 8, 12, ...: powers of two, and the numbers halfway between them. */
static int64_t next_procs(int64_t procs) {
    const bool is_power_of_two = (procs & (procs - 1)) == 0;
    return is_power_of_two ? procs / 2 * 3 : procs / 3 * 4;
}

/* Copies by several processes of a GPU, whose number is at most the GPU's share of the cores. The copies
 * queue up. Without MPS, NVIDIA's GPUs serve one process at a time: a small copy to the GPU, or any copy
 * within it, waits for its process's time slice (`turns`). */
static void write_shared(FILE *stream, const machine_t *machine, pto_guess_t link) {
    enum { H2D, D2H, D2D, KINDS };
    const pto_guess_t within = {3e-12, 1e-12, 4.2e-11};
    static const char *const kind[KINDS] = {"h2d", "d2h", "d2d"};
    const int64_t procs_max = machine->cores / machine->links.gpus;
    fputs("  shared: # H200s; a turn without MPS: 140 us there, 80 on V100s of Lassen\n", stream);
    for (int k = 0; k < KINDS; k++) {
        fprintf(stream, "    %s:\n", kind[k]);
        for (int64_t procs = 2; procs <= procs_max || procs == 2; procs = next_procs(procs)) {
            const double n = (double)procs, least = machine->mps == PTO_MPS_NO ? 8e-5 * n : 5e-6 + 1e-6 * n;
            const pto_guess_t queued = {5.8e-6 + 3.2e-6 * n, 5e-6 + 1e-6 * n, 8.5e-6 + 5e-6 * n};
            const pto_guess_t turns =
                machine->mps == PTO_MPS_YES ? queued : (pto_guess_t){1.4e-4 * n, least, 1.5e-4 * n};
            if (k == H2D && machine->mps != PTO_MPS_YES)
                write_queue(stream, "below_bytes: 16385, ", procs, turns, link);
            write_queue(stream, "", procs, k == D2D ? turns : queued, k == D2D ? within : link);
        }
    }
}

/* In a mesh, where each pair of GPUs has its own links: the rate of all links of a GPU together. */
static void write_all_links(FILE *stream, const machine_t *machine) {
    if (!is_mesh(machine))
        return;
    const pto_guess_t all = achieved(&machine->links.gpu, 1);
    fprintf(stream, "  all_s_per_byte: %.4g\n  all_s_per_byte_95: [%.4g, %.4g]\n", all.value, all.low,
            all.high);
}

static void write_copies(FILE *stream, const machine_t *machine) {
    const pto_guess_t start = {9e-6, 6e-6, 1.35e-5}, link = achieved(&machine->links.host, 1);
    fputs("\ncopies:", stream);
    fputs(machine->links.gpus > 0 ? " # starts: V100s of Summit and Lassen, H200s\n" : "\n", stream);
    if (machine->links.gpus > 0) {
        write_cost(stream, "  h2d: {on_socket: ", start, link, "}");
        write_cost(stream, "  d2h: {on_socket: ", start, link, "}");
        write_cost(stream, "  d2d: {on_socket: ", (pto_guess_t){7.2e-6, 6e-6, 2.5e-5},
                   (pto_guess_t){3e-12, 1e-12, 4.2e-11}, "} # H200s; high: a V100");
        if (interconnect(machine) != PTO_INTERCONNECT_XGMI)
            write_shared(stream, machine, link);
        write_pageable(stream, link);
    }
    write_cost(stream, "  h2h: {on_socket: ", (pto_guess_t){1e-8, 0, 1e-6},
               (pto_guess_t){1.5e-10, 1e-10, 4.5e-10}, "} # a host of H200s; high: Lassen");
    if (machine->links.gpu.name)
        write_cost(stream, "peer: # start: H200s\n  on_socket: ", (pto_guess_t){7.3e-6, 6e-6, 2e-5},
                   pto_guess_achieved(machine->links.pair_s_per_byte), "");
    write_all_links(stream, machine);
}

static void write_kernels(FILE *stream, const machine_t *machine) {
    fputs("\nreduce:\n", stream);
    write_cost(stream, "  cpu: ", (pto_guess_t){1e-8, 0, 1e-6}, (pto_guess_t){1e-10, 2e-11, 4.3e-10},
               " # a host of H200s; high: Summit");
    if (machine->links.gpus > 0)
        write_cost(stream, "  gpu: ", (pto_guess_t){9.7e-6, 8e-6, 2e-5}, (pto_guess_t){7.7e-13, 3e-13, 4e-12},
                   " # H200s; high: slower memory");
    fputs("signals: {", stream);
    pto_guess_write(stream, "flag_s", (pto_guess_t){1.8e-7, 1e-7, 1e-6});
    if (machine->links.gpus == 0) {
        fputs("} # a host of H200s\n", stream);
        return;
    }
    fputs(", ", stream);
    pto_guess_write(stream, "device_s", (pto_guess_t){2.2e-6, 1e-6, 4e-6});
    fputs("} # H200s\nlaunch: {", stream);
    pto_guess_write(stream, "kernel_s", (pto_guess_t){8.9e-6, 5e-6, 2e-5});
    fputs("} # H200s\n", stream);
    if (!machine->links.gpu.name)
        return;
    fputs("remote: # kernels that use the memory of other GPUs: those of H200s have no start\n", stream);
    const pto_guess_t pair = pto_guess_achieved(machine->links.pair_s_per_byte);
    write_cost(stream, "  load: {on_socket: ", (pto_guess_t){0, 0, 2e-6}, pair, "}");
    write_cost(stream, "  store: {on_socket: ", (pto_guess_t){0, 0, 2e-6}, pair, "}");
    write_all_links(stream, machine);
}

/* The sizes of memories, and the rate of host memory. The achieved share of that rate is taken to be a
 * link's. */
static void write_memory(FILE *stream, const machine_t *machine) {
    const char *before = "memory: {";
    if (machine->gpu_memory > 0) {
        fprintf(stream, "%sgpu_bytes: %lld", before, (long long)machine->gpu_memory);
        before = ", ";
    }
    if (machine->host_memory > 0) {
        fprintf(stream, "%shost_bytes: %lld", before, (long long)machine->host_memory);
        before = ", ";
    }
    if (machine->memory.name) {
        fputs(before, stream);
        pto_guess_write(stream, "host_s_per_byte", achieved(&machine->memory, 1));
    }
    if (machine->gpu_memory > 0 || machine->host_memory > 0 || machine->memory.name)
        fputs("}\n", stream);
    if (!machine->memory.name)
        fputs("# Not priced: memory.host_s_per_byte (--host-memory-bandwidth). Processes and GPUs of a "
              "socket that\n"
              "# use its memory at once do not slow each other down.\n",
              stream);
    if (machine->links.gpus > 0 && interconnect(machine) == PTO_INTERCONNECT_XGMI)
        fputs("# Not priced: copies.shared (portolan-calibrate --only memcpy_shared). Copies by several "
              "processes of a\n"
              "# GPU share its link and lose no time besides; picks that rest on this are marked unsure.\n",
              stream);
}

/* The model's own error, in addition to that of the parameters. It was determined on measured machines. */
static void write_model_error(FILE *stream, bool of_gpus) {
    fprintf(stream,
            "\nmodel_error: # of ln(measured / predicted), beside the parameters' own\n"
            "  source: \"Summit predicted from its samples alone: 158 times on 2 nodes that nothing was "
            "fitted to; doubling: 158 on 8%s\"\n"
            "  nodes: [2, 2]\n  procs_per_node: [6, 36]\n  bytes: [64, 2097152]\n  doubling: 0.262\n"
            "  tie: 0.32\n  strategies:\n    - {strategy: all, log_95: 0.462, samples: 158}\n",
            of_gpus ? "; nccl: of h200-x2" : "");
    if (of_gpus)
        fputs("    - {strategy: cuda_aware, log_95: 0.48, samples: 44}\n"
              "    - {strategy: three_step, log_95: 0.38, samples: 44}\n"
              "    - {strategy: extra_message, log_95: 0.352, samples: 35}\n"
              "    - {strategy: dup_devptr, log_95: 0.516, samples: 35}\n"
              "    - {strategy: nccl, log_95: 0.16, samples: 88}\n",
              stream);
}

static void write_head(FILE *stream, const machine_t *machine) {
    const pto_link_product_t *const link[] = {&machine->links.gpu, &machine->links.host, &machine->links.nic,
                                              &machine->memory};
    const char *const what[] = {is_mesh(machine) ? "from a GPU to all others" : "between GPUs", "to the host",
                                "of a NIC", "of a socket's memory"};
    fprintf(
        stream,
        "# %s: guesses from datasheets, by portolan machine new. Nothing was measured.\n"
        "# Of each link's rate, 85 percent are taken to be reached, 70 to 97 in the intervals. Starts are\n"
        "# those of the machines that are named; scenarios/machines has their files.\n",
        machine->name);
    for (size_t i = 0; i < sizeof link / sizeof *link; i++)
        if (link[i]->name)
            fprintf(stream, "# %s: %.4g GB/s (%s%s%s)\n", what[i], 1e-9 / link[i]->s_per_byte, link[i]->name,
                    strcmp(link[i]->source, "as given") ? ": " : "",
                    strcmp(link[i]->source, "as given") ? link[i]->source : "");
    fprintf(stream, "machine: \"%s\"\nsource: \"%s\"\n", machine->name, machine->source);
    if (machine->gpu_name)
        fprintf(stream, "gpu: \"%s\"\n", machine->gpu_name);
    fputs("basis: datasheet\n", stream);
    if (machine->mpi)
        fprintf(stream, "mpi_library: %s\n", machine->mpi);
    if (machine->mps != PTO_MPS_UNKNOWN)
        fprintf(stream, "mps: %s\n", pto_mps_name(machine->mps));
    fprintf(stream, "node: {sockets: %lld, gpus: %lld, cores: %lld}\n\n", (long long)machine->links.sockets,
            (long long)machine->links.gpus, (long long)machine->cores);
}

static pto_status_t put_machine(const machine_t *machine, FILE *stream, pto_error_t *err) {
    pto_status_t status = PTO_OK;
    write_head(stream, machine);
    write_host_messages(stream, machine);
    write_gpu_messages(stream, machine);
    write_copies(stream, machine);
    write_kernels(stream, machine);
    if (machine->links.gpus > 0)
        pto_guess_write_nccl(stream, &machine->links, machine->topology, interconnect(machine));
    write_memory(stream, machine);
    if (machine->topology)
        status = pto_topology_write_achieved(stream, machine->topology, err);
    else if (is_mesh(machine))
        pto_node_links_write(stream, &machine->links);
    write_model_error(stream, machine->links.gpus > 0);
    return status;
}

static pto_status_t write_text(void *text, FILE *stream, pto_error_t *err) {
    (void)err;
    fputs(text, stream);
    return PTO_OK;
}

/* Write the file only if it can be read back as a machine. */
static pto_status_t write_machine(const machine_t *machine, pto_error_t *err) {
    char *text = NULL;
    size_t size = 0;
    pto_machine_t *read = NULL;
    FILE *stream = open_memstream(&text, &size);
    if (!stream)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a machine file");
    pto_status_t status = put_machine(machine, stream, err);
    if (fclose(stream) != 0 && status == PTO_OK)
        status = pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a machine file");
    if (status == PTO_OK)
        status = pto_machine_create(
            text, size, pto_options_name_file(&machine->files) ? machine->files.out : "standard output",
            &read, err);
    pto_machine_destroy(read);
    if (status == PTO_OK)
        status = pto_options_write(&machine->files, write_text, text, err);
    free(text);
    return status;
}

/* --- the command ---------------------------------------------------------------------------------------- */

/* The model divides cores and GPUs evenly among the sockets. Fewer GPUs than sockets have a socket each. */
static int check_shares(const machine_t *machine) {
    if (machine->cores < machine->links.gpus || machine->cores < machine->links.sockets)
        return pto_usage_error(&syntax,
                               "--cores: a node has a core for each GPU and for each socket at least");
    if (machine->cores > PTO_NODE_DEVICES_MAX)
        return pto_usage_error(&syntax, "--cores: a node has at most %d cores", PTO_NODE_DEVICES_MAX);
    if (machine->cores % machine->links.sockets != 0)
        return pto_usage_error(&syntax, "--cores: %lld cores are not divisible by %lld sockets (--sockets)",
                               (long long)machine->cores, (long long)machine->links.sockets);
    if (machine->links.gpus > machine->links.sockets && machine->links.gpus % machine->links.sockets != 0)
        return pto_usage_error(&syntax, "--gpus: %lld GPUs are not divisible by %lld sockets (--sockets)",
                               (long long)machine->links.gpus, (long long)machine->links.sockets);
    return -1;
}

static int check(const machine_t *machine) {
    pto_error_t err;
    bool has_gpu_options = machine->gpu_name || machine->links.gpu.name || machine->links.host.name ||
                           machine->without_gpudirect || machine->gpu_memory > 0;
    if (!machine->name || machine->cores == 0)
        return pto_usage_error(&syntax, "--name and --cores are needed");
    if (machine->links.gpus > 0 && !machine->links.host.name)
        return pto_usage_error(&syntax, "--gpus needs --host-link");
    if ((machine->links.nics > 1 || machine->rails) && !machine->links.nic.name)
        return pto_usage_error(&syntax, "%s needs --nic", machine->rails ? "--rails" : "--nics");
    if (machine->links.gpus == 0 && has_gpu_options)
        return pto_usage_error(&syntax,
                               "--gpus is needed: an option concerns GPUs, and without it there are none");
    if (pto_name_check(machine->name, PTO_NAME_BYTES_MAX, &err) != PTO_OK)
        return pto_usage_error(&syntax, "--name: %s", err.message);
    if (pto_name_check(machine->source, PTO_TEXT_BYTES_MAX, &err) != PTO_OK)
        return pto_usage_error(&syntax, "--source: %s", err.message);
    if (machine->gpu_name && pto_name_check(machine->gpu_name, PTO_NAME_BYTES_MAX, &err) != PTO_OK)
        return pto_usage_error(&syntax, "--gpu: %s", err.message);
    /* The file has them within quotes. */
    if (strpbrk(machine->name, "\"\\") || strpbrk(machine->source, "\"\\") ||
        (machine->gpu_name && strpbrk(machine->gpu_name, "\"\\")))
        return pto_usage_error(&syntax, "--name, --gpu and --source cannot hold quotes or backslashes");
    if ((machine->links.joined_by != PTO_JOINED_BY_DEFAULT || machine->links.links_per_peer > 0) &&
        !machine->links.gpu.name)
        return pto_usage_error(&syntax, "--gpu-topology and --links-per-peer need --gpu-link");
    if (machine->links.joined_by == PTO_JOINED_BY_SWITCH && machine->links.links_per_peer > 0)
        return pto_usage_error(&syntax, "--links-per-peer is for --gpu-topology mesh");
    return check_shares(machine);
}

/* The rate of one of the device's links in GB/s; 0: there is no such link. */
static double gb_per_s(const pto_link_product_t *link) {
    return link->name ? 1e-9 / (link->s_per_byte * (double)link->links) : 0;
}

/* Read the file or topology of --from. XML and topologies have the rates of links; the printed tables (.txt)
 * do not, so that --host-link and --gpu-link give them. */
static int read_topology(machine_t *machine) {
    const pto_link_product_t *gpu = &machine->links.gpu, *host = &machine->links.host;
    const bool text = pto_text_ends(machine->from, ".txt");
    pto_error_t err = {0};
    if (!text && (gpu->name || host->name))
        return pto_usage_error(&syntax, "--from has the rates of links; leave out what gives them");
    if (text && !host->name)
        return pto_usage_error(&syntax, "--from FILE.txt has no rates: --host-link gives that of PCIe");
    pto_status_t status = pto_topology_open_any(
        machine->from, (pto_link_rates_t){gb_per_s(gpu), gb_per_s(host)}, &machine->topology, &err);
    return status == PTO_OK ? -1 : pto_report_error(&err);
}

/* Take the links of the node from --from. Returns -1, or the exit code. */
static int use_topology(machine_t *machine) {
    pto_error_t err = {0};
    if (machine->links.gpus > 0 || machine->links.joined_by != PTO_JOINED_BY_DEFAULT ||
        machine->links.links_per_peer > 0)
        return pto_usage_error(&syntax, "--from has the GPUs and their links; leave out what gives them");
    int code = read_topology(machine);
    if (code < 0 && pto_node_links_from_topology(&machine->links, machine->topology, &err) != PTO_OK)
        code = pto_usage_error(&syntax, "--from: %s", err.message);
    return code;
}

static int run(const pto_arguments_t *given) {
    machine_t machine = {.links.joined_by = PTO_JOINED_BY_DEFAULT};
    pto_error_t err = {0};
    if (given->operand_count != 1 || strcmp(given->operand[0], "new") != 0)
        return pto_usage_error(&syntax, "the only thing to do with a machine is new");
    int code = pto_options_apply(given, &machine);
    if (code < 0 && machine.from)
        code = use_topology(&machine);
    if (code < 0)
        code = check(&machine);
    if (code < 0 && !machine.topology && pto_node_links_complete(&machine.links, &err) != PTO_OK)
        code = pto_usage_error(&syntax, "%s", err.message);
    if (code < 0)
        code = write_machine(&machine, &err) == PTO_OK ? pto_flush_output() : pto_report_error(&err);
    pto_topology_destroy(machine.topology);
    return code;
}

const pto_command_t pto_command_machine = {
    .name = "machine", .summary = "write a machine file from datasheets", .syntax = &syntax, .run = run};

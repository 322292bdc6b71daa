/* The options of portolan-validate: its own, and those of commands on scenarios. */
#include "validate_options.h"
#include "base/names.h"
#include "option_table.h"

static const char usage[] =
    "usage: mpirun ... portolan-validate [SCENARIO.yaml] [OPTIONS]\n\n"
    "Runs every strategy of a scenario at every point: first its results are compared with a reference,\n"
    "then it is timed and set beside its prediction. The job must have the layout's number of processes.\n\n"
    "  mpirun -n 8 --map-by ppr:8:socket --bind-to core portolan-validate alltoall-summit --nodes 1 "
    "--gpus-per-node 2 --procs-per-gpu 4 --bytes 4:64KiB --out collectives.csv\n";

static PTO_WORD_LIST(device_at, "host", "cuda");

static PTO_WORD_LIST(op_at, "sum", "prod", "min", "max", "avg", "land", "lor", "lxor", "band", "bor", "bxor");

static PTO_WORD_LIST(wait_at, "yield", "spin", "sleep");

static PTO_WORD_LIST(pattern_at, "collective", "global_sum", "stencil2d");

static PTO_WORD_LIST(placement_at, "nodes", "identity");

#define STORE(form, member) PTO_STORE(form, pto_validate_options_t, member)

static const pto_option_t own_options[] = {
    {"device", "host|cuda", "where `gpu` buffers lie; host checks results, its times are not a GPU's",
     STORE(NAME, device), .standard = "host", .word_at = device_at},
    {"out", "FILE.csv", "write every time measured, for `portolan score`", STORE(TEXT, out_path)},
    {"force", NULL, "replace the file if it exists, after everything is measured", STORE(FLAG, force)},
    {"repeats", "N", "timed runs of each plan", STORE(INT, repeats), .most = 1000000, .standard = "30"},
    {"queued", "N",
     "time N runs queued back to back with one wait at the end, over N; for plans that are one kernel or one "
     "call of NCCL, others are left out",
     STORE(INT, queued), .most = 100000},
    {"enqueue", NULL, "put these runs into one stream by pto_exec_enqueue, and time that call as well",
     STORE(FLAG, enqueue)},
    {"graph", "N", "capture N of these runs in a graph, and launch it as often as needed", STORE(INT, graph),
     .most = 10000},
    {"bandwidth", "algorithm|bus|both",
     "columns algbw and busbw, or one of them: GB/s by the median, as nccl-tests defines them",
     STORE(WORD, shared.bandwidth), .what = "bandwidth", .standard = "none", .word_at = pto_bandwidth_name},
    {"nccl-windows", NULL,
     "run each plan by nccl a second time, as nccl_windows: on buffers of ncclMemAlloc, registered as "
     "symmetric windows (NCCL 2.27); these have no prediction",
     STORE(FLAG, nccl_windows)},
    {"version", NULL, "print the version", STORE(FLAG, version)},
    {"check-only", NULL, "compare results, time nothing", STORE(FLAG, check_only)},
    {"pattern", "collective|global_sum|stencil2d",
     "an application's kernel before each exchange: a sum on each GPU before an allreduce of one double, or "
     "a nine-point stencil before a halo exchange of doubles",
     STORE(WORD, pattern), .what = "pattern", .standard = "collective", .word_at = pattern_at},
    {"local", "BYTES", "of a global sum: the numbers on each GPU", STORE(BYTES, local_bytes),
     .standard = "4KiB"},
    {"op", "NAME",
     "the operation of reductions: sum, prod, min, max, avg, land, lor, lxor, band, bor or bxor",
     STORE(WORD, op), .what = "operation", .standard = "sum", .word_at = op_at},
    {"own-algorithms", NULL, "run portolan's algorithms in place of the MPI library's collectives",
     STORE(FLAG, own_algorithms)},
    {"each-algorithm", NULL, "own_algorithm: run every algorithm, not only the cheapest",
     STORE(FLAG, each_algorithm)},
    {"placement", "nodes|identity",
     "number processes by the nodes that they run on, or by MPI rank, so that one machine can stand for "
     "several nodes",
     STORE(WORD, placement), .standard = "nodes", .word_at = placement_at},
    {"wait", "yield|spin|sleep", "what processes do while they wait: sleep saves cores and takes longer",
     STORE(WORD, wait), .standard = "yield", .word_at = wait_at},
    {"energy", NULL, "joules of a run beside its time: NVML's and RAPL's counters", STORE(FLAG, energy)},
    {"powers", NULL, "measure the powers for a machine file's `energy`, run no plan", STORE(FLAG, powers)},
    {"energy-seconds", "S", "measure energy at least so long, and for 20 steps of the counters",
     STORE(NUMBER, energy_window_s), .least = 0.001, .most = 600, .standard = "1"},
    {"powercap", "FOLDER", "where the kernel shows RAPL", STORE(TEXT, powercap),
     .standard = "/sys/class/powercap"},
    {"timeout", "SECONDS", "end the job where a run takes longer, or a process makes no progress for so long",
     STORE(NUMBER, timeout_s), .least = PTO_TIMEOUT_LEAST_S, .most = PTO_TIMEOUT_MOST_S, .standard = "20"},
    {.name = NULL}};

const pto_syntax_t pto_validate_syntax =
    PTO_SCENARIO_SYNTAX("portolan-validate", usage, PTO_NAMES_SCENARIOS, {"its own options", own_options});

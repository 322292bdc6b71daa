/* The tables of the command-line options that concern scenarios. */
#include "option_table.h"

#include "option_apply.h"
#include "options.h"
#include "scenario/words.h"

/* --- the tables ---------------------------------------------------------------------------------------- */

#define STORE(form, member) PTO_STORE(form, pto_options_t, member)
#define OVERRIDES(field) .overrides = (1 + PTO_FIELD_##field)

/* clang-format off */
#define MEMORY_OPTIONS                                                                                       \
    {"memory", "auto|gpu|host",                                                                              \
     "where the data are; auto (default): in GPU memory if the machine has GPUs, else in host memory",       \
     STORE(WORD, scenario.memory), .word_at = pto_data_memory_at, OVERRIDES(MEMORY)},                        \
    {"procs-per-node", "N", "host memory: processes per node (default: the machine's cores)",                \
     STORE(COUNT, scenario.procs_per_node), OVERRIDES(LAYOUT)}
/* clang-format on */

const pto_option_t pto_machine_options[] = {
    {"machine", "FILE|NAME", "the machine file, or the name of one that `portolan list` shows",
     .apply = pto_option_apply_machine, OVERRIDES(MACHINE)},
    {.name = NULL}};

#define LISTED(id, name, ...) name ", "
const pto_option_t pto_scenario_options[] = {
    {"collective", "NAME", "one of " PTO_COLLECTIVE_TABLE(LISTED) "as `portolan list` shows",
     .apply = pto_option_apply_collective, .word_at = pto_collective_at, OVERRIDES(COLLECTIVE)},
    {"implementation", "NAME",
     "alltoall(v), allgather(v), gather, scatter, halo: library (MPI's own) or isend_irecv",
     STORE(WORD, scenario.implementation), .word_at = pto_implementation_at, OVERRIDES(IMPLEMENTATION)},
    {"nodes", "N|FROM:TO", "nodes; a range is swept by factors of 2 (FROM:TO:FACTOR for others)",
     .apply = pto_option_apply_nodes, OVERRIDES(NODES)},
    {"gpus-per-node", "N", "GPUs used per node (default: all of the machine's)",
     STORE(COUNT, scenario.layout.gpus_per_node), OVERRIDES(LAYOUT)},
    {"procs-per-gpu", "N", "processes per GPU (default: as many as hold user data)",
     STORE(COUNT, scenario.layout.procs_per_gpu), OVERRIDES(LAYOUT)},
    MEMORY_OPTIONS,
    {"owners-per-gpu", "N", "processes per GPU that hold user data (default 1)",
     STORE(COUNT, scenario.layout.owners_per_gpu), OVERRIDES(LAYOUT)},
    {"bytes", "N|FROM:TO",
     "bytes per destination, per message, of an owner's block or of a vector; accepts 64KiB",
     .apply = pto_option_apply_bytes, OVERRIDES(BYTES)},
    {"messages", "N|FROM:TO", "messages: number of messages that each GPU sends",
     .apply = pto_option_apply_messages, OVERRIDES(MESSAGES)},
    {"unique-bytes", "N", "messages: bytes of a GPU's messages that are unique; the rest are duplicates",
     STORE(BYTES, scenario.unique_bytes), OVERRIDES(UNIQUE_BYTES)},
    {"counts", "equal|skew:X:SEED|{...}|FILE.csv",
     "alltoallv, allgatherv: equal, random within +-X, {...} as in a scenario, or a matrix of bytes",
     .apply = pto_option_apply_counts, OVERRIDES(COUNTS)},
    {"placement-file", "FILE.csv", "alltoallv: the node, GPU and core of each process",
     .apply = pto_option_apply_placement, OVERRIDES(PLACEMENT)},
    {"distance", "LEVEL", "pair: on_gpu, on_socket (default), on_node or off_node",
     STORE(WORD, scenario.distance), .word_at = pto_level_at, OVERRIDES(DISTANCE)},
    {"spaces", "FROM,TO", "pair: gpu,gpu (default), cpu,gpu, gpu,cpu or cpu,cpu",
     .apply = pto_option_apply_spaces, .word_at = pto_option_spaces_at, OVERRIDES(SPACES)},
    {"both-ways", NULL, "pair: a message each way, at once", STORE(FLAG, scenario.ends.both_ways),
     OVERRIDES(BOTH_WAYS)},
    {"in-place", NULL,
     "allreduce, reduce, broadcast: one buffer for input and output, as MPI_IN_PLACE and MPI_Bcast",
     STORE(FLAG, scenario.in_place), OVERRIDES(IN_PLACE)},
    {"dims", "PxQ[xR]", "halo: processes along each dimension; 0: as even as possible (default)",
     .apply = pto_option_apply_dims, OVERRIDES(HALO)},
    {"wrap", "0|1,0|1[,0|1]", "halo: whether each dimension wraps around (default: none)",
     .apply = pto_option_apply_wrap, OVERRIDES(HALO)},
    {"extent", "MxN[xO]", "halo: cells of each process along each dimension, of --bytes each",
     .apply = pto_option_apply_extent, OVERRIDES(HALO)},
    {"halo", "N", "halo: its width in cells (default 1)", STORE(COUNT, scenario.halo.width), OVERRIDES(HALO)},
    {"corners", "NAME", "halo: two_phase (default), diagonal or none", STORE(WORD, scenario.halo.corners),
     .word_at = pto_corners_at, OVERRIDES(HALO)},
    {"datatype", "NAME",
     "float (default), double, half, bfloat16, int8 to int64, uint8 to uint64, float_complex, double_complex "
     "or byte",
     STORE(WORD, scenario.datatype), .word_at = pto_datatype_at, OVERRIDES(DATATYPE)},
    {"split", "bytes|destinations", "what split strategies divide among a GPU's processes",
     .apply = pto_option_apply_split, .word_at = pto_split_at, OVERRIDES(SPLIT)},
    {"chunks", "N",
     "chunked strategies: pieces that the data are cut into (default: as many as are cheapest)",
     STORE(COUNT, scenario.chunks), OVERRIDES(CHUNKS)},
    {"staged", "IN[,OUT]|all|cross",
     "mix: members that stage their input through host memory, and that take the result from there (one "
     "number: both; default: the machine file's `tuning`, else as many as are cheapest). all, cross: the "
     "cheapest; portolan-validate runs every pair of numbers, or all that differ from the cheapest in one",
     .apply = pto_option_apply_staged, OVERRIDES(STAGED_MEMBERS)},
    {"strategy", "NAME[,NAME]", "only these strategies (repeatable)", .apply = pto_option_apply_strategy,
     .word_at = pto_option_strategy_at, OVERRIDES(STRATEGIES)},
    {"library", "best|ALGORITHM", "the algorithm that models the MPI library's own",
     .apply = pto_option_apply_library, .word_at = pto_option_library_at, OVERRIDES(LIBRARY)},
    {.name = NULL}};

const pto_option_t pto_change_options[] = {
    {"mpi", "NAME",
     "the MPI library, where the machine file has no tables of its own (`portolan list libraries`)",
     STORE(TEXT, mpi)},
    {"model", "full|published[+TERM]",
     "use only the papers' terms, plus the TERMs added (see `portolan list`)", STORE(TEXT, model),
     .word_at = pto_option_model_at},
    {"what-if", "PARAMETER=VALUE",
     "change a parameter, or all that match a * (repeatable); *2 and /10 are relative. predict and pick take "
     "several values: A,B or FROM:TO[:FACTOR], as in /1:/8",
     .apply = pto_option_apply_what_if},
    {.name = NULL}};

const pto_option_t pto_work_options[] = {
    {"limit", "N",
     "refuse to walk more than N messages, copies or, of check, blocks (default: what takes about a minute)",
     STORE(COUNT, scenario.work_limit)},
    {"progress", NULL, "show progress even if standard error is not a terminal",
     .apply = pto_option_apply_progress},
    {.name = NULL}};

const pto_option_t pto_format_options[] = {{"format", "table|csv|json", "output format", STORE(WORD, format),
                                            .standard = "table", .word_at = pto_option_format_at},
                                           {.name = NULL}};

#define BANDWIDTH                                                                                            \
    {                                                                                                        \
        "bandwidth", "algorithm|bus|both",                                                                   \
            "a table of GB/s, as nccl-tests defines them; both: algbw and busbw of the cheapest, beside "    \
            "times",                                                                                         \
            STORE(WORD, bandwidth), .what = "bandwidth", .standard = "none", .word_at = pto_bandwidth_name   \
    }
#define ALL_COLUMNS                                                                                          \
    { "all", NULL, "a column for every strategy, however wide the table gets", STORE(FLAG, all) }
#define INTERVALS                                                                                            \
    {                                                                                                        \
        "ci", NULL, "the 95 percent interval of every price, in a line below (csv and json always have it)", \
            STORE(FLAG, ci)                                                                                  \
    }
#define COMPARE                                                                                              \
    { "compare", NULL, "the machine as it is beside the one that --what-if changes", STORE(FLAG, compare) }
const pto_option_t pto_table_options[] = {
    {"all", NULL, "every column, however wide the table gets", STORE(FLAG, all)}, {.name = NULL}};

const pto_option_t pto_predict_options[] = {
    {"explain", NULL, "break every price down into terms: stage, parameter, line of the machine file",
     STORE(FLAG, explain)},
    INTERVALS,
    ALL_COLUMNS,
    COMPARE,
    BANDWIDTH,
    {"energy", NULL, "energies by the machine file's powers, in addition to or instead of times",
     .apply = pto_option_apply_energy},
    {"plot", "FILE.svg|png", "draw the prediction (needs gnuplot)", STORE(TEXT, plot)},
    {"measured", "FILE.csv", "measured collectives, drawn as points by --plot", STORE(TEXT, measured)},
    {.name = NULL}};

const pto_option_t pto_pick_options[] = {
    {"by", "time|energy|product", "what to minimise: time, energy, or product (energy x time)",
     STORE(WORD, by), .what = "measure", .standard = "time", .word_at = pto_option_by_at},
    {"for", "none|vllm|sglang",
     "the routes that this program has for the allreduces of a tensor-parallel group, which is the fastest, "
     "and its settings",
     STORE(WORD, server), .what = "program", .standard = "none", .word_at = pto_option_server_at},
    {"layers", "N", "layers of the model of --for, with two allreduces each", STORE(COUNT, layers),
     .standard = "32"},
    {"measured", "FILE.csv", "with --for: times of PyTorch's symmetric memory (tests/bench/peer_torch.py)",
     STORE(TEXT, measured)},
    COMPARE,
    {.name = NULL}};

const pto_option_t pto_simulate_options[] = {
    {"trace", "FILE.json", "write the simulation's events in the Chrome trace format", STORE(TEXT, trace)},
    {"trace-events", "N", "maximum number of events in the trace", STORE(COUNT, trace_events),
     .standard = "1000000"},
    ALL_COLUMNS,
    BANDWIDTH,
    {.name = NULL}};

const pto_option_t pto_traffic_options[] = {
    {"out", "FILE.csv", "write the rows there instead of to standard output (-)", STORE(TEXT, out)},
    {"force", NULL, "replace a file that exists", STORE(FLAG, force)},
    {"plot", "FILE.svg|png", "draw a heat map (needs gnuplot)", STORE(TEXT, plot)},
    {0},
};

const pto_option_t pto_tune_options[] = {
    {"collective", "NAME", "allreduce or allgather (default: both)", .apply = pto_option_apply_collective,
     .word_at = pto_collective_at},
    {"bytes", "N|FROM:TO", "bytes of the vector or of allgather's blocks (default 4:64MiB:4)",
     .apply = pto_option_apply_bytes},
    {"gpus-per-node", "N", "GPUs whose processes take part", STORE(COUNT, scenario.layout.gpus_per_node),
     .standard = "1"},
    {"procs-per-gpu", "N", "most processes per GPU (default: the machine's cores, divided evenly)",
     STORE(COUNT, scenario.layout.procs_per_gpu)},
    {.name = NULL}};

const pto_option_t pto_export_options[] = {
    {"collective", "NAME", "only this one (default: all that the target can be told about)",
     .apply = pto_option_apply_collective, .word_at = pto_collective_at},
    {"nodes", "N|FROM:TO", "nodes, by factors of 2: a communicator of all their GPUs each",
     .apply = pto_option_apply_nodes},
    {"gpus-per-node", "N", "GPUs used per node, one process each (default: all of the machine's)",
     STORE(COUNT, scenario.layout.gpus_per_node)},
    MEMORY_OPTIONS,
    {"bytes", "FROM:TO", "sizes that are priced, as by `predict` (default 4:64MiB)",
     .apply = pto_option_apply_bytes},
    {.name = NULL}};

const pto_option_t pto_workload_options[] = {
    {"nodes", "N", "nodes; a size of 0 in the grid follows", .apply = pto_option_apply_nodes},
    {"gpus-per-node", "N", "GPUs used per node", STORE(COUNT, scenario.layout.gpus_per_node)},
    {"procs-per-gpu", "N", "processes per GPU (default 1)", STORE(COUNT, scenario.layout.procs_per_gpu)},
    MEMORY_OPTIONS,
    {"grid", "NAME=N[,NAME=N]", "sizes of the grid's dimensions; 0: as many as fill the layout",
     STORE(TEXT, grid)},
    {"compute-scale", "FACTOR",
     "computation takes FACTOR times what the workload says, as on other GPUs; default 1",
     STORE(NUMBER, compute_scale), .least = 1e-6, .most = 1e6},
    {"strategy", "NAME[,NAME]", "only these strategies (repeatable)", .apply = pto_option_apply_strategy,
     .word_at = pto_option_strategy_at},
    {.name = NULL}};

const pto_option_t pto_step_options[] = {
    ALL_COLUMNS,
    INTERVALS,
    {"simulate", NULL, "simulate the cheapest mix and the strategies named, with all that run at once",
     STORE(FLAG, simulate)},
    {.name = NULL}};

const pto_option_t pto_plan_options[] = {
    {"rank", "R", "rank to print", .apply = pto_option_apply_rank, .standard = "0"},
    {"unroll", NULL, "print every iteration of loops", STORE(FLAG, unroll)},
    {"format", "text|goal", "goal: the messages of all ranks, as LogGOPSim and `portolan replay` read them",
     STORE(WORD, plan_format), .standard = "text", .word_at = pto_option_plan_format_at},
    {"out", "FILE", "write there instead of to standard output (goal)", STORE(TEXT, out)},
    {"force", NULL, "replace a file that exists", STORE(FLAG, force)},
    {.name = NULL}};

const pto_option_t pto_map_command_options[] = {
    {"with", "NAME[,NAME]", "only these mappers, besides the default (`portolan list` shows them)",
     STORE(TEXT, mappers), .word_at = pto_option_mapper_at},
    {"metric", "NAME", "what the mappers minimise, times volume: latency, bandwidth, distance or price",
     STORE(WORD, metric), .standard = "price", .word_at = pto_option_metric_at},
    {"phases", "NAME[,NAME]", "also map in phases: to nodes (node), sockets (core) and GPUs (gpu)",
     STORE(TEXT, phases), .standard = "node,core,gpu", .word_at = pto_option_phase_at},
    {"seed", "N", "the first seed of mappers that depend on one", .apply = pto_option_apply_seed,
     .standard = "0"},
    {"seeds", "N", "how many seeds they are given", STORE(INT, seeds), .most = 20, .standard = "4"},
    {"refine", "auto|N", "how many swaps of the best mapping are priced", .apply = pto_option_apply_refine,
     .standard = "auto"},
    {"out", "FILE.csv", "write the placement", STORE(TEXT, out)},
    {"rankfile", "FILE", "write it for Open MPI's --rankfile", STORE(TEXT, rankfile)},
    {"slurm-hosts", "FILE", "write it as SLURM_HOSTFILE of srun --distribution=arbitrary",
     STORE(TEXT, slurm_hosts)},
    {"cuda-devices", "FILE", "write CUDA_VISIBLE_DEVICES of rank r in line r + 1", STORE(TEXT, cuda_devices)},
    {"hosts", "NAME[,NAME]", "the nodes' names in these files", STORE(TEXT, hosts)},
    {"force", NULL, "replace existing files", STORE(FLAG, force)},
    {.name = NULL}};

/* The parameters of a machine, one row for each family of them: the only list. The members of pto_machine_t,
 * reading and writing machine files, what-ifs, models, the names in explanations, `portolan list parameters`
 * and the table in docs/formats.md all follow from it. A row becomes a pto_family_t (registry.h).
 *
 * MEMBER declares a member of pto_machine_t; PART describes a part of a member that another row declares. For
 * example, MEMBER(COST, reduce, [PTO_SPACE_COUNT], .key = "reduce.*", .dim = {PTO_ALL(SPACE)}, ...) declares
 * an array of two cost tables. Their paths in a machine file are reduce.cpu and reduce.gpu.
 *
 *   form    WHOLE: a whole number. VALUE: one number. POSTAL: alpha_s and beta_s_per_byte.
 *           COST: rows of postal costs; .by says by what the rows differ.
 *   .key    its path in a machine file. Each * is a name of the next entry of .dim. A ! marks a required
 *           segment.
 *   .dim    the indices of the member that the row covers: all, one, or those up to one (registry.h)
 *   .term   the model term that it belongs to (terms.c); none: it is in the published model
 *   .power  the power of a GPU while this takes time (its bytes; with .power_at_start its start, too)
 *   .measured_only   no price uses it */
#ifndef PTO_PARAMETERS_H
#define PTO_PARAMETERS_H

/* clang-format off */
#define PTO_PARAMETER_TABLE(MEMBER, PART)                                                                   \
    PART(WHOLE, node.sockets, .key = "!node.!sockets", .positive = true, .what = "CPU sockets of a node")   \
    PART(WHOLE, node.gpus, .key = "!node.!gpus", .what = "GPUs of a node; 0: it has none")                  \
    PART(WHOLE, node.cores, .key = "!node.!cores", .positive = true, .what = "CPU cores of a node")         \
    MEMBER(COST, messages, [PTO_SPACE_COUNT][PTO_LEVEL_COUNT], .key = "!messages.*.*",                      \
           .dim = {PTO_ALL(SPACE), PTO_ALL(LEVEL)}, .by = PTO_ROWS_BY_PROTOCOL,                             \
           .power = PTO_POWER_GPU_COPY,                                                                     \
           .what = "a message, by the memory of its buffers and their distance")                            \
    MEMBER(COST, mixed_messages, [PTO_SPACE_COUNT][PTO_LEVEL_COUNT], .key = "messages.to.*.*",              \
           .dim = {PTO_ALL(SPACE), PTO_ALL(LEVEL)}, .by = PTO_ROWS_BY_PROTOCOL, .term = "messages.to",      \
           .power = PTO_POWER_GPU_COPY,                                                                     \
           .what = "a message from the other memory, host or GPU, to this one")                             \
    MEMBER(VALUE, message_row_s, [PTO_SPACE_COUNT], .key = "messages.strided.*", .dim = {PTO_ALL(SPACE)},   \
           .unit = PTO_UNIT_S, .term = "messages.strided", .power = PTO_POWER_GPU_COPY,                     \
           .what = "each row of a strided message but the first, besides its bytes")                        \
    MEMBER(VALUE, latency_s, [PTO_SPACE_COUNT], .key = "messages.latency.*", .dim = {PTO_ALL(SPACE)},       \
           .unit = PTO_UNIT_S, .term = "messages.latency",                                                  \
           .what = "of an off-node message's start, what passes between its ends and occupies neither")     \
    MEMBER(VALUE, both_ways, [PTO_SPACE_COUNT], .key = "messages.both_ways.*", .dim = {PTO_ALL(SPACE)},     \
           .unit = PTO_UNIT_RATIO, .term = "messages.both_ways", .power = PTO_POWER_GPU_COPY,               \
           .what = "fractional slowdown of messages within a node that a process sends and receives at once") \
    MEMBER(VALUE, staged_message, , .key = "messages.staged", .unit = PTO_UNIT_RATIO,                       \
           .term = "messages.staged",                                                                       \
           .what = "fractional slowdown of the host's messages within a node that a pipeline sends between copies") \
    MEMBER(VALUE, injection_s_per_byte, [PTO_SPACE_COUNT], .key = "injection.*.!s_per_byte",                \
           .dim = {PTO_ALL(SPACE)}, .unit = PTO_UNIT_S_PER_BYTE, .positive = true,                          \
           .power = PTO_POWER_GPU_COPY, .what = "injection limit of a node, 1/R_N")                         \
    MEMBER(VALUE, injection_s_per_message, [PTO_SPACE_COUNT], .key = "injection.*.s_per_message",           \
           .dim = {PTO_ALL(SPACE)}, .unit = PTO_UNIT_S, .term = "message_rate",                             \
           .what = "1 / message rate of a node")                                                            \
    MEMBER(VALUE, contention, , .key = "network.!contention", .unit = PTO_UNIT_RATIO, .term = "network",    \
           .power = PTO_POWER_GPU_COPY,                                                                     \
           .what = "fractional slowdown of off-node bytes when several nodes send to one receiver")         \
    MEMBER(COST, gap, [PTO_SPACE_COUNT][PTO_LEVEL_COUNT], .key = "gap.*",                                   \
           .dim = {PTO_ALL(SPACE), PTO_ONE(LEVEL, OFF_NODE)}, .by = PTO_ROWS_BY_PROTOCOL, .term = "gap",    \
           .power = PTO_POWER_GPU_COPY,                                                                     \
           .what = "LogGP's gaps: each additional off-node message in flight")                              \
    PART(COST, gap, .key = "gap.within.*.*", .dim = {PTO_ONE(SPACE, GPU), PTO_UP_TO(LEVEL, ON_NODE)},       \
         .by = PTO_ROWS_BY_PROTOCOL, .term = "gap", .power = PTO_POWER_GPU_COPY,                            \
         .what = "the same of GPU messages within the node, by their distance")                             \
    MEMBER(POSTAL, copies, [PTO_COPY_COUNT][PTO_REACH_COUNT], .key = "copies.*.*",                          \
           .dim = {PTO_UP_TO(COPY, D2D), PTO_ONE(REACH, ON_SOCKET)}, .power = PTO_POWER_GPU_COPY,           \
           .what = "a copy between host (h) and device (d) memory")                                         \
    PART(POSTAL, copies, .key = "copies.*.*", .dim = {PTO_UP_TO(COPY, D2H), PTO_ONE(REACH, OFF_SOCKET)},    \
         .power = PTO_POWER_GPU_COPY,                                                                       \
         .what = "the same, of the host memory of a process on another socket")                             \
    PART(POSTAL, copies, .key = "copies.*.*", .dim = {PTO_ONE(COPY, D2D), PTO_ONE(REACH, OFF_SOCKET)},      \
         .measured_only = true, .what = "the same, where process and GPU sit on different sockets")         \
    PART(POSTAL, copies, .key = "copies.*.*", .dim = {PTO_ONE(COPY, H2H), PTO_ONE(REACH, ON_SOCKET)},       \
         .term = "copies.h2h", .power = PTO_POWER_GPU_COPY, .what = "a copy within host memory")            \
    PART(POSTAL, copies, .key = "copies.*.*", .dim = {PTO_ONE(COPY, H2H), PTO_ONE(REACH, OFF_SOCKET)},      \
         .term = "copies.h2h", .power = PTO_POWER_GPU_COPY,                                                 \
         .what = "the same, to the memory of a process on another socket")                                  \
    MEMBER(COST, shared_copies, [PTO_COPY_COUNT], .key = "copies.shared.*", .dim = {PTO_UP_TO(COPY, D2D)},  \
           .by = PTO_ROWS_BY_PROCS, .term = "copies.shared", .power = PTO_POWER_GPU_COPY,                   \
           .what = "copies that several processes make from or to one GPU at once, each")                   \
    MEMBER(VALUE, queued_copy_s, [PTO_COPY_COUNT], .key = "copies.queued.*",                                \
           .dim = {PTO_UP_TO(COPY, D2D)}, .unit = PTO_UNIT_S, .term = "copies.queued",                      \
           .power = PTO_POWER_GPU_COPY,                                                                     \
           .what = "each additional copy that is queued behind others, besides its bytes")                  \
    MEMBER(VALUE, strided_row_s, [PTO_COPY_COUNT], .key = "copies.strided.*",                               \
           .dim = {PTO_UP_TO(COPY, D2D)}, .unit = PTO_UNIT_S, .term = "copies.strided",                     \
           .power = PTO_POWER_GPU_COPY,                                                                     \
           .what = "each row of a strided copy but the first, besides its bytes")                           \
    MEMBER(POSTAL, pageable, [PTO_COPY_COUNT], .key = "copies.pageable.*", .dim = {PTO_UP_TO(COPY, D2H)},   \
           .term = "copies.pageable", .power = PTO_POWER_GPU_COPY,                                          \
           .what = "a copy from or to host memory that is not pinned")                                      \
    MEMBER(COST, reduce, [PTO_SPACE_COUNT], .key = "reduce.*", .dim = {PTO_ALL(SPACE)},                     \
           .by = PTO_ROWS_BY_BYTES, .has_extra_input = true, .term = "reduce",                              \
           .power = PTO_POWER_GPU_KERNEL,                                                                   \
           .what = "combining two buffers; extra_input_s_per_byte: each byte of an additional input")       \
    MEMBER(POSTAL, peer, [PTO_REACH_COUNT], .key = "peer.*", .dim = {PTO_ALL(REACH)}, .term = "peer",       \
           .power = PTO_POWER_GPU_COPY, .what = "a copy from GPU to GPU of a node")                         \
    MEMBER(VALUE, peer_all_s_per_byte, , .key = "peer.all_s_per_byte", .unit = PTO_UNIT_S_PER_BYTE,         \
           .positive = true, .term = "peer", .power = PTO_POWER_GPU_COPY,                                   \
           .what = "bytes that leave or reach one GPU while several copies do")                             \
    MEMBER(POSTAL, remote, [PTO_REMOTE_COUNT][PTO_REACH_COUNT], .key = "remote.*.*",                        \
           .dim = {PTO_ALL(REMOTE), PTO_ALL(REACH)}, .term = "remote", .power = PTO_POWER_GPU_KERNEL,       \
           .power_at_start = true,                                                                          \
           .what = "a kernel that loads from or stores to another GPU's memory, without its launch")        \
    MEMBER(VALUE, remote_all_s_per_byte, , .key = "remote.all_s_per_byte", .unit = PTO_UNIT_S_PER_BYTE,     \
           .positive = true, .term = "remote", .power = PTO_POWER_GPU_KERNEL,                               \
           .what = "bytes that leave one GPU while each stores to all others of the node")                  \
    MEMBER(COST, remote_lines, , .key = "remote.lines", .by = PTO_ROWS_BY_NODE_GPUS,                        \
           .term = "remote.lines", .power = PTO_POWER_GPU_KERNEL,                                           \
           .what = "a run of one kernel whose data carry their flags, with its launch, by bytes to each peer") \
    MEMBER(VALUE, signal_s, , .key = "signals.flag_s", .unit = PTO_UNIT_S, .term = "signals",               \
           .what = "a flag set by one process and seen by another")                                         \
    MEMBER(VALUE, event_s, , .key = "signals.event_s", .unit = PTO_UNIT_S, .term = "signals",               \
           .what = "a GPU event recorded and waited for, as at the end of a queued copy")                   \
    MEMBER(VALUE, device_signal_s, , .key = "signals.device_s", .unit = PTO_UNIT_S, .term = "signals",      \
           .power = PTO_POWER_GPU_KERNEL, .what = "a flag between kernels of two GPUs")                     \
    MEMBER(VALUE, kernel_launch_s, , .key = "launch.kernel_s", .unit = PTO_UNIT_S, .term = "launch",        \
           .what = "a kernel's launch, until the host sees its end; used where graph_s is absent")          \
    MEMBER(VALUE, graph_launch_s, , .key = "launch.graph_s", .unit = PTO_UNIT_S, .term = "launch",          \
           .what = "the same for a captured graph of one kernel")                                           \
    MEMBER(VALUE, run_launch_s, , .key = "launch.run_s", .unit = PTO_UNIT_S, .term = "launch",              \
           .what = "the same behind other kernels, of runs that the host does not wait for; used in place of both") \
    MEMBER(VALUE, queued_launch_s, , .key = "launch.queued_s", .unit = PTO_UNIT_S, .term = "launch",        \
           .measured_only = true, .what = "each additional kernel that is queued behind others")            \
    MEMBER(VALUE, gpu_memory_bytes, , .key = "memory.gpu_bytes", .unit = PTO_UNIT_BYTES,                    \
           .what = "memory of one GPU; a limit")                                                            \
    MEMBER(VALUE, host_memory_bytes, , .key = "memory.host_bytes", .unit = PTO_UNIT_BYTES,                  \
           .what = "memory of one node's host; a limit")                                                    \
    MEMBER(VALUE, host_memory_s_per_byte, , .key = "memory.host_s_per_byte", .unit = PTO_UNIT_S_PER_BYTE,   \
           .positive = true, .term = "memory.host",                                                         \
           .what = "each byte that a socket's processes and GPUs together read from or write to its memory") \
    MEMBER(COST, setup_open, , .key = "setup.open", .by = PTO_ROWS_BY_BYTES,                                \
           .what = "opening another process's GPU memory, once, by bytes of the allocation")                \
    MEMBER(COST, setup_allocate, [PTO_SPACE_COUNT], .key = "setup.allocate.*",                              \
           .dim = {PTO_ONE(SPACE, GPU)}, .by = PTO_ROWS_BY_BYTES,                                           \
           .what = "allocating and exporting GPU memory, once")                                             \
    PART(COST, setup_allocate, .key = "setup.allocate.*", .dim = {PTO_ONE(SPACE, CPU)},                     \
         .by = PTO_ROWS_BY_BYTES, .what = "allocating pinned host memory, once")                            \
    MEMBER(VALUE, setup_segment_s, , .key = "setup.segment_s", .unit = PTO_UNIT_S,                          \
           .what = "a node's segment of shared memory for flags, once")                                     \
    MEMBER(COST, nccl, [PTO_NCCL_COUNT], .key = "nccl.*", .dim = {PTO_ALL(NCCL)}, .by = PTO_ROWS_BY_GPUS,   \
           .term = "nccl", .power = PTO_POWER_GPU_KERNEL, .what = "one call of NCCL's own collective")      \
    MEMBER(VALUE, nccl_hop_s, [PTO_NCCL_ALGORITHM_COUNT][PTO_NCCL_PROTOCOL_COUNT], .key = "nccl.hop.*.*",   \
           .dim = {PTO_ALL(NCCL_ALGORITHM), PTO_ALL(NCCL_PROTOCOL)}, .unit = PTO_UNIT_S, .term = "nccl",    \
           .power = PTO_POWER_GPU_KERNEL,                                                                   \
           .what = "a hop between GPUs of a node, beyond those of the measured GPUs")                       \
    MEMBER(VALUE, nccl_net_hop_s, [PTO_NCCL_ALGORITHM_COUNT][PTO_NCCL_PROTOCOL_COUNT],                      \
           .key = "nccl.net_hop.*.*", .dim = {PTO_ALL(NCCL_ALGORITHM), PTO_ALL(NCCL_PROTOCOL)},             \
           .unit = PTO_UNIT_S, .term = "nccl", .power = PTO_POWER_GPU_KERNEL,                               \
           .what = "a hop between nodes, beyond those of the measured nodes")                               \
    MEMBER(VALUE, nccl_peer_s, , .key = "nccl.peer_s", .unit = PTO_UNIT_S, .term = "nccl",                  \
           .power = PTO_POWER_GPU_KERNEL,                                                                   \
           .what = "each peer of an alltoall beyond those of the measured GPUs")                            \
    MEMBER(VALUE, nccl_simple_bytes, , .key = "nccl.simple_bytes", .unit = PTO_UNIT_BYTES, .term = "nccl",  \
           .power = PTO_POWER_GPU_KERNEL, .what = "protocol Simple within a node from this size on")        \
    MEMBER(VALUE, nccl_ll_s_per_byte, , .key = "nccl.ll_s_per_byte", .unit = PTO_UNIT_S_PER_BYTE,           \
           .term = "nccl", .power = PTO_POWER_GPU_KERNEL,                                                   \
           .what = "each byte that a link carries by LL between nodes, at least")                           \
    MEMBER(VALUE, nccl_channels, , .key = "nccl.channels", .unit = PTO_UNIT_NONE, .term = "nccl",           \
           .power = PTO_POWER_GPU_KERNEL, .positive = true,                                                 \
           .what = "channels, among which the bytes are split")                                             \
    MEMBER(VALUE, nccl_chunk_bytes, , .key = "nccl.chunk_bytes", .unit = PTO_UNIT_BYTES, .term = "nccl",    \
           .power = PTO_POWER_GPU_KERNEL, .what = "a chunk, which one channel sends on as a whole")         \
    MEMBER(VALUE, nccl_channel_s_per_byte, , .key = "nccl.channel_s_per_byte",                              \
           .unit = PTO_UNIT_S_PER_BYTE, .term = "nccl", .power = PTO_POWER_GPU_KERNEL,                      \
           .what = "each byte of a chunk that a channel passes on")                                         \
    MEMBER(VALUE, nccl_sampled_bytes, , .key = "nccl.sampled_bytes", .unit = PTO_UNIT_BYTES,                \
           .term = "nccl", .power = PTO_POWER_GPU_KERNEL,                                                   \
           .what = "the largest size measured; above, prices are extrapolated")                             \
    MEMBER(VALUE, nccl_doubling, , .key = "nccl.doubling", .unit = PTO_UNIT_RATIO, .term = "nccl",          \
           .power = PTO_POWER_GPU_KERNEL,                                                                   \
           .what = "each doubling beyond what was measured widens the interval by this, in log time")       \
    MEMBER(VALUE, power_w, [PTO_POWER_COUNT], .key = "energy.gpu.!idle_w",                                  \
           .dim = {PTO_ONE(POWER, GPU_IDLE)}, .unit = PTO_UNIT_W, .positive = true,                         \
           .what = "a GPU that waits, with a process on it")                                                \
    PART(VALUE, power_w, .key = "energy.gpu.copy_w", .dim = {PTO_ONE(POWER, GPU_COPY)},                     \
         .unit = PTO_UNIT_W, .positive = true,                                                              \
         .what = "a GPU while bytes move into or out of its memory")                                        \
    PART(VALUE, power_w, .key = "energy.gpu.kernel_w", .dim = {PTO_ONE(POWER, GPU_KERNEL)},                 \
         .unit = PTO_UNIT_W, .positive = true, .what = "a GPU while a kernel works")                        \
    PART(VALUE, power_w, .key = "energy.cpu.!idle_w", .dim = {PTO_ONE(POWER, CPU_IDLE)},                    \
         .unit = PTO_UNIT_W, .positive = true, .what = "all CPUs of a node while no process runs")          \
    PART(VALUE, power_w, .key = "energy.cpu.!core_w", .dim = {PTO_ONE(POWER, CPU_CORE)},                    \
         .unit = PTO_UNIT_W, .what = "each core that works or polls, in addition")
/* clang-format on */

#endif

/* The kernel table (portolan/kernel.h) of NVIDIA GPUs. The executor reaches it through the device's table
 * (device_cuda.cu). No kernel is compiled for a plan. Instead, a few kernels interpret programs: one executes
 * programs with flags, one programs with lines, and some execute exchanges (kernel_exchange.cuh). Creating a
 * kernel here means: choose one of them (form_of), and translate the program into its parameter
 * (translate_all). Each launch passes this parameter.
 *
 * Why a waiting block sees the data. The threads that stored data meet at a barrier, which orders their
 * stores before what any thread of the block does next. (These are weak stores, to their own GPU's memory or
 * through a link to another GPU's.) One thread then does st.release.sys. By the PTX memory model, a thread on
 * any GPU that reads the released value with ld.acquire.sys sees everything that is ordered before the
 * release, including the other threads' stores. Each warp polls flags by itself. Its threads synchronise
 * (__syncwarp) before any of them loads data. No data is loaded as constant (`ld.global.nc`), because such
 * loads are not ordered; so no pointer here is `__restrict__`. A signal that memory was read is safe, too:
 * loads before a release are complete before it.
 *
 * Why waiting ends. Block b waits only for block b of other GPUs. All blocks of a GPU are resident: a launch
 * has at most one block per multiprocessor, and each multiprocessor has room for it. All blocks go through
 * their slices in an order without deadlock (turns.h), and `check` proves that a plan's signals and waits are
 * free of deadlock. In a program with lines, all blocks store the data that others wait for before their own
 * first wait (model/src/plan/lines.c). In an exchange, a thread stores each unit before it waits for the one
 * at the same offset.
 *
 * Why runs don't mix. A launch may begin while the previous one in its stream still runs, but only to compute
 * addresses. It accesses data and flags once the previous one has completed (wait_for_run_before). If other
 * GPUs may still access memory for an earlier run, the plan orders that by flags or double-buffering. Run
 * numbers only grow, so a flag of an earlier run is never taken for one of this run.
 *
 * Why a run that gave up does no harm. Its block no longer stores to other GPUs or signals
 * (docs/decisions/0027). */
#include <algorithm>
#include <cstdlib>

#include "device/device_cuda.h"
#include "kernel_exchange.cuh"
#include "kernel_launch.cuh"
#include "kernel_translate.cuh"
#include "portolan/lines.h"

enum {
    BLOCK_BYTES = 8192, /* data per block, and per block and slice (pto_kernel_cut_t) */
    SLICE_BYTES = 262144,
    LINES_THREADS_MIN = 128, /* threads of a block in programs with lines */
    LINES_BLOCK_BYTES = LINES_THREADS_MIN * PTO_LINE_BYTES,
    LINES_SLICE_BYTES = 16384,
    POLLS_PER_QUERY = 4096, /* polls of the run's end for each query of the stream */
    POLLS_AT_ONCE = 64
};

/* Only every 64th queued run reports its end to the host, because its system-scope store takes 1 us. */
enum { RUNS_PER_REPORT = 64 };

/* --- the kernels --------------------------------------------------------------------------------------- */

template <typename T, typename Op>
__global__ void __launch_bounds__(THREADS, 1) run_program(const __grid_constant__ device_program parameter) {
    __shared__ parts_tables parts;
    run_with_flags<T, Op>(parameter, parts);
}

template <typename T, typename Op>
__global__ void __launch_bounds__(THREADS, 1) run_lines(const __grid_constant__ device_program parameter) {
    __shared__ line_operand operands[OPERANDS_MAX];
    run_with_lines<T, Op>(parameter, operands);
}

template <typename Result, int PEERS>
__global__ void __launch_bounds__(exchange_threads_max(PEERS), 1)
    run_all(const __grid_constant__ exchange<PEERS> parameter) {
    run_exchange<Result>(parameter);
}

/* What a kernel executes: programs with flags, with lines, or exchanges that sum or copy what arrives. */
enum kernel_kind { FLAGS, LINES, SUMS, COPIES };
struct kernel_form {
    kernel_kind kind;
    int peers_max; /* exchanges: the kernel's template parameter PEERS; otherwise 0 */
};
static const kernel_form kernel_forms[] = {{FLAGS, 0}, {LINES, 0},  {SUMS, 1},   {SUMS, 3},
                                           {SUMS, 7},  {COPIES, 1}, {COPIES, 3}, {COPIES, 7}};
static_assert(EXCHANGE_PEERS_MAX == 7, "the largest exchange has a kernel");

template <typename Result> static const void *exchange_entry(int peers_max) {
    if (peers_max == 1)
        return reinterpret_cast<const void *>(run_all<Result, 1>);
    if (peers_max == 3)
        return reinterpret_cast<const void *>(run_all<Result, 3>);
    return reinterpret_cast<const void *>(run_all<Result, EXCHANGE_PEERS_MAX>);
}

/* A visitor of with_operation (operations.cuh): returns the kernel of a form for a type and an operation. */
struct entry_visitor {
    kernel_form form;
    template <typename T, typename Op> const void *of() const {
        if (form.kind == FLAGS)
            return reinterpret_cast<const void *>(run_program<T, Op>);
        if (form.kind == LINES)
            return reinterpret_cast<const void *>(run_lines<T, Op>);
        return form.kind == SUMS ? exchange_entry<sum_of_all<T, Op>>(form.peers_max)
                                 : exchange_entry<copies_of_all>(form.peers_max);
    }
};

static unsigned threads_max(kernel_form form) {
    return form.peers_max > 0 ? exchange_threads_max(form.peers_max) : unsigned(THREADS);
}

static const void *entry_of(pto_datatype_t datatype, pto_op_t op, kernel_form form) {
    return with_operation(datatype, op, entry_visitor{form});
}

/* --- the host's side ----------------------------------------------------------------------------------- */

/* The far operands, for which the parameter has no room (kernel_program.cuh), are in device memory: until
 * the first rebinding in table FAR_CREATED, and then in FAR_REBOUND. Before the first run after a
 * rebinding, launches of write_operands in its stream fill that table. Runs of one kernel never overlap,
 * so no earlier run still reads it. A captured run uses FAR_IN_GRAPHS instead: each replay first fills
 * this table again, with the addresses of its own capture, as several graphs may hold different addresses. */
enum far_table { FAR_CREATED, FAR_REBOUND, FAR_IN_GRAPHS, FAR_TABLES };
struct far_operands {
    operand *now; /* the current ones, on the host */
    unsigned count;
    operand *table[FAR_TABLES];
    bool rebound_is_written; /* a launch that writes them to FAR_REBOUND has been enqueued */
};

/* A graph of one kernel node, for runs that the host waits for. It begins sooner than a plain launch and
 * takes half the CPU time, but cannot overlap earlier work. Its parameter has run number 0, so the device
 * counts its runs (run_state), and launching it again needs no new parameter. */
struct run_graph {
    cudaGraph_t graph;
    cudaGraphNode_t node;
    cudaGraphExec_t exec;
    bool is_current; /* its addresses are the kernel's */
};

struct cuda_kernel {
    device_program program;
    any_exchange exchange; /* if `exchanges`: the kernel's parameter, instead of `program` */
    bool exchanges;
    bool has_near; /* `program` has its near operands; a rebinding changes only their addresses */
    far_operands far;
    const void *entry; /* the kernel's function */
    unsigned blocks;
    unsigned threads;
    uint64_t *ended;         /* program.ended as addressed by the host: see run_state */
    uint32_t patience_ms;    /* of enqueued runs */
    uint64_t started;        /* number of the last run launched */
    uint64_t ended_by_query; /* the last run known to have ended because the stream was empty */
    bool reports_end;        /* whether the last run launched reports its end */
    bool overlaps;           /* runs may begin while the kernel before them ends */
    bool rebound;            /* the addresses are no longer those of its creation */
    bool enqueued; /* runs were enqueued; graphs may repeat them, so only the device counts runs now */
    run_graph graph;
    plain_launch plain;
    cudaStream_t setup_stream; /* while the kernel is created: for copies to its memory */
    cudaStream_t stream;       /* of the last run that `start` launched */
    unsigned polls;            /* calls of cuda_kernel_poll since that launch */
};

/* The parameter of write_operands. The launch, or a graph that captures it, copies it. */
enum { OPERAND_BATCH = 128 };
struct operand_batch {
    operand at[OPERAND_BATCH];
};
static_assert(sizeof(operand_batch) <= 4000, "kernels take 4 KiB of parameters");

static __global__ void write_operands(operand *table, const __grid_constant__ operand_batch some) {
    table[threadIdx.x] = some.at[threadIdx.x];
}

/* Returns the number of multiprocessors, or 0 if a block of some kernel does not fit on one. The query also
 * loads the kernel's code, which CUDA otherwise does at the first launch. A kernel of another GPU may already
 * wait for this process then, so all kernels are queried here, write_operands included. */
static pto_status_t cuda_blocks_max(pto_datatype_t datatype, pto_op_t op, int *blocks, pto_error_t *err) {
    int device = 0, multiprocessors = 0, blocks_each = 0;
    pto_status_t status = CUDA_DO(cudaGetDevice(&device), err);
    if (status == PTO_OK)
        status =
            CUDA_DO(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device), err);
    *blocks = multiprocessors;
    for (const kernel_form &form : kernel_forms) {
        if (status == PTO_OK)
            status = CUDA_DO(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                                 &blocks_each, entry_of(datatype, op, form), threads_max(form), 0),
                             err);
        *blocks = blocks_each > 0 ? *blocks : 0;
    }
    if (status == PTO_OK)
        status = CUDA_DO(
            cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_each, write_operands, OPERAND_BATCH, 0),
            err);
    return status;
}

/* Returns whether the far operands have addresses that FAR_CREATED does not hold. */
static bool must_write_far(const cuda_kernel *kernel) { return kernel->rebound && kernel->far.count > 0; }

/* Makes the parameter refer to FAR_REBOUND or, during a capture, to FAR_IN_GRAPHS. Unless FAR_REBOUND already
 * has the operands, enqueues launches that write them, in the stream of the run that needs them, and sets
 * `*written`: the run must not overlap these launches. */
static pto_status_t write_far(cuda_kernel *kernel, cudaStream_t stream, bool *written, pto_error_t *err) {
    far_operands *far = &kernel->far;
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    pto_status_t status = CUDA_DO(cudaStreamIsCapturing(stream, &capture), err);
    const bool in_graph = capture != cudaStreamCaptureStatusNone;
    operand *table = far->table[in_graph ? FAR_IN_GRAPHS : FAR_REBOUND];
    kernel->program.more = table;
    if (status != PTO_OK || (!in_graph && far->rebound_is_written))
        return status;
    *written = true;
    for (unsigned first = 0; first < far->count && status == PTO_OK; first += OPERAND_BATCH) {
        const unsigned count = std::min(far->count - first, unsigned(OPERAND_BATCH));
        operand_batch some = {};
        std::copy_n(far->now + first, count, some.at);
        write_operands<<<1, count, 0, stream>>>(table + first, some);
        status = check(cudaGetLastError(), "launch of a kernel's operands", err);
    }
    far->rebound_is_written = !in_graph && status == PTO_OK;
    return status;
}

/* Allocates the tables and copies the operands to the first one. make_counters later waits for this copy. */
static pto_status_t create_far(far_operands *far, cudaStream_t stream, pto_error_t *err) {
    const size_t bytes = far->count * sizeof(operand);
    void *tables = nullptr;
    pto_status_t status = CUDA_DO(cudaMalloc(&tables, FAR_TABLES * bytes), err);
    for (int i = 0; i < FAR_TABLES && status == PTO_OK; i++)
        far->table[i] = static_cast<operand *>(tables) + i * far->count;
    if (status != PTO_OK)
        return status;
    return CUDA_DO(cudaMemcpyAsync(far->table[FAR_CREATED], far->now, bytes, cudaMemcpyHostToDevice, stream),
                   err);
}

/* Keeps the far operands on the host. At first, also creates the tables. */
static pto_status_t translate_far(const pto_operand_t *operands, int count, cuda_kernel *kernel,
                                  pto_error_t *err) {
    far_operands *far = &kernel->far;
    const bool is_first = far->now == nullptr;
    far->count = static_cast<unsigned>(count);
    if (is_first)
        far->now = static_cast<operand *>(calloc(far->count, sizeof *far->now));
    if (far->now == nullptr)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a kernel");
    for (int i = 0; i < count; i++)
        far->now[i] = translate(&operands[i], kernel->blocks * kernel->program.slices);
    far->rebound_is_written = false;
    const pto_status_t status = is_first ? create_far(far, kernel->setup_stream, err) : PTO_OK;
    kernel->program.more = far->table[FAR_CREATED];
    return status;
}

static pto_status_t translate_operands(const pto_kernel_program_t *program, cuda_kernel *kernel,
                                       pto_error_t *err) {
    const int count = program->operand_count, near = std::min(count, int(OPERANDS_NEAR));
    for (int i = 0; i < near; i++)
        if (kernel->has_near)
            kernel->program.operands[i].at = static_cast<char *>(program->operands[i].spot.at);
        else
            kernel->program.operands[i] =
                translate(&program->operands[i], kernel->blocks * kernel->program.slices);
    kernel->has_near = true;
    return near < count ? translate_far(program->operands + near, count - near, kernel, err) : PTO_OK;
}

/* Returns the number of threads of a block. With flags, it is fixed. With lines and in exchanges, it is one
 * for each line of the largest part, in whole warps and within limits. `warp_bytes` is how much of an operand
 * one warp in every part covers: with 8 parts, 8 * 16 bytes * 32 threads = 4 KiB. */
static unsigned threads_of(const pto_kernel_program_t *program, kernel_form form) {
    int64_t max_bytes = 0;
    for (int i = 0; i < program->operand_count; i++)
        max_bytes = std::max(max_bytes, program->operands[i].bytes);
    const int64_t warp_bytes = int64_t(program->blocks) * program->slices * PTO_LINE_BYTES * WARP_THREADS;
    const int64_t warps = (max_bytes + warp_bytes - 1) / warp_bytes, threads_most = threads_max(form);
    if (form.kind == FLAGS)
        return static_cast<unsigned>(threads_most);
    return static_cast<unsigned>(std::clamp(warps * WARP_THREADS, int64_t(LINES_THREADS_MIN), threads_most));
}

/* Returns the kernel for a program. Sets `exchange` if that is one for exchanges. */
static kernel_form form_of(const pto_kernel_program_t *program, any_exchange &exchange) {
    if (!has_lines(program))
        return {FLAGS, 0};
    const exchange_kind found = find_exchange(program, exchange);
    if (found == NO_EXCHANGE)
        return {LINES, 0};
    const int peers_max = exchange.peers <= 3 ? 3 : EXCHANGE_PEERS_MAX;
    return {found == EXCHANGE_OF_SUMS ? SUMS : COPIES, exchange.peers == 1 ? 1 : peers_max};
}

/* Fills in the kernel's parameter; chooses its function and threads. Refuses what no kernel can execute. */
static pto_status_t translate_all(const pto_kernel_program_t *program, cuda_kernel *kernel,
                                  pto_error_t *err) {
    if (program->op_count > OPS_MAX || program->operand_count > OPERANDS_MAX)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             "a kernel of %d operations on %d places; this device has room for %d on %d, "
                             "so fewer GPUs",
                             program->op_count, program->operand_count, OPS_MAX, OPERANDS_MAX);
    for (int i = 0; i < program->op_count; i++) {
        const pto_kernel_op_t *from = &program->ops[i];
        const bool rows = has_rows(program, from);
        if (rows && !can_run_rows(program, from))
            return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                                 "rows beside lines, double-buffered, or of more than 2 GiB, none of which "
                                 "this device takes");
        kernel->program.ops[i] = {static_cast<uint8_t>(rows ? int(MOVE_ROWS) : int(from->kind)),
                                  static_cast<uint8_t>(width_of(program, from)),
                                  static_cast<uint8_t>(from->copies), static_cast<uint16_t>(from->count),
                                  static_cast<uint16_t>(from->first)};
    }
    find_phases(program, &kernel->program);
    if (has_lines(program) && !can_run_lines(program))
        return pto_error_set(
            err, PTO_ERR_NOT_APPLICABLE,
            "lines beside flags, rows or other double-buffered memory, none of which this device takes");
    const kernel_form form = form_of(program, kernel->exchange);
    kernel->entry = entry_of(program->datatype, program->op, form);
    kernel->exchanges = form.peers_max > 0;
    kernel->threads = threads_of(program, form);
    kernel->program.op_count = static_cast<uint16_t>(program->op_count);
    kernel->program.operand_count = static_cast<uint16_t>(program->operand_count);
    kernel->program.flag_pitch_bytes = static_cast<uint32_t>(program->flag_pitch_bytes);
    return kernel->exchanges ? PTO_OK : translate_operands(program, kernel, err);
}

/* Copies to device memory and drains the stream. */
static pto_status_t copy_to_device(void *to, const void *from, size_t bytes, cudaStream_t stream,
                                   pto_error_t *err) {
    pto_status_t status = CUDA_DO(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream), err);
    return status == PTO_OK ? CUDA_DO(cudaStreamSynchronize(stream), err) : status;
}

/* Allocates the host's record of ended runs and the blocks' states. */
static pto_status_t make_counters(cuda_kernel *kernel, pto_error_t *err) {
    void *ended = nullptr, *mapped = nullptr, *states = nullptr, *common = nullptr;
    pto_status_t status = CUDA_DO(cudaHostAlloc(&ended, 2 * sizeof(uint64_t), cudaHostAllocMapped), err);
    kernel->ended = static_cast<uint64_t *>(ended);
    if (status != PTO_OK)
        return status;
    kernel->ended[0] = kernel->ended[1] = 0;
    status = CUDA_DO(cudaHostGetDevicePointer(&mapped, ended, 0), err);
    kernel->program.ended = static_cast<uint64_t *>(mapped);
    if (status == PTO_OK)
        status = CUDA_DO(cudaMalloc(&states, kernel->blocks * sizeof(block_state)), err);
    kernel->program.states = static_cast<block_state *>(states);
    if (status == PTO_OK)
        status = CUDA_DO(
            cudaMemsetAsync(states, 0, kernel->blocks * sizeof(block_state), kernel->setup_stream), err);
    if (status == PTO_OK)
        status = CUDA_DO(cudaMalloc(&common, sizeof(common_state)), err);
    kernel->program.common = static_cast<common_state *>(common);
    const common_state first = {0, kernel->program.states, nullptr};
    if (status == PTO_OK)
        status = copy_to_device(common, &first, sizeof first, kernel->setup_stream, err);
    return status;
}

static void cuda_kernel_destroy(void *kernel) {
    cuda_kernel *self = static_cast<cuda_kernel *>(kernel);
    if (self == nullptr)
        return;
    if (self->graph.exec != nullptr)
        (void)cudaGraphExecDestroy(self->graph.exec);
    if (self->graph.graph != nullptr)
        (void)cudaGraphDestroy(self->graph.graph);
    (void)cudaFree(self->program.states);
    (void)cudaFree(self->program.common);
    (void)cudaFreeHost(self->ended);
    (void)cudaFree(self->far.table[FAR_CREATED]);
    free(self->far.now);
    free(self);
}

/* Finds whether launches may overlap the kernel before them. They may only if the kernel was compiled for
 * compute capability 9.0 or later, because only then it waits for that kernel (wait_for_run_before). Graphs
 * support such launches since CUDA 12.3. */
static pto_status_t check_overlap(cuda_kernel *kernel, pto_error_t *err) {
    cudaFuncAttributes code = {};
    int driver = 0;
    pto_status_t status = CUDA_DO(cudaFuncGetAttributes(&code, kernel->entry), err);
    if (status == PTO_OK)
        status = CUDA_DO(cudaDriverGetVersion(&driver), err);
    kernel->overlaps = code.ptxVersion >= 90 && driver >= 12030;
    return status;
}

static pto_status_t prepare(cuda_kernel *kernel, pto_error_t *err) {
    return prepare_launch(&kernel->plain, kernel->entry, kernel->blocks, kernel->threads, err);
}

/* Returns the parameter for the next launch. */
static void *parameter_of(cuda_kernel *kernel) {
    if (!kernel->exchanges)
        return &kernel->program;
    static_cast<run_state &>(kernel->exchange) = kernel->program;
    return &kernel->exchange;
}

/* Returns the graph's node. `parameters` is room for its list of parameters, which it borrows. */
static cudaKernelNodeParams node_of(cuda_kernel *kernel, void **parameters) {
    kernel->program.run = 0;
    kernel->program.reports_end = true;
    kernel->program.patience_ms = 0;
    parameters[0] = parameter_of(kernel);
    cudaKernelNodeParams node = {};
    node.func = const_cast<void *>(kernel->entry);
    node.gridDim = dim3(kernel->blocks);
    node.blockDim = dim3(kernel->threads);
    node.kernelParams = parameters;
    return node;
}

static pto_status_t make_graph(cuda_kernel *kernel, pto_error_t *err) {
    run_graph *graph = &kernel->graph;
    void *parameters[1];
    const cudaKernelNodeParams node = node_of(kernel, parameters);
    pto_status_t status = CUDA_DO(cudaGraphCreate(&graph->graph, 0), err);
    if (status == PTO_OK)
        status = CUDA_DO(cudaGraphAddKernelNode(&graph->node, graph->graph, nullptr, 0, &node), err);
    if (status == PTO_OK)
        status = CUDA_DO(cudaGraphInstantiate(&graph->exec, graph->graph, 0), err);
    graph->is_current = status == PTO_OK;
    return status;
}

/* Launches the graph, first with new addresses if they have changed. Earlier launches keep theirs. */
static pto_status_t launch_graph(cuda_kernel *kernel, pto_error_t *err) {
    run_graph *graph = &kernel->graph;
    pto_status_t status = PTO_OK;
    if (!graph->is_current) {
        void *parameters[1];
        const cudaKernelNodeParams node = node_of(kernel, parameters);
        status = CUDA_DO(cudaGraphExecKernelNodeSetParams(graph->exec, graph->node, &node), err);
        graph->is_current = status == PTO_OK;
    }
    return status == PTO_OK ? CUDA_DO(cudaGraphLaunch(graph->exec, kernel->stream), err) : status;
}

/* Fills the kernel's memory and waits for that, since kernels run in other streams. Not in the default
 * stream, which would wait for the caller's streams: a capture of one of them would fail. */
static pto_status_t fill_memory(const pto_kernel_program_t *program, cuda_kernel *kernel, pto_error_t *err) {
    pto_status_t status =
        CUDA_DO(cudaStreamCreateWithFlags(&kernel->setup_stream, cudaStreamNonBlocking), err);
    if (status != PTO_OK)
        return status;
    status = translate_all(program, kernel, err);
    if (status == PTO_OK)
        status = make_counters(kernel, err);
    /* This kernel becomes the next of the one that runs before it. */
    if (status == PTO_OK && program->before != nullptr)
        status =
            copy_to_device(&static_cast<const cuda_kernel *>(program->before)->program.common->after,
                           &kernel->program.common, sizeof kernel->program.common, kernel->setup_stream, err);
    (void)cudaStreamDestroy(kernel->setup_stream);
    kernel->setup_stream = nullptr;
    return status;
}

static pto_status_t cuda_kernel_create(const pto_kernel_program_t *program, void **kernel, pto_error_t *err) {
    cuda_kernel *self = static_cast<cuda_kernel *>(calloc(1, sizeof *self));
    if (self == nullptr)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a kernel");
    self->program.choice = {static_cast<uint8_t>(program->datatype), static_cast<uint8_t>(program->op)};
    self->blocks = static_cast<unsigned>(program->blocks);
    self->program.slices = static_cast<uint16_t>(program->slices);
    self->patience_ms = patience_ms_of(program);
    pto_status_t status = fill_memory(program, self, err);
    if (status == PTO_OK)
        status = check_overlap(self, err);
    if (status == PTO_OK)
        status = prepare(self, err);
    if (status == PTO_OK)
        status = make_graph(self, err);
    if (status == PTO_OK)
        *kernel = self;
    else
        cuda_kernel_destroy(self);
    return status;
}

/* Launches copy their parameters, so earlier ones keep the addresses that they had. */
static pto_status_t cuda_kernel_rebind(void *kernel, const pto_kernel_program_t *program, pto_error_t *err) {
    cuda_kernel *self = static_cast<cuda_kernel *>(kernel);
    self->rebound = true;
    self->graph.is_current = false;
    const pto_status_t status = translate_all(program, self, err);
    return status == PTO_OK ? prepare(self, err) : status;
}

/* Launches a run outside the kernel's graph, perhaps overlapping the previous run. The launch, or a graph
 * that captures it, copies the parameter. An overlapping run reads its operands before it waits for earlier
 * work in the stream, so it must not overlap if that has just written them. */
static pto_status_t launch(cuda_kernel *kernel, uint64_t run, bool reports_end, uint32_t patience_ms,
                           cudaStream_t stream, pto_error_t *err) {
    kernel->program.run = run;
    kernel->program.reports_end = reports_end;
    kernel->program.patience_ms = patience_ms;
    bool written = false;
    pto_status_t status = must_write_far(kernel) ? write_far(kernel, stream, &written, err) : PTO_OK;
    if (status != PTO_OK)
        return status;
    return launch_plainly(&kernel->plain, parameter_of(kernel), kernel->overlaps && !written, stream, err);
}

/* Only some of the queued runs report their end. Once runs were enqueued (cuda_kernel_enqueue), the device
 * has counted runs that `run` does not include. From then on, the device numbers the runs (0 in the
 * parameter), no run reports its end, and the host finds it by querying the stream. */
static pto_status_t cuda_kernel_start(void *kernel, uint64_t run, bool queued, void *stream,
                                      pto_error_t *err) {
    cuda_kernel *self = static_cast<cuda_kernel *>(kernel);
    self->started = run;
    self->reports_end = !self->enqueued && (!queued || run % RUNS_PER_REPORT == 0);
    self->stream = static_cast<cudaStream_t>(stream);
    self->polls = 0;
    if (!queued && self->reports_end && !must_write_far(self))
        return launch_graph(self, err);
    return launch(self, self->enqueued ? 0 : run, self->reports_end, 0, self->stream, err);
}

/* Enqueues only launches, so that they can be captured. */
static pto_status_t cuda_kernel_enqueue(void *kernel, void *stream, pto_error_t *err) {
    cuda_kernel *self = static_cast<cuda_kernel *>(kernel);
    self->enqueued = true;
    return launch(self, 0, false, self->patience_ms, static_cast<cudaStream_t>(stream), err);
}

static bool cuda_kernel_gave_up(const void *kernel) {
    return __atomic_load_n(&static_cast<const cuda_kernel *>(kernel)->ended[1], __ATOMIC_ACQUIRE) != 0;
}

/* Sets the number that waiting blocks check (check_patience). */
static void cuda_kernel_stop(void *kernel) {
    __atomic_store_n(&static_cast<cuda_kernel *>(kernel)->ended[1], uint64_t(1), __ATOMIC_RELEASE);
}

/* Returns the number of the last run known to have ended. */
static uint64_t last_ended(const cuda_kernel *kernel) {
    const uint64_t reported = __atomic_load_n(kernel->ended, __ATOMIC_ACQUIRE);
    return std::max(reported, kernel->ended_by_query);
}

/* Reads the number of the last run that reported its end. In every poll if the last run does not report, and
 * otherwise once in POLLS_PER_QUERY polls, also queries the stream, which detects errors. If the stream is
 * empty, a run that reports has already stored its number. */
static pto_status_t cuda_kernel_poll(void *kernel, uint64_t *ended, pto_error_t *err) {
    cuda_kernel *self = static_cast<cuda_kernel *>(kernel);
    *ended = last_ended(self);
    if (*ended >= self->started || (++self->polls % POLLS_PER_QUERY != 0 && self->reports_end))
        return PTO_OK;
    cudaError_t error = cudaStreamQuery(self->stream);
    if (error == cudaErrorNotReady) {
        (void)cudaGetLastError(); /* otherwise the next launch would report it as an error */
        return PTO_OK;
    }
    pto_status_t status = check(error, "a plan's kernel", err);
    if (status == PTO_OK && !self->reports_end)
        self->ended_by_query = self->started;
    *ended = last_ended(self);
    if (status == PTO_OK && *ended < self->started)
        return pto_error_set(err, PTO_ERR_IO,
                             "a plan's kernel is no longer there, and run %llu has not ended",
                             static_cast<unsigned long long>(self->started));
    return status;
}

extern "C" {
extern const pto_kernels_t pto_kernels_cuda;
const pto_kernels_t pto_kernels_cuda = {
    {BLOCK_BYTES, SLICE_BYTES},
    {LINES_BLOCK_BYTES, LINES_SLICE_BYTES},
    PTO_LINES_BYTES_MAX,
    cuda_blocks_max,
    cuda_kernel_create,
    nullptr, /* rebinding needs no memory */
    cuda_kernel_rebind,
    cuda_kernel_start,
    cuda_kernel_enqueue,
    cuda_kernel_gave_up,
    cuda_kernel_stop,
    cuda_kernel_poll,
    POLLS_AT_ONCE,
    cuda_kernel_destroy,
};
}

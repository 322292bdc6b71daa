/* Kernels of plans on NVIDIA GPUs: one kernel that executes a program (kernel.h), the same for all plans.
 *
 * Why a waiting block sees the data. The threads that stored (weak stores, to their own GPU's memory or
 * through a link to another's) meet at a barrier, which orders their stores before what any thread of the
 * block does next. One thread then does st.release.sys. By the PTX memory model, a thread on any GPU that
 * reads the released value with ld.acquire.sys sees everything that is ordered before the release, including
 * the other threads' stores. Each warp waits for itself; the lanes that poll meet the others (__syncwarp)
 * before any of them loads data. No data is loaded as constant (`ld.global.nc`), which is not ordered, so no
 * pointer here is `__restrict__`. The same holds where a signal says that memory was read: loads before a
 * release are complete before it.
 *
 * Why waiting ends. A block waits for the same block of other GPUs; all blocks go through their slices in an
 * order without deadlock (turns.h); all blocks of a GPU are resident (there are no more than multiprocessors,
 * each with room for one); and `check` proves that a plan's signals and waits are free of deadlock. With
 * lines, what is waited for was stored without waiting, op by op (model/src/plan/lines.c), or in an exchange
 * in ascending order, each unit before the wait for it.
 *
 * Why runs don't mix. A launch begins its work after the previous launch in its stream has completed, whether
 * or not they overlap. What other GPUs may still read or write of an earlier run, the plan orders by flags or
 * by alternating buffers. Run numbers only grow, so a flag of an earlier run is never taken for one of this
 * run.
 *
 * Why a run that gave up does no harm. See decision 27: its block no longer stores to others or signals.
 *
 * Loads dominate the time, so every thread has several under way: of consecutive vectors, and of up to four
 * pairs of an op at the same time. */
#include <algorithm>
#include <cstdlib>

#include "device/device_cuda.h"
#include "kernel_exchange.cuh"
#include "kernel_launch.cuh"
#include "kernel_translate.cuh"
#include "portolan/lines.h"

enum {
    BLOCK_BYTES = 8192,
    SLICE_BYTES = 262144,
    LINES_THREADS_MIN = 128,
    LINES_BLOCK_BYTES = LINES_THREADS_MIN * PTO_LINE_BYTES,
    LINES_SLICE_BYTES = 16384,
    POLLS_PER_QUERY = 4096,
    POLLS_AT_ONCE = 64
};

/* While runs are queued, only every 64th one reports its end to the host: the system-scope store costs a run
 * about a microsecond. */
enum { RUNS_PER_WORD = 64 };

/* --- the kernels --------------------------------------------------------------------------------------- */

template <typename T, typename Op>
__global__ void __launch_bounds__(THREADS, 1) run_program(const __grid_constant__ program all) {
    __shared__ parts_tables parts;
    run_with_flags<T, Op>(all, parts);
}

template <typename T, typename Op>
__global__ void __launch_bounds__(THREADS, 1) run_lines(const __grid_constant__ program all) {
    __shared__ line_operand operands[OPERANDS_MAX];
    run_with_lines<T, Op>(all, operands);
}

template <typename Result, int PEERS>
__global__ void __launch_bounds__(exchange_threads_max(PEERS), 1)
    run_all(const __grid_constant__ exchange<PEERS> all) {
    run_exchange<Result>(all);
}

/* Exchanges by the number of peers that a kernel takes: it has one line of each under way at a time. */
enum kernel_form {
    FLAGS,
    LINES,
    SUMS_OF_1,
    SUMS_OF_3,
    SUMS_OF_7,
    COPIES_OF_1,
    COPIES_OF_3,
    COPIES_OF_7,
    KERNEL_FORMS
};

template <typename Result> static const void *exchange_entry(int peers) {
    return peers == 1   ? reinterpret_cast<const void *>(run_all<Result, 1>)
           : peers == 3 ? reinterpret_cast<const void *>(run_all<Result, 3>)
                        : reinterpret_cast<const void *>(run_all<Result, EXCHANGE_PEERS_MAX>);
}

/* 0: none. */
static int peers_of(kernel_form form) {
    static const int peers[KERNEL_FORMS] = {0, 0, 1, 3, EXCHANGE_PEERS_MAX, 1, 3, EXCHANGE_PEERS_MAX};
    return peers[form];
}

struct entries {
    kernel_form form;
    template <typename T, typename Op> const void *of() const {
        return form == FLAGS       ? reinterpret_cast<const void *>(run_program<T, Op>)
               : form == LINES     ? reinterpret_cast<const void *>(run_lines<T, Op>)
               : form <= SUMS_OF_7 ? exchange_entry<sum_of_all<T, Op>>(peers_of(form))
                                   : exchange_entry<copies_of_all>(peers_of(form));
    }
};

static bool is_exchange(kernel_form form) { return peers_of(form) > 0; }

static unsigned threads_max(kernel_form form) {
    return is_exchange(form) ? exchange_threads_max(peers_of(form)) : unsigned(THREADS);
}

static const void *entry_of(pto_datatype_t datatype, pto_op_t op, kernel_form form) {
    return with_operation(datatype, op, entries{form});
}

/* --- the host's side ----------------------------------------------------------------------------------- */

/* Operands that the parameters have no room for: in device memory, in tables that are allocated once. A run
 * of addresses that the kernel was not created with finds them in a table that the launch before it fills, in
 * the same stream. Runs of one kernel follow one another, so the table is free by then. Graphs repeat both
 * launches and so need a table of their own: which addresses it holds between runs is unknown. */
enum far_table { FAR_CREATED, FAR_LATER, FAR_IN_GRAPHS, FAR_TABLES };
struct far_operands {
    operand *now; /* on the host */
    unsigned count;
    operand *table[FAR_TABLES];
    bool is_later; /* FAR_LATER holds the current addresses once the stream gets there */
};

/* A run that is waited for, as a graph of one kernel without a number: it begins sooner than a plain launch,
 * and takes the CPU half the time, but does not overlap what is before it in its stream. */
struct run_graph {
    cudaGraph_t graph;
    cudaGraphNode_t node;
    cudaGraphExec_t exec;
    bool is_current; /* its addresses are the kernel's */
};

struct cuda_kernel {
    program all;
    any_exchange exchange; /* what the kernel is launched with, where it is one (`exchanges`) */
    bool exchanges;
    bool has_operands; /* `all` has them */
    far_operands far;
    const void *entry;
    unsigned blocks;
    unsigned threads;
    uint64_t *ended;      /* the host's pointer to the words that all.ended points to */
    uint32_t patience_ms; /* of enqueued runs */
    uint64_t started;     /* number of the last run launched */
    uint64_t known;       /* the last run that had ended when the stream was empty */
    bool tells;           /* whether the last run launched reports its end */
    bool overlaps;        /* runs may begin while the kernel before them ends */
    bool rebound;         /* has other addresses than at first */
    bool enqueued; /* runs were enqueued, which may be repeated by graphs: only the device knows numbers */
    run_graph graph;
    plain_launch plain;
    cudaStream_t making; /* while the kernel is made: what fills its memory */
    cudaStream_t stream;
    unsigned polls;
};

/* Kernel parameters are copied by the launch, and by a graph that captures it. */
enum { FAR_AT_ONCE = 128 };
struct some_operands {
    operand at[FAR_AT_ONCE];
};
static_assert(sizeof(some_operands) <= 4000, "kernels take 4 KiB of parameters");

static __global__ void put_operands(operand *table, const __grid_constant__ some_operands some) {
    table[threadIdx.x] = some.at[threadIdx.x];
}

/* The occupancy query loads the kernel, which must not happen while another kernel waits for this process. */
static pto_status_t cuda_blocks_max(pto_datatype_t datatype, pto_op_t op, int *blocks, pto_error_t *err) {
    int device = 0, processors = 0, on_each = 0;
    pto_status_t status = CUDA_DO(cudaGetDevice(&device), err);
    if (status == PTO_OK)
        status = CUDA_DO(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device), err);
    *blocks = processors;
    for (int form = 0; form < KERNEL_FORMS && status == PTO_OK; form++) {
        status = CUDA_DO(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                             &on_each, entry_of(datatype, op, static_cast<kernel_form>(form)),
                             threads_max(static_cast<kernel_form>(form)), 0),
                         err);
        *blocks = on_each > 0 ? *blocks : 0;
    }
    if (status == PTO_OK)
        status = CUDA_DO(
            cudaOccupancyMaxActiveBlocksPerMultiprocessor(&on_each, put_operands, FAR_AT_ONCE, 0), err);
    return status;
}

static bool needs_far(const cuda_kernel *kernel) { return kernel->rebound && kernel->far.count > 0; }

/* In the stream of the launch that needs them. `*put`: this one must wait for it. */
static pto_status_t put_far(cuda_kernel *kernel, cudaStream_t stream, bool *put, pto_error_t *err) {
    far_operands *far = &kernel->far;
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    pto_status_t status = CUDA_DO(cudaStreamIsCapturing(stream, &capture), err);
    const bool in_graph = capture != cudaStreamCaptureStatusNone;
    operand *table = far->table[in_graph ? FAR_IN_GRAPHS : FAR_LATER];
    kernel->all.more = table;
    if (status != PTO_OK || (!in_graph && far->is_later))
        return status;
    *put = true;
    for (unsigned first = 0; first < far->count && status == PTO_OK; first += FAR_AT_ONCE) {
        const unsigned count = std::min(far->count - first, unsigned(FAR_AT_ONCE));
        some_operands some = {};
        std::copy_n(far->now + first, count, some.at);
        put_operands<<<1, count, 0, stream>>>(table + first, some);
        status = check(cudaGetLastError(), "launch of a kernel's operands", err);
    }
    far->is_later = !in_graph && status == PTO_OK;
    return status;
}

/* make_counters waits for this copy. */
static pto_status_t make_far(far_operands *far, cudaStream_t stream, pto_error_t *err) {
    const size_t bytes = far->count * sizeof(operand);
    void *tables = nullptr;
    pto_status_t status = CUDA_DO(cudaMalloc(&tables, FAR_TABLES * bytes), err);
    for (int i = 0; i < FAR_TABLES && status == PTO_OK; i++)
        far->table[i] = static_cast<operand *>(tables) + i * far->count;
    return status == PTO_OK ? CUDA_DO(cudaMemcpyAsync(far->table[FAR_CREATED], far->now, bytes,
                                                      cudaMemcpyHostToDevice, stream),
                                      err)
                            : status;
}

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
        far->now[i] = translate(&operands[i], kernel->blocks * kernel->all.slices);
    far->is_later = false;
    const pto_status_t status = is_first ? make_far(far, kernel->making, err) : PTO_OK;
    kernel->all.more = far->table[FAR_CREATED];
    return status;
}

static pto_status_t translate_operands(const pto_kernel_program_t *program, cuda_kernel *kernel,
                                       pto_error_t *err) {
    const int count = program->operand_count, near = std::min(count, int(OPERANDS_NEAR));
    for (int i = 0; i < near && kernel->has_operands; i++) /* only their addresses change */
        kernel->all.operands[i].at = static_cast<char *>(program->operands[i].spot.at);
    for (int i = 0; i < near && !kernel->has_operands; i++)
        kernel->all.operands[i] = translate(&program->operands[i], kernel->blocks * kernel->all.slices);
    kernel->has_operands = true;
    return near < count ? translate_far(program->operands + near, count - near, kernel, err) : PTO_OK;
}

/* Threads of a block: a fixed number with flags; with lines, one for each line of a part, within limits. */
static unsigned threads_of(const pto_kernel_program_t *program, kernel_form form) {
    int64_t most = 0;
    for (int i = 0; i < program->operand_count; i++)
        most = std::max(most, program->operands[i].bytes);
    const int64_t warp_bytes = int64_t(program->blocks) * program->slices * PTO_LINE_BYTES * WARP_THREADS;
    const int64_t warps = (most + warp_bytes - 1) / warp_bytes, all = threads_max(form);
    return static_cast<unsigned>(
        form == FLAGS ? all : std::clamp(warps * WARP_THREADS, int64_t(LINES_THREADS_MIN), all));
}

static kernel_form form_of(const pto_kernel_program_t *program, any_exchange &all) {
    if (!has_lines(program))
        return FLAGS;
    const exchange_kind kind = find_exchange(program, all);
    if (kind == NO_EXCHANGE)
        return LINES;
    if (all.peers == 1)
        return kind == EXCHANGE_OF_SUMS ? SUMS_OF_1 : COPIES_OF_1;
    if (all.peers <= 3)
        return kind == EXCHANGE_OF_SUMS ? SUMS_OF_3 : COPIES_OF_3;
    return kind == EXCHANGE_OF_SUMS ? SUMS_OF_7 : COPIES_OF_7;
}

static pto_status_t translate_all(const pto_kernel_program_t *program, cuda_kernel *kernel,
                                  pto_error_t *err) {
    if (program->op_count > OPS_MAX || program->operand_count > OPERANDS_MAX)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             "a kernel of %d operations on %d places; this device has room for %d on %d, "
                             "so fewer GPUs",
                             program->op_count, program->operand_count, OPS_MAX, OPERANDS_MAX);
    for (int i = 0; i < program->op_count; i++) {
        const pto_kernel_op_t *from = &program->ops[i];
        const bool rows = some_rows(program, from);
        if (rows && !can_run_rows(program, from))
            return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                                 "rows beside lines, double-buffered, or of more than 2 GiB, none of which "
                                 "this device takes");
        kernel->all.ops[i] = {static_cast<uint8_t>(rows ? int(MOVE_ROWS) : int(from->kind)),
                              static_cast<uint8_t>(width_of(program, from)),
                              static_cast<uint8_t>(from->copies), static_cast<uint16_t>(from->count),
                              static_cast<uint16_t>(from->first)};
    }
    find_waits(program, &kernel->all);
    if (has_lines(program) && !can_run_lines(program))
        return pto_error_set(
            err, PTO_ERR_NOT_APPLICABLE,
            "lines beside flags, rows or other double-buffered memory, none of which this device takes");
    const kernel_form form = form_of(program, kernel->exchange);
    kernel->entry = entry_of(program->datatype, program->op, form);
    kernel->exchanges = is_exchange(form);
    kernel->threads = threads_of(program, form);
    kernel->all.op_count = static_cast<uint16_t>(program->op_count);
    kernel->all.operand_count = static_cast<uint16_t>(program->operand_count);
    kernel->all.flag_pitch_bytes = static_cast<uint32_t>(program->flag_pitch_bytes);
    return kernel->exchanges ? PTO_OK : translate_operands(program, kernel, err);
}

/* From the host's memory to the device's. When it returns, all that the stream holds is complete. */
static pto_status_t put(void *to, const void *from, size_t bytes, cudaStream_t stream, pto_error_t *err) {
    pto_status_t status = CUDA_DO(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream), err);
    return status == PTO_OK ? CUDA_DO(cudaStreamSynchronize(stream), err) : status;
}

static pto_status_t make_counters(cuda_kernel *kernel, pto_error_t *err) {
    void *ended = nullptr, *common = nullptr;
    pto_status_t status = CUDA_DO(cudaHostAlloc(&ended, 2 * sizeof(uint64_t), cudaHostAllocMapped), err);
    kernel->ended = static_cast<uint64_t *>(ended);
    if (status != PTO_OK)
        return status;
    kernel->ended[0] = kernel->ended[1] = 0;
    void *mapped = nullptr;
    status = CUDA_DO(cudaHostGetDevicePointer(&mapped, ended, 0), err);
    kernel->all.ended = static_cast<uint64_t *>(mapped);
    void *states = nullptr;
    if (status == PTO_OK)
        status = CUDA_DO(cudaMalloc(&states, kernel->blocks * sizeof(block_state)), err);
    kernel->all.states = static_cast<block_state *>(states);
    if (status == PTO_OK)
        status =
            CUDA_DO(cudaMemsetAsync(states, 0, kernel->blocks * sizeof(block_state), kernel->making), err);
    if (status == PTO_OK)
        status = CUDA_DO(cudaMalloc(&common, sizeof(common_state)), err);
    kernel->all.common = static_cast<common_state *>(common);
    const common_state first = {0, kernel->all.states, nullptr};
    if (status == PTO_OK)
        status = put(common, &first, sizeof first, kernel->making, err);
    return status;
}

static void cuda_kernel_destroy(void *kernel) {
    cuda_kernel *made = static_cast<cuda_kernel *>(kernel);
    if (made == nullptr)
        return;
    if (made->graph.exec != nullptr)
        (void)cudaGraphExecDestroy(made->graph.exec);
    if (made->graph.graph != nullptr)
        (void)cudaGraphDestroy(made->graph.graph);
    (void)cudaFree(made->all.states);
    (void)cudaFree(made->all.common);
    (void)cudaFreeHost(made->ended);
    (void)cudaFree(made->far.table[FAR_CREATED]);
    free(made->far.now);
    free(made);
}

/* Only code for GPUs that can overlap launches waits for the run before it. Graphs take such launches since
 * CUDA 12.3. */
static pto_status_t look_at_code(cuda_kernel *kernel, pto_error_t *err) {
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

/* Of the next launch. */
static void *parameter_of(cuda_kernel *kernel) {
    if (!kernel->exchanges)
        return &kernel->all;
    static_cast<ledger &>(kernel->exchange) = kernel->all;
    return &kernel->exchange;
}

/* The graph's node; it borrows `parameters`. */
static cudaKernelNodeParams node_of(cuda_kernel *kernel, void **parameters) {
    kernel->all.run = 0;
    kernel->all.tells = true;
    kernel->all.patience_ms = 0;
    parameters[0] = parameter_of(kernel);
    cudaKernelNodeParams node = {};
    node.func = const_cast<void *>(kernel->entry);
    node.gridDim = dim3(kernel->blocks);
    node.blockDim = dim3(kernel->threads);
    node.kernelParams = parameters;
    return node;
}

static pto_status_t make_graph(cuda_kernel *kernel, pto_error_t *err) {
    run_graph *made = &kernel->graph;
    void *parameters[1];
    const cudaKernelNodeParams node = node_of(kernel, parameters);
    pto_status_t status = CUDA_DO(cudaGraphCreate(&made->graph, 0), err);
    if (status == PTO_OK)
        status = CUDA_DO(cudaGraphAddKernelNode(&made->node, made->graph, nullptr, 0, &node), err);
    if (status == PTO_OK)
        status = CUDA_DO(cudaGraphInstantiate(&made->exec, made->graph, 0), err);
    made->is_current = status == PTO_OK;
    return status;
}

/* Launches before keep the addresses that they had. */
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

/* The kernels run in streams that don't wait for this one, so all is there when this returns. Not the default
 * stream: to use that one ends the capture of any stream that it waits for, which may be the program's. */
static pto_status_t fill_memory(const pto_kernel_program_t *program, cuda_kernel *kernel, pto_error_t *err) {
    pto_status_t status = CUDA_DO(cudaStreamCreateWithFlags(&kernel->making, cudaStreamNonBlocking), err);
    if (status != PTO_OK)
        return status;
    status = translate_all(program, kernel, err);
    if (status == PTO_OK)
        status = make_counters(kernel, err);
    if (status == PTO_OK && program->before != nullptr)
        status = put(&static_cast<const cuda_kernel *>(program->before)->all.common->after,
                     &kernel->all.common, sizeof kernel->all.common, kernel->making, err);
    (void)cudaStreamDestroy(kernel->making);
    kernel->making = nullptr;
    return status;
}

static pto_status_t cuda_kernel_create(const pto_kernel_program_t *program, void **kernel, pto_error_t *err) {
    cuda_kernel *made = static_cast<cuda_kernel *>(calloc(1, sizeof *made));
    if (made == nullptr)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a kernel");
    made->all.by = {static_cast<uint8_t>(program->datatype), static_cast<uint8_t>(program->op)};
    made->blocks = static_cast<unsigned>(program->blocks);
    made->all.slices = static_cast<uint16_t>(program->slices);
    made->patience_ms = patience_ms_of(program);
    pto_status_t status = fill_memory(program, made, err);
    if (status == PTO_OK)
        status = look_at_code(made, err);
    if (status == PTO_OK)
        status = prepare(made, err);
    if (status == PTO_OK)
        status = make_graph(made, err);
    if (status == PTO_OK)
        *kernel = made;
    else
        cuda_kernel_destroy(made);
    return status;
}

/* Launches copy their parameters, so those before keep the addresses that they had. */
static pto_status_t cuda_kernel_rebind(void *kernel, const pto_kernel_program_t *program, pto_error_t *err) {
    cuda_kernel *made = static_cast<cuda_kernel *>(kernel);
    made->rebound = true;
    made->graph.is_current = false;
    const pto_status_t status = translate_all(program, made, err);
    return status == PTO_OK ? prepare(made, err) : status;
}

/* Consecutive runs overlap their launches, which costs less than launching a graph. The launch copies the
 * parameters, and so does a graph that captures it. A run that overlaps reads its operands before it waits
 * for what the stream holds, so one whose operands are put there first does not. */
static pto_status_t launch(cuda_kernel *kernel, uint64_t run, bool tells, uint32_t patience_ms,
                           cudaStream_t stream, pto_error_t *err) {
    kernel->all.run = run;
    kernel->all.tells = tells;
    kernel->all.patience_ms = patience_ms;
    bool put = false;
    pto_status_t status = needs_far(kernel) ? put_far(kernel, stream, &put, err) : PTO_OK;
    if (status != PTO_OK)
        return status;
    return launch_plainly(&kernel->plain, parameter_of(kernel), kernel->overlaps && !put, stream, err);
}

/* Of the queued runs only some report their end. Once runs were enqueued, a run's number on the device is no
 * longer the host's, so the end of a run is seen by querying the stream. */
static pto_status_t cuda_kernel_start(void *kernel, uint64_t run, bool queued, void *stream,
                                      pto_error_t *err) {
    cuda_kernel *made = static_cast<cuda_kernel *>(kernel);
    made->started = run;
    made->tells = !made->enqueued && (!queued || run % RUNS_PER_WORD == 0);
    made->stream = static_cast<cudaStream_t>(stream);
    made->polls = 0;
    if (!queued && made->tells && !needs_far(made))
        return launch_graph(made, err);
    return launch(made, made->enqueued ? 0 : run, made->tells, 0, made->stream, err);
}

/* Nothing but launches, so that it can be captured. */
static pto_status_t cuda_kernel_enqueue(void *kernel, void *stream, pto_error_t *err) {
    cuda_kernel *made = static_cast<cuda_kernel *>(kernel);
    made->enqueued = true;
    return launch(made, 0, false, made->patience_ms, static_cast<cudaStream_t>(stream), err);
}

static bool cuda_kernel_gave_up(const void *kernel) {
    return __atomic_load_n(&static_cast<const cuda_kernel *>(kernel)->ended[1], __ATOMIC_ACQUIRE) != 0;
}

/* Where blocks that wait look. */
static void cuda_kernel_stop(void *kernel) {
    __atomic_store_n(&static_cast<cuda_kernel *>(kernel)->ended[1], uint64_t(1), __ATOMIC_RELEASE);
}

static uint64_t last_ended(const cuda_kernel *kernel) {
    const uint64_t told = __atomic_load_n(kernel->ended, __ATOMIC_ACQUIRE);
    return told > kernel->known ? told : kernel->known;
}

/* The ended-run word is visible before cudaStreamQuery returns success. The stream is queried now and then to
 * detect errors, and on every poll of a run that does not report its end. */
static pto_status_t cuda_kernel_poll(void *kernel, uint64_t *ended, pto_error_t *err) {
    cuda_kernel *made = static_cast<cuda_kernel *>(kernel);
    *ended = last_ended(made);
    if (*ended >= made->started || (++made->polls % POLLS_PER_QUERY != 0 && made->tells))
        return PTO_OK;
    cudaError_t error = cudaStreamQuery(made->stream);
    if (error == cudaErrorNotReady) {
        (void)cudaGetLastError(); /* no error, but it would be taken for one of the next launch */
        return PTO_OK;
    }
    pto_status_t status = check(error, "a plan's kernel", err);
    if (status == PTO_OK && !made->tells)
        made->known = made->started;
    *ended = last_ended(made);
    if (status == PTO_OK && *ended < made->started)
        return pto_error_set(err, PTO_ERR_IO,
                             "a plan's kernel is no longer there, and run %llu has not ended",
                             static_cast<unsigned long long>(made->started));
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
    nullptr, /* a kernel keeps what its first operands took */
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

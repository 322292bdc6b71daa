/* Kernels of plans on NVIDIA GPUs: one kernel that goes through a program (kernel.h), the same for all plans.
 *
 * Why a waiting block sees the data. The threads of a block that stored (weak stores, to
 * the own GPU's memory or through a link to another's) meet at a barrier, which orders their stores before
 * what any of them does next. One thread then does st.release.sys, which by the PTX memory model makes all
 * that is ordered before it, other threads' stores too, seen by whoever reads its value with ld.acquire.sys:
 * both have the scope of the system, so on whatever GPU. Every warp waits for itself, and its threads meet
 * before their plain loads. No data is loaded through the path for constants (`ld.global.nc`), which is not
 * ordered: so no pointer here is `__restrict__`. The same holds the other way round, where a signal says that
 * memory was read: loads before a release are done before it.
 *
 * Why waiting ends. A block waits for what the same block of other GPUs does, all go through their slices in
 * an order without deadlock (share_of; or, of lines, store all before they wait), all blocks of a GPU are at
 * work at the same time (there are no more than multiprocessors, each with room for one), and every plan's
 * signals and waits are proved free of deadlock by `check`.
 *
 * Why runs don't mix. A launch begins its work after the one before it in its stream has ended and all it did
 * is done, overlapped or not; what others may still read or write of an earlier run is the plan's affair.
 *
 * Loads dominate the time, so every thread has several under way: of consecutive vectors, and of up to four
 * pairs of an op at the same time. */
#include <algorithm>
#include <cstdlib>

#include "device_cuda.h"
#include "kernel_flags.cuh"
#include "kernel_lines.cuh"
#include "kernel_translate.cuh"

enum {
    BLOCK_BYTES = 8192,
    SLICE_BYTES = 262144,
    LINES_THREADS_MIN = 128,
    LINES_BLOCK_BYTES = LINES_THREADS_MIN * PTO_LINE_BYTES,
    LINES_SLICE_BYTES = 16384,
    LINES_BYTES_MAX = 1 << 22,
    POLLS_PER_QUERY = 4096,
    POLLS_AT_ONCE = 64
};

/* While runs are queued, only every 64th one reports its end to the host: the system-scope store costs a run
 * about a microsecond. */
enum { RUNS_PER_WORD = 64 };

/* Counts this block; true for the last of all, to whom the others' stores are then known. The count wraps
 * round, so that the next run finds 0. */
static __device__ bool last_through(unsigned *through) {
    unsigned before;
    asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "l"(through), "r"(gridDim.x - 1)
                 : "memory");
    return before == gridDim.x - 1;
}

/* --- the kernel ---------------------------------------------------------------------------------------- */

/* Programmatic dependent launch: a launch with that attribute may begin while the kernel before it in the
 * stream ends, which hides the launch latency. It waits here until that kernel, ours or another one, has
 * completed and its memory is visible, whether or not that kernel let dependents begin early. A launch
 * without the attribute returns at once. Then it lets the next kernel begin: one with the attribute has to
 * wait here as well, and one without it begins after this one has completed, as always. */
static __device__ void wait_for_run_before() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

static __device__ void end(const program &all, uint64_t run) {
    if (threadIdx.x != 0)
        return;
    all.last_run[blockIdx.x] = run;
    if (all.tells && (gridDim.x == 1 || last_through(all.through)))
        store_release(all.ended, run);
}

/* Returns the run's number. What is known before the previous run ends is computed before. A launch without a
 * number (all.run is 0) continues from the last run, however that was launched: last_run is what the previous
 * run of this program has stored, so it must not be read earlier. All threads of a block read the same
 * number, because the only store to it is at the end of a run, after a barrier. */
static __device__ uint64_t begin(const program &all, part *parts) {
    find_parts(all, blockIdx.x, all.run, parts);
    __syncthreads();
    wait_for_run_before();
    if (all.run != 0)
        return all.run;
    const uint64_t run = load_here(&all.last_run[blockIdx.x]) + 1;
    if (run % 2 != 0)
        use_odd_copies(all, parts);
    return run;
}

/* Each part is found before the one before it is sent, so that the barriers of the ops in between do for it
 * as well. */
template <typename T, typename Op>
__global__ void __launch_bounds__(THREADS, 1) run_program(const __grid_constant__ program all) {
    enum { TABLES = 3 };
    __shared__ part parts[TABLES][OPERANDS_MAX];
    const uint64_t run = begin(all, parts[0]);
#pragma unroll 1
    for (unsigned turn = 0; turn < turns_of(all); turn++) {
        const share now = share_of(all, turn);
        if (now.slice == all.slices)
            continue;
        const unsigned number = blockIdx.x + now.slice * gridDim.x;
        if (now.begins && now.slice + 1 < all.slices)
            find_parts(all, number + gridDim.x, run, parts[(now.slice + 1) % TABLES]);
        do_ops<T, Op>(all, now.first, now.end, parts[now.slice % TABLES], number, run);
    }
    __syncthreads();
    end(all, run);
}

/* The same of a program with lines, which have no flags: each op for all parts, so that what others wait for
 * is on its way before this block waits. */
template <lines_form FORM, typename T, typename Op>
__global__ void __launch_bounds__(lines_threads_max(FORM), 1) run_lines(const __grid_constant__ program all) {
    __shared__ line_operand operands[OPERANDS_MAX];
    lines_run now = {operands, all.run, gridDim.x * all.slices, patience_of(all)};
    for (unsigned i = threadIdx.x; i < all.operand_count; i += blockDim.x)
        operands[i] = line_operand_of(operand_of(all, i), now.parts);
    __syncthreads();
    wait_for_run_before();
    if (all.run == 0)
        now.run = load_here(&all.last_run[blockIdx.x]) + 1;
#pragma unroll 1
    for (unsigned i = 0; i < all.op_count; i++) {
#pragma unroll 1
        for (unsigned number = blockIdx.x; number < now.parts; number += gridDim.x)
            if (all.ops[i].kind == PTO_KERNEL_REDUCE)
                reduce_lines<FORM, T>(all.ops[i], number, now, operation<Op>(all.by));
            else
                copy_lines<FORM>(all.ops[i], number, now);
        __syncthreads();
    }
    end(all, now.run);
}

enum kernel_form { FLAGS_ANY, LINES_FEW, LINES_FEW_LARGE, LINES_MANY, KERNEL_FORMS };

struct entries {
    kernel_form form;
    template <typename T, typename Op> const void *of() const {
        return form == FLAGS_ANY         ? reinterpret_cast<const void *>(run_program<T, Op>)
               : form == LINES_FEW       ? reinterpret_cast<const void *>(run_lines<LINES_SIMPLE, T, Op>)
               : form == LINES_FEW_LARGE ? reinterpret_cast<const void *>(run_lines<LINES_LARGE, T, Op>)
                                         : reinterpret_cast<const void *>(run_lines<LINES_ANY_FORM, T, Op>);
    }
};

static unsigned threads_max(kernel_form form) {
    return form == FLAGS_ANY         ? unsigned(THREADS)
           : form == LINES_FEW_LARGE ? lines_threads_max(LINES_LARGE)
                                     : lines_threads_max(LINES_SIMPLE);
}

static const void *entry_of(pto_datatype_t datatype, pto_op_t op, kernel_form form) {
    return with_operation(datatype, op, entries{form});
}

/* --- the host's side ----------------------------------------------------------------------------------- */

/* Operands in device memory. Enqueued runs may need those of earlier addresses, so these stay. */
struct far_operands {
    far_operands *before;
    void *at;
};

struct cuda_kernel {
    program all;
    far_operands *far;
    const void *entry;
    unsigned blocks;
    unsigned threads;
    uint64_t *ended;      /* the host's pointer to the words that all.ended points to */
    uint32_t patience_ms; /* of enqueued runs */
    uint64_t started;     /* number of the last run launched */
    uint64_t known;       /* the last run that had ended when the stream was empty */
    bool tells;           /* whether the last run launched reports its end */
    bool overlaps;        /* runs may begin while the kernel before them ends */
    bool rebound;         /* `graph` has other addresses */
    bool enqueued; /* runs were enqueued, which may be repeated by graphs: only the device knows numbers */
    cudaGraphExec_t
        graph; /* of a launch without a run number; takes the CPU a third of the time of a plain launch */
    cudaStream_t stream;
    unsigned polls;
};

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
    return status;
}

static pto_status_t add_far(cuda_kernel *kernel, size_t bytes, pto_error_t *err) {
    far_operands *far = static_cast<far_operands *>(calloc(1, sizeof *far));
    if (far == nullptr)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a kernel");
    far->before = kernel->far;
    kernel->far = far;
    pto_status_t status = CUDA_DO(cudaMalloc(&far->at, bytes), err);
    kernel->all.more = static_cast<operand *>(far->at);
    return status;
}

/* Operands that the parameters have no room for. */
static pto_status_t put_far(cuda_kernel *kernel, const pto_operand_t *operands, int count, pto_error_t *err) {
    const size_t bytes = static_cast<size_t>(count) * sizeof(operand);
    operand *translated = static_cast<operand *>(malloc(bytes));
    if (translated == nullptr)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a kernel");
    for (int i = 0; i < count; i++)
        translated[i] = translate(&operands[i], kernel->blocks * kernel->all.slices);
    pto_status_t status = kernel->far != nullptr && !kernel->enqueued ? PTO_OK : add_far(kernel, bytes, err);
    if (status == PTO_OK)
        status = CUDA_DO(cudaMemcpy(kernel->far->at, translated, bytes, cudaMemcpyHostToDevice), err);
    free(translated);
    return status;
}

static pto_status_t translate_operands(const pto_kernel_program_t *program, cuda_kernel *kernel,
                                       pto_error_t *err) {
    const int count = program->operand_count, near = count < OPERANDS_NEAR ? count : OPERANDS_NEAR;
    for (int i = 0; i < near; i++)
        kernel->all.operands[i] = translate(&program->operands[i], kernel->blocks * kernel->all.slices);
    return near < count ? put_far(kernel, program->operands + near, count - near, err) : PTO_OK;
}

/* Whole units at addresses that allow wide accesses, and few of them. */
static bool is_simple(const pto_kernel_program_t *program) {
    bool simple = true;
    for (int i = 0; i < program->op_count; i++) {
        const pto_kernel_op_t *op = &program->ops[i];
        const int sides = op->kind == PTO_KERNEL_MOVE ? 2 : 1;
        simple = simple && op->count <= (sides == 2 ? 4 : 3) && width_of(program, op) == UNIT_BYTES;
    }
    for (int i = 0; i < program->operand_count; i++)
        simple = simple && program->operands[i].bytes % UNIT_BYTES == 0;
    return simple;
}

/* Threads of a block: with flags always as many; with lines one for each line of a part, as far as there are.
 */
static unsigned threads_of(const pto_kernel_program_t *program, kernel_form form) {
    int64_t most = 0;
    for (int i = 0; i < program->operand_count; i++)
        most = std::max(most, program->operands[i].bytes);
    const int64_t warp_bytes = int64_t(program->blocks) * program->slices * PTO_LINE_BYTES * WARP_THREADS;
    const int64_t warps = (most + warp_bytes - 1) / warp_bytes, all = threads_max(form);
    return static_cast<unsigned>(
        form == FLAGS_ANY ? all : std::clamp(warps * WARP_THREADS, int64_t(LINES_THREADS_MIN), all));
}

static kernel_form form_of(const pto_kernel_program_t *program) {
    if (!has_lines(program))
        return FLAGS_ANY;
    if (!is_simple(program))
        return LINES_MANY;
    return threads_of(program, LINES_FEW_LARGE) > threads_max(LINES_FEW) ? LINES_FEW_LARGE : LINES_FEW;
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
    const kernel_form form = form_of(program);
    kernel->entry = entry_of(program->datatype, program->op, form);
    kernel->threads = threads_of(program, form);
    kernel->all.op_count = static_cast<uint16_t>(program->op_count);
    kernel->all.operand_count = static_cast<uint16_t>(program->operand_count);
    kernel->all.flag_pitch_bytes = static_cast<uint32_t>(program->flag_pitch_bytes);
    return translate_operands(program, kernel, err);
}

/* The kernels run in streams that don't wait for the default one, so zeros must be there before the first. */
static pto_status_t make_counters(cuda_kernel *kernel, pto_error_t *err) {
    void *ended = nullptr, *through = nullptr;
    pto_status_t status = CUDA_DO(cudaHostAlloc(&ended, 2 * sizeof(uint64_t), cudaHostAllocMapped), err);
    kernel->ended = static_cast<uint64_t *>(ended);
    if (status != PTO_OK)
        return status;
    kernel->ended[0] = kernel->ended[1] = 0;
    void *mapped = nullptr;
    status = CUDA_DO(cudaHostGetDevicePointer(&mapped, ended, 0), err);
    kernel->all.ended = static_cast<uint64_t *>(mapped);
    if (status == PTO_OK)
        status = CUDA_DO(cudaMalloc(&through, sizeof(unsigned)), err);
    kernel->all.through = static_cast<unsigned *>(through);
    if (status == PTO_OK)
        status = CUDA_DO(cudaMemsetAsync(through, 0, sizeof(unsigned), cudaStreamLegacy), err);
    void *runs = nullptr;
    if (status == PTO_OK)
        status = CUDA_DO(cudaMalloc(&runs, kernel->blocks * sizeof(uint64_t)), err);
    kernel->all.last_run = static_cast<uint64_t *>(runs);
    if (status == PTO_OK)
        status = CUDA_DO(cudaMemsetAsync(runs, 0, kernel->blocks * sizeof(uint64_t), cudaStreamLegacy), err);
    return status == PTO_OK ? CUDA_DO(cudaStreamSynchronize(cudaStreamLegacy), err) : status;
}

static void cuda_kernel_destroy(void *kernel) {
    cuda_kernel *made = static_cast<cuda_kernel *>(kernel);
    if (made == nullptr)
        return;
    for (far_operands *before, *far = made->far; far != nullptr; far = before) {
        before = far->before;
        (void)cudaFree(far->at);
        free(far);
    }
    if (made->graph != nullptr)
        (void)cudaGraphExecDestroy(made->graph);
    (void)cudaFree(made->all.last_run);
    (void)cudaFree(made->all.through);
    (void)cudaFreeHost(made->ended);
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

static pto_status_t make_graph(cuda_kernel *kernel, pto_error_t *err) {
    kernel->all.run = 0;
    kernel->all.tells = true;
    void *parameters[] = {&kernel->all};
    cudaKernelNodeParams node = {};
    node.func = const_cast<void *>(kernel->entry);
    node.gridDim = dim3(kernel->blocks);
    node.blockDim = dim3(kernel->threads);
    node.kernelParams = parameters;
    cudaGraph_t graph = nullptr;
    cudaGraphNode_t added;
    pto_status_t status = CUDA_DO(cudaGraphCreate(&graph, 0), err);
    if (status == PTO_OK)
        status = CUDA_DO(cudaGraphAddKernelNode(&added, graph, nullptr, 0, &node), err);
    if (status == PTO_OK)
        status = CUDA_DO(cudaGraphInstantiate(&kernel->graph, graph, 0), err);
    if (graph != nullptr)
        (void)cudaGraphDestroy(graph);
    return status;
}

static pto_status_t cuda_kernel_create(const pto_kernel_program_t *program, void **kernel, pto_error_t *err) {
    cuda_kernel *made = static_cast<cuda_kernel *>(calloc(1, sizeof *made));
    if (made == nullptr)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a kernel");
    made->all.by = {static_cast<uint8_t>(program->datatype), static_cast<uint8_t>(program->op)};
    made->blocks = static_cast<unsigned>(program->blocks);
    made->all.slices = static_cast<uint16_t>(program->slices);
    made->patience_ms = static_cast<uint32_t>(program->patience_s * 1e3);
    pto_status_t status = translate_all(program, made, err);
    if (status == PTO_OK)
        status = make_counters(made, err);
    if (status == PTO_OK)
        status = look_at_code(made, err);
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
    return translate_all(program, made, err);
}

/* Consecutive runs overlap their launches, which costs less than launching a graph. The launch copies the
 * parameters, and so does a graph that captures it. */
static pto_status_t launch(cuda_kernel *kernel, uint64_t run, bool tells, uint32_t patience_ms,
                           cudaStream_t stream, pto_error_t *err) {
    kernel->all.run = run;
    kernel->all.tells = tells;
    kernel->all.patience_ms = patience_ms;
    void *parameters[] = {&kernel->all};
    cudaLaunchAttribute overlaps = {};
    overlaps.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlaps.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(kernel->blocks);
    config.blockDim = dim3(kernel->threads);
    config.stream = stream;
    config.attrs = &overlaps;
    config.numAttrs = kernel->overlaps ? 1 : 0;
    return CUDA_DO(cudaLaunchKernelExC(&config, kernel->entry, parameters), err);
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
    if (!queued && made->tells && !made->rebound)
        return CUDA_DO(cudaGraphLaunch(made->graph, made->stream), err);
    return launch(made, made->enqueued ? 0 : run, made->tells, 0, made->stream, err);
}

/* Nothing but a launch, so that it can be captured. */
static pto_status_t cuda_kernel_enqueue(void *kernel, void *stream, pto_error_t *err) {
    cuda_kernel *made = static_cast<cuda_kernel *>(kernel);
    made->enqueued = true;
    return launch(made, 0, false, made->patience_ms, static_cast<cudaStream_t>(stream), err);
}

static bool cuda_kernel_gave_up(const void *kernel) {
    return __atomic_load_n(&static_cast<const cuda_kernel *>(kernel)->ended[1], __ATOMIC_ACQUIRE) != 0;
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
    LINES_BYTES_MAX,
    cuda_blocks_max,
    cuda_kernel_create,
    cuda_kernel_rebind,
    cuda_kernel_start,
    cuda_kernel_enqueue,
    cuda_kernel_gave_up,
    cuda_kernel_poll,
    POLLS_AT_ONCE,
    cuda_kernel_destroy,
};
}

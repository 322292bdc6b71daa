/* Kernels of plans on NVIDIA GPUs: one kernel that goes through a program (kernel.h), the same for all plans.
 *
 * Why what a block signals is there for whoever waits. The threads of a block that stored (weak stores, to the
 * own GPU's memory or through a link to another's) meet at a barrier, which orders their stores before what any
 * of them does next. One thread then does st.release.sys, which by the PTX memory model makes all that is
 * ordered before it, other threads' stores too, seen by whoever reads its value with ld.acquire.sys: both have
 * the scope of the system, so on whatever GPU. The waiting block's barrier passes that on to its other threads,
 * whose plain loads come after. No data is loaded through the path for constants (`ld.global.nc`), which knows
 * no order: there are no `__restrict__` here. The same holds the other way round, where a signal says that
 * memory was read: loads before a release are done before it.
 *
 * Why waiting ends. A block waits for the same block of other GPUs alone, all blocks of a GPU are at work at
 * the same time (there are no more than multiprocessors, each with room for one), and every plan's signals and
 * waits are proved free of deadlock by `check`.
 *
 * Loads are what takes long, so every thread has several under way: of consecutive vectors, and of up to four
 * pairs of an op at the same time. */
#include <cstdlib>

#include "device_cuda.h"
#include "parts.h"

enum { THREADS = 512, BLOCK_BYTES = 16384, OPS_MAX = 16, OPERANDS_MAX = 164, POLLS_PER_QUERY = 4096 };

/* --- a program, as the parameter of the kernel -----------------------------------------------------------
 */

/* Units (16 bytes) of every block, the first blocks that have one more, and bytes over for the last block: what
 * parts.h says, with the division done. */
struct operand {
    char *at;
    int64_t apart_bytes;
    uint32_t each;
    uint16_t more;
    uint16_t rest_bytes;
};

struct op {
    uint16_t kind;  /* pto_kernel_kind_t */
    uint16_t width; /* what addresses allow: 16 bytes at a time, 4, or 1 */
    uint16_t first;
    uint16_t count;
};

struct program {
    uint64_t run;
    unsigned *through; /* blocks that are; 0 between runs */
    uint64_t *ended;   /* in host memory: the last run that has */
    uint32_t flag_pitch_bytes;
    uint32_t op_count;
    op ops[OPS_MAX];
    operand operands[OPERANDS_MAX];
};

static_assert(sizeof(program) <= 4096, "a kernel's parameters are at most 4 KiB on every driver");

/* --- one block's part ------------------------------------------------------------------------------------
 */

/* Of one operand. */
template <typename W> struct stretch {
    W *at;
    size_t words; /* whole ones */
    unsigned over_bytes;
};

template <typename W> static __device__ stretch<W> part_of(const program &all, const operand &whole) {
    const unsigned block = blockIdx.x;
    const size_t first = static_cast<size_t>(block) * whole.each + min(block, unsigned(whole.more));
    const size_t units = whole.each + (block < whole.more ? 1 : 0);
    const unsigned rest_bytes = block == gridDim.x - 1 ? whole.rest_bytes : 0;
    char *at = whole.at + static_cast<int64_t>(all.run % 2) * whole.apart_bytes + first * PTO_UNIT_BYTES;
    return {reinterpret_cast<W *>(at), units * (PTO_UNIT_BYTES / sizeof(W)) + rest_bytes / sizeof(W),
            static_cast<unsigned>(rest_bytes % sizeof(W))};
}

template <typename W> static __device__ void copy_over(const stretch<W> &source, const stretch<W> &target) {
    const char *from = reinterpret_cast<const char *>(source.at + source.words);
    char *to = reinterpret_cast<char *>(target.at + source.words);
    if (threadIdx.x < source.over_bytes)
        to[threadIdx.x] = from[threadIdx.x];
}

/* --- copies ----------------------------------------------------------------------------------------------
 */

/* What one thread has under way, of all pairs together. */
enum { IN_FLIGHT = 8 };

/* DEEP words of each pair from this thread's word i on; unless `WHOLE`, those that lie below `words`. */
template <typename W, int PAIRS, int DEEP, bool WHOLE>
static __device__ void copy_step(W *const (&source)[PAIRS], W *const (&target)[PAIRS], size_t words,
                                 size_t i) {
    W value[DEEP][PAIRS] = {}; /* a register that is not always written lives on through all ops */
#pragma unroll
    for (int j = 0; j < DEEP; j++)
#pragma unroll
        for (int pair = 0; pair < PAIRS; pair++)
            if (WHOLE || i + j * THREADS < words)
                value[j][pair] = source[pair][i + j * THREADS];
#pragma unroll
    for (int j = 0; j < DEEP; j++)
#pragma unroll
        for (int pair = 0; pair < PAIRS; pair++)
            if (WHOLE || i + j * THREADS < words)
                target[pair][i + j * THREADS] = value[j][pair];
}

/* From this thread's word i on; returns its first word that is no longer within `words`. What is left in the
 * end is under way at once too: a short piece takes one turn. */
template <typename W, int PAIRS>
static __device__ size_t copy_words(W *const (&source)[PAIRS], W *const (&target)[PAIRS], size_t words,
                                    size_t i) {
    constexpr int DEEP = IN_FLIGHT / PAIRS;
    for (; i + (DEEP - 1) * THREADS < words; i += DEEP * THREADS)
        copy_step<W, PAIRS, DEEP, true>(source, target, words, i);
    if (i < words)
        copy_step<W, PAIRS, DEEP, false>(source, target, words, i);
    while (i < words)
        i += THREADS;
    return i;
}

/* Sizes may differ: first as far as all go, then each to its own end. */
template <typename W, int PAIRS> static __device__ void move_some(const program &all, const operand *pair) {
    stretch<W> from[PAIRS], to[PAIRS];
    W *source[PAIRS], *target[PAIRS];
    size_t least = SIZE_MAX;
#pragma unroll
    for (int j = 0; j < PAIRS; j++) {
        from[j] = part_of<W>(all, pair[2 * j]);
        to[j] = part_of<W>(all, pair[2 * j + 1]);
        source[j] = from[j].at;
        target[j] = to[j].at;
        least = min(least, from[j].words);
    }
    const size_t done = copy_words<W, PAIRS>(source, target, least, threadIdx.x);
#pragma unroll
    for (int j = 0; j < PAIRS; j++) {
        W *const own_source[1] = {source[j]}, *const own_target[1] = {target[j]};
        if (PAIRS > 1)
            copy_words<W, 1>(own_source, own_target, from[j].words, done);
        copy_over(from[j], to[j]);
    }
}

template <typename W> static __device__ void move(const program &all, const op &now) {
    const operand *pair = all.operands + now.first;
    int left = now.count / 2;
    for (; left >= 4; left -= 4, pair += 8)
        move_some<W, 4>(all, pair);
    if (left >= 2)
        move_some<W, 2>(all, pair);
    if (left % 2)
        move_some<W, 1>(all, pair + (left - left % 2) * 2);
}

/* What a thread has under way of each source, in a spread or a reduction. */
enum { DEEP_EACH = 4 };

/* Each word is loaded once and stored to all. */
template <typename W, bool WHOLE>
static __device__ void spread_step(const program &all, const op &now, const stretch<W> &source, size_t i) {
    const operand *operands = all.operands + now.first;
    W value[DEEP_EACH] = {};
#pragma unroll
    for (int j = 0; j < DEEP_EACH; j++)
        if (WHOLE || i + j * THREADS < source.words)
            value[j] = source.at[i + j * THREADS];
#pragma unroll 1
    for (int k = 1; k < now.count; k++) {
        W *target = part_of<W>(all, operands[k]).at;
#pragma unroll
        for (int j = 0; j < DEEP_EACH; j++)
            if (WHOLE || i + j * THREADS < source.words)
                target[i + j * THREADS] = value[j];
    }
}

template <typename W> static __device__ void spread(const program &all, const op &now) {
    const operand *operands = all.operands + now.first;
    const stretch<W> source = part_of<W>(all, operands[0]);
    size_t i = threadIdx.x;
    for (; i + (DEEP_EACH - 1) * THREADS < source.words; i += DEEP_EACH * THREADS)
        spread_step<W, true>(all, now, source, i);
    if (i < source.words)
        spread_step<W, false>(all, now, source, i);
#pragma unroll 1
    for (int k = 1; k < now.count; k++)
        copy_over(source, part_of<W>(all, operands[k]));
}

template <typename W> static __device__ void copy(const program &all, const op &now) {
    if (now.kind == PTO_KERNEL_MOVE)
        move<W>(all, now);
    else
        spread<W>(all, now);
}

/* --- reductions ------------------------------------------------------------------------------------------
 */

/* Values that one load brings. */
template <typename T> struct alignas(PTO_UNIT_BYTES) vector_of {
    enum { COUNT = PTO_UNIT_BYTES / sizeof(T) };
    T lane[COUNT];
};

template <typename T, typename Op>
static __device__ void combine_into(vector_of<T> &value, const vector_of<T> &other) {
#pragma unroll
    for (int j = 0; j < vector_of<T>::COUNT; j++)
        value.lane[j] = Op()(value.lane[j], other.lane[j]);
}
template <typename T, typename Op> static __device__ void combine_into(T &value, const T &other) {
    value = Op()(value, other);
}

/* A load of 16 bytes is one only where the compiler sees one type of that size. */
template <typename T> static __device__ vector_of<T> load(const vector_of<T> *at) {
    const uint4 bits = *reinterpret_cast<const uint4 *>(at);
    vector_of<T> value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
template <typename T> static __device__ void store(vector_of<T> *at, const vector_of<T> &value) {
    uint4 bits;
    memcpy(&bits, &value, sizeof bits);
    *reinterpret_cast<uint4 *>(at) = bits;
}
template <typename T> static __device__ T load(const T *at) { return *at; }
template <typename T> static __device__ void store(T *at, const T &value) { *at = value; }

/* Words of all sources, in the order of the sources: all GPUs get the same to the last bit. `W` is the type or
 * a vector of it. */
template <typename W, typename T, typename Op, bool WHOLE>
static __device__ void reduce_step(const program &all, const op &now, size_t words, size_t i) {
    const operand *operands = all.operands + now.first;
    W value[DEEP_EACH] = {};
    const W *first = part_of<W>(all, operands[1]).at;
#pragma unroll
    for (int j = 0; j < DEEP_EACH; j++)
        if (WHOLE || i + j * THREADS < words)
            value[j] = load(first + i + j * THREADS);
#pragma unroll 2
    for (int k = 2; k < now.count; k++) {
        const W *source = part_of<W>(all, operands[k]).at;
        W other[DEEP_EACH] = {};
#pragma unroll
        for (int j = 0; j < DEEP_EACH; j++)
            if (WHOLE || i + j * THREADS < words)
                other[j] = load(source + i + j * THREADS);
#pragma unroll
        for (int j = 0; j < DEEP_EACH; j++)
            if (WHOLE || i + j * THREADS < words)
                combine_into<T, Op>(value[j], other[j]);
    }
    W *target = part_of<W>(all, operands[0]).at;
#pragma unroll
    for (int j = 0; j < DEEP_EACH; j++)
        if (WHOLE || i + j * THREADS < words)
            store(target + i + j * THREADS, value[j]);
}

/* Words from `first` on. */
template <typename W, typename T, typename Op>
static __device__ void reduce_from(const program &all, const op &now, size_t first, size_t words) {
    size_t i = first + threadIdx.x;
    for (; i + (DEEP_EACH - 1) * THREADS < words; i += DEEP_EACH * THREADS)
        reduce_step<W, T, Op, true>(all, now, words, i);
    if (i < words)
        reduce_step<W, T, Op, false>(all, now, words, i);
}

/* Vectors where addresses allow; what is left of the last block's part by elements. */
template <typename T, typename Op> static __device__ void reduce(const program &all, const op &now) {
    const stretch<T> part = part_of<T>(all, all.operands[now.first]);
    size_t done = 0;
    if (now.width == PTO_UNIT_BYTES) {
        const size_t vectors = part.words / vector_of<T>::COUNT;
        reduce_from<vector_of<T>, T, Op>(all, now, 0, vectors);
        done = vectors * vector_of<T>::COUNT;
    }
    reduce_from<T, T, Op>(all, now, done, part.words);
}

/* --- signals ---------------------------------------------------------------------------------------------
 */

static __device__ void store_release(uint64_t *at, uint64_t value) {
    asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
}

static __device__ uint64_t load_acquire(const uint64_t *at) {
    uint64_t value;
    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
    return value;
}

static __device__ uint64_t *flag_at(const program &all, const operand &flag) {
    return reinterpret_cast<uint64_t *>(flag.at + static_cast<size_t>(blockIdx.x) * all.flag_pitch_bytes);
}

static __device__ void signal(const program &all, const op &now) {
    for (unsigned j = threadIdx.x; j < now.count; j += THREADS)
        store_release(flag_at(all, all.operands[now.first + j]), all.run);
}

static __device__ void wait(const program &all, const op &now) {
    for (unsigned j = threadIdx.x; j < now.count; j += THREADS) {
        const uint64_t *flag = flag_at(all, all.operands[now.first + j]);
        while (load_acquire(flag) < all.run) {
        }
    }
}

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

/* --- the kernel ------------------------------------------------------------------------------------------
 */

/* The barrier after each op orders what one thread did before what another does next. */
template <typename T, typename Op>
__global__ void __launch_bounds__(THREADS, 1) run_program(const __grid_constant__ program all) {
    for (unsigned i = 0; i < all.op_count; i++) {
        const op &now = all.ops[i];
        if (now.kind == PTO_KERNEL_SIGNAL)
            signal(all, now);
        else if (now.kind == PTO_KERNEL_WAIT)
            wait(all, now);
        else if (now.kind == PTO_KERNEL_REDUCE)
            reduce<T, Op>(all, now);
        else if (now.width == PTO_UNIT_BYTES)
            copy<uint4>(all, now);
        else if (now.width == sizeof(uint32_t))
            copy<uint32_t>(all, now);
        else
            copy<unsigned char>(all, now);
        __syncthreads();
    }
    if (threadIdx.x == 0 && last_through(all.through))
        store_release(all.ended, all.run);
}

template <typename T, typename Wraps> static const void *entry_as(pto_op_t op) {
    switch (op) {
    case PTO_OP_PROD:
        return reinterpret_cast<const void *>(run_program<Wraps, product>);
    case PTO_OP_MIN:
        return reinterpret_cast<const void *>(run_program<T, minimum>);
    case PTO_OP_MAX:
        return reinterpret_cast<const void *>(run_program<T, maximum>);
    case PTO_OP_SUM:
    case PTO_OP_COUNT:
        break;
    }
    return reinterpret_cast<const void *>(run_program<Wraps, sum>);
}

/* Bytes are never reduced: any kernel moves them. */
static const void *entry_of(pto_datatype_t datatype, pto_op_t op) {
    switch (datatype) {
    case PTO_DATATYPE_INT64:
        return entry_as<int64_t, uint64_t>(op);
    case PTO_DATATYPE_FLOAT:
        return entry_as<float, float>(op);
    case PTO_DATATYPE_DOUBLE:
        return entry_as<double, double>(op);
    case PTO_DATATYPE_INT32:
    case PTO_DATATYPE_BYTE:
    case PTO_DATATYPE_COUNT:
        break;
    }
    return entry_as<int32_t, uint32_t>(op);
}

/* --- the host's side -------------------------------------------------------------------------------------
 */

struct cuda_kernel {
    program all;
    const void *entry;
    unsigned blocks;
    uint64_t *ended; /* the same word as all.ended, for the processor */
    uint64_t started;
    cudaStream_t stream;
    unsigned polls;
};

/* Asking loads the kernel, which must not happen while another one waits for this process. */
static pto_status_t cuda_blocks_max(pto_datatype_t datatype, pto_op_t op, int *blocks, pto_error_t *err) {
    int device = 0, processors = 0, on_each = 0;
    pto_status_t status = CUDA_DO(cudaGetDevice(&device), err);
    if (status == PTO_OK)
        status = CUDA_DO(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device), err);
    if (status == PTO_OK)
        status = CUDA_DO(
            cudaOccupancyMaxActiveBlocksPerMultiprocessor(&on_each, entry_of(datatype, op), THREADS, 0), err);
    *blocks = on_each > 0 ? processors : 0;
    return status;
}

static operand translate(const pto_operand_t *from, unsigned blocks) {
    const uint64_t units = static_cast<uint64_t>(from->bytes) / PTO_UNIT_BYTES;
    return {static_cast<char *>(from->spot.at), from->spot.apart_bytes, static_cast<uint32_t>(units / blocks),
            static_cast<uint16_t>(units % blocks), static_cast<uint16_t>(from->bytes % PTO_UNIT_BYTES)};
}

static unsigned width_of(const pto_kernel_program_t *program, const pto_kernel_op_t *op) {
    uintptr_t all = 0;
    for (int i = 0; i < op->count; i++) {
        const pto_spot_t *spot = &program->operands[op->first + i].spot;
        all |= reinterpret_cast<uintptr_t>(spot->at) | static_cast<uintptr_t>(spot->apart_bytes);
    }
    if (all % PTO_UNIT_BYTES == 0)
        return PTO_UNIT_BYTES;
    return all % sizeof(uint32_t) == 0 ? sizeof(uint32_t) : 1;
}

static pto_status_t translate_all(const pto_kernel_program_t *program, cuda_kernel *kernel,
                                  pto_error_t *err) {
    if (program->op_count > OPS_MAX || program->operand_count > OPERANDS_MAX)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             "a kernel of %d operations on %d places; this device's parameters hold %d on %d, "
                             "so fewer GPUs",
                             program->op_count, program->operand_count, OPS_MAX, OPERANDS_MAX);
    for (int i = 0; i < program->op_count; i++) {
        const pto_kernel_op_t *from = &program->ops[i];
        kernel->all.ops[i] = {
            static_cast<uint16_t>(from->kind), static_cast<uint16_t>(width_of(program, from)),
            static_cast<uint16_t>(from->first), static_cast<uint16_t>(from->count)};
    }
    for (int i = 0; i < program->operand_count; i++)
        kernel->all.operands[i] = translate(&program->operands[i], kernel->blocks);
    kernel->all.op_count = static_cast<uint32_t>(program->op_count);
    kernel->all.flag_pitch_bytes = static_cast<uint32_t>(program->flag_pitch_bytes);
    return PTO_OK;
}

/* The kernels run in streams that don't wait for the default one, so zeros must be there before the first. */
static pto_status_t make_counters(cuda_kernel *kernel, pto_error_t *err) {
    void *ended = nullptr, *through = nullptr;
    pto_status_t status = CUDA_DO(cudaHostAlloc(&ended, sizeof(uint64_t), cudaHostAllocMapped), err);
    kernel->ended = static_cast<uint64_t *>(ended);
    if (status != PTO_OK)
        return status;
    *kernel->ended = 0;
    void *mapped = nullptr;
    status = CUDA_DO(cudaHostGetDevicePointer(&mapped, ended, 0), err);
    kernel->all.ended = static_cast<uint64_t *>(mapped);
    if (status == PTO_OK)
        status = CUDA_DO(cudaMalloc(&through, sizeof(unsigned)), err);
    kernel->all.through = static_cast<unsigned *>(through);
    if (status == PTO_OK)
        status = CUDA_DO(cudaMemsetAsync(through, 0, sizeof(unsigned), cudaStreamLegacy), err);
    return status == PTO_OK ? CUDA_DO(cudaStreamSynchronize(cudaStreamLegacy), err) : status;
}

static void cuda_kernel_destroy(void *kernel) {
    cuda_kernel *made = static_cast<cuda_kernel *>(kernel);
    if (made == nullptr)
        return;
    (void)cudaFree(made->all.through);
    (void)cudaFreeHost(made->ended);
    free(made);
}

static pto_status_t cuda_kernel_create(const pto_kernel_program_t *program, void **kernel, pto_error_t *err) {
    cuda_kernel *made = static_cast<cuda_kernel *>(calloc(1, sizeof *made));
    if (made == nullptr)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a kernel");
    made->entry = entry_of(program->datatype, program->op);
    made->blocks = static_cast<unsigned>(program->blocks);
    pto_status_t status = translate_all(program, made, err);
    if (status == PTO_OK)
        status = make_counters(made, err);
    if (status == PTO_OK)
        *kernel = made;
    else
        cuda_kernel_destroy(made);
    return status;
}

static pto_status_t cuda_kernel_start(void *kernel, uint64_t run, void *stream, pto_error_t *err) {
    cuda_kernel *made = static_cast<cuda_kernel *>(kernel);
    made->all.run = run;
    made->started = run;
    made->stream = static_cast<cudaStream_t>(stream);
    made->polls = 0;
    void *parameters[] = {&made->all};
    return CUDA_DO(cudaLaunchKernel(made->entry, dim3(made->blocks), dim3(THREADS), parameters, 0, made->stream),
                   err);
}

static uint64_t last_ended(const cuda_kernel *kernel) {
    return __atomic_load_n(kernel->ended, __ATOMIC_ACQUIRE);
}

/* The word is there sooner than the stream says so; the stream is asked now and then, for it knows errors. */
static pto_status_t cuda_kernel_poll(void *kernel, uint64_t *ended, pto_error_t *err) {
    cuda_kernel *made = static_cast<cuda_kernel *>(kernel);
    *ended = last_ended(made);
    if (*ended >= made->started || ++made->polls % POLLS_PER_QUERY != 0)
        return PTO_OK;
    cudaError_t error = cudaStreamQuery(made->stream);
    if (error == cudaErrorNotReady) {
        (void)cudaGetLastError(); /* no error, but it would be taken for one of the next launch */
        return PTO_OK;
    }
    pto_status_t status = check(error, "a plan's kernel", err);
    *ended = last_ended(made);
    if (status == PTO_OK && *ended < made->started)
        return pto_error_set(err, PTO_ERR_IO, "a plan's kernel is no longer there, and run %llu has not ended",
                             static_cast<unsigned long long>(made->started));
    return status;
}

extern "C" {
extern const pto_kernels_t pto_kernels_cuda;
const pto_kernels_t pto_kernels_cuda = {
    BLOCK_BYTES, cuda_blocks_max, cuda_kernel_create, cuda_kernel_start, cuda_kernel_poll, cuda_kernel_destroy,
};
}

/* Kernels of plans on NVIDIA GPUs: one kernel that goes through a program (kernel.h), the same for all plans.
 *
 * Why what a block signals is there for whoever waits. The threads of a block that stored (weak stores, to
 * the own GPU's memory or through a link to another's) meet at a barrier, which orders their stores before
 * what any of them does next. One thread then does st.release.sys, which by the PTX memory model makes all
 * that is ordered before it, other threads' stores too, seen by whoever reads its value with ld.acquire.sys:
 * both have the scope of the system, so on whatever GPU. The waiting block's barrier passes that on to its
 * other threads, whose plain loads come after. No data is loaded through the path for constants
 * (`ld.global.nc`), which knows no order: there are no `__restrict__` here. The same holds the other way
 * round, where a signal says that memory was read: loads before a release are done before it.
 *
 * Why waiting ends. A block waits for the same block of other GPUs alone, all blocks of a GPU are at work at
 * the same time (there are no more than multiprocessors, each with room for one), and every plan's signals
 * and waits are proved free of deadlock by `check`.
 *
 * Loads are what takes long, so every thread has several under way: of consecutive vectors, and of up to four
 * pairs of an op at the same time. */
#include <cstdlib>

#include "device_cuda.h"
#include "parts.h"

enum {
    THREADS = 512,
    BLOCK_BYTES = 8192,
    SLICE_BYTES = 262144,
    LINES_BYTES_MAX = 131072,
    POLLS_PER_QUERY = 4096,
    POLLS_AT_ONCE = 64
};

/* While runs are queued, so many end before the host is told: its word takes a microsecond to confirm. */
enum { RUNS_PER_WORD = 64 };

/* --- a program, as the parameter of the kernel -----------------------------------------------------------
 */

/* Units (16 bytes) of every part, the first parts that have one more, and bytes over for the last one: what
 * parts.h says, with the division done. */
struct operand {
    char *at;
    int64_t apart_bytes;
    uint32_t each;
    uint16_t more;
    uint8_t rest_bytes;
    bool lines;
};

struct op {
    uint8_t kind; /* pto_kernel_kind_t */
    uint8_t
        width; /* what addresses of others than lines allow: 16 bytes at a time, 8 beside lines, 4, or 1 */
    uint16_t count;
    uint16_t first;
};

/* The parameters travel with the launch, 4 KiB in 0.7 us more than 1 KiB. */
enum { OPS_MAX = 16, OPERANDS_NEAR = 34, OPERANDS_MAX = 256 };

struct program {
    uint64_t run;
    unsigned *through;   /* blocks that are; 0 between runs */
    uint64_t *ended;     /* in host memory: the last run that has */
    const operand *more; /* after the first OPERANDS_NEAR, in device memory */
    uint32_t flag_pitch_bytes;
    uint16_t op_count;
    uint16_t operand_count;
    uint16_t slices;
    bool tells; /* the host, when it has ended */
    op ops[OPS_MAX];
    operand operands[OPERANDS_NEAR];
};

static_assert(sizeof(program) <= 1024, "measured at 1 KiB");

/* --- one part --------------------------------------------------------------------------------------------
 *
 * All of the kernel's code is met anew by every launch, and fetching it takes longer than a short vector's
 * run. So what is fast is written once, for 16 bytes at a time, and what is rare is short. */

/* Of one operand. */
struct part {
    char *at;
    unsigned units; /* of at most 64 GiB */
    uint16_t rest_bytes;
    bool lines;
};

static __device__ size_t bytes_of(const part &own) {
    return static_cast<size_t>(own.units) * PTO_UNIT_BYTES + own.rest_bytes;
}

static __device__ part part_of(const program &all, const operand &whole, unsigned number) {
    const size_t first = static_cast<size_t>(number) * whole.each + min(number, unsigned(whole.more));
    const unsigned times = whole.lines ? PTO_LINE_BYTES / PTO_LINE_DATA_BYTES : 1;
    char *at =
        whole.at + static_cast<int64_t>(all.run % 2) * whole.apart_bytes + first * PTO_UNIT_BYTES * times;
    const bool last = number == gridDim.x * all.slices - 1;
    return {at, whole.each + (number < whole.more ? 1 : 0),
            static_cast<uint16_t>(last ? whole.rest_bytes : 0), whole.lines};
}

/* Of all operands, each by a thread of its own. */
static __device__ void find_parts(const program &all, unsigned number, part *own) {
    for (unsigned i = threadIdx.x; i < all.operand_count; i += THREADS)
        own[i] = part_of(all, i < OPERANDS_NEAR ? all.operands[i] : all.more[i - OPERANDS_NEAR], number);
    __syncthreads();
}

/* --- copies ----------------------------------------------------------------------------------------------
 */

/* From byte `first` of the part on, by words that need not be as wide as could be. */
template <typename W> static __device__ void copy_rest(const part &source, const part &target, size_t first) {
    const W *from = reinterpret_cast<const W *>(source.at);
    W *to = reinterpret_cast<W *>(target.at);
#pragma unroll 1
    for (size_t i = first / sizeof(W) + threadIdx.x; i < bytes_of(source) / sizeof(W); i += THREADS)
        to[i] = from[i];
}

static __device__ void copy_narrow(const part &source, const part &target, unsigned width) {
    size_t done = 0;
    if (width == sizeof(uint32_t)) {
        copy_rest<uint32_t>(source, target, 0);
        done = bytes_of(source) / sizeof(uint32_t) * sizeof(uint32_t);
    }
    copy_rest<char>(source, target, done);
}

/* What is left once all whole units are copied, where that was possible. */
static __device__ void finish_copy(const part &source, const part &target, unsigned width) {
    if (width == PTO_UNIT_BYTES)
        copy_rest<char>(source, target, static_cast<size_t>(source.units) * PTO_UNIT_BYTES);
    else
        copy_narrow(source, target, width);
}

/* What one thread has under way, of all pairs together. */
enum { IN_FLIGHT = 8 };

/* Sizes may differ. */
template <int PAIRS> static __device__ void move_pairs(const part *pairs) {
    constexpr int DEEP = IN_FLIGHT / PAIRS;
    part source[PAIRS], target[PAIRS];
    unsigned most = 0;
#pragma unroll
    for (int pair = 0; pair < PAIRS; pair++) {
        source[pair] = pairs[2 * pair];
        target[pair] = pairs[2 * pair + 1];
        most = max(most, source[pair].units);
    }
    for (unsigned i = threadIdx.x; i < most; i += DEEP * THREADS) {
        uint4 value[DEEP][PAIRS] = {}; /* a register that is not always written lives on through all ops */
#pragma unroll
        for (int j = 0; j < DEEP; j++)
#pragma unroll
            for (int pair = 0; pair < PAIRS; pair++)
                if (i + j * THREADS < source[pair].units)
                    value[j][pair] = reinterpret_cast<const uint4 *>(source[pair].at)[i + j * THREADS];
#pragma unroll
        for (int j = 0; j < DEEP; j++)
#pragma unroll
            for (int pair = 0; pair < PAIRS; pair++)
                if (i + j * THREADS < source[pair].units)
                    reinterpret_cast<uint4 *>(target[pair].at)[i + j * THREADS] = value[j][pair];
    }
}

static __device__ void move(const part *operands, const op &now) {
    const unsigned pairs = now.count / 2;
    unsigned done = 0;
    if (now.width == PTO_UNIT_BYTES) {
#pragma unroll 1
        for (; done + 4 <= pairs; done += 4)
            move_pairs<4>(operands + 2 * done);
        if (done + 2 <= pairs) {
            move_pairs<2>(operands + 2 * done);
            done += 2;
        }
        if (done < pairs)
            move_pairs<1>(operands + 2 * done);
    }
#pragma unroll 1
    for (unsigned pair = 0; pair < pairs; pair++)
        finish_copy(operands[2 * pair], operands[2 * pair + 1], now.width);
}

/* What a thread has under way of each source, in a spread or a reduction. */
enum { DEEP_EACH = 4 };

/* Each unit is loaded once and stored to all. */
static __device__ void spread(const part *operands, const op &now) {
    const part source = operands[0];
    const unsigned units = now.width == PTO_UNIT_BYTES ? source.units : 0;
    for (unsigned i = threadIdx.x; i < units; i += DEEP_EACH * THREADS) {
        uint4 value[DEEP_EACH] = {};
#pragma unroll
        for (int j = 0; j < DEEP_EACH; j++)
            if (i + j * THREADS < units)
                value[j] = reinterpret_cast<const uint4 *>(source.at)[i + j * THREADS];
#pragma unroll 1
        for (unsigned k = 1; k < now.count; k++) {
            uint4 *target = reinterpret_cast<uint4 *>(operands[k].at);
#pragma unroll
            for (int j = 0; j < DEEP_EACH; j++)
                if (i + j * THREADS < units)
                    target[i + j * THREADS] = value[j];
        }
    }
#pragma unroll 1
    for (unsigned k = 1; k < now.count; k++)
        finish_copy(source, operands[k], now.width);
}

/* --- reductions ------------------------------------------------------------------------------------------
 */

/* Values that lie in some words, a load's worth. */
template <typename T, int WORDS> struct lanes {
    enum { COUNT = WORDS * sizeof(uint32_t) / sizeof(T) };
    T lane[COUNT];
};

template <typename T, typename Op, int WORDS>
static __device__ void combine_into(lanes<T, WORDS> &value, const lanes<T, WORDS> &other) {
#pragma unroll
    for (int j = 0; j < lanes<T, WORDS>::COUNT; j++)
        value.lane[j] = Op()(value.lane[j], other.lane[j]);
}

/* A load of 16 bytes is one only where the compiler sees one type of that size. */
template <typename T> static __device__ lanes<T, 4> load_unit(const char *at, unsigned i) {
    const uint4 bits = reinterpret_cast<const uint4 *>(at)[i];
    lanes<T, 4> value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

template <typename T> static __device__ void store_unit(char *at, unsigned i, const lanes<T, 4> &value) {
    uint4 bits;
    memcpy(&bits, &value, sizeof bits);
    reinterpret_cast<uint4 *>(at)[i] = bits;
}

/* All sources, in their order: all GPUs get the same to the last bit. */
template <typename T, typename Op>
static __device__ void reduce_units(const part *operands, const op &now, unsigned units) {
    for (unsigned i = threadIdx.x; i < units; i += DEEP_EACH * THREADS) {
        lanes<T, 4> value[DEEP_EACH] = {};
        const char *first = operands[1].at;
#pragma unroll
        for (int j = 0; j < DEEP_EACH; j++)
            if (i + j * THREADS < units)
                value[j] = load_unit<T>(first, i + j * THREADS);
#pragma unroll 2
        for (unsigned k = 2; k < now.count; k++) {
            const char *source = operands[k].at;
            lanes<T, 4> other[DEEP_EACH] = {};
#pragma unroll
            for (int j = 0; j < DEEP_EACH; j++)
                if (i + j * THREADS < units)
                    other[j] = load_unit<T>(source, i + j * THREADS);
#pragma unroll
            for (int j = 0; j < DEEP_EACH; j++)
                if (i + j * THREADS < units)
                    combine_into<T, Op>(value[j], other[j]);
        }
        char *target = operands[0].at;
#pragma unroll
        for (int j = 0; j < DEEP_EACH; j++)
            if (i + j * THREADS < units)
                store_unit<T>(target, i + j * THREADS, value[j]);
    }
}

/* Units where addresses allow; what is left by elements. */
template <typename T, typename Op> static __device__ void reduce(const part *operands, const op &now) {
    const part target = operands[0];
    const unsigned units = now.width == PTO_UNIT_BYTES ? target.units : 0;
    reduce_units<T, Op>(operands, now, units);
#pragma unroll 1
    for (size_t i = static_cast<size_t>(units) * PTO_UNIT_BYTES / sizeof(T) + threadIdx.x;
         i < bytes_of(target) / sizeof(T); i += THREADS) {
        T value = reinterpret_cast<const T *>(operands[1].at)[i];
#pragma unroll 1
        for (unsigned k = 2; k < now.count; k++)
            value = Op()(value, reinterpret_cast<const T *>(operands[k].at)[i]);
        reinterpret_cast<T *>(target.at)[i] = value;
    }
}

/* --- lines -----------------------------------------------------------------------------------------------
 *
 * No barrier and no release stands between lines and those who wait for them: each half is stored by one
 * store and loaded by one load (the memory model takes a vector of two 64-bit elements for two accesses), so
 * where its number is the run's, its data are. */

struct line {
    uint64_t half[2];
};

static __device__ bool of_run(const line &read, uint32_t run) {
    return read.half[0] >> 32 == run && read.half[1] >> 32 == run;
}

static __device__ line line_of(uint2 data, uint32_t run) {
    const uint64_t number = static_cast<uint64_t>(run) << 32;
    return {{number | data.x, number | data.y}};
}

static __device__ uint2 data_of(const line &read) {
    return {static_cast<uint32_t>(read.half[0]), static_cast<uint32_t>(read.half[1])};
}

static __device__ line load_line(const char *at) {
    line read;
    asm volatile("ld.relaxed.sys.global.v2.b64 {%0, %1}, [%2];"
                 : "=l"(read.half[0]), "=l"(read.half[1])
                 : "l"(at)
                 : "memory");
    return read;
}

static __device__ void store_line(char *at, const line &value) {
    asm volatile("st.relaxed.sys.global.v2.b64 [%0], {%1, %2};" ::"l"(at), "l"(value.half[0]),
                 "l"(value.half[1])
                 : "memory");
}

/* Data that are no lines, and may lie at any address. */
static __device__ __noinline__ uint2 load_narrow(const char *at) {
    uint2 data;
    char *bytes = reinterpret_cast<char *>(&data);
    for (unsigned i = 0; i < sizeof data; i++)
        bytes[i] = at[i];
    return data;
}

static __device__ __noinline__ void store_narrow(char *at, uint2 data) {
    const char *bytes = reinterpret_cast<const char *>(&data);
    for (unsigned i = 0; i < sizeof data; i++)
        at[i] = bytes[i];
}

static __device__ uint2 load_data(const char *at, bool wide) {
    return wide ? *reinterpret_cast<const uint2 *>(at) : load_narrow(at);
}

static __device__ void store_data(char *at, bool wide, uint2 data) {
    if (wide)
        *reinterpret_cast<uint2 *>(at) = data;
    else
        store_narrow(at, data);
}

/* Word i of an operand as a line of this run; of lines, what is there so far. */
static __device__ line peek(const part &source, size_t i, bool wide, uint32_t run) {
    return source.lines ? load_line(source.at + i * PTO_LINE_BYTES)
                        : line_of(load_data(source.at + i * PTO_LINE_DATA_BYTES, wide), run);
}

/* Only where data lie as lines can they be missing. */
static __device__ void await(line &read, const part &source, size_t i, uint32_t run) {
    while (!of_run(read, run))
        read = load_line(source.at + i * PTO_LINE_BYTES);
}

/* Operands of an op of which a thread has a load under way at the same time. */
enum { PEEKED = 4 };

static __device__ size_t words_of(const part &own) { return bytes_of(own) / PTO_LINE_DATA_BYTES; }

/* The pairs of a move, or of a spread's source and each target; sizes may differ. */
static __device__ void copy_lines(const part *operands, const op &now, uint32_t run) {
    const bool moves = now.kind == PTO_KERNEL_MOVE, wide = now.width >= PTO_LINE_DATA_BYTES;
    const unsigned pairs = moves ? now.count / 2 : now.count - 1;
    size_t most = 0;
#pragma unroll 1
    for (unsigned pair = 0; pair < pairs; pair++)
        most = max(most, words_of(operands[moves ? 2 * pair : 0]));
#pragma unroll 1
    for (unsigned first = 0; first < pairs; first += PEEKED)
#pragma unroll 1
        for (size_t i = threadIdx.x; i < most; i += THREADS) {
            line read[PEEKED] = {};
#pragma unroll
            for (unsigned j = 0; j < PEEKED; j++) {
                const part &source = operands[moves ? 2 * (first + j) : 0];
                if (first + j < pairs && i < words_of(source))
                    read[j] = peek(source, i, wide, run);
            }
#pragma unroll
            for (unsigned j = 0; j < PEEKED; j++) {
                const part &source = operands[moves ? 2 * (first + j) : 0];
                const part &target = operands[(moves ? 2 * (first + j) : first + j) + 1];
                if (first + j >= pairs || i >= words_of(source))
                    continue;
                await(read[j], source, i, run);
                if (target.lines)
                    store_line(target.at + i * PTO_LINE_BYTES, read[j]);
                else
                    store_data(target.at + i * PTO_LINE_DATA_BYTES, wide, data_of(read[j]));
            }
        }
}

/* All sources in their order, as without lines. */
template <typename T, typename Op>
static __device__ void reduce_lines(const part *operands, const op &now, uint32_t run) {
    const bool wide = now.width >= PTO_LINE_DATA_BYTES;
#pragma unroll 1
    for (size_t i = threadIdx.x; i < words_of(operands[0]); i += THREADS) {
        lanes<T, 2> value = {};
#pragma unroll 1
        for (unsigned first = 1; first < now.count; first += PEEKED) {
            line read[PEEKED] = {};
#pragma unroll
            for (unsigned j = 0; j < PEEKED; j++)
                if (first + j < now.count)
                    read[j] = peek(operands[first + j], i, wide, run);
#pragma unroll
            for (unsigned j = 0; j < PEEKED; j++) {
                if (first + j >= now.count)
                    continue;
                await(read[j], operands[first + j], i, run);
                const uint2 data = data_of(read[j]);
                lanes<T, 2> other;
                memcpy(&other, &data, sizeof other);
                if (first + j == 1)
                    value = other;
                else
                    combine_into<T, Op>(value, other);
            }
        }
        uint2 data;
        memcpy(&data, &value, sizeof data);
        store_data(operands[0].at + i * PTO_LINE_DATA_BYTES, wide, data);
    }
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

static __device__ uint64_t *flag_at(const program &all, const part &flag, unsigned number) {
    return reinterpret_cast<uint64_t *>(flag.at + static_cast<size_t>(number) * all.flag_pitch_bytes);
}

static __device__ void signal(const program &all, const part *flags, const op &now, unsigned number) {
    for (unsigned j = threadIdx.x; j < now.count; j += THREADS)
        store_release(flag_at(all, flags[j], number), all.run);
}

static __device__ void wait(const program &all, const part *flags, const op &now, unsigned number) {
    for (unsigned j = threadIdx.x; j < now.count; j += THREADS) {
        const uint64_t *flag = flag_at(all, flags[j], number);
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

/* Launches that were queued may begin while the run before them ends, so that the launch itself costs
 * nothing; then they wait here until all that it did is done. */
static __device__ void wait_for_run_before() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

static __device__ void tell(const program &all) {
    if (all.tells && threadIdx.x == 0 && (gridDim.x == 1 || last_through(all.through)))
        store_release(all.ended, all.run);
}

/* The barrier after each op orders what one thread did before what another does next. */
template <typename T, typename Op>
__global__ void __launch_bounds__(THREADS, 1) run_program(const __grid_constant__ program all) {
    __shared__ part parts[OPERANDS_MAX];
    find_parts(all, blockIdx.x, parts);
    wait_for_run_before();
#pragma unroll 1
    for (unsigned number = blockIdx.x;;) {
#pragma unroll 1
        for (unsigned i = 0; i < all.op_count; i++) {
            const op now = all.ops[i];
            const part *operands = parts + now.first;
            if (now.kind == PTO_KERNEL_SIGNAL)
                signal(all, operands, now, number);
            else if (now.kind == PTO_KERNEL_WAIT)
                wait(all, operands, now, number);
            else if (now.kind == PTO_KERNEL_REDUCE)
                reduce<T, Op>(operands, now);
            else if (now.kind == PTO_KERNEL_MOVE)
                move(operands, now);
            else
                spread(operands, now);
            __syncthreads();
        }
        number += gridDim.x;
        if (number >= gridDim.x * all.slices)
            break;
        find_parts(all, number, parts);
    }
    tell(all);
}

/* The same of a program with lines: no flags, everything in whole words of 8 bytes, and one slice, for only
 * short vectors are lines. */
template <typename T, typename Op>
__global__ void __launch_bounds__(THREADS, 1) run_lines(const __grid_constant__ program all) {
    __shared__ part parts[OPERANDS_MAX];
    find_parts(all, blockIdx.x, parts);
    wait_for_run_before();
#pragma unroll 1
    for (unsigned i = 0; i < all.op_count; i++) {
        const op now = all.ops[i];
        const part *operands = parts + now.first;
        if (now.kind == PTO_KERNEL_REDUCE)
            reduce_lines<T, Op>(operands, now, static_cast<uint32_t>(all.run));
        else
            copy_lines(operands, now, static_cast<uint32_t>(all.run));
        __syncthreads();
    }
    tell(all);
}

template <typename T, typename Op> static const void *one_of(bool lines) {
    return lines ? reinterpret_cast<const void *>(run_lines<T, Op>)
                 : reinterpret_cast<const void *>(run_program<T, Op>);
}

template <typename T, typename Wraps> static const void *entry_as(pto_op_t op, bool lines) {
    switch (op) {
    case PTO_OP_PROD:
        return one_of<Wraps, product>(lines);
    case PTO_OP_MIN:
        return one_of<T, minimum>(lines);
    case PTO_OP_MAX:
        return one_of<T, maximum>(lines);
    case PTO_OP_SUM:
    case PTO_OP_COUNT:
        break;
    }
    return one_of<Wraps, sum>(lines);
}

/* Bytes are never reduced: any kernel moves them. */
static const void *entry_of(pto_datatype_t datatype, pto_op_t op, bool lines) {
    switch (datatype) {
    case PTO_DATATYPE_INT64:
        return entry_as<int64_t, uint64_t>(op, lines);
    case PTO_DATATYPE_FLOAT:
        return entry_as<float, float>(op, lines);
    case PTO_DATATYPE_DOUBLE:
        return entry_as<double, double>(op, lines);
    case PTO_DATATYPE_INT32:
    case PTO_DATATYPE_BYTE:
    case PTO_DATATYPE_COUNT:
        break;
    }
    return entry_as<int32_t, uint32_t>(op, lines);
}

/* --- the host's side -------------------------------------------------------------------------------------
 */

struct cuda_kernel {
    program all;
    const void *entry;
    unsigned blocks;
    uint64_t *ended;  /* the same word as all.ended, for the processor */
    uint64_t started; /* the last run that was */
    uint64_t known;   /* the last run that had ended when the stream was empty */
    bool tells;       /* the last run that was started does */
    cudaStream_t stream;
    unsigned polls;
};

/* Asking loads the kernel, which must not happen while another one waits for this process. */
static pto_status_t cuda_blocks_max(pto_datatype_t datatype, pto_op_t op, int *blocks, pto_error_t *err) {
    int device = 0, processors = 0, on_each = 0;
    pto_status_t status = CUDA_DO(cudaGetDevice(&device), err);
    if (status == PTO_OK)
        status = CUDA_DO(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device), err);
    *blocks = processors;
    for (int lines = 0; lines < 2 && status == PTO_OK; lines++) {
        status = CUDA_DO(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                             &on_each, entry_of(datatype, op, lines != 0), THREADS, 0),
                         err);
        *blocks = on_each > 0 ? *blocks : 0;
    }
    return status;
}

static operand translate(const pto_operand_t *from, unsigned parts) {
    const uint64_t units = static_cast<uint64_t>(from->bytes) / PTO_UNIT_BYTES;
    return {static_cast<char *>(from->spot.at),
            from->spot.apart_bytes,
            static_cast<uint32_t>(units / parts),
            static_cast<uint16_t>(units % parts),
            static_cast<uint8_t>(from->bytes % PTO_UNIT_BYTES),
            from->spot.lines};
}

static bool some_lines(const pto_kernel_program_t *program, int first, int count) {
    bool some = false;
    for (int i = first; i < first + count; i++)
        some |= program->operands[i].spot.lines;
    return some;
}

/* Lines' own addresses allow what is needed. */
static unsigned width_of(const pto_kernel_program_t *program, const pto_kernel_op_t *op) {
    const unsigned most =
        some_lines(program, op->first, op->count) ? unsigned(PTO_LINE_DATA_BYTES) : unsigned(PTO_UNIT_BYTES);
    uintptr_t all = 0;
    for (int i = 0; i < op->count; i++) {
        const pto_spot_t *spot = &program->operands[op->first + i].spot;
        if (!spot->lines)
            all |= reinterpret_cast<uintptr_t>(spot->at) | static_cast<uintptr_t>(spot->apart_bytes);
    }
    if (all % most == 0)
        return most;
    return all % sizeof(uint32_t) == 0 ? sizeof(uint32_t) : 1;
}

/* Operands that the parameters have no room for. */
static pto_status_t put_far(cuda_kernel *kernel, const pto_operand_t *operands, int count, pto_error_t *err) {
    const size_t bytes = static_cast<size_t>(count) * sizeof(operand);
    operand *translated = static_cast<operand *>(malloc(bytes));
    if (translated == nullptr)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a kernel");
    for (int i = 0; i < count; i++)
        translated[i] = translate(&operands[i], kernel->blocks * kernel->all.slices);
    void *far = nullptr;
    pto_status_t status = CUDA_DO(cudaMalloc(&far, bytes), err);
    kernel->all.more = static_cast<operand *>(far);
    if (status == PTO_OK)
        status = CUDA_DO(cudaMemcpy(far, translated, bytes, cudaMemcpyHostToDevice), err);
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

static pto_status_t translate_all(const pto_kernel_program_t *program, cuda_kernel *kernel,
                                  pto_error_t *err) {
    if (program->op_count > OPS_MAX || program->operand_count > OPERANDS_MAX)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             "a kernel of %d operations on %d places; this device has room for %d on %d, "
                             "so fewer GPUs",
                             program->op_count, program->operand_count, OPS_MAX, OPERANDS_MAX);
    for (int i = 0; i < program->op_count; i++) {
        const pto_kernel_op_t *from = &program->ops[i];
        kernel->all.ops[i] = {static_cast<uint8_t>(from->kind), static_cast<uint8_t>(width_of(program, from)),
                              static_cast<uint16_t>(from->count), static_cast<uint16_t>(from->first)};
    }
    if (program->slices > 1 && some_lines(program, 0, program->operand_count))
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "lines of %d slices; this device takes one",
                             program->slices);
    kernel->all.op_count = static_cast<uint16_t>(program->op_count);
    kernel->all.operand_count = static_cast<uint16_t>(program->operand_count);
    kernel->all.flag_pitch_bytes = static_cast<uint32_t>(program->flag_pitch_bytes);
    return translate_operands(program, kernel, err);
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
    (void)cudaFree(const_cast<operand *>(made->all.more));
    (void)cudaFree(made->all.through);
    (void)cudaFreeHost(made->ended);
    free(made);
}

static pto_status_t cuda_kernel_create(const pto_kernel_program_t *program, void **kernel, pto_error_t *err) {
    cuda_kernel *made = static_cast<cuda_kernel *>(calloc(1, sizeof *made));
    if (made == nullptr)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a kernel");
    made->entry = entry_of(program->datatype, program->op, some_lines(program, 0, program->operand_count));
    made->blocks = static_cast<unsigned>(program->blocks);
    made->all.slices = static_cast<uint16_t>(program->slices);
    pto_status_t status = translate_all(program, made, err);
    if (status == PTO_OK)
        status = make_counters(made, err);
    if (status == PTO_OK)
        *kernel = made;
    else
        cuda_kernel_destroy(made);
    return status;
}

static pto_status_t cuda_kernel_start(void *kernel, uint64_t run, bool queued, void *stream,
                                      pto_error_t *err) {
    cuda_kernel *made = static_cast<cuda_kernel *>(kernel);
    made->started = run;
    made->tells = !queued || run % RUNS_PER_WORD == 0;
    made->stream = static_cast<cudaStream_t>(stream);
    made->polls = 0;
    made->all.run = run;
    made->all.tells = made->tells;
    void *parameters[] = {&made->all};
    cudaLaunchAttribute overlaps = {};
    overlaps.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlaps.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(made->blocks);
    config.blockDim = dim3(THREADS);
    config.stream = made->stream;
    config.attrs = &overlaps;
    config.numAttrs = queued ? 1 : 0;
    return CUDA_DO(cudaLaunchKernelExC(&config, made->entry, parameters), err);
}

static uint64_t last_ended(const cuda_kernel *kernel) {
    const uint64_t told = __atomic_load_n(kernel->ended, __ATOMIC_ACQUIRE);
    return told > kernel->known ? told : kernel->known;
}

/* The word is there sooner than the stream says so. The stream is asked now and then, for it knows errors,
 * and always where there will be no word. */
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
    BLOCK_BYTES,       SLICE_BYTES,      LINES_BYTES_MAX, cuda_blocks_max,     cuda_kernel_create,
    cuda_kernel_start, cuda_kernel_poll, POLLS_AT_ONCE,   cuda_kernel_destroy,
};
}

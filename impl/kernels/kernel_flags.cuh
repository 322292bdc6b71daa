/* The ops of programs with flags (kernel.h): how a block executes them for one part. kernel_cuda.cu explains
 * why the data are visible when a flag is. */
#ifndef PTO_KERNEL_FLAGS_CUH
#define PTO_KERNEL_FLAGS_CUH

#include "kernel_bytes.cuh"
#include "kernel_patience.cuh"

enum { WARP_THREADS = 32 };

static __device__ uint64_t *flag_of(const program &all, unsigned i, unsigned number, uint64_t run) {
    const operand &flag = operand_of(all, i);
    return reinterpret_cast<uint64_t *>(flag.at + static_cast<int64_t>(run % 2) * flag.copy_stride_bytes +
                                        static_cast<size_t>(number) * all.flag_pitch_bytes);
}

/* A block that has given up no longer signals: its data are not what the others wait for. */
static __device__ void signal(const program &all, const op &now, unsigned number, uint64_t run) {
    if (threadIdx.x >= now.count || *gave_up_here() != 0)
        return;
    for (unsigned j = threadIdx.x; j < now.count; j += THREADS)
        store_release(flag_of(all, now.first + j, number, run), run);
}

/* Each warp polls the flags, so that none waits for the warp that signals. Returns whether it gave up. */
static __device__ bool wait(const program &all, const op &now, unsigned number, uint64_t run) {
    bool is_late = false;
    for (unsigned j = threadIdx.x % WARP_THREADS; j < now.count && !is_late; j += WARP_THREADS) {
        const uint64_t *flag = flag_of(all, now.first + j, number, run);
        uint64_t began_ns = 0;
        for (unsigned polls = 1; load_acquire(flag) < run && !is_late; polls++)
            if (polls % POLLS_PER_CHECK == 0) {
                began_ns = check_patience(all, run, began_ns);
                is_late = began_ns == GAVE_UP;
            }
    }
    __syncwarp();
    return __any_sync(UINT32_MAX, is_late);
}

template <typename T, typename Op>
static __device__ void do_data_op(const program &all, const op &now, const part *operands) {
    if (now.kind == PTO_KERNEL_REDUCE)
        reduce<T>(operands, now, operation<Op>(all.by));
    else if (now.kind == PTO_KERNEL_MOVE)
        move(operands, now);
    else if (now.kind == MOVE_ROWS)
        move_rows(operands, now);
    else
        spread(operands, now);
}

/* Executes the ops from `first` to before `end`. The barrier after each op on data orders it before the next
 * op of any thread, and stores before their signal. Only one warp waits for the last stores, to signal.
 *
 * A warp that has given up waiting (`idle`) only takes part in barriers: other GPUs may still read its
 * memory. */
template <typename T, typename Op>
static __device__ void do_ops(const program &all, unsigned first, unsigned end, const part *parts,
                              unsigned number, uint64_t run, bool &idle) {
#pragma unroll 1
    for (unsigned i = first; i < end; i++) {
        const op now = all.ops[i];
        if (now.kind == PTO_KERNEL_SIGNAL) {
            signal(all, now, number, run);
            continue;
        }
        if (now.kind == PTO_KERNEL_WAIT) {
            idle = idle || wait(all, now, number, run);
            continue;
        }
        if (!idle)
            do_data_op<T, Op>(all, now, parts + now.first);
        __syncthreads();
    }
}

#endif

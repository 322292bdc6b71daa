/* How a block executes the ops of a program with flags (kernel.h) for one part. kernel_run.cuh calls do_ops
 * for each slice. kernel_cuda.cu explains why the data are visible when a flag is. */
#ifndef PTO_KERNEL_FLAGS_CUH
#define PTO_KERNEL_FLAGS_CUH

#include "kernel_bytes.cuh"
#include "kernel_patience.cuh"

enum { WARP_THREADS = 32 };

/* Returns a part's flag in operand `i`, in this run's copy. */
static __device__ uint64_t *flag_of(const device_program &program, unsigned i, unsigned part_number,
                                    uint64_t run) {
    const operand &flag = operand_of(program, i);
    return reinterpret_cast<uint64_t *>(flag.at + static_cast<int64_t>(run % 2) * flag.copy_stride_bytes +
                                        static_cast<size_t>(part_number) * program.flag_pitch_bytes);
}

/* Raises the op's flags, one per thread, unless the block has given up: its data are wrong then. */
static __device__ void signal(const device_program &program, const op &now, unsigned part_number,
                              uint64_t run) {
    if (threadIdx.x >= now.count || *gave_up_here() != 0)
        return;
    for (unsigned j = threadIdx.x; j < now.count; j += THREADS)
        store_release(flag_of(program, now.first + j, part_number, run), run);
}

/* Waits for the op's flags. Every warp polls all of them by itself, each lane some, so that no warp has to
 * wait for another one. Returns whether the warp gave up. */
static __device__ bool wait(const device_program &program, const op &now, unsigned part_number,
                            uint64_t run) {
    bool is_late = false;
    for (unsigned j = threadIdx.x % WARP_THREADS; j < now.count && !is_late; j += WARP_THREADS) {
        const uint64_t *flag = flag_of(program, now.first + j, part_number, run);
        uint64_t began_ns = 0;
        for (unsigned polls = 1; load_acquire(flag) < run && !is_late; polls++)
            if (polls % POLLS_PER_CHECK == 0) {
                began_ns = check_patience(program, run, began_ns);
                is_late = began_ns == GAVE_UP;
            }
    }
    __syncwarp();
    return __any_sync(UINT32_MAX, is_late);
}

template <typename T, typename Op>
static __device__ void do_data_op(const device_program &program, const op &now, const part *operands) {
    if (now.kind == PTO_KERNEL_REDUCE)
        reduce<T>(operands, now, operation<Op>(program.choice));
    else if (now.kind == PTO_KERNEL_MOVE)
        move(operands, now);
    else if (now.kind == MOVE_ROWS)
        move_rows(operands, now);
    else
        spread(operands, now);
}

/* Executes the ops from `first` to before `end` for one part. `parts` is the table of that part of each
 * operand. The barrier after each op on data orders it before the next op of any thread, and its stores
 * before their signal. Waits need no barrier, because each warp waits by itself.
 *
 * A warp that has given up waiting (`idle`) only takes part in barriers: other GPUs may still read its
 * memory. */
template <typename T, typename Op>
static __device__ void do_ops(const device_program &program, unsigned first, unsigned end, const part *parts,
                              unsigned part_number, uint64_t run, bool &idle) {
#pragma unroll 1
    for (unsigned i = first; i < end; i++) {
        const op now = program.ops[i];
        if (now.kind == PTO_KERNEL_SIGNAL) {
            signal(program, now, part_number, run);
            continue;
        }
        if (now.kind == PTO_KERNEL_WAIT) {
            idle = idle || wait(program, now, part_number, run);
            continue;
        }
        if (!idle)
            do_data_op<T, Op>(program, now, parts + now.first);
        __syncthreads();
    }
}

#endif

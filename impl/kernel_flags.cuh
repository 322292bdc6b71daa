/* Programs with flags (kernel.h): what a block does with one part. kernel_cuda.cu says why what it signals is
 * there. */
#ifndef PTO_KERNEL_FLAGS_CUH
#define PTO_KERNEL_FLAGS_CUH

#include "kernel_bytes.cuh"
#include "kernel_memory.cuh"

enum { WARP_THREADS = 32 };

static __device__ uint64_t *flag_of(const program &all, unsigned i, unsigned number, uint64_t run) {
    const operand &flag = operand_of(all, i);
    return reinterpret_cast<uint64_t *>(flag.at + static_cast<int64_t>(run % 2) * flag.apart_bytes +
                                        static_cast<size_t>(number) * all.flag_pitch_bytes);
}

static __device__ void signal(const program &all, const op &now, unsigned number, uint64_t run) {
    for (unsigned j = threadIdx.x; j < now.count; j += THREADS)
        store_release(flag_of(all, now.first + j, number, run), run);
}

static __device__ patience patience_of(const program &all) { return {all.ended + 1, all.patience_ms}; }

/* Each warp waits for itself, so that none waits for the warp that signals. */
static __device__ void wait(const program &all, const op &now, unsigned number, uint64_t run) {
    for (unsigned j = threadIdx.x % WARP_THREADS; j < now.count; j += WARP_THREADS) {
        const uint64_t *flag = flag_of(all, now.first + j, number, run);
        uint64_t began_ns = 0;
        for (unsigned polls = 1; load_acquire(flag) < run; polls++)
            if (polls % POLLS_PER_LOOK == 0 && (began_ns = look(patience_of(all), began_ns)) == GAVE_UP)
                break;
    }
    __syncwarp();
}

/* The barrier after each op on data orders what one thread did before what another does next: stores before
 * they are signalled, too. A signal takes as long as its block's last stores, and only one warp waits for it.
 */
template <typename T, typename Op>
static __device__ void do_ops(const program &all, unsigned first, unsigned end, const part *parts,
                              unsigned number, uint64_t run) {
#pragma unroll 1
    for (unsigned i = first; i < end; i++) {
        const op now = all.ops[i];
        const part *operands = parts + now.first;
        if (now.kind == PTO_KERNEL_SIGNAL) {
            signal(all, now, number, run);
            continue;
        }
        if (now.kind == PTO_KERNEL_WAIT) {
            wait(all, now, number, run);
            continue;
        }
        if (now.kind == PTO_KERNEL_REDUCE)
            reduce<T>(operands, now, operation<Op>(all.by));
        else if (now.kind == PTO_KERNEL_MOVE)
            move(operands, now);
        else if (now.kind == MOVE_ROWS)
            move_rows(operands, now);
        else
            spread(operands, now);
        __syncthreads();
    }
}

#endif

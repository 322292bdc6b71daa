/* What each block does in a launch: begin a run, execute the program for the block's parts, end the run.
 * kernel_cuda.cu launches it; the unit tests compile it for the host. */
#ifndef PTO_KERNEL_RUN_CUH
#define PTO_KERNEL_RUN_CUH

#include "kernel_flags.cuh"
#include "kernel_lines.cuh"

static __device__ void end(const run_state &all, uint64_t run) {
    if (threadIdx.x != 0)
        return;
    all.states[blockIdx.x].last_run = run;
    if (all.reports_end && (gridDim.x == 1 || is_last_block(&all.common->blocks_completed)))
        store_release(all.ended, run);
}

/* For a launch without a run number (all.run is 0): finds the number, and whether this block is `idle`,
 * because it gave up in an earlier run, or an earlier kernel did in this run. Call it after
 * wait_for_run_before, since the previous run and the earlier kernels store that state. All threads of a
 * block find the same: the number is only stored at the end of a run, after a barrier, and a thread that
 * gives up in this run stores this run's number. */
static __device__ uint64_t find_run(const run_state &all, bool &idle) {
    const block_state state = load_state(&all.states[blockIdx.x]);
    const uint64_t run = state.last_run + 1;
    idle = state.gave_up_in != 0 && state.gave_up_in != run;
    return run;
}

/* --- flags ---------------------------------------------------------------------------------------------- */

/* Tables of parts in shared memory, for three slices in turn. */
struct parts_tables {
    enum { COUNT = 3 };
    part at[COUNT][OPERANDS_MAX];
};

/* Returns the run's number. Parts are computed before the previous run has ended. */
static __device__ uint64_t begin(const program &all, part *parts, bool &idle) {
    if (threadIdx.x == 0)
        *gave_up_here() = 0;
    find_parts(all, blockIdx.x, all.run, parts);
    __syncthreads();
    wait_for_run_before();
    if (all.run != 0)
        return all.run;
    const uint64_t run = find_run(all, idle);
    if (run % 2 != 0)
        use_odd_copies(all, parts);
    return run;
}

/* The parts of a slice are computed one slice in advance, so that the barriers of the ops in between make
 * them visible, too. A block that gave up in an earlier run does not access other GPUs' memory. */
template <typename T, typename Op>
static __device__ void run_with_flags(const program &all, parts_tables &parts) {
    bool idle = false;
    const uint64_t run = begin(all, parts.at[0], idle);
    const unsigned turns = idle ? 0 : pto_turn_count(all.slices);
#pragma unroll 1
    for (unsigned turn = 0; turn < turns; turn++) {
        const pto_turn_t now = turn_of(all, turn);
        if (now.slice == all.slices)
            continue;
        const unsigned number = blockIdx.x + now.slice * gridDim.x;
        if (now.begins && now.slice + 1 < all.slices)
            find_parts(all, number + gridDim.x, run, parts.at[(now.slice + 1) % parts_tables::COUNT]);
        do_ops<T, Op>(all, now.first, now.end, parts.at[now.slice % parts_tables::COUNT], number, run, idle);
    }
    __syncthreads();
    end(all, run);
}

/* --- lines ---------------------------------------------------------------------------------------------- */

/* Each op is executed for all parts before the next op, so that everything that other GPUs wait for is sent
 * before this block waits. A block that has given up then sends nothing that depends on missing data. */
template <typename T, typename Op>
static __device__ void run_with_lines(const program &all, line_operand *operands) {
    bool idle = false;
    lines_run now = {operands, all.run, gridDim.x * all.slices, all};
    if (threadIdx.x == 0)
        *gave_up_here() = 0;
    for (unsigned i = threadIdx.x; i < all.operand_count; i += blockDim.x)
        operands[i] = line_operand_of(operand_of(all, i), now.parts);
    __syncthreads();
    wait_for_run_before();
    if (all.run == 0)
        now.run = find_run(all, idle);
#pragma unroll 1
    for (unsigned i = 0; i < all.op_count; i++) {
        idle = idle || (i >= all.send_end && *gave_up_here() != 0);
        const unsigned parts = idle ? 0 : now.parts;
#pragma unroll 1
        for (unsigned number = blockIdx.x; number < parts; number += gridDim.x)
            if (all.ops[i].kind == PTO_KERNEL_REDUCE)
                reduce_lines<T>(all.ops[i], number, now, operation<Op>(all.by));
            else
                copy_lines(all.ops[i], number, now);
        __syncthreads();
    }
    end(all, now.run);
}

#endif

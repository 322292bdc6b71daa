/* What each block does in a launch: it begins a run, executes the program for its parts, and ends the run.
 * The kernels of kernel_cuda.cu call run_with_flags and run_with_lines; the unit tests call them, too. */
#ifndef PTO_KERNEL_RUN_CUH
#define PTO_KERNEL_RUN_CUH

#include "kernel_flags.cuh"
#include "kernel_lines.cuh"

/* Ends a run, after a barrier. The last block stores the run's number in host memory, if asked to. */
static __device__ void end(const run_state &parameter, uint64_t run) {
    if (threadIdx.x != 0)
        return;
    parameter.states[blockIdx.x].last_run = run;
    if (parameter.reports_end && (gridDim.x == 1 || is_last_block(&parameter.common->blocks_completed)))
        store_release(parameter.ended, run);
}

/* For a launch whose parameter has no run number: returns the number, and sets whether this block is `idle`.
 * It is idle if it gave up in an earlier run, or if an earlier kernel gave up in this run. Call it after
 * wait_for_run_before, since the previous run and the earlier kernels store that state. All threads of a
 * block find the same: the number is stored only at the end of a run, after a barrier; and if a thread gives
 * up in this run meanwhile, it stores this run's number, which the others ignore. */
static __device__ uint64_t find_run(const run_state &parameter, bool &idle) {
    const block_state state = load_state(&parameter.states[blockIdx.x]);
    const uint64_t run = state.last_run + 1;
    idle = state.gave_up_in != 0 && state.gave_up_in != run;
    return run;
}

/* Tables of parts (kernel_program.cuh) in shared memory. Slice s uses table s % 3, because up to three slices
 * are in use at a time: the one whose work phase follows, the one being sent, and the one being computed. */
struct parts_tables {
    enum { COUNT = 3 };
    part at[COUNT][OPERANDS_MAX];
};

/* Begins a run: computes the parts of slice 0, and returns the run's number. If the number is not known yet,
 * the parts of even runs are computed first, so that this overlaps the end of the previous run. */
static __device__ uint64_t begin(const device_program &program, part *parts, bool &idle) {
    if (threadIdx.x == 0)
        *gave_up_here() = 0;
    find_parts(program, blockIdx.x, program.run, parts);
    __syncthreads();
    wait_for_run_before();
    if (program.run != 0)
        return program.run;
    const uint64_t run = find_run(program, idle);
    if (run % 2 != 0)
        use_odd_copies(program, parts);
    return run;
}

/* Executes the program, in the order of turns.h. A slice's parts are computed one slice in advance, so that
 * the barriers of the ops in between make them visible. A block that gave up earlier executes nothing. */
template <typename T, typename Op>
static __device__ void run_with_flags(const device_program &program, parts_tables &parts) {
    bool idle = false;
    const uint64_t run = begin(program, parts.at[0], idle);
    const unsigned turns = idle ? 0 : pto_turn_count(program.slices);
#pragma unroll 1
    for (unsigned turn = 0; turn < turns; turn++) {
        const pto_turn_t now = turn_of(program, turn);
        if (now.slice == program.slices)
            continue;
        const unsigned part_number = blockIdx.x + now.slice * gridDim.x;
        if (now.begins && now.slice + 1 < program.slices)
            find_parts(program, part_number + gridDim.x, run,
                       parts.at[(now.slice + 1) % parts_tables::COUNT]);
        do_ops<T, Op>(program, now.first, now.end, parts.at[now.slice % parts_tables::COUNT], part_number,
                      run, idle);
    }
    __syncthreads();
    end(program, run);
}

/* Executes each op for all parts of the block before the next op, so that it sends everything that other
 * GPUs wait for before it waits. Once it has given up, it skips the ops that depend on missing data. */
template <typename T, typename Op>
static __device__ void run_with_lines(const device_program &program, line_operand *operands) {
    bool idle = false;
    lines_run now = {operands, program.run, gridDim.x * program.slices, program};
    if (threadIdx.x == 0)
        *gave_up_here() = 0;
    for (unsigned i = threadIdx.x; i < program.operand_count; i += blockDim.x)
        operands[i] = line_operand_of(operand_of(program, i), now.parts);
    __syncthreads();
    wait_for_run_before();
    if (program.run == 0)
        now.run = find_run(program, idle);
#pragma unroll 1
    for (unsigned i = 0; i < program.op_count; i++) {
        idle = idle || (i >= program.send_end && *gave_up_here() != 0);
        const unsigned parts = idle ? 0 : now.parts;
#pragma unroll 1
        for (unsigned part_number = blockIdx.x; part_number < parts; part_number += gridDim.x)
            if (program.ops[i].kind == PTO_KERNEL_REDUCE)
                reduce_lines<T>(program.ops[i], part_number, now, operation<Op>(program.choice));
            else
                copy_lines(program.ops[i], part_number, now);
        __syncthreads();
    }
    end(program, now.run);
}

#endif

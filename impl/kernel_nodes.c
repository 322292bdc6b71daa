/* Kernels of a plan (kernel_nodes.h). All GPUs use the same number of blocks, which grows with the data.
 * exec.c creates and frees the kernels, tasks.c starts them. */
#include <math.h>
#include <stdlib.h>

#include "buffers.h"
#include "kernel_nodes.h"
#include "portolan/strategy.h"
#include "watchdog.h"

enum { PATIENCE_MAX_S = 30 * 24 * 3600 };
enum { SLICES_MAX = 64 }; /* each slice costs flags and microseconds */

static bool has_kernels(const pto_plan_t *plan) {
    for (int n = 0; n < pto_plan_node_count(plan); n++)
        if (pto_plan_node(plan, n)->kind == PTO_NODE_KERNEL)
            return true;
    return false;
}

static int64_t larger(int64_t one, int64_t other) { return one > other ? one : other; }

/* Returns the size of the buffer that a step's slice is in. In the field of a halo exchange, only borders and
 * halos are copied; for these, returns the bytes of all copies of the step. */
static int64_t used_bytes(const pto_plan_t *plan, int64_t rank, const pto_step_t *step,
                          const pto_slice_t *slice, int64_t k) {
    pto_action_t action;
    bool field = pto_collective_data(pto_plan_request(plan)->collective) == PTO_DATA_GRID &&
                 pto_plan_buffer(plan, slice->buffer)->role == PTO_ROLE_OUT;
    if (!field)
        return pto_buffer_bytes(plan, slice->buffer, rank);
    if (!pto_step_acts(plan, step, rank, k, &action))
        return 0;
    int64_t bytes = 0;
    for (int64_t next = 0; pto_step_next(plan, &next, &action);)
        bytes += pto_slice_bytes(plan, slice, &action);
    return bytes;
}

/* Returns the maximum of used_bytes over all copies and reductions of a rank's kernels. */
static int64_t max_used_bytes(const pto_plan_t *plan, int64_t rank) {
    int64_t max_bytes = 0;
    pto_walk_t walk;
    pto_walk_begin(&walk, plan);
    while (pto_walk_next(&walk))
        for (int i = 0; i < walk.stage->step_count; i++) {
            const pto_step_t *step = pto_plan_step(plan, walk.stage->step_first + i);
            if (!step->in_kernel || !pto_step_is_local(step))
                continue;
            max_bytes = larger(max_bytes, used_bytes(plan, rank, step, &step->source, walk.k));
            max_bytes = larger(max_bytes, used_bytes(plan, rank, step, &step->target, walk.k));
        }
    return max_bytes;
}

/* Returns how many blocks or slices are worthwhile for `bytes`, with `bytes_each`: from 1 to `max`. */
static int64_t count_for(int64_t bytes, int64_t bytes_each, int64_t max) {
    int64_t wanted = (bytes + bytes_each - 1) / bytes_each;
    return larger(wanted < max ? wanted : max, 1);
}

/* Numbers of which the minimum over all ranks is computed: the negated bytes, the index of the buffer that a
 * rank wants in line format, and that index negated. PTO_LINES_ANY is larger than any of them. */
enum { WANTED_BYTES, WANTED_LINES, WANTED_LINES_NEGATED, WANTED_COUNT };

/* Lowers each number to the one that a rank wants. */
static void lower_to_wanted(const pto_exec_t *exec, int64_t rank, int64_t least[WANTED_COUNT]) {
    const pto_kernels_t *kernels = exec->device->kernels;
    const int lines = kernels ? pto_lines(exec->plan, rank, kernels->lines_bytes_max) : PTO_LINES_ANY;
    const int64_t wanted[WANTED_COUNT] = {[WANTED_BYTES] = -max_used_bytes(exec->plan, rank),
                                          [WANTED_LINES] = lines,
                                          [WANTED_LINES_NEGATED] =
                                              lines != PTO_LINES_ANY ? -lines : PTO_LINES_ANY};
    for (int i = 0; i < WANTED_COUNT; i++)
        least[i] = wanted[i] < least[i] ? wanted[i] : least[i];
}

/* In symmetric memory the processes exchange nothing, so each computes the numbers of all ranks. */
static void find_least_wanted(const pto_exec_t *exec, int64_t least[WANTED_COUNT]) {
    const int64_t ranks = pto_layout_rank_count(&pto_plan_request(exec->plan)->layout);
    for (int i = 0; i < WANTED_COUNT; i++)
        least[i] = INT64_MAX;
    for (int64_t rank = 0; rank < ranks; rank++)
        if (exec->job.team->reach || rank == exec->job.logical)
            lower_to_wanted(exec, rank, least);
}

/* All GPUs need the same number of blocks, because a block's peers are the same blocks on other GPUs. They
 * must also agree on the buffer in line format, since both sides of a store must use it, and then there are
 * no flags: if ranks want different buffers, there is none. */
pto_status_t pto_kernels_agree(pto_exec_t *exec, pto_error_t *err) {
    const pto_request_t *request = pto_plan_request(exec->plan);
    const pto_kernels_t *kernels = exec->device->kernels;
    int blocks = 0;
    if (!has_kernels(exec->plan))
        return PTO_OK;
    pto_status_t status = kernels ? kernels->blocks_max(request->datatype, exec->op, &blocks, err)
                                  : pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                                                  "%s runs kernels, but device %s does not support them",
                                                  request->strategy->name, exec->device->name);
    if (status == PTO_OK && blocks < 1)
        status = pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "not even one block of %s's kernel fits on a GPU",
                               request->strategy->name);
    int64_t least[WANTED_COUNT + 1];
    find_least_wanted(exec, least);
    least[WANTED_COUNT] = blocks;
    status = pto_agree_least(exec->job.team, status, least, WANTED_COUNT + 1, err);
    if (status != PTO_OK || !kernels)
        return status;
    bool agreed = least[WANTED_LINES] == -least[WANTED_LINES_NEGATED]; /* minimum equals maximum */
    exec->lines = agreed ? (int)least[WANTED_LINES] : PTO_LINES_NONE;
    pto_kernel_cut_t cut = exec->lines >= 0 ? kernels->lines_cut : kernels->flags_cut;
    if (exec->options.slice_bytes > 0)
        cut.slice_bytes = exec->options.slice_bytes;
    int64_t bytes = exec->lines >= 0 ? pto_request_largest_bytes(request) : -least[WANTED_BYTES];
    exec->kernel_blocks = (int)count_for(bytes, cut.block_bytes, least[WANTED_COUNT]);
    exec->kernel_slices = (int)count_for(bytes, exec->kernel_blocks * cut.slice_bytes, SLICES_MAX);
    return PTO_OK;
}

/* Returns the kernel before this one that the process takes part in. */
static const void *kernel_before(const pto_exec_t *exec, const pto_exec_kernel_t *kernel) {
    const pto_exec_kernel_t *first = exec->kernels.item;
    while (kernel > first)
        if ((--kernel)->handle)
            return kernel->handle;
    return NULL;
}

static pto_kernel_program_t program_of(const pto_exec_t *exec, const pto_exec_kernel_t *kernel) {
    const pto_program_t *written = &kernel->program;
    return (pto_kernel_program_t){
        .ops = written->ops.item,
        .op_count = written->ops.count,
        .operands = written->operands.item,
        .operand_count = written->operands.count,
        .blocks = exec->kernel_blocks,
        .slices = exec->kernel_slices,
        .flag_pitch_bytes = pto_exec_flag_pitch_bytes(exec),
        .datatype = pto_plan_request(exec->plan)->datatype,
        .op = exec->op,
        .before = kernel_before(exec, kernel),
        .patience_s = exec->options.timeout_s < 0 ? 0 : fmin(exec->watchdog.timeout_s, PATIENCE_MAX_S),
    };
}

bool pto_kernels_gave_up(const pto_exec_t *exec) {
    const pto_exec_kernel_t *kernel = exec->kernels.item;
    bool gave_up = false;
    for (int i = 0; exec->enqueued && i < exec->kernels.count; i++)
        gave_up |= kernel[i].handle && exec->device->kernels->gave_up(kernel[i].handle);
    return gave_up;
}

void pto_exec_stop(pto_exec_t *exec) {
    const pto_exec_kernel_t *kernel = exec->kernels.item;
    for (int i = 0; i < exec->kernels.count; i++)
        if (kernel[i].handle)
            exec->device->kernels->stop(kernel[i].handle);
}

pto_status_t pto_kernels_reserve(const pto_exec_t *exec, pto_error_t *err) {
    const pto_exec_kernel_t *kernel = exec->kernels.item;
    pto_status_t status = PTO_OK;
    for (int i = 0; i < exec->kernels.count && status == PTO_OK; i++)
        if (kernel[i].handle && exec->device->kernels->reserve)
            status = exec->device->kernels->reserve(kernel[i].handle, err);
    return status;
}

pto_status_t pto_kernel_rebind(const pto_exec_t *exec, const pto_exec_kernel_t *kernel, pto_error_t *err) {
    const pto_kernel_program_t program = program_of(exec, kernel);
    return kernel->handle ? exec->device->kernels->rebind(kernel->handle, &program, err) : PTO_OK;
}

static pto_status_t create(const pto_exec_t *exec, pto_exec_kernel_t *kernel, pto_error_t *err) {
    /* With several kernels, another one may read the lines that a copy fills. */
    if (exec->lines >= 0 && exec->kernels.count == 1)
        pto_program_forward(&kernel->program);
    pto_program_fuse(&kernel->program);
    const pto_kernel_program_t program = program_of(exec, kernel);
    return program.op_count > 0 ? exec->device->kernels->create(&program, &kernel->handle, err) : PTO_OK;
}

pto_status_t pto_kernels_make(pto_exec_t *exec, pto_error_t *err) {
    pto_status_t status = PTO_OK;
    for (int i = 0; i < exec->kernels.count && status == PTO_OK; i++)
        status = create(exec, (pto_exec_kernel_t *)exec->kernels.item + i, err);
    return status;
}

void pto_kernels_free(pto_exec_t *exec) {
    pto_exec_kernel_t *kernel = exec->kernels.item;
    for (int i = 0; i < exec->kernels.count; i++) {
        exec->device->kernels->destroy(kernel[i].handle);
        pto_program_fini(&kernel[i].program);
    }
    free(exec->kernels.item);
}

pto_status_t pto_kernel_start(pto_exec_t *exec, int index, bool wait, bool *finished, pto_error_t *err) {
    void *kernel = ((pto_exec_kernel_t *)exec->kernels.item)[index].handle;
    pto_status_t status = PTO_OK;
    *finished = true;
    if (exec->kernel && exec->kernel != kernel)
        status = pto_kernel_settle(exec, wait, finished, err);
    if (status != PTO_OK || !*finished)
        return status;
    exec->kernel = kernel;
    return exec->device->kernels->start(kernel, exec->run, exec->queued, exec->lane[0].stream, err);
}

/* The time-out of queued runs starts again with every run that completes. */
static void note_ended(pto_exec_t *exec, uint64_t ended) {
    if (ended != exec->ended && exec->queued)
        atomic_store_explicit(&exec->watchdog.began_ns, pto_now_ns(), memory_order_relaxed);
    exec->ended = ended;
}

pto_status_t pto_kernel_settle(pto_exec_t *exec, bool wait, bool *finished, pto_error_t *err) {
    pto_status_t status = PTO_OK;
    int spins = 0;
    for (;;) {
        uint64_t ended = 0;
        *finished = false;
        for (int i = 0; i < exec->device->kernels->polls_at_once && status == PTO_OK && !*finished; i++) {
            status = exec->device->kernels->poll(exec->kernel, &ended, err);
            *finished = status == PTO_OK && ended >= exec->run;
        }
        if (status == PTO_OK)
            note_ended(exec, ended);
        if (status != PTO_OK || *finished || !wait)
            break;
        status = pto_job_rest(&exec->job, &spins, err);
        if (status != PTO_OK)
            break;
    }
    if (*finished) {
        exec->kernel = NULL;
        exec->lane[0].pending = false; /* the kernel was the last work in the stream */
    }
    return status;
}

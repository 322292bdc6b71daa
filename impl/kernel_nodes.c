/* Kernels of a plan: choosing the number of blocks, creating the kernels on the device, and waiting for
 * them. */
#include <math.h>
#include <stdlib.h>

#include "buffers.h"
#include "kernel_nodes.h"
#include "portolan/strategy.h"
#include "watchdog.h"

enum { PATIENCE_MAX_S = 30 * 24 * 3600 };
enum { SLICES_MAX = 64 }; /* each slice costs flags and microseconds */

/* --- how many blocks ----------------------------------------------------------------------------------- */

static bool has_kernels(const pto_plan_t *plan) {
    for (int n = 0; n < pto_plan_node_count(plan); n++)
        if (pto_plan_node(plan, n)->kind == PTO_NODE_KERNEL)
            return true;
    return false;
}

static int64_t larger(int64_t one, int64_t other) { return one > other ? one : other; }

/* Returns the bytes of a slice that a step uses. A halo exchange uses only the borders and halos of its
 * field: the bytes of all the step's copies. */
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

/* Size of the largest buffer, or the most cells, that a kernel of a rank copies or reduces. */
static int64_t most_bytes(const pto_plan_t *plan, int64_t rank) {
    int64_t most = 0;
    pto_walk_t walk;
    pto_walk_begin(&walk, plan);
    while (pto_walk_next(&walk))
        for (int i = 0; i < walk.stage->step_count; i++) {
            const pto_step_t *step = pto_plan_step(plan, walk.stage->step_first + i);
            if (!step->in_kernel || !pto_step_is_local(step))
                continue;
            most = larger(most, used_bytes(plan, rank, step, &step->source, walk.k));
            most = larger(most, used_bytes(plan, rank, step, &step->target, walk.k));
        }
    return most;
}

static int64_t pieces(int64_t bytes, int64_t piece_bytes, int64_t most) {
    int64_t wanted = (bytes + piece_bytes - 1) / piece_bytes;
    return wanted < 1 ? 1 : wanted < most ? wanted : most;
}

/* Numbers that the kernels of all ranks must agree on; the least of each decides. */
enum { ASK_BYTES, ASK_LINES, ASK_NO_OTHER_LINES, ASK_COUNT };

static void ask(const pto_exec_t *exec, int64_t rank, int64_t least[ASK_COUNT]) {
    const pto_kernels_t *kernels = exec->device->kernels;
    const int lines = kernels ? pto_lines(exec->plan, rank, kernels->lines_bytes_max) : PTO_LINES_ANY;
    const int64_t asked[ASK_COUNT] = {[ASK_BYTES] = -most_bytes(exec->plan, rank),
                                      [ASK_LINES] = lines,
                                      [ASK_NO_OTHER_LINES] = lines != PTO_LINES_ANY ? -lines : PTO_LINES_ANY};
    for (int i = 0; i < ASK_COUNT; i++)
        least[i] = asked[i] < least[i] ? asked[i] : least[i];
}

/* In symmetric memory the processes exchange nothing, so each asks for all. */
static void ask_for_known(const pto_exec_t *exec, int64_t least[ASK_COUNT]) {
    const int64_t ranks = pto_layout_rank_count(&pto_plan_request(exec->plan)->layout);
    for (int i = 0; i < ASK_COUNT; i++)
        least[i] = INT64_MAX;
    for (int64_t rank = 0; rank < ranks; rank++)
        if (exec->job.team->reach || rank == exec->job.logical)
            ask(exec, rank, least);
}

/* All GPUs need the same number of blocks, because a block's peers are the same blocks on other GPUs. They
 * must also agree on the buffer in line format, since both sides of a store must use it and there are no
 * flags then: if some rank needs another buffer, or none, there is none. How large the buffer is follows from
 * the plan. */
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
    int64_t least[ASK_COUNT + 1];
    ask_for_known(exec, least);
    least[ASK_COUNT] = blocks;
    status = pto_agree_least(exec->job.team, status, least, ASK_COUNT + 1, err);
    if (status != PTO_OK || !kernels)
        return status;
    /* the lowest index is the highest, of those that have one */
    bool agreed = least[ASK_LINES] == -least[ASK_NO_OTHER_LINES];
    exec->lines = agreed ? (int)least[ASK_LINES] : PTO_LINES_NONE;
    pto_kernel_cut_t cut = exec->lines >= 0 ? kernels->lines_cut : kernels->flags_cut;
    if (exec->options.slice_bytes > 0)
        cut.slice_bytes = exec->options.slice_bytes;
    int64_t bytes = exec->lines >= 0 ? pto_request_largest_bytes(request) : -least[ASK_BYTES];
    exec->kernel_blocks = (int)pieces(bytes, cut.block_bytes, least[ASK_COUNT]);
    exec->kernel_slices = (int)pieces(bytes, exec->kernel_blocks * cut.slice_bytes, SLICES_MAX);
    return PTO_OK;
}

/* --- making -------------------------------------------------------------------------------------------- */

/* The one before it that this process takes part in. */
static const void *kernel_before(const pto_exec_t *exec, const pto_exec_kernel_t *kernel) {
    const pto_exec_kernel_t *first = exec->kernels.item;
    while (kernel > first)
        if ((--kernel)->made)
            return kernel->made;
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
        gave_up |= kernel[i].made && exec->device->kernels->gave_up(kernel[i].made);
    return gave_up;
}

void pto_exec_stop(pto_exec_t *exec) {
    const pto_exec_kernel_t *kernel = exec->kernels.item;
    for (int i = 0; i < exec->kernels.count; i++)
        if (kernel[i].made)
            exec->device->kernels->stop(kernel[i].made);
}

pto_status_t pto_kernels_reserve(const pto_exec_t *exec, pto_error_t *err) {
    const pto_exec_kernel_t *kernel = exec->kernels.item;
    pto_status_t status = PTO_OK;
    for (int i = 0; i < exec->kernels.count && status == PTO_OK; i++)
        if (kernel[i].made && exec->device->kernels->reserve)
            status = exec->device->kernels->reserve(kernel[i].made, err);
    return status;
}

pto_status_t pto_kernel_rebind(const pto_exec_t *exec, const pto_exec_kernel_t *kernel, pto_error_t *err) {
    const pto_kernel_program_t program = program_of(exec, kernel);
    return kernel->made ? exec->device->kernels->rebind(kernel->made, &program, err) : PTO_OK;
}

static pto_status_t make(const pto_exec_t *exec, pto_exec_kernel_t *kernel, pto_error_t *err) {
    if (exec->lines >= 0 && exec->kernels.count == 1) /* else another kernel may read the lines */
        pto_program_forward(&kernel->program);
    pto_program_fuse(&kernel->program);
    const pto_kernel_program_t program = program_of(exec, kernel);
    return program.op_count > 0 ? exec->device->kernels->create(&program, &kernel->made, err) : PTO_OK;
}

pto_status_t pto_kernels_make(pto_exec_t *exec, pto_error_t *err) {
    pto_status_t status = PTO_OK;
    for (int i = 0; i < exec->kernels.count && status == PTO_OK; i++)
        status = make(exec, (pto_exec_kernel_t *)exec->kernels.item + i, err);
    return status;
}

void pto_kernels_free(pto_exec_t *exec) {
    pto_exec_kernel_t *kernel = exec->kernels.item;
    for (int i = 0; i < exec->kernels.count; i++) {
        exec->device->kernels->destroy(kernel[i].made);
        pto_program_fini(&kernel[i].program);
    }
    free(exec->kernels.item);
}

/* --- running ------------------------------------------------------------------------------------------- */

pto_status_t pto_kernel_start(pto_exec_t *exec, int index, bool wait, bool *finished, pto_error_t *err) {
    void *kernel = ((pto_exec_kernel_t *)exec->kernels.item)[index].made;
    pto_status_t status = PTO_OK;
    *finished = true;
    if (exec->kernel && exec->kernel != kernel)
        status = pto_kernel_settle(exec, wait, finished, err);
    if (status != PTO_OK || !*finished)
        return status;
    exec->kernel = kernel;
    return exec->device->kernels->start(kernel, exec->run, exec->queued, exec->lane[0].stream, err);
}

/* With queued runs, every run that completes restarts the watchdog's time-out. */
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

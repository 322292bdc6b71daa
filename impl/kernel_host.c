/* Kernels on the device that every machine has: the calling process goes through the program for all blocks,
 * each with a place of its own in it, and on with another block where one waits. Whoever is first changes
 * from run to run, so that a block that uses what another one's peer has not yet sent does not go unnoticed.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "parts.h"
#include "portolan/kernel.h"
#include "reduce.h"

/* Few enough to take turns, small enough that short vectors have several. */
enum { BLOCKS = 3, BLOCK_BYTES = 64 };

typedef struct {
    pto_kernel_program_t program;
    uint64_t started; /* runs */
    uint64_t ended;
    int at[BLOCKS];       /* the op that a block is at, in run `ended` + 1 */
    const void **sources; /* room for any reduction's */
} host_kernel_t;

static pto_status_t host_blocks_max(pto_datatype_t datatype, pto_op_t op, int *blocks, pto_error_t *err) {
    (void)datatype;
    (void)op;
    (void)err;
    *blocks = BLOCKS;
    return PTO_OK;
}

static void host_kernel_destroy(void *kernel) {
    host_kernel_t *host = kernel;
    if (host)
        free(host->sources);
    free(host);
}

static pto_status_t host_kernel_create(const pto_kernel_program_t *program, void **kernel, pto_error_t *err) {
    host_kernel_t *host = calloc(1, sizeof *host);
    if (host)
        host->sources = calloc((size_t)program->operand_count + 1, sizeof *host->sources);
    if (!host || !host->sources) {
        free(host);
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a kernel");
    }
    host->program = *program;
    *kernel = host;
    return PTO_OK;
}

static pto_status_t host_kernel_start(void *kernel, uint64_t run, void *stream, pto_error_t *err) {
    host_kernel_t *host = kernel;
    (void)stream;
    (void)err;
    host->started = run;
    return PTO_OK;
}

/* --- ops -------------------------------------------------------------------------------------------------
 */

/* One block in one run. */
typedef struct {
    host_kernel_t *host;
    int block;
    uint64_t run;
} turn_t;

static char *place(const turn_t *turn, const pto_operand_t *operand) {
    return (char *)operand->spot.at + (int64_t)(turn->run % 2) * operand->spot.apart_bytes;
}

static pto_part_t part(const turn_t *turn, const pto_operand_t *operand) {
    return pto_part(operand->bytes, turn->host->program.blocks, turn->block);
}

static void move(const turn_t *turn, const pto_operand_t *source, const pto_operand_t *target) {
    pto_part_t own = part(turn, source);
    if (own.bytes > 0)
        memmove(place(turn, target) + own.offset_bytes, place(turn, source) + own.offset_bytes,
                (size_t)own.bytes);
}

static void reduce(const turn_t *turn, const pto_operand_t *operand, int count) {
    const pto_kernel_program_t *program = &turn->host->program;
    pto_part_t own = part(turn, operand);
    char *target = place(turn, operand) + own.offset_bytes;
    const void **source = turn->host->sources;
    size_t elements = (size_t)(own.bytes / pto_datatype_bytes(program->datatype));
    for (int i = 1; i < count; i++)
        source[i - 1] = place(turn, &operand[i]) + own.offset_bytes;
    bool fresh = source[0] != target;
    pto_reduce_many_host(target, fresh, fresh ? source : source + 1, fresh ? count - 1 : count - 2, elements,
                         program->datatype, program->op);
}

static atomic_uint_fast64_t *flag_of(const turn_t *turn, const pto_operand_t *operand) {
    void *flag = place(turn, operand) + turn->block * turn->host->program.flag_pitch_bytes;
    return flag;
}

static bool all_raised(const turn_t *turn, const pto_operand_t *operand, int count) {
    for (int i = 0; i < count; i++)
        if (atomic_load_explicit(flag_of(turn, &operand[i]), memory_order_acquire) < turn->run)
            return false;
    return true;
}

/* False: it has to wait. */
static bool do_op(const turn_t *turn, const pto_kernel_op_t *op) {
    const pto_operand_t *operand = turn->host->program.operands + op->first;
    switch (op->kind) {
    case PTO_KERNEL_MOVE:
        for (int i = 0; i < op->count; i += 2)
            move(turn, &operand[i], &operand[i + 1]);
        break;
    case PTO_KERNEL_SPREAD:
        for (int i = 1; i < op->count; i++)
            move(turn, &operand[0], &operand[i]);
        break;
    case PTO_KERNEL_REDUCE:
        reduce(turn, operand, op->count);
        break;
    case PTO_KERNEL_SIGNAL:
        for (int i = 0; i < op->count; i++)
            atomic_store_explicit(flag_of(turn, &operand[i]), turn->run, memory_order_release);
        break;
    case PTO_KERNEL_WAIT:
        return all_raised(turn, operand, op->count);
    case PTO_KERNEL_KIND_COUNT:
        break;
    }
    return true;
}

/* --- runs ------------------------------------------------------------------------------------------------
 */

/* Each block as far as it gets. Returns whether any got on, and whether all are through. */
static bool sweep(host_kernel_t *host, uint64_t run, bool *through) {
    const pto_kernel_program_t *program = &host->program;
    bool moved = false;
    *through = true;
    for (int i = 0; i < program->blocks; i++) {
        turn_t turn = {host, (int)((run + (uint64_t)i) % (uint64_t)program->blocks), run};
        int *at = &host->at[turn.block];
        for (; *at < program->op_count && do_op(&turn, &program->ops[*at]); moved = true)
            ++*at;
        *through = *through && *at == program->op_count;
    }
    return moved;
}

static pto_status_t host_kernel_poll(void *kernel, uint64_t *ended, pto_error_t *err) {
    host_kernel_t *host = kernel;
    (void)err;
    for (bool moved = true, through = false; moved && host->ended < host->started;) {
        moved = sweep(host, host->ended + 1, &through);
        if (!through)
            continue;
        memset(host->at, 0, sizeof host->at);
        host->ended++;
    }
    *ended = host->ended;
    return PTO_OK;
}

extern const pto_kernels_t pto_kernels_host;
const pto_kernels_t pto_kernels_host = {
    .block_bytes = BLOCK_BYTES,
    .blocks_max = host_blocks_max,
    .create = host_kernel_create,
    .start = host_kernel_start,
    .poll = host_kernel_poll,
    .destroy = host_kernel_destroy,
};

/* Kernels: what one launch does on one GPU, with no process in its path. A plan's PTO_NODE_KERNEL becomes
 * such a program on every process that takes part, and a device's table of kernels runs it.
 *
 * A program is a list of ops. `blocks` blocks of threads go through it, each at its own pace and each with
 * its own part of every piece of bytes: how a piece is cut depends on its size and the number of blocks
 * alone, in whole units of 16 bytes, and what makes no whole unit goes to the last block. A block signals and
 * waits for the same block of other GPUs only, so nothing orders the blocks of one GPU among themselves.
 *
 * A flag is 64 bits in the memory of the GPU that waits, one for each block, and zero before the first run. A
 * signal of run r stores r there, once all that its block did before is seen by whoever reads r; a wait goes
 * on once it reads r or more. So nothing is reset between runs, which are counted from 1. */
#ifndef PORTOLAN_KERNEL_H
#define PORTOLAN_KERNEL_H

#include "portolan/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Run r uses at + r % 2 * apart_bytes: what runs use in turn has two copies. */
typedef struct {
    void *at;
    int64_t apart_bytes;
} pto_spot_t;

/* What an op's operands are. Those of one op don't disturb each other: none is written that another pair
 * reads or writes, so all may be done at the same time. */
typedef enum {
    PTO_KERNEL_MOVE,   /* pairs of a source and a target */
    PTO_KERNEL_SPREAD, /* a source and its targets, all of one size */
    PTO_KERNEL_REDUCE, /* a target and the sources that are combined into it, in their order, all of one size;
                          the first source may be the target itself */
    PTO_KERNEL_SIGNAL, /* flags of block 0 */
    PTO_KERNEL_WAIT,   /* flags of block 0 */
    PTO_KERNEL_KIND_COUNT
} pto_kernel_kind_t;

typedef struct {
    pto_kernel_kind_t kind;
    int first; /* of its operands */
    int count;
} pto_kernel_op_t;

typedef struct {
    pto_spot_t spot;
    int64_t bytes; /* 0 of flags */
} pto_operand_t;

typedef struct {
    const pto_kernel_op_t *ops;
    int op_count;
    const pto_operand_t *operands;
    int operand_count;
    int blocks;
    int64_t flag_pitch_bytes; /* from a block's flag to the next block's */
    pto_datatype_t datatype;  /* of reductions */
    pto_op_t op;
} pto_kernel_program_t;

/* What a device has to run kernels. Errors: PTO_ERR_IO with the call and its cause where the device fails. */
struct pto_kernels {
    int64_t block_bytes; /* a further block is worth it for so many bytes */
    /* How many blocks of such a kernel can be at work at the same time on the GPU that is selected. All must
     * be, as they wait for those of other GPUs. */
    pto_status_t (*blocks_max)(pto_datatype_t datatype, pto_op_t op, int *blocks, pto_error_t *err);
    /* The program's lists are borrowed until `destroy`. PTO_ERR_NOT_APPLICABLE: too long for this device. */
    pto_status_t (*create)(const pto_kernel_program_t *program, void **kernel, pto_error_t *err);
    /* Queue a run in a stream, after what stands there. Runs are numbered one after another, from 1. */
    pto_status_t (*start)(void *kernel, uint64_t run, void *stream, pto_error_t *err);
    /* The last run that has ended, 0 before the first; waits for nothing. A device without threads of its own
     * moves on in this call alone. */
    pto_status_t (*poll)(void *kernel, uint64_t *ended, pto_error_t *err);
    void (*destroy)(void *kernel); /* NULL is legal */
};

#ifdef __cplusplus
}
#endif

#endif

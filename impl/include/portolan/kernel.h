/* Kernels: what one launch does on one GPU, with no process in its path. A plan's PTO_NODE_KERNEL becomes
 * such a program on every process that takes part, and a device's table of kernels runs it.
 *
 * A program is a list of ops. `blocks` blocks of threads go through it, each at its own pace and each
 * `slices` times, every time with another part of every piece of bytes: slice s of block b has part s *
 * blocks + b. How a piece is cut depends on its size and the number of parts alone, in whole units of 16
 * bytes, and what makes no whole unit goes to the last part. For a part, a block signals and waits for the
 * same part of other GPUs only, so nothing orders the parts of one GPU among themselves but that a block
 * takes its own in turn.
 *
 * A flag is 64 bits in the memory of the GPU that waits, one for each part, and zero before the first run. A
 * signal of run r stores r there, once all that its block did before is seen by whoever reads r; a wait goes
 * on once it reads r or more. So nothing is reset between runs, which are counted from 1.
 *
 * Data may carry their flags instead: in lines, every 8 bytes lie in 16, each half of which holds 4 bytes of
 * data and the low 32 bits of the run's number, and is stored and loaded as one. Whoever uses lines waits
 * until all of them are of this run. Pieces in lines begin at whole lines, and are whole ones. */
#ifndef PORTOLAN_KERNEL_H
#define PORTOLAN_KERNEL_H

#include "portolan/api.h"
#include "portolan/device.h"

PTO_API_BEGIN

/* Run r uses at + r % 2 * apart_bytes: what runs use in turn has two copies. */
typedef struct {
    void *at;
    int64_t apart_bytes;
    bool lines; /* twice as long as the bytes that they hold; zero before the first run */
} pto_spot_t;

enum { PTO_LINE_DATA_BYTES = 8, PTO_LINE_BYTES = 16 };

/* Of memory that holds so many bytes. */
static inline int64_t pto_spot_bytes(bool lines, int64_t bytes) {
    return lines ? bytes * (PTO_LINE_BYTES / PTO_LINE_DATA_BYTES) : bytes;
}

/* What an op's operands are. Those of one op don't disturb each other: none is written that another pair
 * reads or writes, so all may be done at the same time. */
typedef enum {
    PTO_KERNEL_MOVE,   /* pairs of a source and a target, not both lines */
    PTO_KERNEL_SPREAD, /* a source, which is no lines, and its targets, all of one size */
    PTO_KERNEL_REDUCE, /* a target, which is no lines, and the sources that are combined into it, in their
                          order, all of one size; the first source may be the target itself */
    PTO_KERNEL_SIGNAL, /* flags of part 0 */
    PTO_KERNEL_WAIT,   /* flags of part 0 */
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
    int slices;
    int64_t flag_pitch_bytes; /* from a part's flag to the next part's */
    pto_datatype_t datatype;  /* of reductions */
    pto_op_t op;
} pto_kernel_program_t;

/* What a device has to run kernels. Errors: PTO_ERR_IO with the call and its cause where the device fails. */
struct pto_kernels {
    int64_t block_bytes; /* a further block is worth it for so many bytes */
    int64_t slice_bytes; /* and once there are as many as can be, a further slice: what blocks do at the same
                            time then lies close together */
    int64_t lines_bytes_max; /* up to so many bytes of a vector, or to each, lines are worth their double
                                length */
    /* How many blocks of such a kernel can be at work at the same time on the GPU that is selected. All must
     * be, as they wait for those of other GPUs. */
    pto_status_t (*blocks_max)(pto_datatype_t datatype, pto_op_t op, int *blocks, pto_error_t *err);
    /* The program's lists are borrowed until `destroy`. PTO_ERR_NOT_APPLICABLE: too long for this device. */
    pto_status_t (*create)(const pto_kernel_program_t *program, void **kernel, pto_error_t *err);
    /* Put a run in a stream, after what stands there. Runs are numbered one after another, from 1. `queued`:
     * others will probably follow before anybody waits. */
    pto_status_t (*start)(void *kernel, uint64_t run, bool queued, void *stream, pto_error_t *err);
    /* The last run that is known to have ended, 0 before the first; waits for nothing. The last that was
     * started becomes known as soon as it has ended, those queued before it perhaps later. A device without
     * threads of its own moves on in this call alone. */
    pto_status_t (*poll)(void *kernel, uint64_t *ended, pto_error_t *err);
    int polls_at_once; /* so many take no longer than anything else that a waiting process could do */
    void (*destroy)(void *kernel); /* NULL is legal */
};

PTO_API_END

#endif

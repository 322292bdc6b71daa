/* Kernels: a device's interface for programs that one launch executes on one GPU without involving the CPU.
 * Each process that takes part in a plan's PTO_NODE_KERNEL builds such a program, and the device runs it.
 *
 * A program is a list of ops. `blocks` thread blocks execute it, each at its own pace. A block executes the
 * program `slices` times, each time on another part of every operand: slice s of block b works on part s *
 * blocks + b. How an operand is cut into parts depends only on its size and on the number of parts (parts.h).
 * The bytes of rows are counted without the gaps, so rows and contiguous bytes of one size are cut in the
 * same way. A part signals and waits only for the same part on other GPUs. The parts of one GPU are not
 * ordered among themselves: a block may send one of its parts before it waits for another.
 *
 * A flag is 64 bits in the memory of the GPU that waits. There is one per part, initially zero. A signal in
 * run r stores r there, after all earlier stores of its block have become visible to any reader of r; a wait
 * continues as soon as it reads a value of at least r. Runs are counted from 1, so flags need no reset
 * between runs.
 *
 * Instead, data can carry their flags, as in NCCL's LL protocols. In the line format (line_format.h), each
 * store of 8 bytes includes a mark that alternates from write to write, and each line of 16 bytes has a tag
 * of one byte with the run's number and the two bits that the marks displaced. A reader polls a line until
 * marks and tag are this run's. Memory in line format is double-buffered and written in every run. In a
 * program with lines, parts are ordered only by what they read from lines. */
#ifndef PORTOLAN_KERNEL_H
#define PORTOLAN_KERNEL_H

#include "portolan/api.h"
#include "portolan/exec.h"
#include "portolan/rows.h"

PTO_C_BEGIN

/* A place in memory. If double-buffered, run r uses at + r % 2 * copy_stride_bytes; else that is 0. */
typedef struct {
    void *at;
    int64_t copy_stride_bytes;
    bool lines; /* in line format; zero before the first run */
} pto_spot_t;

enum { PTO_LINE_BYTES = 16 };

static inline int64_t pto_line_count(int64_t bytes) { return (bytes + PTO_LINE_BYTES - 1) / PTO_LINE_BYTES; }

/* Returns the size of memory for `bytes` of data; in line format, a multiple of a line. */
static inline int64_t pto_spot_bytes(bool lines, int64_t bytes) {
    int64_t count = pto_line_count(bytes);
    return lines ? (count + pto_line_count(count)) * PTO_LINE_BYTES : bytes;
}

/* The action of an op on its operands. The copies or reductions of one op are independent: none writes what
 * another one reads or writes, so all of them can be done concurrently. */
typedef enum {
    PTO_KERNEL_MOVE,   /* copies: pairs of (source, target), of which at most one is in line format */
    PTO_KERNEL_SPREAD, /* copies of one source, not in line format, to the targets that follow; one size */
    PTO_KERNEL_REDUCE, /* one target, then its sources, combined in this order, then `copies` more targets of
                          the result; all of one size, no target in line format; the first source may be the
                          target; in programs with lines, any source may be */
    PTO_KERNEL_SIGNAL, /* flags of part 0 */
    PTO_KERNEL_WAIT,   /* flags of part 0 */
    PTO_KERNEL_KIND_COUNT
} pto_kernel_kind_t;

typedef struct {
    pto_kernel_kind_t kind;
    int first; /* index of the first operand */
    int count;
    int copies; /* REDUCE without lines: the number of its last operands that are additional targets */
} pto_kernel_op_t;

typedef struct {
    pto_spot_t spot;
    int64_t bytes;   /* of data, all rows together; 0 for flags */
    pto_rows_t rows; /* several in a MOVE only, and not in line format */
} pto_operand_t;

typedef struct {
    const pto_kernel_op_t *ops;
    int op_count;
    const pto_operand_t *operands;
    int operand_count;
    int blocks;
    int slices;
    int64_t flag_pitch_bytes; /* from one part's flag to the next part's */
    double patience_s; /* time-out of an enqueued run's waits for other GPUs; 0: none; at most a month */
    pto_datatype_t datatype; /* datatype and operation of reductions */
    pto_op_t op;
    const void *before; /* the kernel, with as many blocks, that runs before this one in each run: once it has
                           given up, this one does nothing either; NULL: none */
} pto_kernel_program_t;

/* Data per part, with flags or in line format: with more, another block or slice is worthwhile. */
typedef struct {
    int64_t block_bytes; /* per block, until the maximum number of blocks is used */
    int64_t slice_bytes; /* per block and slice, so that the blocks access neighbouring memory at any time */
} pto_kernel_cut_t;

/* A device's kernel table. Errors: PTO_ERR_IO with the call and its cause if the device fails. */
struct pto_kernels {
    pto_kernel_cut_t flags_cut;
    pto_kernel_cut_t lines_cut;
    int64_t lines_bytes_max; /* largest vector, or block per peer, for which the line format pays off */
    /* Maximum number of resident blocks of such a kernel on the selected GPU. All blocks must be resident,
     * because they wait for blocks of other GPUs. */
    pto_status_t (*blocks_max)(pto_datatype_t datatype, pto_op_t op, int *blocks, pto_error_t *err);
    /* Borrows the program's lists until `destroy`. PTO_ERR_NOT_APPLICABLE: it is too long for this device. */
    pto_status_t (*create)(const pto_kernel_program_t *program, void **kernel, pto_error_t *err);
    /* Allocates the memory for one `rebind`, which then fails only if the device does: a process that rebinds
     * cannot tell the others of a failure. NULL: `rebind` needs no memory. */
    pto_status_t (*reserve)(void *kernel, pto_error_t *err);
    /* Changes addresses, after `reserve`: the program differs only in its operands' `spot.at`. Runs enqueued
     * before keep the old addresses. No run that `start` began is active. */
    pto_status_t (*rebind)(void *kernel, const pto_kernel_program_t *program, pto_error_t *err);
    /* Enqueues a run in a stream. Runs are numbered consecutively from 1. `queued` is a hint: other runs will
     * probably follow before the host waits. */
    pto_status_t (*start)(void *kernel, uint64_t run, bool queued, void *stream, pto_error_t *err);
    /* Enqueues a run in a stream of the caller's, which may be captured into a graph. Such runs are counted
     * on the device only: `start` and `poll` number the others as if there were none. The caller orders all
     * runs of a kernel one after another. */
    pto_status_t (*enqueue)(void *kernel, void *stream, pto_error_t *err);
    /* Returns whether an enqueued run has timed out (`patience_s`). It and all later runs then end with wrong
     * results, and no longer store or signal to other GPUs what depends on missing data. Thread-safe. */
    bool (*gave_up)(const void *kernel);
    /* Makes enqueued runs that wait give up, if they have a time-out. Thread-safe. */
    void (*stop)(void *kernel);
    /* Sets the number of the last run known to have ended, 0 before the first. Does not block. The end of the
     * last started run is reported at once; that of queued runs before it may be reported later. A device
     * without threads of its own makes progress only in this call. */
    pto_status_t (*poll)(void *kernel, uint64_t *ended, pto_error_t *err);
    int polls_at_once;             /* polls are cheap: as many as this before the host calls MPI */
    void (*destroy)(void *kernel); /* NULL is legal */
};

PTO_C_END

#endif

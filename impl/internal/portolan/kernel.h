/* Kernels: the program that one launch executes on one GPU without involving the CPU. Each process that takes
 * part in a plan's PTO_NODE_KERNEL builds such a program, and the device's kernel table runs it.
 *
 * A program is a list of ops. It is executed by `blocks` thread blocks, each at its own pace. A block
 * executes the program `slices` times, each time on another part of every operand: slice s of block b works
 * on part s * blocks + b. How an operand is cut into parts depends only on its size and on the number of
 * parts (parts.h): parts are whole units of a size that the device chooses, and the last one gets what is
 * left. The bytes of rows are counted without the gaps, so rows and contiguous bytes of one size are cut
 * alike. A part signals and waits only for the same part on other GPUs, and the parts of one GPU are not
 * ordered among themselves: a block may send one of its parts before it waits for another.
 *
 * A flag is 64 bits in the memory of the GPU that waits. There is one per part, initially zero. A signal in
 * run r stores r there, after all earlier stores of its block have become visible to any reader of r; a wait
 * continues as soon as it reads a value of at least r. Runs are counted from 1, so flags need no reset
 * between runs.
 *
 * Data can carry their flags instead. In the line format, 16 bytes of data take 17: every 8 bytes give one of
 * their bits to a mark, which is the other one each time that the memory is written, and a byte for each 16,
 * the tag, holds the two bits and the low bits of the run's number. Each 8 bytes and each tag are stored and
 * loaded by a single access. A reader waits until all that it reads is this run's. Memory in line format is
 * double-buffered and written in every run. No other order is implied: of a program with lines, each part is
 * only ordered by what it reads from them. */
#ifndef PORTOLAN_KERNEL_H
#define PORTOLAN_KERNEL_H

#include "portolan/api.h"
#include "portolan/exec.h"
#include "portolan/rows.h"

PTO_C_BEGIN

/* A place in memory. Double-buffered memory has two copies: run r uses at + r % 2 * apart_bytes. */
typedef struct {
    void *at;
    int64_t apart_bytes;
    bool lines; /* in line format; zero before the first run */
} pto_spot_t;

enum { PTO_LINE_BYTES = 16 };

static inline int64_t pto_line_count(int64_t bytes) { return (bytes + PTO_LINE_BYTES - 1) / PTO_LINE_BYTES; }

/* Size of the memory that holds `bytes` of data; in line format, a multiple of a line. */
static inline int64_t pto_spot_bytes(bool lines, int64_t bytes) {
    int64_t count = pto_line_count(bytes);
    return lines ? (count + pto_line_count(count)) * PTO_LINE_BYTES : bytes;
}

/* The action of an op on its operands. The copies or reductions of one op are independent: none writes what
 * another one reads or writes, so all of them can be done concurrently. */
typedef enum {
    PTO_KERNEL_MOVE,   /* pairs of (source, target), of which at most one is in line format */
    PTO_KERNEL_SPREAD, /* one source, not in line format, then its targets; all of one size */
    PTO_KERNEL_REDUCE, /* one target, then its sources, combined in this order, and `copies` more targets of
                          the result; all of one size, no target in line format; the first source may be the
                          target, and beside lines any one */
    PTO_KERNEL_SIGNAL, /* flags of part 0 */
    PTO_KERNEL_WAIT,   /* flags of part 0 */
    PTO_KERNEL_KIND_COUNT
} pto_kernel_kind_t;

typedef struct {
    pto_kernel_kind_t kind;
    int first; /* index of the first operand */
    int count;
    int copies; /* of a REDUCE without lines: how many of its operands, the last ones, are further targets */
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
    double patience_s;        /* of an enqueued run, for what other GPUs send; 0: no limit; at most a month */
    pto_datatype_t datatype;  /* datatype and operation of reductions */
    pto_op_t op;
    const void *before; /* a kernel with as many blocks, each run of which precedes one of this kernel: once
                           it has given up, this one does nothing either; NULL: none */
} pto_kernel_program_t;

/* How much data make more parts worthwhile, with flags or in line format. */
typedef struct {
    int64_t block_bytes; /* data per block for another block */
    int64_t slice_bytes; /* with the maximum number of blocks: data per block and slice for another slice, so
                            that blocks access neighbouring memory at any time */
} pto_kernel_cut_t;

/* A device's kernel table. Errors: PTO_ERR_IO with the call and its cause if the device fails. */
struct pto_kernels {
    pto_kernel_cut_t flags_cut;
    pto_kernel_cut_t lines_cut;
    int64_t lines_bytes_max; /* largest vector, or block per peer, for which the line format pays off */
    /* Maximum number of resident blocks of such a kernel on the selected GPU. All blocks must be resident,
     * because they wait for blocks of other GPUs. */
    pto_status_t (*blocks_max)(pto_datatype_t datatype, pto_op_t op, int *blocks, pto_error_t *err);
    /* The program's lists are borrowed until `destroy`. PTO_ERR_NOT_APPLICABLE: the program is too long for
     * this device. */
    pto_status_t (*create)(const pto_kernel_program_t *program, void **kernel, pto_error_t *err);
    /* Room for one `rebind`, which then fails only where the device fails. A process that rebinds knows by
     * then that the others do so, too. NULL: `rebind` takes no room. */
    pto_status_t (*reserve)(void *kernel, pto_error_t *err);
    /* Give the kernel other addresses, after `reserve`: the program is the same but for its operands'
     * `spot.at`. Runs enqueued before keep the old ones. No run that `start` began is active. */
    pto_status_t (*rebind)(void *kernel, const pto_kernel_program_t *program, pto_error_t *err);
    /* Enqueue a run in a stream. Runs are numbered consecutively from 1. `queued` is a hint: other runs will
     * probably follow before the host waits. */
    pto_status_t (*start)(void *kernel, uint64_t run, bool queued, void *stream, pto_error_t *err);
    /* Enqueue a run in a stream of the caller's, which may be one that is captured into a graph. Such runs
     * are counted where they execute and have no number of the host's; `start` and `poll` number the others
     * as before. The caller orders all runs of a kernel one after another. */
    pto_status_t (*enqueue)(void *kernel, void *stream, pto_error_t *err);
    /* Whether an enqueued run has lost its patience. It and all later runs then end without right results,
     * and without further stores or signals to others where their results would depend on what never came.
     * Callable by any thread. */
    bool (*gave_up)(const void *kernel);
    /* Make enqueued runs that wait give up, if they have a limit to their patience. Callable by
     * any thread. */
    void (*stop)(void *kernel);
    /* Number of the last run known to have ended, 0 before the first. Does not block. The end of the last
     * started run is reported at once; that of queued runs before it may be reported later. A device without
     * threads of its own makes progress only in this call. */
    pto_status_t (*poll)(void *kernel, uint64_t *ended, pto_error_t *err);
    int polls_at_once; /* polls per wait iteration; cheap enough to batch before the host calls MPI */
    void (*destroy)(void *kernel); /* NULL is legal */
};

PTO_C_END

#endif

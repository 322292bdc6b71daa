/* A kernel's program (kernel.h) as a kernel parameter, and the parts that a block works on. */
#ifndef PTO_KERNEL_PROGRAM_CUH
#define PTO_KERNEL_PROGRAM_CUH

#include "operations.cuh"
#include "parts.h"
#include "portolan/kernel.h"

enum { THREADS = 512 };

/* --- a program, as the parameter of the kernel --------------------------------------------------------- */

/* How an operand lies in memory. Rows are not double-buffered. */
enum form : uint8_t { FORM_PLAIN, FORM_LINES, FORM_ROWS };

struct row_shape {
    uint32_t bytes;
    uint32_t pitch_bytes;
};

/* Units (16 bytes) in each part, how many of the first parts have one more, and the bytes left over for the
 * last part: the rule of parts.h with the division already done. */
struct operand {
    char *at;
    union {
        int64_t apart_bytes;
        row_shape rows; /* FORM_ROWS */
    };
    uint32_t each;
    uint16_t more;
    uint8_t rest_bytes;
    form is;
};

struct op {
    uint8_t kind;  /* pto_kernel_kind_t, or MOVE_ROWS */
    uint8_t width; /* access width that the addresses allow: 16; 8 next to lines and in rows; 4; 1 */
    uint16_t count;
    uint16_t first;
};

enum { MOVE_ROWS = PTO_KERNEL_KIND_COUNT }; /* a MOVE with operands in rows */

/* Parameters are copied at each launch: 4 KiB take 0.7 us longer than 1 KiB. */
enum { OPS_MAX = 24, OPERANDS_NEAR = 33, OPERANDS_MAX = 256 };

struct program {
    uint64_t run;        /* 0: one more than each block's last run, so that a graph can be replayed */
    uint64_t *last_run;  /* by block */
    unsigned *through;   /* blocks that have completed this run; 0 between runs */
    uint64_t *ended;     /* in host memory: the last run that has ended, and whether one gave up waiting */
    const operand *more; /* operands after the first OPERANDS_NEAR, in device memory */
    uint32_t flag_pitch_bytes;
    uint32_t patience_ms; /* 0: wait for ever */
    uint16_t op_count;
    uint16_t operand_count;
    uint16_t slices;
    bool tells; /* report the run's end to the host */
    chosen by;  /* what reductions do, where the kernel is not compiled for it */
    op ops[OPS_MAX];
    operand operands[OPERANDS_NEAR];
};

static_assert(sizeof(program) <= 1024, "measured at 1 KiB");

/* --- one part --------------------------------------------------------------------------------------------
 *
 * All of the kernel's code is met anew by every launch, and fetching it takes longer than a short vector's
 * run. So what is fast is written once, for 16 bytes at a time, and what is rare is short. */

/* A part of one operand. */
struct part {
    char *at;       /* of rows: of the operand */
    unsigned units; /* at most 64 GiB */
    uint16_t rest_bytes;
    bool lines;
    uint32_t offset_bytes; /* of the part in its rows, without the gaps; at most 4 GiB */
    row_shape rows;        /* contiguous: a single row */
};

static __device__ size_t bytes_of(const part &own) {
    return static_cast<size_t>(own.units) * PTO_PART_UNIT_BYTES + own.rest_bytes;
}

static __device__ part part_of(const program &all, const operand &whole, unsigned number, uint64_t run) {
    const size_t first = static_cast<size_t>(number) * whole.each + min(number, unsigned(whole.more));
    const bool last = number == gridDim.x * all.slices - 1;
    part own = {whole.at,
                whole.each + (number < whole.more ? 1 : 0),
                static_cast<uint16_t>(last ? whole.rest_bytes : 0),
                whole.is == FORM_LINES,
                0,
                {UINT32_MAX, 0}};
    if (whole.is == FORM_ROWS) {
        own.offset_bytes = static_cast<uint32_t>(first * PTO_PART_UNIT_BYTES);
        own.rows = whole.rows;
    } else {
        const unsigned times = own.lines ? PTO_LINE_BYTES / PTO_LINE_DATA_BYTES : 1;
        own.at += static_cast<int64_t>(run % 2) * whole.apart_bytes + first * PTO_PART_UNIT_BYTES * times;
    }
    return own;
}

/* All operands' parts, each computed by its own thread. */
static __device__ void find_parts(const program &all, unsigned number, uint64_t run, part *own) {
    for (unsigned i = threadIdx.x; i < all.operand_count; i += THREADS)
        own[i] = part_of(all, i < OPERANDS_NEAR ? all.operands[i] : all.more[i - OPERANDS_NEAR], number, run);
    __syncthreads();
}

/* Turn the parts of an even run into those of an odd one. Each thread does so for those that it computed. */
static __device__ void use_odd_copies(const program &all, part *own) {
    for (unsigned i = threadIdx.x; i < all.operand_count; i += THREADS) {
        const operand &whole = i < OPERANDS_NEAR ? all.operands[i] : all.more[i - OPERANDS_NEAR];
        if (whole.is != FORM_ROWS)
            own[i].at += whole.apart_bytes;
    }
    __syncthreads();
}

#endif

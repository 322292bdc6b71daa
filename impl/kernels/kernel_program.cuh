/* A program (kernel.h) in the form of a kernel's parameter, and the parts of its operands. */
#ifndef PTO_KERNEL_PROGRAM_CUH
#define PTO_KERNEL_PROGRAM_CUH

#include "device/operations.cuh"
#include "kernel_memory.cuh"
#include "parts.h"
#include "portolan/kernel.h"
#include "turns.h"

enum { THREADS = 512 };

/* --- a program, as the parameter of the kernel --------------------------------------------------------- */

/* How an operand lies in memory. Rows are not double-buffered. */
enum form : uint8_t { FORM_PLAIN, FORM_LINES, FORM_ROWS };

struct row_shape {
    uint32_t bytes;
    uint32_t pitch_bytes;
};

/* A thread loads and stores units. Parts (parts.h) consist of pieces of PART_BYTES, one unit for each thread
 * of a warp, so that they are aligned to cache lines and each warp needs as few accesses as possible. */
enum { UNIT_BYTES = 16, PART_BYTES = 512 };

/* An operand with the division of parts.h already done: the pieces of PART_BYTES in each part, how many of
 * the first parts have one more, and the bytes that the last piece lacks. */
struct operand {
    char *at;
    union {
        int64_t copy_stride_bytes;
        row_shape rows; /* FORM_ROWS */
    };
    uint32_t pieces_each;
    uint16_t larger_parts;
    uint16_t lacking_bytes : 12;
    uint16_t is : 4; /* form */
};

struct op {
    uint8_t kind : 3;  /* pto_kernel_kind_t, or MOVE_ROWS */
    uint8_t width : 5; /* access width that the addresses allow: 16; 8 in rows; 4; 1 */
    uint8_t copies;    /* additional targets of a reduction */
    uint16_t count;    /* of operands */
    uint16_t first;    /* index of the first operand */
};

enum { MOVE_ROWS = PTO_KERNEL_KIND_COUNT }; /* a MOVE with operands in rows */

/* Parameters are copied at each launch: 4 KiB take 0.7 us longer than 1 KiB, and 8 bytes more 0.02 us. So
 * only the first operands ("near") are in the parameter, and the others ("far") in device memory. */
enum { OPS_MAX = 24, OPERANDS_NEAR = 33, OPERANDS_MAX = 256 };

/* State that the blocks of a kernel share, in device memory. */
struct common_state {
    unsigned blocks_completed; /* blocks that have completed this run; 0 between runs */
    block_state *states;       /* by block */
    common_state *after; /* of the kernel after this one in each run, with as many blocks; nullptr: none */
};

/* The part of a kernel's parameter that identifies the run and where its end is recorded. */
struct run_state {
    uint64_t run;         /* 0: one more than each block's last run, so that a graph can be replayed */
    block_state *states;  /* by block */
    common_state *common; /* of all blocks */
    uint64_t *ended;      /* in host memory: [0] the last run that has ended, [1] whether any gave up */
    uint32_t patience_ms; /* time-out of waits; 0: none */
    bool reports_end;     /* report the run's end to the host */
};

struct program : run_state {
    const operand *more; /* operands after the first OPERANDS_NEAR, in device memory */
    uint32_t flag_pitch_bytes;
    uint16_t op_count;
    uint16_t operand_count;
    uint16_t slices;
    uint8_t send_end; /* as in turns.h; with lines, the ops up to the first that reads lines */
    uint8_t work_end; /* as in turns.h */
    chosen by;        /* datatype and operation, where the kernel is not compiled for them */
    op ops[OPS_MAX];
    operand operands[OPERANDS_NEAR];
};

static_assert(sizeof(program) <= 1024, "measured at 1 KiB");

/* One peer of an exchange (kernel_exchange.cuh). */
struct exchange_peer {
    const char *sent; /* the vector to send */
    char *to;         /* the peer's lines */
    char *from;       /* this GPU's lines, in which the peer's vector arrives */
    char *target;     /* where that vector is copied to; in a sum, peer 0 has the result's target */
};

/* The parameter of an exchange's kernel, except its peers. All vectors have `units`. */
struct exchange_head : run_state {
    const char *own;  /* summed with the vectors that arrive, or copied; may be sent, too */
    char *own_target; /* where `own` is copied to; NULL: nowhere */
    int64_t to_copy_stride_bytes, from_copy_stride_bytes;
    uint32_t units;
    chosen by;
    uint8_t peers;
    uint8_t own_at; /* of a sum: how many peers' vectors come before `own` */
};

/* A kernel compiled for at most PEERS peers. A launch may pass an `any_exchange`: the layout is the same. */
template <int PEERS> struct exchange : exchange_head { exchange_peer peer[PEERS]; };

enum { EXCHANGE_PEERS_MAX = 7 };
typedef exchange<EXCHANGE_PEERS_MAX> any_exchange;

/* --- parts -----------------------------------------------------------------------------------------------
 *
 * Each launch fetches the kernel's code again, which takes longer than the run of a short vector. So there is
 * only one fast path, for 16 bytes at a time, and the code for rare cases is short. */

/* A part of one operand. */
struct part {
    char *at;       /* of the part; with rows, of the operand */
    unsigned units; /* at most 64 GiB */
    uint16_t rest_bytes;
    uint32_t offset_bytes; /* of the part in its rows, without the gaps; at most 4 GiB */
    row_shape rows;        /* contiguous: a single row */
};

static __device__ size_t bytes_of(const part &own) {
    return static_cast<size_t>(own.units) * UNIT_BYTES + own.rest_bytes;
}

/* Returns the number of pieces before part `number` of an operand. */
static __device__ size_t pieces_before(unsigned pieces_each, unsigned larger_parts, unsigned number) {
    return static_cast<size_t>(number) * pieces_each + min(number, larger_parts);
}

static __device__ size_t bytes_in_part(unsigned pieces_each, unsigned larger_parts, unsigned lacking_bytes,
                                       unsigned number, unsigned parts) {
    const size_t pieces = pieces_each + (number < larger_parts ? 1 : 0);
    const unsigned last = pieces_each > 0 ? parts - 1 : larger_parts - 1;
    return pieces * PART_BYTES - (number == last ? lacking_bytes : 0);
}

static __device__ part part_of(const program &all, const operand &whole, unsigned number, uint64_t run) {
    const size_t first = pieces_before(whole.pieces_each, whole.larger_parts, number) * PART_BYTES;
    const size_t bytes = bytes_in_part(whole.pieces_each, whole.larger_parts, whole.lacking_bytes, number,
                                       gridDim.x * all.slices);
    part own = {whole.at,
                static_cast<unsigned>(bytes / UNIT_BYTES),
                static_cast<uint16_t>(bytes % UNIT_BYTES),
                0,
                {UINT32_MAX, 0}};
    if (whole.is == FORM_ROWS) {
        own.offset_bytes = static_cast<uint32_t>(first);
        own.rows = whole.rows;
    } else {
        own.at += static_cast<int64_t>(run % 2) * whole.copy_stride_bytes + first;
    }
    return own;
}

static __device__ const operand &operand_of(const program &all, unsigned i) {
    return i < OPERANDS_NEAR ? all.operands[i] : all.more[i - OPERANDS_NEAR];
}

/* Computes the parts of all operands, each by one thread. After a barrier, all threads can read them. */
static __device__ void find_parts(const program &all, unsigned number, uint64_t run, part *own) {
    for (unsigned i = threadIdx.x; i < all.operand_count; i += THREADS)
        own[i] = part_of(all, operand_of(all, i), number, run);
}

/* Changes the parts of an even run into those of an odd run. Each thread changes those that it computed. */
static __device__ void use_odd_copies(const program &all, part *own) {
    for (unsigned i = threadIdx.x; i < all.operand_count; i += THREADS) {
        const operand &whole = operand_of(all, i);
        if (whole.is != FORM_ROWS)
            own[i].at += whole.copy_stride_bytes;
    }
    __syncthreads();
}

/* --- order ---------------------------------------------------------------------------------------------- */

static __device__ pto_turn_t turn_of(const program &all, unsigned turn) {
    return pto_turn(all.slices, {all.send_end, all.work_end, all.op_count}, turn);
}

#endif

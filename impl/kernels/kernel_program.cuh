/* A kernel's program (kernel.h) as a kernel parameter, and the parts that a block works on. */
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

/* A thread loads and stores units; parts are whole warps of them (parts.h), so that they begin where a line
 * of the cache does and a warp's accesses are as few as they can be. */
enum { UNIT_BYTES = 16, PART_BYTES = 512 };

/* Pieces of PART_BYTES in each part, how many of the first parts have one more, and the bytes that the
 * last one of all lacks: the rule of parts.h with the division already done. */
struct operand {
    char *at;
    union {
        int64_t apart_bytes;
        row_shape rows; /* FORM_ROWS */
    };
    uint32_t each;
    uint16_t more;
    uint16_t lacking_bytes : 12;
    uint16_t is : 4; /* form */
};

struct op {
    uint8_t kind : 3;  /* pto_kernel_kind_t, or MOVE_ROWS */
    uint8_t width : 5; /* access width that the addresses allow: 16; 8 in rows; 4; 1 */
    uint8_t copies;    /* further targets of a reduction */
    uint16_t count;
    uint16_t first;
};

enum { MOVE_ROWS = PTO_KERNEL_KIND_COUNT }; /* a MOVE with operands in rows */

/* Parameters are copied at each launch: 4 KiB take 0.7 us longer than 1 KiB, and 8 bytes more 0.02 us. */
enum { OPS_MAX = 24, OPERANDS_NEAR = 33, OPERANDS_MAX = 256 };

/* State that the blocks of a kernel share, in device memory. */
struct common_state {
    unsigned through;    /* blocks that have completed this run; 0 between runs */
    block_state *states; /* by block */
    common_state *after; /* of the kernel after this one in each run, with as many blocks; nullptr: none */
};

/* Each launch's record of its run, with the results that the next run and the host read. */
struct ledger {
    uint64_t run;         /* 0: one more than each block's last run, so that a graph can be replayed */
    block_state *states;  /* by block */
    common_state *common; /* of all blocks */
    uint64_t *ended;      /* in host memory: the last run that has ended, and whether one gave up waiting */
    uint32_t patience_ms; /* 0: wait for ever */
    bool tells;           /* report the run's end to the host */
};

struct program : ledger {
    const operand *more; /* operands after the first OPERANDS_NEAR, in device memory */
    uint32_t flag_pitch_bytes;
    uint16_t op_count;
    uint16_t operand_count;
    uint16_t slices;
    uint8_t sends; /* ops before the first wait; with lines, ops up to the first that waits for some */
    uint8_t works; /* ops before the waits that nothing follows */
    chosen by;     /* what reductions do, where the kernel is not compiled for it */
    op ops[OPS_MAX];
    operand operands[OPERANDS_NEAR];
};

static_assert(sizeof(program) <= 1024, "measured at 1 KiB");

/* The two directions of an exchange (kernel_exchange.cuh) with one GPU, which may differ. */
struct exchange_peer {
    const char *sent;
    char *to;     /* lines of the other GPU */
    char *from;   /* lines of this one */
    char *target; /* of what arrives; of a sum, the first peer's is the result's */
};

/* The parameter of an exchange's kernel, but for its peers. All vectors have `units`. */
struct exchange_head : ledger {
    const char *own; /* combined with what arrives, or copied; may be sent, too */
    char *kept;      /* where `own` is copied to; NULL: nowhere */
    int64_t to_apart_bytes, from_apart_bytes;
    uint32_t units;
    chosen by;
    uint8_t peers;
    uint8_t own_at; /* of a sum: how many peers' vectors come before `own` */
};

/* A kernel takes as many peers as are compiled in, or fewer. The first peers lie where those of any number
 * do, so that a launch may pass more. */
template <int PEERS> struct exchange : exchange_head { exchange_peer peer[PEERS]; };

enum { EXCHANGE_PEERS_MAX = 7 };
typedef exchange<EXCHANGE_PEERS_MAX> any_exchange;

/* --- one part --------------------------------------------------------------------------------------------
 *
 * Each launch fetches the kernel's code anew, which takes longer than the run of a short vector. So the fast
 * path exists once, for 16 bytes at a time, and the code for rare cases is short. */

/* A part of one operand. */
struct part {
    char *at;       /* of rows: of the operand */
    unsigned units; /* at most 64 GiB */
    uint16_t rest_bytes;
    uint32_t offset_bytes; /* of the part in its rows, without the gaps; at most 4 GiB */
    row_shape rows;        /* contiguous: a single row */
};

static __device__ size_t bytes_of(const part &own) {
    return static_cast<size_t>(own.units) * UNIT_BYTES + own.rest_bytes;
}

/* Pieces before part `number` of an operand, and bytes in it. */
static __device__ size_t pieces_before(unsigned each, unsigned more, unsigned number) {
    return static_cast<size_t>(number) * each + min(number, more);
}

static __device__ size_t bytes_in_part(unsigned each, unsigned more, unsigned lacking_bytes, unsigned number,
                                       unsigned parts) {
    const size_t pieces = each + (number < more ? 1 : 0);
    const unsigned last = each > 0 ? parts - 1 : more - 1;
    return pieces * PART_BYTES - (number == last ? lacking_bytes : 0);
}

static __device__ part part_of(const program &all, const operand &whole, unsigned number, uint64_t run) {
    const size_t first = pieces_before(whole.each, whole.more, number) * PART_BYTES;
    const size_t bytes =
        bytes_in_part(whole.each, whole.more, whole.lacking_bytes, number, gridDim.x * all.slices);
    part own = {whole.at,
                static_cast<unsigned>(bytes / UNIT_BYTES),
                static_cast<uint16_t>(bytes % UNIT_BYTES),
                0,
                {UINT32_MAX, 0}};
    if (whole.is == FORM_ROWS) {
        own.offset_bytes = static_cast<uint32_t>(first);
        own.rows = whole.rows;
    } else {
        own.at += static_cast<int64_t>(run % 2) * whole.apart_bytes + first;
    }
    return own;
}

static __device__ const operand &operand_of(const program &all, unsigned i) {
    return i < OPERANDS_NEAR ? all.operands[i] : all.more[i - OPERANDS_NEAR];
}

/* All operands' parts, each computed by its own thread; the others know them after a barrier. */
static __device__ void find_parts(const program &all, unsigned number, uint64_t run, part *own) {
    for (unsigned i = threadIdx.x; i < all.operand_count; i += THREADS)
        own[i] = part_of(all, operand_of(all, i), number, run);
}

/* Turn the parts of an even run into those of an odd one. Each thread does so for those that it computed. */
static __device__ void use_odd_copies(const program &all, part *own) {
    for (unsigned i = threadIdx.x; i < all.operand_count; i += THREADS) {
        const operand &whole = operand_of(all, i);
        if (whole.is != FORM_ROWS)
            own[i].at += whole.apart_bytes;
    }
    __syncthreads();
}

/* --- order ---------------------------------------------------------------------------------------------- */

static __device__ pto_turn_t turn_of(const program &all, unsigned turn) {
    return pto_turn(all.slices, {all.sends, all.works, all.op_count}, turn);
}

#endif

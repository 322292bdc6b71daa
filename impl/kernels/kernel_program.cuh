/* A program (kernel.h) in the form of a kernel's parameter, and the parts of its operands. The host fills in
 * the parameter (kernel_translate.cuh); the device code reads it. */
#ifndef PTO_KERNEL_PROGRAM_CUH
#define PTO_KERNEL_PROGRAM_CUH

#include "device/operations.cuh"
#include "kernel_memory.cuh"
#include "parts.h"
#include "portolan/kernel.h"
#include "turns.h"

enum { THREADS = 512 }; /* of a block, in programs with flags */

/* How an operand lies in memory: contiguous, in line format, or (not double-buffered) as rows. */
enum form : uint8_t { FORM_PLAIN, FORM_LINES, FORM_ROWS };

struct row_shape {
    uint32_t bytes;
    uint32_t pitch_bytes;
};

/* A thread loads and stores units of 16 bytes. Parts (parts.h) consist of pieces of 512 bytes, a unit for
 * each thread of a warp, so that they are aligned to cache lines and a warp needs few accesses. */
enum { UNIT_BYTES = 16, PIECE_BYTES = 512 };

/* An operand, with the divisions of parts.h done by the host. */
struct operand {
    char *at; /* its address; if it is double-buffered, the copy of even runs */
    union {
        int64_t copy_stride_bytes;
        row_shape rows; /* FORM_ROWS */
    };
    uint32_t pieces_each; /* in each part, but for one more in each of the first `larger_parts` */
    uint16_t larger_parts;
    uint16_t lacking_bytes : 12; /* bytes by which the last piece is shorter than PIECE_BYTES */
    uint16_t form : 4;
};

struct op {
    uint8_t kind : 3;  /* pto_kernel_kind_t, or MOVE_ROWS */
    uint8_t width : 5; /* bytes of an access, as the addresses allow: 16, 4, 1; for rows also 8 */
    uint8_t copies;    /* additional targets of a reduction */
    uint16_t count;    /* of operands */
    uint16_t first;    /* index of the first operand */
};

enum { MOVE_ROWS = PTO_KERNEL_KIND_COUNT }; /* a MOVE with operands in rows */

/* Parameters are copied at each launch: 4 KiB take 0.7 us longer than 1 KiB, and 8 bytes more 0.02 us. So
 * only the first operands ("near") are in the parameter, and the others ("far") in device memory. */
enum { OPS_MAX = 24, OPERANDS_NEAR = 33, OPERANDS_MAX = 256 };

/* State of all blocks of a kernel, in device memory. An executor's kernels form a list, in their order. */
struct common_state {
    unsigned blocks_completed; /* blocks that have completed this run; 0 between runs */
    block_state *states;       /* by block */
    common_state *after; /* the next kernel's, which has as many blocks; nullptr: this is the last kernel */
};

/* The part of a kernel's parameter that identifies the run and where its end is recorded. */
struct run_state {
    uint64_t run;        /* number; 0: each block adds 1 to its last run's, so that a graph can be replayed */
    block_state *states; /* by block */
    common_state *common; /* of all blocks */
    uint64_t *ended;      /* in host memory: [0] the last run that has ended, [1] not 0 if a block gave up */
    uint32_t patience_ms; /* time-out of waits; 0: none */
    bool reports_end;     /* report the run's end to the host */
};

struct device_program : run_state {
    const operand *more; /* operands after the first OPERANDS_NEAR, in device memory */
    uint32_t flag_pitch_bytes;
    uint16_t op_count;
    uint16_t operand_count;
    uint16_t slices;
    uint8_t send_end; /* as in turns.h; with lines, the number of ops up to the first that reads lines */
    uint8_t work_end; /* as in turns.h */
    op_choice choice; /* datatype and operation, where the kernel is not compiled for them */
    op ops[OPS_MAX];
    operand operands[OPERANDS_NEAR];
};

static_assert(sizeof(device_program) <= 1024, "measured at 1 KiB");

/* A vector that an exchange (kernel_exchange.cuh) sends, and one that arrives, maybe of another peer. */
struct exchange_peer {
    const char *sent; /* the vector to send */
    char *to;         /* lines in the peer's memory, to which it is sent */
    char *from;       /* lines in this GPU's memory, in which a vector arrives */
    char *target;     /* where that vector is copied to; in a sum, peer 0 has the target of the result */
};

/* The parameter of an exchange's kernel, except its peers. Every vector consists of `units` units. */
struct exchange_head : run_state {
    const char *own;  /* this GPU's vector: summed with those that arrive, or copied; may be sent, too */
    char *own_target; /* where `own` is copied to; nullptr: nowhere */
    int64_t to_copy_stride_bytes, from_copy_stride_bytes;
    uint32_t units;
    op_choice choice;
    uint8_t peers;
    uint8_t own_at; /* of a sum: how many peers' vectors come before `own` */
};

/* The parameter of a kernel compiled for at most PEERS peers. A launch may pass an `any_exchange` instead,
 * because the first PEERS peers lie at the same offsets. */
template <int PEERS> struct exchange : exchange_head { exchange_peer peer[PEERS]; };

enum { EXCHANGE_PEERS_MAX = 7 };
typedef exchange<EXCHANGE_PEERS_MAX> any_exchange;

/* --- parts -----------------------------------------------------------------------------------------------
 *
 * A part is what one block handles of an operand in one slice. Each launch fetches the kernel's code again,
 * which takes longer than the run of a short vector. So there is only one fast path, for 16 bytes at a time,
 * and the code for rare cases is short. */

struct part {
    char *at;              /* address of the part; with rows, of the operand */
    unsigned units;        /* whole units; so a part has at most 64 GiB */
    uint16_t rest_bytes;   /* after the whole units */
    uint32_t offset_bytes; /* with rows: of the part in the operand, without the gaps; at most 4 GiB */
    row_shape rows;        /* contiguous memory is a single row */
};

static __device__ size_t bytes_of(const part &own) {
    return static_cast<size_t>(own.units) * UNIT_BYTES + own.rest_bytes;
}

/* Returns the number of pieces of an operand before a part, whose number counts from 0. */
static __device__ size_t pieces_before(unsigned pieces_each, unsigned larger_parts, unsigned part_number) {
    return static_cast<size_t>(part_number) * pieces_each + min(part_number, larger_parts);
}

/* The operand's last piece is in the last part that is not empty. */
static __device__ size_t bytes_in_part(unsigned pieces_each, unsigned larger_parts, unsigned lacking_bytes,
                                       unsigned part_number, unsigned parts) {
    const size_t pieces = pieces_each + (part_number < larger_parts ? 1 : 0);
    const unsigned last_part = pieces_each > 0 ? parts - 1 : larger_parts - 1;
    return pieces * PIECE_BYTES - (part_number == last_part ? lacking_bytes : 0);
}

static __device__ part part_of(const device_program &program, const operand &whole, unsigned part_number,
                               uint64_t run) {
    const size_t offset = pieces_before(whole.pieces_each, whole.larger_parts, part_number) * PIECE_BYTES;
    const size_t bytes = bytes_in_part(whole.pieces_each, whole.larger_parts, whole.lacking_bytes,
                                       part_number, gridDim.x * program.slices);
    part own = {whole.at,
                static_cast<unsigned>(bytes / UNIT_BYTES),
                static_cast<uint16_t>(bytes % UNIT_BYTES),
                0,
                {UINT32_MAX, 0}};
    if (whole.form == FORM_ROWS) {
        own.offset_bytes = static_cast<uint32_t>(offset);
        own.rows = whole.rows;
    } else {
        own.at += static_cast<int64_t>(run % 2) * whole.copy_stride_bytes + offset;
    }
    return own;
}

static __device__ const operand &operand_of(const device_program &program, unsigned i) {
    return i < OPERANDS_NEAR ? program.operands[i] : program.more[i - OPERANDS_NEAR];
}

/* Writes this part of every operand to the table `own`. After a barrier, all threads can read it. */
static __device__ void find_parts(const device_program &program, unsigned part_number, uint64_t run,
                                  part *own) {
    for (unsigned i = threadIdx.x; i < program.operand_count; i += THREADS)
        own[i] = part_of(program, operand_of(program, i), part_number, run);
}

/* Changes the parts of an even run into those of an odd run. Each thread changes those that it computed. */
static __device__ void use_odd_copies(const device_program &program, part *own) {
    for (unsigned i = threadIdx.x; i < program.operand_count; i += THREADS) {
        const operand &whole = operand_of(program, i);
        if (whole.form != FORM_ROWS)
            own[i].at += whole.copy_stride_bytes;
    }
    __syncthreads();
}

static __device__ pto_turn_t turn_of(const device_program &program, unsigned turn) {
    return pto_turn(program.slices, {program.send_end, program.work_end, program.op_count}, turn);
}

#endif

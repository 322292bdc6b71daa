/* Describe a call as far as one process can by itself. Arguments that MPI ignores are not looked at, and
 * wrong ones are MPI's to report. */
#include "base/hash.h"
#include "dropin.h"
#include "spaces.h"

/* --- datatypes and operations --------------------------------------------------------------------------- */

/* Size of an element of a datatype without gaps that MPI has named; 0: of any other one. The last one is
 * remembered, as named datatypes are never freed. */
static int64_t plain_bytes(MPI_Datatype type) {
    static _Thread_local MPI_Datatype known;
    static _Thread_local int64_t known_bytes;
    int integers, addresses, types, combiner, size = 0;
    MPI_Aint first, extent;
    if (type == MPI_DATATYPE_NULL)
        return 0;
    if (known_bytes > 0 && type == known)
        return known_bytes;
    MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    if (combiner != MPI_COMBINER_NAMED)
        return 0;
    MPI_Type_size(type, &size);
    MPI_Type_get_extent(type, &first, &extent);
    if (first != 0 || extent != size)
        return 0;
    known = type;
    known_bytes = size;
    return size;
}

/* Open MPI lacks these where it was built without Fortran. */
#ifndef MPI_REAL4
#define MPI_REAL4 MPI_DATATYPE_NULL
#endif
#ifndef MPI_REAL8
#define MPI_REAL8 MPI_DATATYPE_NULL
#endif
#ifndef MPI_INTEGER1
#define MPI_INTEGER1 MPI_DATATYPE_NULL
#endif
#ifndef MPI_INTEGER2
#define MPI_INTEGER2 MPI_DATATYPE_NULL
#endif
#ifndef MPI_INTEGER4
#define MPI_INTEGER4 MPI_DATATYPE_NULL
#endif
#ifndef MPI_INTEGER8
#define MPI_INTEGER8 MPI_DATATYPE_NULL
#endif

/* MPI's datatypes that hold the same numbers as the devices' of their size, and the operations that MPI has
 * for them. MPI_LOGICAL is left out: what is true need not be 1 in Fortran. */
enum { LOGICAL = 1, OTHERS = 2, ALIKE_MAX = 9 };
typedef struct {
    pto_number_t number;
    int ops;
    MPI_Datatype type[ALIKE_MAX];
} alike_t;

static const alike_t *find_alike(MPI_Datatype type) {
    static const alike_t list[] = {
        {PTO_NUMBER_REAL,
         OTHERS,
         {MPI_FLOAT, MPI_DOUBLE, MPI_REAL, MPI_DOUBLE_PRECISION, MPI_REAL4, MPI_REAL8}},
        {PTO_NUMBER_SIGNED,
         LOGICAL | OTHERS,
         {MPI_INT, MPI_LONG, MPI_LONG_LONG, MPI_SHORT, MPI_SIGNED_CHAR, MPI_INT8_T, MPI_INT16_T, MPI_INT32_T,
          MPI_INT64_T}},
        {PTO_NUMBER_UNSIGNED,
         LOGICAL | OTHERS,
         {MPI_UNSIGNED, MPI_UNSIGNED_LONG, MPI_UNSIGNED_LONG_LONG, MPI_UNSIGNED_SHORT, MPI_UNSIGNED_CHAR,
          MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T}},
        {PTO_NUMBER_SIGNED, OTHERS, {MPI_INTEGER, MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8}},
        {PTO_NUMBER_COMPLEX,
         OTHERS,
         {MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_COMPLEX, MPI_DOUBLE_COMPLEX}},
        {PTO_NUMBER_UNSIGNED, LOGICAL, {MPI_C_BOOL}},
        {PTO_NUMBER_BYTE, OTHERS, {MPI_BYTE}},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        for (int j = 0; j < ALIKE_MAX; j++)
            if (list[i].type[j] == type)
                return &list[i];
    return NULL;
}

static pto_op_t known_op(MPI_Op op) {
    const MPI_Op known[PTO_OP_COUNT] = {
        [PTO_OP_SUM] = MPI_SUM,   [PTO_OP_PROD] = MPI_PROD,   [PTO_OP_MIN] = MPI_MIN,
        [PTO_OP_MAX] = MPI_MAX,   [PTO_OP_AVG] = MPI_OP_NULL, /* MPI has none */
        [PTO_OP_LAND] = MPI_LAND, [PTO_OP_LOR] = MPI_LOR,     [PTO_OP_LXOR] = MPI_LXOR,
        [PTO_OP_BAND] = MPI_BAND, [PTO_OP_BOR] = MPI_BOR,     [PTO_OP_BXOR] = MPI_BXOR};
    pto_op_t found = PTO_OP_SUM;
    while (found < PTO_OP_COUNT && known[found] != op)
        found++;
    return found;
}

/* Returns how a reduction reads a datatype; PTO_DATATYPE_COUNT: the devices do not combine it like MPI. */
static pto_datatype_t number_type(MPI_Datatype type, int64_t bytes, pto_op_t op) {
    const alike_t *alike = find_alike(type);
    bool logical = op == PTO_OP_LAND || op == PTO_OP_LOR || op == PTO_OP_LXOR;
    pto_datatype_t datatype = PTO_DATATYPE_BYTE;
    if (!alike || !(alike->ops & (logical ? LOGICAL : OTHERS)))
        return PTO_DATATYPE_COUNT;
    while (datatype < PTO_DATATYPE_COUNT &&
           (pto_datatype_number(datatype) != alike->number || pto_datatype_bytes(datatype) != bytes))
        datatype++;
    return pto_op_takes(op, datatype, NULL) == PTO_OK ? datatype : PTO_DATATYPE_COUNT;
}

/* --- buffers -------------------------------------------------------------------------------------------- */

static bool is_on_gpu(const void *memory) {
    if (!drop.device || drop.assumes_host)
        return false;
    if (drop.assumes_gpu)
        return memory != NULL;
    return memory != NULL && preload_spaces_differ && preload_space(memory) == PRELOAD_GPU;
}

static bool is_in_host(const void *memory) {
    if (drop.assumes_gpu || !drop.takes_host || !memory)
        return false;
    return drop.assumes_host || !preload_spaces_differ || preload_space(memory) == PRELOAD_CPU;
}

static bool has_in(const drop_call_t *call, int rank) {
    if (call->in == MPI_IN_PLACE || (call->collective == PTO_COLLECTIVE_ALLGATHERV && call->in_count == 0))
        return false;
    return call->collective != PTO_COLLECTIVE_BROADCAST || rank == call->root;
}

static bool has_out(const drop_call_t *call, int rank) {
    return call->collective != PTO_COLLECTIVE_REDUCE || rank == call->root;
}

/* --- counts that differ ----------------------------------------------------------------------------- */

int64_t drop_row_count(const drop_rows_t *rows, int peer) {
    return rows->large ? (int64_t)((const MPI_Count *)rows->counts)[peer] : ((const int *)rows->counts)[peer];
}

int64_t drop_rows_count(const drop_rows_t *rows, int size) {
    int64_t sum = 0;
    for (int i = 0; i < size; i++)
        sum += drop_row_count(rows, i);
    return sum;
}

int64_t drop_row_bytes(const drop_rows_t *rows, MPI_Datatype type, int peer) {
    return drop_row_count(rows, peer) * plain_bytes(type);
}

int64_t drop_row_place(const drop_rows_t *rows, MPI_Datatype type, int peer) {
    int64_t place =
        rows->large ? (int64_t)((const MPI_Aint *)rows->places)[peer] : ((const int *)rows->places)[peer];
    return place * plain_bytes(type);
}

bool drop_call_packed(const drop_call_t *call, int side, int size) {
    const drop_rows_t *rows = side == 0 ? &call->in_rows : &call->out_rows;
    MPI_Datatype type = side == 0 ? call->in_type : call->out_type;
    int64_t at = 0;
    if (side == 0 && call->collective == PTO_COLLECTIVE_ALLTOALLV && call->in == MPI_IN_PLACE)
        return false;
    for (int i = 0; drop_has_rows(rows) && i < size; i++) {
        int64_t bytes = drop_row_bytes(rows, type, i);
        if (bytes > 0 && drop_row_place(rows, type, i) != at)
            return false;
        at += bytes;
    }
    return true;
}

static uint64_t counts_digest(const drop_call_t *call, int size) {
    uint64_t digest = PTO_HASH_START;
    for (int i = 0; i < size; i++) {
        if (drop_has_rows(&call->in_rows) && call->in != MPI_IN_PLACE)
            digest = pto_hash_add(digest, (uint64_t)drop_row_bytes(&call->in_rows, call->in_type, i));
        digest = pto_hash_add(digest, (uint64_t)drop_row_bytes(&call->out_rows, call->out_type, i));
    }
    return digest | 1;
}

/* --- all of it ------------------------------------------------------------------------------------------ */

static bool moves_whole_blocks(const drop_call_t *call, int rank, int64_t bytes) {
    if (call->collective == PTO_COLLECTIVE_ALLGATHERV && call->in != MPI_IN_PLACE)
        return call->in_count * plain_bytes(call->in_type) ==
               drop_row_bytes(&call->out_rows, call->out_type, rank);
    if (!has_in(call, rank) || drop_has_rows(&call->out_rows))
        return true;
    return call->in_count * plain_bytes(call->in_type) == bytes;
}

/* Only a reduce_scatter has counts without places; those of MPI_Reduce_scatter may differ. */
static bool equal_counts(const drop_call_t *call, int size) {
    const drop_rows_t *rows = &call->out_rows;
    for (int i = 1; rows->counts && !drop_has_rows(rows) && i < size; i++)
        if (drop_row_count(rows, i) != drop_row_count(rows, 0))
            return false;
    return true;
}

static bool plain_types(const drop_call_t *call, int rank) {
    return (!has_in(call, rank) || plain_bytes(call->in_type) > 0) && plain_bytes(call->out_type) > 0;
}

static bool has_no_data(const drop_call_t *call, const drop_cell_t *cell, int size) {
    if (cell->counts == 0)
        return cell->bytes <= 0;
    return call->collective == PTO_COLLECTIVE_ALLGATHERV && drop_rows_count(&call->out_rows, size) <= 0;
}

/* Why this process's buffers are not all in a GPU's memory or, where it pays to take such calls, in the
 * host's. */
static const char *why_not_here(const drop_comm_t *comm, const drop_call_t *call, bool *in_host) {
    bool reads = has_in(call, comm->rank), writes = has_out(call, comm->rank);
    bool same = reads && writes && call->out == call->in;
    *in_host = false;
    if ((reads || writes) && (!reads || is_on_gpu(call->in)) && (!writes || same || is_on_gpu(call->out)))
        return NULL;
    if (call->why_not_host)
        return call->why_not_host;
    if (!drop.assumes_host && drop_foreign_runtime())
        return "host buffers beside the runtime of other GPUs";
    *in_host = (reads || writes) && (!reads || is_in_host(call->in)) && (!writes || is_in_host(call->out));
    if (!*in_host)
        return "buffers in host memory";
    /* MPI may report it, but others must hear of it, which the user's promise leaves out. */
    bool is_error = same && call->collective != PTO_COLLECTIVE_BROADCAST;
    return is_error && !drop.assumes_host ? "one buffer for input and output" : NULL;
}

bool drop_call_cell(const drop_comm_t *comm, const drop_call_t *call, drop_cell_t *cell, const char **why) {
    int rank = comm->rank, size = comm->size;
    *cell = (drop_cell_t){
        .collective = call->collective, .datatype = PTO_DATATYPE_BYTE, .op = PTO_OP_SUM, .root = call->root};
    if (drop_has_root(call->collective) && (call->root < 0 || call->root >= size))
        *why = "a root that does not exist";
    else
        *why = why_not_here(comm, call, &cell->in_host);
    if (!*why && !plain_types(call, rank))
        *why = "a datatype that is not a basic one";
    if (*why)
        return false;
    int64_t element_bytes = plain_bytes(call->out_type);
    if (drop_has_rows(&call->out_rows))
        cell->counts = counts_digest(call, size);
    else
        cell->bytes = call->out_count * element_bytes;
    cell->in_place = call->collective == PTO_COLLECTIVE_ALLREDUCE && call->in == MPI_IN_PLACE;
    if (call->op != MPI_OP_NULL) {
        cell->op = known_op(call->op);
        cell->datatype = number_type(call->out_type, element_bytes, cell->op);
    }
    if (cell->op == PTO_OP_COUNT || cell->datatype == PTO_DATATYPE_COUNT)
        *why = "an operation or datatype that plans do not reduce";
    else if (has_no_data(call, cell, size))
        *why = "no data";
    else if (!equal_counts(call, size) || !moves_whole_blocks(call, rank, cell->bytes))
        *why = "blocks of different sizes";
    return !*why;
}

int64_t drop_call_bytes(const drop_call_t *call, int size) {
    if (call->collective == PTO_COLLECTIVE_ALLTOALLV || call->out_type == MPI_DATATYPE_NULL)
        return -1;
    MPI_Count element_bytes = (MPI_Count)plain_bytes(call->out_type);
    int64_t bytes;
    if (element_bytes == 0)
        MPI_Type_size_x(call->out_type, &element_bytes);
    int64_t count = drop_has_rows(&call->out_rows) ? drop_rows_count(&call->out_rows, size) : call->out_count;
    return __builtin_mul_overflow(count, (int64_t)element_bytes, &bytes) ? -1 : bytes;
}

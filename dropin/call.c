/* What a process can tell of a call by itself. Arguments that MPI ignores are not looked at, and wrong ones
 * are MPI's to report. */
#include "dropin.h"
#include "spaces.h"

/* --- datatypes and operations --------------------------------------------------------------------------- */

/* Size of an element of a datatype without gaps that MPI has named; 0: of any other one. The last one is
 * remembered, as named datatypes are never freed. */
static int64_t plain_bytes(MPI_Datatype type) {
    static MPI_Datatype known = MPI_DATATYPE_NULL;
    static int64_t known_bytes;
    int integers, addresses, types, combiner, size = 0;
    MPI_Aint first, extent;
    if (type == MPI_DATATYPE_NULL)
        return 0;
    if (type == known)
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

static bool is_among(MPI_Datatype type, const MPI_Datatype *list, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (type == list[i])
            return true;
    return false;
}
#define AMONG(type, ...)                                                                                     \
    is_among(type, (const MPI_Datatype[]){__VA_ARGS__},                                                      \
             sizeof((const MPI_Datatype[]){__VA_ARGS__}) / sizeof(MPI_Datatype))

/* How a reduction reads a datatype; PTO_DATATYPE_COUNT: it is none that the devices reduce. */
static pto_datatype_t number_type(MPI_Datatype type, int64_t bytes) {
    if (AMONG(type, MPI_FLOAT, MPI_DOUBLE, MPI_REAL, MPI_DOUBLE_PRECISION, MPI_REAL4, MPI_REAL8))
        return bytes == (int64_t)sizeof(float)    ? PTO_DATATYPE_FLOAT
               : bytes == (int64_t)sizeof(double) ? PTO_DATATYPE_DOUBLE
                                                  : PTO_DATATYPE_COUNT;
    if (AMONG(type, MPI_INT, MPI_LONG, MPI_LONG_LONG, MPI_INT32_T, MPI_INT64_T, MPI_INTEGER, MPI_INTEGER4,
              MPI_INTEGER8))
        return bytes == (int64_t)sizeof(int32_t)   ? PTO_DATATYPE_INT32
               : bytes == (int64_t)sizeof(int64_t) ? PTO_DATATYPE_INT64
                                                   : PTO_DATATYPE_COUNT;
    return PTO_DATATYPE_COUNT;
}

static pto_op_t known_op(MPI_Op op) {
    return op == MPI_SUM    ? PTO_OP_SUM
           : op == MPI_PROD ? PTO_OP_PROD
           : op == MPI_MIN  ? PTO_OP_MIN
           : op == MPI_MAX  ? PTO_OP_MAX
                            : PTO_OP_COUNT;
}

/* --- buffers -------------------------------------------------------------------------------------------- */

static bool is_on_gpu(const void *memory) {
    if (drop.assumes_gpu)
        return memory != NULL;
    return memory != NULL && preload_spaces_differ && preload_space(memory) == PRELOAD_GPU;
}

static bool has_in(const drop_call_t *call, int rank) {
    if (call->in == MPI_IN_PLACE)
        return false;
    return call->collective != PTO_COLLECTIVE_BROADCAST || rank == call->root;
}

static bool has_out(const drop_call_t *call, int rank) {
    return call->collective != PTO_COLLECTIVE_REDUCE || rank == call->root;
}

/* --- counts of an alltoallv ----------------------------------------------------------------------------- */

int64_t drop_row_count(const drop_rows_t *rows, int peer) {
    return rows->large ? (int64_t)((const MPI_Count *)rows->counts)[peer] : ((const int *)rows->counts)[peer];
}

int64_t drop_row_bytes(const drop_rows_t *rows, MPI_Datatype type, int peer) {
    return drop_row_count(rows, peer) * plain_bytes(type);
}

int64_t drop_row_place(const drop_rows_t *rows, MPI_Datatype type, int peer) {
    int64_t place =
        rows->large ? (int64_t)((const MPI_Aint *)rows->places)[peer] : ((const int *)rows->places)[peer];
    return place * plain_bytes(type);
}

static uint64_t mix(uint64_t digest, int64_t number) {
    return ((digest ^ (uint64_t)number) * 0x100000001b3u) ^ digest >> 29;
}

static uint64_t counts_digest(const drop_call_t *call, int size) {
    uint64_t digest = 0xcbf29ce484222325u;
    for (int i = 0; i < size; i++) {
        if (call->in != MPI_IN_PLACE)
            digest = mix(digest, drop_row_bytes(&call->in_rows, call->in_type, i));
        digest = mix(digest, drop_row_bytes(&call->out_rows, call->out_type, i));
    }
    return digest | 1;
}

/* --- all of it ------------------------------------------------------------------------------------------ */

static bool moves_whole_blocks(const drop_call_t *call, int rank, int64_t bytes) {
    if (!has_in(call, rank) || call->collective == PTO_COLLECTIVE_ALLTOALLV)
        return true;
    return call->in_count * plain_bytes(call->in_type) == bytes;
}

static bool plain_types(const drop_call_t *call, int rank) {
    return (!has_in(call, rank) || plain_bytes(call->in_type) > 0) && plain_bytes(call->out_type) > 0;
}

static bool has_root(pto_collective_t collective) {
    return pto_collective_is_from_root(collective) || pto_collective_is_to_root(collective);
}

bool drop_call_cell(const drop_call_t *call, int rank, int size, drop_cell_t *cell, const char **why) {
    bool reads = has_in(call, rank), writes = has_out(call, rank);
    bool on_gpu = (reads || writes) && (!reads || is_on_gpu(call->in)) && (!writes || is_on_gpu(call->out));
    *cell = (drop_cell_t){
        .collective = call->collective, .datatype = PTO_DATATYPE_BYTE, .op = PTO_OP_SUM, .root = call->root};
    if (has_root(call->collective) && (call->root < 0 || call->root >= size))
        *why = "a root that does not exist";
    else if (!on_gpu)
        *why = "buffers in host memory";
    else if (!plain_types(call, rank))
        *why = "a datatype that is not a basic one";
    if (*why)
        return false;
    int64_t element_bytes = plain_bytes(call->out_type);
    if (call->collective == PTO_COLLECTIVE_ALLTOALLV)
        cell->counts = counts_digest(call, size);
    else
        cell->bytes = call->out_count * element_bytes;
    if (call->op != MPI_OP_NULL) {
        cell->datatype = number_type(call->out_type, element_bytes);
        cell->op = known_op(call->op);
    }
    if (cell->op == PTO_OP_COUNT || cell->datatype == PTO_DATATYPE_COUNT)
        *why = "an operation or datatype that is not reduced on GPUs";
    else if (cell->counts == 0 && cell->bytes <= 0)
        *why = "no data";
    else if (!moves_whole_blocks(call, rank, cell->bytes))
        *why = "blocks of different sizes";
    return !*why;
}

int64_t drop_call_bytes(const drop_call_t *call) {
    int size = 0;
    if (call->collective == PTO_COLLECTIVE_ALLTOALLV || call->out_type == MPI_DATATYPE_NULL)
        return -1;
    MPI_Type_size(call->out_type, &size);
    return call->out_count * size;
}

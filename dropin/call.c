/* What one process can tell about a call without the others: whether it can take the call over, and the key
 * of its route. Arguments that MPI ignores are not read, and wrong ones are left to MPI to report. */
#include "base/hash.h"
#include "dropin.h"
#include "spaces.h"

/* Size of an element of a predefined datatype without gaps; 0 for any other datatype. The last one is cached:
 * predefined datatypes are never freed. */
static int64_t plain_bytes(MPI_Datatype type) {
    static _Thread_local MPI_Datatype cached;
    static _Thread_local int64_t cached_bytes;
    int integers, addresses, types, combiner, size = 0;
    MPI_Aint first, extent;
    if (type == MPI_DATATYPE_NULL)
        return 0;
    if (cached_bytes > 0 && type == cached)
        return cached_bytes;
    MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    if (combiner != MPI_COMBINER_NAMED)
        return 0;
    MPI_Type_size(type, &size);
    MPI_Type_get_extent(type, &first, &extent);
    if (first != 0 || extent != size)
        return 0;
    cached = type;
    cached_bytes = size;
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

/* MPI's datatypes that a device's datatype of the same size can represent, and the classes of operations that
 * MPI defines for them. MPI_LOGICAL is left out: Fortran's .true. need not be 1. */
enum { LOGICAL = 1, OTHERS = 2, TYPES_MAX = 9 };
typedef struct {
    pto_number_t number;
    int ops;
    MPI_Datatype type[TYPES_MAX];
} number_types_t;

static const number_types_t *find_number_types(MPI_Datatype type) {
    static const number_types_t list[] = {
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
        for (int j = 0; j < TYPES_MAX; j++)
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

/* Returns the device's datatype for a reduction; PTO_DATATYPE_COUNT: devices do not reduce it as MPI does. */
static pto_datatype_t number_type(MPI_Datatype type, int64_t bytes, pto_op_t op) {
    const number_types_t *types = find_number_types(type);
    bool logical = op == PTO_OP_LAND || op == PTO_OP_LOR || op == PTO_OP_LXOR;
    pto_datatype_t datatype = PTO_DATATYPE_BYTE;
    if (!types || !(types->ops & (logical ? LOGICAL : OTHERS)))
        return PTO_DATATYPE_COUNT;
    while (datatype < PTO_DATATYPE_COUNT &&
           (pto_datatype_number(datatype) != types->number || pto_datatype_bytes(datatype) != bytes))
        datatype++;
    return pto_op_takes(op, datatype, NULL) == PTO_OK ? datatype : PTO_DATATYPE_COUNT;
}

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

int64_t drop_peer_count(const drop_counts_t *counts, int peer) {
    return counts->large ? (int64_t)((const MPI_Count *)counts->count)[peer]
                         : ((const int *)counts->count)[peer];
}

int64_t drop_total_count(const drop_counts_t *counts, int size) {
    int64_t sum = 0;
    for (int i = 0; i < size; i++)
        sum += drop_peer_count(counts, i);
    return sum;
}

int64_t drop_peer_bytes(const drop_counts_t *counts, MPI_Datatype type, int peer) {
    return drop_peer_count(counts, peer) * plain_bytes(type);
}

int64_t drop_peer_offset(const drop_counts_t *counts, MPI_Datatype type, int peer) {
    int64_t place =
        counts->large ? (int64_t)((const MPI_Aint *)counts->displ)[peer] : ((const int *)counts->displ)[peer];
    return place * plain_bytes(type);
}

bool drop_call_packed(const drop_call_t *call, int side, int size) {
    const drop_counts_t *counts = side == 0 ? &call->in_counts : &call->out_counts;
    MPI_Datatype type = side == 0 ? call->in_type : call->out_type;
    int64_t at = 0;
    if (side == 0 && call->collective == PTO_COLLECTIVE_ALLTOALLV && call->in == MPI_IN_PLACE)
        return false;
    for (int i = 0; drop_has_displs(counts) && i < size; i++) {
        int64_t bytes = drop_peer_bytes(counts, type, i);
        if (bytes > 0 && drop_peer_offset(counts, type, i) != at)
            return false;
        at += bytes;
    }
    return true;
}

static uint64_t counts_digest(const drop_call_t *call, int size) {
    uint64_t digest = PTO_HASH_START;
    for (int i = 0; i < size; i++) {
        if (drop_has_displs(&call->in_counts) && call->in != MPI_IN_PLACE)
            digest = pto_hash_add(digest, (uint64_t)drop_peer_bytes(&call->in_counts, call->in_type, i));
        digest = pto_hash_add(digest, (uint64_t)drop_peer_bytes(&call->out_counts, call->out_type, i));
    }
    return digest | 1;
}

/* Returns whether the input has the size that the output requires. */
static bool sends_whole_blocks(const drop_call_t *call, int rank, int64_t bytes) {
    if (call->collective == PTO_COLLECTIVE_ALLGATHERV && call->in != MPI_IN_PLACE)
        return call->in_count * plain_bytes(call->in_type) ==
               drop_peer_bytes(&call->out_counts, call->out_type, rank);
    if (!has_in(call, rank) || drop_has_displs(&call->out_counts))
        return true;
    return call->in_count * plain_bytes(call->in_type) == bytes;
}

/* Only a reduce_scatter has counts without displacements; those of MPI_Reduce_scatter may differ. */
static bool equal_counts(const drop_call_t *call, int size) {
    const drop_counts_t *counts = &call->out_counts;
    for (int i = 1; counts->count && !drop_has_displs(counts) && i < size; i++)
        if (drop_peer_count(counts, i) != drop_peer_count(counts, 0))
            return false;
    return true;
}

static bool plain_types(const drop_call_t *call, int rank) {
    return (!has_in(call, rank) || plain_bytes(call->in_type) > 0) && plain_bytes(call->out_type) > 0;
}

static bool has_no_data(const drop_call_t *call, const drop_key_t *key, int size) {
    if (key->counts == 0)
        return key->bytes <= 0;
    return call->collective == PTO_COLLECTIVE_ALLGATHERV && drop_total_count(&call->out_counts, size) <= 0;
}

/* Returns why the memory of this process's buffers rules the call out: they must all be on a GPU, or all in
 * host memory if such a call is worth taking over. NULL: it does not. */
static const char *why_not_memory(const drop_comm_t *comm, const drop_call_t *call, bool *in_host) {
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
    /* MPI may report this error. The others learn by the vote that this process leaves the call to MPI, but
     * under the user's promise there is no vote. */
    bool is_error = same && call->collective != PTO_COLLECTIVE_BROADCAST;
    return is_error && !drop.assumes_host ? "one buffer for input and output" : NULL;
}

bool drop_call_key(const drop_comm_t *comm, const drop_call_t *call, drop_key_t *key, const char **why_not) {
    int rank = comm->rank, size = comm->size;
    *key = (drop_key_t){
        .collective = call->collective, .datatype = PTO_DATATYPE_BYTE, .op = PTO_OP_SUM, .root = call->root};
    if (drop_has_root(call->collective) && (call->root < 0 || call->root >= size))
        *why_not = "a root that does not exist";
    else
        *why_not = why_not_memory(comm, call, &key->in_host);
    if (!*why_not && !plain_types(call, rank))
        *why_not = "a datatype that is not a basic one";
    if (*why_not)
        return false;
    int64_t element_bytes = plain_bytes(call->out_type);
    if (drop_has_displs(&call->out_counts))
        key->counts = counts_digest(call, size);
    else
        key->bytes = call->out_count * element_bytes;
    key->in_place = call->collective == PTO_COLLECTIVE_ALLREDUCE && call->in == MPI_IN_PLACE;
    if (call->op != MPI_OP_NULL) {
        key->op = known_op(call->op);
        key->datatype = number_type(call->out_type, element_bytes, key->op);
    }
    if (key->op == PTO_OP_COUNT || key->datatype == PTO_DATATYPE_COUNT)
        *why_not = "an operation or datatype that plans do not reduce";
    else if (has_no_data(call, key, size))
        *why_not = "no data";
    else if (!equal_counts(call, size) || !sends_whole_blocks(call, rank, key->bytes))
        *why_not = "blocks of different sizes";
    return !*why_not;
}

int64_t drop_call_bytes(const drop_call_t *call, int size) {
    if (call->collective == PTO_COLLECTIVE_ALLTOALLV || call->out_type == MPI_DATATYPE_NULL)
        return -1;
    MPI_Count element_bytes = (MPI_Count)plain_bytes(call->out_type);
    int64_t bytes;
    if (element_bytes == 0)
        MPI_Type_size_x(call->out_type, &element_bytes);
    int64_t count =
        drop_has_displs(&call->out_counts) ? drop_total_count(&call->out_counts, size) : call->out_count;
    return __builtin_mul_overflow(count, (int64_t)element_bytes, &bytes) ? -1 : bytes;
}

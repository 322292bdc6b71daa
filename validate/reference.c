/* Inputs from seeds and the outputs that must follow from them, in plain loops; those over much are shared by
 * threads, where the compiler knows OpenMP. */
#include "reference.h"

#include <float.h>
#include <math.h>
#include <string.h>

static uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Of one owner: what each place holds comes from this and the place alone. */
static uint64_t source_of(uint64_t seed, int64_t owner) { return mix(seed ^ mix((uint64_t)owner)); }

static uint64_t noise(uint64_t source, int64_t place) { return mix(source + (uint64_t)place); }

/* --- values to reduce ----------------------------------------------------------------------------------- */

/* Small enough that no operation overflows an int32: products of up to 30 values of magnitude 1 or 2. */
static int64_t whole_value(pto_op_t op, uint64_t source, int64_t i) {
    uint64_t random = noise(source, i);
    if (op == PTO_OP_PROD)
        return (random & 2 ? 2 : 1) * (random & 1 ? -1 : 1);
    return (int64_t)(random % 2000001) - 1000000;
}

static double real_value(pto_op_t op, uint64_t source, int64_t i) {
    double unit = (double)(noise(source, i) >> 11) / 9007199254740992.0;
    return op == PTO_OP_PROD ? 0.5 + 1.5 * unit : 2 * unit - 1;
}

/* From how many values or bytes on threads are worth it: milliseconds of work. */
enum { MUCH = 1 << 20 };

static void fill_values(const pto_request_t *request, pto_op_t op, uint64_t source, void *in, int64_t count) {
#pragma omp parallel for if (count >= MUCH)
    for (int64_t i = 0; i < count; i++)
        if (request->datatype == PTO_DATATYPE_INT32)
            ((int32_t *)in)[i] = (int32_t)whole_value(op, source, i);
        else if (request->datatype == PTO_DATATYPE_INT64)
            ((int64_t *)in)[i] = whole_value(op, source, i);
        else if (request->datatype == PTO_DATATYPE_FLOAT)
            ((float *)in)[i] = (float)real_value(op, source, i);
        else
            ((double *)in)[i] = real_value(op, source, i);
}

/* Elements generated at a time. */
enum { CHUNK = 512 };

static int64_t chunk_end(int64_t first, int64_t all) { return all - first < CHUNK ? all : first + CHUNK; }

/* Eight bytes come from one number. */
static void fill_some(uint64_t source, int64_t place, unsigned char *in, int64_t bytes) {
    for (int64_t i = 0; i < bytes;) {
        uint64_t word = noise(source, (place + i) / 8) >> 8 * ((place + i) % 8);
        for (int64_t left = 8 - (place + i) % 8; left > 0 && i < bytes; left--, word >>= 8)
            in[i++] = (unsigned char)word;
    }
}

static void fill_bytes(uint64_t source, unsigned char *in, int64_t bytes) {
#pragma omp parallel for if (bytes >= MUCH)
    for (int64_t first = 0; first < bytes; first += CHUNK)
        fill_some(source, first, in + first, chunk_end(first, bytes) - first);
}

void reference_fill(const pto_request_t *request, pto_op_t op, uint64_t seed, int64_t owner, void *in,
                    int64_t bytes) {
    uint64_t source = source_of(seed, owner);
    if (pto_collective_reduces(request->collective))
        fill_values(request, op, source, in, bytes / pto_datatype_bytes(request->datatype));
    else
        fill_bytes(source, in, bytes);
}

/* --- reductions ----------------------------------------------------------------------------------------- */

/* An owner's output to be compared, and its number of values. */
typedef struct {
    const pto_request_t *request;
    pto_op_t op;
    uint64_t seed;
    int64_t owner;
    int64_t owners;
    int64_t place; /* of the first of the values, among those of an input */
    const void *out;
    int64_t count;
} sought_t;

static pto_status_t wrong(pto_error_t *err, int64_t owner, int64_t i, double got, double wanted) {
    return pto_error_set(err, PTO_ERR_RANGE,
                         "wrong result: owner %lld, element %lld is %.17g and should be %.17g",
                         (long long)owner, (long long)i, got, wanted);
}

static int64_t whole_result(pto_op_t op, int64_t result, int64_t value) {
    if (op == PTO_OP_SUM)
        return result + value;
    if (op == PTO_OP_PROD)
        return result * value;
    return (op == PTO_OP_MIN) == (value < result) ? value : result;
}

/* Of a chunk; PTO_OK where all is right. */
static pto_status_t compare_whole(const sought_t *sought, int64_t first, pto_error_t *err) {
    int64_t count = chunk_end(first, sought->count) - first, wanted[CHUNK] = {0};
    for (int64_t from = 0; from < sought->owners; from++) {
        uint64_t source = source_of(sought->seed, from);
        for (int64_t i = 0; i < count; i++) {
            int64_t value = whole_value(sought->op, source, sought->place + first + i);
            wanted[i] = from == 0 ? value : whole_result(sought->op, wanted[i], value);
        }
    }
    bool narrow = sought->request->datatype == PTO_DATATYPE_INT32;
    for (int64_t i = 0; i < count; i++) {
        int64_t got =
            narrow ? ((const int32_t *)sought->out)[first + i] : ((const int64_t *)sought->out)[first + i];
        if (got != wanted[i])
            return wrong(err, sought->owner, first + i, (double)got, (double)wanted[i]);
    }
    return PTO_OK;
}

/* The value as the type of the collective holds it. */
static double held(const pto_request_t *request, double value) {
    return request->datatype == PTO_DATATYPE_FLOAT ? (double)(float)value : value;
}

static long double real_result(pto_op_t op, long double result, long double value) {
    if (op == PTO_OP_SUM)
        return result + value;
    if (op == PTO_OP_PROD)
        return result * value;
    return (op == PTO_OP_MIN) == (value < result) ? value : result;
}

static pto_status_t compare_real(const sought_t *sought, int64_t first, pto_error_t *err) {
    int64_t count = chunk_end(first, sought->count) - first;
    bool narrow = sought->request->datatype == PTO_DATATYPE_FLOAT;
    double owners = (double)sought->owners, eps = narrow ? (double)FLT_EPSILON : DBL_EPSILON;
    double share = (owners - 1) * eps / (1 - owners * eps);
    bool sums = sought->op == PTO_OP_SUM, exact = sought->op == PTO_OP_MIN || sought->op == PTO_OP_MAX;
    long double wanted[CHUNK] = {0};
    double magnitude[CHUNK] = {0};
    for (int64_t from = 0; from < sought->owners; from++) {
        uint64_t source = source_of(sought->seed, from);
        for (int64_t i = 0; i < count; i++) {
            double value = held(sought->request, real_value(sought->op, source, sought->place + first + i));
            wanted[i] = from == 0 ? (long double)value : real_result(sought->op, wanted[i], value);
            magnitude[i] = sums ? (from == 0 ? 0 : magnitude[i]) + fabs(value) : (double)fabsl(wanted[i]);
        }
    }
    for (int64_t i = 0; i < count; i++) {
        double got = narrow ? (double)((const float *)sought->out)[first + i]
                            : ((const double *)sought->out)[first + i];
        if (!(fabsl(got - wanted[i]) <= (exact ? 0 : share * magnitude[i])))
            return wrong(err, sought->owner, first + i, got, (double)wanted[i]);
    }
    return PTO_OK;
}

/* The error is the first wrong place's. */
static pto_status_t compare_values(const sought_t *sought, pto_error_t *err) {
    bool real =
        sought->request->datatype == PTO_DATATYPE_FLOAT || sought->request->datatype == PTO_DATATYPE_DOUBLE;
    pto_status_t (*compare)(const sought_t *, int64_t, pto_error_t *) = real ? compare_real : compare_whole;
    int64_t first_wrong = sought->count;
#pragma omp parallel for reduction(min : first_wrong) if (sought->count >= MUCH)
    for (int64_t first = 0; first < sought->count; first += CHUNK)
        if (compare(sought, first, NULL) != PTO_OK && first < first_wrong)
            first_wrong = first;
    return first_wrong < sought->count ? compare(sought, first_wrong, err) : PTO_OK;
}

/* --- blocks --------------------------------------------------------------------------------------------- */

/* The first wrong byte of a chunk; -1: none. */
static int64_t wrong_byte(uint64_t source, int64_t place, const unsigned char *got, int64_t first,
                          int64_t bytes) {
    unsigned char wanted[CHUNK];
    int64_t count = chunk_end(first, bytes) - first;
    fill_some(source, place + first, wanted, count);
    if (memcmp(wanted, got + first, (size_t)count) == 0)
        return -1;
    for (int64_t i = 0; i < count; i++)
        if (got[first + i] != wanted[i])
            return first + i;
    return -1;
}

static pto_status_t compare_block(uint64_t seed, int64_t from, int64_t place, int64_t owner,
                                  const unsigned char *got, int64_t bytes, pto_error_t *err) {
    uint64_t source = source_of(seed, from);
    int64_t first_wrong = bytes;
#pragma omp parallel for reduction(min : first_wrong) if (bytes >= MUCH)
    for (int64_t first = 0; first < bytes; first += CHUNK) {
        int64_t i = wrong_byte(source, place, got, first, bytes);
        if (i >= 0 && i < first_wrong)
            first_wrong = i;
    }
    if (first_wrong == bytes)
        return PTO_OK;
    unsigned char wanted;
    fill_some(source, place + first_wrong, &wanted, 1);
    return pto_error_set(err, PTO_ERR_RANGE,
                         "wrong result: owner %lld, byte %lld from owner %lld is 0x%02x and should be 0x%02x",
                         (long long)owner, (long long)first_wrong, (long long)from, got[first_wrong], wanted);
}

static pto_status_t compare_blocks(const pto_request_t *request, uint64_t seed, int64_t owner,
                                   const void *out, pto_error_t *err) {
    const unsigned char *got = out;
    int64_t blocks_before = pto_collective_is_addressed(request->collective) ? owner : 0;
    pto_status_t status = PTO_OK;
    for (int64_t from = 0; from < pto_layout_owner_count(&request->layout) && status == PTO_OK; from++) {
        int64_t place = 0;
        for (int64_t to = 0; to < blocks_before; to++)
            place += pto_request_bytes(request, from, to);
        int64_t bytes = pto_request_bytes(request, from, owner);
        if (bytes > 0) { /* empty memory has no address */
            status = compare_block(seed, from, place, owner, got, bytes, err);
            got += bytes;
        }
    }
    return status;
}

/* Message m went one node on and m places on among the node's owners, and carries block m modulo those that
 * hold data of their own. */
static pto_status_t compare_messages(const pto_request_t *request, uint64_t seed, int64_t owner,
                                     const void *out, pto_error_t *err) {
    int64_t per_node = request->layout.gpus_per_node * request->layout.owners_per_gpu;
    int64_t node = owner / per_node, place = owner % per_node, blocks = request->messages;
    if (request->unique_bytes > 0 && request->bytes > 0) {
        int64_t unique = (request->unique_bytes + request->bytes - 1) / request->bytes;
        blocks = unique < blocks ? unique : blocks;
    }
    int64_t from_node = (node + request->layout.nodes - 1) % request->layout.nodes;
    pto_status_t status = PTO_OK;
    for (int64_t m = 0; m < request->messages && status == PTO_OK; m++) {
        int64_t from_place = ((place - m) % per_node + per_node) % per_node;
        status = compare_block(seed, from_node * per_node + from_place, m % blocks * request->bytes, owner,
                               (const unsigned char *)out + m * request->bytes, request->bytes, err);
    }
    return status;
}

/* --- halos ---------------------------------------------------------------------------------------------- */

/* From the coordinate of a cell in an owner's array: whose cell it is, along one dimension, and where it is
 * in that one's array. Beyond an edge without wrap are the values of those at the edge. */
static int64_t cell_from(const pto_halo_t *grid, int d, int64_t owner, int64_t *cell, int *outside,
                         int *moved) {
    int64_t extent = grid->extent[d], at = *cell - grid->width;
    int64_t to = owner + (at < 0 ? -1 : at >= extent ? 1 : 0);
    bool is_edge = to < 0 || to >= grid->dims[d];
    *outside += to != owner;
    if (to == owner || (is_edge && !grid->wrap[d]))
        return owner;
    *moved += 1;
    *cell += (owner - to) * extent;
    return (to + grid->dims[d]) % grid->dims[d];
}

/* Compare the cells from `cell` on along the last dimension, which are all on one side of the owner's part.
 */
static pto_status_t compare_cells(const pto_request_t *request, uint64_t seed, int64_t owner,
                                  const int64_t *cell, int64_t count, const unsigned char *out,
                                  pto_error_t *err) {
    const pto_halo_t *grid = &request->halo;
    int64_t at = 0, place = 0, from = 0, rest = owner, me[PTO_DIMS_MAX] = {0};
    int outside = 0, moved = 0;
    for (int d = grid->dim_count - 1; d >= 0; rest /= grid->dims[d--])
        me[d] = rest % grid->dims[d];
    for (int d = 0; d < grid->dim_count; d++) {
        int64_t there = cell[d], across = grid->extent[d] + 2 * grid->width;
        from = from * grid->dims[d] + cell_from(grid, d, me[d], &there, &outside, &moved);
        at = at * across + cell[d];
        place = place * across + there;
    }
    bool all = grid->corners == PTO_CORNERS_DIAGONAL && moved == outside;
    if (outside > 1 && !all && grid->corners != PTO_CORNERS_TWO_PHASE)
        return PTO_OK; /* a corner that nobody sends */
    return compare_block(seed, from, place * request->bytes, owner, out + at * request->bytes,
                         count * request->bytes, err);
}

static pto_status_t compare_field(const pto_request_t *asked, uint64_t seed, int64_t owner, const void *out,
                                  pto_error_t *err) {
    pto_request_t request = *asked;
    pto_halo_t *grid = &request.halo;
    pto_status_t status = pto_halo_complete(grid, pto_layout_owner_count(&request.layout), err);
    int last = grid->dim_count - 1;
    int64_t width = grid->width, cells = pto_halo_cells(grid), across = grid->extent[last] + 2 * width;
    for (int64_t row = 0; row < cells / across && status == PTO_OK; row++) {
        int64_t cell[PTO_DIMS_MAX] = {0}, rest = row;
        for (int d = last - 1; d >= 0; d--) {
            cell[d] = rest % (grid->extent[d] + 2 * width);
            rest /= grid->extent[d] + 2 * width;
        }
        const int64_t first[] = {0, width, across - width, across};
        for (int side = 0; side < 3 && status == PTO_OK; side++) {
            cell[last] = first[side];
            status = compare_cells(&request, seed, owner, cell, first[side + 1] - first[side], out, err);
        }
    }
    return status;
}

pto_status_t reference_compare(const pto_request_t *request, pto_op_t op, uint64_t seed, int64_t owner,
                               const void *out, int64_t bytes, pto_error_t *err) {
    pto_data_t data = pto_collective_data(request->collective);
    if (pto_collective_is_to_root(request->collective) && owner > 0)
        return PTO_OK;
    if (data == PTO_DATA_MESSAGES)
        return compare_messages(request, seed, owner, out, err);
    if (data == PTO_DATA_GRID)
        return compare_field(request, seed, owner, out, err);
    if (data == PTO_DATA_PAIR)
        return compare_block(seed, 1 - owner, 0, owner, out, bytes, err);
    if (data == PTO_DATA_BLOCKS || data == PTO_DATA_GATHERED)
        return compare_blocks(request, seed, owner, out, err);
    if (!pto_collective_reduces(request->collective))
        return compare_block(seed, 0, data == PTO_DATA_SCATTERED ? owner * bytes : 0, owner, out, bytes, err);
    int64_t count = bytes / pto_datatype_bytes(request->datatype);
    sought_t sought = {.request = request,
                       .op = op,
                       .seed = seed,
                       .owner = owner,
                       .owners = pto_layout_owner_count(&request->layout),
                       .place = data == PTO_DATA_SCATTERED ? owner * count : 0,
                       .out = out,
                       .count = count};
    return compare_values(&sought, err);
}

/* --- a second pattern ----------------------------------------------------------------------------------- */

enum { SPOILED = 0xa5 };

pto_status_t reference_host_make(const pto_plan_t *plan, const pto_device_t *device, int64_t rank,
                                 reference_host_t *host, pto_error_t *err) {
    *host = (reference_host_t){.in_bytes = pto_exec_user_bytes(plan, rank, PTO_ROLE_HOST_IN),
                               .out_bytes = pto_exec_user_bytes(plan, rank, PTO_ROLE_HOST_OUT)};
    pto_status_t status =
        pto_exec_user_allocate(plan, device, PTO_ROLE_HOST_IN, host->in_bytes, &host->in, err);
    return status == PTO_OK
               ? pto_exec_user_allocate(plan, device, PTO_ROLE_HOST_OUT, host->out_bytes, &host->out, err)
               : status;
}

void reference_host_free(const pto_device_t *device, reference_host_t *host) {
    device->release_staging(host->in, NULL);
    device->release_staging(host->out, NULL);
}

void reference_host_fill(uint64_t seed, int64_t owner, const reference_host_t *host) {
    fill_bytes(source_of(~seed, owner), host->in, host->in_bytes);
    if (host->out)
        memset(host->out, SPOILED, (size_t)host->out_bytes);
}

pto_status_t reference_host_compare(const pto_request_t *request, uint64_t seed, int64_t owner,
                                    const reference_host_t *host, pto_error_t *err) {
    pto_request_t alone = *request; /* the pattern by itself, with values of its own */
    alone.counts = pto_request_host_counts(request);
    return alone.counts ? compare_blocks(&alone, ~seed, owner, host->out, err) : PTO_OK;
}

/* Inputs from seeds and the outputs that must follow from them, in plain loops; those over much are shared by
 * threads, where the compiler knows OpenMP. */
#include "reference.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"

static uint64_t mix(uint64_t x) { return pto_mix(x + PTO_GOLDEN_GAMMA); }

/* Returns the seed of an owner: the value at each place depends on this seed and the place alone. */
static uint64_t source_of(uint64_t seed, int64_t owner) { return mix(seed ^ mix((uint64_t)owner)); }

static uint64_t noise(uint64_t source, int64_t place) { return mix(source + (uint64_t)place); }

/* --- whole numbers --------------------------------------------------------------------------------------
 *
 * As 64 bits, to which the sign or zeros are extended. */

static bool is_whole(pto_datatype_t datatype) {
    pto_number_t number = pto_datatype_number(datatype);
    return number != PTO_NUMBER_REAL && number != PTO_NUMBER_COMPLEX;
}

static bool is_signed(pto_datatype_t datatype) { return pto_datatype_number(datatype) == PTO_NUMBER_SIGNED; }

/* Returns the number that the datatype holds after an overflow. */
static uint64_t wrapped(pto_datatype_t datatype, uint64_t value) {
    int unused = 64 - 8 * (int)pto_datatype_bytes(datatype);
    uint64_t shifted = value << unused;
    return is_signed(datatype) ? (uint64_t)((int64_t)shifted >> unused) : shifted >> unused;
}

/* Bits in which the operation shows something, whatever the number of values. */
static uint64_t whole_bits(pto_op_t op, uint64_t random) {
    uint64_t other = mix(random), third = mix(other);
    switch (op) {
    case PTO_OP_PROD:
        return other % 8 > 0 ? random | 1 : random; /* a few even ones make 0 */
    case PTO_OP_LAND:
        return other % 8 > 0 ? random | 1 : 0;
    case PTO_OP_LOR:
        return other % 8 > 0 ? 0 : random | 1;
    case PTO_OP_LXOR:
        return other % 2 > 0 ? 0 : random | 1;
    case PTO_OP_BAND:
        return random | other | third;
    case PTO_OP_BOR:
        return random & other & third;
    case PTO_OP_SUM:
    case PTO_OP_MIN:
    case PTO_OP_MAX:
    case PTO_OP_AVG:
    case PTO_OP_BXOR:
    case PTO_OP_COUNT:
        break;
    }
    return random;
}

/* Sums and products of C's int and longer do not overflow, which only the executor defines: products of up
 * to 30 values of magnitude 1 or 2. */
static uint64_t whole_value(const pto_request_t *request, pto_op_t op, uint64_t source, int64_t i) {
    uint64_t random = noise(source, i);
    bool overflows = !is_signed(request->datatype) || pto_datatype_bytes(request->datatype) < 4;
    if (op == PTO_OP_PROD && !overflows)
        return (uint64_t)((random & 2 ? 2 : 1) * (random & 1 ? -1 : 1));
    if ((op == PTO_OP_SUM || op == PTO_OP_AVG) && !overflows)
        return random % 2000001 - 1000000;
    return wrapped(request->datatype, whole_bits(op, random));
}

static uint64_t whole_result(pto_datatype_t datatype, pto_op_t op, uint64_t result, uint64_t value) {
    bool less = is_signed(datatype) ? (int64_t)value < (int64_t)result : value < result;
    switch (op) {
    case PTO_OP_SUM:
    case PTO_OP_AVG:
        return wrapped(datatype, result + value);
    case PTO_OP_PROD:
        return wrapped(datatype, result * value);
    case PTO_OP_LAND:
        return result && value;
    case PTO_OP_LOR:
        return result || value;
    case PTO_OP_LXOR:
        return !result != !value;
    case PTO_OP_BAND:
        return result & value;
    case PTO_OP_BOR:
        return result | value;
    case PTO_OP_BXOR:
        return result ^ value;
    case PTO_OP_MIN:
    case PTO_OP_MAX:
    case PTO_OP_COUNT:
        break;
    }
    return (op == PTO_OP_MIN) == less ? value : result;
}

static uint64_t whole_quotient(pto_datatype_t datatype, uint64_t sum, int64_t divisor) {
    return is_signed(datatype) ? (uint64_t)((int64_t)sum / divisor) : sum / (uint64_t)divisor;
}

static uint64_t whole_at(pto_datatype_t datatype, const void *memory, int64_t i) {
    int64_t bytes = pto_datatype_bytes(datatype);
    uint64_t value = 0; /* little-endian, as all machines with these devices */
    memcpy(&value, (const char *)memory + i * bytes, (size_t)bytes);
    return wrapped(datatype, value);
}

/* --- real numbers --------------------------------------------------------------------------------------- */

/* A binary format of IEEE 754 with 16 to 64 bits: bits of the fraction, and the exponent's bias. */
typedef struct {
    int fraction;
    int bias;
} format_t;

/* Returns the format of a type's numbers; that of a component, if they are complex. */
static format_t format_of(pto_datatype_t datatype) {
    switch (datatype) {
    case PTO_DATATYPE_HALF:
        return (format_t){10, 15};
    case PTO_DATATYPE_BFLOAT16:
        return (format_t){7, 127};
    case PTO_DATATYPE_FLOAT:
    case PTO_DATATYPE_FLOAT_COMPLEX:
        return (format_t){23, 127};
    default:
        return (format_t){52, 1023};
    }
}

static bool is_short(format_t format) { return format.fraction < 23; }

/* Distance of the numbers just above 0. */
static double least_of(format_t format) { return ldexp(1, 1 - format.bias - format.fraction); }

/* Returns the number of the format that is nearest to a value, which is in its range. */
static double held(format_t format, double value) {
    int exponent = 0;
    if (format.fraction == 52)
        return value;
    if (format.fraction == 23)
        return (double)(float)value;
    (void)frexp(value, &exponent);
    int unit = exponent - 1 - format.fraction, least = 1 - format.bias - format.fraction;
    unit = unit < least ? least : unit;
    return ldexp(rint(ldexp(value, -unit)), unit);
}

/* Returns a finite number of a 16-bit format. */
static uint16_t short_bits(format_t format, double value) {
    int exponent = 0, sign = signbit(value) ? 0x8000 : 0;
    double fraction = frexp(fabs(value), &exponent);
    if (fabs(value) < ldexp(1, 1 - format.bias))
        return (uint16_t)(sign | (int)(fabs(value) / least_of(format)));
    int rest = (int)ldexp(2 * fraction - 1, format.fraction);
    return (uint16_t)(sign | (exponent - 1 + format.bias) << format.fraction | rest);
}

static double short_value(format_t format, uint16_t bits) {
    int exponent = (bits & 0x7fff) >> format.fraction, rest = bits & ((1 << format.fraction) - 1);
    double value = exponent == 0
                       ? rest * least_of(format)
                       : ldexp(rest + ldexp(1, format.fraction), exponent - format.bias - format.fraction);
    if (exponent == 2 * format.bias + 1)
        value = rest > 0 ? NAN : INFINITY;
    return bits & 0x8000 ? -value : value;
}

/* Products of 30 stay in the range of the format. */
static double real_value(format_t format, pto_op_t op, uint64_t source, int64_t i) {
    double unit = (double)(noise(source, i) >> 11) / 9007199254740992.0;
    if (op != PTO_OP_PROD)
        return held(format, 2 * unit - 1);
    return held(format, is_short(format) ? 0.75 + 0.5 * unit : 0.5 + 1.5 * unit);
}

static double real_at(format_t format, const void *memory, int64_t i) {
    if (is_short(format))
        return short_value(format, ((const uint16_t *)memory)[i]);
    return format.fraction == 23 ? (double)((const float *)memory)[i] : ((const double *)memory)[i];
}

static void put_real(format_t format, void *memory, int64_t i, double value) {
    if (is_short(format))
        ((uint16_t *)memory)[i] = short_bits(format, value);
    else if (format.fraction == 23)
        ((float *)memory)[i] = (float)value;
    else
        ((double *)memory)[i] = value;
}

/* --- inputs --------------------------------------------------------------------------------------------- */

/* From how many values or bytes on threads are worth it: milliseconds of work. */
enum { MUCH = 1 << 20 };

/* Whole numbers, or components of others, in an element. */
static int64_t parts_of(pto_datatype_t datatype) {
    return pto_datatype_number(datatype) == PTO_NUMBER_COMPLEX ? 2 : 1;
}

static void fill_values(const pto_request_t *request, pto_op_t op, uint64_t source, void *in, int64_t count) {
    int64_t bytes = pto_datatype_bytes(request->datatype);
    bool whole = is_whole(request->datatype);
    format_t format = format_of(request->datatype);
#pragma omp parallel for if (count >= MUCH)
    for (int64_t i = 0; i < count * parts_of(request->datatype); i++)
        if (whole) {
            uint64_t value = whole_value(request, op, source, i);
            memcpy((char *)in + i * bytes, &value, (size_t)bytes);
        } else {
            put_real(format, in, i, real_value(format, op, source, i));
        }
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
    int64_t place; /* of the first of the values, or of their components, among those of an input */
    const void *out;
    int64_t count;
} sought_t;

static pto_status_t wrong(pto_error_t *err, int64_t owner, int64_t i, double got, double wanted) {
    return pto_error_set(err, PTO_ERR_RANGE,
                         "wrong result: owner %lld, element %lld is %.17g and should be %.17g",
                         (long long)owner, (long long)i, got, wanted);
}

/* Compares a chunk; PTO_OK: all values are right. */
static pto_status_t compare_whole(const sought_t *sought, int64_t first, pto_error_t *err) {
    pto_datatype_t datatype = sought->request->datatype;
    int64_t count = chunk_end(first, sought->count) - first;
    uint64_t wanted[CHUNK] = {0};
    for (int64_t from = 0; from < sought->owners; from++) {
        uint64_t source = source_of(sought->seed, from);
        for (int64_t i = 0; i < count; i++) {
            uint64_t value = whole_value(sought->request, sought->op, source, sought->place + first + i);
            wanted[i] = from == 0 ? value : whole_result(datatype, sought->op, wanted[i], value);
        }
    }
    for (int64_t i = 0; i < count; i++) {
        uint64_t got = whole_at(datatype, sought->out, first + i);
        if (sought->op == PTO_OP_AVG)
            wanted[i] = whole_quotient(datatype, wanted[i], sought->owners);
        bool signs = is_signed(datatype);
        if (got != wanted[i])
            return wrong(err, sought->owner, first + i, signs ? (double)(int64_t)got : (double)got,
                         signs ? (double)(int64_t)wanted[i] : (double)wanted[i]);
    }
    return PTO_OK;
}

static long double real_result(pto_op_t op, long double result, long double value) {
    if (op == PTO_OP_SUM || op == PTO_OP_AVG)
        return result + value;
    if (op == PTO_OP_PROD)
        return result * value;
    return (op == PTO_OP_MIN) == (value < result) ? value : result;
}

/* Into the components of complex products. */
static void multiply(long double *result, const double *value) {
    long double real = result[0] * value[0] - result[1] * value[1];
    result[1] = result[0] * value[1] + result[1] * value[0];
    result[0] = real;
}

static void add_magnitude(bool sums, bool pairs, int64_t i, const double *value, const long double *wanted,
                          long double *magnitude) {
    if (sums)
        magnitude[i] += fabsl((long double)value[i]);
    else
        magnitude[i] = pairs ? hypotl(wanted[i & ~1], wanted[i | 1]) : fabsl(wanted[i]);
}

/* Relative to the sum of the magnitudes or to the product: gamma of the number of roundings. An average has
 * two more than its sum, since NCCL multiplies by a rounded 1 / n beforehand; a complex product is one of
 * sqrt(2) gamma_2 (Higham 2002, lemma 3.5). */
static long double share_of(const sought_t *sought, format_t format, bool pairs) {
    long double unit = ldexpl(1, -1 - format.fraction), owners = (long double)sought->owners;
    if (sought->op == PTO_OP_MIN || sought->op == PTO_OP_MAX)
        return 0;
    if (pairs)
        unit = sqrtl(2) * 2 * unit / (1 - 2 * unit);
    long double all = (owners + (sought->op == PTO_OP_AVG ? 1 : -1)) * unit;
    return all < 1 ? all / (1 - all) : INFINITY;
}

static pto_status_t compare_real(const sought_t *sought, int64_t first, pto_error_t *err) {
    int64_t count = chunk_end(first, sought->count) - first, parts = parts_of(sought->request->datatype);
    format_t format = format_of(sought->request->datatype);
    bool averages = sought->op == PTO_OP_AVG, sums = sought->op == PTO_OP_SUM || averages;
    bool pairs = parts == 2 && !sums;
    long double share = share_of(sought, format, pairs), divisor = averages ? (long double)sought->owners : 1;
    long double lost = averages ? (divisor + 1) * least_of(format) / 2 : 0; /* by underflow */
    long double wanted[CHUNK] = {0}, magnitude[CHUNK] = {0};
    double value[CHUNK] = {0};
    for (int64_t from = 0; from < sought->owners; from++) {
        uint64_t source = source_of(sought->seed, from);
        for (int64_t i = 0; i < count; i++)
            value[i] = real_value(format, sought->op, source, sought->place + first + i);
        for (int64_t i = 0; i < count; i++)
            if (from == 0)
                wanted[i] = (long double)value[i];
            else if (!pairs)
                wanted[i] = real_result(sought->op, wanted[i], value[i]);
            else if (i % 2 == 0)
                multiply(wanted + i, value + i);
        for (int64_t i = 0; i < count; i++)
            add_magnitude(sums, pairs, i, value, wanted, magnitude);
    }
    for (int64_t i = 0; i < count; i++) {
        double got = real_at(format, sought->out, first + i);
        long double right = wanted[i] / divisor;
        if (!(fabsl(got - right) <= share * magnitude[i] / divisor + lost))
            return wrong(err, sought->owner, (first + i) / parts, got, (double)right);
    }
    return PTO_OK;
}

/* The error is the first wrong place's. */
static pto_status_t compare_values(const sought_t *sought, pto_error_t *err) {
    pto_status_t (*compare)(const sought_t *, int64_t, pto_error_t *) =
        is_whole(sought->request->datatype) ? compare_whole : compare_real;
    int64_t first_wrong = sought->count;
#pragma omp parallel for reduction(min : first_wrong) if (sought->count >= MUCH)
    for (int64_t first = 0; first < sought->count; first += CHUNK)
        if (compare(sought, first, NULL) != PTO_OK && first < first_wrong)
            first_wrong = first;
    return first_wrong < sought->count ? compare(sought, first_wrong, err) : PTO_OK;
}

/* --- blocks --------------------------------------------------------------------------------------------- */

/* Returns the first wrong byte of a chunk; -1: none. */
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
    int64_t count = bytes / pto_datatype_bytes(request->datatype) * parts_of(request->datatype);
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

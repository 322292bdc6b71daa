/* Generates inputs from seeds, and compares outputs with what must follow from these inputs. Outputs are
 * compared in chunks, for which the inputs are generated again, so no other buffers are needed. Large loops
 * run in parallel if the compiler supports OpenMP. */
#include "reference.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"

static uint64_t mix(uint64_t x) { return pto_mix(x + PTO_GOLDEN_GAMMA); }

/* Returns the seed of an owner's values: each value depends only on this seed and on its index. */
static uint64_t owner_seed(uint64_t seed, int64_t owner) { return mix(seed ^ mix((uint64_t)owner)); }

static uint64_t random_at(uint64_t value_seed, int64_t place) { return mix(value_seed + (uint64_t)place); }

/* --- integers -------------------------------------------------------------------------------------------
 *
 * Of all sizes, sign- or zero-extended to 64 bits. */

static bool is_integer(pto_datatype_t datatype) {
    pto_number_t number = pto_datatype_number(datatype);
    return number != PTO_NUMBER_REAL && number != PTO_NUMBER_COMPLEX;
}

static bool is_signed(pto_datatype_t datatype) { return pto_datatype_number(datatype) == PTO_NUMBER_SIGNED; }

/* Returns a result modulo the size of the datatype, as after an overflow. */
static uint64_t wrapped(pto_datatype_t datatype, uint64_t value) {
    int unused = 64 - 8 * (int)pto_datatype_bytes(datatype);
    uint64_t shifted = value << unused;
    return is_signed(datatype) ? (uint64_t)((int64_t)shifted >> unused) : shifted >> unused;
}

/* Returns random bits for an operation such that its result is not trivial, whatever the number of values: an
 * AND of many random numbers, for example, would be 0. */
static uint64_t integer_bits(pto_op_t op, uint64_t random) {
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
    default:
        return random;
    }
}

/* Returns an input value. Sums and products of signed int and longer types must not overflow, which is
 * undefined in C: the factors are 1, 2, -1 and -2, for products of up to 30. */
static uint64_t integer_value(const pto_request_t *request, pto_op_t op, uint64_t value_seed, int64_t i) {
    uint64_t random = random_at(value_seed, i);
    bool overflows = !is_signed(request->datatype) || pto_datatype_bytes(request->datatype) < 4;
    if (op == PTO_OP_PROD && !overflows)
        return (uint64_t)((random & 2 ? 2 : 1) * (random & 1 ? -1 : 1));
    if ((op == PTO_OP_SUM || op == PTO_OP_AVG) && !overflows)
        return random % 2000001 - 1000000;
    return wrapped(request->datatype, integer_bits(op, random));
}

static uint64_t integer_result(pto_datatype_t datatype, pto_op_t op, uint64_t result, uint64_t value) {
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
    default: /* minimum, maximum */
        return (op == PTO_OP_MIN) == less ? value : result;
    }
}

static uint64_t integer_quotient(pto_datatype_t datatype, uint64_t sum, int64_t divisor) {
    return is_signed(datatype) ? (uint64_t)((int64_t)sum / divisor) : sum / (uint64_t)divisor;
}

static uint64_t integer_at(pto_datatype_t datatype, const void *memory, int64_t i) {
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

/* Returns the format of a datatype's numbers, or of their components if they are complex. */
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

static bool is_16_bit(format_t format) { return format.fraction < 23; }

/* Returns the smallest positive number. */
static double smallest_of(format_t format) { return ldexp(1, 1 - format.bias - format.fraction); }

/* Rounds a value to the format, without overflow. */
static double rounded(format_t format, double value) {
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

/* Encodes a finite number that the 16-bit format can represent. */
static uint16_t encode_16_bit(format_t format, double value) {
    int exponent = 0, sign = signbit(value) ? 0x8000 : 0;
    double fraction = frexp(fabs(value), &exponent);
    if (fabs(value) < ldexp(1, 1 - format.bias))
        return (uint16_t)(sign | (int)(fabs(value) / smallest_of(format)));
    int rest = (int)ldexp(2 * fraction - 1, format.fraction);
    return (uint16_t)(sign | (exponent - 1 + format.bias) << format.fraction | rest);
}

static double decode_16_bit(format_t format, uint16_t bits) {
    int exponent = (bits & 0x7fff) >> format.fraction, rest = bits & ((1 << format.fraction) - 1);
    double value = exponent == 0
                       ? rest * smallest_of(format)
                       : ldexp(rest + ldexp(1, format.fraction), exponent - format.bias - format.fraction);
    if (exponent == 2 * format.bias + 1)
        value = rest > 0 ? NAN : INFINITY;
    return bits & 0x8000 ? -value : value;
}

/* Returns an input value. Products of up to 30 values stay in the range of the format. */
static double real_value(format_t format, pto_op_t op, uint64_t value_seed, int64_t i) {
    double unit = (double)(random_at(value_seed, i) >> 11) / 9007199254740992.0;
    if (op != PTO_OP_PROD)
        return rounded(format, 2 * unit - 1);
    return rounded(format, is_16_bit(format) ? 0.75 + 0.5 * unit : 0.5 + 1.5 * unit);
}

static double real_at(format_t format, const void *memory, int64_t i) {
    if (is_16_bit(format))
        return decode_16_bit(format, ((const uint16_t *)memory)[i]);
    return format.fraction == 23 ? (double)((const float *)memory)[i] : ((const double *)memory)[i];
}

static void put_real(format_t format, void *memory, int64_t i, double value) {
    if (is_16_bit(format))
        ((uint16_t *)memory)[i] = encode_16_bit(format, value);
    else if (format.fraction == 23)
        ((float *)memory)[i] = (float)value;
    else
        ((double *)memory)[i] = value;
}

/* --- inputs --------------------------------------------------------------------------------------------- */

/* Number of values or bytes from which threads pay: milliseconds of work. */
enum { PARALLEL_MIN = 1 << 20 };

/* Returns the number of components of an element: complex numbers have two. */
static int64_t components_of(pto_datatype_t datatype) {
    return pto_datatype_number(datatype) == PTO_NUMBER_COMPLEX ? 2 : 1;
}

static void fill_values(const pto_request_t *request, pto_op_t op, uint64_t value_seed, void *in,
                        int64_t count) {
    int64_t bytes = pto_datatype_bytes(request->datatype);
    bool integers = is_integer(request->datatype);
    format_t format = format_of(request->datatype);
#pragma omp parallel for if (count >= PARALLEL_MIN)
    for (int64_t i = 0; i < count * components_of(request->datatype); i++)
        if (integers) {
            uint64_t value = integer_value(request, op, value_seed, i);
            memcpy((char *)in + i * bytes, &value, (size_t)bytes);
        } else {
            put_real(format, in, i, real_value(format, op, value_seed, i));
        }
}

/* Number of values that are generated and compared at a time. */
enum { CHUNK = 512 };

static int64_t chunk_end(int64_t first, int64_t all) { return all - first < CHUNK ? all : first + CHUNK; }

/* Fills in the bytes from index `place` of an input on. Eight bytes are taken from each random number. */
static void fill_chunk(uint64_t value_seed, int64_t place, unsigned char *in, int64_t bytes) {
    for (int64_t i = 0; i < bytes;) {
        uint64_t word = random_at(value_seed, (place + i) / 8) >> 8 * ((place + i) % 8);
        for (int64_t left = 8 - (place + i) % 8; left > 0 && i < bytes; left--, word >>= 8)
            in[i++] = (unsigned char)word;
    }
}

static void fill_bytes(uint64_t value_seed, unsigned char *in, int64_t bytes) {
#pragma omp parallel for if (bytes >= PARALLEL_MIN)
    for (int64_t first = 0; first < bytes; first += CHUNK)
        fill_chunk(value_seed, first, in + first, chunk_end(first, bytes) - first);
}

void reference_fill(const pto_request_t *request, pto_op_t op, uint64_t seed, int64_t owner, void *in,
                    int64_t bytes) {
    uint64_t value_seed = owner_seed(seed, owner);
    if (pto_collective_reduces(request->collective))
        fill_values(request, op, value_seed, in, bytes / pto_datatype_bytes(request->datatype));
    else
        fill_bytes(value_seed, in, bytes);
}

/* --- reductions ----------------------------------------------------------------------------------------- */

/* A section of an owner's output that is compared. It consists of components of values if the collective
 * reduces, else of bytes. */
typedef struct {
    const pto_request_t *request;
    uint64_t seed;
    int64_t owner;
    const unsigned char *out; /* its beginning */
    int64_t place;            /* index of its first byte or component in the inputs that it comes from */
    int64_t count;            /* of its bytes or components */
    int64_t from;             /* unless the collective reduces: the owner whose input it is */
    pto_op_t op;              /* of reductions */
    int64_t owners;           /* of reductions: how many */
} output_t;

/* Compares a chunk of the output from `first` on. */
typedef pto_status_t (*compare_t)(const output_t *output, int64_t first, pto_error_t *err);

/* Compares all chunks. The error names the first wrong value. */
static pto_status_t compare_all(const output_t *output, compare_t compare, pto_error_t *err) {
    int64_t first_wrong = output->count;
#pragma omp parallel for reduction(min : first_wrong) if (output->count >= PARALLEL_MIN)
    for (int64_t first = 0; first < output->count; first += CHUNK)
        if (compare(output, first, NULL) != PTO_OK && first < first_wrong)
            first_wrong = first;
    return first_wrong < output->count ? compare(output, first_wrong, err) : PTO_OK;
}

static pto_status_t report_wrong(pto_error_t *err, int64_t owner, int64_t i, double actual, double expected) {
    return pto_error_set(err, PTO_ERR_RANGE,
                         "wrong result: owner %lld, element %lld is %.17g and should be %.17g",
                         (long long)owner, (long long)i, actual, expected);
}

static pto_status_t compare_integers(const output_t *output, int64_t first, pto_error_t *err) {
    pto_datatype_t datatype = output->request->datatype;
    int64_t count = chunk_end(first, output->count) - first;
    uint64_t expected[CHUNK] = {0};
    for (int64_t from = 0; from < output->owners; from++) {
        uint64_t value_seed = owner_seed(output->seed, from);
        for (int64_t i = 0; i < count; i++) {
            uint64_t value =
                integer_value(output->request, output->op, value_seed, output->place + first + i);
            expected[i] = from == 0 ? value : integer_result(datatype, output->op, expected[i], value);
        }
    }
    for (int64_t i = 0; i < count; i++) {
        uint64_t actual = integer_at(datatype, output->out, first + i);
        if (output->op == PTO_OP_AVG)
            expected[i] = integer_quotient(datatype, expected[i], output->owners);
        bool has_sign = is_signed(datatype);
        if (actual != expected[i])
            return report_wrong(err, output->owner, first + i,
                                has_sign ? (double)(int64_t)actual : (double)actual,
                                has_sign ? (double)(int64_t)expected[i] : (double)expected[i]);
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

/* Multiplies complex numbers. */
static void multiply(long double *result, const double *value) {
    long double real = result[0] * value[0] - result[1] * value[1];
    result[1] = result[0] * value[1] + result[1] * value[0];
    result[0] = real;
}

/* Updates the magnitude that the tolerance of result `i` is relative to: of a sum, the sum of its values'
 * magnitudes; otherwise that of the result. */
static void add_magnitude(bool is_sum, bool is_complex_product, int64_t i, const double *value,
                          const long double *expected, long double *magnitude) {
    if (is_sum)
        magnitude[i] += fabsl((long double)value[i]);
    else
        magnitude[i] = is_complex_product ? hypotl(expected[i & ~1], expected[i | 1]) : fabsl(expected[i]);
}

/* Returns the relative tolerance, gamma of the number of roundings: of a sum, relative to the sum of
 * magnitudes. An average has two roundings more than a sum, since NCCL first multiplies by a rounded 1 / n.
 * One complex multiplication has the error sqrt(2) gamma_2 (Higham 2002, lemma 3.5). */
static long double tolerance_of(const output_t *output, format_t format, bool is_complex_product) {
    long double roundoff = ldexpl(1, -1 - format.fraction), owners = (long double)output->owners;
    if (output->op == PTO_OP_MIN || output->op == PTO_OP_MAX)
        return 0;
    if (is_complex_product)
        roundoff = sqrtl(2) * 2 * roundoff / (1 - 2 * roundoff);
    long double error = (owners + (output->op == PTO_OP_AVG ? 1 : -1)) * roundoff;
    return error < 1 ? error / (1 - error) : INFINITY;
}

static pto_status_t compare_real(const output_t *output, int64_t first, pto_error_t *err) {
    int64_t count = chunk_end(first, output->count) - first,
            components = components_of(output->request->datatype);
    format_t format = format_of(output->request->datatype);
    bool averages = output->op == PTO_OP_AVG, is_sum = output->op == PTO_OP_SUM || averages;
    bool is_complex_product = components == 2 && !is_sum;
    long double tolerance = tolerance_of(output, format, is_complex_product),
                divisor = averages ? (long double)output->owners : 1;
    /* The error of an average by underflow of the values that NCCL multiplies by 1 / n, and of the sum. */
    long double underflow = averages ? (divisor + 1) * smallest_of(format) / 2 : 0;
    long double expected[CHUNK] = {0}, magnitude[CHUNK] = {0};
    double value[CHUNK] = {0};
    for (int64_t from = 0; from < output->owners; from++) {
        uint64_t value_seed = owner_seed(output->seed, from);
        for (int64_t i = 0; i < count; i++)
            value[i] = real_value(format, output->op, value_seed, output->place + first + i);
        for (int64_t i = 0; i < count; i++)
            if (from == 0)
                expected[i] = (long double)value[i];
            else if (!is_complex_product)
                expected[i] = real_result(output->op, expected[i], value[i]);
            else if (i % 2 == 0)
                multiply(expected + i, value + i);
        for (int64_t i = 0; i < count; i++)
            add_magnitude(is_sum, is_complex_product, i, value, expected, magnitude);
    }
    for (int64_t i = 0; i < count; i++) {
        double actual = real_at(format, output->out, first + i);
        long double right = expected[i] / divisor;
        if (!(fabsl(actual - right) <= tolerance * magnitude[i] / divisor + underflow))
            return report_wrong(err, output->owner, (first + i) / components, actual, (double)right);
    }
    return PTO_OK;
}

/* --- blocks --------------------------------------------------------------------------------------------- */

static pto_status_t compare_bytes(const output_t *output, int64_t first, pto_error_t *err) {
    unsigned char expected[CHUNK];
    const unsigned char *actual = output->out + first;
    int64_t count = chunk_end(first, output->count) - first, i = 0;
    fill_chunk(owner_seed(output->seed, output->from), output->place + first, expected, count);
    if (memcmp(expected, actual, (size_t)count) == 0)
        return PTO_OK;
    while (actual[i] == expected[i])
        i++;
    return pto_error_set(err, PTO_ERR_RANGE,
                         "wrong result: owner %lld, byte %lld from owner %lld is 0x%02x and should be 0x%02x",
                         (long long)output->owner, (long long)(first + i), (long long)output->from, actual[i],
                         expected[i]);
}

/* Compares `bytes` of the output at `offset` with the input of owner `from` at offset `place`. */
static pto_status_t compare_block(const output_t *output, int64_t offset, int64_t from, int64_t place,
                                  int64_t bytes, pto_error_t *err) {
    output_t block = *output;
    if (bytes <= 0)
        return PTO_OK; /* an empty buffer has no address */
    block.out += offset;
    block.place = place;
    block.count = bytes;
    block.from = from;
    return compare_all(&block, compare_bytes, err);
}

/* Compares every owner's block for this one; they are in the order of owners. */
static pto_status_t compare_blocks(const output_t *output, pto_error_t *err) {
    const pto_request_t *request = output->request;
    int64_t blocks_before = pto_collective_is_addressed(request->collective) ? output->owner : 0, offset = 0;
    pto_status_t status = PTO_OK;
    for (int64_t from = 0; from < pto_layout_owner_count(&request->layout) && status == PTO_OK; from++) {
        int64_t place = 0;
        for (int64_t to = 0; to < blocks_before; to++)
            place += pto_request_bytes(request, from, to);
        int64_t bytes = pto_request_bytes(request, from, output->owner);
        status = compare_block(output, offset, from, place, bytes, err);
        offset += bytes;
    }
    return status;
}

/* Compares the received messages. Message m comes from the previous node, from the owner whose index on its
 * node is m lower than this one's (modulo their number). Its data are block m of the sender, modulo the
 * number of blocks with data of their own. */
static pto_status_t compare_messages(const output_t *output, pto_error_t *err) {
    const pto_request_t *request = output->request;
    int64_t per_node = request->layout.gpus_per_node * request->layout.owners_per_gpu;
    int64_t node = output->owner / per_node, on_node = output->owner % per_node, blocks = request->messages;
    if (request->unique_bytes > 0 && request->bytes > 0) {
        int64_t unique = (request->unique_bytes + request->bytes - 1) / request->bytes;
        blocks = unique < blocks ? unique : blocks;
    }
    int64_t from_node = (node + request->layout.nodes - 1) % request->layout.nodes;
    pto_status_t status = PTO_OK;
    for (int64_t m = 0; m < request->messages && status == PTO_OK; m++) {
        int64_t from = from_node * per_node + ((on_node - m) % per_node + per_node) % per_node;
        status =
            compare_block(output, m * request->bytes, from, m % blocks * request->bytes, request->bytes, err);
    }
    return status;
}

/* --- halos ----------------------------------------------------------------------------------------------
 *
 * The owners form a grid. Each has an array of its own cells, surrounded by a halo of copies of its
 * neighbors'. */

/* Finds, along dimension `d`, where the cell comes from that is at coordinate `*cell` of an owner's array.
 * Returns the coordinate of that cell's owner, and changes `*cell` to the coordinate in its array. `owner` is
 * the coordinate of the array's owner. A cell beyond an edge that does not wrap around keeps its own value.
 * Counts the dimensions in which the cell is in the halo (`outside`), and in which it is another owner's
 * (`moved`). */
static int64_t cell_from(const pto_halo_t *grid, int d, int64_t owner, int64_t *cell, int *outside,
                         int *moved) {
    int64_t extent = grid->extent[d], inner = *cell - grid->width; /* without the halo */
    int64_t from = owner + (inner < 0 ? -1 : inner >= extent ? 1 : 0);
    bool is_beyond_edge = from < 0 || from >= grid->dims[d];
    *outside += from != owner;
    if (from == owner || (is_beyond_edge && !grid->wrap[d]))
        return owner;
    *moved += 1;
    *cell += (owner - from) * extent;
    return (from + grid->dims[d]) % grid->dims[d];
}

/* Compares `count` cells from coordinates `cell` on along the last dimension. All come from one owner. */
static pto_status_t compare_cells(const output_t *output, const int64_t *cell, int64_t count,
                                  pto_error_t *err) {
    const pto_request_t *request = output->request;
    const pto_halo_t *grid = &request->halo;
    /* Indexes of the first cell in this owner's array, of its source in that owner's array, and of that
     * owner. */
    int64_t index = 0, place = 0, from = 0;
    int64_t rest = output->owner, me[PTO_DIMS_MAX] = {0}; /* this owner's coordinates */
    int outside = 0, moved = 0;
    for (int d = grid->dim_count - 1; d >= 0; rest /= grid->dims[d--])
        me[d] = rest % grid->dims[d];
    for (int d = 0; d < grid->dim_count; d++) {
        int64_t source = cell[d], across = grid->extent[d] + 2 * grid->width;
        from = from * grid->dims[d] + cell_from(grid, d, me[d], &source, &outside, &moved);
        index = index * across + cell[d];
        place = place * across + source;
    }
    bool is_diagonal = grid->corners == PTO_CORNERS_DIAGONAL && moved == outside; /* a diagonal neighbor's */
    if (outside > 1 && !is_diagonal && grid->corners != PTO_CORNERS_TWO_PHASE)
        return PTO_OK; /* a corner that is not exchanged */
    return compare_block(output, index * request->bytes, from, place * request->bytes, count * request->bytes,
                         err);
}

/* Compares an owner's array with its halos, in three sections of each row: halo, inner cells, halo. */
static pto_status_t compare_field(const output_t *given, pto_error_t *err) {
    pto_request_t request = *given->request;
    output_t output = *given;
    output.request = &request;
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
        for (int section = 0; section < 3 && status == PTO_OK; section++) {
            cell[last] = first[section];
            status = compare_cells(&output, cell, first[section + 1] - first[section], err);
        }
    }
    return status;
}

pto_status_t reference_compare(const pto_request_t *request, pto_op_t op, uint64_t seed, int64_t owner,
                               const void *out, int64_t bytes, pto_error_t *err) {
    pto_data_t data = pto_collective_data(request->collective);
    output_t output = {.request = request, .seed = seed, .owner = owner, .out = out, .op = op};
    if (pto_collective_is_to_root(request->collective) && owner > 0)
        return PTO_OK;
    if (data == PTO_DATA_MESSAGES)
        return compare_messages(&output, err);
    if (data == PTO_DATA_GRID)
        return compare_field(&output, err);
    if (data == PTO_DATA_PAIR)
        return compare_block(&output, 0, 1 - owner, 0, bytes, err);
    if (data == PTO_DATA_BLOCKS || data == PTO_DATA_GATHERED)
        return compare_blocks(&output, err);
    if (!pto_collective_reduces(request->collective))
        return compare_block(&output, 0, 0, data == PTO_DATA_SCATTERED ? owner * bytes : 0, bytes, err);
    output.owners = pto_layout_owner_count(&request->layout);
    output.count = bytes / pto_datatype_bytes(request->datatype) * components_of(request->datatype);
    output.place = data == PTO_DATA_SCATTERED ? owner * output.count : 0;
    return compare_all(&output, is_integer(request->datatype) ? compare_integers : compare_real, err);
}

/* --- host buffers --------------------------------------------------------------------------------------- */

enum { POISON = 0xa5 };

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
    fill_bytes(owner_seed(~seed, owner), host->in, host->in_bytes);
    if (host->out)
        memset(host->out, POISON, (size_t)host->out_bytes);
}

pto_status_t reference_host_compare(const pto_request_t *request, uint64_t seed, int64_t owner,
                                    const reference_host_t *host, pto_error_t *err) {
    pto_request_t exchange = *request; /* of the host buffers alone, with other values */
    exchange.counts = pto_request_host_counts(request);
    const output_t output = {.request = &exchange, .seed = ~seed, .owner = owner, .out = host->out};
    return exchange.counts ? compare_blocks(&output, err) : PTO_OK;
}

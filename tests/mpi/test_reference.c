/* The comparison of results with what they must be, against C's own arithmetic: it accepts what is right, up
 * to the last number that may be, and refuses everything else. Needs no mpirun. */
#include <complex.h>

#include "../../validate/reference.h"
#include "made_reals.h"
#include "test.h"

/* More values than are generated at a time. */
enum { OWNERS = 5, COUNT = 1200, SEED = 77 };

static pto_request_t request_of(pto_collective_t collective, pto_datatype_t datatype, int64_t bytes) {
    return (pto_request_t){.layout = {1, OWNERS, 1, 1, OWNERS, false},
                           .collective = collective,
                           .datatype = datatype,
                           .bytes = bytes};
}

/* The inputs of all owners, one after the other. */
static void *inputs_of(const pto_request_t *request, pto_op_t op, uint64_t seed, int64_t bytes) {
    char *in = calloc(OWNERS, (size_t)bytes);
    assert_non_null(in);
    for (int64_t owner = 0; owner < OWNERS; owner++)
        reference_fill(request, op, seed, owner, in + owner * bytes, bytes);
    return in;
}

static pto_status_t compare(const pto_request_t *request, pto_op_t op, int64_t owner, const void *out,
                            int64_t bytes, pto_error_t *err) {
    return reference_compare(request, op, SEED, owner, out, bytes, err);
}

static void assert_says(const pto_error_t *err, const char *format, ...) {
    char wanted[PTO_ERROR_MESSAGE_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(wanted, sizeof wanted, format, arguments);
    va_end(arguments);
    if (!strstr(err->message, wanted))
        fail_msg("'%s' does not say '%s'", err->message, wanted);
}

/* --- whole numbers -------------------------------------------------------------------------------------- */

/* By the operators of C's own types: combine, divide by the number of owners, and print. */
#define WHOLE(TYPE)                                                                                          \
    static void combine_##TYPE(pto_op_t op, void *result, const void *value) {                               \
        TYPE a, b;                                                                                           \
        memcpy(&a, result, sizeof a);                                                                        \
        memcpy(&b, value, sizeof b);                                                                         \
        const TYPE by_op[PTO_OP_COUNT] = {[PTO_OP_SUM] = (TYPE)((uint64_t)a + (uint64_t)b),                  \
                                          [PTO_OP_AVG] = (TYPE)((uint64_t)a + (uint64_t)b),                  \
                                          [PTO_OP_PROD] = (TYPE)((uint64_t)a * (uint64_t)b),                 \
                                          [PTO_OP_MIN] = a < b ? a : b,                                      \
                                          [PTO_OP_MAX] = a > b ? a : b,                                      \
                                          [PTO_OP_LAND] = a != 0 && b != 0,                                  \
                                          [PTO_OP_LOR] = a != 0 || b != 0,                                   \
                                          [PTO_OP_LXOR] = (a != 0) != (b != 0),                              \
                                          [PTO_OP_BAND] = (TYPE)(a & b),                                     \
                                          [PTO_OP_BOR] = (TYPE)(a | b),                                      \
                                          [PTO_OP_BXOR] = (TYPE)(a ^ b)};                                    \
        memcpy(result, &by_op[op], sizeof a);                                                                \
    }                                                                                                        \
    static double average_##TYPE(void *result) {                                                             \
        TYPE a;                                                                                              \
        memcpy(&a, result, sizeof a);                                                                        \
        a = (TYPE)(a / OWNERS);                                                                              \
        memcpy(result, &a, sizeof a);                                                                        \
        return (double)a;                                                                                    \
    }                                                                                                        \
    static double value_##TYPE(const void *result) {                                                         \
        TYPE a;                                                                                              \
        memcpy(&a, result, sizeof a);                                                                        \
        return (double)a;                                                                                    \
    }
#define EACH_WHOLE(X)                                                                                        \
    X(uint8_t, BYTE)                                                                                         \
    X(int8_t, INT8)                                                                                          \
    X(uint8_t, UINT8)                                                                                        \
    X(int16_t, INT16)                                                                                        \
    X(uint16_t, UINT16)                                                                                      \
    X(int32_t, INT32) X(uint32_t, UINT32) X(int64_t, INT64) X(uint64_t, UINT64)
WHOLE(int8_t)
WHOLE(uint8_t)
WHOLE(int16_t)
WHOLE(uint16_t)
WHOLE(int32_t)
WHOLE(uint32_t)
WHOLE(int64_t)
WHOLE(uint64_t)

typedef struct {
    pto_datatype_t datatype;
    int64_t bytes;
    void (*combine)(pto_op_t op, void *result, const void *value);
    double (*average)(void *result);
    double (*value)(const void *result);
} whole_t;

#define ROW(TYPE, NAME) {PTO_DATATYPE_##NAME, sizeof(TYPE), combine_##TYPE, average_##TYPE, value_##TYPE},
static const whole_t whole_types[] = {EACH_WHOLE(ROW)};

/* Spoil a value: the error names it, with what it was and should be. */
static void check_refusal(const whole_t *type, const pto_request_t *request, pto_op_t op, char *out,
                          int64_t at) {
    pto_error_t err;
    char *place = out + at * type->bytes;
    double wanted = type->value(place);
    place[type->bytes - 1] ^= 1; /* the last byte, since each counts */
    assert_int_equal(compare(request, op, 0, out, COUNT * type->bytes, &err), PTO_ERR_RANGE);
    assert_says(&err, "owner 0, element %lld is %.17g and should be %.17g", (long long)at, type->value(place),
                wanted);
    place[type->bytes - 1] ^= 1;
}

TEST(whole_numbers_are_combined_as_by_c) {
    for (size_t t = 0; t < sizeof whole_types / sizeof *whole_types; t++)
        for (pto_op_t op = 0; op < PTO_OP_COUNT; op++) {
            const whole_t *type = &whole_types[t];
            if (pto_op_takes(op, type->datatype, NULL) != PTO_OK)
                continue;
            pto_request_t request = request_of(PTO_COLLECTIVE_ALLREDUCE, type->datatype, COUNT * type->bytes);
            char *in = inputs_of(&request, op, SEED, request.bytes), *out = malloc((size_t)request.bytes);
            memcpy(out, in, (size_t)request.bytes);
            for (int64_t i = 0; i < COUNT; i++) {
                for (int64_t owner = 1; owner < OWNERS; owner++)
                    type->combine(op, out + i * type->bytes, in + owner * request.bytes + i * type->bytes);
                if (op == PTO_OP_AVG)
                    type->average(out + i * type->bytes);
            }
            pto_error_t err = {.message = ""};
            if (compare(&request, op, OWNERS - 1, out, request.bytes, &err) != PTO_OK)
                fail_msg("%s: %s", pto_op_name(op), err.message);
            const int64_t spoiled[] = {0, 1, 511, 512, 1023, 1024, COUNT - 1};
            for (size_t s = 0; s < sizeof spoiled / sizeof *spoiled; s++)
                check_refusal(type, &request, op, out, spoiled[s]);
            free(in);
            free(out);
        }
}

/* Shares of the results of a signed type: those that are 0, and those below. */
static void shares(pto_datatype_t datatype, pto_op_t op, double *zeros, double *negative) {
    for (size_t t = 0; t < sizeof whole_types / sizeof *whole_types; t++) {
        const whole_t *type = &whole_types[t];
        if (type->datatype != datatype)
            continue;
        pto_request_t request = request_of(PTO_COLLECTIVE_ALLREDUCE, datatype, COUNT * type->bytes);
        char *in = inputs_of(&request, op, SEED, request.bytes);
        *zeros = *negative = 0;
        for (int64_t i = 0; i < COUNT; i++) {
            for (int64_t owner = 1; owner < OWNERS; owner++)
                type->combine(op, in + i * type->bytes, in + owner * request.bytes + i * type->bytes);
            *zeros += type->value(in + i * type->bytes) == 0 ? 1.0 / COUNT : 0;
            *negative += type->value(in + i * type->bytes) < 0 ? 1.0 / COUNT : 0;
        }
        free(in);
    }
}

/* A result that is always the same would hide an error. */
TEST(every_operation_shows_something) {
    double zeros, negative;
    for (pto_op_t op = PTO_OP_LAND; op <= PTO_OP_LXOR; op++) {
        shares(PTO_DATATYPE_INT32, op, &zeros, &negative);
        assert_true(zeros > 0.3 && zeros < 0.7);
    }
    for (pto_op_t op = PTO_OP_BAND; op <= PTO_OP_BXOR; op++) {
        shares(PTO_DATATYPE_INT64, op, &zeros, &negative); /* the sign is a bit like others */
        assert_true(zeros == 0 && negative > 0.3 && negative < 0.7);
    }
    shares(PTO_DATATYPE_INT16, PTO_OP_PROD, &zeros, &negative);
    assert_true(zeros < 0.1 && negative > 0.3 && negative < 0.7);
    shares(PTO_DATATYPE_INT32, PTO_OP_SUM, &zeros, &negative);
    assert_true(zeros < 0.1 && negative > 0.3 && negative < 0.7);
}

/* C's int and longer must not overflow, whatever the order. */
TEST(signed_sums_and_products_stay_in_range) {
    pto_request_t request = request_of(PTO_COLLECTIVE_ALLREDUCE, PTO_DATATYPE_INT32, COUNT * 4);
    int counts[5] = {0};
    int32_t *factor = inputs_of(&request, PTO_OP_PROD, SEED, request.bytes);
    for (int i = 0; i < COUNT; i++) {
        assert_true(factor[i] != 0 && abs(factor[i]) <= 2);
        counts[factor[i] + 2]++;
    }
    for (int value = 0; value < 5; value++)
        assert_true(value == 2 || counts[value] > COUNT / 8);
    free(factor);
    double sum = 0, largest = 0;
    int32_t *term = inputs_of(&request, PTO_OP_SUM, SEED, request.bytes);
    for (int i = 0; i < COUNT; i++) {
        sum += term[i];
        largest = fmax(largest, abs(term[i]));
    }
    assert_true(largest > 0.99e6 && largest <= 1e6 && fabs(sum / COUNT) < 6e4);
    free(term);
}

/* --- real numbers --------------------------------------------------------------------------------------- */

typedef struct {
    long double wanted;
    long double off; /* how far it may be */
} range_t;

/* Higham, section 4.2, for one element of the inputs' values (components[owner]). */
static range_t range_of(const real_t *type, pto_op_t op, const double *value) {
    long double u = ldexpl(1, -type->digits), n = OWNERS, sum = 0, magnitude = 0, product = 1;
    double least = value[0], most = value[0];
    for (int owner = 0; owner < OWNERS; owner++) {
        sum += value[owner];
        magnitude += fabs(value[owner]);
        product *= value[owner];
        least = fmin(least, value[owner]);
        most = fmax(most, value[owner]);
    }
    long double gamma = (n - 1) * u / (1 - (n - 1) * u), more = (n + 1) * u / (1 - (n + 1) * u);
    switch (op) {
    case PTO_OP_SUM:
        return (range_t){sum, gamma * magnitude};
    case PTO_OP_PROD:
        return (range_t){product, gamma * fabsl(product)};
    case PTO_OP_AVG:
        return (range_t){sum / n, more * magnitude / n + (n + 1) * real_least(type) / 2};
    default:
        return (range_t){op == PTO_OP_MIN ? least : most, 0};
    }
}

/* The outermost number of the type in the range is right, and the next one is wrong. */
static void check_edges(const real_t *type, const pto_request_t *request, pto_op_t op, char *out, int64_t at,
                        range_t range) {
    pto_error_t err;
    char kept[8], *place = out + at * type->bytes;
    memcpy(kept, place, (size_t)type->bytes);
    for (int sign = -1; sign <= 1; sign += 2) {
        double edge = real_within(type, range.wanted, range.off, sign);
        real_put(type, place, edge);
        if (compare(request, op, 1, out, request->bytes, &err) != PTO_OK)
            fail_msg("%s of type %d: %s", pto_op_name(op), type->datatype, err.message);
        real_put(type, place, real_next(type, edge, sign));
        assert_int_equal(compare(request, op, 1, out, request->bytes, &err), PTO_ERR_RANGE);
        assert_says(&err, "owner 1, element %lld is", (long long)at / type->parts);
    }
    real_put(type, place, NAN);
    assert_int_equal(compare(request, op, 1, out, request->bytes, NULL), PTO_ERR_RANGE);
    memcpy(place, kept, (size_t)type->bytes);
}

TEST(real_results_may_be_as_far_off_as_rounding_makes_them) {
    for (size_t t = 0; t < real_type_count; t++)
        for (pto_op_t op = PTO_OP_SUM; op <= PTO_OP_AVG; op++) {
            const real_t *type = &real_types[t];
            if (pto_op_takes(op, type->datatype, NULL) != PTO_OK || (type->parts == 2 && op == PTO_OP_PROD))
                continue;
            pto_request_t request = request_of(PTO_COLLECTIVE_ALLREDUCE, type->datatype, COUNT * type->bytes);
            range_t range[COUNT];
            char *in = inputs_of(&request, op, SEED, request.bytes), *out = malloc((size_t)request.bytes);
            for (int64_t i = 0; i < COUNT; i++) {
                double value[OWNERS];
                for (int64_t owner = 0; owner < OWNERS; owner++)
                    value[owner] = real_get(type, in + owner * request.bytes + i * type->bytes);
                range[i] = range_of(type, op, value);
                real_put(type, out + i * type->bytes, real_within(type, range[i].wanted, range[i].off, 1));
            }
            assert_int_equal(compare(&request, op, 1, out, request.bytes, NULL), PTO_OK);
            const int64_t tried[] = {0, 1, 511, 512, 700, COUNT - 1};
            for (size_t s = 0; s < sizeof tried / sizeof *tried; s++)
                check_edges(type, &request, op, out, tried[s], range[tried[s]]);
            free(in);
            free(out);
        }
}

/* Complex products, as C multiplies: a product has sqrt(2) gamma_2 (Higham 2002, lemma 3.5). */
TEST(complex_products_are_those_of_c) {
    enum { PAIRS = 600 };
    pto_request_t request =
        request_of(PTO_COLLECTIVE_ALLREDUCE, PTO_DATATYPE_DOUBLE_COMPLEX, PAIRS * 2 * sizeof(double));
    double *in = inputs_of(&request, PTO_OP_PROD, SEED, request.bytes), out[2 * PAIRS];
    for (int i = 0; i < PAIRS; i++) {
        long double complex product = 1;
        for (int owner = 0; owner < OWNERS; owner++) {
            const double *value = in + (owner * PAIRS + i) * 2;
            product *= (long double)value[0] + (long double)value[1] * (long double complex)_Complex_I;
        }
        out[2 * i] = (double)creall(product);
        out[2 * i + 1] = (double)cimagl(product);
    }
    assert_int_equal(compare(&request, PTO_OP_PROD, 0, out, request.bytes, NULL), PTO_OK);
    for (int i = 0; i < 2 * PAIRS; i += 37) {
        double kept = out[i], u = ldexp(1, -53), unit = sqrt(2) * 2 * u;
        double off = (OWNERS - 1) * unit * hypot(out[i & ~1], out[i | 1]);
        pto_error_t err;
        out[i] = kept + 0.8 * off;
        assert_int_equal(compare(&request, PTO_OP_PROD, 0, out, request.bytes, NULL), PTO_OK);
        out[i] = kept - 1.3 * off - 2 * u * fabs(kept);
        assert_int_equal(compare(&request, PTO_OP_PROD, 0, out, request.bytes, &err), PTO_ERR_RANGE);
        assert_says(&err, "element %d is", i / 2);
        out[i] = kept;
    }
    free(in);
}

TEST(real_values_fill_their_range) {
    for (size_t t = 0; t < real_type_count; t++)
        for (pto_op_t op = PTO_OP_SUM; op <= PTO_OP_PROD; op++) {
            const real_t *type = &real_types[t];
            pto_request_t request = request_of(PTO_COLLECTIVE_ALLREDUCE, type->datatype, COUNT * type->bytes);
            double least = 9, most = -9;
            char *in = inputs_of(&request, op, SEED, request.bytes);
            for (int64_t i = 0; i < COUNT; i++) {
                least = fmin(least, real_get(type, in + i * type->bytes));
                most = fmax(most, real_get(type, in + i * type->bytes));
            }
            double low = op == PTO_OP_SUM ? -1 : type->digits < 24 ? 0.75 : 0.5;
            double high = op == PTO_OP_SUM ? 1 : type->digits < 24 ? 1.25 : 2;
            assert_true(least >= low && least < low + 0.02 && most <= high && most > high - 0.02);
            free(in);
        }
}

/* --- where the values go -------------------------------------------------------------------------------- */

TEST(owners_seeds_and_places_have_different_values) {
    pto_request_t request = request_of(PTO_COLLECTIVE_ALLTOALL, PTO_DATATYPE_BYTE, COUNT);
    unsigned char *in = inputs_of(&request, PTO_OP_SUM, SEED, COUNT);
    unsigned char *other = inputs_of(&request, PTO_OP_SUM, SEED + 1, COUNT);
    int same_owner = 0, same_seed = 0, same_place = 0;
    for (int i = 0; i < COUNT - 8; i++) {
        same_owner += in[i] == in[COUNT + i];
        same_seed += in[i] == other[i];
        same_place += in[i] == in[i + 8] || in[i] == in[i + 1];
    }
    assert_true(same_owner < COUNT / 50 && same_seed < COUNT / 50 && same_place < COUNT / 25);
    free(in);
    free(other);
}

TEST(a_block_of_a_reduced_vector_goes_to_each_owner) {
    enum { BLOCK = 700 };
    pto_request_t request = request_of(PTO_COLLECTIVE_REDUCE_SCATTER, PTO_DATATYPE_INT32, BLOCK * 4);
    int32_t *in = inputs_of(&request, PTO_OP_MAX, SEED, OWNERS * BLOCK * 4), out[BLOCK];
    for (int owner = 0; owner < OWNERS; owner++) {
        for (int i = 0; i < BLOCK; i++) {
            out[i] = in[owner * BLOCK + i];
            for (int from = 1; from < OWNERS; from++) {
                int32_t value = in[(from * OWNERS + owner) * BLOCK + i];
                out[i] = value > out[i] ? value : out[i];
            }
        }
        assert_int_equal(compare(&request, PTO_OP_MAX, owner, out, sizeof out, NULL), PTO_OK);
        assert_int_equal(compare(&request, PTO_OP_MAX, (owner + 1) % OWNERS, out, sizeof out, NULL),
                         PTO_ERR_RANGE);
    }
    request.collective = PTO_COLLECTIVE_REDUCE; /* only owner 0 has an output */
    assert_int_equal(compare(&request, PTO_OP_MAX, 1, out, sizeof out, NULL), PTO_OK);
    assert_int_equal(compare(&request, PTO_OP_MAX, 0, out, sizeof out, NULL), PTO_ERR_RANGE);
    free(in);
}

/* An output that consists of pieces of inputs: where each comes from, and how long it is. */
typedef struct {
    int64_t from;
    int64_t place;
    int64_t bytes;
} piece_t;

static int pieces_of(const pto_request_t *request, int64_t owner, piece_t *piece) {
    int64_t block = request->bytes, from_node = (owner / 2 + 1) % 2;
    int count = 0;
    switch (request->collective) {
    case PTO_COLLECTIVE_BROADCAST:
        piece[count++] = (piece_t){0, 0, block};
        break;
    case PTO_COLLECTIVE_SCATTER:
        piece[count++] = (piece_t){0, owner * block, block};
        break;
    case PTO_COLLECTIVE_PAIR:
        piece[count++] = (piece_t){1 - owner, 0, block};
        break;
    case PTO_COLLECTIVE_MESSAGES: /* two nodes of two; the third and later blocks are the first ones again */
        for (int m = 0; m < 5; m++)
            piece[count++] = (piece_t){from_node * 2 + (owner + m) % 2, m % 3 * block, block};
        break;
    default:
        for (int64_t from = 0; from < OWNERS; from++) {
            int64_t place = 0;
            bool gathers = pto_collective_data(request->collective) == PTO_DATA_GATHERED;
            for (int64_t to = 0; to < owner && !gathers; to++)
                place += pto_request_bytes(request, from, to);
            piece[count++] = (piece_t){from, place, pto_request_bytes(request, from, owner)};
        }
    }
    return count;
}

static void check_pieces(const pto_request_t *request, int64_t owner) {
    enum { MOST = 20000 };
    static unsigned char out[MOST], in[MOST];
    piece_t piece[OWNERS];
    pto_error_t err = {.message = ""};
    int count = pieces_of(request, owner, piece);
    int64_t bytes = 0, at = 0;
    for (int p = 0; p < count; bytes += piece[p++].bytes) {
        reference_fill(request, PTO_OP_SUM, SEED, piece[p].from, in, MOST);
        memcpy(out + bytes, in + piece[p].place, (size_t)piece[p].bytes);
    }
    assert_ok(compare(request, PTO_OP_SUM, owner, out, bytes, &err), &err);
    for (int p = 0; p < count; at += piece[p++].bytes)
        for (int end = 0; end < 2 && piece[p].bytes > 0; end++) {
            int64_t i = end == 0 ? 0 : piece[p].bytes - 1;
            out[at + i] ^= 0x10;
            assert_int_equal(compare(request, PTO_OP_SUM, owner, out, bytes, &err), PTO_ERR_RANGE);
            assert_says(&err, "owner %d, byte %d from owner %d is 0x%02x and should be 0x%02x", (int)owner,
                        (int)i, (int)piece[p].from, out[at + i], out[at + i] ^ 0x10);
            out[at + i] ^= 0x10;
        }
}

TEST(blocks_are_where_the_collective_puts_them) {
    const pto_counts_t skewed = {.kind = PTO_COUNTS_SKEW, .skew = 1, .seed = 3};
    const pto_collective_t collective[] = {PTO_COLLECTIVE_ALLTOALL,  PTO_COLLECTIVE_ALLTOALLV,
                                           PTO_COLLECTIVE_ALLGATHER, PTO_COLLECTIVE_ALLGATHERV,
                                           PTO_COLLECTIVE_BROADCAST, PTO_COLLECTIVE_SCATTER};
    for (size_t c = 0; c < sizeof collective / sizeof *collective; c++)
        for (int64_t bytes = 1; bytes <= 1537; bytes += 512) {
            pto_request_t request = request_of(collective[c], PTO_DATATYPE_BYTE, bytes);
            request.counts =
                pto_collective_is_addressed(collective[c]) && collective[c] != PTO_COLLECTIVE_ALLTOALL
                    ? &skewed
                    : NULL;
            for (int64_t owner = 0; owner < OWNERS; owner++)
                check_pieces(&request, owner);
        }
    pto_request_t gather = request_of(PTO_COLLECTIVE_GATHER, PTO_DATATYPE_BYTE, 100);
    check_pieces(&gather, 0);
    assert_int_equal(compare(&gather, PTO_OP_SUM, 1, "", 0, NULL), PTO_OK); /* it has no output */
    for (int64_t owner = 0; owner < 2; owner++) {
        pto_request_t pair = request_of(PTO_COLLECTIVE_PAIR, PTO_DATATYPE_BYTE, 600);
        check_pieces(&pair, owner);
    }
}

TEST(messages_come_from_the_node_before) {
    for (int64_t owner = 0; owner < 4; owner++) {
        pto_request_t request = request_of(PTO_COLLECTIVE_MESSAGES, PTO_DATATYPE_BYTE, 300);
        request.layout = (pto_layout_t){2, 2, 1, 1, 2, false};
        request.messages = 5;
        request.unique_bytes = 601; /* of three messages */
        check_pieces(&request, owner);
        request.unique_bytes = 899;
        check_pieces(&request, owner);
    }
}

/* --- halos ---------------------------------------------------------------------------------------------- */

/* Rows of 6 and columns of 5 cells without margins, of 2 times 3 owners; the columns wrap. */
enum { ROWS = 6, COLUMNS = 5, WIDTH = 2, ACROSS = COLUMNS + 2 * WIDTH, CELLS = (ROWS + 2 * WIDTH) * ACROSS };

static int64_t floor_quotient(int64_t a, int64_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

/* Where an owner's cell has its value from, in the whole field; a row beyond the field stays where it is.
 * False: nobody sends it. */
static bool origin(pto_corners_t corners, int64_t owner, int64_t row, int64_t column, int64_t *from,
                   int64_t *cell) {
    int64_t whole_row = owner / 3 * ROWS + row - WIDTH, whole_column = owner % 3 * COLUMNS + column - WIDTH;
    bool beyond = whole_row < 0 || whole_row >= 2 * ROWS;
    int64_t from_row = beyond ? owner / 3 : whole_row / ROWS;
    int64_t turned = floor_quotient(whole_column, COLUMNS), from_column = (turned % 3 + 3) % 3;
    bool up = row < WIDTH || row >= WIDTH + ROWS, aside = column < WIDTH || column >= WIDTH + COLUMNS;
    *from = from_row * 3 + from_column;
    *cell = (whole_row - from_row * ROWS + WIDTH) * ACROSS + whole_column - turned * COLUMNS + WIDTH;
    if (!(up && aside))
        return true;
    return corners == PTO_CORNERS_TWO_PHASE || (corners == PTO_CORNERS_DIAGONAL && !beyond);
}

TEST(a_halo_holds_the_neighbors_cells) {
    static int32_t in[6][CELLS], out[CELLS];
    for (pto_corners_t corners = 0; corners < PTO_CORNERS_COUNT; corners++) {
        pto_request_t request = {.layout = {1, 6, 1, 1, 6, false},
                                 .collective = PTO_COLLECTIVE_HALO,
                                 .bytes = 4,
                                 .halo = {2, {2, 3}, {false, true}, {ROWS, COLUMNS}, WIDTH, corners}};
        for (int owner = 0; owner < 6; owner++)
            reference_fill(&request, PTO_OP_SUM, SEED, owner, in[owner], sizeof *in);
        for (int64_t owner = 0; owner < 6; owner++) {
            for (int pass = 0; pass < 2; pass++)
                for (int64_t at = 0; at < CELLS; at++) {
                    int64_t from, cell;
                    bool sent = origin(corners, owner, at / ACROSS, at % ACROSS, &from, &cell);
                    if (pass == 0) {
                        out[at] = sent ? in[from][cell] : 12345;
                        continue;
                    }
                    out[at] ^= 1 << 20;
                    assert_int_equal(compare(&request, PTO_OP_SUM, owner, out, sizeof out, NULL),
                                     sent ? PTO_ERR_RANGE : PTO_OK);
                    out[at] ^= 1 << 20;
                }
            assert_int_equal(compare(&request, PTO_OP_SUM, owner, out, sizeof out, NULL), PTO_OK);
        }
    }
}

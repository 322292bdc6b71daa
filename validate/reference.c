/* Inputs from seeds and the outputs that must follow from them, in plain loops. */
#include "reference.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static uint64_t noise(uint64_t seed, int64_t owner, int64_t place) {
    return mix(mix(seed ^ mix((uint64_t)owner)) + (uint64_t)place);
}

/* --- values to reduce ------------------------------------------------------------------------------------
 */

/* Small enough that no operation overflows an int32: products of up to 30 values of magnitude 1 or 2. */
static int64_t whole_value(pto_op_t op, uint64_t seed, int64_t owner, int64_t i) {
    uint64_t random = noise(seed, owner, i);
    if (op == PTO_OP_PROD)
        return (random & 2 ? 2 : 1) * (random & 1 ? -1 : 1);
    return (int64_t)(random % 2000001) - 1000000;
}

static double real_value(pto_op_t op, uint64_t seed, int64_t owner, int64_t i) {
    double unit = (double)(noise(seed, owner, i) >> 11) / 9007199254740992.0;
    return op == PTO_OP_PROD ? 0.5 + 1.5 * unit : 2 * unit - 1;
}

static void fill_values(const pto_request_t *request, pto_op_t op, uint64_t seed, int64_t owner, void *in,
                        int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        if (request->datatype == PTO_DATATYPE_INT32)
            ((int32_t *)in)[i] = (int32_t)whole_value(op, seed, owner, i);
        else if (request->datatype == PTO_DATATYPE_INT64)
            ((int64_t *)in)[i] = whole_value(op, seed, owner, i);
        else if (request->datatype == PTO_DATATYPE_FLOAT)
            ((float *)in)[i] = (float)real_value(op, seed, owner, i);
        else
            ((double *)in)[i] = real_value(op, seed, owner, i);
    }
}

void reference_fill(const pto_request_t *request, pto_op_t op, uint64_t seed, int64_t owner, void *in,
                    int64_t bytes) {
    if (pto_collective_reduces(request->collective)) {
        fill_values(request, op, seed, owner, in, bytes / pto_datatype_bytes(request->datatype));
        return;
    }
    for (int64_t i = 0; i < bytes; i++)
        ((unsigned char *)in)[i] = (unsigned char)noise(seed, owner, i);
}

/* --- allreduce -------------------------------------------------------------------------------------------
 */

static pto_status_t wrong(pto_error_t *err, int64_t owner, int64_t i, double got, double wanted) {
    return pto_error_set(err, PTO_ERR_RANGE,
                         "wrong result: owner %lld, element %lld is %.17g and should be %.17g",
                         (long long)owner, (long long)i, got, wanted);
}

static int64_t whole_result(pto_op_t op, int64_t owners, uint64_t seed, int64_t i) {
    int64_t result = whole_value(op, seed, 0, i);
    for (int64_t from = 1; from < owners; from++) {
        int64_t value = whole_value(op, seed, from, i);
        if (op == PTO_OP_SUM)
            result += value;
        else if (op == PTO_OP_PROD)
            result *= value;
        else if ((op == PTO_OP_MIN) == (value < result))
            result = value;
    }
    return result;
}

static pto_status_t compare_whole(const pto_request_t *request, pto_op_t op, uint64_t seed, int64_t owner,
                                  const void *out, int64_t count, pto_error_t *err) {
    int64_t owners = pto_layout_owner_count(&request->layout);
    for (int64_t i = 0; i < count; i++) {
        int64_t wanted = whole_result(op, owners, seed, i);
        int64_t got =
            request->datatype == PTO_DATATYPE_INT32 ? ((const int32_t *)out)[i] : ((const int64_t *)out)[i];
        if (got != wanted)
            return wrong(err, owner, i, (double)got, (double)wanted);
    }
    return PTO_OK;
}

/* The value as the type of the collective holds it. */
static double held(const pto_request_t *request, double value) {
    return request->datatype == PTO_DATATYPE_FLOAT ? (double)(float)value : value;
}

static pto_status_t compare_real(const pto_request_t *request, pto_op_t op, uint64_t seed, int64_t owner,
                                 const void *out, int64_t count, pto_error_t *err) {
    int64_t owners = pto_layout_owner_count(&request->layout);
    double eps = request->datatype == PTO_DATATYPE_FLOAT ? (double)FLT_EPSILON : DBL_EPSILON;
    double share = (double)(owners - 1) * eps / (1 - (double)owners * eps);
    for (int64_t i = 0; i < count; i++) {
        long double result = held(request, real_value(op, seed, 0, i)), magnitude = fabsl(result);
        for (int64_t from = 1; from < owners; from++) {
            long double value = held(request, real_value(op, seed, from, i));
            if (op == PTO_OP_SUM)
                result += value;
            else if (op == PTO_OP_PROD)
                result *= value;
            else if ((op == PTO_OP_MIN) == (value < result))
                result = value;
            magnitude = op == PTO_OP_SUM ? magnitude + fabsl(value) : fabsl(result);
        }
        bool exact = op == PTO_OP_MIN || op == PTO_OP_MAX;
        double got = request->datatype == PTO_DATATYPE_FLOAT ? (double)((const float *)out)[i]
                                                             : ((const double *)out)[i];
        if (!(fabsl(got - result) <= (exact ? 0 : share * magnitude)))
            return wrong(err, owner, i, got, (double)result);
    }
    return PTO_OK;
}

/* --- blocks ----------------------------------------------------------------------------------------------
 */

static pto_status_t compare_block(uint64_t seed, int64_t from, int64_t place, int64_t owner,
                                  const unsigned char *got, int64_t bytes, pto_error_t *err) {
    for (int64_t i = 0; i < bytes; i++) {
        unsigned char wanted = (unsigned char)noise(seed, from, place + i);
        if (got[i] != wanted)
            return pto_error_set(
                err, PTO_ERR_RANGE,
                "wrong result: owner %lld, byte %lld from owner %lld is 0x%02x and should be 0x%02x",
                (long long)owner, (long long)i, (long long)from, got[i], wanted);
    }
    return PTO_OK;
}

static int64_t bytes_between(const pto_request_t *request, int64_t from, int64_t to) {
    if (request->collective == PTO_COLLECTIVE_ALLTOALLV && request->counts)
        return pto_counts_bytes(request->counts, request->bytes, from, to);
    return request->bytes;
}

static pto_status_t compare_alltoall(const pto_request_t *request, uint64_t seed, int64_t owner,
                                     const void *out, pto_error_t *err) {
    const unsigned char *got = out;
    pto_status_t status = PTO_OK;
    for (int64_t from = 0; from < pto_layout_owner_count(&request->layout) && status == PTO_OK; from++) {
        int64_t place = 0;
        for (int64_t to = 0; to < owner; to++)
            place += bytes_between(request, from, to);
        int64_t bytes = bytes_between(request, from, owner);
        status = compare_block(seed, from, place, owner, got, bytes, err);
        got += bytes;
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

pto_status_t reference_compare(const pto_request_t *request, pto_op_t op, uint64_t seed, int64_t owner,
                               const void *out, int64_t bytes, pto_error_t *err) {
    if (request->collective == PTO_COLLECTIVE_MESSAGES)
        return compare_messages(request, seed, owner, out, err);
    if (request->collective == PTO_COLLECTIVE_BROADCAST)
        return compare_block(seed, 0, 0, owner, out, bytes, err);
    if (request->collective == PTO_COLLECTIVE_REDUCE && owner > 0)
        return PTO_OK;
    if (!pto_collective_reduces(request->collective))
        return compare_alltoall(request, seed, owner, out, err);
    int64_t count = bytes / pto_datatype_bytes(request->datatype);
    bool real = request->datatype == PTO_DATATYPE_FLOAT || request->datatype == PTO_DATATYPE_DOUBLE;
    return (real ? compare_real : compare_whole)(request, op, seed, owner, out, count, err);
}

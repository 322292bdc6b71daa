/* Every rank must get the same bits, whatever order its algorithm combines in. */
#include "exec_specials.h"

#include <string.h>

#include "portolan/strategy.h"

/* NaNs of both signs, quiet and signaling, with payloads. */
static const uint32_t float_bits[] = {0x7fc00000, 0xffc00001, 0x7f800001, 0xff812345, 0x00000000, 0x80000000,
                                      0x7f800000, 0xff800000, 0x3f800000, 0xbf800000, 0x00000001, 0x80000001};
static const uint64_t double_bits[] = {0x7ff8000000000000, 0xfff8000000000001, 0x7ff0000000000001,
                                       0xfff0000012345678, 0x0000000000000000, 0x8000000000000000,
                                       0x7ff0000000000000, 0xfff0000000000000, 0x3ff0000000000000,
                                       0xbff0000000000000, 0x0000000000000001, 0x8000000000000001};
static const uint16_t half_bits[] = {0x7e00, 0xfe01, 0x7c01, 0xfd23, 0x0000, 0x8000,
                                     0x7c00, 0xfc00, 0x3c00, 0xbc00, 0x0001, 0x8001};
static const uint16_t bfloat16_bits[] = {0x7fc0, 0xffc1, 0x7f81, 0xff92, 0x0000, 0x8000,
                                         0x7f80, 0xff80, 0x3f80, 0xbf80, 0x0001, 0x8001};
enum { VALUES = sizeof float_bits / sizeof *float_bits, NANS = 4, NAN_IN = 8 };

/* Which of the values an owner holds at a place: a NaN seldom, so that zeros meet too. */
static size_t value_at(uint64_t seed, int64_t owner, int64_t i) {
    uint64_t kept = case_random_state;
    case_random_state = (seed << 40) ^ ((uint64_t)owner << 32) ^ (uint64_t)i;
    bool is_nan = case_random_below(NAN_IN) == 0;
    size_t value = (size_t)(is_nan ? case_random_below(NANS) : NANS + case_random_below(VALUES - NANS));
    case_random_state = kept;
    return value;
}

/* NULL: the type has no NaN. */
static const void *bits_of(pto_datatype_t datatype) {
    return datatype == PTO_DATATYPE_FLOAT      ? (const void *)float_bits
           : datatype == PTO_DATATYPE_DOUBLE   ? (const void *)double_bits
           : datatype == PTO_DATATYPE_HALF     ? (const void *)half_bits
           : datatype == PTO_DATATYPE_BFLOAT16 ? (const void *)bfloat16_bits
                                               : NULL;
}

static void put(const case_t *test, void *at, int64_t i, size_t value) {
    size_t bytes = (size_t)pto_datatype_bytes(test->request.datatype);
    memcpy((char *)at + (size_t)i * bytes, (const char *)bits_of(test->request.datatype) + value * bytes,
           bytes);
}

/* Where a value stands in the order from -inf to +inf; -1: a NaN. */
static int rank_of(size_t value) {
    static const int rank[VALUES] = {-1, -1, -1, -1, 4, 3, 7, 0, 6, 1, 5, 2};
    return rank[value];
}

static size_t wanted_at(const case_t *test, uint64_t seed, int64_t i) {
    size_t wanted = value_at(seed, 0, i);
    for (int64_t owner = 1; owner < pto_layout_owner_count(&test->request.layout); owner++) {
        size_t value = value_at(seed, owner, i);
        bool less = rank_of(value) < rank_of(wanted);
        if (rank_of(wanted) >= 0 && (rank_of(value) < 0 || less == (test->op == PTO_OP_MIN)))
            wanted = value;
    }
    return rank_of(wanted) < 0 ? 0 : wanted; /* the first is the NaN that all become */
}

static void compare(const case_t *test, const case_user_t *user, uint64_t seed) {
    int64_t element = pto_datatype_bytes(test->request.datatype);
    for (int64_t i = 0; i < user->out_bytes / element; i++) {
        uint64_t wanted = 0;
        put(test, &wanted, 0, wanted_at(test, seed, i));
        if (memcmp(&wanted, (const char *)user->host + i * element, (size_t)element) == 0)
            continue;
        pto_error_t err = {0};
        pto_error_set(&err, PTO_ERR_RANGE, "owner %lld, element %lld has wrong bits", (long long)user->owner,
                      (long long)i);
        case_die(test, &err);
    }
}

static void run_case(const case_t *test, const pto_plan_t *plan, MPI_Comm comm, const pto_device_t *device,
                     uint64_t seed) {
    pto_error_t err = {0};
    pto_exec_t *exec = NULL;
    case_user_t user;
    pto_status_t status = case_open(test, plan, comm, device, &user, &exec, &err);
    for (int64_t i = 0; i < user.in_bytes / pto_datatype_bytes(test->request.datatype); i++)
        put(test, user.host, i, value_at(seed, user.owner, i));
    if (status == PTO_OK && user.in_bytes > 0)
        status = pto_device_copy(device, user.in, user.host, (size_t)user.in_bytes, &err);
    if (status == PTO_OK)
        status = pto_exec_run(exec, &err);
    bool has_result = user.owner == 0 || test->request.collective == PTO_COLLECTIVE_ALLREDUCE;
    if (status == PTO_OK && user.owner >= 0 && has_result)
        status = pto_device_copy(device, user.host, user.out, (size_t)user.out_bytes, &err);
    if (status != PTO_OK)
        case_die(test, &err);
    if (user.owner >= 0 && has_result)
        compare(test, &user, seed);
    pto_exec_destroy(exec);
    case_user_free(test, device, &user);
}

/* NCCL's own collectives have NCCL's own NaNs, and MPI's have MPI's. A single owner combines nothing. */
static bool is_wanted(const case_t *test) {
    const pto_request_t *request = &test->request;
    return bits_of(request->datatype) && pto_collective_reduces(request->collective) &&
           !request->strategy->nccl && test->options.own_algorithms &&
           pto_layout_owner_count(&request->layout) > 1;
}

void specials_run(int64_t count, MPI_Comm comm, const pto_device_t *device) {
    int size = 0;
    MPI_Comm_size(comm, &size);
    for (int64_t done = 0; done < count;) {
        case_t test;
        pto_plan_t *plan = case_random(&test, NULL, size);
        test.op = case_random_below(2) ? PTO_OP_MIN : PTO_OP_MAX;
        test.options.own_algorithms = case_may_own(&test);
        if (is_wanted(&test))
            run_case(&test, plan, comm, device, (uint64_t)++done);
        pto_plan_destroy(plan);
    }
}

/* --- every datatype and operation ----------------------------------------------------------------------- */

static int64_t run_pair(int64_t count, MPI_Comm comm, const pto_device_t *device) {
    static const char *const collective[] = {"allreduce", "reduce_scatter", "reduce"};
    int64_t ran = 0;
    int size = 0;
    MPI_Comm_size(comm, &size);
    for (int64_t i = 0; i < count; i++) {
        case_t test;
        case_collective = collective[case_random_below(3)];
        pto_plan_t *plan = case_random(&test, NULL, size);
        ran += case_run(&test, plan, comm, device, 2);
        pto_plan_destroy(plan);
    }
    return ran;
}

int64_t types_run(int64_t count, MPI_Comm comm, const pto_device_t *device) {
    int64_t ran = 0;
    for (int type = 0; type < PTO_DATATYPE_COUNT; type++)
        for (int op = 0; op < PTO_OP_COUNT; op++) {
            case_datatype = (pto_datatype_t)type;
            case_op = (pto_op_t)op;
            if (pto_op_takes(case_op, case_datatype, NULL) == PTO_OK)
                ran += run_pair(count, comm, device);
        }
    case_datatype = PTO_DATATYPE_COUNT;
    case_op = PTO_OP_COUNT;
    case_collective = NULL;
    return ran;
}

/* Copies of several processes that share a GPU: whatever the rows of `copies.shared` are, an explanation
 * sums to its price, and no copy reduces the cost of others. The rows are random, so that neighbouring rows
 * can cross: three processes may be slower than four. */
#include "../chance.h"
#include "built.h"
#include "made_up.h"
#include "must.h"
#include "plan_request.h"
#include "portolan/simulate.h"
#include "portolan/strategy.h"
#include "price/ledger.h"
#include "priced.h"
#include "test.h"

enum { MACHINES = 200, ROWS_MAX = 12, REQUESTS = 6 };

/* Evenly over the orders of magnitude between both. */
static double random_between(double low, double high) {
    return low * pow(high / low, (double)below(1 << 20) / (1 << 20));
}

/* --- machines with random rows -------------------------------------------------------------------------- */

static pto_machine_t base;
static pto_cost_row_t rows[PTO_COPY_COUNT][ROWS_MAX];

static int read_base(void **state) {
    base = must_read("scenarios/machines/lassen-spectrum-refit.yaml");
    return 0;
}

static void add_row(pto_cost_row_t *row, int procs, bool strided, int64_t from_bytes, int64_t below_bytes) {
    *row = (pto_cost_row_t){
        .procs = procs, .strided = strided, .from_bytes = from_bytes, .below_bytes = below_bytes};
    row->postal.alpha_s = (pto_param_t){.value = random_between(2e-6, 1e-4), .line = 1};
    row->postal.beta_s_per_byte = (pto_param_t){.value = random_between(1e-11, 1e-9), .line = 1};
}

static int add_rows(pto_cost_row_t *row, bool strided) {
    static const int procs[] = {1, 2, 3, 4, 6};
    int count = 0;
    for (size_t i = 0; i < sizeof procs / sizeof *procs && count + 2 <= ROWS_MAX / 2; i++) {
        if (below(2) == 0)
            continue;
        int64_t limit = below(3) == 0 ? 1 << (8 + below(10)) : INT64_MAX;
        add_row(&row[count++], procs[i], strided, 0, limit);
        if (limit != INT64_MAX)
            add_row(&row[count++], procs[i], strided, limit, INT64_MAX);
    }
    return count;
}

/* It borrows from `base`, so it is never freed. */
static pto_machine_t random_machine(uint64_t seed) {
    chance_state = seed;
    pto_machine_t machine = completed(&base);
    for (int kind = PTO_COPY_H2D; kind <= PTO_COPY_D2H; kind++) {
        int count = add_rows(rows[kind], false);
        if (below(2) == 0)
            count += add_rows(rows[kind] + count, true);
        machine.shared_copies[kind] = (pto_cost_table_t){count, rows[kind]};
    }
    return machine;
}

/* --- what is priced ------------------------------------------------------------------------------------- */

static pto_request_t random_request(void) {
    static const struct {
        pto_collective_t collective;
        const char *strategy;
        const char *algorithm;
    } made[] = {
        {PTO_COLLECTIVE_ALLREDUCE, "dup_devptr", "ring"},
        {PTO_COLLECTIVE_ALLREDUCE, "dup_devptr", "rabenseifner"},
        {PTO_COLLECTIVE_ALLREDUCE, "extra_message", "ring"},
        {PTO_COLLECTIVE_ALLREDUCE, "three_step", "recursive_doubling"},
        {PTO_COLLECTIVE_ALLREDUCE, "gsb_gsb", "ring"},
        {PTO_COLLECTIVE_REDUCE, "gsb_btb", "binomial"},
        {PTO_COLLECTIVE_ALLTOALL, "dup_devptr", "linear"},
        {PTO_COLLECTIVE_ALLTOALL, "dup_devptr", "pairwise"},
        {PTO_COLLECTIVE_ALLTOALLV, "dup_devptr", "pairwise"},
    };
    size_t i = (size_t)below(sizeof made / sizeof *made);
    int64_t nodes = 1 + below(5), gpus = 1 + below(4);
    int64_t cores = 2 + below(7), bytes = 4 * (1 + (int64_t)random_between(1, 1 << 20));
    return request_for(made[i].collective, made[i].strategy, made[i].algorithm, nodes, gpus, cores, bytes);
}

TEST(explanations_sum_to_their_price) {
    for (uint64_t seed = 1; seed <= MACHINES; seed++) {
        pto_machine_t machine = random_machine(seed);
        for (int i = 0; i < REQUESTS; i++) {
            pto_request_t request = random_request();
            pto_plan_t *plan = NULL;
            if (pto_plan_create(&request, &plan, NULL) != PTO_OK)
                continue;
            assert_explained(plan, &machine);
            pto_plan_destroy(plan);
        }
    }
}

/* A stage may hold other work, and copies may differ. */
TEST(a_copy_never_lowers_what_its_stage_costs) {
    for (uint64_t seed = 1; seed <= MACHINES; seed++) {
        pto_machine_t machine = random_machine(seed);
        pto_charge_t charge;
        pto_charge_begin(&charge, "copy", NULL);
        charge.other.s = 1e-3;
        for (int64_t waiting = 0; waiting < 10; waiting++) {
            int64_t bytes = (int64_t)random_between(1, 1 << 20);
            pto_one_copy_t copy = {
                .kind = PTO_COPY_D2H, .strided = below(2) == 0, .bytes = bytes, .piece_bytes = bytes};
            double before_s = charge.other.s;
            pto_charge_queued(&charge, &machine, copy, waiting);
            assert_true(charge.other.s >= before_s);
        }
    }
}

/* --- what waits for what -------------------------------------------------------------------------------- */

enum { PROCS = 8 };

/* The first `first_count` processes of a GPU make one copy, the others another, all at once. */
static struct {
    pto_copy_kind_t first, second;
    int64_t first_count;
    bool first_only, second_only;
} mix;

static void build_copy(pto_builder_t *builder, const pto_exchange_t *who, int buffer[2][2],
                       pto_copy_kind_t kind) {
    static const pto_space_t ends[PTO_COPY_COUNT][2] = {[PTO_COPY_H2D] = {PTO_SPACE_CPU, PTO_SPACE_GPU},
                                                        [PTO_COPY_D2H] = {PTO_SPACE_GPU, PTO_SPACE_CPU},
                                                        [PTO_COPY_D2D] = {PTO_SPACE_GPU, PTO_SPACE_GPU}};
    add_copy(builder, pto_step_of(PTO_STEP_COPY, who), pto_slice_all(builder, buffer[ends[kind][0]][0]),
             pto_slice_all(builder, buffer[ends[kind][1]][1]));
}

static void build_mix(pto_builder_t *builder, const pto_request_t *request) {
    pto_exchange_t who = {.group = pto_build_group(builder, PTO_GROUP_OWNERS, 0), .n = PROCS};
    pto_buffer_t shape = owners_blocks("data", PTO_ROLE_TEMPORARY, 1, request->bytes);
    shape.core_count = PROCS;
    shape.held_stride = 1;
    int buffer[2][2];
    for (int space = 0; space < 2; space++)
        for (int end = 0; end < 2; end++) {
            shape.space = (pto_space_t)space;
            buffer[space][end] = pto_build_buffer(builder, shape);
        }
    pto_build_stage(builder, "mix", PTO_ORDER_SEQUENCE);
    who.core_count = mix.first_count;
    if (!mix.second_only)
        build_copy(builder, &who, buffer, mix.first);
    who.core_first = mix.first_count;
    who.core_count = PROCS - mix.first_count;
    if (!mix.first_only)
        build_copy(builder, &who, buffer, mix.second);
}

/* By both pricers and the simulator, which agree. */
static double mix_s(const pto_machine_t *machine, int64_t bytes, bool first_only, bool second_only) {
    pto_request_t request = request_for(PTO_COLLECTIVE_ALLREDUCE, "cuda_aware", "ring", 1, 1, PROCS, bytes);
    request.layout.owners_per_gpu = PROCS;
    request.strategy = strategy_made_of(request.collective, build_mix);
    mix.first_only = first_only;
    mix.second_only = second_only;
    return confirmed_s(must_plan(&request), machine);
}

typedef struct {
    pto_copy_kind_t first, second;
    int64_t bytes;
    bool overlap;
} mix_case_t;

static void assert_mixes(const char *path, const mix_case_t *cases, size_t count) {
    pto_machine_t machine = must_read(path);
    for (size_t i = 0; i < count; i++)
        for (mix.first_count = 1; mix.first_count < PROCS; mix.first_count++) {
            mix.first = mix.second = cases[i].second;
            double same_s = mix_s(&machine, cases[i].bytes, false, false);
            mix.first = cases[i].first;
            double first_s = mix_s(&machine, cases[i].bytes, true, false);
            double second_s = mix_s(&machine, cases[i].bytes, false, true);
            double both_s = mix_s(&machine, cases[i].bytes, false, false);
            double wanted_s = cases[i].overlap ? fmax(first_s, second_s) : same_s;
            double tolerance = cases[i].overlap ? 1e-9 : 0.02;
            if (fabs(both_s - wanted_s) > tolerance * wanted_s)
                fail_msg("case %d, %d of %d: %.9g and %.9g s give %.9g s, not %.9g s", (int)i,
                         (int)mix.first_count, PROCS, first_s, second_s, both_s, wanted_s);
        }
}

/* Staging and copies by CUDA IPC, as a mixed gather has them, wait for different things. Small copies to the
 * device wait for turns as copies within it do: together they take as long as if all were of one kind. */
TEST(copies_of_two_kinds_overlap_unless_they_wait_for_the_same) {
    static const mix_case_t cases[] = {
        {PTO_COPY_D2H, PTO_COPY_D2D, 1 << 22, true}, {PTO_COPY_D2H, PTO_COPY_D2D, 1024, true},
        {PTO_COPY_H2D, PTO_COPY_D2D, 1 << 22, true}, {PTO_COPY_H2D, PTO_COPY_D2D, 1024, false},
        {PTO_COPY_D2H, PTO_COPY_H2D, 1024, true},
    };
    assert_mixes("scenarios/machines/h200-x2.yaml", cases, sizeof cases / sizeof *cases);
}

/* At 64 MiB two fitted copies at once take a little more than twice one, which is no turn. */
TEST(under_mps_no_copies_take_turns) {
    static const mix_case_t cases[] = {
        {PTO_COPY_D2H, PTO_COPY_D2D, 1024, true},
        {PTO_COPY_H2D, PTO_COPY_D2D, 1 << 20, true},
        {PTO_COPY_H2D, PTO_COPY_D2D, 1 << 26, true},
    };
    assert_mixes("scenarios/machines/h200-x2-mps.yaml", cases, sizeof cases / sizeof *cases);
}

int main(void) { return run_all_tests(read_base, NULL); }

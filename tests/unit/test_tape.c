/* A price's tape, replayed with other parameters, gives what the plan costs with them, or says that it can't.
 */
#include "made_machine.h"
#include "must.h"
#include "portolan/plan.h"
#include "portolan/price.h"
#include "portolan/strategy.h"
#include "tape/tape.h"
#include "test.h"

static const pto_layout_t layouts[] = {
    {.nodes = 1, .gpus_per_node = 4, .owners_per_gpu = 2, .procs_per_gpu = 4, .gpus_per_socket = 2},
    {.nodes = 2, .gpus_per_node = 4, .owners_per_gpu = 1, .procs_per_gpu = 4, .gpus_per_socket = 2},
    {.nodes = 5, .gpus_per_node = 2, .owners_per_gpu = 1, .procs_per_gpu = 2, .gpus_per_socket = 2},
};

static const int64_t sizes_bytes[] = {8, 5000, 4 << 20};

/* How far parameters move: nothing, a little, so that few comparisons change, and far. */
static const double spreads[] = {0, 1e-3, 0.7};

typedef struct {
    const pto_machine_t *machine;
    pto_machine_param_t *param;
    double *kept;
    int params;
    uint64_t random;
    int64_t recorded;
    int64_t replayed[sizeof spreads / sizeof *spreads];
    int64_t shortened; /* replays of short tapes whose parameters moved */
} work_t;

static double random_share(work_t *work) {
    work->random = work->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(work->random >> 11) / (double)(UINT64_C(1) << 53);
}

static void move_params(work_t *work, double spread) {
    for (int i = 0; i < work->params; i++)
        if (work->param[i].param)
            work->param[i].param->value = work->kept[i] * exp(spread * (2 * random_share(work) - 1));
}

static double price_of(const pto_plan_t *plan, const pto_machine_t *machine) {
    pto_price_t price = {0};
    return pto_price(plan, machine, &price, NULL, NULL) == PTO_OK ? price.seconds : 0;
}

enum { FEW_PARAMS = 8 };

/* A few random parameters move, and the rest keep their values: the short tape then holds where the whole one
 * does, and gives the same bits. */
static void check_short(work_t *work, const pto_tape_t *tape) {
    const pto_param_t *few[FEW_PARAMS + 1] = {NULL}; /* the last one is in no machine */
    pto_param_t *moved[FEW_PARAMS];
    double value[FEW_PARAMS + 1] = {0}, whole_s, short_s;
    move_params(work, 0);
    assert_true(pto_tape_replay(tape, &whole_s));
    for (int i = 0; i < FEW_PARAMS; i++) {
        int chosen = (int)(random_share(work) * work->params);
        while (!work->param[chosen].param)
            chosen = (chosen + 1) % work->params;
        moved[i] = work->param[chosen].param;
        few[i] = moved[i];
    }
    pto_short_tape_t *made = pto_tape_shorten(tape, few, FEW_PARAMS + 1);
    assert_non_null(made);
    double *place = malloc(pto_short_tape_places(made) * sizeof *place);
    assert_non_null(place);
    for (size_t s = 0; s < sizeof spreads / sizeof *spreads; s++) {
        for (int i = 0; i < FEW_PARAMS; i++)
            moved[i]->value *= exp(spreads[s] * (2 * random_share(work) - 1));
        for (int i = 0; i < FEW_PARAMS; i++)
            value[i] = moved[i]->value;
        bool fits = pto_short_tape_replay(made, value, place, &short_s);
        assert_true(fits == pto_tape_replay(tape, &whole_s));
        assert_true(!fits || short_s == whole_s);
        work->shortened += fits && spreads[s] > 0;
    }
    free(place);
    pto_short_tape_destroy(made);
    move_params(work, 0);
}

static void check_plan(work_t *work, const pto_plan_t *plan) {
    double seconds = price_of(plan, work->machine), replayed_s;
    if (seconds <= 0)
        return;
    pto_tape_t *tape = pto_tape_begin();
    assert_non_null(tape);
    assert_true(price_of(plan, work->machine) == seconds); /* recording changes nothing */
    tape = pto_tape_end(tape, seconds);
    assert_non_null(tape);
    work->recorded++;
    for (size_t s = 0; s < sizeof spreads / sizeof *spreads; s++) {
        move_params(work, spreads[s]);
        bool fits = pto_tape_replay(tape, &replayed_s);
        work->replayed[s] += fits;
        double direct_s = price_of(plan, work->machine);
        if (fits && fabs(replayed_s - direct_s) > 1e-12 * direct_s)
            fail_msg("%s %s by %s, %lld bytes: %.17g replayed, %.17g direct",
                     pto_collective_name(pto_plan_request(plan)->collective),
                     pto_plan_request(plan)->strategy->name, pto_plan_request(plan)->algorithm->name,
                     (long long)pto_plan_request(plan)->bytes, replayed_s, direct_s);
    }
    if (tape)
        check_short(work, tape);
    move_params(work, 0);
    pto_tape_destroy(tape);
}

static void check_request(work_t *work, pto_request_t request) {
    static const int64_t segments_bytes[] = {0, 32768};
    for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++)
        for (size_t b = 0; b < sizeof sizes_bytes / sizeof *sizes_bytes; b++)
            for (int chunked = 0; chunked < 2; chunked++) {
                pto_plan_t *plan = NULL;
                request.layout = layouts[l];
                request.bytes = sizes_bytes[b];
                request.messages = request.collective == PTO_COLLECTIVE_MESSAGES ? 10 : 0;
                request.segment_bytes = request.algorithm->segmented ? segments_bytes[chunked] : 0;
                request.chunks = chunked && request.strategy->chunked ? 200 : 0;
                if (pto_plan_create(&request, &plan, NULL) != PTO_OK)
                    continue;
                check_plan(work, plan);
                pto_plan_destroy(plan);
            }
}

static void check_machine(pto_machine_t *machine, work_t *work) {
    *work = (work_t){.machine = machine, .random = 1};
    assert_int_equal(pto_machine_params(machine, &work->param, &work->params, NULL), PTO_OK);
    work->kept = calloc((size_t)work->params + 1, sizeof *work->kept);
    assert_non_null(work->kept);
    for (int i = 0; i < work->params; i++)
        work->kept[i] = work->param[i].param ? work->param[i].param->value : 0;
    pto_request_t request = {.datatype = PTO_DATATYPE_FLOAT, .by_library = true};
    for (int at = 0; next_request(&request, &at);) {
        request.staged = at / pto_algorithm_count() % 2 == 0;
        if (request.algorithm->collectives & 1u << request.collective)
            check_request(work, request);
    }
    free(work->param);
    free(work->kept);
}

/* Every parameter is known, so every term is on a tape, and every comparison. */
TEST(replays_are_prices_where_every_term_counts) {
    work_t work;
    check_machine(kept_machine(), &work);
    assert_true(work.recorded > 1000);
    assert_true(work.replayed[0] == work.recorded);
    assert_true(work.replayed[1] * 10 > work.recorded * 9);
    assert_true(work.shortened > work.recorded);
}

TEST(replays_are_prices_on_summit) {
    work_t work;
    pto_machine_t *machine = must_open("scenarios/machines/summit-spectrum-refit.yaml");
    check_machine(machine, &work);
    assert_true(work.replayed[0] == work.recorded);
    assert_true(work.replayed[2] > 0);
}

/* Two plans, or a choice between them, are not one function of the parameters. */
TEST(a_tape_holds_one_price) {
    pto_tape_t *tape = pto_tape_begin();
    assert_non_null(tape);
    pto_tape_result((pto_time_t){.s = 1});
    pto_tape_result((pto_time_t){.s = 2});
    assert_null(pto_tape_end(tape, 2));
    assert_null(pto_tape_recording);
}

/* The maxima on a tape; `*deepest`: how many of them the last one waits for, one after another. */
static int count_maxima(const pto_tape_t *tape, int *deepest) {
    int count, result, found = 0;
    const pto_tape_record_t *record = pto_tape_records(tape, &count, &result);
    int *depth = calloc((size_t)count, sizeof *depth);
    assert_non_null(depth);
    for (int i = 0; i < count; i++)
        if (record[i].op == PTO_TAPE_MAXIMUM) {
            int a = depth[record[i].a], b = depth[record[i].b];
            depth[i] = 1 + (a > b ? a : b);
            found++;
        }
    *deepest = depth[result];
    free(depth);
    return found;
}

/* Of 64 ends, each of which one to three processes have, any can be the last with other parameters. */
TEST(the_last_end_is_found_among_winners) {
    enum { ENDS = 64, DOUBLINGS = 6 };
    pto_param_t param[ENDS] = {{0}};
    pto_time_t end[3 * ENDS];
    pto_tape_t *tape = pto_tape_begin();
    int deepest;
    size_t ends = 0;
    double seconds;
    assert_non_null(tape);
    for (int i = 0; i < ENDS; i++)
        param[i].value = 1 + i * 37 % ENDS;
    for (int i = 0; i < 3 * ENDS; i++)
        if (i < ENDS || i % 3 == 0)
            end[ends++] = pto_time_of(&param[i % ENDS], 1);
    pto_time_t last = pto_tape_largest(end, ends);
    assert_true(last.s == ENDS);
    pto_tape_result(last);
    tape = pto_tape_end(tape, last.s);
    assert_non_null(tape);
    assert_int_equal(count_maxima(tape, &deepest), ENDS - 1);
    assert_int_equal(deepest, DOUBLINGS);
    for (int i = 0; i < ENDS; i++) {
        param[i].value += 2 * ENDS;
        assert_true(pto_tape_replay(tape, &seconds) && seconds == param[i].value);
        param[i].value -= 2 * ENDS;
    }
    pto_tape_destroy(tape);
}

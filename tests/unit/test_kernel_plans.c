/* Plans of kernels that check accepts, run by thread blocks that keep to their flags, or lines, and to
 * nothing else (kernel_blocks.h): registered plans, these changed at random, and kernels at random. A result
 * that is wrong, or never comes, shows that check or pto_lines believed a wrong plan.
 *
 * BLOCKS_CHANGES and BLOCKS_KERNELS say how many seeds of the last two kinds are tried. */
#include "built.h"
#include "must.h"
#include "random_plans.h"
#include "test.h"

#include "kernel_blocks.h"
#include "portolan/check.h"
#include "portolan/strategy.h"
#include "sample.h"

enum { RUNS = 5 };

static struct {
    int64_t plans;
    int64_t accepted;
    int64_t ran;
    int64_t in_lines;
    int64_t in_place;
} met;

static bool is_kernel_alone(const pto_plan_t *plan) {
    bool alone = pto_plan_node_count(plan) > 0;
    for (int s = 0; s < plan->steps.count; s++) {
        const pto_step_t *step = pto_plan_step(plan, s);
        alone = alone && (step->in_kernel || step->kind == PTO_STEP_LAUNCH);
    }
    return alone;
}

/* A plan of kernels and nothing else; NULL if these make none. */
static pto_plan_t *kernels_of(pto_collective_t collective, int strategy, int64_t gpus) {
    pto_plan_t *plan = NULL;
    pto_request_t request = {.layout = {1, gpus, 1, 1, gpus, false},
                             .collective = collective,
                             .datatype = PTO_DATATYPE_BYTE,
                             .bytes = 5,
                             .strategy = pto_strategy_at(strategy)};
    if (!request.strategy->direct || collective == PTO_COLLECTIVE_HALO ||
        pto_algorithm_find("direct", collective, &request.algorithm, NULL) != PTO_OK ||
        pto_plan_create(&request, &plan, NULL) != PTO_OK)
        return NULL;
    if (is_kernel_alone(plan))
        return plan;
    pto_plan_destroy(plan);
    return NULL;
}

static bool is_accepted(const pto_plan_t *plan) {
    pto_check_report_t report;
    return pto_check(plan, &report, NULL) == PTO_OK;
}

static void assert_blocks_do_it(const pto_plan_t *plan, uint64_t seed) {
    bool unfit = false, lines = pto_plan_lines(plan, INT64_MAX) != PTO_LINES_NONE;
    bool one_buffer = pto_plan_may_be_in_place(plan);
    for (int way = 0; way < 4 && !unfit; way++) {
        how_t how = {.by_lines = way % 2 > 0, .in_place = way / 2 > 0, .runs = RUNS};
        if ((how.by_lines && !lines) || (how.in_place && !one_buffer))
            continue;
        if (!blocks_do_it(plan, how, &unfit) && !unfit)
            fail_msg("%s by %s on %lld GPUs, seed %llu, %s%s", pto_collective_name(plan->request.collective),
                     plan->request.strategy->name, (long long)plan->request.layout.gpus_per_node,
                     (unsigned long long)seed, how.by_lines ? "by lines" : "by flags",
                     how.in_place ? ", in place" : "");
    }
    met.ran += !unfit;
    met.in_lines += lines;
    met.in_place += one_buffer;
}

static void print_met(void) {
    print_message("%lld plans, %lld accepted, %lld run, %lld of them in lines, too, %lld in place\n",
                  (long long)met.plans, (long long)met.accepted, (long long)met.ran, (long long)met.in_lines,
                  (long long)met.in_place);
}

/* Every registered plan of kernels, on so many GPUs, by several schedules. */
TEST(blocks_do_what_registered_plans_say) {
    static const int64_t gpus[] = {2, 3, 4, 8};
    memset(&met, 0, sizeof met);
    chance_state = 1;
    for (size_t g = 0; g < sizeof gpus / sizeof *gpus; g++)
        for (int s = 0; s < pto_strategy_count(); s++)
            for (int c = 0; c < PTO_COLLECTIVE_COUNT; c++) {
                pto_plan_t *plan = kernels_of((pto_collective_t)c, s, gpus[g]);
                if (!plan)
                    continue;
                assert_true(is_accepted(plan));
                for (uint64_t schedule = 0; schedule < 10; schedule++)
                    assert_blocks_do_it(plan, schedule);
                pto_plan_destroy(plan);
            }
    print_message("%lld runs of plans, %lld of them in lines, too, %lld in place\n", (long long)met.ran,
                  (long long)met.in_lines, (long long)met.in_place);
    assert_true(met.ran > 0 && met.in_lines > 0 && met.in_place > 0);
}

/* --- changes of kernels --------------------------------------------------------------------------------- */

static void swap_stages(pto_plan_t *plan) {
    pto_stage_t *stage = plan->stages.item;
    if (plan->stages.count < 3)
        return;
    int64_t one = 1 + below(plan->stages.count - 1), other = 1 + below(plan->stages.count - 1);
    const pto_stage_t kept = stage[one];
    stage[one] = stage[other];
    stage[other] = kept;
}

/* A step in another one's place, in whose kernel both are. */
static void repeat_step(pto_plan_t *plan) {
    pto_step_t *step = plan->steps.item;
    int64_t from = 1 + below(plan->steps.count - 1), to = 1 + below(plan->steps.count - 1);
    step[to] = step[from];
}

static void change_flag(pto_plan_t *plan) {
    pto_step_t *step = (pto_step_t *)plan->steps.item + below(plan->steps.count);
    if (pto_step_is_signal(step) && one_in(2))
        step->flag = (int)below(plan->flags.count);
    else if (pto_step_is_signal(step))
        step->core_count = 0;
}

/* A flag that nobody raises or awaits. */
static void drop_flag(pto_plan_t *plan) {
    int flag = plan->flags.count > 0 ? (int)below(plan->flags.count) : 0;
    for (int s = 0; s < plan->steps.count; s++) {
        pto_step_t *step = (pto_step_t *)plan->steps.item + s;
        if (pto_step_is_signal(step) && step->flag == flag)
            step->core_count = 0;
    }
}

static void change_kernel(pto_plan_t *plan) {
    pto_buffer_t *buffer = (pto_buffer_t *)plan->buffers.item + below(plan->buffers.count);
    pto_step_t *step = (pto_step_t *)plan->steps.item + below(plan->steps.count);
    switch (below(9)) {
    case 0:
        swap_stages(plan);
        break;
    case 1:
        repeat_step(plan);
        break;
    case 2:
        change_flag(plan);
        break;
    case 3:
        drop_flag(plan);
        break;
    case 4:
        buffer->double_buffered = buffer->role == PTO_ROLE_TEMPORARY && !buffer->double_buffered;
        break;
    case 5:
        step->fresh = !step->fresh;
        break;
    default:
        change_step(plan);
    }
}

TEST(blocks_do_what_changed_plans_say) {
    memset(&met, 0, sizeof met);
    const char *more = getenv("BLOCKS_CHANGES");
    uint64_t count = more ? strtoull(more, NULL, 10) : 40000 / (uint64_t)test_sample();
    for (uint64_t seed = 1; seed <= count; seed++) {
        chance_state = seed * 33333333333u;
        pto_plan_t *plan = kernels_of((pto_collective_t)below(PTO_COLLECTIVE_COUNT),
                                      (int)below(pto_strategy_count()), ONE_OF(2, 3, 4, 8));
        if (!plan)
            continue;
        met.plans++;
        for (int64_t changes = 1 + below(3); changes > 0; changes--)
            change_kernel(plan);
        if (is_accepted(plan)) {
            met.accepted++;
            assert_blocks_do_it(plan, seed);
        }
        pto_plan_destroy(plan);
    }
    print_met();
    assert_true(met.ran > 0);
}

/* --- kernels at random ---------------------------------------------------------------------------------- */

typedef struct {
    pto_builder_t *builder;
    pto_exchange_t who;
    int place;  /* for what others store */
    bool whole; /* they store all of their input, not a block of it */
    bool reduces;
    bool for_root;
} parts_t;

static pto_slice_t block_of(int buffer, pto_anchor_t anchor, pto_holder_t holder) {
    pto_slice_t slice = pto_slice_block(buffer, anchor);
    slice.holder = holder;
    return slice;
}

static void add_stage(const parts_t *parts, pto_step_t step) {
    pto_build_stage(parts->builder, "stage", PTO_ORDER_SEQUENCE);
    pto_build_step(parts->builder, step);
}

/* Between two stages, now and then: another kernel, or something that nobody needs. */
static void add_more(const parts_t *parts) {
    pto_step_t all = pto_step_of_all(PTO_STEP_COPY, &parts->who),
               own = pto_step_of(PTO_STEP_COPY, &parts->who);
    int64_t spare = pto_builder_buffer(parts->builder, parts->place)->block_count - 1;
    pto_step_t *step = one_in(2) ? &all : &own;
    if (one_in(12)) {
        pto_build_end(parts->builder);
        pto_build_kernel(parts->builder, &parts->who);
    }
    if (one_in(12))
        pto_flag_barrier(parts->builder, "more", &parts->who);
    if (!one_in(6))
        return;
    step->source = pto_slice_block(parts->who.in, parts->reduces ? PTO_ANCHOR_ABSOLUTE : PTO_ANCHOR_ME);
    step->source.offset = pto_constant(parts->reduces ? 0 : below(2));
    step->target = block_of(parts->place, one_in(2) ? PTO_ANCHOR_ME : PTO_ANCHOR_ABSOLUTE,
                            step == &all ? PTO_HOLDER_PEER : PTO_HOLDER_SELF);
    step->target.offset = pto_constant(step->target.anchor == PTO_ANCHOR_ABSOLUTE && one_in(2) ? spare : 0);
    if (one_in(3)) {
        step->peers = pto_peers_at(pto_constant(1 + below(2)), 1);
        step->target.holder = PTO_HOLDER_PEER;
    }
    add_stage(parts, *step);
}

static void add_barrier(const parts_t *parts) {
    pto_step_t signal = pto_step_of_all(PTO_STEP_SIGNAL, &parts->who), wait = signal;
    wait.kind = PTO_STEP_WAIT;
    signal.flag = wait.flag = pto_build_flag(parts->builder, "flag");
    if (one_in(12))
        return;
    add_stage(parts, signal);
    add_more(parts);
    add_stage(parts, wait);
}

/* Of an alltoall: from the peer's place in what it stored, or from its input. */
static void add_take(const parts_t *parts, bool loads) {
    pto_step_t take = pto_step_of_all(PTO_STEP_COPY, &parts->who),
               own = pto_step_of(PTO_STEP_COPY, &parts->who);
    take.source = loads ? block_of(parts->who.in, PTO_ANCHOR_ME, PTO_HOLDER_PEER)
                        : pto_slice_block(parts->place, parts->whole ? PTO_ANCHOR_ME : PTO_ANCHOR_PEER);
    take.source.offset.peer = parts->whole && !loads ? parts->who.n : 0;
    take.target = pto_slice_block(parts->who.out, PTO_ANCHOR_PEER);
    own.source = pto_slice_block(parts->who.in, PTO_ANCHOR_ME);
    own.target = pto_slice_block(parts->who.out, PTO_ANCHOR_ME);
    bool own_first = one_in(2);
    add_stage(parts, own_first ? own : take);
    add_more(parts);
    add_stage(parts, own_first ? take : own);
}

static void add_store(const parts_t *parts) {
    pto_step_t store = pto_step_of_all(PTO_STEP_COPY, &parts->who);
    store.source = parts->whole || parts->reduces ? pto_slice_all(parts->builder, parts->who.in)
                                                  : pto_slice_block(parts->who.in, PTO_ANCHOR_PEER);
    store.target = block_of(parts->place, PTO_ANCHOR_ME, PTO_HOLDER_PEER);
    store.target.bundle = parts->whole ? parts->who.n : 0;
    add_stage(parts, store);
}

static void add_reduction(const parts_t *parts) {
    pto_step_t own = pto_step_of(PTO_STEP_COPY, &parts->who), reduce = own;
    own.source = pto_slice_all(parts->builder, parts->who.in);
    own.target = pto_slice_block(parts->place, PTO_ANCHOR_ME);
    add_stage(parts, own);
    reduce.kind = PTO_STEP_REDUCE;
    reduce.fresh = true;
    reduce.who_until = pto_constant(parts->for_root && one_in(2) ? 1 : parts->who.n);
    reduce.source = pto_slice_all(parts->builder, parts->place);
    reduce.source.run = reduce.source.until = pto_constant(parts->who.n);
    reduce.target = pto_slice_all(parts->builder, parts->who.out);
    add_stage(parts, reduce);
}

/* For a reduction, from all others' inputs. */
static void add_load(const parts_t *parts) {
    pto_step_t load = pto_step_of_all(PTO_STEP_COPY, &parts->who);
    load.source = pto_slice_all(parts->builder, parts->who.in);
    load.source.holder = PTO_HOLDER_PEER;
    load.target = pto_slice_block(parts->place, PTO_ANCHOR_PEER);
    add_stage(parts, load);
}

static pto_buffer_t buffer_of(const pto_request_t *request, pto_role_t role, int64_t count) {
    pto_buffer_t buffer = owners_blocks("buffer", role, count, request->bytes);
    buffer.double_buffered = role == PTO_ROLE_TEMPORARY && !one_in(4);
    return buffer;
}

static void build_kernels_at_random(pto_builder_t *builder, const pto_request_t *request) {
    int64_t n = pto_layout_owner_count(&request->layout);
    bool reduces = pto_collective_is_vector(request->collective), loads = one_in(4);
    parts_t parts = {.builder = builder,
                     .reduces = reduces,
                     .for_root = request->collective == PTO_COLLECTIVE_REDUCE,
                     .whole = !reduces && one_in(4)};
    pto_buffer_t out = buffer_of(request, PTO_ROLE_OUT, reduces ? 1 : n);
    out.user_stride = parts.for_root ? n : 0;
    parts.who = owners_exchange(builder, n);
    parts.who.in = pto_build_buffer(builder, buffer_of(request, PTO_ROLE_IN, reduces ? 1 : n));
    parts.who.out = pto_build_buffer(builder, out);
    parts.place = pto_build_buffer(
        builder, buffer_of(request, PTO_ROLE_TEMPORARY, parts.whole ? n * n : n + one_in(3)));
    bool loops = one_in(8);
    if (loops)
        pto_build_loop(builder, 0, 1 + below(2), false);
    pto_build_kernel(builder, &parts.who);
    add_more(&parts);
    if (loads || one_in(3))
        add_barrier(&parts);
    if (!loads)
        add_store(&parts);
    else if (reduces)
        add_load(&parts);
    add_more(&parts);
    if (!loads || (reduces && one_in(2)))
        add_barrier(&parts);
    add_more(&parts);
    if (reduces)
        add_reduction(&parts);
    else
        add_take(&parts, loads);
    add_more(&parts);
    if (loads || one_in(3))
        add_barrier(&parts);
    pto_build_end(builder);
    if (loops)
        pto_build_end(builder);
}

TEST(blocks_do_what_random_kernels_say) {
    static const pto_strategy_t strategy = {.name = "random",
                                            .summary = "",
                                            .collectives = ~0u,
                                            .collective_space = PTO_SPACE_GPU,
                                            .build = build_kernels_at_random};
    memset(&met, 0, sizeof met);
    const char *more = getenv("BLOCKS_KERNELS");
    uint64_t count = more ? strtoull(more, NULL, 10) : 6000 / (uint64_t)test_sample();
    for (uint64_t seed = 1; seed <= count; seed++) {
        chance_state = seed * 99999999977u;
        pto_request_t request = {
            .layout = {1, 2 + below(3), 1, 1, 8, false},
            .collective = (pto_collective_t)ONE_OF(PTO_COLLECTIVE_REDUCE, PTO_COLLECTIVE_ALLREDUCE,
                                                   PTO_COLLECTIVE_ALLTOALL, PTO_COLLECTIVE_ALLTOALL),
            .datatype = PTO_DATATYPE_BYTE,
            .bytes = 5,
            .strategy = &strategy};
        const char *any = request.collective == PTO_COLLECTIVE_ALLREDUCE ? "ring" : "linear"; /* unused */
        request.algorithm = algorithm_named(any, request.collective);
        pto_plan_t *plan = must_plan(&request);
        met.plans++;
        if (is_accepted(plan)) {
            met.accepted++;
            assert_blocks_do_it(plan, seed);
        }
    }
    print_met();
    assert_true(met.ran > 0 && met.in_lines > 0);
}

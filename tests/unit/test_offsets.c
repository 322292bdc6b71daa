/* Offsets that are summed up once (pto_offsets_t) put every block where visits without them do. */
#include "plan/plan_internal.h"
#include "portolan/strategy.h"
#include "test.h"

enum { RANGES_MAX = 4096 };

typedef struct {
    int count;
    int64_t offset[RANGES_MAX];
    int64_t bytes[RANGES_MAX];
} ranges_t;

static bool note_range(void *context, int64_t offset_bytes, int64_t bytes) {
    ranges_t *ranges = context;
    assert_true(ranges->count < RANGES_MAX);
    ranges->offset[ranges->count] = offset_bytes;
    ranges->bytes[ranges->count++] = bytes;
    return true;
}

static void compare_slice(const pto_plan_t *plan, const pto_offsets_t *offsets, const pto_slice_t *slice,
                          const pto_action_t *action, int64_t *compared) {
    static ranges_t plain, summed;
    plain.count = summed.count = 0;
    pto_slice_visit(plan, slice, action, note_range, &plain);
    pto_slice_visit_by(plan, offsets, slice, action, note_range, &summed);
    assert_int_equal(summed.count, plain.count);
    for (int i = 0; i < plain.count; i++) {
        assert_int_equal(summed.offset[i], plain.offset[i]);
        assert_int_equal(summed.bytes[i], plain.bytes[i]);
    }
    *compared += plain.count;
}

static void compare_step(const pto_plan_t *plan, const pto_offsets_t *offsets, int64_t rank, int64_t k,
                         const pto_step_t *step, int64_t *compared) {
    pto_action_t action;
    if (!pto_step_acts(plan, step, rank, k, &action))
        return;
    int64_t peers = step->peers.kind == PTO_PEERS_NONE ? 0 : pto_step_peer_count(plan, &action);
    for (int64_t j = 0; j < (peers > 0 ? peers : 1); j++) {
        if (peers > 0 && !pto_step_peer(plan, j, &action))
            continue;
        if (pto_step_source(step))
            compare_slice(plan, offsets, &step->source, &action, compared);
        if (pto_step_target(step))
            compare_slice(plan, offsets, &step->target, &action, compared);
    }
}

/* The offsets of one rank, for whatever any rank does: theirs are of other holders. */
static void compare_plan(const pto_plan_t *plan, int64_t of_rank, int64_t *compared) {
    pto_offsets_t *offsets = NULL;
    pto_walk_t walk;
    assert_int_equal(pto_offsets_create(plan, of_rank, &offsets, NULL), PTO_OK);
    pto_walk_begin(&walk, plan);
    while (pto_walk_next(&walk))
        for (int64_t rank = 0; rank < pto_layout_rank_count(&plan->request.layout); rank++)
            for (int i = 0; i < walk.stage->step_count; i++)
                compare_step(plan, offsets, rank, walk.k, pto_plan_step(plan, walk.stage->step_first + i),
                             compared);
    pto_offsets_destroy(offsets);
}

TEST(summed_offsets_are_those_of_visits) {
    static int64_t matrix[12 * 12];
    int64_t compared = 0, plans = 0;
    for (int i = 0; i < 12 * 12; i++)
        matrix[i] = i * 37 % 11 == 0 ? 0 : 4 * (1 + i * 53 % 29);
    const pto_counts_t counts[] = {{.kind = PTO_COUNTS_SKEW, .skew = 0.9, .seed = 3},
                                   {.kind = PTO_COUNTS_MATRIX, .order = 12, .matrix = matrix}};
    const pto_collective_t collectives[] = {PTO_COLLECTIVE_ALLTOALLV, PTO_COLLECTIVE_ALLGATHERV};
    for (int c = 0; c < 2; c++)
        for (int s = 0; s < pto_strategy_count(); s++)
            for (int a = 0; a < pto_algorithm_count(); a++)
                for (int i = 0; i < 2; i++) {
                    pto_plan_t *plan = NULL;
                    pto_request_t request = {.layout = {3, 4, 1, 3, 2, false},
                                             .collective = collectives[c],
                                             .split = PTO_SPLIT_DESTINATIONS,
                                             .datatype = PTO_DATATYPE_FLOAT,
                                             .bytes = 64,
                                             .counts = &counts[c == 0 ? i : 0],
                                             .strategy = pto_strategy_at(s),
                                             .algorithm = pto_algorithm_at(a),
                                             .by_library = true};
                    if (!(pto_algorithm_at(a)->collectives & 1u << collectives[c]) ||
                        pto_plan_create(&request, &plan, NULL) != PTO_OK)
                        continue;
                    for (int64_t rank = 0; rank < pto_layout_rank_count(&request.layout); rank++)
                        compare_plan(plan, rank, &compared);
                    pto_plan_destroy(plan);
                    plans++;
                }
    print_message("%lld plans, %lld ranges\n", (long long)plans, (long long)compared);
    assert_true(plans > 20 && compared > 100000);
}

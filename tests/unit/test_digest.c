/* The digest of a plan: whatever a plan is made of changes it, each part in a way of its own. */
#include "plan/plan_internal.h"
#include "plan_request.h"
#include "test.h"

/* --- changes of one field ------------------------------------------------------------------------------- */

typedef struct {
    const char *name;
    size_t offset, size;
} field_t;

#define FIELD(type, name)                                                                                    \
    { #type "." #name, offsetof(type, name), sizeof((type *)0)->name }

static const field_t of_expr[] = {FIELD(pto_expr_t, constant), FIELD(pto_expr_t, loop),
                                  FIELD(pto_expr_t, power),    FIELD(pto_expr_t, inverse),
                                  FIELD(pto_expr_t, core),     FIELD(pto_expr_t, peer)};
static const field_t of_slice[] = {
    FIELD(pto_slice_t, buffer),      FIELD(pto_slice_t, holder),   FIELD(pto_slice_t, anchor),
    FIELD(pto_slice_t, anchor_step), FIELD(pto_slice_t, reversed), FIELD(pto_slice_t, reverse_bits),
    FIELD(pto_slice_t, parts),       FIELD(pto_slice_t, bundle),   FIELD(pto_slice_t, fold),
    FIELD(pto_slice_t, repeat),      FIELD(pto_slice_t, cells),    FIELD(pto_slice_t, share),
    FIELD(pto_slice_t, share_count), FIELD(pto_slice_t, chunks)};
static const field_t of_repeat[] = {FIELD(pto_slice_t, repeat_stride)};
static const field_t of_request[] = {
    FIELD(pto_request_t, layout.nodes),
    FIELD(pto_request_t, layout.gpus_per_node),
    FIELD(pto_request_t, layout.owners_per_gpu),
    FIELD(pto_request_t, layout.procs_per_gpu),
    FIELD(pto_request_t, implementation),
    FIELD(pto_request_t, split),
    FIELD(pto_request_t, datatype),
    FIELD(pto_request_t, bytes),
    FIELD(pto_request_t, messages),
    FIELD(pto_request_t, unique_bytes),
    FIELD(pto_request_t, by_library),
    FIELD(pto_request_t, in_place),
    FIELD(pto_request_t, chunks),
    FIELD(pto_request_t, segment_bytes),
    FIELD(pto_request_t, staged_members.in),
    FIELD(pto_request_t, staged_members.out),
};
static const field_t of_node[] = {
    FIELD(pto_node_t, span),       FIELD(pto_node_t, from),       FIELD(pto_node_t, to),
    FIELD(pto_node_t, power),      FIELD(pto_node_t, group),      FIELD(pto_node_t, by),
    FIELD(pto_node_t, collective), FIELD(pto_node_t, core_first), FIELD(pto_node_t, core_count)};
static const field_t of_pipeline[] = {FIELD(pto_node_t, depth)};
static const field_t of_either[] = {FIELD(pto_node_t, policy)};
static const field_t of_stage[] = {FIELD(pto_stage_t, order), FIELD(pto_stage_t, step_count)};
static const field_t of_group[] = {FIELD(pto_group_t, kind), FIELD(pto_group_t, fold)};
static const field_t of_buffer[] = {FIELD(pto_buffer_t, role),         FIELD(pto_buffer_t, space),
                                    FIELD(pto_buffer_t, pageable),     FIELD(pto_buffer_t, core_first),
                                    FIELD(pto_buffer_t, core_count),   FIELD(pto_buffer_t, group),
                                    FIELD(pto_buffer_t, held_first),   FIELD(pto_buffer_t, held_stride),
                                    FIELD(pto_buffer_t, user_stride),  FIELD(pto_buffer_t, double_buffered),
                                    FIELD(pto_buffer_t, blocks),       FIELD(pto_buffer_t, block_count),
                                    FIELD(pto_buffer_t, block_bytes),  FIELD(pto_buffer_t, granularity_bytes),
                                    FIELD(pto_buffer_t, split),        FIELD(pto_buffer_t, cyclic),
                                    FIELD(pto_buffer_t, cyclic_count), FIELD(pto_buffer_t, chunks)};
static const field_t of_ring[] = {FIELD(pto_buffer_t, slots)};
static const field_t of_step[] = {FIELD(pto_step_t, kind),       FIELD(pto_step_t, core_first),
                                  FIELD(pto_step_t, core_count), FIELD(pto_step_t, group),
                                  FIELD(pto_step_t, peers.kind), FIELD(pto_step_t, peers.node_shift),
                                  FIELD(pto_step_t, peers.sign), FIELD(pto_step_t, fresh),
                                  FIELD(pto_step_t, send_empty), FIELD(pto_step_t, flag)};
static const field_t of_cart[] = {FIELD(pto_step_t, peers.shift[0]), FIELD(pto_step_t, peers.shift[1]),
                                  FIELD(pto_step_t, peers.shift[2])};

enum { DIGESTS = 4096 };
static uint64_t digest[DIGESTS];
static int digest_count;

/* The digest is none of those before. */
static void keep_digest(const pto_plan_t *plan, const char *name) {
    uint64_t made = pto_plan_digest(plan);
    for (int i = 0; i < digest_count; i++)
        if (digest[i] == made)
            fail_msg("%s: the digest is as of change %d", name, i);
    assert_true(digest_count < DIGESTS);
    digest[digest_count++] = made;
}

/* Change a field of any type but pointers and floating-point numbers, and change it back. All by the same
 * number: fields that are left out where they are not set differ all the same. */
static void change_fields(const pto_plan_t *plan, void *item, const field_t *field, size_t count) {
    for (size_t i = 0; i < count; i++) {
        unsigned char *at = (unsigned char *)item + field[i].offset, kept[8];
        memcpy(kept, at, field[i].size);
        if (field[i].size == sizeof(bool)) {
            at[0] = !at[0];
        } else if (field[i].size == sizeof(int)) {
            int number;
            memcpy(&number, at, sizeof number);
            number += 2;
            memcpy(at, &number, sizeof number);
        } else {
            assert_int_equal(field[i].size, sizeof(int64_t));
            int64_t number;
            memcpy(&number, at, sizeof number);
            number += 2;
            memcpy(at, &number, sizeof number);
        }
        keep_digest(plan, field[i].name);
        memcpy(at, kept, field[i].size);
    }
}
#define CHANGE(plan, item, fields) change_fields(plan, item, (fields), sizeof(fields) / sizeof *(fields))

static void change_expr(const pto_plan_t *plan, pto_expr_t *expr) { CHANGE(plan, expr, of_expr); }

static void change_slice(const pto_plan_t *plan, pto_slice_t *slice) {
    pto_expr_t *const expr[] = {&slice->offset, &slice->align,  &slice->first,
                                &slice->run,    &slice->stride, &slice->until};
    CHANGE(plan, slice, of_slice);
    int64_t repeat = slice->repeat;
    slice->repeat = 99;
    CHANGE(plan, slice, of_repeat);
    slice->repeat = repeat;
    for (size_t i = 0; i < sizeof expr / sizeof *expr; i++)
        change_expr(plan, expr[i]);
}

static void change_node(pto_plan_t *plan, pto_node_t *node) {
    CHANGE(plan, node, of_node);
    pto_node_kind_t kind = node->kind;
    node->kind = PTO_NODE_PIPELINE;
    CHANGE(plan, node, of_pipeline);
    node->kind = PTO_NODE_EITHER;
    CHANGE(plan, node, of_either);
    node->kind = kind;
    if (node->kind == PTO_NODE_COLLECTIVE) {
        pto_call_slices_t *call = (pto_call_slices_t *)plan->calls.item + node->call;
        change_slice(plan, &call->in);
        change_slice(plan, &call->out);
    }
}

static void change_step(pto_plan_t *plan, pto_step_t *step) {
    CHANGE(plan, step, of_step);
    if (step->peers.kind == PTO_PEERS_CART || step->source.cells != PTO_CELLS_NONE)
        CHANGE(plan, step, of_cart);
    pto_expr_t *const expr[] = {&step->who_first,   &step->who_stride,   &step->who_until,
                                &step->peers.first, &step->peers.stride, &step->peers.until};
    for (size_t i = 0; i < sizeof expr / sizeof *expr; i++)
        change_expr(plan, expr[i]);
    change_slice(plan, &step->source);
    change_slice(plan, &step->target);
}

static void change_plan(pto_plan_t *plan) {
    digest_count = 0;
    keep_digest(plan, "as it was");
    CHANGE(plan, &plan->request, of_request);
    for (int i = 0; i < plan->nodes.count; i++)
        change_node(plan, (pto_node_t *)plan->nodes.item + i);
    for (int i = 0; i < plan->groups.count; i++)
        CHANGE(plan, (pto_group_t *)plan->groups.item + i, of_group);
    for (int i = 0; i < plan->buffers.count; i++) {
        pto_buffer_t *buffer = (pto_buffer_t *)plan->buffers.item + i;
        int64_t chunks = buffer->chunks;
        CHANGE(plan, buffer, of_buffer);
        buffer->chunks = 99;
        CHANGE(plan, buffer, of_ring);
        buffer->chunks = chunks;
    }
    for (int i = 0; i < plan->stages.count; i++)
        CHANGE(plan, (pto_stage_t *)plan->stages.item + i, of_stage);
    for (int i = 0; i < plan->steps.count; i++)
        change_step(plan, (pto_step_t *)plan->steps.item + i);
    assert_true(pto_plan_digest(plan) == digest[0]);
}

TEST(each_field_changes_the_digest_in_a_way_of_its_own) {
    const struct {
        pto_collective_t collective;
        const char *strategy, *algorithm;
        int64_t nodes, chunks;
    } cases[] = {{PTO_COLLECTIVE_ALLREDUCE, "three_step", "ring", 2, 0},
                 {PTO_COLLECTIVE_ALLTOALL, "three_step", "linear", 2, 3},
                 {PTO_COLLECTIVE_HALO, "cuda_aware", "neighbors", 2, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pto_request_t request = request_for(cases[i].collective, cases[i].strategy, cases[i].algorithm,
                                            cases[i].nodes, 2, 1, 4096);
        request.chunks = cases[i].chunks;
        request.by_library = cases[i].chunks == 0;
        request.halo = (pto_halo_t){.dim_count = 2, .extent = {3, 3}, .width = 1};
        change_plan(must_plan(&request));
    }
}

/* --- what a request has for some collectives alone ------------------------------------------------------ */

TEST(halos_and_pairs_have_digests_of_their_own) {
    pto_request_t request = request_for(PTO_COLLECTIVE_ALLREDUCE, "three_step", "ring", 2, 2, 1, 64);
    pto_plan_t *plan = must_plan(&request);
    digest_count = 0;
    plan->request.collective = PTO_COLLECTIVE_PAIR;
    for (int ends = 0; ends < 8; ends++) {
        plan->request.ends = (pto_pair_ends_t){ends & 1, ends >> 1 & 1, ends >> 2 & 1};
        keep_digest(plan, "pair");
    }
    plan->request.collective = PTO_COLLECTIVE_HALO;
    for (int n = 0; n < 3 * 3 * 2 * 3 * 3 * 2 * 2 * 3; n++) {
        plan->request.halo = (pto_halo_t){.dim_count = 2,
                                          .dims = {n % 3, n / 3 % 3},
                                          .wrap = {n / 9 % 2, n / 18 % 2},
                                          .extent = {n / 36 % 3, n / 108 % 3},
                                          .width = n / 324 % 2,
                                          .corners = (pto_corners_t)(n / 648)};
        keep_digest(plan, "halo");
    }
    plan->request.halo.dim_count = 3;
    keep_digest(plan, "third dimension");
    plan->request.halo.dims[2] = 5;
    keep_digest(plan, "size of the third dimension");
}

/* --- byte counts ---------------------------------------------------------------------------------------- */

static void change_counts(pto_plan_t *plan, pto_counts_t *counts, bool by_form) {
    uint64_t form = pto_plan_digest_of_form(plan);
    int64_t numbers = pto_counts_values(counts);
    for (int64_t i = 0; i < numbers; i++) {
        counts->matrix[i] += 1000;
        keep_digest(plan, "a number");
        assert_int_equal(pto_plan_digest_of_form(plan) == form, by_form);
        counts->matrix[i] -= 1000;
        for (int64_t j = 0; j < i; j++) {
            int64_t kept[] = {counts->matrix[i], counts->matrix[j]};
            counts->matrix[i] = kept[1];
            counts->matrix[j] = kept[0];
            keep_digest(plan, "two numbers that change places");
            assert_int_equal(pto_plan_digest_of_form(plan) == form, by_form);
            counts->matrix[i] = kept[0];
            counts->matrix[j] = kept[1];
        }
    }
}

TEST(every_byte_count_changes_the_digest) {
    int64_t number[16];
    pto_request_t request = request_for(PTO_COLLECTIVE_ALLTOALLV, "three_step", "pairwise", 2, 2, 1, 64);
    for (int i = 0; i < 16; i++)
        number[i] = 3 * i + 1;
    pto_counts_t counts = {.kind = PTO_COUNTS_MATRIX, .order = 4, .matrix = number};
    pto_plan_t *plan = must_plan(&request);
    digest_count = 0;
    keep_digest(plan, "equal counts");
    plan->request.counts = &counts;
    keep_digest(plan, "a matrix");
    change_counts(plan, &counts, true);
    counts.order = 1;
    keep_digest(plan, "one process");
    change_counts(plan, &counts, false);
    plan->request.counts = request.counts;
}

TEST(patterns_have_digests_of_their_own) {
    pto_request_t request = request_for(PTO_COLLECTIVE_ALLTOALLV, "three_step", "pairwise", 2, 2, 1, 64);
    pto_plan_t *plan = must_plan(&request);
    pto_counts_t counts = {.kind = PTO_COUNTS_SKEW, .skew = 0.5, .seed = 3}, host = {.kind = PTO_COUNTS_SKEW};
    digest_count = 0;
    plan->request.counts = &counts;
    keep_digest(plan, "skew");
    counts.skew = 0.25;
    keep_digest(plan, "another skew");
    counts.seed = 4;
    keep_digest(plan, "another seed");
    for (int kind = 0; kind < 2; kind++) {
        counts = (pto_counts_t){.kind = kind ? PTO_COUNTS_GROUPS : PTO_COUNTS_STENCIL,
                                .grid = {.dim_count = 2, .dim = {2, 2}, .weight = {1, 1}}};
        keep_digest(plan, "a grid");
        for (int d = 0; d < 2; d++) {
            counts.grid.dim[d]++;
            keep_digest(plan, "a size");
            counts.grid.dim[d]--;
            counts.grid.weight[d]++;
            keep_digest(plan, "a weight");
            counts.grid.weight[d]--;
            counts.grid.wrap[d] = true;
            keep_digest(plan, "a ring");
            counts.grid.wrap[d] = false;
        }
        counts.grid.along = 1;
        keep_digest(plan, "other lines");
    }
    counts.host = &host;
    keep_digest(plan, "a second pattern");
    host.seed = 1;
    keep_digest(plan, "another second pattern");
    plan->request.counts = NULL;
    int64_t process[] = {0, 1, 2, 3};
    pto_mapping_t mapping = {.count = 4, .process = process};
    keep_digest(plan, "no mapping");
    plan->request.mapping = &mapping;
    keep_digest(plan, "a mapping");
    for (int i = 0; i < 4; i++) {
        process[i] += 4;
        keep_digest(plan, "a process elsewhere");
        process[i] -= 4;
    }
    plan->request.mapping = NULL;
}

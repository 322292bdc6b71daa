/* Halo exchange: every small grid is proved, for every strategy; neighbors, dimensions and faults. */
#include "broken_plan.h"
#include "machine/machine_internal.h"
#include "must.h"
#include "portolan/price.h"
#include "portolan/scenario.h"
#include "portolan/simulate.h"
#include "portolan/strategy.h"
#include "priced.h"
#include "sample.h"
#include "test.h"

static int64_t proved;

static void describe(const pto_request_t *request, const pto_error_t *err) {
    const pto_halo_t *grid = &request->halo;
    fail_msg("halo by %s, %lldx%lldx%lld, wrap %d%d%d, extent %lldx%lldx%lld, width %lld, corners %s: %s",
             request->strategy->name, (long long)grid->dims[0], (long long)grid->dims[1],
             (long long)grid->dims[2], grid->wrap[0], grid->wrap[1], grid->wrap[2],
             (long long)grid->extent[0], (long long)grid->extent[1], (long long)grid->extent[2],
             (long long)grid->width, pto_corners_name(grid->corners), err->message);
}

static void prove_one(const pto_request_t *request) {
    pto_plan_t *plan = NULL;
    pto_error_t err = {0};
    pto_check_report_t report;
    if (pto_plan_create(request, &plan, &err) == PTO_ERR_NOT_APPLICABLE)
        return;
    if (!plan || pto_check(plan, &report, &err) != PTO_OK)
        describe(request, &err);
    pto_plan_destroy(plan);
    proved++;
}

/* Every route that applies to the grid; also by the MPI library, or in seven chunks, so that a ring of four
 * slots goes round. */
static void prove(pto_request_t request) {
    for (int s = 0; s < pto_strategy_count(); s++)
        for (int a = 0; a < pto_algorithm_count(); a++) {
            request.strategy = pto_strategy_at(s);
            request.algorithm = pto_algorithm_at(a);
            if (!(pto_strategy_with(request.strategy, request.algorithm) & 1u << PTO_COLLECTIVE_HALO))
                continue;
            prove_one(&request);
            pto_request_t other = request;
            other.chunks = 7;
            other.by_library = !request.strategy->direct;
            if (request.halo.width == 1 && (other.by_library || pto_request_may_be_cut(&other)))
                prove_one(&other);
        }
}

/* All wraps, corners and widths, with extents from the width on that differ by dimension. */
static void prove_grid(pto_layout_t layout, int dim_count, int64_t rows, int64_t columns, int64_t planes) {
    pto_request_t request = {.layout = layout, .collective = PTO_COLLECTIVE_HALO, .bytes = 3};
    for (int how = 0; how < 1 << dim_count; how++)
        for (int corners = 0; corners < PTO_CORNERS_COUNT; corners++)
            for (int64_t width = 1; width <= 3; width += test_sample() > 1 ? 2 : 1) {
                request.halo = (pto_halo_t){.dim_count = dim_count,
                                            .dims = {rows, columns, planes},
                                            .wrap = {how & 1, how & 2, how & 4},
                                            .extent = {width, width + 1, width + 2},
                                            .width = width,
                                            .corners = (pto_corners_t)corners};
                prove(request);
            }
}

TEST(every_small_grid_of_two_dimensions_is_right) {
    for (int64_t rows = 1; rows <= 4; rows++)
        for (int64_t columns = 1; columns <= 4; columns++) {
            int64_t owners = rows * columns;
            prove_grid((pto_layout_t){owners, 1, 1, 1, 1, false}, 2, rows, columns, 0);
            prove_grid((pto_layout_t){1, owners, 1, 2, 2, false}, 2, rows, columns, 0);
            prove_grid((pto_layout_t){rows, 1, columns, columns, 1, false}, 2, rows, columns, 0);
        }
}

TEST(every_small_grid_of_three_dimensions_is_right) {
    for (int64_t shape = 0; shape < 27; shape += test_sample()) {
        int64_t rows = 1 + shape / 9, columns = 1 + shape / 3 % 3, planes = 1 + shape % 3;
        prove_grid((pto_layout_t){1, rows * columns * planes, 1, 1, 2, false}, 3, rows, columns, planes);
    }
    print_message("%lld plans proved right\n", (long long)proved);
}

static pto_request_t ask(const char *strategy, const char *algorithm, pto_halo_t grid, pto_layout_t layout) {
    pto_request_t request = {.layout = layout, .collective = PTO_COLLECTIVE_HALO, .bytes = 4, .halo = grid};
    carry_out_by(&request, strategy, algorithm);
    return request;
}

static const pto_halo_t torus = {.dim_count = 2, .wrap = {true, true}, .extent = {4, 6}, .width = 1};

TEST(dims_left_open_are_as_even_as_possible) {
    static const struct {
        int dim_count;
        int64_t owners, given[3], wanted[3];
    } cases[] = {{2, 12, {0, 0}, {4, 3}},       {2, 7, {0, 0}, {7, 1}},           {2, 1, {0, 0}, {1, 1}},
                 {3, 64, {0, 0, 0}, {4, 4, 4}}, {3, 24, {0, 2, 0}, {4, 2, 3}},    {2, 6, {2, 0}, {2, 3}},
                 {2, 6, {6, 1}, {6, 1}},        {2, 1048578, {0, 0}, {174763, 6}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pto_halo_t grid = {.dim_count = cases[i].dim_count, .extent = {1, 1, 1}, .width = 1};
        memcpy(grid.dims, cases[i].given, sizeof grid.dims);
        assert_int_equal(pto_halo_complete(&grid, cases[i].owners, NULL), PTO_OK);
        for (int d = 0; d < cases[i].dim_count; d++)
            assert_int_equal(grid.dims[d], cases[i].wanted[d]);
    }
}

/* A fault is explained by the name of a buffer. */
TEST(buffers_of_a_ring_name_their_neighbor) {
    static const char *const names[] = {"last chunk to -1 0 0", "last chunk to 0 -1 0",
                                        "last chunk to 0 0 -1", "last chunk to +1 0 0",
                                        "last chunk to 0 +1 0", "last chunk to 0 0 +1"};
    enum { WAYS = sizeof names / sizeof *names };
    const pto_halo_t grid = {
        .dim_count = 3, .dims = {3, 3, 3}, .wrap = {true, true, true}, .extent = {2, 3, 4}, .width = 1};
    pto_request_t request = ask("shm_ring", "direct", grid, (pto_layout_t){1, 27, 1, 1, 27, false});
    int ways = 0, found[WAYS] = {0};
    pto_plan_t *plan = must_plan(&request);
    for (int i = 0; i < pto_plan_buffer_count(plan); i++) {
        const char *name = pto_plan_buffer(plan, i)->name;
        ways += strncmp(name, "last chunk to ", strlen("last chunk to ")) == 0;
        for (int way = 0; way < WAYS; way++)
            found[way] += strcmp(name, names[way]) == 0;
    }
    assert_int_equal(ways, WAYS);
    for (int way = 0; way < WAYS; way++)
        assert_int_equal(found[way], 1);
}

TEST(shapes_that_make_no_grid_are_refused) {
    static const struct {
        pto_halo_t grid;
        pto_status_t status;
        const char *says;
    } cases[] = {
        {{.dim_count = 1, .width = 1}, PTO_ERR_RANGE, "2 or 3 dimensions, not 1"},
        {{.dim_count = 2, .extent = {4, 4}}, PTO_ERR_RANGE, "1 cell wide or more"},
        {{.dim_count = 2, .extent = {4, 1}, .width = 2}, PTO_ERR_RANGE, "an extent of 1 cells is less than"},
        {{.dim_count = 2, .extent = {4, 4}, .width = 1, .dims = {-1, 0}},
         PTO_ERR_RANGE,
         "dims must be 0 or more"},
        {{.dim_count = 2, .extent = {INT64_MAX / 8, INT64_MAX / 8}, .width = 1},
         PTO_ERR_RANGE,
         "more cells than can be counted"},
        {{.dim_count = 2, .extent = {4, 4}, .width = 1, .dims = {2, 2}},
         PTO_ERR_NOT_APPLICABLE,
         "a grid of 4 processes is not one of the layout's 6 owners"},
        {{.dim_count = 2, .extent = {4, 4}, .width = 1, .dims = {4, 0}},
         PTO_ERR_NOT_APPLICABLE,
         "do not divide the layout's 6 owners"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pto_request_t request =
            ask("cuda_aware", "neighbors", cases[i].grid, (pto_layout_t){6, 1, 1, 1, 1, false});
        assert_says(no_plan(&request, cases[i].status), cases[i].says);
    }
}

static pto_step_t *steps_of(pto_plan_t **plan) {
    *plan = plan_of(ask("cuda_aware", "neighbors", torus, (pto_layout_t){1, 2, 1, 1, 1, false}));
    return (*plan)->steps.item;
}

/* Both neighbors in a dimension of size 2 are the same process: the sends are in the wrong order. */
TEST(grids_are_read_as_they_are_written) {
    const pto_halo_t grid = {3, {2, 0, 4}, {true, false, true}, {16, 32, 64}, 2, PTO_CORNERS_DIAGONAL};
    pto_halo_t read = {0};
    char text[PTO_HALO_TEXT_MAX];
    pto_halo_text(&grid, text);
    assert_string_equal(text, "dims=2x0x4 wrap=1x0x1 extent=16x32x64 halo=2 corners=diagonal");
    assert_int_equal(pto_halo_parse(text, strlen(text), &read, NULL), PTO_OK);
    assert_int_equal(pto_halo_compare(&read, &grid), 0);
    read.extent[2]++;
    assert_true(pto_halo_compare(&read, &grid) > 0);
    assert_int_equal(pto_halo_parse("extent=4x8", strlen("extent=4x8"), &read, NULL), PTO_OK);
    assert_int_equal(read.width, 1);
    assert_int_equal(read.corners, PTO_CORNERS_TWO_PHASE);
}

TEST(texts_that_are_no_grid_are_refused) {
    static const char *const text[] = {
        "",           "dims=2x1",           "extent=4",        "extent=4x4x4x4",
        "extent=4xq", "extent=4x4 halo=5",  "extent=4x4 wrap", "extent=4x4 dims=2x2x2",
        "wide=1",     "extent=4x4 halo=-1", "extent=0x4",      "extent=4x4 corners=all"};
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        pto_halo_t read = {.width = 7};
        pto_error_t err = {0};
        assert_int_not_equal(pto_halo_parse(text[i], strlen(text[i]), &read, &err), PTO_OK);
        assert_true(err.message[0] != '\0');
        assert_int_equal(read.width, 7);
    }
}

TEST(a_message_to_the_wrong_side_is_found) {
    pto_plan_t *plan;
    pto_step_t *step = steps_of(&plan), first = step[0];
    step[0] = step[1];
    step[1] = first;
    refused_for(plan, "hold owner");
}

TEST(a_border_that_is_not_exchanged_is_found) {
    for (int i = 0; i < 6; i++) {
        pto_plan_t *plan = NULL;
        pto_step_t *step = steps_of(&plan);
        step[i].core_count = 0;
        refused_for(plan, i < 4 ? "which does not" : "hold owner");
    }
}

TEST(a_call_of_other_messages_is_found) {
    for (int fault = 0; fault < 4; fault++) {
        pto_request_t request = ask("cuda_aware", "neighbors", torus, (pto_layout_t){1, 2, 1, 1, 1, false});
        request.by_library = true;
        pto_plan_t *plan = plan_of(request);
        pto_node_t *node = plan->nodes.item;
        pto_step_t *step = plan->steps.item;
        assert_int_equal(node[0].kind, PTO_NODE_COLLECTIVE);
        if (fault == 0)
            node[0].by = PTO_DONE_BY_NCCL;
        else if (fault == 1)
            node[0].core_count = 0;
        else if (fault == 2)
            step[0].peers = pto_peers_at(pto_constant(1), 1);
        else
            ((pto_call_slices_t *)plan->calls.item)[0].in.buffer = 1;
        refused_for(plan, fault == 3 ? "names buffer 1" : "a phase of messages");
    }
}

/* --- which cells are looked at -------------------------------------------------------------------------- */

static struct { int64_t member, source, cell; } spoiled;

/* A right exchange, after which one process overwrites one of its cells. */
static void build_spoiled(pto_builder_t *builder, const pto_request_t *request) {
    strategy_named("cuda_aware")->build(builder, request);
    const pto_exchange_t who = owners_exchange(builder, pto_layout_owner_count(&request->layout));
    pto_slice_t source = pto_slice_block(buffer_of_role(builder, PTO_ROLE_OUT), PTO_ANCHOR_ABSOLUTE);
    pto_slice_t target = source;
    source.offset = pto_constant(spoiled.source);
    target.offset = pto_constant(spoiled.cell);
    add_copy_stage(builder, "spoil", step_of_member(PTO_STEP_COPY, &who, spoiled.member, -1), source, target);
}

/* Where a process of a grid of two in each dimension has a neighbor on this side. */
static bool has_neighbor(const pto_halo_t *grid, int64_t member, int d, int64_t side) {
    int64_t at = member >> (grid->dim_count - 1 - d) & 1;
    return grid->wrap[d] || (side > 0) == (at == 0);
}

/* Faces always are promised; edges and corners with two phases, and with diagonal messages where a neighbor
 * is. */
static bool is_promised(const pto_halo_t *grid, int64_t member, int64_t cell) {
    int outside = 0, moved = 0;
    for (int d = grid->dim_count - 1; d >= 0; d--, cell /= 3) {
        outside += cell % 3 != 1;
        moved += cell % 3 != 1 && has_neighbor(grid, member, d, cell % 3 - 1);
    }
    return outside <= 1 || grid->corners == PTO_CORNERS_TWO_PHASE ||
           (grid->corners == PTO_CORNERS_DIAGONAL && moved == outside);
}

TEST(every_cell_that_is_promised_is_looked_at) {
    for (int how = 0; how < 12; how++) {
        bool wrap = how % 2;
        pto_halo_t grid = {.dim_count = how / 2 % 2 + 2,
                           .wrap = {wrap, wrap, wrap},
                           .extent = {1, 1, 1},
                           .width = 1,
                           .corners = (pto_corners_t)(how / 4)};
        int64_t members = grid.dim_count == 3 ? 8 : 4, cells = grid.dim_count == 3 ? 27 : 9;
        for (int64_t n = 0; n < members * cells; n++) {
            spoiled.member = n / cells;
            spoiled.cell = n % cells;
            spoiled.source =
                spoiled.cell == cells / 2 ? 1 : cells / 2; /* of another owner, or of another place */
            pto_request_t request =
                ask("cuda_aware", "neighbors", grid, (pto_layout_t){2, members / 2, 1, 1, 2, false});
            request.strategy = strategy_made_of(PTO_COLLECTIVE_HALO, build_spoiled);
            pto_plan_t *plan = plan_of(request);
            pto_check_report_t report;
            pto_error_t err = {0};
            bool right = pto_check(plan, &report, &err) == PTO_OK;
            if (right == is_promised(&grid, spoiled.member, spoiled.cell))
                fail_msg("%d dimensions, wrap %d, corners %s: cell %lld of owner %lld: %s", grid.dim_count,
                         wrap, pto_corners_name(grid.corners), (long long)spoiled.cell,
                         (long long)spoiled.member, right ? "not noticed" : err.message);
        }
    }
}

/* --- prices --------------------------------------------------------------------------------------------- */

static pto_machine_t *summit(void) { return must_open("scenarios/machines/summit-spectrum.yaml"); }

static double two_messages_s(const pto_machine_t *machine, pto_space_t space, int64_t bytes) {
    return 2 * message_cost_s(machine, space, PTO_LEVEL_OFF_NODE, bytes);
}

static double copy_s(const pto_machine_t *machine, pto_copy_kind_t kind, int64_t bytes, int64_t rows) {
    return postal_s(pto_machine_copy(machine, kind, PTO_REACH_ON_SOCKET, false), (double)bytes) +
           (double)(rows - 1) * machine->strided_row_s[kind].value;
}

/* On a torus of 3 x 4 nodes with a process each, which has rows x columns cells and a halo of `width`. */
static pto_request_t on_torus(const char *strategy, const char *algorithm, int64_t rows, int64_t columns,
                              int64_t width) {
    const pto_halo_t grid = {
        .dim_count = 2, .dims = {3, 4}, .wrap = {true, true}, .extent = {rows, columns}, .width = width};
    return ask(strategy, algorithm, grid, (pto_layout_t){12, 1, 1, 1, 1, false});
}

/* Two borders along each dimension, of all cells of the others, halos included: 2 w (6 x 8) / 6 + 2 w (6 x 8)
 * / 8 cells where w is 1. */
TEST(packed_borders_have_room_and_no_more) {
    static const int64_t cells[] = {0, 2 * 8 + 2 * 6, 4 * 10 + 4 * 8, 6 * 12 + 6 * 10};
    for (int64_t width = 1; width <= 3; width++) {
        pto_request_t request = on_torus("pack_kernel", "direct", 4, 6, width);
        int packed = 0;
        pto_plan_t *plan = must_plan(&request);
        for (int b = 0; b < pto_plan_buffer_count(plan); b++) {
            const pto_buffer_t *buffer = pto_plan_buffer(plan, b);
            if (strncmp(buffer->name, "packed", 6) == 0) {
                assert_int_equal(buffer->block_count, cells[width]);
                packed++;
            }
        }
        assert_int_equal(packed, 2);
    }
}

/* docs/model.md, (8i). */
TEST(prices_follow_the_formulas) {
    pto_machine_t *machine = summit();
    assert_int_equal(pto_machine_set(machine, "copies.strided.d2h", 2e-9, NULL), PTO_OK);
    assert_int_equal(pto_machine_set(machine, "copies.strided.h2d", 3e-9, NULL), PTO_OK);
    for (int64_t extent = 8; extent <= 8192; extent *= 4) {
        int64_t rows = extent + 2, row_bytes = 4 * (2 * extent + 2), column_bytes = 4 * rows;
        pto_request_t request = on_torus("cuda_aware", "neighbors", extent, 2 * extent, 1);
        assert_near(priced_s(&request, machine),
                    two_messages_s(machine, PTO_SPACE_GPU, row_bytes) +
                        two_messages_s(machine, PTO_SPACE_GPU, column_bytes),
                    1e-9);
        request = on_torus("three_step", "neighbors", extent, 2 * extent, 1);
        assert_near(priced_s(&request, machine),
                    two_messages_s(machine, PTO_SPACE_CPU, row_bytes) +
                        two_messages_s(machine, PTO_SPACE_CPU, column_bytes) +
                        2 * copy_s(machine, PTO_COPY_D2H, row_bytes, 1) +
                        2 * copy_s(machine, PTO_COPY_D2H, column_bytes, rows) +
                        2 * copy_s(machine, PTO_COPY_H2D, row_bytes, 1) +
                        2 * copy_s(machine, PTO_COPY_H2D, column_bytes, rows),
                    1e-9);
    }
}

/* Four copies to the host follow each other, and four back: a process waits for none of them but the last. */
TEST(copies_that_follow_each_other_are_queued) {
    pto_machine_t *machine = summit();
    const pto_request_t request = on_torus("three_step", "neighbors", 64, 64, 1);
    double waited_s = priced_s(&request, machine), saved_s = 0;
    static const char *const key[] = {"copies.queued.h2d", "copies.queued.d2h"};
    for (int kind = PTO_COPY_H2D; kind <= PTO_COPY_D2H; kind++) {
        assert_int_equal(pto_machine_set(machine, key[kind], 2e-6, NULL), PTO_OK);
        saved_s +=
            3 * (pto_machine_copy(machine, (pto_copy_kind_t)kind, PTO_REACH_ON_SOCKET, false)->alpha_s.value -
                 2e-6);
    }
    assert_near(priced_s(&request, machine), waited_s - saved_s, 1e-9);
    assert_near(walked_s(&request, machine), waited_s - saved_s, 1e-9);
    assert_true(simulated_s(&request, machine) < (waited_s - saved_s) * 1.01);
}

/* Nodes of one owner all do the same; on others, the dearest owner of each stage counts. */
TEST(the_price_by_class_is_that_of_the_dearest_owner) {
    pto_machine_t *machine = summit();
    static const pto_layout_t layout[] = {
        {12, 1, 1, 1, 1, false}, {6, 2, 1, 1, 1, false}, {3, 4, 1, 2, 2, false}, {2, 6, 1, 1, 3, false}};
    static const char *const strategy[] = {"cuda_aware", "three_step", "dup_devptr"};
    for (size_t i = 0; i < sizeof layout / sizeof *layout; i++)
        for (int s = 0; s < 3; s++)
            for (int how = 0; how < 4 * PTO_CORNERS_COUNT; how++) {
                const pto_halo_t grid = {.dim_count = 2,
                                         .dims = {3, 4},
                                         .wrap = {how & 1, how & 2},
                                         .extent = {512, 128},
                                         .width = 2,
                                         .corners = (pto_corners_t)(how / 4)};
                pto_request_t request = ask(strategy[s], "neighbors", grid, layout[i]);
                request.layout.procs_per_gpu = 3;
                double class_s = priced_s(&request, machine);
                double rank_s = walked_s(&request, machine);
                assert_true(class_s >= rank_s * (1 - 1e-9) && class_s < 1.15 * rank_s);
                if (layout[i].gpus_per_node == 1)
                    assert_near(class_s, rank_s, 1e-9);
            }
}

TEST(the_price_does_not_depend_on_the_number_of_nodes) {
    pto_machine_t *machine = summit();
    const pto_halo_t grid = {.dim_count = 3, .wrap = {true, true, true}, .extent = {32, 32, 32}, .width = 1};
    static const char *const strategy[] = {"cuda_aware", "three_step", "dup_devptr"};
    for (int s = 0; s < 3; s++) {
        pto_request_t request = ask(strategy[s], "neighbors", grid, (pto_layout_t){512, 1, 1, 4, 1, false});
        double few_s = priced_s(&request, machine);
        request.layout.nodes = 1 << 20;
        assert_near(priced_s(&request, machine), few_s, 1e-9);
    }
}

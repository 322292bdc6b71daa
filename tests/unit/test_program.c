/* Kernel programs: which copies overlap, and how operands are cut into parts. */
#include "kernels/parts.h"
#include "kernels/program.h"
#include "test.h"

enum { PEERS = 4, BYTES = 64 };

static char memory[PEERS][8 * BYTES];

static pto_spot_t at(int owner, int64_t offset_bytes) {
    return (pto_spot_t){.at = memory[owner] + offset_bytes};
}

static void end_program(void *program) { pto_program_fini(program); }

static pto_program_t *new_program(void) { return keep_new(sizeof(pto_program_t), end_program); }

static bool move(pto_program_t *program, pto_spot_t target, pto_spot_t source, int64_t bytes) {
    const pto_rows_t rows = pto_rows_of(bytes);
    return pto_program_move(program, target, &rows, source, &rows);
}

static pto_kernel_op_t op_at(const pto_program_t *program, int index) {
    assert_true(index < program->ops.count);
    return ((pto_kernel_op_t *)program->ops.item)[index];
}

static const char *operand_at(const pto_program_t *program, int index) {
    assert_true(index < program->operands.count);
    return ((pto_operand_t *)program->operands.item)[index].spot.at;
}

/* --- merging -------------------------------------------------------------------------------------------- */

TEST(copies_of_one_source_to_several_targets_load_it_once) {
    pto_program_t *program = new_program();
    for (int peer = 1; peer < PEERS; peer++)
        assert_true(move(program, at(peer, 0), at(0, 0), BYTES));
    assert_int_equal(program->ops.count, 1);
    assert_int_equal(op_at(program, 0).kind, PTO_KERNEL_SPREAD);
    assert_int_equal(op_at(program, 0).count, PEERS);
    assert_ptr_equal(operand_at(program, 0), memory[0]);
    assert_ptr_equal(operand_at(program, PEERS - 1), memory[PEERS - 1]);
}

TEST(copies_of_different_sources_go_on_together_as_pairs) {
    pto_program_t *program = new_program();
    for (int peer = 1; peer < PEERS; peer++)
        assert_true(move(program, at(0, peer * BYTES), at(peer, 0), BYTES));
    assert_int_equal(program->ops.count, 1);
    assert_int_equal(op_at(program, 0).kind, PTO_KERNEL_MOVE);
    assert_int_equal(op_at(program, 0).count, 2 * (PEERS - 1));
    for (int peer = 1; peer < PEERS; peer++) {
        assert_ptr_equal(operand_at(program, 2 * peer - 2), memory[peer]);
        assert_ptr_equal(operand_at(program, 2 * peer - 1), memory[0] + peer * BYTES);
    }
}

TEST(copies_with_different_sources_or_sizes_are_not_a_spread) {
    pto_program_t *program = new_program();
    assert_true(move(program, at(1, 0), at(0, 0), BYTES));
    assert_true(move(program, at(2, 0), at(0, 0), BYTES - 4));
    assert_int_equal(program->ops.count, 1);
    assert_int_equal(op_at(program, 0).kind, PTO_KERNEL_MOVE);
    assert_int_equal(op_at(program, 0).count, 4);
}

TEST(what_one_run_in_two_has_elsewhere_is_another_source) {
    pto_program_t *program = new_program();
    pto_spot_t alternates = {.at = memory[0], .copy_stride_bytes = BYTES};
    assert_true(move(program, at(1, 0), at(0, 0), BYTES));
    assert_true(move(program, at(2, 0), alternates, BYTES));
    assert_int_equal(op_at(program, 0).kind, PTO_KERNEL_MOVE);
}

TEST(a_spread_has_a_single_source) {
    pto_program_t *program = new_program();
    assert_true(move(program, at(1, 0), at(0, 0), BYTES));
    assert_true(move(program, at(2, 0), at(0, 0), BYTES));
    assert_true(move(program, at(3, 0), at(0, BYTES), BYTES));
    assert_int_equal(program->ops.count, 2);
    assert_int_equal(op_at(program, 0).kind, PTO_KERNEL_SPREAD);
    assert_int_equal(op_at(program, 1).kind, PTO_KERNEL_MOVE);
}

static int ops_of_two_copies(pto_spot_t target, pto_spot_t source, pto_spot_t later_target,
                             pto_spot_t later_source) {
    pto_program_t *program = new_program();
    assert_true(move(program, target, source, BYTES));
    assert_true(move(program, later_target, later_source, BYTES));
    int count = program->ops.count;
    return count;
}

TEST(copies_that_need_each_other_stay_apart) {
    int64_t last = BYTES - 1;
    assert_int_equal(ops_of_two_copies(at(1, 0), at(0, 0), at(3, 0), at(2, 0)), 1);
    /* the later one reads what the earlier one wrote, be it one byte of it */
    assert_int_equal(ops_of_two_copies(at(1, 0), at(0, 0), at(3, 0), at(1, last)), 2);
    assert_int_equal(ops_of_two_copies(at(1, 0), at(0, 0), at(3, 0), at(1, BYTES)), 1);
    /* it writes where the earlier one reads */
    assert_int_equal(ops_of_two_copies(at(1, 0), at(0, last), at(0, 0), at(2, 0)), 2);
    assert_int_equal(ops_of_two_copies(at(1, 0), at(0, BYTES), at(0, 0), at(2, 0)), 1);
    /* both write the same */
    assert_int_equal(ops_of_two_copies(at(1, 0), at(0, 0), at(1, last), at(2, 0)), 2);
    /* of one source, but the earlier one's target is the later one's */
    assert_int_equal(ops_of_two_copies(at(1, 0), at(0, 0), at(1, 0), at(0, 0)), 2);
}

TEST(a_spreads_targets_are_looked_at_too) {
    pto_program_t *program = new_program();
    for (int peer = 1; peer < PEERS; peer++)
        assert_true(move(program, at(peer, 0), at(0, 0), BYTES));
    assert_true(move(program, at(PEERS - 1, 0), at(0, 0), BYTES));
    assert_int_equal(program->ops.count, 2);
}

/* Columns of one array interleave without sharing bytes, so they go on together. */
TEST(columns_of_one_array_are_copied_together) {
    enum { PITCH = 32, ROWS = 4 };
    const pto_rows_t column = {8, ROWS, PITCH}, packed = {8, ROWS, 8};
    pto_program_t *program = new_program();
    for (int i = 0; i < 3; i++)
        assert_true(pto_program_move(program, at(1, 8 * i), &column, at(0, 8 * i), &column));
    assert_true(pto_program_move(program, at(2, 0), &packed, at(0, 24), &column));
    assert_int_equal(program->ops.count, 1);
    assert_int_equal(op_at(program, 0).kind, PTO_KERNEL_MOVE);
    assert_int_equal(op_at(program, 0).count, 8);
    const pto_operand_t *last = (const pto_operand_t *)program->operands.item + 7;
    assert_int_equal(last->bytes, 8 * ROWS);
    assert_int_equal(last->rows.rows, 1); /* without gaps they are contiguous */
    assert_true(pto_program_move(program, at(1, 4), &column, at(3, 0), &column));
    assert_int_equal(program->ops.count, 2); /* writes half of each row of two others */
}

TEST(rows_of_one_source_are_no_spread) {
    const pto_rows_t column = {8, 4, 32};
    pto_program_t *program = new_program();
    for (int peer = 1; peer < PEERS; peer++)
        assert_true(pto_program_move(program, at(peer, 0), &column, at(0, 0), &column));
    assert_int_equal(program->ops.count, 1);
    assert_int_equal(op_at(program, 0).kind, PTO_KERNEL_MOVE);
    assert_int_equal(op_at(program, 0).count, 2 * (PEERS - 1));
}

/* Against byte by byte. */
TEST(rows_overlap_where_they_share_bytes) {
    static const pto_rows_t shape[] = {{3, 4, 7}, {2, 3, 7}, {5, 1, 5}, {12, 1, 12}, {7, 2, 7}};
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++)
        for (size_t j = 0; j < sizeof shape / sizeof *shape; j++)
            for (int64_t distance = -40; distance <= 40; distance++) {
                bool share = false, said = pto_rows_overlap(&shape[i], &shape[j], distance);
                for (int64_t a = 0; a < shape[i].rows * shape[i].bytes; a++)
                    for (int64_t b = 0; b < shape[j].rows * shape[j].bytes; b++)
                        share = share ||
                                a / shape[i].bytes * shape[i].pitch_bytes + a % shape[i].bytes ==
                                    distance + b / shape[j].bytes * shape[j].pitch_bytes + b % shape[j].bytes;
                assert_int_equal(said, share);
            }
}

TEST(lines_take_more_room_than_their_data) {
    pto_spot_t lines = at(0, 0);
    lines.lines = true;
    assert_int_equal(ops_of_two_copies(at(1, 0), lines, at(0, pto_spot_bytes(true, BYTES) - 1), at(2, 0)), 2);
    assert_int_equal(ops_of_two_copies(at(1, 0), lines, at(0, pto_spot_bytes(true, BYTES)), at(2, 0)), 1);
}

/* What is loaded from lines may be there for one of them before the others, so each is waited for. */
TEST(lines_are_the_source_of_no_spread) {
    pto_program_t *program = new_program();
    pto_spot_t lines = at(0, 0);
    lines.lines = true;
    assert_true(move(program, at(1, 0), lines, BYTES));
    assert_true(move(program, at(2, 0), lines, BYTES));
    assert_int_equal(op_at(program, 0).kind, PTO_KERNEL_MOVE);
    assert_int_equal(op_at(program, 0).count, 4);
}

TEST(flags_of_one_kind_in_a_row_are_one_op) {
    pto_program_t *program = new_program();
    for (int peer = 1; peer < PEERS; peer++)
        assert_true(pto_program_flag(program, PTO_KERNEL_SIGNAL, at(peer, 0)));
    for (int peer = 1; peer < PEERS; peer++)
        assert_true(pto_program_flag(program, PTO_KERNEL_WAIT, at(0, 8 * peer)));
    assert_true(pto_program_flag(program, PTO_KERNEL_SIGNAL, at(1, 8)));
    assert_int_equal(program->ops.count, 3);
    assert_int_equal(op_at(program, 0).count, PEERS - 1);
    assert_int_equal(op_at(program, 1).kind, PTO_KERNEL_WAIT);
    assert_int_equal(op_at(program, 1).first, PEERS - 1);
    assert_int_equal(op_at(program, 2).count, 1);
}

TEST(copies_on_both_sides_of_a_wait_stay_apart) {
    pto_program_t *program = new_program();
    assert_true(move(program, at(1, 0), at(0, 0), BYTES));
    assert_true(pto_program_flag(program, PTO_KERNEL_WAIT, at(0, pto_spot_bytes(true, BYTES))));
    assert_true(move(program, at(2, 0), at(0, 0), BYTES));
    assert_int_equal(program->ops.count, 3);
}

TEST(each_reduction_is_an_op_with_its_sources_in_order) {
    pto_program_t *program = new_program();
    for (int i = 0; i < 2; i++) {
        assert_true(pto_program_reduce(program, at(0, i * BYTES), BYTES));
        for (int peer = 1; peer < PEERS; peer++)
            assert_true(pto_program_source(program, at(peer, i * BYTES), BYTES));
    }
    assert_int_equal(program->ops.count, 2);
    for (int i = 0; i < 2; i++) {
        pto_kernel_op_t op = op_at(program, i);
        assert_int_equal(op.kind, PTO_KERNEL_REDUCE);
        assert_int_equal(op.count, PEERS);
        for (int peer = 0; peer < PEERS; peer++)
            assert_ptr_equal(operand_at(program, op.first + peer), memory[peer] + i * BYTES);
    }
}

/* --- parts ---------------------------------------------------------------------------------------------- */

enum { UNIT_BYTES = 16 };

TEST(parts_cover_a_piece_once_in_whole_units) {
    for (int64_t bytes = 0; bytes < 40 * UNIT_BYTES; bytes++)
        for (int blocks = 1; blocks <= 7; blocks++) {
            int64_t next = 0;
            for (int block = 0; block < blocks; block++) {
                pto_part_t part = pto_part(bytes, UNIT_BYTES, blocks, block);
                assert_int_equal(part.offset_bytes, next);
                assert_true(part.bytes >= 0);
                next += part.bytes;
                if (next < bytes)
                    assert_int_equal(next % UNIT_BYTES, 0);
            }
            assert_int_equal(next, bytes);
        }
}

TEST(parts_differ_by_at_most_a_unit_and_what_is_left) {
    for (int blocks = 1; blocks <= 7; blocks++) {
        int64_t bytes = 1000 * UNIT_BYTES - 5;
        int64_t least = pto_part(bytes, UNIT_BYTES, blocks, blocks - 1).bytes + 5;
        for (int block = 0; block < blocks; block++) {
            int64_t lacks = block == blocks - 1 ? 5 : 0;
            int64_t own = pto_part(bytes, UNIT_BYTES, blocks, block).bytes + lacks;
            assert_true(own == least || own == least + UNIT_BYTES);
        }
    }
}

TEST(a_piece_below_a_unit_is_the_first_parts) {
    for (int block = 0; block < 3; block++)
        assert_int_equal(pto_part(UNIT_BYTES - 1, UNIT_BYTES, 3, block).bytes,
                         block == 0 ? UNIT_BYTES - 1 : 0);
}

/* --- what is forwarded ---------------------------------------------------------------------------------- */

static pto_spot_t lines_at(int buffer, int64_t offset) {
    pto_spot_t spot = at(buffer, offset);
    spot.lines = true;
    return spot;
}

static const pto_operand_t *operand_of(const pto_program_t *program, int op, int i) {
    return (const pto_operand_t *)program->operands.item + op_at(program, op).first + i;
}

/* Rank 1 of 2: the vector into everybody's lines, and the sum of one's own. */
static void add_allreduce(pto_program_t *program, pto_spot_t in, pto_spot_t out) {
    assert_true(move(program, lines_at(2, 0), in, BYTES));
    assert_true(move(program, lines_at(3, 0), in, BYTES));
    assert_true(pto_program_reduce(program, out, BYTES));
    assert_true(pto_program_source(program, lines_at(2, 4 * BYTES), BYTES));
    assert_true(pto_program_source(program, lines_at(2, 0), BYTES));
}

TEST(what_a_process_sends_itself_is_forwarded) {
    for (int in_place = 0; in_place < 2; in_place++) {
        pto_program_t *program = new_program();
        add_allreduce(program, at(0, 0), at(in_place ? 0 : 1, 0));
        pto_program_forward(program);
        assert_int_equal(program->ops.count, 2);
        assert_int_equal(op_at(program, 0).count, 2);
        assert_ptr_equal(operand_of(program, 0, 0)->spot.at, at(0, 0).at);
        assert_ptr_equal(operand_of(program, 0, 1)->spot.at, lines_at(3, 0).at);
        assert_int_equal(op_at(program, 1).count, 3);
        assert_true(operand_of(program, 1, 1)->spot.lines);
        assert_false(operand_of(program, 1, 2)->spot.lines);
        assert_ptr_equal(operand_of(program, 1, 2)->spot.at, at(0, 0).at);
    }
}

/* Two pairs of an op, of which both, and then the op itself, are left out. */
TEST(ops_without_copies_are_left_out) {
    pto_program_t *program = new_program();
    for (int64_t i = 0; i < 2; i++)
        assert_true(move(program, lines_at(2, 4 * i * BYTES), at(0, i * BYTES), BYTES));
    for (int64_t i = 0; i < 2; i++)
        assert_true(move(program, at(1, i * BYTES), lines_at(2, 4 * i * BYTES), BYTES));
    pto_program_forward(program);
    assert_int_equal(program->ops.count, 1);
    assert_int_equal(op_at(program, 0).count, 4);
    assert_int_equal(program->operands.count, 4);
    for (int i = 0; i < 4; i++)
        assert_ptr_equal(operand_of(program, 0, i)->spot.at, at(i % 2, i / 2 * BYTES).at);
}

static int ops_if_forwarded(pto_program_t *program) {
    pto_program_forward(program);
    return program->ops.count;
}

/* Data that another op has overwritten, lines that two ops read, lines of others, data in rows. */
TEST(what_is_read_later_or_twice_stays_in_lines) {
    pto_program_t *changed = new_program(), *twice = new_program(), *others = new_program(),
                  *partly = new_program();
    assert_true(move(changed, lines_at(2, 0), at(0, 0), BYTES));
    assert_true(pto_program_reduce(changed, at(0, 1), BYTES) && pto_program_source(changed, at(3, 0), BYTES));
    assert_true(pto_program_reduce(changed, at(1, 0), BYTES) &&
                pto_program_source(changed, lines_at(2, 0), BYTES));
    assert_int_equal(ops_if_forwarded(changed), 3);
    assert_true(move(twice, lines_at(2, 0), at(0, 0), BYTES));
    for (int i = 0; i < 2; i++)
        assert_true(pto_program_reduce(twice, at(1, i * BYTES), BYTES) &&
                    pto_program_source(twice, lines_at(2, 0), BYTES));
    assert_int_equal(ops_if_forwarded(twice), 3);
    assert_true(move(others, lines_at(2, 0), at(0, 0), BYTES));
    assert_true(pto_program_reduce(others, at(1, 0), BYTES) &&
                pto_program_source(others, lines_at(3, 0), BYTES));
    assert_int_equal(ops_if_forwarded(others), 2);
    assert_true(move(partly, lines_at(2, 0), at(0, 0), BYTES));
    assert_true(pto_program_reduce(partly, at(0, 1), BYTES) &&
                pto_program_source(partly, lines_at(2, 0), BYTES));
    assert_int_equal(ops_if_forwarded(partly), 2);
}

/* --- what is fused -------------------------------------------------------------------------------------- */

/* The sum of two vectors into (0, 0). */
static void add_sum(pto_program_t *program) {
    assert_true(pto_program_reduce(program, at(0, 0), BYTES) &&
                pto_program_source(program, at(1, 0), BYTES) &&
                pto_program_source(program, at(1, BYTES), BYTES));
}

static int ops_if_fused(pto_program_t *program) {
    pto_program_fuse(program);
    return program->ops.count;
}

TEST(a_result_goes_where_it_would_be_copied) {
    for (int copies = 1; copies < PEERS - 1; copies++) {
        pto_program_t *program = new_program();
        add_sum(program);
        for (int i = 0; i < copies; i++)
            assert_true(move(program, at(2 + i, 0), at(0, 0), BYTES));
        assert_true(pto_program_flag(program, PTO_KERNEL_SIGNAL, at(2, BYTES)));
        pto_program_fuse(program);
        assert_int_equal(program->ops.count, 2);
        pto_kernel_op_t sum = op_at(program, 0), signal = op_at(program, 1);
        assert_int_equal(sum.kind, PTO_KERNEL_REDUCE);
        assert_int_equal(sum.count, 3 + copies);
        assert_int_equal(sum.copies, copies);
        assert_ptr_equal(operand_of(program, 0, 0)->spot.at, memory[0]);
        assert_ptr_equal(operand_of(program, 0, 2)->spot.at, memory[1] + BYTES);
        for (int i = 0; i < copies; i++)
            assert_ptr_equal(operand_of(program, 0, 3 + i)->spot.at, memory[2 + i]);
        assert_int_equal(signal.kind, PTO_KERNEL_SIGNAL);
        assert_int_equal(program->operands.count, 4 + copies);
        assert_ptr_equal(operand_of(program, 1, 0)->spot.at, memory[2] + BYTES);
    }
}

/* Other data or a part of the result, to where a source lies, aligned otherwise or beside a copy of something
 * else, in lines, to rows or from rows, after a signal, beside lines elsewhere. */
TEST(other_copies_after_a_reduction_stay) {
    const pto_rows_t rows = {BYTES / 2, 2, BYTES};
    for (int i = 0; i < 10; i++) {
        pto_program_t *program = new_program();
        if (i == 8)
            assert_true(move(program, lines_at(3, 0), at(2, 4 * BYTES), BYTES));
        add_sum(program);
        if (i == 0)
            assert_true(move(program, at(2, 0), at(0, 2 * BYTES), BYTES));
        else if (i == 1)
            assert_true(move(program, at(2, 0), at(0, 0), BYTES / 2));
        else if (i == 2)
            assert_true(move(program, at(1, BYTES / 2), at(0, 0), BYTES));
        else if (i == 3)
            assert_true(move(program, at(2, 0), at(0, 0), BYTES) &&
                        move(program, at(2, BYTES), at(3, 0), BYTES));
        else if (i == 4)
            assert_true(move(program, lines_at(2, 0), at(0, 0), BYTES));
        else if (i == 5)
            assert_true(pto_program_move(program, at(2, 0), &rows, at(0, 0), &(pto_rows_t){BYTES, 1, BYTES}));
        else if (i == 9)
            assert_true(pto_program_move(program, at(2, 0), &(pto_rows_t){BYTES, 1, BYTES}, at(0, 0), &rows));
        else if (i == 6)
            assert_true(pto_program_flag(program, PTO_KERNEL_SIGNAL, at(2, 0)) &&
                        move(program, at(2, BYTES), at(0, 0), BYTES));
        else
            assert_true(move(program, at(2, i == 7 ? 4 : 0), at(0, 0), BYTES));
        assert_int_equal(ops_if_fused(program), i == 6 || i == 8 ? 3 : 2);
    }
}

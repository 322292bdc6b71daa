/* Which programs an exchange is (kernel_exchange.cuh): told by what their ops do, and not by who
 * made them. What it computes is in test_kernel_runs.cc. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

extern "C" {
#include <cmocka.h>
}

/* Nothing runs here. */
#pragma GCC diagnostic ignored "-Wunused-function"
#include "gpu_threads.h"

#include "portolan/kernel.h"

#include "kernels/kernel_exchange.cuh"
#include "kernels/kernel_translate.cuh"

static bool is_exchange(const pto_kernel_program_t *program) {
    any_exchange all = {};
    return find_exchange(program, all) != NO_EXCHANGE;
}
static bool is_sum(const pto_kernel_program_t *program) {
    any_exchange all = {};
    return find_exchange(program, all) == EXCHANGE_OF_SUMS;
}
static any_exchange exchange_of(const pto_kernel_program_t *program) {
    any_exchange all = {};
    find_exchange(program, all);
    return all;
}

/* Two ops of whole units that are an exchange, until one thing is another one. */
struct some_exchange {
    char memory[4][1024];
    char *lines[2];
    pto_operand_t operands[5];
    pto_kernel_op_t ops[2];
    pto_kernel_program_t program;
};

static some_exchange *make_exchange(bool sums) {
    alignas(16) static some_exchange one;
    alignas(16) static char lines[2][2048];
    one = {};
    const auto data = [](char *at) { return pto_operand_t{{at, 0, false}, 512, pto_rows_of(512)}; };
    const auto in_lines = [](char *at) {
        return pto_operand_t{{at, at == lines[0] ? 640 : 1024, true}, 512, pto_rows_of(512)};
    };
    one.lines[0] = lines[0], one.lines[1] = lines[1];
    one.operands[0] = data(one.memory[0]);
    one.operands[1] = in_lines(lines[0]);
    one.operands[2] = sums ? data(one.memory[1]) : in_lines(lines[1]);
    one.operands[3] = data(sums ? one.memory[0] : one.memory[1]);
    one.operands[4] = in_lines(lines[1]);
    one.ops[0] = {PTO_KERNEL_SPREAD, 0, 2, 0};
    one.ops[1] = {sums ? PTO_KERNEL_REDUCE : PTO_KERNEL_MOVE, 2, sums ? 3 : 2, 0};
    one.program.ops = one.ops, one.program.op_count = 2;
    one.program.operands = one.operands, one.program.operand_count = sums ? 5 : 4;
    one.program.op = PTO_OP_PROD;
    return &one;
}

static void an_exchange_is_told_by_what_its_ops_do(void **) {
    for (bool sums : {false, true}) {
        some_exchange *one = make_exchange(sums);
        assert_true(is_exchange(&one->program));
        const any_exchange all = exchange_of(&one->program);
        assert_ptr_equal(all.own, one->memory[0]);
        assert_ptr_equal(all.peer[0].sent, one->memory[0]);
        assert_ptr_equal(all.peer[0].target, one->memory[1]);
        assert_ptr_equal(all.peer[0].to, one->lines[0]);
        assert_ptr_equal(all.peer[0].from, one->lines[1]);
        assert_true(all.own_target == nullptr && all.to_copy_stride_bytes == 640 && all.from_copy_stride_bytes == 1024);
        assert_true(all.units == 32 && all.peers == 1 && all.own_at == 0 && is_sum(&one->program) == sums);
        assert_int_equal(all.choice.op, PTO_OP_PROD);
        for (pto_operand_t &operand : one->operands)
            operand.bytes = 504;
        assert_false(is_exchange(&one->program)); /* not whole units */
        make_exchange(sums)->operands[1].bytes = 256;
        assert_false(is_exchange(&one->program));
        make_exchange(sums)->operands[0].spot.at = one->memory[0] + 4;
        assert_false(is_exchange(&one->program));
        make_exchange(sums)->operands[1].spot.lines = false;
        assert_false(is_exchange(&one->program));
        make_exchange(sums)->program.op_count = 1;
        assert_false(is_exchange(&one->program));
        make_exchange(sums)->ops[0].count = 1; /* nothing is sent */
        assert_false(is_exchange(&one->program));
    }
    some_exchange *one = make_exchange(true);
    std::swap(one->operands[3], one->operands[4]);
    assert_true(is_exchange(&one->program) && exchange_of(&one->program).own_at == 1);
    one->operands[3] = one->operands[4];
    assert_false(is_exchange(&one->program)); /* a sum without lines */
}

/* What follows a sum, whatever it copies. */
static void a_sum_whose_vectors_are_copied_too_is_no_exchange(void **) {
    for (int source : {2, 3, 0}) {
        some_exchange *one = make_exchange(true);
        static pto_kernel_op_t ops[3];
        ops[0] = one->ops[0], ops[1] = one->ops[1], ops[2] = {PTO_KERNEL_MOVE, 5, 2, 0};
        static pto_operand_t operands[7];
        std::copy_n(one->operands, 5, operands);
        operands[5] = operands[source], operands[6] = operands[0];
        operands[6].spot.at = one->memory[3];
        one->program.ops = ops, one->program.op_count = 3;
        one->program.operands = operands, one->program.operand_count = 7;
        assert_false(is_exchange(&one->program));
        std::swap(ops[0], ops[2]);
        assert_false(is_exchange(&one->program));
    }
}

static void a_result_of_an_exchange_does_not_lie_across_a_vector(void **) {
    for (bool sums : {false, true}) {
        some_exchange *one = make_exchange(sums);
        pto_operand_t *target = one->operands + (sums ? 2 : 3);
        target->spot.at = one->memory[0];
        assert_true(is_exchange(&one->program)); /* in place */
        for (int offset : {-496, -16, 16, 496}) {
            target->spot.at = one->memory[0] + 512 + offset;
            one->operands[0].spot.at = one->memory[0] + 512;
            assert_false(is_exchange(&one->program));
        }
        target->spot.at = one->memory[0];
        assert_true(is_exchange(&one->program)); /* side by side */
    }
    some_exchange *one = make_exchange(false);
    one->ops[0] = {PTO_KERNEL_SPREAD, 0, 3, 0}; /* also to where arrives what the other GPU sends */
    one->ops[1].first = 3;
    one->operands[4] = one->operands[3], one->operands[3] = one->operands[2];
    one->operands[2] = one->operands[4];
    one->program.operand_count = 5;
    assert_false(is_exchange(&one->program));
    one->operands[2].spot.at = one->memory[2];
    assert_true(is_exchange(&one->program) && exchange_of(&one->program).own_target == one->memory[2]);
    one->operands[2].spot.at = one->memory[0];
    assert_false(is_exchange(&one->program)); /* a vector copied to itself, beside being sent */
}

/* What is sent is what has arrived, or what was copied, in an op before: a chain. */
static void an_exchange_sends_nothing_that_it_writes_before(void **) {
    some_exchange *one = make_exchange(false);
    std::swap(one->operands[0], one->operands[2]);
    std::swap(one->operands[1], one->operands[3]);
    one->ops[0].kind = PTO_KERNEL_MOVE;
    assert_true(is_exchange(&one->program));
    one->operands[1].spot.at = one->memory[0];
    assert_false(is_exchange(&one->program));
    one = make_exchange(false);
    static pto_kernel_op_t ops[3];
    ops[0] = {PTO_KERNEL_MOVE, 4, 2, 0}, ops[1] = one->ops[0], ops[2] = one->ops[1];
    static pto_operand_t operands[6];
    std::copy_n(one->operands, 4, operands);
    operands[4] = operands[5] = operands[0];
    operands[4].spot.at = one->memory[2], operands[5].spot.at = one->memory[3];
    one->program.ops = ops, one->program.op_count = 3;
    one->program.operands = operands, one->program.operand_count = 6;
    assert_true(is_exchange(&one->program));
    operands[5].spot.at = one->memory[0];
    assert_false(is_exchange(&one->program));
    std::swap(ops[0], ops[1]); /* sent before it is overwritten */
    assert_true(is_exchange(&one->program));
}

/* --- more GPUs ------------------------------------------------------------------------------------------ */

/* GPU 2 of `gpus`: sends its vector to all others, and adds or copies what they send. */
struct many {
    std::vector<char> memory, lines;
    std::vector<pto_operand_t> operands;
    std::vector<pto_kernel_op_t> ops;
    pto_kernel_program_t program;
};

enum { MANY_BYTES = 512, MANY_LINES = 1024, MANY_ME = 2 };

static pto_operand_t many_data(many &made, int place) {
    return {{made.memory.data() + place * MANY_BYTES, 0, false}, MANY_BYTES, pto_rows_of(MANY_BYTES)};
}
static pto_operand_t many_lines(many &made, int place) {
    return {{made.lines.data() + place * MANY_LINES, 65536, true}, MANY_BYTES, pto_rows_of(MANY_BYTES)};
}

static void add_many(many &made, pto_kernel_kind_t kind, const std::vector<pto_operand_t> &operands) {
    made.ops.push_back({kind, static_cast<int>(made.operands.size()), static_cast<int>(operands.size()), 0});
    made.operands.insert(made.operands.end(), operands.begin(), operands.end());
    made.program.ops = made.ops.data(), made.program.op_count = static_cast<int>(made.ops.size());
    made.program.operands = made.operands.data();
    made.program.operand_count = static_cast<int>(made.operands.size());
}

static many make_many(int gpus, bool sums) {
    many made = {};
    made.memory.resize(64 * MANY_BYTES), made.lines.resize(64 * MANY_LINES);
    std::vector<pto_operand_t> spread = {many_data(made, 0)}, sum = {many_data(made, 1)}, moves;
    for (int gpu = 0; gpu < gpus; gpu++) {
        sum.push_back(gpu == MANY_ME ? many_data(made, 0) : many_lines(made, 16 + gpu));
        if (gpu == MANY_ME)
            continue;
        spread.push_back(many_lines(made, gpu));
        moves.push_back(many_lines(made, 16 + gpu));
        moves.push_back(many_data(made, 1 + gpu));
    }
    add_many(made, PTO_KERNEL_SPREAD, spread);
    add_many(made, sums ? PTO_KERNEL_REDUCE : PTO_KERNEL_MOVE, sums ? sum : moves);
    return made;
}

static void an_exchange_of_three_to_eight_gpus_keeps_the_order_of_its_sum(void **) {
    for (int gpus = 3; gpus <= 9; gpus++)
        for (bool sums : {false, true}) {
            many made = make_many(gpus, sums);
            assert_true(is_exchange(&made.program) == (gpus <= 8));
            if (gpus > 8)
                continue;
            const any_exchange all = exchange_of(&made.program);
            assert_true(all.peers == gpus - 1 && all.own_at == (sums ? MANY_ME : 0));
            for (int peer = 0; peer < all.peers; peer++) {
                const int gpu = peer < MANY_ME ? peer : peer + 1;
                assert_ptr_equal(all.peer[peer].sent, made.memory.data());
                assert_ptr_equal(all.peer[peer].to, made.lines.data() + gpu * MANY_LINES);
                assert_ptr_equal(all.peer[peer].from, made.lines.data() + (16 + gpu) * MANY_LINES);
                assert_ptr_equal(all.peer[peer].target,
                                 made.memory.data() + (sums ? 1 : 1 + gpu) * MANY_BYTES);
            }
        }
}

/* One thing that is not as in an exchange, wherever it is. */
static void what_differs_at_one_of_many_is_no_exchange(void **) {
    for (bool sums : {false, true})
        for (size_t i = 0; i < make_many(5, sums).operands.size(); i++) {
            many made = make_many(5, sums);
            made.operands[i].bytes = MANY_BYTES - 16;
            assert_false(is_exchange(&made.program));
            made = make_many(5, sums);
            made.operands[i].spot.lines = !made.operands[i].spot.lines;
            assert_false(is_exchange(&made.program));
            made = make_many(5, sums);
            made.operands[i].spot.copy_stride_bytes += 65536;
            assert_false(is_exchange(&made.program) && made.operands[i].spot.lines);
        }
    many made = make_many(4, true);
    made.ops[0].count--; /* one GPU is not sent to */
    assert_false(is_exchange(&made.program));
    made = make_many(4, true);
    made.operands.back() = many_data(made, 5); /* two vectors of this GPU's */
    assert_false(is_exchange(&made.program));
    made = make_many(4, false);
    made.operands.back() = many_data(made, 1); /* two results in one place */
    assert_false(is_exchange(&made.program));
    made = make_many(4, false);
    made.operands.back() = many_data(made, 0); /* what has been sent is replaced */
    assert_true(is_exchange(&made.program));
    made.operands.back().spot.at = made.memory.data() + 16;
    assert_false(is_exchange(&made.program));
}

int main() {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_exchange_is_told_by_what_its_ops_do),
        cmocka_unit_test(a_sum_whose_vectors_are_copied_too_is_no_exchange),
        cmocka_unit_test(a_result_of_an_exchange_does_not_lie_across_a_vector),
        cmocka_unit_test(an_exchange_sends_nothing_that_it_writes_before),
        cmocka_unit_test(an_exchange_of_three_to_eight_gpus_keeps_the_order_of_its_sum),
        cmocka_unit_test(what_differs_at_one_of_many_is_no_exchange),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

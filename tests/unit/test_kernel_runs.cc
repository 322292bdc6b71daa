/* Whole runs of kernels (kernel_run.cuh), on GPUs whose threads are coroutines: programs with flags and with
 * lines on two to nine GPUs, with several blocks and slices, run after run; and what is left when a GPU gives
 * up waiting. The results are compared with sums of the inputs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

extern "C" {
#include <cmocka.h>
}

#include "gpu_threads.h"
#include "sample.h"

#include "portolan/kernel.h"

/* A run needs not all of it. */
#pragma GCC diagnostic ignored "-Wunused-function"
#include "kernels/kernel_exchange.cuh"
#include "kernels/kernel_translate.cuh"

/* --- programs ------------------------------------------------------------------------------------------- */

struct plus_unsigned {
    uint32_t operator()(uint32_t one, uint32_t other) const { return one + other; }
};
/* Shows the order. */
struct minus_unsigned {
    uint32_t operator()(uint32_t one, uint32_t other) const { return one - other; }
};
template <> minus_unsigned operation<minus_unsigned>(op_choice) { return {}; }
template <> plus_unsigned operation<plus_unsigned>(op_choice) { return {}; }

enum flag_t { READY, DONE, FLAGS };

/* What becomes of the inputs. */
enum result_t { SUM, DIFFERENCE, SHARE_OF_DIFFERENCE, COPIES, SWAPPED };

/* One GPU's memory and program. */
struct member {
    std::vector<uint32_t> in, out;
    std::vector<uint32_t> gathered; /* two copies, or lines */
    std::vector<uint64_t> flags;    /* by kind, sender and part */
    std::vector<pto_kernel_op_t> ops;
    std::vector<pto_operand_t> operands;
    std::vector<operand> more;
    device_program all;
    any_exchange exchange; /* where the program is one */
    bool exchanges, is_sum;
    bool in_place; /* the result replaces the input */
    result_t result;
    std::vector<block_state> states;
    common_state common;
    uint64_t ended[2];
    parts_tables tables[4]; /* of its blocks, in shared memory */
    std::vector<line_operand> line_operands[4];
    uint64_t run;
    int wrong; /* runs with a wrong result */
};

struct job {
    unsigned members, blocks, slices;
    size_t count; /* elements of a vector */
    bool lines;
    bool in_place; /* of the last member; all whose programs can */
    uint64_t runs;
    uint32_t patience_ms;
    std::vector<bool> absent;
    std::vector<member> of;
};

static pto_operand_t whole(void *at, size_t bytes, int64_t copy_stride_bytes = 0, bool lines = false) {
    return {{at, copy_stride_bytes, lines}, static_cast<int64_t>(bytes), pto_rows_of(static_cast<int64_t>(bytes))};
}

static void add_op(member &own, pto_kernel_kind_t kind, const std::vector<pto_operand_t> &operands,
                   int copies = 0) {
    if (operands.empty())
        return;
    own.ops.push_back(
        {kind, static_cast<int>(own.operands.size()), static_cast<int>(operands.size()), copies});
    own.operands.insert(own.operands.end(), operands.begin(), operands.end());
}

static pto_operand_t flag_at(job &all, unsigned to, unsigned from, flag_t flag) {
    const unsigned parts = all.blocks * all.slices;
    return whole(&all.of[to].flags[(flag * all.members + from) * parts], 0);
}

/* Each tells all others, and waits until they have. */
static void add_flags(job &all, unsigned me, flag_t flag) {
    std::vector<pto_operand_t> to, from;
    for (unsigned peer = 0; peer < all.members; peer++)
        if (peer != me) {
            to.push_back(flag_at(all, peer, me, flag));
            from.push_back(flag_at(all, me, peer, flag));
        }
    add_op(all.of[me], PTO_KERNEL_SIGNAL, to);
    add_op(all.of[me], PTO_KERNEL_WAIT, from);
}

/* Each reads the others' inputs: gas_read. */
static void read_all(job &all, unsigned me) {
    const size_t bytes = all.count * sizeof(uint32_t);
    std::vector<pto_operand_t> sum = {whole(all.of[me].out.data(), bytes)};
    for (member &other : all.of)
        sum.push_back(whole(other.in.data(), bytes));
    add_flags(all, me, READY);
    add_op(all.of[me], PTO_KERNEL_REDUCE, sum);
    add_flags(all, me, DONE);
}

/* Each stores shares, reduces its own and stores the result to all: gas_split. */
static void split(job &all, unsigned me) {
    const size_t share = all.count / all.members, bytes = share * sizeof(uint32_t);
    member &own = all.of[me];
    std::vector<pto_operand_t> shares, sum = {whole(&own.out[me * share], bytes)};
    for (unsigned peer = 0; peer < all.members; peer++) {
        shares.push_back(whole(&own.in[peer * share], bytes));
        shares.push_back(whole(&all.of[peer].gathered[me * share], bytes));
        sum.push_back(whole(&own.gathered[peer * share], bytes));
    }
    for (unsigned peer = 0; peer < all.members; peer++)
        if (peer != me)
            sum.push_back(whole(&all.of[peer].out[me * share], bytes));
    add_op(own, PTO_KERNEL_MOVE, shares);
    add_flags(all, me, READY);
    add_op(own, PTO_KERNEL_REDUCE, sum, static_cast<int>(all.members) - 1);
    add_flags(all, me, DONE);
}

/* Each stores its vector to all, double-buffered or in lines: gas_allgather. */
static void gather(job &all, unsigned me) {
    const size_t bytes = all.count * sizeof(uint32_t), place = all.of[me].gathered.size() / 2 / all.members;
    const int64_t apart = static_cast<int64_t>(all.of[me].gathered.size() / 2 * sizeof(uint32_t));
    std::vector<pto_operand_t> stores = {whole(all.of[me].in.data(), bytes)};
    std::vector<pto_operand_t> sum = {whole(all.of[me].out.data(), bytes)};
    for (unsigned peer = 0; peer < all.members; peer++) {
        stores.push_back(whole(&all.of[peer].gathered[me * place], bytes, apart, all.lines));
        sum.push_back(whole(&all.of[me].gathered[peer * place], bytes, apart, all.lines));
    }
    add_op(all.of[me], PTO_KERNEL_SPREAD, stores);
    if (!all.lines)
        add_flags(all, me, READY);
    add_op(all.of[me], PTO_KERNEL_REDUCE, sum);
}

/* The same into a single buffer, once its owner is ready. */
static void gather_when_ready(job &all, unsigned me) {
    const size_t bytes = all.count * sizeof(uint32_t), place = all.of[me].gathered.size() / all.members;
    std::vector<pto_operand_t> stores = {whole(all.of[me].in.data(), bytes)};
    std::vector<pto_operand_t> sum = {whole(all.of[me].out.data(), bytes)};
    for (unsigned peer = 0; peer < all.members; peer++) {
        stores.push_back(whole(&all.of[peer].gathered[me * place], bytes));
        sum.push_back(whole(&all.of[me].gathered[peer * place], bytes));
    }
    add_flags(all, me, READY);
    add_op(all.of[me], PTO_KERNEL_SPREAD, stores);
    add_flags(all, me, DONE);
    add_op(all.of[me], PTO_KERNEL_REDUCE, sum);
}

/* The lines of GPU `to` for what GPU `from` sends: all of a vector, or as many bytes. */
static pto_operand_t lines_at(job &all, unsigned to, unsigned from, size_t bytes) {
    std::vector<uint32_t> &gathered = all.of[to].gathered;
    const int64_t apart = static_cast<int64_t>(gathered.size() / 2 * sizeof(uint32_t));
    return whole(&gathered[from * (gathered.size() / 2 / all.members)], bytes, apart, true);
}

/* Others first, in the order in which programs store to them. */
static unsigned peer_of(const job &all, unsigned me, unsigned i) { return (me + 1 + i) % all.members; }

/* Each stores its vector to all others and subtracts all others' from the first one's. */
static void subtract(job &all, unsigned me) {
    member &own = all.of[me];
    own.result = DIFFERENCE;
    const size_t bytes = all.count * sizeof(uint32_t);
    const pto_operand_t in = whole(own.in.data(), bytes);
    std::vector<pto_operand_t> stores = {in};
    std::vector<pto_operand_t> sum = {whole(own.in_place ? own.in.data() : own.out.data(), bytes)};
    for (unsigned i = 0; i + 1 < all.members; i++)
        stores.push_back(lines_at(all, peer_of(all, me, i), me, bytes));
    for (unsigned from = 0; from < all.members; from++)
        sum.push_back(from == me ? in : lines_at(all, me, from, bytes));
    add_op(own, PTO_KERNEL_SPREAD, stores);
    add_op(own, PTO_KERNEL_REDUCE, sum);
}

/* The same of a share each; the others are stored to the other GPUs. */
static void subtract_shares(job &all, unsigned me) {
    member &own = all.of[me];
    own.result = SHARE_OF_DIFFERENCE;
    const size_t share = all.count / all.members, bytes = share * sizeof(uint32_t);
    std::vector<pto_operand_t> stores, sum = {whole(own.out.data(), bytes)};
    for (unsigned i = 0; i + 1 < all.members; i++) {
        stores.push_back(whole(&own.in[peer_of(all, me, i) * share], bytes));
        stores.push_back(lines_at(all, peer_of(all, me, i), me, bytes));
    }
    for (unsigned from = 0; from < all.members; from++)
        sum.push_back(from == me ? whole(&own.in[me * share], bytes) : lines_at(all, me, from, bytes));
    add_op(own, PTO_KERNEL_MOVE, stores);
    add_op(own, PTO_KERNEL_REDUCE, sum);
}

/* Each gets all vectors, in one op or in two. */
static void copy_all(job &all, unsigned me) {
    member &own = all.of[me];
    const size_t bytes = all.count * sizeof(uint32_t);
    own.result = COPIES;
    own.out.resize(all.members * all.count);
    const pto_operand_t in = whole(own.in.data(), bytes), kept = whole(&own.out[me * all.count], bytes);
    std::vector<pto_operand_t> spread = {in, kept}, moves = {in, kept}, takes;
    for (unsigned i = 0; i + 1 < all.members; i++) {
        const unsigned peer = peer_of(all, me, i);
        const pto_operand_t to = lines_at(all, peer, me, bytes), from = lines_at(all, me, peer, bytes);
        spread.push_back(to);
        moves.insert(moves.end(), {in, to});
        takes.insert(takes.end(), {from, whole(&own.out[peer * all.count], bytes)});
    }
    if (all.blocks % 2) {
        add_op(own, PTO_KERNEL_SPREAD, spread);
        add_op(own, PTO_KERNEL_MOVE, takes);
    } else {
        moves.insert(moves.end(), takes.begin(), takes.end());
        add_op(own, PTO_KERNEL_MOVE, moves);
    }
}

/* Each replaces the others' shares of its vector by what they send. */
static void swap_shares(job &all, unsigned me) {
    member &own = all.of[me];
    own.result = SWAPPED;
    own.in_place = true;
    const size_t share = all.count / all.members, bytes = share * sizeof(uint32_t);
    std::vector<pto_operand_t> stores, takes;
    for (unsigned i = 0; i + 1 < all.members; i++) {
        const unsigned peer = peer_of(all, me, i);
        const pto_operand_t block = whole(&own.in[peer * share], bytes);
        stores.insert(stores.end(), {block, lines_at(all, peer, me, bytes)});
        takes.insert(takes.end(), {lines_at(all, me, peer, bytes), block});
    }
    add_op(own, PTO_KERNEL_MOVE, stores);
    add_op(own, PTO_KERNEL_MOVE, takes);
}

/* As kernel_cuda.cu does it. */
static void translate_all(const job &all, member &own) {
    pto_kernel_program_t from = {};
    from.ops = own.ops.data(), from.op_count = static_cast<int>(own.ops.size());
    from.operands = own.operands.data(), from.operand_count = static_cast<int>(own.operands.size());
    own.all = {};
    for (int i = 0; i < from.op_count; i++)
        own.all.ops[i] = {static_cast<uint8_t>(from.ops[i].kind & 7),
                          static_cast<uint8_t>(width_of(&from, &from.ops[i]) & 31),
                          static_cast<uint8_t>(from.ops[i].copies), static_cast<uint16_t>(from.ops[i].count),
                          static_cast<uint16_t>(from.ops[i].first)};
    find_phases(&from, &own.all);
    for (int i = 0; i < from.operand_count; i++) {
        const operand one = translate(&own.operands[static_cast<size_t>(i)], all.blocks * all.slices);
        if (i < OPERANDS_NEAR)
            own.all.operands[i] = one;
        else
            own.more.push_back(one);
    }
    const exchange_kind kind = all.lines ? find_exchange(&from, own.exchange) : NO_EXCHANGE;
    own.exchanges = kind != NO_EXCHANGE;
    own.is_sum = kind == EXCHANGE_OF_SUMS;
    own.all.more = own.more.data();
    own.all.op_count = static_cast<uint16_t>(from.op_count);
    own.all.operand_count = static_cast<uint16_t>(from.operand_count);
    own.all.slices = static_cast<uint16_t>(all.slices);
    own.all.flag_pitch_bytes = sizeof(uint64_t);
    own.all.patience_ms = all.patience_ms;
    own.all.states = own.states.data();
    own.common = {0, own.states.data(), nullptr};
    own.all.common = &own.common;
    own.all.ended = own.ended;
}

/* --- runs ----------------------------------------------------------------------------------------------- */

static uint32_t value(uint64_t run, unsigned owner, size_t i) {
    return static_cast<uint32_t>(run * 1000003 + owner * 77777 + i * 13);
}

/* Element i of GPU `me`'s result. */
static uint32_t wanted(const job &all, unsigned me, result_t result, uint64_t run, size_t i) {
    if (result == COPIES)
        return value(run, static_cast<unsigned>(i / all.count), i % all.count);
    const size_t share = all.count / all.members;
    if (result == SWAPPED) /* block j of GPU me is block me of GPU j */
        return value(run, static_cast<unsigned>(i / share), me * share + i % share);
    if (result == SHARE_OF_DIFFERENCE)
        i += me * share;
    if (result != SUM) {
        uint32_t difference = value(run, 0, i);
        for (unsigned owner = 1; owner < all.members; owner++)
            difference -= value(run, owner, i);
        return difference;
    }
    uint32_t sum = 0;
    for (unsigned owner = 0; owner < all.members; owner++)
        sum += value(run, owner, i);
    return sum;
}

static bool is_right(const job &all, unsigned me, uint64_t run) {
    const member &own = all.of[me];
    const size_t count = own.result == COPIES                ? all.members * all.count
                         : own.result == SHARE_OF_DIFFERENCE ? all.count / all.members
                                                             : all.count;
    for (size_t i = 0; i < count; i++)
        if ((own.in_place ? own.in : own.out)[i] != wanted(all, me, own.result, run, i))
            return false;
    return true;
}

/* Between two runs of a GPU: check the last one unless it gave up, and write the next input. Every other
 * launch has a number, unless runs are enqueued, which may give up. */
static bool next_run(job &all, unsigned me) {
    member &own = all.of[me];
    if (own.run > 0 && own.ended[1] == 0)
        own.wrong += !is_right(all, me, own.run);
    if (own.run > 0 && own.all.reports_end)
        assert_int_equal(own.ended[0], own.run);
    if (own.run == all.runs || all.absent[me])
        return false;
    own.run++;
    own.all.run = all.patience_ms == 0 && own.run % 2 ? own.run : 0;
    own.all.reports_end = all.patience_ms == 0;
    std::fill(own.out.begin(), own.out.end(), 0);
    for (size_t i = 0; i < all.count; i++)
        own.in[i] = value(own.run, me, i);
    return true;
}

typedef void (*build_t)(job &all, unsigned me);

static void prepare(job &all, build_t build) {
    all.absent.resize(all.members);
    all.of = std::vector<member>(all.members);
    const size_t place = 2 * all.count + 64; /* with the tags of lines */
    for (member &own : all.of) {
        own.in.resize(all.count + 4), own.out.resize(all.count + 4);
        own.gathered.resize((place + 3) / 4 * 4 * all.members * 2);
        own.flags.resize(FLAGS * all.members * all.blocks * all.slices);
        own.states.resize(all.blocks);
    }
    all.of[all.members - 1].in_place = all.in_place;
    for (unsigned me = 0; me < all.members; me++)
        build(all, me), translate_all(all, all.of[me]);
}

template <int PEERS> static void run_exchange_of(const member &own) {
    exchange<PEERS> all = {};
    static_cast<exchange_head &>(all) = own.exchange;
    std::copy_n(own.exchange.peer, PEERS, all.peer);
    if (own.is_sum)
        run_exchange<sum_of_all<uint32_t, minus_unsigned>>(all);
    else
        run_exchange<copies_of_all>(all);
}

/* By the kernels that kernel_cuda.cu has. */
static void run_some_exchange(const member &own) {
    if (own.exchange.peers == 1)
        run_exchange_of<1>(own);
    else if (own.exchange.peers <= 3)
        run_exchange_of<3>(own);
    else
        run_exchange_of<EXCHANGE_PEERS_MAX>(own);
}

/* Run what is prepared; once more, if runs are added. */
static void run(job &all) {
    gpus.clear();
    for (unsigned me = 0; me < all.members; me++) {
        member &own = all.of[me];
        emulated_gpu gpu = {};
        gpu.blocks = all.blocks;
        gpu.threads = all.lines ? 64 : unsigned(THREADS);
        gpu.next = [&all, me] { return next_run(all, me); };
        gpu.kernel = [&all, &own](unsigned block) {
            own.line_operands[block].resize(OPERANDS_MAX);
            static_cast<run_state &>(own.exchange) = own.all;
            if (own.exchanges)
                run_some_exchange(own);
            else if (own.result == DIFFERENCE)
                run_with_lines<uint32_t, minus_unsigned>(own.all, own.line_operands[block].data());
            else if (all.lines)
                run_with_lines<uint32_t, plus_unsigned>(own.all, own.line_operands[block].data());
            else
                run_with_flags<uint32_t, plus_unsigned>(own.all, own.tables[block]);
        };
        gpus.push_back(gpu);
    }
    run_all();
}

static job made(unsigned members, unsigned blocks, unsigned slices, bool lines, uint64_t runs) {
    job all = {};
    all.members = members, all.blocks = blocks, all.slices = slices, all.lines = lines, all.runs = runs;
    all.count = members * (1 + random_below(random_below(2) ? 600 : 2000));
    return all;
}

static void check_job(build_t build, unsigned members, unsigned blocks, unsigned slices, bool lines) {
    job all = made(members, blocks, slices, lines, 4);
    prepare(all, build);
    run(all);
    for (const member &own : all.of) {
        assert_int_equal(own.run, all.runs);
        assert_int_equal(own.wrong, 0);
        for (const block_state &state : own.states)
            assert_true(state.last_run == all.runs && state.gave_up_in == 0);
    }
}

static void runs_with_flags_are_right_with_any_blocks_and_slices(void **) {
    for (build_t build : {read_all, split, gather, gather_when_ready})
        for (unsigned blocks : {1u, 2u})
            for (unsigned slices : {1u, 3u})
                check_job(build, 2 + random_below(2), blocks, slices, false);
}

static void runs_with_lines_are_right_with_any_blocks_and_slices(void **) {
    for (unsigned blocks : {1u, 3u})
        for (unsigned slices : {1u, 2u})
            for (unsigned members = 2; members < 6; members++)
                check_job(gather, members, blocks, slices, true);
}

/* Of whole units in each GPU's share, and of two to eight GPUs. */
static job some_exchange(unsigned members, unsigned blocks, unsigned slices, uint64_t runs,
                         unsigned units_max) {
    job all = made(members, blocks, slices, true, runs);
    all.count = members * 4 * (1 + random_below(units_max));
    return all;
}

/* A sample; also fewer units than there are threads. */
static void exchanges_are_right_with_any_blocks_and_gpus(void **) {
    int seen = 0;
    for (build_t build : {subtract, subtract_shares, copy_all, swap_shares})
        for (unsigned members : {2u, 3u, 4u, 5u, 8u})
            for (unsigned blocks = 1; blocks <= (members > 4 ? 2u : 3u); blocks++)
                for (int i = 0; i < (members > 2 ? 2 : 4); i++) {
                    if (seen++ % test_sample() != 0)
                        continue;
                    job all = some_exchange(members, blocks, 1, 5, i % 2 ? 10 : 400 / members);
                    all.in_place = build == subtract && i % 2 != 0;
                    prepare(all, build);
                    for (const member &own : all.of)
                        assert_true(own.exchanges &&
                                    own.is_sum == (build == subtract || build == subtract_shares));
                    run(all);
                    for (const member &own : all.of)
                        assert_true(own.run == all.runs && own.wrong == 0);
                }
}

/* One GPU whose addresses don't allow wide accesses runs another kernel. */
static void an_exchange_understands_the_other_kernel(void **) {
    for (build_t build : {subtract, copy_all})
        for (unsigned members : {2u, 3u, 4u, 8u}) {
            job all = some_exchange(members, 1 + random_below(2), 1 + random_below(2), 4, 600 / members);
            prepare(all, build);
            all.of[members / 2].exchanges = false;
            run(all);
            for (const member &own : all.of)
                assert_true(own.run == all.runs && own.wrong == 0);
            assert_true(all.of[0].exchanges);
        }
}

/* Enough GPUs for what the kernel has no room for. */
static void nine_gpus_run_the_program(void **) {
    job all = some_exchange(9, 1, 1, 3, 20);
    prepare(all, subtract);
    run(all);
    for (const member &own : all.of)
        assert_true(!own.exchanges && own.run == all.runs && own.wrong == 0);
}

/* More than a launch has room for. */
static void operands_in_a_table_are_found(void **) { check_job(split, 6, 1, 2, false); }

/* --- giving up ------------------------------------------------------------------------------------------ */

static size_t raised(const member &own) {
    return static_cast<size_t>(
        std::count_if(own.flags.begin(), own.flags.end(), [](uint64_t flag) { return flag != 0; }));
}

/* GPU 0 runs alone; what it has told the others by then is from before it waited. */
static void a_gpu_that_gives_up_does_nothing_more(void **) {
    for (build_t build : {read_all, split, gather, gather_when_ready}) {
        job all = made(2, 2, 2, false, 3);
        all.patience_ms = 1;
        prepare(all, build);
        all.absent[1] = true;
        run(all);
        assert_true(all.of[0].ended[1] == 1);
        for (const block_state &state : all.of[0].states)
            assert_true(state.gave_up_in == 1 && state.last_run == 3);
        assert_int_equal(raised(all.of[1]), all.blocks * all.slices); /* one flag, of run 1 */
        assert_int_equal(*std::max_element(all.of[1].flags.begin(), all.of[1].flags.end()), 1);
        const std::vector<uint32_t> &other =
            all.of[1].gathered; /* what GPU 0 may not write before it waits */
        if (build == gather_when_ready)
            assert_true(std::all_of(other.begin(), other.end(), [](uint32_t i) { return i == 0; }));
        all.absent[0] = true;
        all.absent[1] = false;
        run(all);
        assert_true(all.of[1].wrong == 0 && all.of[1].ended[1] == 1);
        if (build != gather) /* else GPU 1 has all it needs for run 1 */
            assert_int_equal(all.of[1].states[0].gave_up_in, 1);
        assert_true(all.of[1].states[0].gave_up_in > 0);
    }
}

static bool are_all_stopped(const std::vector<block_state> &states) {
    return std::all_of(states.begin(), states.end(),
                       [](const block_state &state) { return state.gave_up_in == STOPPED; });
}

/* The others would take its signals for results. */
static void all_kernels_after_one_that_gave_up_do_nothing(void **) {
    for (bool late : {false, true})
        for (build_t build : {read_all, split, gather}) {
            job first = made(2, 2, 2, false, 1), next[2] = {first, first};
            for (job *one : {&first, &next[0], &next[1]}) {
                one->patience_ms = 1;
                prepare(*one, build);
            }
            first.of[0].common.after = &next[0].of[0].common;
            next[0].of[0].common.after = &next[1].of[0].common;
            first.absent[1] = late;
            run(first);
            assert_int_equal(first.of[0].ended[1], late);
            for (job &one : next) {
                assert_int_equal(are_all_stopped(one.of[0].states), late);
                one.absent[1] = late;
                run(one);
                assert_int_equal(one.of[0].states[0].last_run, 1);
                assert_int_equal(raised(one.of[1]) == 0, late);
                assert_int_equal(one.of[0].ended[1], 0);
                assert_int_equal(one.of[1].wrong, 0);
            }
        }
}

/* It stores no lines in the runs after that. */
static void an_exchange_that_gives_up_stores_nothing_more(void **) {
    for (build_t build : {subtract, copy_all})
        for (unsigned members : {2u, 3u, 4u, 8u}) {
            job all = some_exchange(members, 2, 1, 3, 600 / members);
            all.patience_ms = 1;
            prepare(all, build);
            all.absent[members - 1] = true;
            run(all);
            for (const block_state &state : all.of[0].states)
                assert_true(state.last_run == 3 && state.gave_up_in <= 1);
            assert_true(all.of[0].states[0].gave_up_in == 1 && all.of[0].ended[1] == 1);
            const std::vector<uint32_t> &lines =
                all.of[members - 1].gathered; /* run 2's, then runs 1 and 3's */
            const auto odd = lines.begin() + static_cast<ptrdiff_t>(lines.size() / 2);
            assert_true(std::all_of(lines.begin(), odd, [](uint32_t word) { return word == 0; }));
            const uint8_t tag = static_cast<uint8_t>(*(odd + static_cast<ptrdiff_t>(all.count)));
            assert_int_equal(tag >> PTO_TAG_SHIFT, 1);
        }
}

/* However late GPUs are: a run that ends without giving up has the right result. */
static void no_run_that_does_not_give_up_is_wrong(void **) {
    unsigned gave_up = 0, late = 0, runs = 0;
    static const build_t builds[] = {read_all, split, gather_when_ready, gather, gather, subtract, copy_all};
    for (int i = 0; i < 28; i++) {
        const bool exchanges = i % 7 >= 5;
        job all = made(2 + random_below(exchanges ? 4 : 2), 1, 1 + random_below(2), i % 7 >= 4, 3);
        all.count =
            (exchanges ? 4 : 1) * all.members * (1 + random_below(100) / (exchanges ? all.members : 1));
        all.patience_ms = 1u << (4 + random_below(8));
        prepare(all, builds[i % 7]);
        assert_true(all.of[0].exchanges == exchanges);
        slow_gpu = random_below(all.members);
        slow_draws = 2 + static_cast<int>(random_below(5));
        run(all);
        for (const member &own : all.of) {
            assert_int_equal(own.wrong, 0);
            gave_up += own.ended[1] != 0;
            late += own.states[0].gave_up_in > 1;
            runs++;
        }
    }
    slow_gpu = UINT32_MAX;
    assert_true(late > 0 && gave_up > 0 && gave_up < runs);
}

int main() {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_with_flags_are_right_with_any_blocks_and_slices),
        cmocka_unit_test(runs_with_lines_are_right_with_any_blocks_and_slices),
        cmocka_unit_test(exchanges_are_right_with_any_blocks_and_gpus),
        cmocka_unit_test(an_exchange_understands_the_other_kernel),
        cmocka_unit_test(nine_gpus_run_the_program),
        cmocka_unit_test(operands_in_a_table_are_found),
        cmocka_unit_test(a_gpu_that_gives_up_does_nothing_more),
        cmocka_unit_test(all_kernels_after_one_that_gave_up_do_nothing),
        cmocka_unit_test(an_exchange_that_gives_up_stores_nothing_more),
        cmocka_unit_test(no_run_that_does_not_give_up_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

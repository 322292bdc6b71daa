/* The code that a kernel's threads run, compiled for the host: copies and reductions for more GPUs, pieces,
 * widths and sizes than a machine with two GPUs can reach. Threads are independent between barriers, so they
 * run one after another. The operations that synchronise GPUs (kernel_memory.cuh) are replaced: nothing here
 * runs concurrently. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <algorithm>
#include <cmath>
#include <vector>

extern "C" {
#include <cmocka.h>
}

#define __device__
#define __noinline__
struct uint4 {
    uint32_t x, y, z, w;
};
struct place_t {
    unsigned x;
};
static place_t threadIdx, blockIdx, blockDim, gridDim;
static void __syncthreads() {}
using std::max;
using std::min;

#define PTO_KERNEL_MEMORY_CUH
#include "portolan/kernel.h"
struct line {
    uint64_t half[2];
};
/* What never comes must not be waited for for ever. */
enum { LOADS_MAX = 10000000 };
static int loads;
static line load_line(const char *at) {
    line read;
    if (++loads > LOADS_MAX)
        fail_msg("a line is waited for that is never stored");
    memcpy(&read, at, sizeof read);
    return read;
}
struct alignas(16) block_state {
    uint64_t last_run, gave_up_in;
};
static volatile unsigned gave_up;
static volatile unsigned *gave_up_here() { return &gave_up; }
/* Every look at the clock is a millisecond later. */
static uint64_t clock_ns;
static uint64_t now_ns() { return clock_ns += 1000000; }
static uint64_t load_host(const uint64_t *at) { return *at; }
static void store_release(uint64_t *at, uint64_t value) { *at = value; }
static void store_line(char *at, const line &value) { memcpy(at, &value, sizeof value); }
static uint8_t load_tag(const char *at) { return static_cast<uint8_t>(*at); }
static void store_tag(char *at, uint8_t tag) { *at = static_cast<char>(tag); }

/* Exchanges are in test_kernel_exchange.cc. */
#pragma GCC diagnostic ignored "-Wunused-function"
#include "kernels/kernel_lines.cuh"
#include "kernels/kernel_translate.cuh"
#include "device/operations.cuh"
extern "C" {
#include "device/reduce.h"
}

/* --- memory --------------------------------------------------------------------------------------------- */

enum { PIECES_MAX = 18, ROOM = 1 << 17, GUARD = 64, RUN = 7 };

/* Pieces of one size, or less, each in memory of its own between bytes that must stay as they are. */
struct pieces_t {
    std::vector<std::vector<char>> memory;
    size_t bytes;
    size_t less_bytes[PIECES_MAX];
    unsigned shift; /* from an address that is a multiple of 16 */
    bool lines[PIECES_MAX];
};

static uint64_t random_state = 1;
static unsigned random_below(unsigned bound) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<unsigned>((random_state >> 33) % bound);
}

static size_t piece_bytes(const pieces_t &pieces, unsigned index) {
    return pieces.bytes - pieces.less_bytes[index];
}

static char *piece(pieces_t &pieces, unsigned index) {
    char *begin = pieces.memory[index].data();
    begin += (16 - reinterpret_cast<uintptr_t>(begin) % 16) % 16;
    return begin + GUARD + (pieces.lines[index] ? 0 : pieces.shift);
}

static pieces_t make_pieces(unsigned count, size_t bytes, unsigned shift) {
    pieces_t pieces = {{}, bytes, {}, shift, {}};
    for (unsigned i = 0; i < count; i++) {
        pieces.memory.emplace_back(2 * bytes + 4 * GUARD);
        for (char &byte : pieces.memory.back())
            byte = static_cast<char>(random_below(256));
    }
    return pieces;
}

/* Of pairs of a source and a target; some keep their size. */
static void shorten_pairs(pieces_t &pieces, unsigned pairs) {
    for (unsigned pair = 0; pair < pairs; pair++)
        if (random_below(3) > 0)
            pieces.less_bytes[2 * pair] = pieces.less_bytes[2 * pair + 1] =
                random_below(static_cast<unsigned>(pieces.bytes) + 1);
}

static device_program program_of(pieces_t &pieces, unsigned count, unsigned blocks, unsigned slices) {
    device_program all = {};
    unsigned parts = blocks * slices;
    assert_true(count <= OPERANDS_NEAR);
    all.operand_count = static_cast<uint16_t>(count);
    all.slices = static_cast<uint16_t>(slices);
    for (unsigned i = 0; i < count; i++) {
        const int64_t bytes = static_cast<int64_t>(piece_bytes(pieces, i));
        const pto_operand_t whole = {{piece(pieces, i), 0, pieces.lines[i]}, bytes, pto_rows_of(bytes)};
        all.operands[i] = translate(&whole, parts);
    }
    gridDim.x = blocks;
    return all;
}

/* `run` by every thread of every block for each of its parts. */
template <typename F> static void each_thread(const device_program &all, const F &run) {
    part own[OPERANDS_MAX];
    loads = 0;
    for (unsigned number = 0; number < gridDim.x * all.slices; number++) {
        for (threadIdx.x = 0; threadIdx.x < THREADS; threadIdx.x++)
            find_parts(all, number, RUN, own);
        for (threadIdx.x = 0; threadIdx.x < THREADS; threadIdx.x++)
            run(own);
    }
}

static lines_run lines_run_of(const device_program &all) {
    static line_operand operands[OPERANDS_NEAR];
    for (unsigned i = 0; i < all.operand_count; i++)
        operands[i] = line_operand_of(all.operands[i], gridDim.x * all.slices);
    return {operands, RUN, gridDim.x * all.slices, all};
}

/* `run` by every thread of every block for each of its parts, of a program with lines. */
template <typename F> static void each_line_thread(const device_program &all, const F &run) {
    const lines_run now = lines_run_of(all);
    loads = 0;
    blockDim.x = 32 * (1 + random_below(THREADS / 32));
    for (unsigned number = 0; number < now.parts; number++)
        for (threadIdx.x = 0; threadIdx.x < blockDim.x; threadIdx.x++)
            run(number, now);
}

/* The halves and the tag of line i of a piece. */
struct at_line {
    char *halves, *tag;
};

static at_line line_in(pieces_t &pieces, unsigned index, size_t i) {
    const size_t lines = (piece_bytes(pieces, index) + PTO_LINE_BYTES - 1) / PTO_LINE_BYTES;
    return {piece(pieces, index) + i * PTO_LINE_BYTES, piece(pieces, index) + lines * PTO_LINE_BYTES + i};
}

/* The data of a piece, lines or not. */
static std::vector<char> data_in(pieces_t &pieces, unsigned index) {
    const char *at = piece(pieces, index);
    std::vector<char> data(at, at + piece_bytes(pieces, index));
    for (size_t i = 0; i * PTO_LINE_BYTES < piece_bytes(pieces, index) && pieces.lines[index]; i++) {
        const at_line here = line_in(pieces, index, i);
        const uint8_t tag = static_cast<uint8_t>(*here.tag);
        uint64_t half[2];
        memcpy(half, here.halves, sizeof half);
        assert_true(pto_line_of_run(half[0], half[1], tag, RUN));
        for (int j = 0; j < 2; j++)
            half[j] = pto_line_data(half[j], tag, j);
        memcpy(&data[i * PTO_LINE_BYTES], half,
               min(sizeof half, piece_bytes(pieces, index) - i * PTO_LINE_BYTES));
    }
    return data;
}

/* Put a piece's data into lines of a run. */
static void pack(pieces_t &pieces, unsigned index, const std::vector<char> &data, uint64_t run = RUN) {
    for (size_t i = 0; i * PTO_LINE_BYTES < piece_bytes(pieces, index); i++) {
        const at_line here = line_in(pieces, index, i);
        uint64_t half[2] = {};
        memcpy(half, &data[i * PTO_LINE_BYTES],
               min(sizeof half, piece_bytes(pieces, index) - i * PTO_LINE_BYTES));
        *here.tag = static_cast<char>(pto_line_tag(half[0], half[1], run));
        for (uint64_t &one : half)
            one = pto_line_half(one, run);
        memcpy(here.halves, half, sizeof half);
    }
}

static bool same_outside(pieces_t &pieces, unsigned index, const std::vector<char> &before) {
    const std::vector<char> &now = pieces.memory[index];
    size_t begin = static_cast<size_t>(piece(pieces, index) - now.data());
    size_t end = begin + static_cast<size_t>(pto_spot_bytes(
                             pieces.lines[index], static_cast<int64_t>(piece_bytes(pieces, index))));
    return std::equal(now.begin(), now.begin() + static_cast<ptrdiff_t>(begin), before.begin()) &&
           std::equal(now.begin() + static_cast<ptrdiff_t>(end), now.end(),
                      before.begin() + static_cast<ptrdiff_t>(end));
}

static const unsigned shifts[] = {0, 4, 1};

static unsigned width_at(unsigned shift, unsigned most) { return shift == 0 ? most : shift == 4 ? 4 : 1; }

static op make_op(int kind, unsigned width, unsigned count, unsigned copies = 0) {
    op made = {};
    made.kind = kind & 7;
    made.width = width & 31;
    made.count = static_cast<uint16_t>(count);
    made.copies = static_cast<uint8_t>(copies);
    return made;
}

/* Below a unit, below a turn of the threads, whole turns, some over. */
static size_t some_bytes() {
    static const size_t turn = size_t(THREADS) * UNIT_BYTES;
    const size_t bytes[] = {random_below(40), random_below(5000), turn * random_below(9),
                            turn + random_below(ROOM)};
    return bytes[random_below(4)];
}

static size_t some_words() { return some_bytes() / 16 * 4; }

/* Half of them whole units. */
static size_t some_line_bytes() {
    const size_t bytes = some_bytes() / 4;
    return random_below(2) ? bytes : bytes / UNIT_BYTES * UNIT_BYTES;
}

/* --- copies --------------------------------------------------------------------------------------------- */

static void check_copies(bool spreads, unsigned pairs, size_t bytes, unsigned shift) {
    const unsigned count = spreads ? pairs + 1 : 2 * pairs;
    pieces_t pieces = make_pieces(count, bytes, shift);
    if (!spreads && random_below(2))
        shorten_pairs(pieces, pairs);
    const std::vector<std::vector<char>> before = pieces.memory;
    const device_program all = program_of(pieces, count, 1 + random_below(4), 1 + random_below(3));
    const op now = make_op(spreads ? PTO_KERNEL_SPREAD : PTO_KERNEL_MOVE, width_at(shift, UNIT_BYTES), count);
    each_thread(all, [&](const part *own) { spreads ? spread(own, now) : move(own, now); });
    for (unsigned pair = 0; pair < pairs; pair++) {
        const unsigned source = spreads ? 0 : 2 * pair, target = spreads ? pair + 1 : 2 * pair + 1;
        assert_true(pieces.memory[source] == before[source]);
        assert_true(data_in(pieces, target) == data_in(pieces, source));
        assert_true(same_outside(pieces, target, before[target]));
    }
}

static void copies_of_any_number_size_and_place_are_right(void **) {
    for (unsigned pairs = 1; pairs <= 9; pairs++)
        for (unsigned shift : shifts)
            for (int i = 0; i < 4; i++) {
                check_copies(false, pairs, some_bytes(), shift);
                check_copies(true, pairs, some_bytes(), shift);
            }
}

/* --- rows ----------------------------------------------------------------------------------------------- */

/* Pairs of rows, and the memory that they must leave: the arrays of each side, of some alignment. */
struct rows_t {
    std::vector<pto_operand_t> operands;
    std::vector<std::vector<char>> memory, wanted;
};

/* Rows of `bytes` in memory of their own, with gaps or without. */
static pto_operand_t make_rows(std::vector<char> &memory, int64_t bytes, int64_t rows, int64_t align) {
    const int64_t pitch = bytes + align * random_below(4);
    memory.resize(static_cast<size_t>(rows * pitch + 2 * GUARD));
    for (char &byte : memory)
        byte = static_cast<char>(random_below(256));
    char *begin = memory.data() + GUARD;
    begin += (16 - reinterpret_cast<uintptr_t>(begin) % 16) % 16 + static_cast<uintptr_t>(align % 16);
    pto_rows_t shape = {bytes, rows, pitch};
    return {{begin, 0, false}, bytes * rows, pto_rows_joined(shape)};
}

static char *in_operand(const pto_operand_t &operand, int64_t offset) {
    return static_cast<char *>(operand.spot.at) + offset / operand.rows.bytes * operand.rows.pitch_bytes +
           offset % operand.rows.bytes;
}

static void add_pair(rows_t &all, int64_t align) {
    const int64_t bytes = align * (1 + random_below(20)), rows = 1 + random_below(random_below(2) ? 5 : 600);
    for (int side = 0; side < 2; side++) {
        all.memory.emplace_back();
        all.operands.push_back(make_rows(all.memory.back(), bytes, rows, align));
    }
}

/* By the definition: byte by byte. */
static void fill_wanted(rows_t &all) {
    all.wanted = all.memory;
    for (size_t pair = 0; pair < all.operands.size(); pair += 2)
        for (int64_t i = 0; i < all.operands[pair].bytes; i++) {
            const pto_operand_t &target = all.operands[pair + 1];
            const ptrdiff_t at = in_operand(target, i) - all.memory[pair + 1].data();
            all.wanted[pair + 1][static_cast<size_t>(at)] = *in_operand(all.operands[pair], i);
        }
}

static void check_rows(unsigned pairs, int64_t align) {
    rows_t rows;
    for (unsigned pair = 0; pair < pairs; pair++)
        add_pair(rows, align);
    fill_wanted(rows);
    const pto_kernel_op_t whole = {PTO_KERNEL_MOVE, 0, static_cast<int>(2 * pairs), 0};
    pto_kernel_program_t from = {};
    from.ops = &whole;
    from.op_count = 1;
    from.operands = rows.operands.data();
    from.operand_count = whole.count;
    device_program all = {};
    gridDim.x = 1 + random_below(4);
    all.slices = static_cast<uint16_t>(1 + random_below(3));
    all.operand_count = static_cast<uint16_t>(whole.count);
    for (int i = 0; i < whole.count; i++)
        all.operands[i] = translate(&from.operands[i], gridDim.x * all.slices);
    assert_true(can_run_rows(&from, &whole));
    const bool strided = has_rows(&from, &whole);
    const op now = make_op(strided ? int(MOVE_ROWS) : int(PTO_KERNEL_MOVE), width_of(&from, &whole),
                           static_cast<unsigned>(whole.count));
    each_thread(all, [&](const part *own) { strided ? move_rows(own, now) : move(own, now); });
    assert_true(rows.memory == rows.wanted);
}

static void rows_of_any_number_size_and_gaps_are_copied(void **) {
    static const int64_t aligns[] = {1, 4, 8, 12, 16};
    for (unsigned pairs = 1; pairs <= 9; pairs++)
        for (int64_t align : aligns)
            for (int i = 0; i < 4; i++)
                check_rows(pairs, align);
}

/* --- reductions ----------------------------------------------------------------------------------------- */

static std::vector<char> sums_of(const std::vector<std::vector<char>> &inputs) {
    std::vector<char> sums = inputs[0];
    for (size_t k = 1; k < inputs.size(); k++)
        for (size_t i = 0; i + sizeof(uint32_t) <= sums.size(); i += sizeof(uint32_t)) {
            uint32_t one, other;
            memcpy(&one, &sums[i], sizeof one);
            memcpy(&other, &inputs[k][i], sizeof other);
            one += other;
            memcpy(&sums[i], &one, sizeof one);
        }
    return sums;
}

/* Wrapping sums in a type that wraps. */
struct plus_unsigned {
    uint32_t operator()(uint32_t one, uint32_t other) const { return one + other; }
};

static void check_reduction(unsigned inputs, unsigned copies, size_t bytes, unsigned shift, bool into_first) {
    const unsigned count = 1 + inputs + copies;
    pieces_t pieces = make_pieces(count, bytes, shift);
    std::vector<std::vector<char>> values;
    device_program all = program_of(pieces, count, 1 + random_below(4), 1 + random_below(3));
    if (into_first)
        all.operands[1] = all.operands[0];
    for (unsigned i = 1; i <= inputs; i++)
        values.push_back(data_in(pieces, into_first && i == 1 ? 0 : i));
    const std::vector<std::vector<char>> before = pieces.memory;
    const op now = make_op(PTO_KERNEL_REDUCE, width_at(shift, UNIT_BYTES), count, copies);
    each_thread(all, [&](const part *own) { reduce<uint32_t>(own, now, plus_unsigned()); });
    for (unsigned i = 0; i < count; i++)
        if (i == 0 || i > inputs) {
            assert_true(data_in(pieces, i) == sums_of(values));
            assert_true(same_outside(pieces, i, before[i]));
        } else {
            assert_true(pieces.memory[i] == before[i]);
        }
}

static void reductions_of_any_number_size_and_place_are_right(void **) {
    for (unsigned inputs = 1; inputs <= 9; inputs++)
        for (unsigned shift : {0u, 4u})
            for (unsigned copies = 0; copies < 4; copies++) {
                check_reduction(inputs, copies, some_bytes() / 4 * 4, shift, false);
                check_reduction(inputs, copies, some_bytes() / 4 * 4, shift, true);
            }
}

/* Bit by bit, but a sum's NaN is as good as any other. */
template <typename Real>
static bool equal_reals(const std::vector<char> &one, const std::vector<char> &other) {
    for (size_t i = 0; i < one.size(); i += sizeof(Real)) {
        Real a, b;
        memcpy(&a, &one[i], sizeof a);
        memcpy(&b, &other[i], sizeof b);
        if (memcmp(&a, &b, sizeof a) != 0 && !(std::isnan(a) && std::isnan(b)))
            return false;
    }
    return true;
}

static bool equal_values(pto_datatype_t datatype, const std::vector<char> &one,
                         const std::vector<char> &other) {
    if (datatype == PTO_DATATYPE_FLOAT || datatype == PTO_DATATYPE_FLOAT_COMPLEX)
        return equal_reals<float>(one, other);
    if (datatype == PTO_DATATYPE_DOUBLE || datatype == PTO_DATATYPE_DOUBLE_COMPLEX)
        return equal_reals<double>(one, other);
    return one == other;
}

/* A reduction by what kernels are compiled for: by units, by lines or by elements. */
struct in_kernel {
    const device_program &all;
    const op &now;
    bool lines;
    template <typename T, typename Op> void of() const {
        if (lines)
            each_line_thread(all, [&](unsigned number, const lines_run &run) {
                reduce_lines<T>(now, number, run, operation<Op>(all.choice));
            });
        else
            each_thread(all, [&](const part *own) { reduce<T>(own, now, operation<Op>(all.choice)); });
    }
};

static void check_type(pto_datatype_t datatype, pto_op_t by, unsigned inputs, unsigned shift, bool lines) {
    const size_t element = static_cast<size_t>(pto_datatype_bytes(datatype));
    const size_t bytes = some_bytes() / 16 / element * element;
    const unsigned copies = lines ? 0 : random_below(3), count = 1 + inputs + copies;
    pieces_t pieces = make_pieces(count, bytes, shift);
    std::vector<std::vector<char>> values;
    std::vector<const void *> sources;
    for (unsigned i = 1; i <= inputs; i++)
        values.push_back(data_in(pieces, i));
    for (unsigned i = 1; i <= inputs && lines; i++) {
        pieces.lines[i] = true;
        pack(pieces, i, values[i - 1]);
    }
    for (const std::vector<char> &value : values)
        sources.push_back(value.data());
    std::vector<char> wanted(bytes + 1);
    pto_reduce_many_host(wanted.data(), true, sources.data(), static_cast<int>(inputs), bytes / element,
                         datatype, by);
    wanted.resize(bytes);
    device_program all = program_of(pieces, count, 1 + random_below(4), 1 + random_below(3));
    all.choice = {static_cast<uint8_t>(datatype), static_cast<uint8_t>(by)};
    const std::vector<std::vector<char>> before = pieces.memory;
    const op now = make_op(PTO_KERNEL_REDUCE, width_at(shift, UNIT_BYTES), count, copies);
    with_operation(datatype, by, in_kernel{all, now, lines});
    for (unsigned i = 0; i < count; i = i == 0 ? 1 + inputs : i + 1) {
        if (!equal_values(datatype, data_in(pieces, i), wanted))
            fail_msg("%s of %u %s in %zu bytes, lines %d, shift %u, target %u of %u", pto_op_name(by), inputs,
                     pto_datatype_name(datatype), bytes, lines, shift, i, 1 + copies);
        assert_true(same_outside(pieces, i, before[i]));
    }
}

static void every_type_and_operation_gives_what_it_gives_on_the_cpu(void **) {
    for (int type = 0; type < PTO_DATATYPE_COUNT; type++)
        for (int by = 0; by < PTO_OP_COUNT; by++) {
            const pto_datatype_t datatype = static_cast<pto_datatype_t>(type);
            const pto_op_t op = static_cast<pto_op_t>(by);
            if (by == PTO_OP_AVG || pto_op_takes(op, datatype, nullptr) != PTO_OK)
                continue;
            const unsigned element = static_cast<unsigned>(pto_datatype_bytes(datatype));
            for (unsigned inputs : {1u, 2u, 5u}) {
                check_type(datatype, op, inputs, 0, false);
                check_type(datatype, op, inputs, element % UNIT_BYTES, false);
                check_type(datatype, op, inputs, 0, true);
                check_type(datatype, op, inputs, element % UNIT_BYTES, true);
            }
        }
}

/* Pairs of NaNs, infinities and zeros of both signs: what a kernel's threads and the host device make of them
 * has the same bits in either order, and is what IEEE 754-2019 says. */
template <typename Real, typename Bits>
static void check_extremes(pto_datatype_t datatype, const std::vector<Bits> &rising,
                           const std::vector<Bits> &nans) {
    std::vector<Bits> values = rising;
    values.insert(values.end(), nans.begin(), nans.end());
    for (size_t i = 0; i < values.size(); i++)
        for (size_t j = 0; j < values.size(); j++) {
            const bool is_nan = max(i, j) >= rising.size();
            const Bits wanted[] = {is_nan ? nans[0] : rising[min(i, j)],
                                   is_nan ? nans[0] : rising[max(i, j)]};
            Real one, other;
            memcpy(&one, &values[i], sizeof one);
            memcpy(&other, &values[j], sizeof other);
            const Real made[] = {minimum()(one, other), maximum()(one, other)};
            assert_memory_equal(made, wanted, sizeof wanted);
            Bits host[] = {values[i], values[i]};
            pto_reduce_host(&host[0], &values[j], 1, datatype, PTO_OP_MIN);
            pto_reduce_host(&host[1], &values[j], 1, datatype, PTO_OP_MAX);
            assert_memory_equal(host, wanted, sizeof wanted);
        }
}

static void least_and_greatest_depend_on_no_order(void **) {
    check_extremes<float, uint32_t>(
        PTO_DATATYPE_FLOAT, {0xff800000, 0xbf800000, 0x80000001, 0x80000000, 0, 1, 0x3f800000, 0x7f800000},
        {0x7fc00000, 0xffc00001, 0x7f800001, 0xff812345});
    check_extremes<double, uint64_t>(
        PTO_DATATYPE_DOUBLE,
        {0xfff0000000000000, 0xbff0000000000000, 0x8000000000000001, 0x8000000000000000, 0, 1,
         0x3ff0000000000000, 0x7ff0000000000000},
        {0x7ff8000000000000, 0xfff8000000000001, 0x7ff0000000000001, 0xfff0000012345678});
}

/* --- lines ---------------------------------------------------------------------------------------------- */

static void check_line_copies(unsigned pairs, size_t bytes, unsigned shift, bool out) {
    pieces_t pieces = make_pieces(2 * pairs, bytes, shift);
    std::vector<std::vector<char>> wanted;
    if (random_below(2))
        shorten_pairs(pieces, pairs);
    for (unsigned pair = 0; pair < pairs; pair++) { /* one's own block is no lines */
        wanted.push_back(data_in(pieces, 2 * pair));
        pieces.lines[2 * pair + !out] = pair > 0;
        if (pieces.lines[2 * pair])
            pack(pieces, 2 * pair, wanted[pair]);
        else
            wanted[pair] = data_in(pieces, 2 * pair);
    }
    const std::vector<std::vector<char>> before = pieces.memory;
    const device_program all = program_of(pieces, 2 * pairs, 1 + random_below(4), 1 + random_below(3));
    const op now = make_op(PTO_KERNEL_MOVE, width_at(shift, UNIT_BYTES), 2 * pairs);
    each_line_thread(all, [&](unsigned number, const lines_run &run) { copy_lines(now, number, run); });
    for (unsigned pair = 0; pair < pairs; pair++) {
        assert_true(data_in(pieces, 2 * pair + 1) == wanted[pair]);
        assert_true(same_outside(pieces, 2 * pair + 1, before[2 * pair + 1]));
    }
}

static void a_line_that_never_comes_ends_the_wait_of_a_run_with_a_limit(void **) {
    static char lines[17 * PTO_LINE_BYTES], data[16 * PTO_LINE_BYTES];
    const int64_t bytes = sizeof data;
    const pto_operand_t whole[] = {{{lines, 0, true}, bytes, pto_rows_of(bytes)},
                                   {{data, 0, false}, bytes, pto_rows_of(bytes)}};
    device_program all = {};
    all.operand_count = 2;
    all.slices = 1;
    gridDim.x = 1;
    for (unsigned i = 0; i < all.operand_count; i++)
        all.operands[i] = translate(&whole[i], 1);
    const op copies = make_op(PTO_KERNEL_MOVE, PTO_LINE_BYTES, 2);
    uint64_t told[2] = {};
    block_state state = {};
    common_state common = {};
    all.ended = told;
    all.states = &state;
    all.common = &common;
    all.patience_ms = 3;
    clock_ns = gave_up = 0;
    each_line_thread(all, [&](unsigned number, const lines_run &run) { copy_lines(copies, number, run); });
    assert_int_equal(clock_ns / 1000000, 4 + 15); /* the other lines' waits find out at their first look */
    assert_true(told[0] == 0 && told[1] == 1 && gave_up == 1 && state.gave_up_in == RUN);
}

/* Any one of a line's halves or its tag of the run before the last is not there yet. */
static void what_an_earlier_run_left_is_waited_for(void **) {
    for (uint64_t run = 1; run < 300; run++)
        for (int stale = 0; stale < 4; stale++) {
            const uint64_t low = UINT64_C(0x8123456789abcdef), high = UINT64_C(0x7edcba9876543210);
            const uint64_t of[] = {stale == 0 ? run - 2 : run, stale == 1 ? run - 2 : run,
                                   stale == 2 ? run - 2 : run};
            const bool never = run <= 2; /* then the memory is zero */
            uint64_t half[] = {pto_line_half(low, of[0]), pto_line_half(high, of[1])};
            uint8_t tag = pto_line_tag(low, high, of[2]);
            if (never && stale < 2)
                half[stale] = 0;
            if (never && stale == 2)
                tag = 0;
            assert_int_equal(pto_line_of_run(half[0], half[1], tag, run), stale == 3);
            if (stale < 3)
                continue;
            assert_true(pto_line_data(half[0], tag, 0) == low);
            assert_true(pto_line_data(half[1], tag, 1) == high);
        }
}

/* Lines of run r are in copy r % 2, and memory that is no lines in its only one. */
static void runs_take_turns_with_the_copies_of_lines(void **) {
    static char memory[ROOM];
    const int64_t bytes = 5000;
    const pto_operand_t whole[] = {{{memory, 8192, true}, bytes, pto_rows_of(bytes)},
                                   {{memory, 0, false}, bytes, pto_rows_of(bytes)}};
    gridDim.x = 3;
    for (uint64_t run = 6; run < 8; run++)
        for (unsigned number = 0; number < 6; number++) {
            lines_run now = {nullptr, run, 6, device_program()};
            const pto_part_t part = pto_part(bytes, PIECE_BYTES, 6, static_cast<int>(number));
            const line_operand lines = line_operand_of(translate(&whole[0], 6), 6);
            const line_operand data = line_operand_of(translate(&whole[1], 6), 6);
            const line_part of_lines = line_part_of(lines, number, now),
                            of_data = line_part_of(data, number, now);
            assert_ptr_equal(of_lines.at, memory + run % 2 * 8192 + part.offset_bytes);
            assert_ptr_equal(of_lines.tags, memory + run % 2 * 8192 + 5008 + part.offset_bytes / 16);
            assert_ptr_equal(of_data.at, memory + part.offset_bytes);
            assert_null(of_data.tags);
            assert_int_equal(of_lines.count, (part.bytes + 15) / 16);
            assert_int_equal(of_lines.rest_bytes, part.bytes % 16);
        }
}

/* A launch without a number computes its parts first, as those of an even run. */
static void parts_of_an_even_run_become_those_of_an_odd_one(void **) {
    static char memory[ROOM];
    const int64_t bytes = 1000;
    const pto_rows_t rows = {10, 100, 16};
    const pto_operand_t whole[] = {{{memory, 4096, false}, bytes, pto_rows_of(bytes)},
                                   {{memory + 16, 8192, false}, bytes, pto_rows_of(bytes)},
                                   {{memory, 0, false}, bytes, pto_rows_of(bytes)},
                                   {{memory, 0, false}, bytes, rows}};
    device_program all = {};
    all.operand_count = 4;
    all.slices = 2;
    gridDim.x = 3;
    for (unsigned i = 0; i < all.operand_count; i++)
        all.operands[i] = translate(&whole[i], gridDim.x * all.slices);
    part even[4], odd[4], wanted[4];
    for (threadIdx.x = 0; threadIdx.x < THREADS; threadIdx.x++) {
        find_parts(all, 4, 0, even);
        find_parts(all, 4, 0, odd);
        find_parts(all, 4, RUN, wanted);
        use_odd_copies(all, odd);
    }
    for (unsigned i = 0; i < all.operand_count; i++) {
        assert_ptr_equal(odd[i].at, wanted[i].at);
        assert_int_equal(odd[i].at - even[i].at, i < 2 ? 4096 * (i + 1) : 0);
    }
}

static void what_goes_into_lines_and_out_of_them_is_right(void **) {
    for (unsigned pairs = 1; pairs <= 8; pairs++)
        for (unsigned shift : shifts)
            for (int i = 0; i < 4; i++) {
                check_line_copies(pairs, some_line_bytes(), shift, false);
                check_line_copies(pairs, some_line_bytes(), shift, true);
            }
}

static void a_vector_into_all_lines_and_their_sum_are_right(void **) {
    for (unsigned members = 2; members <= 9; members++)
        for (unsigned shift : {0u, 4u})
            for (int i = 0; i < 4; i++) {
                const size_t bytes = some_words();
                const unsigned count = 1 + members;
                pieces_t pieces = make_pieces(count, bytes, shift);
                for (unsigned k = 1; k < count; k++)
                    pieces.lines[k] = true;
                const op out = make_op(PTO_KERNEL_SPREAD, width_at(shift, UNIT_BYTES), count);
                op sum = out;
                sum.kind = PTO_KERNEL_REDUCE;
                const device_program all = program_of(pieces, count, 1 + random_below(4), 1 + random_below(3));
                const std::vector<char> vector = data_in(pieces, 0);
                each_line_thread(
                    all, [&](unsigned number, const lines_run &run) { copy_lines(out, number, run); });
                for (unsigned k = 1; k < count; k++)
                    assert_true(data_in(pieces, k) == vector);
                each_line_thread(all, [&](unsigned number, const lines_run &run) {
                    reduce_lines<uint32_t>(sum, number, run, plus_unsigned());
                });
                assert_true(data_in(pieces, 0) == sums_of(std::vector<std::vector<char>>(members, vector)));
            }
}

/* A sum of others' lines and this process's own vector, which any place in the order may have, in place. */
static void a_sum_beside_lines_may_overwrite_any_source(void **) {
    for (unsigned members = 2; members <= 9; members++)
        for (unsigned own = 1; own <= members; own++)
            for (unsigned shift : {0u, 4u}) {
                pieces_t pieces = make_pieces(1 + members, some_words(), shift);
                std::vector<std::vector<char>> values;
                for (unsigned k = 1; k <= members; k++) {
                    values.push_back(data_in(pieces, k == own ? 0 : k));
                    pieces.lines[k] = true;
                    pack(pieces, k, values.back());
                }
                device_program all = program_of(pieces, 1 + members, 1 + random_below(4), 1 + random_below(3));
                all.operands[own] = all.operands[0];
                const op sum = make_op(PTO_KERNEL_REDUCE, width_at(shift, UNIT_BYTES), 1 + members);
                each_line_thread(all, [&](unsigned number, const lines_run &run) {
                    reduce_lines<uint32_t>(sum, number, run, plus_unsigned());
                });
                assert_true(data_in(pieces, 0) == sums_of(values));
            }
}

/* Also beyond what 32 bits count, with the most parts that there are. */
static void parts_are_those_of_the_common_rule(void **) {
    for (int64_t bytes : {INT64_C(0), INT64_C(1), INT64_C(511), INT64_C(512), INT64_C(100000),
                          (INT64_C(1) << 32) + 16, (INT64_C(1) << 40) - 3})
        for (unsigned blocks : {1u, 132u, 1023u})
            for (unsigned slices : {1u, 64u}) {
                if (bytes / blocks / slices >= INT64_C(1) << 36)
                    continue;
                device_program all = {};
                all.slices = static_cast<uint16_t>(slices);
                gridDim.x = blocks;
                const pto_operand_t whole = {{nullptr, 0, false}, bytes, pto_rows_of(bytes)};
                const operand translated = translate(&whole, blocks * slices);
                for (unsigned number = 0; number < blocks * slices; number++) {
                    const pto_part_t wanted = pto_part(bytes, PIECE_BYTES, static_cast<int>(blocks * slices),
                                                       static_cast<int>(number));
                    const part own = part_of(all, translated, number, RUN);
                    assert_int_equal(bytes_of(own), wanted.bytes);
                    if (wanted.bytes > 0)
                        assert_int_equal(reinterpret_cast<uintptr_t>(own.at), wanted.offset_bytes);
                }
            }
}

/* A slice's turns come once and in order, all that is sent before a wait for an earlier slice's data among
 * them; the waits that nothing follows come last. */
static void slices_are_sent_one_ahead(void **) {
    device_program all = {};
    all.send_end = 2, all.work_end = 5, all.op_count = 7;
    for (unsigned slices = 1; slices <= 6; slices++) {
        std::vector<unsigned> done(slices, 0);
        all.slices = static_cast<uint16_t>(slices);
        for (unsigned turn = 0; turn < pto_turn_count(all.slices); turn++) {
            const pto_turn_t now = turn_of(all, turn);
            if (now.slice == slices)
                continue;
            assert_true(now.slice < slices);
            assert_int_equal(now.first, done[now.slice]);
            assert_int_equal(now.begins, now.first == 0);
            assert_true(now.end == 2 || now.end == 5 || now.end == 7);
            if (now.end == 5 && now.slice + 1 < slices)
                assert_int_equal(done[now.slice + 1], 2);
            for (unsigned other = 0; other < slices; other++)
                assert_true(now.end == 2   ? other <= now.slice || done[other] == 0
                            : now.end == 5 ? other <= now.slice + 1 || done[other] == 0
                                           : done[other] >= 5);
            done[now.slice] = now.end;
        }
        for (unsigned end : done)
            assert_int_equal(end, 7);
    }
}

static void a_program_is_cut_at_its_waits(void **) {
    static const struct {
        const char *ops; /* w: a wait */
        int sends, works;
    } cases[] = {{"mswrsw", 2, 5}, {"msw", 2, 2}, {"m", 1, 1},     {"wr", 0, 2},
                 {"ww", 0, 0},     {"", 0, 0},    {"mwrww", 1, 3}, {"mswwrswmw", 2, 8}};
    for (const auto &one : cases) {
        std::vector<pto_kernel_op_t> ops;
        for (const char *c = one.ops; *c != '\0'; c++)
            ops.push_back({*c == 'w'   ? PTO_KERNEL_WAIT
                           : *c == 's' ? PTO_KERNEL_SIGNAL
                                       : PTO_KERNEL_MOVE,
                           0, 0, 0});
        pto_kernel_program_t from = {};
        from.ops = ops.data();
        from.op_count = static_cast<int>(ops.size());
        device_program all = {};
        find_phases(&from, &all);
        assert_int_equal(all.send_end, one.sends);
        assert_int_equal(all.work_end, one.works);
    }
}

/* In a program with lines, after the first op that reads some. */
static void a_program_with_lines_is_cut_behind_the_first_that_reads_some(void **) {
    static const struct {
        const char *ops; /* s: a spread to lines; m, r: a move out of lines, a reduction of some; c: a copy */
        int sends;
    } cases[] = {{"sr", 2}, {"sm", 2}, {"ms", 1}, {"csrc", 3}, {"sc", 2}, {"c", 1}, {"srsr", 2}};
    static char memory[ROOM];
    for (const auto &one : cases) {
        std::vector<pto_kernel_op_t> ops;
        std::vector<pto_operand_t> operands;
        for (const char *c = one.ops; *c != '\0'; c++) {
            const pto_kernel_kind_t kind = *c == 's'   ? PTO_KERNEL_SPREAD
                                           : *c == 'r' ? PTO_KERNEL_REDUCE
                                                       : PTO_KERNEL_MOVE;
            ops.push_back({kind, static_cast<int>(operands.size()), 2, 0});
            operands.push_back({{memory, 0, *c == 'm'}, 64, pto_rows_of(64)});
            operands.push_back({{memory, 0, *c == 's' || *c == 'r'}, 64, pto_rows_of(64)});
        }
        operands.push_back({{memory, 0, true}, 64, pto_rows_of(64)});
        pto_kernel_program_t from = {};
        from.ops = ops.data();
        from.op_count = static_cast<int>(ops.size());
        from.operands = operands.data();
        from.operand_count = static_cast<int>(operands.size());
        device_program all = {};
        find_phases(&from, &all);
        assert_int_equal(all.send_end, one.sends);
    }
}

static void a_limit_in_ms_is_never_rounded_to_none(void **) {
    pto_kernel_program_t program = {};
    assert_int_equal(patience_ms_of(&program), 0);
    for (double patience_s : {1e-9, 1e-4, 9.99e-4, 1e-3})
        assert_int_equal((program.patience_s = patience_s, patience_ms_of(&program)), 1);
    program.patience_s = 20;
    assert_int_equal(patience_ms_of(&program), 20000);
    program.patience_s = 30 * 24 * 3600;
    assert_int_equal(patience_ms_of(&program), UINT64_C(2592000000));
}

static void lines_are_beside_nothing_that_another_kernel_runs(void **) {
    static char memory[ROOM];
    const pto_rows_t rows = {10, 100, 16};
    pto_operand_t operands[] = {{{memory, 0, false}, 1000, pto_rows_of(1000)},
                                {{memory, 4096, true}, 1000, pto_rows_of(1000)}};
    pto_kernel_op_t ops = {PTO_KERNEL_MOVE, 0, 2, 0};
    pto_kernel_program_t program = {};
    program.ops = &ops;
    program.op_count = 1;
    program.operands = operands;
    program.operand_count = 2;
    assert_true(has_lines(&program) && can_run_lines(&program));
    operands[0].spot.copy_stride_bytes = 4096;
    assert_false(can_run_lines(&program));
    operands[0] = {{memory, 0, false}, 1000, rows};
    assert_false(can_run_lines(&program));
    operands[0] = {{memory, 0, false}, 0, pto_rows_of(0)};
    ops.kind = PTO_KERNEL_WAIT;
    assert_false(can_run_lines(&program));
}

int main() {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_of_any_number_size_and_place_are_right),
        cmocka_unit_test(rows_of_any_number_size_and_gaps_are_copied),
        cmocka_unit_test(reductions_of_any_number_size_and_place_are_right),
        cmocka_unit_test(every_type_and_operation_gives_what_it_gives_on_the_cpu),
        cmocka_unit_test(least_and_greatest_depend_on_no_order),
        cmocka_unit_test(a_line_that_never_comes_ends_the_wait_of_a_run_with_a_limit),
        cmocka_unit_test(what_an_earlier_run_left_is_waited_for),
        cmocka_unit_test(runs_take_turns_with_the_copies_of_lines),
        cmocka_unit_test(parts_of_an_even_run_become_those_of_an_odd_one),
        cmocka_unit_test(what_goes_into_lines_and_out_of_them_is_right),
        cmocka_unit_test(a_vector_into_all_lines_and_their_sum_are_right),
        cmocka_unit_test(a_sum_beside_lines_may_overwrite_any_source),
        cmocka_unit_test(parts_are_those_of_the_common_rule),
        cmocka_unit_test(slices_are_sent_one_ahead),
        cmocka_unit_test(a_program_is_cut_at_its_waits),
        cmocka_unit_test(a_program_with_lines_is_cut_behind_the_first_that_reads_some),
        cmocka_unit_test(a_limit_in_ms_is_never_rounded_to_none),
        cmocka_unit_test(lines_are_beside_nothing_that_another_kernel_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

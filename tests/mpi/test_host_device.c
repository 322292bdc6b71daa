/* What the host device does for benchmarks and for steps of runs, where no other process is needed: a
 * ping-pong of two threads, what kernels compute, a segment reopened, and a step that waits. Needs no mpirun.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../../impl/device/host_stream.h"
#include "../../impl/shm.h"
#include "portolan/bench.h"
#include "portolan/kernel.h"
#include "test.h"

static const pto_device_t *device;

static int find_device(void **state) { return pto_device_find("host", &device, NULL); }

/* --- ping-pong ------------------------------------------------------------------------------------------ */

typedef struct {
    pto_bench_ping_pong_t ping_pong;
    pto_bench_rounds_t rounds;
    pto_status_t status;
} side_t;

static const struct timespec late = {.tv_nsec = 100000000};

static void *play(void *what) {
    side_t *side = what;
    if (!side->ping_pong.first)
        nanosleep(&late, NULL);
    side->status = device->bench->ping_pong(&side->ping_pong, NULL, NULL);
    return NULL;
}

/* Both sides' memory is zero. */
static void make_sides(side_t side[2], void *memory[2], uint32_t from, int rounds, double limit_s) {
    for (int i = 0; i < 2; i++) {
        assert_int_equal(device->allocate(PTO_BENCH_PING_PONG_BYTES, &memory[i], NULL), PTO_OK);
        memset(memory[i], 0, PTO_BENCH_PING_PONG_BYTES);
    }
    for (int i = 0; i < 2; i++) {
        side[i] = (side_t){.ping_pong = {.own = memory[i],
                                         .others = memory[1 - i],
                                         .first = i == 0,
                                         .from = from,
                                         .rounds = rounds,
                                         .limit_s = limit_s,
                                         .result = &side[i].rounds}};
        memset(&side[i].rounds, 0xff, sizeof side[i].rounds);
    }
}

static void free_sides(void *memory[2]) {
    for (int i = 0; i < 2; i++)
        device->release(memory[i], NULL);
}

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The second trial begins where the flags of the first have ended. The first round, in which a side waits for
 * the late one, is not timed. */
TEST(two_sides_hand_over_in_each_round) {
    side_t side[2];
    void *memory[2];
    make_sides(side, memory, 0, 50, 20);
    for (int trial = 0; trial < 2; trial++) {
        pthread_t other;
        double began_s = now_s();
        assert_int_equal(pthread_create(&other, NULL, play, &side[1]), 0);
        play(&side[0]);
        assert_int_equal(pthread_join(other, NULL), 0);
        double took_s = now_s() - began_s;
        for (int i = 0; i < 2; i++) {
            assert_int_equal(side[i].status, PTO_OK);
            assert_int_equal(side[i].rounds.failed_round, 0);
            assert_false(side[i].rounds.stale);
            assert_true(side[i].rounds.elapsed_ns > 0);
            assert_true(1e-9 * (double)side[i].rounds.elapsed_ns < took_s - 1e-9 * (double)late.tv_nsec);
            side[i].ping_pong.from += 51;
            assert_memory_equal(memory[i], &side[i].ping_pong.from, sizeof(uint32_t)); /* the flag */
        }
    }
    free_sides(memory);
}

enum { WORD_AT = 64 }; /* on a cache line of its own, after the flag */

/* A second side that rests in each round. */
static void *answer_slowly(void *what) {
    const side_t *side = what;
    const struct timespec short_rest = {.tv_nsec = 2000000};
    for (uint32_t round = 1; round <= 1 + (uint32_t)side->ping_pong.rounds; round++) {
        while (atomic_load((atomic_uint *)side->ping_pong.own) != side->ping_pong.from + round)
            nanosleep(&short_rest, NULL);
        nanosleep(round == 1 ? &late : &short_rest, NULL);
        uint32_t value = side->ping_pong.from + round;
        memcpy((char *)side->ping_pong.others + WORD_AT, &value, sizeof value);
        atomic_store((atomic_uint *)side->ping_pong.others, value);
    }
    return NULL;
}

TEST(all_rounds_but_the_first_are_timed) {
    enum { ROUNDS = 20 };
    side_t side[2];
    void *memory[2];
    pthread_t other;
    make_sides(side, memory, 0, ROUNDS, 20);
    double began_s = now_s();
    assert_int_equal(pthread_create(&other, NULL, answer_slowly, &side[1]), 0);
    play(&side[0]);
    double took_s = now_s() - began_s;
    assert_int_equal(pthread_join(other, NULL), 0);
    assert_false(side[0].rounds.stale);
    assert_in_range(side[0].rounds.elapsed_ns, ROUNDS * 2000000,
                    (uint64_t)(1e9 * took_s) - (uint64_t)late.tv_nsec);
    free_sides(memory);
}

TEST(a_side_alone_gives_up_in_time) {
    for (int i = 0; i < 2; i++) {
        side_t side[2];
        void *memory[2];
        make_sides(side, memory, 7, 50, 0.1);
        double began_s = now_s();
        play(&side[i]);
        double took_s = now_s() - began_s;
        assert_int_equal(side[i].status, PTO_OK);
        assert_int_equal(side[i].rounds.failed_round, 1);
        assert_true(took_s >= 0.1 && took_s < 10);
        free_sides(memory);
    }
}

/* Flags that were raised before are seen at once. Their word must be the round's. */
TEST(a_flag_before_its_data_is_stale) {
    for (int first = 0; first < 2; first++)
        for (int rounds = 0; rounds < 3; rounds++)
            for (uint32_t of_round = 0; of_round < 4; of_round++) {
                side_t side[2];
                void *memory[2];
                const uint32_t from = 0xfffffffe; /* values wrap around */
                uint32_t flag = from + 1 + (uint32_t)rounds, word = from + of_round;
                make_sides(side, memory, from, rounds, 20);
                memcpy(memory[first], &flag, sizeof flag);
                memcpy((char *)memory[first] + WORD_AT, &word, sizeof word);
                play(&side[first]);
                assert_int_equal(side[first].status, PTO_OK);
                assert_int_equal(side[first].rounds.failed_round, 0);
                assert_int_equal(side[first].rounds.stale, rounds > 0 || of_round != 1);
                assert_memory_equal(memory[1 - first], &flag, sizeof flag);
                assert_memory_equal((char *)memory[1 - first] + WORD_AT, &flag, sizeof flag);
                free_sides(memory);
            }
}

/* --- what kernels of benchmarks compute ----------------------------------------------------------------- */

enum { GUARD_BYTES = 64 };

static unsigned char some_byte(size_t i) { return (unsigned char)(i * 37 + i / 251 + 11); }

TEST(elements_are_moved_by_their_stride) {
    enum { COUNT = 9, MOST = COUNT * 16 * 3 };
    for (int width = 4; width <= 16; width *= 2)
        for (int stride = 1; stride <= 3; stride++)
            for (size_t count = 0; count <= COUNT; count++) {
                unsigned char source[COUNT * 16] = {0}, target[MOST + GUARD_BYTES],
                                             wanted[MOST + GUARD_BYTES];
                for (size_t i = 0; i < sizeof source; i++)
                    source[i] = some_byte(i);
                memset(target, 0xee, sizeof target);
                memset(wanted, 0xee, sizeof wanted);
                for (size_t i = 0; i < count * (size_t)width; i++)
                    wanted[i / (size_t)width * (size_t)(stride * width) + i % (size_t)width] = source[i];
                assert_int_equal(device->bench->move(target, source, count, width, stride, 1, NULL, NULL),
                                 PTO_OK);
                assert_memory_equal(target, wanted, sizeof target);
            }
}

TEST(every_target_gets_its_part) {
    enum { TARGETS = 5, MOST = 48 };
    for (int targets = 1; targets <= TARGETS; targets++)
        for (size_t bytes = 16; bytes <= MOST; bytes += 16) {
            unsigned char source[TARGETS * MOST] = {0}, memory[TARGETS][MOST + GUARD_BYTES],
                                           untouched[GUARD_BYTES + MOST];
            void *target[TARGETS];
            for (size_t i = 0; i < sizeof source; i++)
                source[i] = some_byte(i);
            for (int j = 0; j < TARGETS; j++) {
                memset(memory[j], 0xee, sizeof memory[j]);
                target[j] = memory[j];
            }
            memset(untouched, 0xee, sizeof untouched);
            assert_int_equal(device->bench->store_all(target, targets, source, bytes, 1, NULL, NULL), PTO_OK);
            for (int j = 0; j < TARGETS; j++) {
                size_t stored = j < targets ? bytes : 0;
                assert_memory_equal(memory[j], source + (size_t)j * bytes, stored);
                assert_memory_equal(memory[j] + stored, untouched, sizeof memory[j] - stored);
            }
        }
}

TEST(a_sum_is_of_all_values) {
    double source[9], target = -1, wanted = 0;
    for (int count = 0; count <= 8; count++) {
        for (int i = 0; i < 9; i++)
            source[i] = i < count ? 1 << i : 1e9;
        assert_int_equal(device->bench->sum(&target, source, (size_t)count, NULL, NULL), PTO_OK);
        wanted = (1 << count) - 1; /* whole numbers, so that no order matters */
        assert_true(target == wanted);
    }
}

/* Each cell of a halo stays, and of the others each has its weight in exactly nine sums. */
TEST(a_stencil_weighs_nine_cells) {
    enum { MOST = 5, CELLS = (MOST + 2) * (MOST + 2) };
    static const double weight[3][3] = {{0.05, 0.15, 0.05}, {0.15, 0.25, 0.15}, {0.05, 0.15, 0.05}};
    for (size_t rows = 1; rows <= MOST; rows++)
        for (size_t columns = 1; columns <= MOST; columns++) {
            double before[CELLS], field[CELLS], scratch[CELLS] = {0};
            size_t pitch = columns + 2;
            for (size_t i = 0; i < CELLS; i++)
                before[i] = field[i] = (double)(i * i % 101) + 1;
            assert_int_equal(device->bench->stencil(field, scratch, rows, columns, NULL, NULL), PTO_OK);
            for (size_t i = 0; i < CELLS; i++) {
                size_t row = i / pitch, column = i % pitch;
                double wanted = 0;
                bool inside = row >= 1 && row <= rows && column >= 1 && column <= columns;
                for (size_t k = 0; k < 9 && inside; k++)
                    wanted += weight[k / 3][k % 3] * before[(row + k / 3 - 1) * pitch + column + k % 3 - 1];
                double off = field[i] - (inside ? wanted : before[i]);
                assert_true(off < 1e-9 && off > -1e-9);
            }
        }
}

TEST(as_many_gpus_are_emulated_as_are_asked_for) {
    static const struct {
        const char *said;
        int gpus; /* 0: an error */
    } known[] = {{"1", 1},  {"5", 5},    {"64", 64}, {"65", 0}, {"0", 0},
                 {"-1", 0}, {"none", 0}, {"", 0},    {"5x", 0}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        int count = 0;
        setenv("PORTOLAN_EMULATED_GPUS", known[i].said, 1);
        pto_status_t status = device->bench->count(&count, NULL);
        assert_int_equal(status, known[i].gpus > 0 ? PTO_OK : PTO_ERR_NOT_FOUND);
        assert_int_equal(count, known[i].gpus);
    }
    unsetenv("PORTOLAN_EMULATED_GPUS");
    int count = 0;
    assert_int_equal(device->bench->count(&count, NULL), PTO_ERR_NOT_FOUND);
    for (int gpu = 0; gpu < 64; gpu++) {
        pto_gpu_info_t info, other;
        bool can = false;
        assert_int_equal(device->bench->describe(gpu, &info, NULL), PTO_OK);
        assert_int_equal(device->bench->describe((gpu + 1) % 64, &other, NULL), PTO_OK);
        assert_string_not_equal(info.bus, other.bus);
        assert_true(info.blocks > 0 && info.mps == PTO_MPS_UNKNOWN);
        assert_int_equal(device->bench->can_reach(gpu, (gpu + 1) % 64, &can, NULL), PTO_OK);
        assert_true(can);
    }
    setenv("PORTOLAN_EMULATED_MPS", "yes", 1);
    pto_gpu_info_t info;
    assert_int_equal(device->bench->describe(0, &info, NULL), PTO_OK);
    assert_int_equal(info.mps, PTO_MPS_YES);
    setenv("PORTOLAN_EMULATED_MPS", "perhaps", 1);
    assert_int_equal(device->bench->describe(0, &info, NULL), PTO_ERR_RANGE);
    unsetenv("PORTOLAN_EMULATED_MPS");
}

/* --- shared memory -------------------------------------------------------------------------------------- */

/* Inodes are numbered by file system, so a reused descriptor may have the segment's inode on another one. */
TEST(a_file_of_another_inode_or_file_system_is_not_opened) {
    void *memory = NULL, *opened = NULL;
    pto_shared_handle_t handle;
    assert_int_equal(pto_shared_create(4096, &memory, &handle, NULL), PTO_OK);
    memset(memory, 7, 4096);
    assert_int_equal(pto_shared_open(&handle, &opened, NULL), PTO_OK);
    assert_memory_equal(opened, memory, 4096);
    pto_shared_close(opened, &handle);
    pto_shared_handle_t other_inode = handle, other_device = handle;
    other_inode.inode++;
    other_device.device++;
    assert_int_equal(pto_shared_open(&other_inode, &opened, NULL), PTO_ERR_IO);
    assert_int_equal(pto_shared_open(&other_device, &opened, NULL), PTO_ERR_IO);
    pto_shared_destroy(memory, &handle);
}

/* --- steps ---------------------------------------------------------------------------------------------- */

typedef struct {
    int calls;
    int needed;         /* calls until it is done */
    const int *awaited; /* calls of another step, of which it waits for `awaited_calls` */
    int awaited_calls;
} work_t;

static bool work_on(void *what, bool *begun) {
    work_t *work = what;
    assert_int_equal(*begun, work->calls > 0);
    *begun = true;
    work->calls++;
    return work->calls >= work->needed && (!work->awaited || *work->awaited >= work->awaited_calls);
}

/* Those in streams go on meanwhile. */
TEST(a_step_without_a_stream_is_repeated_until_it_is_done) {
    void *stream = NULL;
    work_t queued = {.needed = 5};
    work_t called = {.needed = 3, .awaited = &queued.calls, .awaited_calls = 4};
    assert_int_equal(pto_host_stream_create(&stream, NULL), PTO_OK);
    assert_int_equal(pto_host_stream_step(work_on, &queued, stream, NULL), PTO_OK);
    assert_int_equal(queued.calls, 0);
    assert_int_equal(pto_host_stream_step(work_on, &called, NULL, NULL), PTO_OK);
    assert_int_equal(queued.calls, 4);
    assert_int_equal(called.calls, 5);
    assert_int_equal(pto_host_stream_finish(stream, NULL), PTO_OK);
    assert_int_equal(queued.calls, 5);
    assert_int_equal(pto_host_stream_destroy(stream, NULL), PTO_OK);
}

/* --- kernels -------------------------------------------------------------------------------------------- */

static pto_operand_t operand_of(void *at, bool lines, int64_t bytes) {
    return (pto_operand_t){.spot = {.at = at, .lines = lines}, .bytes = bytes, .rows = pto_rows_of(bytes)};
}

/* Run a kernel of one part that moves bytes into lines and out of them. */
static void move_by_lines(void *from, void *lines, void *to, int64_t bytes) {
    const pto_kernel_op_t ops[] = {{PTO_KERNEL_MOVE, 0, 2, 0}, {PTO_KERNEL_MOVE, 2, 2, 0}};
    const pto_operand_t operands[] = {operand_of(from, false, bytes), operand_of(lines, true, bytes),
                                      operand_of(lines, true, bytes), operand_of(to, false, bytes)};
    const pto_kernel_program_t program = {
        .ops = ops, .op_count = 2, .operands = operands, .operand_count = 4, .blocks = 1, .slices = 1};
    void *kernel = NULL, *stream = NULL;
    uint64_t ended = 0;
    assert_int_equal(pto_host_stream_create(&stream, NULL), PTO_OK);
    assert_int_equal(device->kernels->create(&program, &kernel, NULL), PTO_OK);
    assert_int_equal(device->kernels->start(kernel, 1, false, stream, NULL), PTO_OK);
    assert_int_equal(device->kernels->poll(kernel, &ended, NULL), PTO_OK);
    assert_int_equal(ended, 1);
    device->kernels->destroy(kernel);
    assert_int_equal(pto_host_stream_destroy(stream, NULL), PTO_OK);
}

/* The page behind the source can't be read. */
TEST(a_last_line_that_is_not_full_reads_no_more_than_the_source) {
    enum { BYTES = 21 };
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *pages = NULL;
    assert_int_equal(posix_memalign(&pages, page, 2 * page), 0);
    assert_int_equal(mprotect((char *)pages + page, page, PROT_NONE), 0);
    char *from = (char *)pages + page - BYTES, to[BYTES] = {0};
    _Alignas(16) char lines[64] = {0};
    assert_true(pto_spot_bytes(true, BYTES) <= (int64_t)sizeof lines);
    for (int i = 0; i < BYTES; i++)
        from[i] = (char)(i - 100);
    move_by_lines(from, lines, to, BYTES);
    assert_memory_equal(to, from, BYTES);
    assert_int_equal(mprotect((char *)pages + page, page, PROT_READ | PROT_WRITE), 0);
    free(pages);
}

int main(void) { return run_all_tests(find_device, NULL); }

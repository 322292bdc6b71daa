/* What the host device does for benchmarks and for steps of runs, where no other process is needed: a
 * ping-pong of two threads, and a step that waits in a call. Needs no mpirun. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../impl/host_stream.h"
#include "portolan/bench.h"
#include "portolan/kernel.h"

static const pto_device_t *device;

static int find_device(void **state) {
    (void)state;
    return pto_device_find("host", &device, NULL);
}

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
static void two_sides_hand_over_in_each_round(void **state) {
    (void)state;
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

static void a_side_alone_gives_up_in_time(void **state) {
    (void)state;
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
static void a_step_without_a_stream_is_repeated_until_it_is_done(void **state) {
    (void)state;
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
static void a_last_line_that_is_not_full_reads_no_more_than_the_source(void **state) {
    (void)state;
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_sides_hand_over_in_each_round),
        cmocka_unit_test(a_side_alone_gives_up_in_time),
        cmocka_unit_test(a_step_without_a_stream_is_repeated_until_it_is_done),
        cmocka_unit_test(a_last_line_that_is_not_full_reads_no_more_than_the_source),
    };
    return cmocka_run_group_tests(tests, find_device, NULL);
}

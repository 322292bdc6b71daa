/* Captures of the host device's streams into graphs: it accepts and refuses what CUDA does (seen with
 * CUDA 13.0 on an H200). */
#include "device/host_stream.h"
#include "test.h"

enum { STREAMS = 3, EVENTS = 4 };

static void *stream[STREAMS], *event[EVENTS];
static int number, copied;

static int open_streams(void **state) {
    (void)state;
    for (int i = 0; i < STREAMS; i++)
        assert_int_equal(pto_host_stream_create(&stream[i], NULL), PTO_OK);
    for (int i = 0; i < EVENTS; i++)
        assert_int_equal(pto_host_event_create(&event[i], NULL), PTO_OK);
    return 0;
}

static int close_streams(void **state) {
    (void)state;
    for (int i = 0; i < EVENTS; i++)
        pto_host_event_destroy(event[i], NULL);
    for (int i = 0; i < STREAMS; i++)
        pto_host_stream_destroy(stream[i], NULL);
    return 0;
}

static void begin(int one) { assert_int_equal(pto_host_graph_begin(stream[one], NULL), PTO_OK); }

static void work(int one) {
    const pto_move_t move = {&copied, &number, sizeof number, 1, sizeof number, sizeof number};
    assert_int_equal(pto_host_stream_copy(&move, stream[one], NULL), PTO_OK);
}

static void record(int which, int one) {
    assert_int_equal(pto_host_event_record(event[which], stream[one], NULL), PTO_OK);
}

static pto_status_t follows(int one, int which) {
    return pto_host_event_follow(event[which], one < 0 ? NULL : stream[one], NULL);
}

static void follow(int one, int which) { assert_int_equal(follows(one, which), PTO_OK); }

/* Returns whether the capture ended well. */
static bool end(int one) {
    void *graph = &number;
    const bool ended = pto_host_graph_end(stream[one], &graph, NULL) == PTO_OK;
    assert_true(ended == (graph != NULL));
    pto_host_stream_destroy(graph, NULL);
    return ended;
}

#define CAPTURE_TEST(name) TEST_WITH(name, open_streams, close_streams)

/* Stream 0 works, stream 1 follows it and works, stream 2 follows that and works. Event i is behind the work
 * of stream i. */
static void chain(void) {
    begin(0);
    for (int i = 0; i < STREAMS; i++) {
        if (i > 0)
            follow(i, i - 1);
        work(i);
        record(i, i);
    }
}

/* Streams 1 and 2 follow stream 0, and all work. Event i is behind the work of stream i. */
static void fork(void) {
    begin(0);
    work(0);
    record(0, 0);
    for (int i = 1; i < STREAMS; i++) {
        follow(i, 0);
        work(i);
        record(i, i);
    }
}

CAPTURE_TEST(two_streams_that_follow_only_each_other_are_not_joined) {
    chain();
    follow(1, 2);
    assert_false(end(0));
    chain();
    follow(1, 2);
    work(1);
    record(3, 1);
    follow(2, 3);
    assert_false(end(0));
}

CAPTURE_TEST(a_stream_is_joined_through_others) {
    chain();
    follow(0, 2);
    assert_true(end(0));
    fork();
    follow(1, 2);
    record(3, 1);
    follow(0, 3);
    assert_true(end(0));
}

CAPTURE_TEST(work_after_the_event_that_joins_is_not_joined) {
    chain();
    follow(0, 2);
    work(1);
    assert_false(end(0));
}

CAPTURE_TEST(what_a_stream_follows_after_the_event_that_joins_it_is_not_joined) {
    fork();
    follow(1, 2);
    follow(0, 1);
    assert_false(end(0));
    fork();
    follow(0, 1);
    follow(1, 2);
    assert_false(end(0));
}

CAPTURE_TEST(a_stream_without_work_need_not_be_joined) {
    begin(0);
    work(0);
    record(0, 0);
    follow(1, 0);
    assert_true(end(0));
    begin(0);
    work(0);
    record(0, 0);
    follow(1, 0);
    work(1);
    record(1, 1);
    follow(2, 1);
    follow(0, 1);
    work(0);
    record(3, 0);
    follow(1, 3);
    assert_true(end(0));
}

CAPTURE_TEST(only_the_stream_that_began_a_capture_ends_it) {
    begin(0);
    work(0);
    record(0, 0);
    follow(1, 0);
    work(1);
    record(1, 1);
    follow(0, 1);
    assert_false(end(1));
    assert_int_not_equal(pto_host_stream_capture(stream[0]), 0);
    assert_false(end(0)); /* the attempt made it fail */
    assert_int_equal(pto_host_stream_capture(stream[0]) + pto_host_stream_capture(stream[1]), 0);
}

CAPTURE_TEST(a_stream_outside_does_not_end_a_capture) {
    begin(0);
    work(0);
    assert_false(end(1));
    assert_true(end(0));
}

/* A later capture may use the memory of an earlier one. */
CAPTURE_TEST(an_event_of_an_earlier_capture_is_refused) {
    begin(0);
    work(0);
    record(0, 0);
    assert_true(end(0));
    assert_int_equal(follows(1, 0), PTO_ERR_RANGE);
    begin(0);
    work(0);
    assert_int_equal(follows(1, 0), PTO_ERR_RANGE);
    assert_true(end(0));
    begin(0);
    work(0);
    assert_int_equal(follows(0, 0), PTO_ERR_RANGE);
    assert_false(end(0));
}

CAPTURE_TEST(an_event_of_a_capture_that_failed_is_refused) {
    work(1);
    record(1, 1);
    begin(0);
    record(0, 0);
    assert_int_equal(follows(0, 1), PTO_ERR_RANGE);
    assert_int_equal(follows(2, 0), PTO_ERR_RANGE);
    assert_int_equal(pto_host_stream_capture(stream[2]), 0);
    assert_false(end(0));
}

CAPTURE_TEST(two_captures_that_meet_both_fail) {
    begin(0);
    work(0);
    record(0, 0);
    begin(1);
    work(1);
    assert_int_equal(follows(1, 0), PTO_ERR_RANGE);
    assert_false(end(0));
    assert_false(end(1));
}

CAPTURE_TEST(a_wait_or_a_poll_by_the_cpu_fails_the_capture) {
    bool finished;
    begin(0);
    record(0, 0);
    assert_int_equal(follows(-1, 0), PTO_ERR_RANGE);
    assert_false(end(0));
    begin(0);
    record(0, 0);
    assert_int_equal(pto_host_event_poll(event[0], &finished, NULL), PTO_ERR_RANGE);
    assert_false(end(0));
}

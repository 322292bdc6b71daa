/* What a member of each benchmark's case must do (members_expected.h). */
#include "members_expected.h"

#include <stdio.h>

#include "test.h"

static bool ends(const case_t *what, const char *with) {
    size_t length = strlen(what->benchmark);
    return length >= strlen(with) && strcmp(what->benchmark + length - strlen(with), with) == 0;
}

bool copies_by_ipc(const case_t *what, int place) {
    int by_ipc = 0;
    return begins(what, "memcpy_mixed") && sscanf(what->pair, "ipc=%d", &by_ipc) == 1 &&
           place >= what->member_count - by_ipc;
}

int expected_messages(const case_t *what, int place, int other) {
    if (is(what, "ping_pong") || is(what, "ping_pong_strided") || is(what, "exchange"))
        return 1;
    if (is(what, "staged"))
        return place == 0;
    if (is(what, "injection"))
        return (place + what->procs) % (2 * what->procs) == other;
    if (is(what, "multi_message"))
        return place == 0 || other == 0;
    return begins(what, "multi_message_one") ? what->messages : 0;
}

int expected_copies(const case_t *what, int place) {
    if (is(what, "memcpy_peer"))
        return place == 0;
    if (begins(what, "memcpy_method") || is(what, "memcpy_h2h"))
        return 0;
    return begins(what, "memcpy_queued") ? what->messages : is(what, "staged") || begins(what, "memcpy");
}

static int64_t rows_of(const case_t *what, int64_t bytes) {
    return begins(what, "memcpy_strided")          ? bytes / what->messages /* the bytes of a row */
           : begins(what, "memcpy_shared_strided") ? 8
                                                   : 1;
}

int expected_copies_in(const case_t *what, int place, const job_t *job) {
    if (is(what, "memcpy_shared_duplex")) /* every second process of a GPU, of every second GPU */
        return (place / job->device_count + place % job->device_count) % 2 == 0;
    if (is(what, "staged"))
        return place == 1;
    return ends(what, "h2d") && !copies_by_ipc(what, place) ? expected_copies(what, place) : 0;
}

/* By copy_by; other methods are the CPU's. */
static bool is_by_device(const case_t *what) {
    return begins(what, "memcpy_method_default") || begins(what, "memcpy_method_explicit") ||
           begins(what, "memcpy_method_query");
}

static bool reduces_on_gpu(const case_t *what) {
    return begins(what, "reduce") && what->buffers == PTO_SPACE_GPU;
}

int64_t expected_bytes_moved(const case_t *what, int place, int64_t bytes) {
    if (is(what, "remote_store_all"))
        return bytes * (what->member_count - 1);
    if (is_by_device(what) || reduces_on_gpu(what))
        return bytes;
    return (begins(what, "remote") ? place == 0 : expected_copies(what, place)) * bytes;
}

int expected_meetings(const case_t *what, int place) {
    if (begins(what, "memcpy_mixed"))
        return 3; /* the second one only for those that copy the same way */
    if (is(what, "injection") || is(what, "setup_segment"))
        return 1;
    if (begins(what, "multi_message"))
        return place > 0;
    if (is(what, "memcpy_h2h"))
        return what->procs > 1 ? 2 : 0;
    return begins(what, "memcpy_shared") || is(what, "remote_store_all") || begins(what, "setup") ||
                   begins(what, "nccl")
               ? 2
               : 0;
}

double slowest_member(const case_t *what, int place, bool of_part) {
    int most = 0;
    for (int i = 0; i < what->member_count; i++)
        if ((!of_part || copies_by_ipc(what, i) == copies_by_ipc(what, place)) &&
            process[what->member[i]].node == process[rank].node &&
            (!is(what, "memcpy_h2h") || i < what->procs))
            most = what->member[i] > most ? what->member[i] : most;
    return 1 + most;
}

double expected_seconds(const case_t *what, int place, int64_t bytes) {
    double own = 1 + rank, copy_s = COPY + (double)rows_of(what, bytes);
    if (is(what, "ping_pong") || is(what, "ping_pong_strided"))
        return place == 0 ? MESSAGE : 0;
    if (is(what, "injection"))
        return place < what->procs ? MESSAGE : 0;
    if (is(what, "exchange"))
        return WAIT_ALL;
    if (begins(what, "multi_message"))
        return place == 0 ? WAIT_ALL / 2.0 : 0;
    if (is(what, "staged"))
        return copy_s * own + MESSAGE + FINISH;
    if (is(what, "memcpy_peer"))
        return place == 0 ? copy_s * own + FINISH : 0;
    if (begins(what, "memcpy_shared") || begins(what, "memcpy_mixed"))
        return copy_s * slowest_member(what, place, false) + FINISH;
    if (is(what, "memcpy_h2h"))
        return SEES_MEMCPY && place < what->procs ? COPY_HERE * slowest_member(what, place, false) : 0;
    if (begins(what, "memcpy_method"))
        return is_by_device(what) ? COPY_BY * own : 0;
    if (begins(what, "memcpy"))
        return expected_copies(what, place) * copy_s * own + FINISH;
    if (is(what, "reduce"))
        return reduces_on_gpu(what) ? REDUCE * own + FINISH : 0;
    if (is(what, "reduce_many"))
        return (REDUCE_MANY + what->messages) * own + FINISH;
    if (is(what, "kernel_launch") || is(what, "graph_launch"))
        return (is(what, "graph_launch") ? GRAPH : LAUNCH) * own + FINISH;
    if (is(what, "kernel_enqueue"))
        return LAUNCH * own;
    if (is(what, "kernel_queued")) /* a thousand, and one wait */
        return LAUNCH * own + FINISH / 1000.0;
    if (is(what, "event_record") || is(what, "event_query"))
        return (is(what, "event_record") ? RECORD : POLL) * own;
    if (is(what, "signal_event"))
        return (RECORD + 2 * POLL) * own;
    if (is(what, "remote_store_all"))
        return STORE_ALL * slowest_member(what, place, false) + FINISH;
    if (begins(what, "remote"))
        return place == 0 ? MOVE * own + FINISH : 0;
    if (is(what, "setup_open"))
        return place > 0 ? OPEN * own : 0;
    if (is(what, "setup_allocate"))
        return (what->buffers == PTO_SPACE_GPU ? ALLOCATE + EXPORT : STAGE) * own;
    if (is(what, "setup_segment"))
        return (place == 0 ? CREATE_SEGMENT : OPEN_SEGMENT) * own;
    if (begins(what, "nccl"))
        return COLLECTIVE * slowest_member(what, place, false) + FINISH;
    if (is(what, "signal_flag"))
        return place == 0 ? AWAIT_FLAG / 2.0 : 0;
    assert_true(is(what, "signal_device"));
    return place == 0 ? ROUND : 0;
}

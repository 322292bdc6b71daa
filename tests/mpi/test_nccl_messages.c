/* Sends and receives before the drop-in for NCCL, in front of a small NCCL (fake_nccl_forked.c), among
 * processes that fork() starts, on the host device: random groups with known data, in which each process has
 * its calls in an order of its own, and those that end only where all messages of a group go on at once. The
 * small NCCL's messages need all processes, so each has one of those that are NCCL's or none has.
 *
 *   test_nccl_messages [GROUPS [SEED [SIZE]]]      PORTOLAN_MESSAGES must be LIMIT */
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nccl_processes.h"
#include "portolan/exec.h"
#include "tap.h"

enum { STREAMS = 3, IDS = 8, LIMIT = 100000, MESSAGES_MAX = 200, REPLAYS = 3 };
enum { SUCCESS = 0, INVALID_USAGE = 5 };

static uint64_t state; /* the same on all processes */
static int groups;
static pto_nccl_id_t id[IDS];
static void *stream[STREAMS];
static void *comm;

static unsigned pick(unsigned below) { return calls_pick(&state, below); }

/* --- groups ----------------------------------------------------------------------------------------------
 */

typedef struct {
    int from;
    int to;
    size_t bytes;
    unsigned char *sent; /* NULL: not from this process */
    unsigned char *received;
} one_t;

static unsigned char value(const one_t *one, size_t i, int number) {
    return (unsigned char)((size_t)(one->from * 7 + one->to * 31 + number * 13) + i * 5 + (i >> 8));
}

static void fill(const one_t *one, int number) {
    for (size_t i = 0; i < one->bytes && one->sent; i++)
        one->sent[i] = value(one, i, number);
    if (one->received)
        memset(one->received, 0xEE, one->bytes + 1);
}

static void check(const one_t *one, int number) {
    for (size_t i = 0; i < one->bytes && one->received; i++)
        if (one->received[i] != value(one, i, number)) {
            expect(false, "another message");
            return;
        }
    expect(!one->received || one->received[one->bytes] == 0xEE, "it is longer than it was");
}

static one_t make(int from, int to, size_t bytes) {
    one_t made = {from, to, bytes, NULL, NULL};
    if (rank == from)
        made.sent = malloc(bytes + 1);
    if (rank == to)
        made.received = malloc(bytes + 1);
    return made;
}

static void release(one_t *one) {
    free(one->sent);
    free(one->received);
}

static int send(const one_t *one, void *in) {
    return ncclSend(one->sent, one->bytes, PTO_NCCL_INT8, one->to, comm, in);
}

static int receive(const one_t *one, void *in) {
    return ncclRecv(one->received, one->bytes, PTO_NCCL_UINT8, one->from, comm, in);
}

/* Messages between two processes keep their order; sends come before receives, after them, or between. */
static void issue(const one_t *all, int count, void *const in[2]) {
    const int way = (rank + count) % 3;
    ncclGroupStart();
    for (int i = 0; i < count && way != 0; i++)
        if (all[i].received && (way == 1 || i % 2))
            expect(receive(&all[i], in[1]) == SUCCESS, "a receive");
    for (int i = 0; i < count; i++)
        if (all[i].sent)
            expect(send(&all[i], in[0]) == SUCCESS, "a send");
    for (int i = 0; i < count && way != 1; i++)
        if (all[i].received && (way == 0 || i % 2 == 0))
            expect(receive(&all[i], in[1]) == SUCCESS, "a receive");
    expect(ncclGroupEnd() == SUCCESS, "a group");
}

/* Of two processes all messages are on the odd or all on the even places, so that `issue` keeps their order.
 */
static int draw(one_t *all, bool mixed) {
    const int wanted = pick(8) == 0 ? 80 + (int)pick(40) : 1 + (int)pick(12);
    int count = 0;
    while (count < wanted) {
        const int from = (int)pick((unsigned)size), to = (int)pick((unsigned)size);
        const size_t bytes = pick(3) ? 1 + pick(600) : 1 + pick(LIMIT);
        if ((from + to) % 2 == count % 2)
            all[count++] = make(from, to, wanted > 12 ? 1 + bytes % 600 : bytes);
        else if (size == 1)
            break;
    }
    for (int i = 0; i < size && mixed; i++)
        all[count++] = make(i, (i + 1) % size, LIMIT + 1 + pick(1000));
    return count;
}

static void random_group(int number) {
    const bool mixed = pick(3) == 0, captured = pick(8) == 0;
    one_t all[MESSAGES_MAX];
    void *const in[2] = {stream[0], captured ? stream[0] : stream[pick(2)]};
    void *graph = NULL;
    const int count = draw(all, mixed), before = fake_calls;
    for (int i = 0; i < count; i++)
        fill(&all[i], number);
    if (captured)
        pto_host_graph_begin(in[0], NULL);
    issue(all, count, in);
    expect(fake_calls == before + (mixed ? 1 : 0), "not all messages of few bytes are taken");
    for (int replay = 0; replay < REPLAYS && captured; replay++) {
        if (replay == 0)
            expect(pto_host_graph_end(in[0], &graph, NULL) == PTO_OK, "the capture is lost");
        for (int i = 0; i < count; i++)
            fill(&all[i], number + replay);
        pto_host_graph_launch(graph, in[0], NULL);
        finish(in[0]);
        for (int i = 0; i < count; i++)
            check(&all[i], number + replay);
    }
    finish(in[1]);
    finish(in[0]);
    for (int i = 0; i < count; i++) {
        if (!captured)
            check(&all[i], number);
        release(&all[i]);
    }
    device->stream_destroy(graph, NULL);
}

/* --- what must go on at once ------------------------------------------------------------------------------
 */

/* What process 0 has in one group, process 1 has in two, one after the other. `big` of them are NCCL's. */
static void in_two_groups(size_t first_bytes, size_t second_bytes) {
    one_t first = make(0, 1, first_bytes), second = make(1, 0, second_bytes);
    one_t own = make(rank, rank, LIMIT + 1);
    const bool is_mixed = first_bytes > LIMIT || second_bytes > LIMIT;
    fill(&first, 1);
    fill(&second, 2);
    fill(&own, 3);
    ncclGroupStart();
    if (rank == 0) {
        receive(&second, stream[0]);
        send(&first, stream[0]);
    } else if (rank == 1 && is_mixed == (first_bytes > LIMIT)) {
        receive(&first, stream[0]);
    } else if (is_mixed && rank > 1) {
        send(&own, stream[0]);
        receive(&own, stream[0]);
    }
    if (rank == 1 && is_mixed != (first_bytes > LIMIT))
        expect(receive(&first, stream[0]) == SUCCESS, "a receive");
    expect(ncclGroupEnd() == SUCCESS, "a group");
    if (rank == 1) {
        ncclGroupStart();
        send(&second, stream[0]);
        ncclGroupEnd();
    }
    finish(stream[0]);
    check(&first, 1);
    check(&second, 2);
    release(&first);
    release(&second);
    release(&own);
}

/* Without groups: a message alone is one, too. */
static void alone(void) {
    one_t one = make(0, size - 1, 1000);
    const int before = fake_calls;
    fill(&one, 4);
    if (one.sent)
        expect(send(&one, stream[1]) == SUCCESS, "a send");
    if (one.received)
        expect(receive(&one, stream[2]) == SUCCESS, "a receive");
    finish(stream[1]);
    finish(stream[2]);
    check(&one, 4);
    expect(fake_calls == before, "it is NCCL's");
    release(&one);
}

/* In one group with a sum, whose stream goes on behind the messages as well. */
static void beside_a_sum(void) {
    int32_t in[64], out[64] = {0};
    one_t next = make(rank, (rank + 1) % size, 5000), last = make((rank + size - 1) % size, rank, 5000);
    const int before = fake_calls;
    for (int i = 0; i < 64; i++)
        in[i] = rank + i;
    fill(&next, 5);
    fill(&last, 6);
    ncclGroupStart();
    send(&next, stream[1]);
    ncclAllReduce(in, out, 64, PTO_NCCL_INT32, PTO_NCCL_SUM, comm, stream[0]);
    receive(&last, stream[1]);
    expect(ncclGroupEnd() == SUCCESS, "a group");
    expect(fake_calls == before, "a call is NCCL's");
    finish(stream[0]);
    expect(out[63] == 63 * size + size * (size - 1) / 2, "another sum");
    check(&last, 5);
    finish(stream[1]);
    release(&next);
    release(&last);
}

/* Of as many captures as there are pipes, and one more, whose messages are NCCL's. */
static void many_captures(void) {
    one_t next = make(rank, (rank + 1) % size, 100), last = make((rank + size - 1) % size, rank, 100);
    int taken = 0;
    for (int i = 0; i < TAP_PIPES_MAX + 2; i++) {
        void *graph = NULL;
        const int before = fake_calls;
        pto_host_graph_begin(stream[0], NULL);
        ncclGroupStart();
        send(&next, stream[0]);
        receive(&last, stream[0]);
        ncclGroupEnd();
        pto_host_graph_end(stream[0], &graph, NULL);
        taken += fake_calls == before;
        fill(&next, i);
        fill(&last, i);
        pto_host_graph_launch(graph, stream[0], NULL);
        finish(stream[0]);
        check(&last, i);
        device->stream_destroy(graph, NULL);
    }
    expect(taken == TAP_PIPES_MAX - 1, "another number of captures is taken");
    release(&next);
    release(&last);
}

/* What no message is, is NCCL's, with its error; what a process sends to itself, it must receive. */
static void wrong(void) {
    char data[8] = {0};
    expect(ncclSend(data, 8, PTO_NCCL_INT8, size, comm, stream[0]) == INVALID_USAGE, "a peer");
    expect(ncclSend(NULL, 8, PTO_NCCL_INT8, 0, comm, stream[0]) == INVALID_USAGE, "no buffer");
    ncclGroupStart();
    ncclSend(data, 8, PTO_NCCL_INT8, rank, comm, stream[0]);
    ncclRecv(data, 4, PTO_NCCL_INT8, rank, comm, stream[0]);
    expect(ncclGroupEnd() == INVALID_USAGE, "it receives less than it sends");
}

/* The receiver never comes. */
static void aborts(void) {
    char data[8] = {0};
    for (int i = 0; i < 10 && rank == 0; i++)
        ncclSend(data, 8, PTO_NCCL_INT8, 1, comm, stream[0]);
    ncclCommAbort(comm);
    finish(stream[0]);
}

static void begin(int number) {
    if (ncclCommInitRank(&comm, size, id[number], rank) != SUCCESS)
        exit(1);
}

static int run(void) {
    if (!open_streams(stream, STREAMS))
        return 1;
    for (int i = 0; i < groups; i++) {
        name = "a random group";
        if (i % 100 == 0 && comm)
            ncclCommDestroy(comm);
        if (i % 100 == 0)
            begin(i / 100 % 4);
        random_group(i);
    }
    ncclCommDestroy(comm);
    begin(4);
    name = "special groups";
    in_two_groups(500, 600);
    in_two_groups(LIMIT + 1, 600);
    in_two_groups(500, LIMIT + 1);
    alone();
    beside_a_sum();
    wrong();
    many_captures();
    alone();
    ncclCommDestroy(comm);
    name = "an abort";
    begin(5);
    aborts();
    if (rank == 0)
        printf("%d groups of messages of %d processes\n", groups, size);
    return failures > 0;
}

int main(int argc, char **argv) {
    groups = argc > 1 ? atoi(argv[1]) : 200;
    state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    size = argc > 3 ? atoi(argv[3]) : 2;
    for (int i = 0; i < IDS; i++)
        ncclGetUniqueId(&id[i]);
    return run_processes(run);
}

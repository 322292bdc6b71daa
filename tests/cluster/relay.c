/* The switch of namespace nodes whose links are slow and far, for tests/cluster/cluster: relay NODES
 * BITS_PER_S DELAY_S makes the TAP devices relay0, relay1 and so on, prints "ready", and passes Ethernet
 * frames between them until it is killed. The device of node i has the address 02:00:00:00:00:i.
 *
 * A frame leaves its node when the ones before it have left at the rate, arrives DELAY_S later, and enters
 * the other node behind the frames that arrived before it, at the same rate. These times are reckoned, not
 * waited for: a frame that is passed on late delays none behind it, unlike a token bucket of one packet,
 * which loses what a late timer could have let through. Queues have no end and drop nothing. */
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_ether.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { NODES_MAX = 64, FRAME_MAX = 2048, READS_AT_ONCE = 64 };

typedef struct {
    double at_s;
    uint64_t number; /* the order of frames at the same time */
    int to;
    int bytes;
    bool delivered; /* the time is that of its delivery, behind others */
    unsigned char data[FRAME_MAX];
} frame_t;

static struct {
    int nodes;
    double s_per_byte;
    double delay_s;
    int fd[NODES_MAX];
    double leaves_s[NODES_MAX]; /* when the node's link is free, out of it and into it */
    double enters_s[NODES_MAX];
    frame_t **heap; /* by time */
    size_t count;
    size_t room;
    uint64_t frames;
} relay;

static void die(const char *what) {
    perror(what);
    exit(1);
}

/* Nothing to read, and devices that are down or gone. */
static bool is_passing(int error) { return error == EAGAIN || error == EIO || error == EBADFD; }

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool is_before(const frame_t *a, const frame_t *b) {
    return a->at_s < b->at_s || (a->at_s == b->at_s && a->number < b->number);
}

static void push(frame_t *frame) {
    if (relay.count == relay.room) {
        relay.room = relay.room ? 2 * relay.room : 1024;
        relay.heap = realloc(relay.heap, relay.room * sizeof *relay.heap);
        if (!relay.heap)
            die("realloc");
    }
    size_t at = relay.count++;
    for (; at > 0 && is_before(frame, relay.heap[(at - 1) / 2]); at = (at - 1) / 2)
        relay.heap[at] = relay.heap[(at - 1) / 2];
    relay.heap[at] = frame;
}

static frame_t *pop(void) {
    frame_t *first = relay.heap[0], *last = relay.heap[--relay.count];
    size_t at = 0;
    for (size_t child = 1; child < relay.count; child = 2 * at + 1) {
        if (child + 1 < relay.count && is_before(relay.heap[child + 1], relay.heap[child]))
            child++;
        if (!is_before(relay.heap[child], last))
            break;
        relay.heap[at] = relay.heap[child];
        at = child;
    }
    relay.heap[at] = last;
    return first;
}

static void send_to(int to, const unsigned char *data, int bytes, double arrives_s) {
    frame_t *frame = malloc(sizeof *frame);
    if (!frame)
        die("malloc");
    *frame = (frame_t){.at_s = arrives_s, .number = relay.frames++, .to = to, .bytes = bytes};
    memcpy(frame->data, data, (size_t)bytes);
    push(frame);
}

/* Take what a node has sent. */
static void read_from(int from) {
    unsigned char data[FRAME_MAX];
    for (int i = 0; i < READS_AT_ONCE; i++) {
        ssize_t bytes = read(relay.fd[from], data, sizeof data);
        if (bytes < ETH_HLEN) {
            if (bytes < 0 && !is_passing(errno))
                die("read");
            return;
        }
        double now = now_s();
        relay.leaves_s[from] =
            (now > relay.leaves_s[from] ? now : relay.leaves_s[from]) + (double)bytes * relay.s_per_byte;
        double arrives_s = relay.leaves_s[from] + relay.delay_s;
        for (int to = 0; to < relay.nodes; to++)
            if (to != from && (data[0] & 1 || data[5] == to))
                send_to(to, data, (int)bytes, arrives_s);
    }
}

/* Deliver a frame, or let it wait until those before it have entered its node. */
static void pass_on(frame_t *frame) {
    double takes_s = (double)frame->bytes * relay.s_per_byte, *enters = &relay.enters_s[frame->to];
    if (!frame->delivered) {
        double begins = frame->at_s - takes_s;
        *enters = (*enters > begins ? *enters : begins) + takes_s;
        frame->delivered = true;
        frame->at_s = *enters;
        push(frame);
        return;
    }
    if (write(relay.fd[frame->to], frame->data, (size_t)frame->bytes) < 0 && !is_passing(errno))
        die("write");
    free(frame);
}

static int open_device(int index) {
    struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    if (fd < 0)
        die("/dev/net/tun");
    snprintf(request.ifr_name, sizeof request.ifr_name, "relay%d", index);
    if (ioctl(fd, TUNSETIFF, &request) != 0)
        die("TUNSETIFF");
    return fd;
}

static void run(void) {
    struct pollfd polled[NODES_MAX];
    for (int i = 0; i < relay.nodes; i++)
        polled[i] = (struct pollfd){.fd = relay.fd[i], .events = POLLIN};
    for (;;) {
        double wait_s = relay.count > 0 ? relay.heap[0]->at_s - now_s() : 1;
        wait_s = wait_s > 0 ? wait_s : 0;
        struct timespec wait = {.tv_sec = (time_t)wait_s,
                                .tv_nsec = (long)(1e9 * (wait_s - (double)(time_t)wait_s))};
        if (ppoll(polled, (nfds_t)relay.nodes, &wait, NULL) > 0)
            for (int i = 0; i < relay.nodes; i++)
                if (polled[i].revents)
                    read_from(i);
        for (double now = now_s(); relay.count > 0 && relay.heap[0]->at_s <= now;)
            pass_on(pop());
    }
}

int main(int argc, char **argv) {
    relay.nodes = argc == 4 ? atoi(argv[1]) : 0;
    if (relay.nodes < 1 || relay.nodes > NODES_MAX || atof(argv[2]) <= 0) {
        fprintf(stderr, "usage: relay NODES BITS_PER_S DELAY_S\n");
        return 2;
    }
    relay.s_per_byte = 8 / atof(argv[2]);
    relay.delay_s = atof(argv[3]);
    for (int i = 0; i < relay.nodes; i++)
        relay.fd[i] = open_device(i);
    struct sched_param before_all_others = {.sched_priority = 1};
    if (sched_setscheduler(0, SCHED_FIFO, &before_all_others) != 0)
        die("sched_setscheduler");
    puts("ready");
    fflush(stdout);
    run();
}

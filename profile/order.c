/* Finds the memory space into which each message was received. The sender counts messages, but only the
 * receiver knows their space. At the end, receivers report to senders. If a process received all messages of
 * a sender in one space, that bit is enough. Otherwise the sender matches messages with receives as MPI did:
 * messages from one process to another with the same communicator and tag match receives in the order in
 * which these were posted (MPI 3.1, section 3.5). So both ends record that order, as runs of equal messages.
 */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "profile.h"

/* When these are used up, recording stops: the space at the receiver of later messages is unknown. */
enum { RUNS_MAX = 1 << 22 };

/* A run of equal messages that follow one another on a channel. */
typedef struct {
    int64_t first; /* received: post indexes of the first and of the last receive */
    int64_t last;
    int64_t messages;
    int64_t bytes_each;
    prof_key_t key; /* sent: of their cell; received: only `space` is used */
} run_t;

/* A channel: the messages to or from one process, on one communicator, with one tag. These are the key of
 * this hash table entry. */
typedef struct {
    uint64_t group;
    int32_t peer;
    int32_t tag;
    int64_t last; /* the largest post index so far */
    run_t *run;
    size_t count;
    size_t capacity;
} channel_t;

static pto_slots_t sent = {.slot_size = sizeof(channel_t), .key_words = 2};
static pto_slots_t received = {.slot_size = sizeof(channel_t), .key_words = 2};
static size_t run_count;
static int64_t posted;

int prof_undetermined_receives;

int64_t prof_order_post(void) { return posted++; }

static channel_t *channel_of(pto_slots_t *channels, int32_t peer, uint64_t group, int32_t tag) {
    const channel_t key = {.group = group, .peer = peer, .tag = tag};
    channel_t *channel = pto_slots_add(channels, &key);
    if (!channel || channel->run)
        return channel;
    channel->run = calloc(1, sizeof *channel->run);
    channel->capacity = channel->run ? 1 : 0;
    channel->last = -1;
    return channel->run ? channel : NULL;
}

/* Returns the channel's last run; NULL: there is none. `channel` may be NULL. */
static run_t *last_run(const channel_t *channel) {
    return channel && channel->count > 0 ? &channel->run[channel->count - 1] : NULL;
}

/* Appends a run. If memory or runs are used up, recording stops: with a gap, the order of later events would
 * be wrong. `channel` may be NULL: there was no memory for it. */
static void add_run(channel_t *channel, run_t run) {
    if (!channel || run_count >= RUNS_MAX ||
        !PTO_RESERVE(channel->run, channel->capacity, channel->count + 1)) {
        prof.ordered = false;
        return;
    }
    run_count++;
    channel->run[channel->count++] = run;
}

void prof_order_sent(const prof_cell_t *cell, uint64_t group, int tag, int64_t messages, int64_t bytes_each) {
    channel_t *channel = channel_of(&sent, cell->key.peer, group, tag);
    run_t *run = last_run(channel);
    if (run && memcmp(&run->key, &cell->key, sizeof run->key) == 0 && run->bytes_each == bytes_each)
        run->messages += messages;
    else
        add_run(channel, (run_t){.messages = messages, .bytes_each = bytes_each, .key = cell->key});
}

/* Receives are recorded when they are known, perhaps not in the order of their posts. So the last run is
 * extended only if no receive that was posted before this one can still be recorded. */
void prof_order_received(int peer, uint64_t group, int tag, int64_t messages, preload_space_t space,
                         int64_t post_index) {
    channel_t *channel = channel_of(&received, peer, group, tag);
    run_t *run = last_run(channel);
    if (run && run->key.space == space && prof_undetermined_receives == 0 && run->last == channel->last &&
        post_index > run->last) {
        run->messages += messages;
        run->last = post_index;
    } else {
        add_run(channel, (run_t){.first = post_index,
                                 .last = post_index,
                                 .messages = messages,
                                 .key.space = (uint8_t)space});
    }
    if (channel && channel->last < post_index)
        channel->last = post_index;
}

void prof_order_cancel(int peer, uint64_t group, int tag, int64_t post_index) {
    channel_t *channel = channel_of(&received, peer, group, tag);
    for (size_t i = 0; channel && i < channel->count; i++)
        if (channel->run[i].first <= post_index && post_index <= channel->run[i].last) {
            channel->run[i].messages--;
            return;
        }
}

/* A run of receives in one space, as reported to the sender. */
typedef struct {
    uint64_t group;
    int64_t messages;
    int32_t tag;
    int32_t space;
} receive_run_t;

/* What receivers have reported to this process. The runs of process i are runs[first[i]] up to runs[first[i +
 * 1] - 1], sorted by group and tag. */
typedef struct {
    uint8_t *spaces; /* by process: a bit for each space into which it received this process's messages */
    receive_run_t *runs;
    int *first;
} answers_t;

/* Returns whether more than one bit is set. */
static bool is_mixed(uint8_t spaces) { return (spaces & (spaces - 1)) != 0; }

static int compare_posts(const void *one, const void *other) {
    const run_t *a = one, *b = other;
    return a->first < b->first ? -1 : a->first > b->first;
}

static int compare_keys(int32_t peer, uint64_t group, int32_t tag, const channel_t *b) {
    if (peer != b->peer)
        return peer < b->peer ? -1 : 1;
    if (group != b->group)
        return group < b->group ? -1 : 1;
    return tag < b->tag ? -1 : tag > b->tag;
}

static int compare_channels(const void *one, const void *other) {
    const channel_t *a = one;
    return compare_keys(a->peer, a->group, a->tag, other);
}

/* Turns the hash table into a sorted array of `channels->count` elements, in place. */
static channel_t *sort_channels(pto_slots_t *channels) {
    channel_t *channel = channels->slot;
    size_t count = 0;
    for (size_t i = 0; i < channels->capacity; i++)
        if (channel[i].run)
            channel[count++] = channel[i];
    if (count > 0)
        qsort(channel, count, sizeof *channel, compare_channels);
    channels->count = count;
    channels->capacity = 0;
    return channel;
}

/* Returns the runs to report, sorted by process, and adds up their numbers by process. NULL: out of memory.
 */
static receive_run_t *collect(int *outgoing_counts) {
    size_t all = 0, written = 0;
    const channel_t *channel = sort_channels(&received);
    for (size_t i = 0; i < received.count; i++)
        all += channel[i].count;
    receive_run_t *outgoing = calloc(all + 1, sizeof *outgoing);
    for (size_t i = 0; outgoing && i < received.count; i++) {
        run_t *run = channel[i].run;
        if (!is_mixed(prof.received[channel[i].peer]))
            continue;
        qsort(run, channel[i].count, sizeof *run, compare_posts);
        for (size_t r = 0; r < channel[i].count; r++)
            outgoing[written++] =
                (receive_run_t){channel[i].group, run[r].messages, channel[i].tag, run[r].key.space};
        outgoing_counts[channel[i].peer] += (int)channel[i].count;
    }
    return outgoing;
}

/* Sets the index at which each process's runs begin, and at which the last ones end. */
static void prefix_sums(const int *counts, int *first) {
    for (int i = 0; i < prof.size; i++)
        first[i + 1] = first[i] + counts[i];
}

static void send_runs(const receive_run_t *outgoing, const int *outgoing_counts, const int *outgoing_first,
                      const int *incoming_counts, answers_t *answers) {
    MPI_Datatype type;
    PMPI_Type_contiguous((int)sizeof *outgoing, MPI_BYTE, &type);
    PMPI_Type_commit(&type);
    PMPI_Alltoallv(outgoing, outgoing_counts, outgoing_first, type, answers->runs, incoming_counts,
                   answers->first, type, MPI_COMM_WORLD);
    PMPI_Type_free(&type);
}

/* Collective: sends the runs of receives to the senders, and gets those of this process's messages. False if
 * a process is out of memory. */
static bool exchange_runs(answers_t *answers) {
    size_t size = (size_t)prof.size;
    int *outgoing_counts = calloc(3 * size + 1, sizeof *outgoing_counts); /* one array for three */
    int *incoming_counts = outgoing_counts ? outgoing_counts + size : NULL;
    int *outgoing_first = outgoing_counts ? incoming_counts + size : NULL;
    answers->first = calloc(size + 1, sizeof *answers->first);
    receive_run_t *outgoing = outgoing_counts ? collect(outgoing_counts) : NULL;
    const bool has_room = outgoing_counts && answers->first && outgoing;
    int able = has_room, all = 0;
    PMPI_Allreduce(&able, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (all && has_room) {
        PMPI_Alltoall(outgoing_counts, 1, MPI_INT, incoming_counts, 1, MPI_INT, MPI_COMM_WORLD);
        prefix_sums(outgoing_counts, outgoing_first);
        prefix_sums(incoming_counts, answers->first);
        answers->runs = calloc((size_t)answers->first[prof.size] + 1, sizeof *answers->runs);
        able = answers->runs != NULL;
        PMPI_Allreduce(&able, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    }
    if (all && has_room)
        send_runs(outgoing, outgoing_counts, outgoing_first, incoming_counts, answers);
    free(outgoing);
    free(outgoing_counts);
    return all && answers->runs;
}

/* The messages of a cell that were received in one space. */
typedef struct {
    int64_t messages;
    int64_t bytes;
} share_t;

/* Returns the first run that the receiver has reported for the channel or, if there is none, the one that
 * would follow it. Sets `*end` behind all runs of that process. */
static const receive_run_t *find_receive_runs(const answers_t *answers, const channel_t *channel,
                                              const receive_run_t **end) {
    int low = answers->first[channel->peer], high = answers->first[channel->peer + 1];
    *end = answers->runs + high;
    while (low < high) {
        int middle = low + (high - low) / 2;
        const receive_run_t *runs = &answers->runs[middle];
        if (compare_keys(channel->peer, runs->group, runs->tag, channel) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return answers->runs + low;
}

/* Matches the channel's messages, in their order, with the receives, and adds them up by cell and space. */
static void match(const channel_t *channel, const answers_t *answers, share_t (*share)[PRELOAD_SPACE_COUNT]) {
    const receive_run_t *end, *runs = find_receive_runs(answers, channel, &end);
    const prof_cell_t *cells = prof.cells.slot;
    int64_t left = runs < end ? runs->messages : 0;
    for (size_t i = 0; i < channel->count; i++) {
        const run_t *run = &channel->run[i];
        const prof_cell_t *cell = prof_find_cell(&run->key);
        for (int64_t messages = run->messages; messages > 0;) {
            while (left == 0 && runs < end)
                left = ++runs < end ? runs->messages : 0;
            if (runs == end || compare_keys(channel->peer, runs->group, runs->tag, channel) != 0)
                return;
            int64_t both = messages < left ? messages : left;
            share[cell - cells][runs->space].messages += both;
            share[cell - cells][runs->space].bytes += both * run->bytes_each;
            messages -= both;
            left -= both;
        }
    }
}

/* Appends a cell for a share of another cell's messages, with the same fraction of its time. */
static void add_share(prof_cell_t *out, size_t *count, const prof_cell_t *cell, int space, share_t share) {
    if (share.messages == 0)
        return;
    double fraction = (double)share.messages / (double)cell->messages;
    prof_cell_t *made = &out[(*count)++];
    *made = *cell;
    made->key.peer_space = (uint8_t)space;
    made->messages = share.messages;
    made->bytes = share.bytes;
    made->inside_ticks = (int64_t)((double)cell->inside_ticks * fraction);
    made->waiting_ticks = (int64_t)((double)cell->waiting_ticks * fraction);
}

/* Splits a cell by the space at the receiver. `spaces`: a bit for each space in which the receiver received
 * any of this process's messages. Messages that could not be matched get PRELOAD_UNKNOWN. */
static void split(prof_cell_t *out, size_t *count, const prof_cell_t *cell, uint8_t spaces,
                  const share_t *share) {
    share_t rest = {cell->messages, cell->bytes};
    for (int space = 0; space < PRELOAD_UNKNOWN; space++) {
        share_t own = is_mixed(spaces) && share ? share[space] : (share_t){0, 0};
        if (spaces == 1u << space)
            own = rest;
        add_share(out, count, cell, space, own);
        rest.messages -= own.messages;
        rest.bytes -= own.bytes;
    }
    add_share(out, count, cell, PRELOAD_UNKNOWN, rest);
}

/* Collective. Returns whether any process has messages to match, and any has recorded an order. */
static bool must_match(const answers_t *answers) {
    int mine[2] = {0, 0}, all[2];
    for (int i = 0; i < prof.size; i++)
        mine[0] |= is_mixed(answers->spaces[i]);
    mine[1] = sent.count > 0 || received.count > 0;
    PMPI_Allreduce(mine, all, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return all[0] && all[1];
}

static int compare_cells(const void *one, const void *other) {
    const prof_key_t *a = &((const prof_cell_t *)one)->key, *b = &((const prof_cell_t *)other)->key;
    const int difference[] = {a->peer - b->peer, a->kind - b->kind, a->routine - b->routine,
                              a->space - b->space, a->peer_space - b->peer_space};
    for (size_t i = 0; i < sizeof difference / sizeof *difference; i++)
        if (difference[i] != 0)
            return difference[i];
    return 0;
}

static bool is_access(const prof_cell_t *cell) {
    return cell->key.kind == PROF_WRITE || cell->key.kind == PROF_READ;
}

prof_cell_t *prof_order_resolve(size_t *count) {
    answers_t answers = {.spaces = calloc((size_t)prof.size, 1)};
    share_t(*share)[PRELOAD_SPACE_COUNT] = NULL;
    const bool has_room = answers.spaces != NULL;
    int able = has_room, all = 0;
    prof_cell_t *out = calloc(PRELOAD_SPACE_COUNT * (prof.cells.count + 1), sizeof *out);
    *count = 0;
    PMPI_Allreduce(&able, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    const bool has_spaces = all && has_room;
    if (has_spaces)
        PMPI_Alltoall(prof.received, 1, MPI_BYTE, answers.spaces, 1, MPI_BYTE, MPI_COMM_WORLD);
    if (has_spaces && must_match(&answers) && exchange_runs(&answers)) {
        share = calloc(prof.cells.capacity, sizeof *share);
        const channel_t *channel = sort_channels(&sent);
        for (size_t i = 0; share && i < sent.count; i++)
            if (is_mixed(answers.spaces[channel[i].peer]))
                match(&channel[i], &answers, share);
    }
    for (size_t i = 0; out && i < prof.cells.capacity; i++) {
        const prof_cell_t *cell = pto_slots_at(&prof.cells, i);
        if (cell->messages > 0 && is_access(cell))
            out[(*count)++] = *cell;
        else if (cell->messages > 0)
            split(out, count, cell, has_spaces ? answers.spaces[cell->key.peer] : 0, share ? share[i] : NULL);
    }
    if (out)
        qsort(out, *count, sizeof *out, compare_cells);
    free(share);
    free(answers.spaces);
    free(answers.runs);
    free(answers.first);
    return out;
}

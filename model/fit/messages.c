/* Fits the costs of messages: the switch points between protocols, a line for each protocol, and the cost of
 * additional messages of one process (the gap). Samples only show pieces, not protocols: the last piece is
 * called rendezvous, the one before it eager and the one before that short. */
#include <stdio.h>
#include <string.h>

#include "parts.h"
#include "select.h"

/* Approximate maximum number of pairs of samples of one size whose slopes are computed. */
enum { PAIRS_MAX = 65536 };

static const pto_sample_level_t place_of_level[PTO_LEVEL_COUNT] = {
    [PTO_LEVEL_ON_GPU] = PTO_AT_ON_GPU,
    [PTO_LEVEL_ON_SOCKET] = PTO_AT_ON_SOCKET,
    [PTO_LEVEL_ON_NODE] = PTO_AT_ON_NODE,
    [PTO_LEVEL_OFF_NODE] = PTO_AT_OFF_NODE,
};

/* Ping-pong rows; without them, injection rows of one process, which measure the same. */
static fit_points_t select_single(fit_work_t *work, pto_space_t space, pto_level_t level) {
    fit_filter_t filter = {PTO_BENCHMARK_PING_PONG, fit_where_of_space[space], place_of_level[level], 1, 0};
    fit_points_t points = fit_select(work, filter);
    filter.benchmark = PTO_BENCHMARK_INJECTION;
    return points.count > 0 ? points : fit_select(work, filter);
}

static void name_protocol(const char *key, int k, pto_cost_row_t *row, char name[PTO_FIT_NAME_MAX]) {
    row->protocol = (pto_protocol_t)((int)row->protocol + k);
    snprintf(name, PTO_FIT_NAME_MAX, "%.48s.%s", key, pto_protocol_name(row->protocol));
}

static void fit_pieces(fit_work_t *work, const fit_points_t *points, const fit_breaks_t *breaks,
                       pto_cost_table_t *cost) {
    const pto_cost_row_t like = {.protocol = (pto_protocol_t)(PTO_PROTOCOL_COUNT - 1 - breaks->count)};
    fit_rows(work, points, breaks, &like, name_protocol, cost);
}

/* Messages from one memory space to the other. Without samples they are priced as host messages. */
void fit_mixed_messages(fit_work_t *work, pto_space_t to, pto_level_t level) {
    const fit_points_t points =
        fit_select(work, (fit_filter_t){PTO_BENCHMARK_PING_PONG_TO, fit_where_of_space[to],
                                        place_of_level[level], 1, 0});
    if (points.count == 0)
        return;
    const fit_breaks_t breaks = fit_breaks_of(work, &points, PTO_PROTOCOL_COUNT);
    fit_pieces(work, &points, &breaks, &work->fit->machine->mixed_messages[to][level]);
}

/* Messages are fitted even if half of the samples are far off any line, as on a loaded host: without their
 * costs nothing has a price, unless the file inherits them. With --minima they are refused. */
void fit_messages(fit_work_t *work, pto_space_t space, pto_level_t level) {
    const fit_points_t points = select_single(work, space, level);
    if (points.count == 0)
        return;
    const pto_fit_breaks_t *forced = &work->options->breaks[space][level];
    fit_breaks_t breaks = {.count = forced->count};
    memcpy(breaks.below_bytes, forced->below_bytes, sizeof forced->below_bytes);
    if (!forced->given)
        breaks = fit_breaks_of(work, &points, PTO_PROTOCOL_COUNT);
    work->keeps_useless = work->options->inherits == NULL && !work->options->minima;
    fit_pieces(work, &points, &breaks, &work->fit->machine->messages[space][level]);
    work->keeps_useless = false;
}

/* Returns the smallest size that is at least `from_bytes`; INT64_MAX if there is none. */
static int64_t next_bytes(const fit_points_t *points, int64_t from_bytes) {
    int64_t next = INT64_MAX;
    for (size_t i = 0; i < points->count; i++) {
        int64_t bytes = points->point[i].bytes;
        next = bytes >= from_bytes && bytes < next ? bytes : next;
    }
    return next;
}

/* Returns the number of different message counts of a size; points are sorted by messages. */
static int distinct_messages(const fit_points_t *points, int64_t bytes) {
    int count = 0;
    int32_t last = 0;
    for (size_t i = 0; i < points->count; i++) {
        if (points->point[i].bytes == bytes && points->point[i].messages != last) {
            last = points->point[i].messages;
            count++;
        }
    }
    return count;
}

/* Cost of an additional message of one size: the median slope of time over messages in flight, over all pairs
 * of samples (Theil 1950, Sen 1968), which is robust against outliers. 0 if all have the same number. */
static double additional_message_s(const fit_points_t *points, int64_t bytes, double *slopes) {
    size_t count = 0, pairs = 0;
    size_t stride = 1 + points->count * points->count / 2 / PAIRS_MAX;
    for (size_t i = 0; i < points->count; i++) {
        const fit_point_t *a = &points->point[i];
        for (size_t j = 0; j < i && a->bytes == bytes; j++) {
            const fit_point_t *b = &points->point[j];
            if (b->bytes == bytes && b->messages != a->messages && pairs++ % stride == 0)
                slopes[count++] = (a->seconds - b->seconds) / (double)(a->messages - b->messages);
        }
    }
    return fit_median(slopes, count);
}

/* The cost of an additional message, for sizes measured with three or more numbers of messages. */
static fit_points_t gaps_of(fit_work_t *work, const fit_points_t *points) {
    fit_points_t gaps = {.point = fit_alloc(work, points->count, sizeof *gaps.point)};
    double *slopes = fit_alloc(work, PAIRS_MAX, sizeof *slopes);
    if (gaps.point == NULL || slopes == NULL)
        return gaps;
    for (int64_t bytes = next_bytes(points, 0); bytes < INT64_MAX; bytes = next_bytes(points, bytes + 1)) {
        bool enough = distinct_messages(points, bytes) >= 3;
        double seconds = enough ? additional_message_s(points, bytes, slopes) : 0;
        if (seconds > 0) {
            gaps.point[gaps.count++] =
                (fit_point_t){.seconds = seconds, .bytes = bytes, .procs = 1, .messages = 1};
        }
    }
    return gaps;
}

/* Between nodes, the samples have several partners. Within a node they have one, which copies the messages
 * one after another, as each process does in an exchange. */
static void fit_gap(fit_work_t *work, pto_space_t space, pto_level_t level) {
    pto_cost_table_t *cost = &work->fit->machine->gap[space][level];
    const fit_points_t points = fit_select(
        work, (fit_filter_t){.benchmark = level == PTO_LEVEL_OFF_NODE ? PTO_BENCHMARK_MULTI_MESSAGE
                                                                      : PTO_BENCHMARK_MULTI_MESSAGE_ONE,
                             .where = fit_where_of_space[space],
                             .place = place_of_level[level]});
    if (points.count == 0)
        return;
    const fit_points_t gaps = gaps_of(work, &points);
    if (gaps.count == 0) {
        fit_give_up(work, fit_key(work, cost), "needs rows of three or more numbers of messages in flight");
        return;
    }
    const fit_breaks_t breaks = fit_breaks_of(work, &gaps, PTO_PROTOCOL_COUNT);
    fit_pieces(work, &gaps, &breaks, cost);
}

/* Host messages have a gap only between nodes (docs/model.md, "Messages in flight"). */
void fit_gaps(fit_work_t *work, pto_space_t space) {
    for (int level = space == PTO_SPACE_GPU ? 0 : PTO_LEVEL_OFF_NODE; level < PTO_LEVEL_COUNT; level++)
        fit_gap(work, space, (pto_level_t)level);
}

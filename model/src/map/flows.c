/* The flows of a mapping problem: the bytes between each two processes, as a sparse matrix. */
#include <stdlib.h>
#include <string.h>

#include "portolan/map.h"
#include "scenario/check.h"

/* The row of one source while it is built: the volume to each process, and the peers with any volume. */
typedef struct {
    double *volume; /* by process */
    int64_t *peer;
    int64_t count;      /* of peers */
    int64_t *candidate; /* memory for the processes that may be peers */
} row_t;

typedef struct {
    const pto_counts_t *counts;
    int64_t bytes;
    int64_t count;
    row_t row;
} maker_t;

static void make_row(maker_t *maker, int64_t source) {
    row_t *row = &maker->row;
    for (int64_t i = 0; i < row->count; i++)
        row->volume[row->peer[i]] = 0;
    row->count = 0;
    for (const pto_counts_t *counts = maker->counts; counts; counts = counts->host) {
        int64_t candidates = pto_counts_peers(counts, maker->count, source, row->candidate);
        for (int64_t i = 0; i < candidates; i++) {
            int64_t peer = row->candidate[i];
            double volume = (double)pto_counts_bytes(counts, maker->bytes, source, peer);
            if (peer == source || !(volume > 0))
                continue;
            if (!(row->volume[peer] > 0))
                row->peer[row->count++] = peer;
            row->volume[peer] += volume;
        }
    }
}

/* Returns the flow between `from` and `to` in the row of `from`, appended if there is none. `used`: by
 * process, the length of its row. `known`: the row may have the flow already. It is first looked up where it
 * would be if all processes exchanged data: a row then has all peers in order, without the process itself. */
static pto_flow_t *flow_to(const pto_flows_t *flows, int64_t *used, int64_t from, int64_t to, bool known) {
    pto_flow_t *row = flows->flow + flows->first[from];
    int64_t place = to > from ? to - 1 : to;
    if (known && place < used[from] && row[place].peer == to)
        return &row[place];
    for (int64_t i = 0; i < used[from] && known; i++)
        if (row[i].peer == to)
            return &row[i];
    row[used[from]] = (pto_flow_t){.peer = to};
    return &row[used[from]++];
}

/* Every flow is in the rows of both its ends, so a row has room for what the process sends and receives. */
static pto_status_t size_rows(maker_t *maker, pto_flows_t *flows, pto_error_t *err) {
    for (int64_t source = 0; source < maker->count; source++) {
        make_row(maker, source);
        flows->first[source + 1] += maker->row.count;
        for (int64_t i = 0; i < maker->row.count; i++)
            flows->first[maker->row.peer[i] + 1]++;
    }
    for (int64_t i = 0; i < maker->count; i++)
        flows->first[i + 1] += flows->first[i];
    if (flows->first[maker->count] > PTO_FLOWS_MAX)
        return pto_error_set(err, PTO_ERR_TOO_LARGE, "%lld pairs of processes exchange data, more than %d",
                             (long long)flows->first[maker->count] / 2, PTO_FLOWS_MAX / 2);
    flows->flow = calloc((size_t)flows->first[maker->count] + 1, sizeof *flows->flow);
    return flows->flow ? PTO_OK : pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a mapping");
}

/* Closes the gaps behind rows: processes that send to a peer and receive from it have one flow for both. */
static void pack_rows(pto_flows_t *flows, const int64_t *used) {
    int64_t end = 0;
    for (int64_t i = 0; i < flows->count; i++) {
        memmove(flows->flow + end, flows->flow + flows->first[i], (size_t)used[i] * sizeof *flows->flow);
        flows->first[i] = end;
        end += used[i];
    }
    flows->first[flows->count] = end;
}

static void fill_rows(maker_t *maker, pto_flows_t *flows, int64_t *used) {
    for (int64_t source = 0; source < maker->count; source++) {
        make_row(maker, source);
        for (int64_t i = 0; i < maker->row.count; i++) {
            int64_t peer = maker->row.peer[i];
            flow_to(flows, used, source, peer, peer < source)->out = maker->row.volume[peer];
            flow_to(flows, used, peer, source, peer < source)->in = maker->row.volume[peer];
        }
    }
    pack_rows(flows, used);
}

pto_status_t pto_flows_make(const pto_counts_t *counts, int64_t bytes, int64_t count, pto_flows_t *flows,
                            pto_error_t *err) {
    int64_t order = pto_counts_order(counts);
    pto_status_t status = pto_counts_check(counts, err);
    if (status != PTO_OK)
        return status;
    if (order > 0 && order != count)
        return pto_error_set(err, PTO_ERR_RANGE, "counts of %lld processes for %lld places", (long long)order,
                             (long long)count);
    maker_t maker = {.counts = counts, .bytes = bytes, .count = count};
    int64_t *numbers = calloc(3 * (size_t)count + 1, sizeof *numbers);
    pto_flows_t made = {.count = count, .first = calloc((size_t)count + 1, sizeof *made.first)};
    maker.row.volume = calloc((size_t)count, sizeof *maker.row.volume);
    if (numbers && made.first && maker.row.volume) {
        maker.row.peer = numbers;
        maker.row.candidate = numbers + count;
        status = size_rows(&maker, &made, err);
        if (status == PTO_OK)
            fill_rows(&maker, &made, numbers + 2 * count);
    } else {
        status = pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a mapping");
    }
    free(maker.row.volume);
    free(numbers);
    if (status == PTO_OK)
        *flows = made;
    else
        pto_flows_fini(&made);
    return status;
}

void pto_flows_fini(pto_flows_t *flows) {
    free(flows->first);
    free(flows->flow);
    *flows = (pto_flows_t){.count = 0};
}

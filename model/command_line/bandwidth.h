/* Bandwidths as nccl-tests defines them (its doc/PERFORMANCE.md). The algorithm bandwidth is the bytes of the
 * larger buffer over the time. The bus bandwidth is that, multiplied by the bytes that the collective must
 * move per byte of the buffer: 2(n-1)/n for allreduce, (n-1)/n for collectives of blocks, else 1. */
#ifndef PTO_BANDWIDTH_H
#define PTO_BANDWIDTH_H

#include "portolan/scenario.h"
#include "portolan/units.h"

/* Columns of a table: times alone, one of the bandwidths in place of times, or both beside times. */
typedef enum {
    PTO_BANDWIDTH_NONE,
    PTO_BANDWIDTH_ALGORITHM,
    PTO_BANDWIDTH_BUS,
    PTO_BANDWIDTH_BOTH,
    PTO_BANDWIDTH_COUNT
} pto_bandwidth_t;

/* A call of a collective, for its bandwidths. */
typedef struct {
    pto_collective_t collective;
    int64_t procs, bytes, messages; /* `bytes` and `messages` as in a scenario */
} pto_moved_t;

const char *pto_bandwidth_name(int i);
bool pto_bandwidth_replaces_times(pto_bandwidth_t bandwidth);
/* "12.3 us", or "220 GB/s" where a bandwidth replaces it. Returns `text`. */
const char *pto_bandwidth_or_time(pto_bandwidth_t bandwidth, const pto_moved_t *moved, double seconds,
                                  char text[PTO_SECONDS_TEXT_MAX]);

/* In GB/s; a dash if the time is not above 0, or if bytes differ between processes. */
const char *pto_bandwidth_rate(pto_bandwidth_t bandwidth, const pto_moved_t *moved, double seconds,
                               char text[PTO_SECONDS_TEXT_MAX]);

enum { PTO_BANDWIDTH_COLUMN = 6, PTO_BANDWIDTH_COLUMNS_MAX = 64 };

/* The columns algbw and busbw: their width, heading and values. Empty unless both are asked for. */
int pto_bandwidth_columns_width(pto_bandwidth_t bandwidth);
const char *pto_bandwidth_heading(pto_bandwidth_t bandwidth, char text[PTO_BANDWIDTH_COLUMNS_MAX]);
const char *pto_bandwidth_columns(pto_bandwidth_t bandwidth, const pto_moved_t *moved, double seconds,
                                  char text[PTO_BANDWIDTH_COLUMNS_MAX]);
/* Print the line above a table that names its bandwidths. `of` is used for both: "of the cheapest". */
void pto_print_bandwidth_head(pto_bandwidth_t bandwidth, const char *of);

#endif

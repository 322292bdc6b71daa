/* Algorithm and bus bandwidths of collectives, formatted for tables. */
#include "bandwidth.h"

#include <stdio.h>

#include "base/names.h"

PTO_WORD_LIST(pto_bandwidth_name, "none", "algorithm", "bus", "both");

bool pto_bandwidth_replaces_times(pto_bandwidth_t bandwidth) {
    return bandwidth == PTO_BANDWIDTH_ALGORITHM || bandwidth == PTO_BANDWIDTH_BUS;
}

/* The algorithm or bus bandwidth of a call that takes `seconds`, as bandwidth.h defines them. */
static double gb_per_s(pto_bandwidth_t bandwidth, const pto_moved_t *moved, double seconds) {
    const pto_collective_t collective = moved->collective;
    const double n = (double)moved->procs;
    double bytes = (double)moved->bytes, bus_factor = 1;
    switch (pto_collective_data(collective)) {
    case PTO_DATA_BLOCKS:
    case PTO_DATA_GATHERED:
    case PTO_DATA_SCATTERED:
        bytes *= n;
        bus_factor = (n - 1) / n;
        break;
    case PTO_DATA_MESSAGES:
        bytes *= (double)moved->messages;
        break;
    case PTO_DATA_VECTOR:
        if (!pto_collective_is_from_root(collective) && !pto_collective_is_to_root(collective))
            bus_factor = 2 * (n - 1) / n;
        break;
    case PTO_DATA_PAIR:
    case PTO_DATA_GRID:
    case PTO_DATA_COUNT:
        break;
    }
    return 1e-9 * bytes * (bandwidth == PTO_BANDWIDTH_BUS ? bus_factor : 1) / seconds;
}

/* Format a rate with three digits. */
static void format_rate(double rate, const char *unit, char text[PTO_SECONDS_TEXT_MAX]) {
    int digits = rate < 99.95 ? 1 : 0; /* after the point */
    digits = rate < 9.995 ? 2 : digits;
    snprintf(text, PTO_SECONDS_TEXT_MAX, "%.*f%s", digits, rate, unit);
}

const char *pto_bandwidth_or_time(pto_bandwidth_t bandwidth, const pto_moved_t *moved, double seconds,
                                  char text[PTO_SECONDS_TEXT_MAX]) {
    if (pto_bandwidth_replaces_times(bandwidth) && seconds > 0)
        format_rate(gb_per_s(bandwidth, moved, seconds), " GB/s", text);
    else
        pto_seconds_text(seconds, text);
    return text;
}

const char *pto_bandwidth_rate(pto_bandwidth_t bandwidth, const pto_moved_t *moved, double seconds,
                               char text[PTO_SECONDS_TEXT_MAX]) {
    if (!(seconds > 0) || pto_collective_data(moved->collective) == PTO_DATA_GRID ||
        pto_collective_is_by_pair(moved->collective))
        return "-";
    format_rate(gb_per_s(bandwidth, moved, seconds), "", text);
    return text;
}

int pto_bandwidth_columns_width(pto_bandwidth_t bandwidth) {
    return bandwidth == PTO_BANDWIDTH_BOTH ? 2 * PTO_BANDWIDTH_COLUMN : 0;
}

static const char *print_columns(pto_bandwidth_t bandwidth, const char *algorithm, const char *bus,
                                 char text[PTO_BANDWIDTH_COLUMNS_MAX]) {
    text[0] = '\0';
    if (bandwidth == PTO_BANDWIDTH_BOTH)
        snprintf(text, PTO_BANDWIDTH_COLUMNS_MAX, "%*s%*s", PTO_BANDWIDTH_COLUMN, algorithm,
                 PTO_BANDWIDTH_COLUMN, bus);
    return text;
}

const char *pto_bandwidth_heading(pto_bandwidth_t bandwidth, char text[PTO_BANDWIDTH_COLUMNS_MAX]) {
    return print_columns(bandwidth, "algbw", "busbw", text);
}

const char *pto_bandwidth_columns(pto_bandwidth_t bandwidth, const pto_moved_t *moved, double seconds,
                                  char text[PTO_BANDWIDTH_COLUMNS_MAX]) {
    char algorithm[PTO_SECONDS_TEXT_MAX], bus[PTO_SECONDS_TEXT_MAX];
    return print_columns(bandwidth, pto_bandwidth_rate(PTO_BANDWIDTH_ALGORITHM, moved, seconds, algorithm),
                         pto_bandwidth_rate(PTO_BANDWIDTH_BUS, moved, seconds, bus), text);
}

void pto_print_bandwidth_head(pto_bandwidth_t bandwidth, const char *of) {
    if (bandwidth == PTO_BANDWIDTH_BOTH)
        printf("# bandwidth  algbw, busbw: GB/s %s, as nccl-tests defines them\n", of);
    else if (bandwidth != PTO_BANDWIDTH_NONE)
        printf("# bandwidth  of the %s, as nccl-tests defines it\n",
               bandwidth == PTO_BANDWIDTH_BUS ? "bus" : "algorithm");
}

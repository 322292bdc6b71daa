/* Fits the costs of sharing: the rate of a socket's memory, which its processes share, and the slowdown of
 * messages both ways or between copies, which share the CPU of a process. */
#include <math.h>
#include <stdio.h>

#include "parts.h"
#include "select.h"

enum { COLUMN_START, COLUMN_SHARED, COLUMN_COUNT };

static const char no_line[] = "its samples allow no regression";

/* n processes that copy s bytes each read and write 2 n s bytes: T = a + r 2 n s. */
static bool fill_memory(const fit_point_t *point, const void *context, fit_row_t *row) {
    (void)context;
    row->column[COLUMN_START] = 1;
    row->column[COLUMN_SHARED] = 2.0 * point->procs * (double)point->bytes;
    return true;
}

/* The processes of a socket show its memory's rate if they take clearly longer than one alone. */
static const double slower_ratio = 1.2;

/* Fewer processes than half the cores of a socket do not reach the memory's rate: on H200 hosts, a quarter of
 * them reach 58 and 73 percent of what 32 do, and 2 of 64 a fifth. */
static bool are_enough(const fit_work_t *work, int procs) {
    const pto_machine_t *machine = work->fit->machine;
    return 2 * procs * machine->node.sockets >= machine->node.cores;
}

void fit_host_memory(fit_work_t *work) {
    const pto_postal_t *alone = &work->fit->machine->copies[PTO_COPY_H2H][PTO_REACH_ON_SOCKET];
    pto_param_t *param = &work->fit->machine->host_memory_s_per_byte;
    char note[PTO_FIT_NOTE_MAX];
    fit_regression_t line;
    const fit_points_t points =
        fit_select(work, (fit_filter_t){PTO_BENCHMARK_MEMCPY_H2H, PTO_IN_COUNT, PTO_AT_ON_SOCKET, 0, 0});
    const fit_points_t most = fit_with_max_procs(&points);
    int procs = (int)fit_max_procs(&points);
    const char *key = fit_key(work, param);
    if (procs > 1 && !are_enough(work, procs)) {
        fit_note(work, key, most.count,
                 "%d processes at most copy at once, which does not show the rate of a socket's memory: "
                 "it takes half of its %d cores",
                 procs, (int)(work->fit->machine->node.cores / work->fit->machine->node.sockets));
        return;
    }
    if (procs <= 1 || !pto_postal_known(alone) ||
        !fit_line(work, key, &most, &(fit_model_t){COLUMN_COUNT, fill_memory, NULL}, no_line, &line))
        return;
    double slower = 2 * procs * line.value[COLUMN_SHARED] / alone->beta_s_per_byte.value;
    snprintf(note, sizeof note, "%d processes copy at once, for %.2f times as long as one alone", procs,
             slower);
    if (slower < slower_ratio)
        fit_note(work, key, most.count, "%s: not the memory's rate", note);
    else
        fit_keep_param(work, PTO_FIT_RATE, key, fit_param(&line, COLUMN_SHARED), &line, param, "%s", note);
}

/* A message with one the other way, or between copies, takes a + (1 + f) b s, where a message alone takes b s
 * of its piece for its bytes. The slowdown f is fitted. */
static bool fill_slower(const fit_point_t *point, const void *context, fit_row_t *row) {
    const pto_cost_table_t *messages = context;
    row->column[COLUMN_START] = 1;
    for (int i = 0; i < messages->count; i++)
        if (point->bytes >= messages->row[i].from_bytes && point->bytes < messages->row[i].below_bytes)
            row->column[COLUMN_SHARED] = messages->row[i].postal.beta_s_per_byte.value * (double)point->bytes;
    return true;
}

static double above_one(double value) { return fit_round(fmax(value - 1, 0)); }

/* Fits a slowdown at one level, whose messages are `messages`. */
static void fit_slowdown_at(fit_work_t *work, fit_filter_t filter, const pto_cost_table_t *messages,
                            pto_param_t *param) {
    fit_regression_t line;
    const fit_points_t points = fit_select(work, filter);
    const char *key = fit_key(work, param);
    if (points.count == 0 || messages->count == 0 ||
        !fit_line(work, key, &points, &(fit_model_t){COLUMN_COUNT, fill_slower, messages}, no_line, &line))
        return;
    pto_param_t ratio = fit_param(&line, COLUMN_SHARED);
    ratio.value = above_one(ratio.value);
    ratio.low = above_one(ratio.low);
    ratio.high = above_one(ratio.high);
    fit_keep_param(work, PTO_FIT_TIME, key, ratio, &line, param, "%s", "");
}

/* Fits a slowdown to samples on one socket; if there are none, to those between sockets. */
static void fit_slowdown(fit_work_t *work, pto_benchmark_t benchmark, pto_space_t space, pto_param_t *param) {
    const pto_cost_table_t *messages = work->fit->machine->messages[space];
    fit_filter_t filter = {benchmark, fit_where_of_space[space], PTO_AT_ON_SOCKET, 0, 0};
    fit_slowdown_at(work, filter, &messages[PTO_LEVEL_ON_SOCKET], param);
    if (pto_param_known(param))
        return;
    filter.place = PTO_AT_ON_NODE;
    fit_slowdown_at(work, filter, &messages[PTO_LEVEL_ON_NODE], param);
}

void fit_both_ways(fit_work_t *work, pto_space_t space) {
    fit_slowdown(work, PTO_BENCHMARK_EXCHANGE, space, &work->fit->machine->both_ways[space]);
}

void fit_staged_messages(fit_work_t *work) {
    fit_slowdown(work, PTO_BENCHMARK_STAGED, PTO_SPACE_CPU, &work->fit->machine->staged_message);
}

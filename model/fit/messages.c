/* Message costs: the limits of the protocols, then a line for each; and what further messages of one process
 * cost. A machine file names protocols; data only show pieces, so the last is called rendezvous, the one
 * before it eager and the one before that short. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "fit_internal.h"
#include "text_file.h"

static const pto_benchmark_t alone_benchmarks[] = {PTO_BENCHMARK_PING_PONG, PTO_BENCHMARK_INJECTION};

static const pto_sample_level_t place_of_level[PTO_LEVEL_COUNT] = {
    [PTO_LEVEL_ON_GPU] = PTO_AT_ON_GPU,
    [PTO_LEVEL_ON_SOCKET] = PTO_AT_ON_SOCKET,
    [PTO_LEVEL_ON_NODE] = PTO_AT_ON_NODE,
    [PTO_LEVEL_OFF_NODE] = PTO_AT_OFF_NODE,
};

static pto_sample_space_t where_of_space(pto_space_t space) {
    return space == PTO_SPACE_GPU ? PTO_IN_GPU : PTO_IN_CPU;
}

/* Ping-pong rows; where there are none, the rows of injection with one process, which is the same thing. */
static pto_status_t select_alone(const fit_work_t *work, pto_space_t space, pto_level_t level,
                                 fit_points_t *points) {
    for (size_t i = 0; i < sizeof alone_benchmarks / sizeof *alone_benchmarks; i++) {
        fit_filter_t filter = {alone_benchmarks[i], where_of_space(space), place_of_level[level], 1, 0};
        pto_status_t status = fit_select(work, &filter, points);
        if (status != PTO_OK || points->count > 0 || i > 0) {
            return status;
        }
        free(points->point);
    }
    return PTO_OK;
}

static pto_status_t fit_piece(fit_work_t *work, const char *level_name, const fit_points_t *points,
                              pto_piece_t *piece) {
    char name[PTO_FIT_NAME_MAX + 16];
    snprintf(name, sizeof name, "%s.%s", level_name, pto_protocol_name(piece->protocol));
    fit_points_t own = fit_slice(points, piece->from_bytes, piece->below_bytes);
    pto_status_t status = fit_postal_entry(work, name, &own, &piece->postal);
    if (status == PTO_OK) {
        work->fit->entry[work->fit->entry_count - 1].below_bytes = piece->below_bytes;
    }
    return status;
}

/* All pieces of a level or none: a gap would be priced by a neighbour's line. */
static pto_status_t fit_pieces(fit_work_t *work, const char *name, const fit_points_t *points,
                               int break_count, const int64_t *below_bytes, pto_message_cost_t *cost) {
    pto_message_cost_t made = {.count = break_count + 1};
    for (int k = 0; k < made.count; k++) {
        pto_piece_t *piece = &made.piece[k];
        piece->protocol = (pto_protocol_t)(PTO_PROTOCOL_COUNT - made.count + k);
        piece->from_bytes = k > 0 ? below_bytes[k - 1] : 0;
        piece->below_bytes = k < break_count ? below_bytes[k] : INT64_MAX;
        pto_status_t status = fit_piece(work, name, points, piece);
        if (status != PTO_OK || !pto_postal_known(&piece->postal)) {
            for (int j = 0; j < made.count; j++) {
                free(made.piece[j].postal.flagged);
            }
            return status;
        }
    }
    *cost = made;
    return PTO_OK;
}

pto_status_t fit_messages(fit_work_t *work, pto_space_t space, pto_level_t level) {
    char name[PTO_FIT_NAME_MAX];
    snprintf(name, sizeof name, "messages.%s.%s", pto_space_name(space), pto_level_name(level));
    fit_points_t points;
    pto_status_t status = select_alone(work, space, level, &points);
    if (status != PTO_OK) {
        return status;
    }
    if (points.count > 0) {
        const pto_fit_breaks_t *forced = &work->options->breaks[space][level];
        int count = forced->count;
        int64_t below_bytes[PTO_PIECE_MAX] = {0};
        for (int i = 0; i < count; i++) {
            below_bytes[i] = forced->below_bytes[i];
        }
        if (!forced->given) {
            status = fit_find_breaks(&points, PTO_PIECE_MAX, &count, below_bytes, work->err);
        }
        if (status == PTO_OK) {
            status = fit_pieces(work, name, &points, count, below_bytes,
                                &work->fit->machine.messages[space][level]);
        }
    }
    free(points.point);
    return status;
}

/* Rows of 1, n - 1, n (n - 1) / 2 and n s. */
static pto_status_t regress_messages(const fit_work_t *work, const fit_points_t *points,
                                     fit_regression_t *result) {
    fit_design_t design;
    pto_status_t status = fit_design_init(points->count, 4, &design, work->err);
    if (status != PTO_OK) {
        return status;
    }
    for (size_t i = 0; i < points->count; i++) {
        double n = points->point[i].messages;
        double *row = design.column + 4 * i;
        row[0] = 1;
        row[1] = n - 1;
        row[2] = n * (n - 1) / 2;
        row[3] = n * (double)points->point[i].bytes;
        design.seconds[i] = points->point[i].seconds;
    }
    status = fit_regress(&design, work->options->minima, result, work->err);
    fit_design_fini(&design);
    return status;
}

static int32_t most_messages(const fit_points_t *points) {
    int32_t most = 0;
    for (size_t i = 0; i < points->count; i++) {
        most = points->point[i].messages > most ? points->point[i].messages : most;
    }
    return most;
}

/* Messages below the last protocol: above it a send waits for its receiver, and n messages are n times one.
 */
static void keep_small(const fit_work_t *work, pto_space_t space, fit_points_t *points) {
    const pto_message_cost_t *cost = &work->fit->machine.messages[space][PTO_LEVEL_OFF_NODE];
    int64_t below = cost->count > 1 ? cost->piece[cost->count - 1].from_bytes : INT64_MAX;
    size_t kept = 0;
    for (size_t i = 0; i < points->count; i++) {
        if (points->point[i].bytes < below) {
            points->point[kept++] = points->point[i];
        }
    }
    points->count = kept;
}

/* Why to doubt the costs of further messages; empty where there is no reason. */
static void remark(const fit_regression_t *result, char *note, size_t note_size) {
    note[0] = '\0';
    if (result->residual > fit_doubtful_residual) {
        snprintf(note, note_size, "half of the samples lie more than %.0f percent off the model",
                 100 * result->residual);
    } else if (result->held[1] || result->held[2]) {
        snprintf(note, note_size, "%s held at 0: the samples would have it negative",
                 result->held[1] ? "alpha_s" : "queue_s");
    }
}

static pto_status_t keep_per_message(fit_work_t *work, pto_space_t space, const char *name,
                                     const fit_points_t *points) {
    fit_regression_t result;
    pto_status_t status = regress_messages(work, points, &result);
    if (status == PTO_ERR_NOT_FOUND) {
        return fit_give_up(work, name, "its samples allow no regression");
    }
    if (status != PTO_OK) {
        return status;
    }
    pto_fit_entry_t *entry = fit_entry_add(work, PTO_FIT_MESSAGE, "%s", name);
    if (entry == NULL) {
        return PTO_ERR_MEMORY;
    }
    entry->alpha_s = fit_param(&result, 1);
    entry->queue_s = fit_param(&result, 2);
    entry->sample_count = (int64_t)points->count;
    entry->below_bytes = INT64_MAX;
    entry->residual = fit_round(result.residual);
    remark(&result, entry->note, sizeof entry->note);
    char *flagged = entry->note[0] != '\0' ? pto_text_copy(entry->note) : NULL;
    if (entry->note[0] != '\0' && flagged == NULL) {
        return pto_error_set(work->err, PTO_ERR_MEMORY, "out of memory for fitted parameters");
    }
    work->fit->machine.per_message[space] =
        (pto_per_message_t){entry->alpha_s, entry->queue_s, entry->sample_count, entry->residual, flagged};
    return PTO_OK;
}

pto_status_t fit_per_message(fit_work_t *work, pto_space_t space) {
    char name[PTO_FIT_NAME_MAX];
    snprintf(name, sizeof name, "per_message.%s", pto_space_name(space));
    fit_filter_t filter = {PTO_BENCHMARK_MULTI_MESSAGE, where_of_space(space), PTO_AT_OFF_NODE, 0, 0};
    fit_points_t points;
    pto_status_t status = fit_select(work, &filter, &points);
    if (status != PTO_OK) {
        return status;
    }
    bool measured = points.count > 0;
    keep_small(work, space, &points);
    if (measured && most_messages(&points) < 3) {
        status = fit_give_up(work, name, "needs rows of three or more small messages");
    } else if (measured) {
        status = keep_per_message(work, space, name, &points);
    }
    free(points.point);
    return status;
}

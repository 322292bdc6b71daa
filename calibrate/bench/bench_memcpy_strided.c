/* Strided copies: rows of 4 B to 4 KiB with gaps, like the columns of a grid, in one copy. `messages` is the
 * bytes of a row, `bytes` those of all rows together. */
#include "memcpy_common.h"

enum { ROWS_MAX = 65536, ROW_LEAST_BYTES = 4, ROW_MOST_BYTES = 4096, PITCH_LEAST_BYTES = 512 };

/* Larger copies would take milliseconds. */
static const int64_t max_bytes = INT64_C(1) << 24;

/* The distance from a row to the next: rows share no sector of memory. */
static int64_t pitch_of(int64_t row_bytes) {
    return 4 * row_bytes > PITCH_LEAST_BYTES ? 4 * row_bytes : PITCH_LEAST_BYTES;
}

static void add_case(const job_t *job, pto_copy_kind_t kind, int row_bytes, case_list_t *list) {
    int64_t max = (int64_t)ROWS_MAX * row_bytes;
    case_t *added = copying_own_case(job, "memcpy_strided", kind, list);
    added->messages = row_bytes;
    added->min_bytes = row_bytes;
    added->max_bytes = max < max_bytes ? max : max_bytes;
    added->room = pitch_of(row_bytes) / row_bytes;
}

static void list_cases(const job_t *job, case_list_t *list) {
    for (pto_copy_kind_t kind = PTO_COPY_H2D; kind <= PTO_COPY_D2D; kind++)
        for (int row_bytes = ROW_LEAST_BYTES; row_bytes <= ROW_MOST_BYTES; row_bytes *= 4)
            add_case(job, kind, row_bytes, list);
}

/* Both sides have rows, like the two arrays of a halo exchange written by hand. */
static void copy_once(const work_t *work, int64_t bytes) {
    const copying_t *copying = work->state;
    int64_t row_bytes = work->bench_case->messages;
    size_t rows = (size_t)(bytes / row_bytes);
    size_t pitch = (size_t)pitch_of(row_bytes);
    copy_and_wait((pto_move_t){copying->target, copying->source, (size_t)row_bytes, rows, pitch, pitch});
}

const benchmark_t bench_memcpy_strided = {
    .name = "memcpy_strided",
    .group = "copies",
    .rows = "memcpy_strided_h2d, memcpy_strided_d2h, memcpy_strided_d2d",
    .summary = "rows of 4 B to 4 KiB in one copy",
    .gpu_only = "memcpy_strided",
    .state_bytes = sizeof(copying_t),
    .list = list_cases,
    .open = copying_open,
    .once = copy_once,
};

/* The registry of benchmarks, in the order in which they run: one line each. Also fills their lists of cases.
 */
#include <stdio.h>
#include <string.h>

#include "benchmark.h"

#define BENCHMARKS(ROW)                                                                                      \
    ROW(ping_pong)                                                                                           \
    ROW(ping_pong_to)                                                                                        \
    ROW(ping_pong_strided)                                                                                   \
    ROW(exchange)                                                                                            \
    ROW(staged)                                                                                              \
    ROW(memcpy)                                                                                              \
    ROW(memcpy_shared)                                                                                       \
    ROW(memcpy_peer)                                                                                         \
    ROW(memcpy_mixed)                                                                                        \
    ROW(memcpy_queued)                                                                                       \
    ROW(memcpy_strided)                                                                                      \
    ROW(memcpy_method)                                                                                       \
    ROW(memcpy_h2h)                                                                                          \
    ROW(remote)                                                                                              \
    ROW(remote_all)                                                                                          \
    ROW(injection)                                                                                           \
    ROW(multi_message)                                                                                       \
    ROW(reduce)                                                                                              \
    ROW(reduce_many)                                                                                         \
    ROW(signal_flag)                                                                                         \
    ROW(signal_device)                                                                                       \
    ROW(kernel_launch)                                                                                       \
    ROW(kernel_queued)                                                                                       \
    ROW(graph_launch)                                                                                        \
    ROW(event)                                                                                               \
    ROW(setup)                                                                                               \
    ROW(run_launch)                                                                                          \
    ROW(run_lines)                                                                                           \
    ROW(nccl)                                                                                                \
    ROW(library)

#define DECLARE(name) extern const benchmark_t bench_##name;
BENCHMARKS(DECLARE)
#undef DECLARE

#define ENTRY(name) &bench_##name,
const benchmark_t *const benchmark_registry[] = {BENCHMARKS(ENTRY)};
#undef ENTRY

const int benchmark_count = (int)(sizeof benchmark_registry / sizeof benchmark_registry[0]);

/* Lists the cases of each space in which messages can be measured, by `list_in`. */
static void list_in_spaces(const benchmark_t *benchmark, const job_t *job, case_list_t *list) {
    for (pto_space_t space = 0; space < PTO_SPACE_COUNT; space++) {
        const char *why = job_no_messages(job, space);
        if (why != NULL)
            case_skip(list, why, "%s_%s", benchmark->name, pto_space_name(space));
        else
            benchmark->list_in(job, space, list);
    }
}

/* Lists a case for each of the names in `row`, which are separated by ", ". */
static void list_rows(const char *row, case_list_t *list) {
    for (int i = 0; *row != '\0'; i++) {
        char name[CASE_NAME_MAX];
        size_t length = strcspn(row, ", ");
        snprintf(name, sizeof name, "%.*s", (int)length, row);
        case_t *added = case_add_in(list, name, PTO_SPACE_GPU, 1);
        added->sized = false;
        added->detail[0] = i;
        row += length;
        row += strspn(row, ", ");
    }
}

void case_list_fill(const benchmark_t *benchmark, const job_t *job, case_list_t *list) {
    if (benchmark->list != NULL)
        benchmark->list(job, list);
    else if (benchmark->list_in != NULL)
        list_in_spaces(benchmark, job, list);
    else
        list_rows(benchmark->rows != NULL ? benchmark->rows : benchmark->name, list);
}

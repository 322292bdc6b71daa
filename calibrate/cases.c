/* Lists the cases of benchmarks, and what is skipped and why; chooses counts to measure (benchmark.h). */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "benchmark.h"
#include "fatal.h"

case_t *case_add(case_list_t *list, const char *benchmark, int member_count) {
    if (!PTO_EXTEND(list->cases, list->case_count))
        die("out of memory for the list of cases");
    case_t *added = &list->cases[list->case_count++];
    memset(added, 0, sizeof *added);
    snprintf(added->benchmark, sizeof added->benchmark, "%s", benchmark);
    snprintf(added->pair, sizeof added->pair, "-");
    added->space = "-";
    added->level = "-";
    added->procs = 1;
    added->messages = 1;
    added->sized = true;
    added->min_bytes = 1;
    added->max_bytes = INT64_MAX;
    added->room = 1;
    added->member_count = member_count;
    added->member = must_allocate((size_t)member_count, sizeof *added->member);
    return added;
}

case_t *case_add_in(case_list_t *list, const char *benchmark, pto_space_t space, int member_count) {
    case_t *added = case_add(list, benchmark, member_count);
    added->space = pto_space_name(space);
    added->buffers = space;
    return added;
}

void case_skip(case_list_t *list, const char *reason, const char *format, ...) {
    va_list arguments;
    if (!PTO_EXTEND(list->skips, list->skip_count))
        die("out of memory for the list of cases");
    skip_t *skip = &list->skips[list->skip_count++];
    va_start(arguments, format);
    vsnprintf(skip->what, sizeof skip->what, format, arguments);
    va_end(arguments);
    snprintf(skip->reason, sizeof skip->reason, "%s", reason);
}

void case_list_fini(case_list_t *list) {
    for (int i = 0; i < list->case_count; i++)
        free(list->cases[i].member);
    free(list->cases);
    free(list->skips);
    memset(list, 0, sizeof *list);
}

int next_count(int count, int max) {
    if (count >= max)
        return 0;
    int next = count + 1;
    if (count >= 4) { /* 4, 6, 8, 12, 16, ...: after 2^k comes 3/2 of it, and then 4/3 of that */
        bool is_power_of_two = (count & (count - 1)) == 0;
        next = is_power_of_two ? count + count / 2 : count + count / 3;
    }
    return next < max ? next : max;
}

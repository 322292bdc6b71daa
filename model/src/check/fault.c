/* Reports a fault of a plan with its rank, stage and run. */
#include <stdarg.h>
#include <stdio.h>

#include "check/check_internal.h"

bool pto_check_fail(pto_checker_t *checker, int64_t rank, const char *format, ...) {
    char cause[PTO_ERROR_MESSAGE_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(cause, sizeof cause, format, arguments);
    va_end(arguments);
    char place[128] = "the end";
    const pto_walk_t *walk = &checker->walk;
    static const char *const run_text[] = {"", ", second run", ", third run"};
    const char *run = run_text[checker->run];
    if (checker->leaving)
        snprintf(place, sizeof place, "the end of the collective%s", run);
    else if (walk->stage && walk->loop >= 0)
        snprintf(place, sizeof place, "stage '%.80s', k=%lld%s", walk->stage->name, (long long)walk->k, run);
    else if (walk->stage)
        snprintf(place, sizeof place, "stage '%.80s'%s", walk->stage->name, run);
    else if (walk->instance < 0)
        snprintf(place, sizeof place, "the start");
    checker->status = pto_error_set(checker->err, PTO_ERR_INVALID_PLAN, "rank %lld, %s: %.300s",
                                    (long long)rank, place, cause);
    return false;
}

bool pto_check_out_of_memory(pto_checker_t *checker) {
    checker->status = pto_error_set(checker->err, PTO_ERR_MEMORY, "out of memory for checking %lld ranks",
                                    (long long)checker->ranks);
    return false;
}

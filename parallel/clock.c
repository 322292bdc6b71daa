/* The clock of measurements (clock.h). */
#include "clock.h"

#include <math.h>
#include <time.h>

#include "base/clock.h"

double now_s(void) { return pto_now_s(); }

void rest(double seconds) {
    const struct timespec time = {(time_t)seconds, (long)((seconds - floor(seconds)) * 1e9)};
    nanosleep(&time, NULL);
}

const char *clock_name(void) { return "CLOCK_MONOTONIC"; }

#include "made_clock.h"

static double clock_s;

double __wrap_now_s(void) { /* NOLINT(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
    return clock_s;
}

void __wrap_rest(double seconds) { /* NOLINT(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
    clock_s += seconds;
}

double made_clock_s(void) { return clock_s; }

void made_clock_pass(double seconds) { clock_s += seconds; }

/* A clock that goes on only where a test says so, in place of portolan-calibrate's (--wrap=now_s,
 * --wrap=rest). */
#ifndef PORTOLAN_TESTS_MADE_CLOCK_H
#define PORTOLAN_TESTS_MADE_CLOCK_H

double made_clock_s(void);
void made_clock_pass(double seconds);

#endif

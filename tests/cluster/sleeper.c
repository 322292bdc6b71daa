/* For namespace nodes on few cores (LD_PRELOAD): a process that waits sleeps for a moment where it would
 * yield its core, so that those that have something to do find one. A program on any host polls; only on
 * links much slower than 30 microseconds may it look so seldom. */
#include <sched.h>
#include <time.h>

int sched_yield(void) {
    struct timespec moment = {.tv_nsec = 30000};
    return nanosleep(&moment, NULL);
}

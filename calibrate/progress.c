/* The progress bar (progress.h). Under mpirun, a process's standard error is a pipe that mpirun copies to its
 * own, so the bar is also shown if the parent's standard error is a terminal. */
#include "progress.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "benchmark.h"

enum { BAR_WIDTH = 30 };
static const double between_s = 0.1;

static bool launcher_has_terminal(void) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/fd/2", (long)getppid());
    int fd = open(path, O_WRONLY | O_NOCTTY);
    if (fd < 0)
        return false;
    bool terminal = isatty(fd) == 1;
    close(fd);
    return terminal;
}

bool progress_wanted(void) { return isatty(STDERR_FILENO) == 1 || launcher_has_terminal(); }

void progress_show(const char *benchmark, int done, int total, double left_s) {
    static double drawn_s;
    if (done > 0 && now_s() - drawn_s < between_s)
        return;
    drawn_s = now_s();
    char bar[BAR_WIDTH + 1];
    int filled = total > 0 ? done * BAR_WIDTH / total : 0;
    for (int i = 0; i < BAR_WIDTH; i++)
        bar[i] = i < filled ? '#' : '.';
    bar[BAR_WIDTH] = '\0';
    fprintf(stderr, "\r%-14s [%s] %d of %d points, at most %.0f s left \033[K", benchmark, bar, done, total,
            left_s > 0.0 ? left_s : 0.0);
    fflush(stderr);
}

void progress_clear(void) {
    fputs("\r\033[K", stderr);
    fflush(stderr);
}

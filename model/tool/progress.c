/* Progress of simulations. */
#include "progress.h"

#include <stdio.h>
#include <unistd.h>

bool pto_progress_wanted(const pto_options_t *options) {
    return options->progress || isatty(STDERR_FILENO) == 1;
}

void pto_progress_show(const pto_simulate_progress_t *progress) {
    fprintf(stderr, "\r\033[Kcell %lld of %lld: %s by %s, %lld messages", (long long)progress->cell + 1,
            (long long)progress->cells, progress->strategy, progress->algorithm,
            (long long)progress->messages);
    fflush(stderr);
}

void pto_progress_clear(const pto_options_t *options) {
    if (pto_progress_wanted(options))
        fputs("\r\033[K", stderr);
}

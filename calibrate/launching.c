/* Timing launches that are waited for. */
#include "launching.h"

#include "benchmark.h"
#include "fatal.h"

static const double pause_s = 20e-6;

double launching_s(pto_status_t (*launch)(void *what, void *stream, pto_error_t *err), void *what,
                   int iterations) {
    double seconds = 0;
    for (int i = 0; i < iterations; i++) {
        double start = now_s();
        GPU_DO(launch(what, gpu.stream, &gpu_error));
        GPU_DO(gpu.device->finish(gpu.stream, &gpu_error));
        double end = now_s();
        seconds += end - start;
        while (now_s() - end < pause_s) {
        }
    }
    return seconds;
}

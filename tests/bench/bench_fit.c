/* A fit of a hundred thousand made-up samples, read from text as from a file: at most 1 s and 200 MiB.
 * Prints one line; exits 1 where it takes more. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "bench.h"
#include "portolan/fit.h"

enum { ROWS = 100000, ROW_BYTES = 96 };
static const double seconds_max = 1;
static const double mebibytes_max = 200;

static double uniform(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return ((double)(*state >> 11) + 0.5) / 9007199254740992.0;
}

static double shaken(double seconds, uint64_t *state) {
    double sum = 0;
    for (int i = 0; i < 12; i++)
        sum += uniform(state);
    return seconds * (1 + 0.05 * (sum - 6)) * (uniform(state) < 0.01 ? 100 : 1);
}

/* Three protocols, an injection limit and copies, as a calibration of one machine has them. */
static size_t write_row(char *text, int row, uint64_t *state) {
    static const char *const kinds[] = {"ping_pong,cpu,off_node", "ping_pong,gpu,off_node",
                                        "ping_pong,cpu,on_socket", "injection,cpu,off_node",
                                        "memcpy_h2d,-,on_socket"};
    int kind = row % 5;
    long long bytes = kind == 4 ? (long long)exp2(26 * uniform(state)) : 1LL << (row / 5 % 27);
    int procs = kind == 3 ? 1 << (row / 135 % 6) : 1;
    double alpha = kind == 4 ? 1.1e-5 : bytes < 512 ? 1.4e-6 : bytes < 16384 ? 6e-6 : 3e-5;
    double beta = kind == 4       ? 2.4e-11
                  : bytes < 512   ? 8e-9
                  : bytes < 16384 ? 9e-10
                                  : fmax(8.5e-11, 3e-11 * procs);
    return (size_t)snprintf(text, ROW_BYTES, "%s,%d-%d,%d,1,%lld,%d,%.6e\n", kinds[kind], row % 4,
                            4 + row % 4, procs, bytes, row / 33750,
                            shaken(alpha + beta * (double)bytes, state));
}

static char *make_text(size_t *size) {
    uint64_t state = 1;
    char *text = malloc((size_t)ROWS * ROW_BYTES + 256);
    if (text == NULL)
        return NULL;
    *size = (size_t)sprintf(text, "# machine=made up\n# node=2 sockets, 4 GPUs, 32 cores\n"
                                  "benchmark,space,level,pair,procs,messages,bytes,run,seconds\n");
    for (int row = 0; row < ROWS; row++)
        *size += write_row(text + *size, row, &state);
    return text;
}

int main(void) {
    size_t size = 0;
    char *text = make_text(&size);
    pto_samples_t samples = {0};
    pto_fit_options_t options = {0};
    pto_fit_t fit = {0};
    pto_error_t err = {0};
    double begin = bench_cpu_s();
    if (text == NULL || pto_samples_parse(text, size, "made-up.csv", &samples, &err) != PTO_OK ||
        pto_fit_samples(&samples, "made-up", "bench_fit", &options, &fit, &err) != PTO_OK) {
        fprintf(stderr, "bench_fit: %s\n", err.message);
        return 1;
    }
    double seconds = bench_cpu_s() - begin;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    double mebibytes = (double)usage.ru_maxrss / 1024;
    printf("fit of %d samples, %d parameters: %.3f s (at most %g), %.0f MiB (at most %g)\n", ROWS,
           fit.entry_count, seconds, seconds_max, mebibytes, mebibytes_max);
    bool fit_is_wrong = fit.entry_count == 0;
    pto_fit_fini(&fit);
    pto_samples_fini(&samples);
    free(text);
    if (fit_is_wrong)
        fprintf(stderr, "bench_fit: no parameter was fitted\n");
    if (fit_is_wrong || bench_is_short())
        return fit_is_wrong;
    return seconds <= seconds_max && mebibytes <= mebibytes_max ? 0 : 1;
}

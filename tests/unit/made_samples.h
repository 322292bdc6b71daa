/* Synthetic samples with known parameters, and fits of them, which live until the test ends. */
#ifndef PTO_TEST_MADE_SAMPLES_H
#define PTO_TEST_MADE_SAMPLES_H

#include "portolan/fit.h"
#include "test.h"

static const pto_fit_options_t any_node = {.node = {.sockets = 2, .gpus = 4, .cores = 16}};

/* A linear congruential generator (Knuth's MMIX), -1 to 1. */
static inline double shake(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*state >> 11) / 4503599627370496.0 - 1;
}

static inline void end_samples(void *samples) { pto_samples_fini(samples); }

static inline pto_samples_t *no_samples(void) { return keep_new(sizeof(pto_samples_t), end_samples); }

static inline void add(pto_samples_t *samples, pto_sample_t sample) {
    if (samples->count == samples->capacity) {
        samples->capacity = samples->capacity > 0 ? 2 * samples->capacity : 1024;
        samples->sample = realloc(samples->sample, samples->capacity * sizeof *samples->sample);
        assert_non_null(samples->sample);
    }
    samples->sample[samples->count++] = sample;
}

static inline void add_equal(pto_samples_t *samples, pto_sample_t sample, double seconds, int count) {
    sample.seconds = seconds;
    for (int i = 0; i < count; i++)
        add(samples, sample);
}

/* Of about this time: up to a share `noise` of it more or less. */
static inline void add_noisy(pto_samples_t *samples, pto_sample_t sample, double seconds, double noise,
                             int count, uint64_t *state) {
    for (int i = 0; i < count; i++) {
        sample.seconds = seconds * (1 + noise * shake(state));
        add(samples, sample);
    }
}

static const pto_sample_t message_row = {.benchmark = PTO_BENCHMARK_PING_PONG,
                                         .where = PTO_IN_CPU,
                                         .place = PTO_AT_OFF_NODE,
                                         .procs = 1,
                                         .messages = 1};

/* A fit needs some. */
static inline void add_few_messages(pto_samples_t *samples) {
    pto_sample_t sample = message_row;
    for (sample.bytes = 8; sample.bytes <= 4096; sample.bytes *= 8)
        add_equal(samples, sample, 1e-6 + 1e-10 * (double)sample.bytes, 1);
}

static inline pto_samples_t *new_samples(void) {
    pto_samples_t *samples = no_samples();
    add_few_messages(samples);
    return samples;
}

/* A file of one benchmark: after lines of provenance, five rows of each size, which have these first columns.
 */
static inline void parse_rows(const char *path, const char *provenance, const char *columns,
                              pto_samples_t *samples) {
    char text[4096];
    int length = snprintf(text, sizeof text,
                          "%sbenchmark,space,level,pair,procs,messages,bytes,run,seconds\n", provenance);
    for (int bytes = 8; bytes <= 1 << 20; bytes *= 8)
        for (int run = 1; run <= 5; run++)
            length += snprintf(text + length, sizeof text - (size_t)length, "%s,%d,%d,%g\n", columns, bytes,
                               run, 3e-5 + 1e-10 * bytes);
    assert_int_equal(pto_samples_parse(text, (size_t)length, path, samples, NULL), PTO_OK);
}

static inline void end_fit(void *fit) { pto_fit_fini(fit); }

static inline pto_fit_t must_fit(const pto_samples_t *samples, const pto_fit_options_t *options) {
    pto_fit_t fit;
    pto_error_t err = {0};
    assert_ok(pto_fit_samples(samples, "made-up", "a test", options, &fit, &err), &err);
    keep_owned(&fit, sizeof fit, end_fit);
    return fit;
}

/* The samples are refused, for a reason with these words. */
static inline void assert_no_fit(const pto_samples_t *samples, const pto_fit_options_t *options,
                                 pto_status_t status, const char *words) {
    pto_fit_t fit;
    pto_error_t err = {0};
    assert_int_equal(pto_fit_samples(samples, "made-up", "a test", options, &fit, &err), status);
    if (!strstr(err.message, words))
        fail_msg("'%s' does not say '%s'", err.message, words);
}

/* NULL if there is none of this name. */
static inline const pto_fit_entry_t *find_entry(const pto_fit_t *fit, const char *name) {
    for (int i = 0; i < fit->entry_count; i++)
        if (strcmp(fit->entry[i].name, name) == 0)
            return &fit->entry[i];
    return NULL;
}

static inline const pto_fit_entry_t *entry_named(const pto_fit_t *fit, const char *name) {
    int at = 0;
    while (at < fit->entry_count && strcmp(fit->entry[at].name, name) != 0)
        at++;
    assert_true(at < fit->entry_count);
    return &fit->entry[at];
}

#endif

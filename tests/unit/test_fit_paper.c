/* Fits of the measured samples of Summit and Lassen, compared with "Modeling Data Movement Performance on
 * Heterogeneous Architectures" (arXiv:2010.10378): the fits must reproduce its Tables I to III from its own
 * data, and the default fit must describe those data better. Skipped if the samples (PORTOLAN_SHARED, or
 * ../shared) are absent. */
#include <unistd.h>

#include "../../model/fit/regress.h"
#include "machine/machine_internal.h"
#include "made_samples.h"
#include "must.h"
#include "test.h"

/* Printed values are two or three digits; the issue allows 2 percent. */
static const double printed_tolerance = 0.02;

typedef struct {
    pto_space_t space;
    pto_level_t level;
    int piece;
    double alpha_s;
    double beta_s_per_byte;
} printed_t;

/* Table I. */
static const printed_t summit_messages[] = {
    {PTO_SPACE_CPU, PTO_LEVEL_ON_SOCKET, 0, 3.51e-07, 2.62e-10},
    {PTO_SPACE_CPU, PTO_LEVEL_ON_SOCKET, 1, 4.73e-07, 6.95e-11},
    {PTO_SPACE_CPU, PTO_LEVEL_ON_SOCKET, 2, 2.46e-06, 3.31e-11},
    {PTO_SPACE_CPU, PTO_LEVEL_ON_NODE, 0, 9.08e-07, 1.46e-09},
    {PTO_SPACE_CPU, PTO_LEVEL_ON_NODE, 1, 1.17e-06, 2.16e-10},
    {PTO_SPACE_CPU, PTO_LEVEL_ON_NODE, 2, 5.81e-06, 1.46e-10},
    {PTO_SPACE_CPU, PTO_LEVEL_OFF_NODE, 0, 1.38e-06, 3.82e-10},
    {PTO_SPACE_CPU, PTO_LEVEL_OFF_NODE, 1, 1.85e-06, 3.93e-10}, /* printed 2.93e-10: a slip */
    {PTO_SPACE_CPU, PTO_LEVEL_OFF_NODE, 2, 6.56e-06, 8.51e-11},
    {PTO_SPACE_GPU, PTO_LEVEL_ON_SOCKET, 0, 1.68e-05, 1.86e-11},
    {PTO_SPACE_GPU, PTO_LEVEL_ON_NODE, 0, 1.80e-05, 2.09e-11},
    {PTO_SPACE_GPU, PTO_LEVEL_OFF_NODE, 0, 4.96e-06, 1.69e-10},
};
static const printed_t lassen_messages[] = {
    {PTO_SPACE_CPU, PTO_LEVEL_ON_SOCKET, 0, 3.99e-07, 5.59e-11},
    {PTO_SPACE_CPU, PTO_LEVEL_ON_SOCKET, 1, 3.62e-06, 3.71e-11},
    {PTO_SPACE_CPU, PTO_LEVEL_ON_NODE, 0, 7.07e-07, 2.23e-10},
    {PTO_SPACE_CPU, PTO_LEVEL_ON_NODE, 1, 1.07e-05, 1.42e-10},
    {PTO_SPACE_CPU, PTO_LEVEL_OFF_NODE, 0, 1.53e-06, 4.38e-10},
    {PTO_SPACE_CPU, PTO_LEVEL_OFF_NODE, 1, 6.90e-06, 4.63e-11},
    {PTO_SPACE_GPU, PTO_LEVEL_ON_SOCKET, 0, 7.09e-07, 5.79e-11},
    {PTO_SPACE_GPU, PTO_LEVEL_ON_SOCKET, 1, 6.39e-06, 3.38e-11},
    {PTO_SPACE_GPU, PTO_LEVEL_ON_NODE, 0, 1.04e-06, 2.15e-10},
    {PTO_SPACE_GPU, PTO_LEVEL_ON_NODE, 1, 2.61e-05, 4.59e-13},
    {PTO_SPACE_GPU, PTO_LEVEL_OFF_NODE, 0, 2.11e-06, 4.91e-10},
    {PTO_SPACE_GPU, PTO_LEVEL_OFF_NODE, 1, 6.87e-06, 4.73e-11},
};

typedef struct {
    pto_copy_kind_t kind;
    pto_reach_t reach;
    double alpha_s;
    double beta_s_per_byte;
} printed_copy_t;

/* Table II. */
static const printed_copy_t summit_copies[] = {
    {PTO_COPY_H2D, PTO_REACH_ON_SOCKET, 1.09e-05, 2.38e-11},
    {PTO_COPY_D2H, PTO_REACH_ON_SOCKET, 1.09e-05, 2.36e-11},
    {PTO_COPY_H2D, PTO_REACH_OFF_SOCKET, 1.26e-05, 2.71e-11},
    {PTO_COPY_D2H, PTO_REACH_OFF_SOCKET, 1.25e-05, 2.72e-11},
};
static const printed_copy_t lassen_copies[] = {
    {PTO_COPY_H2D, PTO_REACH_ON_SOCKET, 1.33e-05, 1.80e-11},
    {PTO_COPY_D2H, PTO_REACH_ON_SOCKET, 1.35e-05, 1.75e-11},
    {PTO_COPY_H2D, PTO_REACH_OFF_SOCKET, 1.42e-05, 2.84e-11},
    {PTO_COPY_D2H, PTO_REACH_OFF_SOCKET, 1.40e-05, 2.83e-11},
};

/* A machine of the paper: its samples, the breaks of its models, and Table III (0: the field is empty). */
typedef struct {
    const char *folder;
    const char *node;
    const char *breaks[3];
    const printed_t *messages;
    size_t message_count;
    const printed_copy_t *copies;
    double injection_s_per_byte[PTO_SPACE_COUNT];
} paper_t;

static const paper_t summit = {
    .folder = "summit-spectrum",
    .node = "sockets=2,gpus=6,cores=40",
    .breaks = {"cpu=256,16384", "gpu=none", "gpu=none"},
    .messages = summit_messages,
    .message_count = sizeof summit_messages / sizeof *summit_messages,
    .copies = summit_copies,
    .injection_s_per_byte = {[PTO_SPACE_CPU] = 3.0e-11, [PTO_SPACE_GPU] = 5.1e-11}};
static const paper_t lassen = {.folder = "lassen-mvapich2",
                               .node = "sockets=2,gpus=4,cores=40",
                               .breaks = {"131072", "cpu.off_node=8192", "gpu.off_node=4096"},
                               .messages = lassen_messages,
                               .message_count = sizeof lassen_messages / sizeof *lassen_messages,
                               .copies = lassen_copies,
                               .injection_s_per_byte = {[PTO_SPACE_CPU] = 2.5e-11}};

/* Skips the test where the machine's samples are not there. */
static pto_samples_t *measured(const paper_t *paper) {
    char path[512];
    const char *shared = getenv("PORTOLAN_SHARED");
    snprintf(path, sizeof path, "%s/data/%s/samples.csv", shared != NULL ? shared : "../shared",
             paper->folder);
    if (access(path, R_OK) != 0) {
        print_message("skipped: no measured samples at %s\n", path);
        skip();
    }
    pto_samples_t *samples = no_samples();
    pto_error_t err;
    assert_ok(pto_samples_read(path, samples, &err), &err);
    return samples;
}

static pto_fit_t fit_of(const paper_t *paper, const pto_samples_t *samples, bool the_papers_way) {
    pto_fit_options_t options = {.minima = the_papers_way};
    pto_error_t err = {0};
    assert_int_equal(pto_fit_node_parse(paper->node, &options, &err), PTO_OK);
    for (int i = 0; the_papers_way && i < 3; i++)
        assert_int_equal(pto_fit_breaks_parse(paper->breaks[i], &options, &err), PTO_OK);
    return must_fit(samples, &options);
}

static void assert_printed(const char *what, double value, double printed) {
    if (!(fabs(value / printed - 1) <= printed_tolerance))
        fail_msg("%s: fitted %.4g, printed %.3g", what, value, printed);
}

static void assert_tables_come_out(const paper_t *paper) {
    pto_samples_t *samples = measured(paper);
    pto_fit_t fit = fit_of(paper, samples, true);
    for (size_t i = 0; i < paper->message_count; i++) {
        const printed_t *printed = &paper->messages[i];
        const pto_cost_table_t *cost = &fit.machine->messages[printed->space][printed->level];
        assert_in_range(printed->piece, 0, cost->count - 1);
        assert_printed("alpha_s", cost->row[printed->piece].postal.alpha_s.value, printed->alpha_s);
        assert_printed("beta_s_per_byte", cost->row[printed->piece].postal.beta_s_per_byte.value,
                       printed->beta_s_per_byte);
    }
    for (int i = 0; i < 4; i++) {
        const printed_copy_t *printed = &paper->copies[i];
        const pto_postal_t *copy = &fit.machine->copies[printed->kind][printed->reach];
        assert_printed("copy alpha_s", copy->alpha_s.value, printed->alpha_s);
        assert_printed("copy beta_s_per_byte", copy->beta_s_per_byte.value, printed->beta_s_per_byte);
    }
    for (int space = 0; space < PTO_SPACE_COUNT; space++) {
        if (paper->injection_s_per_byte[space] > 0) {
            assert_printed("1/R_N", fit.machine->injection_s_per_byte[space].value,
                           paper->injection_s_per_byte[space]);
        }
    }
}

TEST(summits_tables_are_reproduced_from_its_samples) { assert_tables_come_out(&summit); }

TEST(lassens_tables_are_reproduced_from_its_samples) { assert_tables_come_out(&lassen); }

/* Median of |fitted / measured - 1| over the ping-pong samples of a space and level, by the machine's file.
 */
static double residual_of(const pto_samples_t *samples, const pto_machine_t *machine, pto_space_t space,
                          pto_level_t level) {
    static const pto_sample_level_t places[] = {PTO_AT_ON_GPU, PTO_AT_ON_SOCKET, PTO_AT_ON_NODE,
                                                PTO_AT_OFF_NODE};
    double *residual = malloc((samples->count + 1) * sizeof *residual);
    size_t count = 0;
    assert_non_null(residual);
    for (size_t i = 0; i < samples->count; i++) {
        const pto_sample_t *sample = &samples->sample[i];
        if (sample->benchmark == PTO_BENCHMARK_PING_PONG && sample->place == places[level] &&
            sample->where == (space == PTO_SPACE_GPU ? PTO_IN_GPU : PTO_IN_CPU)) {
            const pto_cost_row_t *piece = pto_machine_message(machine, space, level, sample->bytes);
            double fitted =
                piece->postal.alpha_s.value + piece->postal.beta_s_per_byte.value * (double)sample->bytes;
            residual[count++] = fabs(fitted / sample->seconds - 1);
        }
    }
    double median = fit_median(residual, count);
    free(residual);
    return median;
}

/* The printed machines themselves, not our repetition of their fit. */
static void assert_fit_is_nearer_than_the_paper(const paper_t *paper) {
    char path[128];
    pto_samples_t *samples = measured(paper);
    pto_fit_t fit = fit_of(paper, samples, false);
    snprintf(path, sizeof path, "scenarios/machines/%s.yaml", paper->folder);
    pto_machine_t printed = must_read(path);
    for (int space = 0; space < PTO_SPACE_COUNT; space++) {
        for (int level = PTO_LEVEL_ON_SOCKET; level < PTO_LEVEL_COUNT; level++) {
            double ours = residual_of(samples, fit.machine, (pto_space_t)space, (pto_level_t)level);
            double theirs = residual_of(samples, &printed, (pto_space_t)space, (pto_level_t)level);
            if (!(ours < theirs)) {
                fail_msg("%s %s: residual %.4f, of the printed values %.4f",
                         pto_space_name((pto_space_t)space), pto_level_name((pto_level_t)level), ours,
                         theirs);
            }
        }
    }
}

TEST(summits_samples_are_nearer_to_the_fit_than_to_the_paper) {
    assert_fit_is_nearer_than_the_paper(&summit);
}

TEST(lassens_samples_are_nearer_to_the_fit_than_to_the_paper) {
    assert_fit_is_nearer_than_the_paper(&lassen);
}

/* Fits without enough memory. */
#define _GNU_SOURCE /* dladdr. NOLINT(bugprone-reserved-identifier) */
#include "made_collectives.h"
#include "made_samples.h"
#include "portolan/machine.h"
#include "refused_memory.h"
#include "test.h"

/* Of every benchmark. */
static pto_samples_t *all_samples(void) {
    pto_samples_t *samples = new_samples();
    for (int benchmark = 0; benchmark < PTO_BENCHMARK_OTHER; benchmark++)
        for (int variant = 0; variant < 12; variant++) {
            pto_sample_t sample = {.benchmark = (uint8_t)benchmark,
                                   .where = variant % 2 ? PTO_IN_GPU : PTO_IN_CPU,
                                   .place = variant % 4 < 2 ? PTO_AT_ON_SOCKET : PTO_AT_OFF_NODE,
                                   .procs = variant < 4 ? 1 : 16,
                                   .messages = 1 + variant / 4,
                                   .pair_hash =
                                       pto_sample_pair_hash(variant < 6 ? "sum-float" : "max-int64")};
            for (sample.bytes = 0; sample.bytes <= 1 << 20; sample.bytes = 1 + 31 * sample.bytes) {
                sample.seconds = sample.messages * (1e-6 + (1 + sample.procs) * 1e-10 * (double)sample.bytes);
                add(samples, sample);
            }
        }
    return samples;
}

static pto_samples_t *samples;

static pto_status_t fit_samples(char **text, pto_error_t *err) {
    static const pto_fit_options_t options = {.node = {.sockets = 2, .gpus = 4, .cores = 16}};
    pto_fit_t fit;
    pto_status_t status = pto_fit_samples(samples, "made-up", "a test", &options, &fit, err);
    if (status != PTO_OK)
        return status;
    status = pto_machine_format(fit.machine, NULL, text, err);
    pto_fit_fini(&fit);
    return status;
}

TEST(a_fit_to_samples) {
    skip_where_nothing_is_refused();
    samples = all_samples();
    refuse_each_and_guard_all(fit_samples);
}

static pto_machine_t *lender;
static pto_collectives_t collectives;

static pto_status_t fit_collectives(char **text, pto_error_t *err) {
    pto_machine_t *machine = NULL;
    pto_fit_collectives_t fit;
    pto_status_t status = pto_fit_collectives(lender, &collectives, NULL, NULL, &fit, err);
    if (status != PTO_OK)
        return status;
    status = pto_fit_model_error(fit.machine, &collectives, NULL, true, NULL, err);
    if (status == PTO_OK)
        status = pto_machine_duplicate(lender, &machine, err);
    if (status == PTO_OK)
        status = pto_fit_borrow_terms(machine, fit.machine, err);
    if (status == PTO_OK)
        status = pto_fit_borrow_error(machine, fit.machine, err);
    if (status == PTO_OK)
        status = pto_machine_format(machine, NULL, text, err);
    pto_machine_destroy(machine);
    pto_machine_destroy(fit.machine);
    return status;
}

TEST(a_fit_to_collectives_and_its_error) {
    skip_where_nothing_is_refused();
    const int nodes[] = {2, 4};
    const pto_collective_t alltoall = PTO_COLLECTIVE_ALLTOALL;
    pto_machine_t *truth = parse("", hidden);
    lender = parse("", "");
    collectives = rows_of(truth, nodes, 2, &alltoall, 1, NULL);
    size_t kept = 0;
    for (size_t i = 0; i < collectives.count; i++)
        if (collectives.row[i].bytes <= 256)
            collectives.row[kept++] = collectives.row[i];
    collectives.count = kept;
    refuse_each_and_guard_all(fit_collectives);
}

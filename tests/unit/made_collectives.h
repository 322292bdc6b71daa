/* Collectives timed as a made-up machine prices them. */
#ifndef PTO_TEST_MADE_COLLECTIVES_H
#define PTO_TEST_MADE_COLLECTIVES_H

#include "machine/machine_internal.h"
#include "must.h"
#include "portolan/score.h"
#include "test.h"

static const char known[] = "machine: made up\n"
                            "source: for these tests\n"
                            "node: {sockets: 1, gpus: 4, cores: 16}\n"
                            "messages:\n"
                            "  cpu:\n"
                            "    on_socket: [{protocol: eager, alpha_s: 1e-6, beta_s_per_byte: 1e-10}]\n"
                            "    off_node: [{protocol: eager, alpha_s: 5e-6, beta_s_per_byte: 2e-10}]\n"
                            "  gpu:\n"
                            "    on_socket: [{protocol: eager, alpha_s: 2e-5, beta_s_per_byte: 1e-10}]\n"
                            "    off_node: [{protocol: eager, alpha_s: 9e-6, beta_s_per_byte: 2e-10}]\n"
                            "gap: {cpu: [{protocol: eager, alpha_s: 5e-7, beta_s_per_byte: 2e-10}]}\n"
                            "injection: {cpu: {s_per_byte: 1e-10@}}\n"
                            "copies:\n"
                            "  h2d: {on_socket: {alpha_s: 1e-5, beta_s_per_byte: 2e-11}}\n"
                            "  d2h: {on_socket: {alpha_s: 1e-5, beta_s_per_byte: 2e-11}}\n";

/* What the fit is to find. */
static const char hidden[] =
    "  h2h: {on_socket: {alpha_s: 0, beta_s_per_byte: 4e-10}}\n"
    "  pageable:\n"
    "    h2d: {alpha_s: 3e-5, beta_s_per_byte: 2e-11}\n"
    "    d2h: {alpha_s: 3e-5, beta_s_per_byte: 2e-11}\n"
    "network: {contention: 0.8}\n"
    "library:\n"
    "  alltoall:\n"
    "    cpu: [{below_bytes: 4096, algorithm: bruck}, {algorithm: pairwise_in_place}]\n"
    "    gpu: [{below_bytes: 4096, algorithm: bruck, staged: true},\n"
    "          {algorithm: pairwise_in_place, staged: true}]\n"
    "  alltoallv: {cpu: [{algorithm: linear}], gpu: [{algorithm: linear}]}\n";

/* Until the test ends, as all that is made here. */
static inline pto_machine_t *parse(const char *rate, const char *more) {
    char text[4096];
    pto_error_t err = {0};
    pto_machine_t *machine = keep_new(sizeof *machine, end_machine);
    const char *at = strchr(known, '@');
    snprintf(text, sizeof text, "%.*s%s%s%s", (int)(at - known), known, rate, at + 1, more);
    assert_ok(pto_machine_parse(text, strlen(text), "m.yaml", machine, &err), &err);
    return machine;
}

static inline void end_collectives(void *collectives) { pto_collectives_fini(collectives); }

/* Rows of every strategy without helpers, timed as the machine prices them, of some collectives; times a
 * factor for each node count. */
static inline pto_collectives_t rows_on(const pto_machine_t *machine, int gpus_per_node, const int *nodes,
                                        int node_counts, const pto_collective_t *collective,
                                        int collective_count, const double *factor) {
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    fprintf(stream,
            "collective,implementation,strategy,nodes,gpus_per_node,procs_per_gpu,bytes,run,seconds\n");
    static const char *const strategy[] = {"cuda_aware", "three_step"};
    for (int c = 0; c < collective_count; c++)
        for (int n = 0; n < node_counts; n++)
            for (int64_t bytes = 64; bytes <= 262144; bytes *= 4)
                for (int s = 0; s < 2; s++) {
                    pto_score_candidate_t candidate = {.measured_s = 1};
                    assert_int_equal(pto_strategy_find(strategy[s], &candidate.strategy, NULL), PTO_OK);
                    pto_score_cell_t cell = {.collective = collective[c],
                                             .datatype = PTO_DATATYPE_FLOAT,
                                             .nodes = nodes[n],
                                             .gpus_per_node = gpus_per_node,
                                             .owners_per_gpu = 1,
                                             .procs_per_gpu = 1,
                                             .bytes = bytes,
                                             .candidate_count = 1,
                                             .candidate = &candidate};
                    double seconds = 0;
                    assert_int_equal(pto_score_price(&cell, 0, machine, NULL, NULL, &seconds, NULL), PTO_OK);
                    seconds *= factor ? factor[n] : 1;
                    fprintf(stream, "%s,library,%s,%d,%d,1,%lld,1,%.9g\n", pto_collective_name(collective[c]),
                            strategy[s], nodes[n], gpus_per_node, (long long)bytes, seconds);
                }
    fclose(stream);
    pto_collectives_t made = {0};
    assert_int_equal(pto_collectives_parse(text, size, "made-up.csv", &made, NULL), PTO_OK);
    free(text);
    keep_owned(&made, sizeof made, end_collectives);
    return made;
}

static inline pto_collectives_t rows_of(const pto_machine_t *machine, const int *nodes, int node_counts,
                                        const pto_collective_t *collective, int collective_count,
                                        const double *factor) {
    return rows_on(machine, 4, nodes, node_counts, collective, collective_count, factor);
}

#endif

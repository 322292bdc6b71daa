/* A question about mappings: a machine, and a scenario of an alltoallv. */
#ifndef PTO_TEST_MAP_QUESTION_H
#define PTO_TEST_MAP_QUESTION_H

#include "machine/machine_internal.h"
#include "map_places.h"
#include "must.h"
#include "portolan/map.h"
#include "portolan/scenario.h"
#include "test.h"

#define SUMMIT "scenarios/machines/summit-spectrum.yaml"
#define FOUR_BY_FOUR "{nodes: 4, gpus_per_node: 4, procs_per_gpu: 1}"

typedef struct {
    pto_machine_t machine;
    pto_scenario_t scenario;
} question_t;

static inline void end_question(void *object) {
    question_t *question = object;
    pto_scenario_fini(&question->scenario);
    pto_machine_fini(&question->machine);
}

/* Until the test ends. */
static inline question_t *ask_by(const char *strategy, const char *machine, const char *layout,
                                 const char *counts) {
    question_t *question = keep_new(sizeof *question, end_question);
    char text[640];
    pto_error_t err = {0};
    snprintf(text, sizeof text,
             "scenario: s\nmachine: m.yaml\ncollective: alltoallv\nimplementation: isend_irecv\n"
             "layout: %s\nbytes: 1MiB\ncounts: %s\nstrategies: [%s]\n",
             layout, counts, strategy);
    assert_ok(pto_machine_read(machine, &question->machine, &err), &err);
    assert_ok(pto_scenario_parse(text, strlen(text), "s.yaml", &question->scenario, &err), &err);
    assert_ok(pto_scenario_bind(&question->scenario, &question->machine, &err), &err);
    return question;
}

static inline question_t *ask(const char *machine, const char *layout, const char *counts) {
    return ask_by("cuda_aware", machine, layout, counts);
}

static inline void end_places(void *places) { pto_places_fini(places); }

static inline pto_places_t must_place(const question_t *question, pto_metric_t metric, int64_t bytes) {
    pto_places_t places;
    pto_error_t err = {0};
    assert_ok(pto_places_make(&question->machine, &question->scenario.layout, metric, bytes, &places, &err),
              &err);
    keep_owned(&places, sizeof places, end_places);
    return places;
}

/* The price of the scenario with this placement, which it keeps. */
static inline double priced_at(question_t *question, const int64_t *place) {
    pto_error_t err = {0};
    pto_mapping_fini(&question->scenario.mapping);
    assert_ok(pto_mapping_make(&question->scenario.layout, place, &question->scenario.mapping, &err), &err);
    pto_predictions_t predictions = must_predict(&question->scenario, &question->machine, false);
    return pto_prediction_at(&predictions, 0, 0)->price.seconds;
}

static inline void end_map_result(void *result) { pto_map_result_fini(result); }

/* Until the test ends. */
static inline pto_map_result_t must_map(const pto_scenario_t *scenario, const pto_machine_t *machine,
                                        const pto_map_options_t *options) {
    pto_map_result_t result;
    pto_error_t err = {0};
    assert_ok(pto_map(scenario, machine, options, &result, &err), &err);
    keep_owned(&result, sizeof result, end_map_result);
    return result;
}

static inline const pto_map_candidate_t *candidate_named(const pto_map_result_t *result, const char *name) {
    for (int i = 0; i < result->count; i++)
        if (strcmp(result->candidate[i].name, name) == 0)
            return &result->candidate[i];
    fail_msg("no candidate '%s'", name);
    return NULL;
}

#endif

/* Finds the algorithm that models the MPI library's own collective: the one that the scenario names, or a row
 * of the scenario's or the machine file's table for the call's processes and bytes. */
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "decide/candidates.h"
#include "machine/library.h"
#include "machine/machine_internal.h"
#include "plan/plan_internal.h"
#include "portolan/pick.h"

/* All algorithms make the same call, so the first one that applies is used. A table of byte counts is
 * replaced by the scenario's bytes or, for an allgatherv, by the mean count. */
pto_call_t pto_request_call(const pto_request_t *request) {
    pto_call_t call = {.procs = 1, .bytes = request->bytes};
    pto_request_t probe = *request;
    if (request->counts && pto_collective_is_by_owner(request->collective))
        probe.bytes = (int64_t)pto_request_mean_bytes(request);
    probe.counts = NULL;
    for (int i = 0; i < pto_algorithm_count(); i++) {
        probe.algorithm = pto_algorithm_at(i);
        if (probe.algorithm->collectives & 1u << request->collective &&
            pto_request_first_call(&probe, &call.procs, &call.bytes))
            break;
    }
    return call;
}

/* Returns the row of the scenario's own table for a call: of the rows with the largest `procs` that does not
 * exceed the call's, the first whose below_bytes exceeds the call's bytes. */
static const pto_library_rule_t *scenario_rule(const pto_library_choice_t *library, int64_t procs,
                                               int64_t bytes) {
    const pto_library_rule_t *found = NULL;
    for (int i = 0; i < library->rule_count; i++) {
        const pto_library_rule_t *rule = &library->rule[i];
        if (rule->procs > procs || bytes >= rule->below_bytes)
            continue;
        if (!found || rule->procs > found->procs)
            found = rule;
    }
    return found;
}

bool pto_library_has_rules(const pto_request_t *request) {
    return !pto_strategy_only_with(request->strategy) && !request->strategy->by_hand &&
           request->implementation != PTO_IMPLEMENTATION_ISEND_IRECV &&
           pto_collective_is_in_mpi(request->collective);
}

/* Returns whether a rule comes from the file of the machine's `mpi_library`, but the machine lacks the costs
 * of the copies that it implies (of pageable memory, or within host memory). The call would look too cheap.
 */
static bool lacks_costs(const pto_machine_t *machine, const pto_request_t *request,
                        const pto_library_rule_t *rule) {
    const pto_algorithm_t *algorithm;
    const bool staging = rule->staged && !pto_postal_known(&machine->pageable[PTO_COPY_D2H]);
    const bool sharing =
        !pto_postal_known(&machine->copies[PTO_COPY_H2H][PTO_REACH_ON_SOCKET]) &&
        pto_algorithm_find(rule->algorithm, request->collective, &algorithm, NULL) == PTO_OK &&
        algorithm->shares_host;
    if (!staging && !sharing)
        return false;
    const pto_library_table_t *table =
        pto_library_table_find(machine->library, machine->library_count,
                               pto_collective_name(request->collective), request->strategy->collective_space);
    return table->of_library;
}

const pto_library_rule_t *pto_library_rule(const pto_scenario_t *scenario, const pto_machine_t *machine,
                                           const pto_request_t *request) {
    const pto_library_choice_t *library = &scenario->library;
    if (library->name || library->best || (library->rule_count == 0 && machine->library_count == 0))
        return NULL;
    const pto_call_t call = pto_request_call(request);
    if (library->rule_count > 0)
        return scenario_rule(library, call.procs, call.bytes);
    const pto_library_rule_t *rule =
        pto_machine_library(machine, pto_collective_name(request->collective),
                            request->strategy->collective_space, call.procs, call.bytes);
    return rule && lacks_costs(machine, request, rule) ? NULL : rule;
}

static bool is_flagged(const pto_scenario_t *scenario, const pto_machine_t *machine,
                       const pto_request_t *request) {
    const pto_library_rule_t *rule = pto_library_rule(scenario, machine, request);
    return rule && rule->flagged;
}

/* Strategies that call the library on host buffers of their own do not count, since libraries differ mostly
 * in how they treat GPU buffers. Machines with a published model take the cheapest algorithm, by design. */
bool pto_library_is_unknown(const pto_scenario_t *scenario, const pto_machine_t *machine,
                            const pto_request_t *request) {
    const pto_library_choice_t *library = &scenario->library;
    const bool given = library->name || library->best || library->rule_count > 0;
    const bool by_library =
        request->strategy->collective_space == PTO_SPACE_GPU || request->strategy->in_host;
    if (!by_library || !pto_library_has_rules(request) || machine->model)
        return false;
    const pto_library_rule_t *rule = pto_library_rule(scenario, machine, request);
    if (rule)
        return rule->flagged != NULL;
    return !given && request->collective != PTO_COLLECTIVE_HALO &&
           (!machine->mpi_library ||
            pto_machine_has_library(machine, pto_collective_name(request->collective),
                                    request->strategy->collective_space));
}

pto_status_t pto_library_explain_unknown(const pto_scenario_t *scenario, const pto_machine_t *machine,
                                         const pto_request_t *request, pto_explanation_t *explanation,
                                         pto_error_t *err) {
    if (explanation->count == explanation->capacity) {
        if (!PTO_EXTEND(explanation->term, explanation->count))
            return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for an explanation");
        explanation->capacity++;
    }
    pto_term_t *term = &explanation->term[explanation->count++];
    *term = (pto_term_t){.stage = "MPI library", .count = 1};
    snprintf(term->key, sizeof term->key, "library.%s.%s%s", pto_collective_name(request->collective),
             pto_space_name(request->strategy->collective_space),
             is_flagged(scenario, machine, request) ? ".algorithm" : "");
    return PTO_OK;
}

const char *pto_library_algorithm(const pto_scenario_t *scenario, const pto_machine_t *machine,
                                  pto_request_t *request) {
    request->staged = false;
    request->segment_bytes = 0;
    if (pto_strategy_only_with(request->strategy))
        return pto_strategy_only_with(request->strategy);
    if (request->strategy->by_hand)
        return scenario->library.own;
    if (!pto_library_has_rules(request)) {
        bool linear = request->implementation == PTO_IMPLEMENTATION_ISEND_IRECV &&
                      request->collective != PTO_COLLECTIVE_HALO;
        return linear ? "linear" : NULL;
    }
    if (scenario->library.name)
        return scenario->library.name;
    const pto_library_rule_t *rule = pto_library_rule(scenario, machine, request);
    if (!rule) { /* Open MPI and MPICH copy what they reduce to pageable host memory */
        request->staged = pto_postal_known(&machine->pageable[PTO_COPY_D2H]) &&
                          pto_library_is_unknown(scenario, machine, request) &&
                          pto_collective_reduces(request->collective) &&
                          request->strategy->collective_space == PTO_SPACE_GPU;
        return NULL;
    }
    request->staged = rule->staged;
    request->segment_bytes = rule->segment_bytes;
    return rule->algorithm;
}

/* Shared by the tests of the simulator. */
#ifndef PTO_TEST_SIMULATED_H
#define PTO_TEST_SIMULATED_H

#include "made_up.h"
#include "must.h"
#include "portolan/strategy.h"
#include "priced.h"
#include "test.h"

static pto_machine_t summit;
static pto_machine_t refit; /* with copies.shared and gap */

static inline int read_machines(void **state) {
    summit = must_read("scenarios/machines/summit-spectrum.yaml");
    refit = must_read("scenarios/machines/summit-spectrum-refit.yaml");
    return 0;
}

/* A machine whose nodes limit nothing and whose GPUs share nothing, with a cost for everything; it borrows
 * the other's strings. */
static inline pto_machine_t unlimited(const pto_machine_t *machine) {
    pto_machine_t free_nodes = completed(machine);
    free_nodes.copies[PTO_COPY_D2D][PTO_REACH_ON_SOCKET].beta_s_per_byte.value = 0;
    for (int reach = 0; reach < PTO_REACH_COUNT; reach++)
        free_nodes.peer[reach].beta_s_per_byte.value = 0;
    memset(free_nodes.injection_s_per_byte, 0, sizeof free_nodes.injection_s_per_byte);
    memset(free_nodes.injection_s_per_message, 0, sizeof free_nodes.injection_s_per_message);
    free_nodes.contention = (pto_param_t){0};
    return free_nodes;
}

/* The same of Summit, with a reduction on the host, which costs what a copy from a GPU does. `row` must live
 * as long as the machine. */
static inline pto_machine_t unlimited_reducing(pto_cost_row_t *row) {
    pto_machine_t machine = unlimited(&summit);
    *row = (pto_cost_row_t){.below_bytes = INT64_MAX,
                            .postal = machine.copies[PTO_COPY_D2H][PTO_REACH_ON_SOCKET]};
    machine.reduce[PTO_SPACE_CPU] = (pto_cost_table_t){.count = 1, .row = row};
    return machine;
}

static inline pto_request_t ask(pto_collective_t collective, const char *strategy, const char *algorithm,
                                int64_t nodes, int64_t gpus, int64_t cores, int64_t bytes) {
    pto_request_t request = {.layout = {nodes, gpus, 1, cores, 2, false},
                             .collective = collective,
                             .datatype = PTO_DATATYPE_FLOAT,
                             .bytes = bytes,
                             .messages = 5,
                             .by_library = true};
    carry_out_by(&request, strategy, algorithm);
    return request;
}

/* Of data in host memory, by our own algorithm in place. */
static inline pto_request_t on_hosts(pto_collective_t collective, const char *algorithm, int64_t nodes,
                                     int64_t procs, int64_t bytes) {
    pto_request_t request = ask(collective, "own_algorithm", algorithm, nodes, procs, 1, bytes);
    request.layout.in_host = true;
    request.in_place = true;
    request.by_library = false;
    return request;
}

#endif

/* A request for a plan by the names of its parts. */
#ifndef PTO_TEST_PLAN_REQUEST_H
#define PTO_TEST_PLAN_REQUEST_H

#include "must.h"
#include "portolan/strategy.h"
#include "test.h"

/* One owner a GPU, floats, the library's collective. */
static inline pto_request_t request_for(pto_collective_t collective, const char *strategy,
                                        const char *algorithm, int64_t nodes, int64_t gpus, int64_t cores,
                                        int64_t bytes) {
    pto_request_t request = {.layout = {.nodes = nodes,
                                        .gpus_per_node = gpus,
                                        .owners_per_gpu = 1,
                                        .procs_per_gpu = cores,
                                        .gpus_per_socket = 3},
                             .collective = collective,
                             .split = collective == PTO_COLLECTIVE_ALLTOALLV ? PTO_SPLIT_DESTINATIONS
                                                                             : PTO_SPLIT_BYTES,
                             .datatype = PTO_DATATYPE_FLOAT,
                             .bytes = bytes,
                             .by_library = true};
    carry_out_by(&request, strategy, algorithm);
    return request;
}

#endif

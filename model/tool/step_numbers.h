/* The workload of a training step of a language model, from the sizes of the model and its parallelism. */
#ifndef PTO_STEP_NUMBERS_H
#define PTO_STEP_NUMBERS_H

#include "portolan/workload.h"

typedef struct {
    int64_t layers, width, sequence; /* 0: not given */
    int64_t vocabulary;
    int64_t batch;         /* sequences of each data-parallel group */
    int64_t microbatch;    /* sequences that a pipeline stage processes at once */
    int64_t tp, pp, dp;    /* tensor, pipeline and data parallelism */
    int64_t ep;            /* data-parallel groups that share out the experts of a layer; 1: no experts */
    double flops_per_s;    /* sustained by a GPU; 0: not given */
    int64_t gpus_per_node; /* of the layout */
} pto_step_numbers_t;

/* Check the numbers. Errors, with the options' names: PTO_ERR_KEY for a missing number, PTO_ERR_RANGE for
 * numbers that do not divide each other. */
pto_status_t pto_step_numbers_check(const pto_step_numbers_t *numbers, pto_error_t *err);

/* Create the workload from numbers that pto_step_numbers_check has accepted. */
pto_status_t pto_step_numbers_workload(const pto_step_numbers_t *numbers, pto_workload_t *workload,
                                       pto_error_t *err);

#endif

/* Decides whether a strategy can serve a request, from the descriptors of the strategy and of its algorithm.
 * pto_plan_create calls it first; prediction also calls it to leave out strategies, with the reason. */
#include "portolan/strategy.h"

#define REFUSE(err, ...) pto_error_set(err, PTO_ERR_NOT_APPLICABLE, __VA_ARGS__)

/* For strategies that split the data over the processes of a GPU. */
static pto_status_t split_applicable(const pto_request_t *request, pto_error_t *err) {
    const char *name = request->strategy->name;
    if (request->layout.owners_per_gpu != 1)
        return REFUSE(err, "%s needs owners_per_gpu: 1, the layout has %lld", name,
                      (long long)request->layout.owners_per_gpu);
    if (request->layout.procs_per_gpu < 2)
        return REFUSE(err, "%s shares the work with other processes of the GPU, but procs_per_gpu is 1",
                      name);
    if (request->split == PTO_SPLIT_BYTES)
        return PTO_OK;
    if (!pto_collective_is_addressed(request->collective))
        return REFUSE(err, "%s has no destinations to split", pto_collective_name(request->collective));
    if (request->algorithm->relays)
        return REFUSE(err, "%s forwards blocks of other processes, so destinations can't be split",
                      request->algorithm->name);
    if (request->collective == PTO_COLLECTIVE_MESSAGES && request->unique_bytes > 0)
        return REFUSE(err, "split: destinations would copy shared data (unique_bytes) more than once");
    return PTO_OK;
}

/* Returns whether the data can be divided into chunks: by the algorithm itself, or by the strategy, if the
 * stages of its inner collective can be the stages of a pipeline. */
bool pto_request_may_be_cut(const pto_request_t *request) {
    const pto_strategy_t *strategy = request->strategy;
    if (pto_request_cuts_inside(request))
        return true;
    return strategy->chunked && !pto_request_host_counts(request) &&
           (strategy->direct || (request->algorithm->chunked && !request->by_library));
}

bool pto_request_cuts_inside(const pto_request_t *request) {
    return request->algorithm->cuts && !request->by_library;
}

static pto_status_t chunks_applicable(const pto_request_t *request, pto_error_t *err) {
    const char *collective = pto_collective_name(request->collective);
    if (request->chunks <= 1 || !request->strategy->chunked || pto_request_may_be_cut(request))
        return PTO_OK;
    if (request->by_library)
        return REFUSE(err, "the MPI library runs the %s as a whole, so %s cannot cut it into chunks",
                      collective, request->strategy->name);
    if (pto_request_host_counts(request))
        return REFUSE(err, "two patterns at once are not cut into chunks");
    return REFUSE(err, "%s has loops, so it cannot run chunk by chunk in a pipeline",
                  request->algorithm->name);
}

/* For requests with a second pattern of messages, in host memory, at the same time. */
static pto_status_t second_pattern_applicable(const pto_request_t *request, pto_error_t *err) {
    if (!pto_request_host_counts(request))
        return PTO_OK;
    if (!request->strategy->joins)
        return REFUSE(err, "%s cannot send a second pattern in host memory at the same time",
                      request->strategy->name);
    if (request->by_library)
        return REFUSE(err, "MPI has no call for two patterns at once");
    return request->algorithm->joins
               ? PTO_OK
               : REFUSE(err, "two patterns at once post all messages at once, unlike %s",
                        request->algorithm->name);
}

pto_status_t pto_strategy_applicable(const pto_request_t *request, pto_error_t *err) {
    const pto_strategy_t *strategy = request->strategy;
    if (!(strategy->collectives & 1u << request->collective))
        return REFUSE(err, "%s is not for %s", strategy->name, pto_collective_name(request->collective));
    if (strategy->in_host != request->layout.in_host)
        return REFUSE(err, "%s is for data in %s memory", strategy->name, strategy->in_host ? "host" : "GPU");
    if (!(request->algorithm->collectives & 1u << request->collective))
        return REFUSE(err, "algorithm %s is not for %s", request->algorithm->name,
                      pto_collective_name(request->collective));
    if (request->algorithm->shares_host && strategy->collective_space == PTO_SPACE_GPU && !request->staged)
        return REFUSE(err, "%s shares host memory, and the data of %s are in GPU memory",
                      request->algorithm->name, strategy->name);
    if (request->algorithm->shares_host && request->layout.in_host && !request->by_library)
        return REFUSE(err, "%s shares host memory, and the data are in each process's own",
                      request->algorithm->name);
    if (request->collective == PTO_COLLECTIVE_MESSAGES && request->layout.nodes < 2)
        return REFUSE(err, "messages go to another node, and there is only one node");
    if (request->collective == PTO_COLLECTIVE_PAIR && pto_layout_owner_count(&request->layout) != 2)
        return REFUSE(err, "a pair has two owners, and the layout has %lld",
                      (long long)pto_layout_owner_count(&request->layout));
    if (request->collective == PTO_COLLECTIVE_PAIR && request->layout.in_host &&
        !(request->ends.from_host && request->ends.to_host))
        return REFUSE(err, "a pair of owners whose data are in host memory has no end in GPU memory");
    pto_halo_t grid = request->halo;
    pto_status_t status = PTO_OK;
    if (request->collective == PTO_COLLECTIVE_HALO)
        status = pto_halo_complete(&grid, pto_layout_owner_count(&request->layout), err);
    if (status != PTO_OK)
        return status;
    if (strategy->direct != request->algorithm->direct || strategy->nccl != request->algorithm->nccl)
        return REFUSE(err,
                      pto_strategy_only_with(strategy)
                          ? "%s has no inner collective for algorithm %s"
                          : "%s needs an algorithm for its inner collective, not %s",
                      strategy->name, request->algorithm->name);
    status = second_pattern_applicable(request, err);
    if (status == PTO_OK)
        status = chunks_applicable(request, err);
    if (status == PTO_OK && strategy->applicable)
        status = strategy->applicable(request, err);
    if (status == PTO_OK && strategy->splits)
        status = split_applicable(request, err);
    return status;
}

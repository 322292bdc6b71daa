/* Shared by the strategies: the user's buffers, staging buffers in host memory, pipelines of chunks, and the
 * shares of a GPU's processes. Each strategy of this folder has one descriptor, listed in registry.c. Its
 * `build` adds the stages of a plan through the builder (portolan/strategy.h). */
#ifndef PTO_STAGING_H
#define PTO_STAGING_H

#include "portolan/strategy.h"

/* Returns an exchange among all owners (a pair has two) from the user's input to the user's output. The
 * buffers are in GPU memory unless all data are in host memory; a pair's are where its ends say. */
pto_exchange_t pto_route_user(pto_builder_t *builder, const pto_request_t *request);
/* The same for collectives that work in place in `out`. In a reduction to one owner, the `out` of the other
 * owners is a temporary. */
pto_exchange_t pto_route_user_in_place(pto_builder_t *builder, const pto_request_t *request);

/* Returns PTO_ERR_NOT_APPLICABLE with the message "STRATEGY reason". */
pto_status_t pto_route_refuse(const pto_request_t *request, const char *reason, pto_error_t *err);

/* Builds a stage with a copy by one end of a pair, or by both. The step has a peer only if a slice is in the
 * peer's memory. */
void pto_route_pair_copy(pto_builder_t *builder, const char *name, pto_step_t step, pto_slice_t source,
                         pto_slice_t target);

/* Returns the number of chunks into which the request divides each of a buffer's blocks. */
int64_t pto_route_chunk_count(const pto_builder_t *builder, const pto_request_t *request, int buffer);

/* Builds a buffer like `buffer` in host memory; of several chunks of equal blocks, for those in progress. */
int pto_route_staging(pto_builder_t *builder, int buffer, const char *name, int64_t chunks);

/* Begin and end a pipeline over chunks; nothing if there is one chunk. */
void pto_route_chunks(pto_builder_t *builder, int64_t chunks);
void pto_route_end_chunks(pto_builder_t *builder, int64_t chunks);

/* How a split strategy divides the work of one GPU among its processes. */
typedef struct {
    pto_exchange_t members; /* the k-th processes of all GPUs; `in` and `out` are host buffers, of each
                           process's shares of the input and the output; in an allreduce, one for both */
    int gpu;                /* a group: the processes of one GPU */
    int64_t count;          /* number of these processes */
    bool cyclic;    /* destinations are assigned to the processes cyclically; else every block is split */
    int64_t chunks; /* number of chunks of each share of a block */
} pto_shares_t;

pto_shares_t pto_route_shares(pto_builder_t *builder, const pto_request_t *request,
                              const pto_exchange_t *user);

/* Returns the bytes of the buffer `whole`, which holds every block, that belong to the acting process
 * (PTO_SHARE_MINE) or to its peer (PTO_SHARE_PEERS). `shared` is the share buffer at the other end of the
 * transfer. */
pto_slice_t pto_route_share_in_whole(const pto_builder_t *builder, const pto_shares_t *shares, int whole,
                                     int shared, pto_share_t whose);

/* The same for the acting process, in the buffer of the GPU's owner, through a shared device pointer. */
pto_slice_t pto_route_owners_share(const pto_builder_t *builder, const pto_shares_t *shares, int whole,
                                   int shared);

/* Return a step of the owner, the first of the `count` processes of a GPU, with the other processes (helpers)
 * as peers; and a step of the helpers, with the owner as peer. */
pto_step_t pto_route_owner_step(pto_step_kind_t kind, int gpu, int64_t count);
pto_step_t pto_route_helpers_step(pto_step_kind_t kind, int gpu, int64_t count);

/* Builds a flag among the processes of a GPU: the owner tells the others that they may read its input, or,
 * `to_owner`, they tell it that its output is written. */
void pto_route_signal(pto_builder_t *builder, int gpu, const char *name, bool to_owner);

/* Returns the bytes of a process's share in the share buffer itself, in the same order. */
pto_slice_t pto_route_share(const pto_builder_t *builder, const pto_shares_t *shares, int shared);

#endif

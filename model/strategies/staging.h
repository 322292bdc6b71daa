/* Shared by the strategies: user buffers, copies between GPU and host, and the inner collective. Each file of
 * this folder defines one or more descriptors, listed in registry.c. */
#ifndef PTO_STAGING_H
#define PTO_STAGING_H

#include "portolan/strategy.h"

/* Returns the owners, of which a pair has two, with the user's buffers. These are on the GPU unless all data
 * are in host memory; a pair's are where its ends say. */
pto_exchange_t pto_route_user(pto_builder_t *builder, const pto_request_t *request);
/* For collectives that work in place in `out`: in a reduction to one owner, the others get a temporary for
 * it. */
pto_exchange_t pto_route_user_in_place(pto_builder_t *builder, const pto_request_t *request);

/* PTO_ERR_NOT_APPLICABLE: "STRATEGY reason". */
pto_status_t pto_route_refuse(const pto_request_t *request, const char *reason, pto_error_t *err);

/* Builds a stage in which one end of a pair (`who`) or both copy. The copy has a peer only if a slice is the
 * peer's. */
void pto_route_pair_copy(pto_builder_t *builder, const char *name, pto_step_t who, pto_slice_t source,
                         pto_slice_t target);

/* Returns the number of chunks into which the request cuts each of a buffer's blocks. */
int64_t pto_route_chunk_count(const pto_builder_t *builder, const pto_request_t *request, int buffer);

/* Builds a copy of `buffer` in host memory. With several chunks of equal blocks, it holds the chunks in
 * progress only. */
int pto_route_staging(pto_builder_t *builder, int buffer, const char *name, int64_t chunks);

/* Begin and end a pipeline, whose stages run chunk by chunk; nothing if there is one chunk. */
void pto_route_chunks(pto_builder_t *builder, int64_t chunks);
void pto_route_end_chunks(pto_builder_t *builder, int64_t chunks);

/* The way in which a split strategy divides the work of one GPU among its processes. */
typedef struct {
    pto_exchange_t who; /* the k-th processes of all GPUs; `in` and `out` are host buffers, of each process's
                           shares of the input and the output; in an allreduce, one for both */
    int gpu;            /* a group: the processes of one GPU */
    int64_t count;
    bool cyclic;    /* destinations are dealt out to the processes; else the bytes of every block are split */
    int64_t chunks; /* number of chunks of each share of a block */
} pto_shares_t;

pto_shares_t pto_route_shares(pto_builder_t *builder, const pto_request_t *request,
                              const pto_exchange_t *user);

/* In a buffer that holds every block: the bytes that belong to the acting process (PTO_SHARE_MINE) or to its
 * peer (PTO_SHARE_PEERS). `shared` is the share buffer at the other end of the transfer. */
pto_slice_t pto_route_share_in_whole(const pto_builder_t *builder, const pto_shares_t *shares, int whole,
                                     int shared, pto_share_t whose);

/* Returns PTO_SHARE_MINE in the buffer of the GPU's owner, through a shared device pointer. */
pto_slice_t pto_route_owners_share(const pto_builder_t *builder, const pto_shares_t *shares, int whole,
                                   int shared);

/* Steps of the owner among the `count` processes of a GPU, with the others as peers; and of these, with it as
 * peer. */
pto_step_t pto_route_owner_step(pto_step_kind_t kind, int gpu, int64_t count);
pto_step_t pto_route_helpers_step(pto_step_kind_t kind, int gpu, int64_t count);

/* Builds a flag among the processes of a GPU: the owner tells the others that they may read its input, or,
 * `to_owner`, they tell it that its output is written. */
void pto_route_signal(pto_builder_t *builder, int gpu, const char *name, bool to_owner);

/* Returns the bytes of a process's share in the share buffer itself, in the same order. */
pto_slice_t pto_route_share(const pto_builder_t *builder, const pto_shares_t *shares, int shared);

#endif
